//! The device: opened once, shared by every renderer.

use crate::RenderError;

/// An open device and its queue.
#[derive(Debug)]
pub struct Gpu {
    pub(crate) device: wgpu::Device,
    pub(crate) queue: wgpu::Queue,
    name: String,
}

/// Bytes a pixel that the four outputs of a frame take.
const TARGET_BYTES_PER_PIXEL: u32 = 32;

impl Gpu {
    /// Opens the best Vulkan device; a software one will do.
    pub fn new() -> Result<Self, RenderError> {
        pollster::block_on(Self::open())
    }

    async fn open() -> Result<Self, RenderError> {
        let descriptor = wgpu::InstanceDescriptor {
            backends: wgpu::Backends::VULKAN,
            ..wgpu::InstanceDescriptor::new_without_display_handle()
        };
        let instance = wgpu::Instance::new(descriptor);
        let options = wgpu::RequestAdapterOptions {
            power_preference: wgpu::PowerPreference::HighPerformance,
            ..Default::default()
        };
        let adapter =
            instance.request_adapter(&options).await.map_err(|error| RenderError::NoAdapter(error.to_string()))?;
        let available = adapter.limits();
        let required_limits = wgpu::Limits {
            max_texture_dimension_2d: available.max_texture_dimension_2d,
            max_texture_array_layers: available.max_texture_array_layers,
            max_buffer_size: available.max_buffer_size,
            max_storage_buffer_binding_size: available.max_storage_buffer_binding_size,
            max_color_attachment_bytes_per_sample: TARGET_BYTES_PER_PIXEL,
            ..wgpu::Limits::default()
        };
        let descriptor = wgpu::DeviceDescriptor { label: Some("terrane"), required_limits, ..Default::default() };
        let (device, queue) =
            adapter.request_device(&descriptor).await.map_err(|error| RenderError::NoDevice(error.to_string()))?;
        Ok(Self { device, queue, name: adapter.get_info().name })
    }

    /// The adapter's name, for descriptions of pictures and figures.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Runs GPU calls and turns what the device refuses into an error.
    pub(crate) fn checked<T>(&self, work: impl FnOnce() -> T) -> Result<T, RenderError> {
        let memory = self.device.push_error_scope(wgpu::ErrorFilter::OutOfMemory);
        let validation = self.device.push_error_scope(wgpu::ErrorFilter::Validation);
        let result = work();
        let refused = pollster::block_on(validation.pop());
        let refused = refused.or(pollster::block_on(memory.pop()));
        match refused {
            Some(error) => Err(RenderError::Device(error.to_string())),
            None => Ok(result),
        }
    }
}
