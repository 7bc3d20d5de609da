//! Targets that are drawn into, and pictures read back from them.

use crate::material::{DEPTH_FORMAT, TARGETS};
use crate::{Gpu, RenderError};
use half::f16;

/// Label of pixels that show no ground.
pub const NO_HIT_LABEL: u32 = 0;

/// A picture and its registered companions, row-major from the top left.
#[derive(Debug, Clone, PartialEq)]
pub struct Frame {
    /// Width, pixels.
    pub width: u32,
    /// Height, pixels.
    pub height: u32,
    /// Radiance towards the eye, cd/m2, linear colour; black where nothing is.
    pub radiance: Vec<[f32; 3]>,
    /// Distance along the optical axis, metres; +infinity where nothing is.
    pub depth_m: Vec<f32>,
    /// Unit normal in site axes; zero where nothing is.
    pub normal: Vec<[f32; 3]>,
    /// Label ids; [`NO_HIT_LABEL`] where nothing is.
    pub labels: Vec<u32>,
    /// How it was drawn.
    pub stats: FrameStats,
}

/// How a picture was drawn.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct FrameStats {
    /// Tiles of the cover.
    pub selected_tiles: usize,
    /// Tiles that reach into the picture.
    pub drawn_tiles: usize,
    /// Triangles drawn for one sample.
    pub triangles: usize,
    /// Bound on the projected error of the drawn ground, pixels.
    pub worst_error_px: f64,
    /// The pixel error in force; larger than asked when the tiles did not fit.
    pub pixel_error: f64,
}

#[derive(Debug)]
pub(crate) struct Targets {
    pub(crate) size: (u32, u32),
    textures: [wgpu::Texture; 4],
    views: [wgpu::TextureView; 4],
    depth: wgpu::TextureView,
    buffers: [wgpu::Buffer; 4],
}

/// More than 8K UHD in one picture takes gigabytes.
const MAX_PIXELS: u64 = 7680 * 4320;

/// Rows of a buffer that a texture is copied to start at multiples of this.
const ROW_ALIGNMENT: u32 = wgpu::COPY_BYTES_PER_ROW_ALIGNMENT;

fn texel_bytes(format: wgpu::TextureFormat) -> u32 {
    format.block_copy_size(None).unwrap_or(4)
}

impl Targets {
    pub(crate) fn new(gpu: &Gpu, size: (u32, u32)) -> Result<Self, RenderError> {
        let limit = gpu.device.limits().max_texture_dimension_2d;
        let (width, height) = size;
        let pixels = u64::from(width) * u64::from(height);
        if pixels == 0 || pixels > MAX_PIXELS || width > limit || height > limit {
            return Err(RenderError::ImageSize { width, height, limit });
        }
        gpu.checked(|| {
            let texture = |format, usage| {
                gpu.device.create_texture(&wgpu::TextureDescriptor {
                    label: Some("target"),
                    size: wgpu::Extent3d { width, height, depth_or_array_layers: 1 },
                    mip_level_count: 1,
                    sample_count: 1,
                    dimension: wgpu::TextureDimension::D2,
                    format,
                    usage: wgpu::TextureUsages::RENDER_ATTACHMENT | usage,
                    view_formats: &[],
                })
            };
            let textures = TARGETS.map(|format| texture(format, wgpu::TextureUsages::COPY_SRC));
            let views = textures.each_ref().map(|texture| texture.create_view(&Default::default()));
            let depth = texture(DEPTH_FORMAT, wgpu::TextureUsages::empty()).create_view(&Default::default());
            let buffers = TARGETS.map(|format| {
                let row = (width * texel_bytes(format)).next_multiple_of(ROW_ALIGNMENT);
                gpu.device.create_buffer(&wgpu::BufferDescriptor {
                    label: Some("readback"),
                    size: u64::from(row) * u64::from(height),
                    usage: wgpu::BufferUsages::COPY_DST | wgpu::BufferUsages::MAP_READ,
                    mapped_at_creation: false,
                })
            });
            Self { size, textures, views, depth, buffers }
        })
    }

