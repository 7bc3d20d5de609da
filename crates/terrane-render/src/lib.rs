//! Pictures of the ground on wgpu, without a window.
//!
//! Three types keep apart what is made once, what belongs to a site, and what
//! changes with every frame: [`Gpu`] (device and queue), [`GroundRenderer`]
//! (pipelines, site maps, the pool of tiles) and [`FrameRequest`] (camera,
//! light, quality). A [`Frame`] is plain data: linear radiance, planar depth,
//! normals and labels, all of one and the same camera.
//!
//! ```no_run
//! use terrane_render::{FrameRequest, Gpu, GroundRenderer};
//! # fn example(site: terrane_render::GroundSource, request: FrameRequest) -> Result<(), terrane_render::RenderError> {
//! let gpu = Gpu::new()?;
//! let mut renderer = GroundRenderer::new(&gpu, site)?;
//! let frame = renderer.render(&gpu, &request)?;
//! println!("{} m to the middle", frame.depth_m[frame.depth_m.len() / 2]);
//! # Ok(()) }
//! ```
//!
//! Laws kept here: `f64` for where things are, camera-relative `f32` on the
//! GPU; depth, normals and labels are never blended; the same request on the
//! same device gives the same bits.

mod error;
mod frame;
mod gpu;
mod ground;
mod maps;
mod material;
mod pool;
mod uniform;
mod view;

pub use error::RenderError;
pub use frame::{Frame, FrameStats, NO_HIT_LABEL};
pub use gpu::Gpu;
pub use ground::{GroundRenderer, GroundSource};
pub use material::RasterLayer;
pub use view::{Camera, FrameRequest, Lighting};
