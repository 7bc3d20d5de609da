//! The renderer of one site's ground.

use crate::frame::{Frame, FrameStats, Targets, radiance, vectors};
use crate::maps::GpuMaps;
use crate::material::{Material, RasterLayer};
use crate::pool::TilePool;
use crate::uniform::{MAX_MAPS, MapUniform, TileInstance, ViewUniform};
use crate::view::{FrameRequest, pre_exposure, view_uniform};
use crate::{Gpu, RenderError};
use std::collections::BTreeMap;
use terrane_core::ShaderLook;
use terrane_look::Program;
use terrane_surface::{TILE_CELLS, TILE_POSTS};
use terrane_tiles::{Archive, DrawTile, Selection, select};

/// What a site's ground is drawn from.
#[derive(Debug)]
pub struct GroundSource {
    /// The baked pyramid.
    pub archive: Archive,
    /// The compiled material.
    pub program: Program,
    /// Its authored values.
    pub look: ShaderLook,
    /// Raster layers by the name of the texture that shows them.
    pub layers: BTreeMap<String, RasterLayer>,
    /// Label id of the ground; not 0.
    pub label: u32,
}

/// Pipelines, maps and tiles of one site on the GPU.
#[derive(Debug)]
pub struct GroundRenderer {
    archive: Archive,
    label: u32,
    maps: GpuMaps,
    pool: TilePool,
    material: Material,
    indices: wgpu::Buffer,
    view_buffer: wgpu::Buffer,
    maps_buffer: wgpu::Buffer,
    instances: wgpu::Buffer,
    engine_bind_group: wgpu::BindGroup,
    tile_bind_group: wgpu::BindGroup,
    targets: Option<Targets>,
}

const INDICES_PER_TILE: u32 = (TILE_CELLS + 4) * TILE_CELLS * 6;
/// When tiles do not fit, the error is raised by this much at a time.
const RELAX: f64 = 1.25;

/// Two triangles a cell; the diagonal joins (-x, +z) with (+x, -z). Then a skirt
/// along each side (west, east, north, south), whose lower posts are numbered
/// on, side by side.
fn grid_indices() -> Vec<u16> {
    let post = |u: u32, v: u32| (v * TILE_POSTS + u) as u16;
    let last = TILE_CELLS;
    let skirts = (0..4).flat_map(|side| (0..TILE_CELLS).map(move |k| (side, k))).flat_map(|(side, k)| {
        let upper = |k: u32| [post(0, k), post(last, k), post(k, 0), post(k, last)][side as usize];
        let lower = |k: u32| (TILE_POSTS * TILE_POSTS + side * TILE_POSTS + k) as u16;
        [upper(k), lower(k), upper(k + 1), upper(k + 1), lower(k), lower(k + 1)]
    });
    let cells = (0..TILE_CELLS).flat_map(|v| (0..TILE_CELLS).map(move |u| (u, v)));
    cells
        .flat_map(|(u, v)| {
            let (nw, ne, sw, se) = (post(u, v), post(u + 1, v), post(u, v + 1), post(u + 1, v + 1));
            [nw, sw, ne, ne, sw, se]
        })
        .chain(skirts)
        .collect()
}

fn texture_entry(binding: u32, filterable: bool, visibility: wgpu::ShaderStages) -> wgpu::BindGroupLayoutEntry {
    let ty = wgpu::BindingType::Texture {
        sample_type: wgpu::TextureSampleType::Float { filterable },
        view_dimension: wgpu::TextureViewDimension::D2Array,
        multisampled: false,
    };
    wgpu::BindGroupLayoutEntry { binding, visibility, ty, count: None }
}

fn buffer_entry(binding: u32, ty: wgpu::BufferBindingType) -> wgpu::BindGroupLayoutEntry {
    let ty = wgpu::BindingType::Buffer { ty, has_dynamic_offset: false, min_binding_size: None };
    wgpu::BindGroupLayoutEntry { binding, visibility: wgpu::ShaderStages::VERTEX_FRAGMENT, ty, count: None }
}

