//! Site maps on the GPU: heights, maxima for the sun's march, gradients.

use crate::uniform::{MAX_MAPS, MapUniform, NO_GROUND_M};
use crate::{Gpu, RenderError};
use half::f16;
use terrane_core::Pose;
use terrane_tiles::SiteMap;

#[derive(Debug)]
pub(crate) struct GpuMaps {
    pub(crate) heights: wgpu::TextureView,
    pub(crate) ceilings: wgpu::TextureView,
    pub(crate) gradients: wgpu::TextureView,
    places: Vec<MapPlace>,
}

#[derive(Debug, Clone)]
struct MapPlace {
    x0_m: f64,
    z0_m: f64,
    posting_m: f64,
    posts: [i32; 2],
    levels: i32,
}

pub(crate) fn array_view(texture: &wgpu::Texture) -> wgpu::TextureView {
    texture.create_view(&wgpu::TextureViewDescriptor {
        dimension: Some(wgpu::TextureViewDimension::D2Array),
        ..Default::default()
    })
}

/// Writes one level of one layer, rows packed.
pub(crate) fn write_layer(
    gpu: &Gpu,
    texture: &wgpu::Texture,
    level: u32,
    layer: u32,
    size: (u32, u32),
    texel_bytes: u32,
    bytes: &[u8],
) {
    gpu.queue.write_texture(
        wgpu::TexelCopyTextureInfo {
            texture,
            mip_level: level,
            origin: wgpu::Origin3d { x: 0, y: 0, z: layer },
            aspect: wgpu::TextureAspect::All,
        },
        bytes,
        wgpu::TexelCopyBufferLayout {
            offset: 0,
            bytes_per_row: Some(size.0 * texel_bytes),
            rows_per_image: Some(size.1),
        },
        wgpu::Extent3d { width: size.0, height: size.1, depth_or_array_layers: 1 },
    );
}

impl GpuMaps {
    pub(crate) fn new(gpu: &Gpu, maps: &[SiteMap]) -> Result<Self, RenderError> {
        if maps.is_empty() || maps.len() > MAX_MAPS {
            return Err(RenderError::TooManyMaps { count: maps.len(), limit: MAX_MAPS });
        }
        // Layers of an array share one size; powers of two make every level
        // exactly half of the one before.
        let side = |posts: fn(&SiteMap) -> usize| maps.iter().map(posts).max().unwrap_or(1).next_power_of_two() as u32;
        let (width, height) = (side(|map| map.columns), side(|map| map.rows));
        let levels = width.max(height).ilog2() + 1;
        let texture = |label: &str, format, mip_level_count| {
            gpu.device.create_texture(&wgpu::TextureDescriptor {
                label: Some(label),
                size: wgpu::Extent3d { width, height, depth_or_array_layers: maps.len() as u32 },
                mip_level_count,
                sample_count: 1,
                dimension: wgpu::TextureDimension::D2,
                format,
                usage: wgpu::TextureUsages::TEXTURE_BINDING | wgpu::TextureUsages::COPY_DST,
                view_formats: &[],
            })
        };
        let (heights, ceilings, gradients) = gpu.checked(|| {
            (
                texture("post heights", wgpu::TextureFormat::R32Float, 1),
                texture("ceilings", wgpu::TextureFormat::R32Float, levels),
                texture("gradients", wgpu::TextureFormat::Rg16Float, levels),
            )
        })?;
        let mut places = Vec::new();
        for (layer, map) in (0..).zip(maps) {
            let posts =
                padded(
                    map,
                    (width, height),
                    |k| if map.heights_m[k].is_nan() { NO_GROUND_M } else { map.heights_m[k] },
                );
            write_layer(gpu, &heights, 0, layer, (width, height), 4, bytemuck::cast_slice(&posts));

            let mut ceiling = cell_ceilings(map, (width, height));
            let mut gradient = padded(map, (width, height), |k| map.gradients[k]);
            let mut size = (width, height);
            for level in 0..levels {
                write_layer(gpu, &ceilings, level, layer, size, 4, bytemuck::cast_slice(&ceiling));
                let halves: Vec<[f16; 2]> = gradient.iter().map(|g| g.map(f16::from_f32)).collect();
                write_layer(gpu, &gradients, level, layer, size, 4, bytemuck::cast_slice(&halves));
                ceiling = halve(&ceiling, size, |[a, b, c, d]| a.max(b).max(c).max(d));
                gradient = halve(&gradient, size, |[a, b, c, d]| [0, 1].map(|k| 0.25 * (a[k] + b[k] + c[k] + d[k])));
                size = ((size.0 / 2).max(1), (size.1 / 2).max(1));
            }
            let cells = (map.columns.max(map.rows) - 1).max(1).next_power_of_two();
            places.push(MapPlace {
                x0_m: map.x0_m,
                z0_m: map.z0_m,
                posting_m: map.posting_m,
                posts: [map.columns as i32, map.rows as i32],
                levels: cells.ilog2() as i32 + 1,
            });
        }
        let (heights, ceilings, gradients) = (array_view(&heights), array_view(&ceilings), array_view(&gradients));
        Ok(Self { heights, ceilings, gradients, places })
    }

    pub(crate) fn count(&self) -> usize {
        self.places.len()
    }

    /// The maps as seen from an eye.
    pub(crate) fn uniform(&self, pose: &Pose) -> [MapUniform; MAX_MAPS] {
        let mut out = [bytemuck::Zeroable::zeroed(); MAX_MAPS];
        for (target, place) in out.iter_mut().zip(&self.places) {
            *target = MapUniform {
                first_post_rel_m: [(place.x0_m - pose.position_m.x) as f32, (place.z0_m - pose.position_m.z) as f32],
                posting_m: place.posting_m as f32,
                levels: place.levels,
                posts: place.posts,
                reserved: [0; 2],
            };
        }
        out
    }
}

/// A map's values in a larger image whose margin repeats the last column and
/// row, so that averages near the border stay true.
fn padded<T>(map: &SiteMap, (width, height): (u32, u32), value: impl Fn(usize) -> T) -> Vec<T> {
    let places = (0..height as usize).flat_map(|row| (0..width as usize).map(move |column| (column, row)));
    places.map(|(column, row)| value(row.min(map.rows - 1) * map.columns + column.min(map.columns - 1))).collect()
}

/// The highest post of each cell.
fn cell_ceilings(map: &SiteMap, (width, height): (u32, u32)) -> Vec<f32> {
    let at = |column: usize, row: usize| {
        let height = map.heights_m[row * map.columns + column];
        if height.is_nan() { NO_GROUND_M } else { height }
    };
    let places = (0..height as usize).flat_map(|row| (0..width as usize).map(move |column| (column, row)));
    places
        .map(|(column, row)| {
            if column + 1 >= map.columns || row + 1 >= map.rows {
                return NO_GROUND_M;
            }
            at(column, row).max(at(column + 1, row)).max(at(column, row + 1)).max(at(column + 1, row + 1))
        })
        .collect()
}

/// Half the size, each texel made of four; a side of one stays one.
pub(crate) fn halve<T: Copy>(texels: &[T], (width, height): (u32, u32), merge: impl Fn([T; 4]) -> T) -> Vec<T> {
    let (w, h) = (width as usize, height as usize);
    let at = |column: usize, row: usize| texels[row.min(h - 1) * w + column.min(w - 1)];
    let places = (0..(h / 2).max(1)).flat_map(|row| (0..(w / 2).max(1)).map(move |column| (2 * column, 2 * row)));
    places.map(|(c, r)| merge([at(c, r), at(c + 1, r), at(c, r + 1), at(c + 1, r + 1)])).collect()
}
