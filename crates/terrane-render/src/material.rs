//! A compiled material on the GPU: pipelines, its uniform, its textures.

use crate::maps::{halve, write_layer};
use crate::{Gpu, RenderError};
use std::borrow::Cow;
use std::collections::BTreeMap;
use terrane_core::colour::{linear_from_srgb, srgb_byte_from_linear};
use terrane_core::{Pose, ShaderLook};
use terrane_look::{EngineFill, Program};

/// A picture draped over the ground.
#[derive(Debug, Clone)]
pub struct RasterLayer {
    /// Site x of the first pixel's centre, metres.
    pub x0_m: f64,
    /// Site z of the first pixel's centre, metres.
    pub z0_m: f64,
    /// Width of a pixel, metres.
    pub pixel_m: f64,
    /// Columns.
    pub columns: u32,
    /// Rows.
    pub rows: u32,
    /// `columns * rows * 4` bytes, row-major from the north-west: sRGB colour,
    /// alpha as coverage.
    pub rgba: Vec<u8>,
}

/// Formats of the four outputs, in the order of their locations.
pub(crate) const TARGETS: [wgpu::TextureFormat; 4] = [
    wgpu::TextureFormat::Rgba16Float,
    wgpu::TextureFormat::R32Float,
    wgpu::TextureFormat::Rgba32Float,
    wgpu::TextureFormat::R32Uint,
];
pub(crate) const DEPTH_FORMAT: wgpu::TextureFormat = wgpu::TextureFormat::Depth32Float;

#[derive(Debug)]
pub(crate) struct Material {
    pub(crate) solid: wgpu::RenderPipeline,
    pub(crate) with_holes: wgpu::RenderPipeline,
    pub(crate) bind_group: wgpu::BindGroup,
    uniform: Option<wgpu::Buffer>,
    program: Program,
    look: ShaderLook,
    places: BTreeMap<String, [f64; 3]>,
}

impl Material {
    pub(crate) fn new(
        gpu: &Gpu,
        program: Program,
        look: ShaderLook,
        layers: &BTreeMap<String, RasterLayer>,
        engine_layouts: [&wgpu::BindGroupLayout; 2],
    ) -> Result<Self, RenderError> {
        gpu.checked(|| Self::create(gpu, program, look, layers, engine_layouts))
    }

    fn create(
        gpu: &Gpu,
        program: Program,
        look: ShaderLook,
        layers: &BTreeMap<String, RasterLayer>,
        engine_layouts: [&wgpu::BindGroupLayout; 2],
    ) -> Self {
        let device = &gpu.device;
        let uniform = program.uniform.map(|(_, size)| {
            device.create_buffer(&wgpu::BufferDescriptor {
                label: Some("material"),
                size: u64::from(size).next_multiple_of(16),
                usage: wgpu::BufferUsages::UNIFORM | wgpu::BufferUsages::COPY_DST,
                mapped_at_creation: false,
            })
        });
        let textures: Vec<wgpu::TextureView> =
            program.textures.iter().map(|slot| upload(gpu, &slot.name, layers.get(&slot.name))).collect();
        let sampler = device.create_sampler(&wgpu::SamplerDescriptor {
            label: Some("material"),
            mag_filter: wgpu::FilterMode::Linear,
            min_filter: wgpu::FilterMode::Linear,
            mipmap_filter: wgpu::MipmapFilterMode::Linear,
            ..Default::default()
        });
        let entry = |binding, ty| wgpu::BindGroupLayoutEntry {
            binding,
            visibility: wgpu::ShaderStages::FRAGMENT,
            ty,
            count: None,
        };
        let mut layout_entries = Vec::new();
        let mut entries = Vec::new();
        if let (Some((binding, _)), Some(buffer)) = (program.uniform, &uniform) {
            let ty = wgpu::BindingType::Buffer {
                ty: wgpu::BufferBindingType::Uniform,
                has_dynamic_offset: false,
                min_binding_size: None,
            };
            layout_entries.push(entry(binding, ty));
            entries.push(wgpu::BindGroupEntry { binding, resource: buffer.as_entire_binding() });
        }
        for (slot, view) in program.textures.iter().zip(&textures) {
            let ty = wgpu::BindingType::Texture {
                sample_type: wgpu::TextureSampleType::Float { filterable: true },
                view_dimension: wgpu::TextureViewDimension::D2,
                multisampled: false,
            };
            layout_entries.push(entry(slot.binding, ty));
            entries.push(wgpu::BindGroupEntry {
                binding: slot.binding,
                resource: wgpu::BindingResource::TextureView(view),
            });
        }
        for &binding in &program.samplers {
            layout_entries.push(entry(binding, wgpu::BindingType::Sampler(wgpu::SamplerBindingType::Filtering)));
            entries.push(wgpu::BindGroupEntry { binding, resource: wgpu::BindingResource::Sampler(&sampler) });
        }
        let layout = device.create_bind_group_layout(&wgpu::BindGroupLayoutDescriptor {
            label: Some("material"),
            entries: &layout_entries,
        });
        let bind_group = device.create_bind_group(&wgpu::BindGroupDescriptor {
            label: Some("material"),
            layout: &layout,
            entries: &entries,
        });

        let pipeline_layout = device.create_pipeline_layout(&wgpu::PipelineLayoutDescriptor {
            label: Some("ground"),
            bind_group_layouts: &[Some(engine_layouts[0]), Some(engine_layouts[1]), Some(&layout)],
            immediate_size: 0,
        });
        let vertex = shader(gpu, "ground vertex", &program.vertex);
        let solid = pipeline(gpu, &pipeline_layout, &vertex, &shader(gpu, "ground", &program.fragment));
        let with_holes =
            pipeline(gpu, &pipeline_layout, &vertex, &shader(gpu, "ground with holes", &program.fragment_holes));
        let places =
            layers.iter().map(|(name, layer)| (name.clone(), [layer.x0_m, layer.z0_m, layer.pixel_m])).collect();
        Self { solid, with_holes, bind_group, uniform, program, look, places }
    }