impl GroundRenderer {
    /// Uploads the site's maps and builds its pipelines.
    pub fn new(gpu: &Gpu, source: GroundSource) -> Result<Self, RenderError> {
        let GroundSource { archive, program, look, layers, label } = source;
        let maps = GpuMaps::new(gpu, &archive.maps()?)?;
        let pool = gpu.checked(|| TilePool::new(gpu, archive.nodes.len()))?;
        let device = &gpu.device;
        let buffer = |label, size: usize, usage| {
            device.create_buffer(&wgpu::BufferDescriptor {
                label: Some(label),
                size: size as u64,
                usage: usage | wgpu::BufferUsages::COPY_DST,
                mapped_at_creation: false,
            })
        };
        let indices = buffer("grid", INDICES_PER_TILE as usize * 2, wgpu::BufferUsages::INDEX);
        gpu.queue.write_buffer(&indices, 0, bytemuck::cast_slice(&grid_indices()));
        let view_buffer = buffer("view", size_of::<ViewUniform>(), wgpu::BufferUsages::UNIFORM);
        let maps_buffer = buffer("maps", size_of::<[MapUniform; MAX_MAPS]>(), wgpu::BufferUsages::UNIFORM);
        let instances = buffer("tiles", size_of::<TileInstance>() * pool.capacity(), wgpu::BufferUsages::STORAGE);

        let both = wgpu::ShaderStages::VERTEX_FRAGMENT;
        let sampler_type = wgpu::BindingType::Sampler(wgpu::SamplerBindingType::Filtering);
        let engine_layout = device.create_bind_group_layout(&wgpu::BindGroupLayoutDescriptor {
            label: Some("engine"),
            entries: &[
                buffer_entry(0, wgpu::BufferBindingType::Uniform),
                buffer_entry(1, wgpu::BufferBindingType::Uniform),
                texture_entry(2, false, both),
                texture_entry(3, false, both),
                texture_entry(4, true, both),
                wgpu::BindGroupLayoutEntry { binding: 5, visibility: both, ty: sampler_type, count: None },
            ],
        });
        let tile_layout = device.create_bind_group_layout(&wgpu::BindGroupLayoutDescriptor {
            label: Some("tiles"),
            entries: &[
                buffer_entry(0, wgpu::BufferBindingType::Storage { read_only: true }),
                texture_entry(1, false, both),
            ],
        });
        let sampler = device.create_sampler(&wgpu::SamplerDescriptor {
            label: Some("gradients"),
            mag_filter: wgpu::FilterMode::Linear,
            min_filter: wgpu::FilterMode::Linear,
            mipmap_filter: wgpu::MipmapFilterMode::Linear,
            ..Default::default()
        });
        let entry = |binding, resource| wgpu::BindGroupEntry { binding, resource };
        let texture = wgpu::BindingResource::TextureView;
        let engine_bind_group = device.create_bind_group(&wgpu::BindGroupDescriptor {
            label: Some("engine"),
            layout: &engine_layout,
            entries: &[
                entry(0, view_buffer.as_entire_binding()),
                entry(1, maps_buffer.as_entire_binding()),
                entry(2, texture(&maps.heights)),
                entry(3, texture(&maps.ceilings)),
                entry(4, texture(&maps.gradients)),
                entry(5, wgpu::BindingResource::Sampler(&sampler)),
            ],
        });
        let tile_bind_group = device.create_bind_group(&wgpu::BindGroupDescriptor {
            label: Some("tiles"),
            layout: &tile_layout,
            entries: &[entry(0, instances.as_entire_binding()), entry(1, texture(&pool.view))],
        });
        let material = Material::new(gpu, program, look, &layers, [&engine_layout, &tile_layout])?;
        Ok(Self {
            archive,
            label,
            maps,
            pool,
            material,
            indices,
            view_buffer,
            maps_buffer,
            instances,
            engine_bind_group,
            tile_bind_group,
            targets: None,
        })
    }