    /// Begins the pass that draws into all four, cleared to "nothing here".
    pub(crate) fn begin<'a>(&self, encoder: &'a mut wgpu::CommandEncoder) -> wgpu::RenderPass<'a> {
        let nothing = [wgpu::Color::TRANSPARENT, wgpu::Color { r: f64::INFINITY, ..wgpu::Color::TRANSPARENT }];
        let attachment = |k: usize| {
            Some(wgpu::RenderPassColorAttachment {
                view: &self.views[k],
                depth_slice: None,
                resolve_target: None,
                ops: wgpu::Operations {
                    load: wgpu::LoadOp::Clear(nothing[usize::from(k == 1)]),
                    store: wgpu::StoreOp::Store,
                },
            })
        };
        encoder.begin_render_pass(&wgpu::RenderPassDescriptor {
            label: Some("ground"),
            color_attachments: &[0, 1, 2, 3].map(attachment),
            depth_stencil_attachment: Some(wgpu::RenderPassDepthStencilAttachment {
                view: &self.depth,
                depth_ops: Some(wgpu::Operations { load: wgpu::LoadOp::Clear(0.0), store: wgpu::StoreOp::Discard }),
                stencil_ops: None,
            }),
            timestamp_writes: None,
            occlusion_query_set: None,
            multiview_mask: None,
        })
    }

    /// Records copies of the first `count` outputs to where the CPU can read.
    pub(crate) fn copy(&self, encoder: &mut wgpu::CommandEncoder, count: usize) {
        let (width, height) = self.size;
        for ((texture, buffer), format) in self.textures.iter().zip(&self.buffers).zip(TARGETS).take(count) {
            let row = (width * texel_bytes(format)).next_multiple_of(ROW_ALIGNMENT);
            encoder.copy_texture_to_buffer(
                texture.as_image_copy(),
                wgpu::TexelCopyBufferInfo {
                    buffer,
                    layout: wgpu::TexelCopyBufferLayout { offset: 0, bytes_per_row: Some(row), rows_per_image: None },
                },
                wgpu::Extent3d { width, height, depth_or_array_layers: 1 },
            );
        }
    }

    /// Waits for the copies and returns the first `count` outputs, rows packed.
    pub(crate) fn read(&self, gpu: &Gpu, count: usize) -> Result<Vec<Vec<u8>>, RenderError> {
        let device_error = |error: &dyn std::fmt::Display| RenderError::Device(error.to_string());
        for buffer in self.buffers.iter().take(count) {
            buffer.map_async(wgpu::MapMode::Read, .., |_| {});
        }
        gpu.device.poll(wgpu::PollType::wait_indefinitely()).map_err(|error| device_error(&error))?;
        let mut out = Vec::new();
        for (buffer, format) in self.buffers.iter().zip(TARGETS).take(count) {
            let packed = (self.size.0 * texel_bytes(format)) as usize;
            let row = packed.next_multiple_of(ROW_ALIGNMENT as usize);
            let bytes = buffer.get_mapped_range(..).map_err(|error| device_error(&error))?;
            let mut image = Vec::with_capacity(packed * self.size.1 as usize);
            bytes.chunks_exact(row).for_each(|line| image.extend_from_slice(&line[..packed]));
            drop(bytes);
            buffer.unmap();
            out.push(image);
        }
        Ok(out)
    }
}

/// RGB of 16-bit float texels, times a factor.
pub(crate) fn radiance(bytes: &[u8], factor: f32) -> impl Iterator<Item = [f32; 3]> {
    bytes.chunks_exact(8).map(move |texel| {
        let channel = |k: usize| f16::from_le_bytes([texel[2 * k], texel[2 * k + 1]]).to_f32() * factor;
        [channel(0), channel(1), channel(2)]
    })
}

/// The first three of four 32-bit floats a texel.
pub(crate) fn vectors(bytes: &[u8]) -> Vec<[f32; 3]> {
    let word = |texel: &[u8], k: usize| {
        f32::from_le_bytes([texel[4 * k], texel[4 * k + 1], texel[4 * k + 2], texel[4 * k + 3]])
    };
    bytes.chunks_exact(16).map(|texel| [word(texel, 0), word(texel, 1), word(texel, 2)]).collect()
}
