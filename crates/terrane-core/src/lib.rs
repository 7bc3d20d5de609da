//! What every terrane crate agrees on: frames and poses, camera models,
//! diagnostics, content keys, progress, and the plain data of a shader look.
//!
//! Start with [`SiteFrame`] (how map coordinates become site coordinates),
//! [`camera::Lens`] and [`camera::Intrinsics`] (the one place that turns a USD
//! camera into pixels), and [`Diagnostic`] (the one shape of a message for a
//! person).
//!
//! ```
//! use terrane_core::SiteFrame;
//!
//! let frame = SiteFrame { origin_easting_m: 1000.0, origin_northing_m: 2000.0, origin_height_m: 50.0 };
//! // A point 10 m north of the origin lies at negative z.
//! let site = frame.site_from_map(1000.0, 2010.0, 55.0);
//! assert_eq!(site.to_array(), [0.0, 5.0, -10.0]);
//! ```
//!
//! Laws kept here: SI units, names that carry units, degrees only where USD or
//! a person sees them, `f64` for where things are.

pub mod camera;
pub mod colour;
pub mod diagnostic;
pub mod frame;
pub mod key;
pub mod look;
pub mod pose;
mod posts;
pub mod progress;
mod raster;
mod samples;

pub use diagnostic::{Diagnostic, Place, Severity};
pub use frame::SiteFrame;
pub use key::{ContentKey, KeyBuilder};
pub use look::{ParamValue, ShaderLook};
pub use pose::Pose;
pub use posts::{MemoryPosts, PostReadError, PostSource, PostWindow};
pub use progress::{Cancelled, Progress, Quiet};
pub use raster::RasterSettings;
pub use samples::{Samples, bilinear, catmull_rom, snap_to_post};
