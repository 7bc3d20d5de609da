//! Camera images as files, and the exact description that goes with them.
//!
//! [`Images`] are the registered planes of one camera; [`CameraDescription`]
//! is `camera.json`; [`write_images`] writes all of them, or nothing.
//!
//! Conventions, stated in `camera.json` too: `depth` is distance along the
//! optical axis, `range` is distance along the pixel's ray, both metres; a
//! pixel that shows nothing is +infinity in both, a zero vector in `normal`,
//! black in `rgb` and 0 in `labels`. Depth, normals and labels belong to pixel
//! centres and are never blended.
//!
//! ```
//! use terrane_core::camera::{ApertureFit, Lens};
//!
//! let k = Lens::default().intrinsics(4, 3, ApertureFit::Horizontal)?;
//! // A wall 10 m ahead: planar depth is 10 everywhere, range grows outwards.
//! let range = terrane_feed::range_from_depth(&vec![10.0; 12], &k);
//! assert!(range.iter().all(|r| *r >= 10.0) && range[0] > range[5]);
//! # Ok::<(), terrane_core::camera::LensError>(())
//! ```

mod description;
mod exposure;
mod images;
mod write;

pub use description::{
    CameraDescription, ContentKeys, DISTORTION_NONE, DepthConvention, ExposureDescription, Label, PoseDescription,
    SunDescription,
};
pub use exposure::Exposure;
pub use images::{Images, range_from_depth};
pub use write::{FeedError, write_images};