    /// Draws a picture and reads all of it back.
    pub fn render(&mut self, gpu: &Gpu, request: &FrameRequest) -> Result<Frame, RenderError> {
        let (draws, stats) = self.prepare(gpu, request)?;
        let side = request.samples_per_side.max(1);
        let offset = |k: u32| (f64::from(k) + 0.5) / f64::from(side) - 0.5;
        let exposure = pre_exposure(&request.lighting);
        let factor = (1.0 / exposure) as f32 / (side * side) as f32;
        let (width, height) = (request.camera.intrinsics.width, request.camera.intrinsics.height);
        let mut frame = Frame {
            width,
            height,
            radiance: vec![[0.0; 3]; width as usize * height as usize],
            depth_m: vec![],
            normal: vec![],
            labels: vec![],
            stats,
        };
        for (column, row) in (0..side * side).map(|k| (k % side, k / side)) {
            let is_centre = column == side / 2 && row == side / 2;
            let count = if is_centre { 4 } else { 1 };
            let planes = self.draw(gpu, request, &draws, (offset(column), offset(row)), count)?;
            let sums = frame.radiance.iter_mut().zip(radiance(&planes[0], factor));
            sums.for_each(|(sum, sample)| (0..3).for_each(|k| sum[k] += sample[k]));
            if let [_, depth, normal, labels] = &planes[..] {
                frame.depth_m = bytemuck::allocation::pod_collect_to_vec(depth);
                frame.normal = vectors(normal);
                frame.labels = bytemuck::allocation::pod_collect_to_vec(labels);
            }
        }
        Ok(frame)
    }

    /// Draws a picture and waits for it, reading nothing back: for timing.
    pub fn draw_only(&mut self, gpu: &Gpu, request: &FrameRequest) -> Result<FrameStats, RenderError> {
        let (draws, stats) = self.prepare(gpu, request)?;
        self.draw(gpu, request, &draws, (0.0, 0.0), 0)?;
        gpu.device.poll(wgpu::PollType::wait_indefinitely()).map_err(|error| RenderError::Device(error.to_string()))?;
        Ok(stats)
    }