    /// Writes the Material uniform for an eye: a write, never a rebuild.
    pub(crate) fn prepare(&self, gpu: &Gpu, pose: &Pose) {
        let Some(buffer) = &self.uniform else { return };
        let bytes = self.program.uniform(&self.look, |fill| match fill {
            EngineFill::Placement(map) => self.places.get(map).map_or([0.0; 4], |[x0_m, z0_m, pixel_m]| {
                let eye = pose.position_m;
                [(x0_m - eye.x) as f32, (z0_m - eye.z) as f32, (1.0 / pixel_m) as f32, 1.0]
            }),
        });
        gpu.queue.write_buffer(buffer, 0, &bytes);
    }
}

fn shader(gpu: &Gpu, label: &str, module: &naga::Module) -> wgpu::ShaderModule {
    gpu.device.create_shader_module(wgpu::ShaderModuleDescriptor {
        label: Some(label),
        source: wgpu::ShaderSource::Naga(Cow::Owned(module.clone())),
    })
}

fn pipeline(
    gpu: &Gpu,
    layout: &wgpu::PipelineLayout,
    vertex: &wgpu::ShaderModule,
    fragment: &wgpu::ShaderModule,
) -> wgpu::RenderPipeline {
    let targets =
        TARGETS.map(|format| Some(wgpu::ColorTargetState { format, blend: None, write_mask: wgpu::ColorWrites::ALL }));
    gpu.device.create_render_pipeline(&wgpu::RenderPipelineDescriptor {
        label: Some("ground"),
        layout: Some(layout),
        vertex: wgpu::VertexState {
            module: vertex,
            entry_point: Some("vertex"),
            compilation_options: Default::default(),
            buffers: &[],
        },
        primitive: wgpu::PrimitiveState::default(),
        depth_stencil: Some(wgpu::DepthStencilState {
            format: DEPTH_FORMAT,
            depth_write_enabled: Some(true),
            depth_compare: Some(wgpu::CompareFunction::Greater),
            stencil: Default::default(),
            bias: Default::default(),
        }),
        multisample: wgpu::MultisampleState::default(),
        fragment: Some(wgpu::FragmentState {
            module: fragment,
            entry_point: Some("fragment"),
            compilation_options: Default::default(),
            targets: &targets,
        }),
        multiview_mask: None,
        cache: None,
    })
}

/// A layer with its mip chain, or one uncovered texel where none is authored.
fn upload(gpu: &Gpu, name: &str, layer: Option<&RasterLayer>) -> wgpu::TextureView {
    let none = RasterLayer { x0_m: 0.0, z0_m: 0.0, pixel_m: 1.0, columns: 1, rows: 1, rgba: vec![0; 4] };
    let layer = layer.unwrap_or(&none);
    let mut size = (layer.columns, layer.rows);
    let levels = size.0.max(size.1).ilog2() + 1;
    let texture = gpu.device.create_texture(&wgpu::TextureDescriptor {
        label: Some(name),
        size: wgpu::Extent3d { width: size.0, height: size.1, depth_or_array_layers: 1 },
        mip_level_count: levels,
        sample_count: 1,
        dimension: wgpu::TextureDimension::D2,
        format: wgpu::TextureFormat::Rgba8UnormSrgb,
        usage: wgpu::TextureUsages::TEXTURE_BINDING | wgpu::TextureUsages::COPY_DST,
        view_formats: &[],
    });
    // Averages are taken in linear light. Colour is stored times coverage, so
    // that filtering across the edge of a layer does not darken it.
    let mut texels: Vec<[f32; 4]> = layer.rgba.chunks_exact(4).map(linear_premultiplied).collect();
    for level in 0..levels {
        let bytes: Vec<u8> = texels.iter().flat_map(srgb_bytes).collect();
        write_layer(gpu, &texture, level, 0, size, 4, &bytes);
        texels = halve(&texels, size, |four| {
            [0, 1, 2, 3].map(|k| 0.25 * (four[0][k] + four[1][k] + four[2][k] + four[3][k]))
        });
        size = ((size.0 / 2).max(1), (size.1 / 2).max(1));
    }
    texture.create_view(&Default::default())
}

fn linear_premultiplied(pixel: &[u8]) -> [f32; 4] {
    let alpha = f32::from(pixel[3]) / 255.0;
    let linear = |byte: u8| alpha * linear_from_srgb(f32::from(byte) / 255.0);
    [linear(pixel[0]), linear(pixel[1]), linear(pixel[2]), alpha]
}

fn srgb_bytes(texel: &[f32; 4]) -> [u8; 4] {
    let [r, g, b] = [texel[0], texel[1], texel[2]].map(srgb_byte_from_linear);
    [r, g, b, (texel[3] * 255.0).round() as u8]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn covered_colours_survive_and_uncovered_ones_are_black() {
        for byte in 0..=255 {
            assert_eq!(srgb_bytes(&linear_premultiplied(&[byte, byte, 7, 255])), [byte, byte, 7, 255]);
        }
        assert_eq!(srgb_bytes(&linear_premultiplied(&[200, 100, 50, 0])), [0, 0, 0, 0]);
    }
}