    /// Selects tiles, makes them resident, and writes what all samples share.
    fn prepare(&mut self, gpu: &Gpu, request: &FrameRequest) -> Result<(Draws, FrameStats), RenderError> {
        let camera = &request.camera;
        let size = (camera.intrinsics.width, camera.intrinsics.height);
        if self.targets.as_ref().is_none_or(|targets| targets.size != size) {
            self.targets = Some(Targets::new(gpu, size)?);
        }
        let (lattice, nodes, reference_m) = (&self.archive.lattice, &self.archive.nodes, self.archive.reference_m);
        let mut pixel_error = request.pixel_error.max(1e-3);
        let (selection, mut visible) = loop {
            let selection = select(nodes, lattice, &[camera.selection_view(reference_m, pixel_error)], pixel_error);
            let seen = |tile: &DrawTile| {
                nodes.get(&tile.tile).is_some_and(|node| camera.sees(lattice, reference_m, tile.tile, node))
            };
            let visible: Vec<DrawTile> = selection.tiles.iter().copied().filter(seen).collect();
            if visible.len() <= self.pool.capacity() {
                break (selection, visible);
            }
            pixel_error *= RELAX;
        };
        // Near tiles first, so that what they hide is not shaded; tiles
        // without holes first, since they share a pipeline.
        let has_holes = |tile: &DrawTile| nodes.get(&tile.tile).is_some_and(|node| node.has_holes);
        let distance_m = |tile: &DrawTile| {
            let ([x0, x1], [z0, z1]) = lattice.tile_bounds_m(tile.tile);
            let eye = camera.pose.position_m;
            (eye.x - eye.x.clamp(x0, x1)).hypot(eye.z - eye.z.clamp(z0, z1))
        };
        visible.sort_by(|a, b| {
            has_holes(a).cmp(&has_holes(b)).then(distance_m(a).total_cmp(&distance_m(b))).then(a.tile.cmp(&b.tile))
        });
        let solid = visible.iter().filter(|tile| !has_holes(tile)).count() as u32;
        let draws = Draws { solid, all: visible.len() as u32 };
        let stats = stats(&selection, &visible, pixel_error);

        let keys: Vec<_> = visible.iter().map(|tile| tile.tile).collect();
        let layers = self.pool.require(gpu, &self.archive, &keys)?;
        let ([eye_i, eye_j], _) = camera.eye_post(&self.archive.lattice);
        let instances: Vec<TileInstance> = visible
            .iter()
            .zip(layers)
            .map(|(tile, layer)| {
                let (i, j) = tile.tile.first_post();
                TileInstance {
                    first_post: [(i as i64 - eye_i) as i32, (j as i64 - eye_j) as i32],
                    stride: 1 << tile.tile.level,
                    layer: layer as i32,
                    coarser_sides: tile.coarser_sides.into(),
                    label: self.label,
                    joined_sides: tile.joined_sides.into(),
                    reserved: 0,
                }
            })
            .collect();
        gpu.queue.write_buffer(&self.instances, 0, bytemuck::cast_slice(&instances));
        gpu.queue.write_buffer(&self.maps_buffer, 0, bytemuck::cast_slice(&self.maps.uniform(&camera.pose)));
        self.material.prepare(gpu, &camera.pose);
        Ok((draws, stats))
    }

    /// Draws one sample and reads back the first `count` outputs.
    fn draw(
        &self,
        gpu: &Gpu,
        request: &FrameRequest,
        draws: &Draws,
        offset_px: (f64, f64),
        count: usize,
    ) -> Result<Vec<Vec<u8>>, RenderError> {
        let Some(targets) = &self.targets else { return Ok(vec![]) };
        let (lattice, reference_m) = (&self.archive.lattice, self.archive.reference_m);
        let exposure = pre_exposure(&request.lighting);
        let view = view_uniform(request, lattice, reference_m, self.maps.count(), offset_px, exposure);
        gpu.checked(|| {
            gpu.queue.write_buffer(&self.view_buffer, 0, bytemuck::bytes_of(&view));
            let mut encoder = gpu.device.create_command_encoder(&Default::default());
            {
                let mut pass = targets.begin(&mut encoder);
                pass.set_index_buffer(self.indices.slice(..), wgpu::IndexFormat::Uint16);
                pass.set_bind_group(0, &self.engine_bind_group, &[]);
                pass.set_bind_group(1, &self.tile_bind_group, &[]);
                pass.set_bind_group(2, &self.material.bind_group, &[]);
                pass.set_pipeline(&self.material.solid);
                pass.draw_indexed(0..INDICES_PER_TILE, 0, 0..draws.solid);
                pass.set_pipeline(&self.material.with_holes);
                pass.draw_indexed(0..INDICES_PER_TILE, 0, draws.solid..draws.all);
            }
            targets.copy(&mut encoder, count);
            gpu.queue.submit([encoder.finish()]);
        })?;
        targets.read(gpu, count)
    }
}

/// Instances `0..solid` have no holes, `solid..all` have some.
#[derive(Debug, Clone, Copy)]
struct Draws {
    solid: u32,
    all: u32,
}

fn stats(selection: &Selection, visible: &[DrawTile], pixel_error: f64) -> FrameStats {
    FrameStats {
        selected_tiles: selection.tiles.len(),
        drawn_tiles: visible.len(),
        triangles: visible.len() * (TILE_CELLS * TILE_CELLS * 2) as usize,
        worst_error_px: selection.worst_error_px,
        pixel_error,
    }
}
