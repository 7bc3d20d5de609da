//! Maps derived from heights: slope, aspect, normals, curvature and the like.
//!
//! A [`DerivedMap`] is evaluated on a [`HeightWindow`], so that a raster of
//! any size can be worked through in windows: the value at a post depends on
//! the heights around it alone, bit for bit, never on the window or on how
//! many threads there are.
//!
//! | map | rule | source |
//! |---|---|---|
//! | slope, aspect, normal, hillshade | weighted differences over 3 x 3 posts | Horn 1981 |
//! | roughness | largest minus smallest of 3 x 3 posts | Wilson et al. 2007 |
//! | tri | root of the summed squared differences to eight neighbours | Riley et al. 1999 |
//! | curvatures | least-squares quadratic over 3 x 3 posts | Evans 1980 |
//! | ambient-occlusion | cosine-weighted visible sky above a level receiver | horizon march |
//!
//! ```
//! use terrane_surface::derived::{DerivedMap, DerivedOptions, HeightWindow};
//!
//! // Three by three posts that rise one metre a metre to the east, and a margin of one.
//! let heights_m = (0..25).map(|post| f64::from(post % 5)).collect();
//! let window = HeightWindow { columns: 3, rows: 3, margin: 1, posting_m: 1.0, heights_m };
//! let map: DerivedMap = "slope".parse()?;
//! assert_eq!(map.evaluate(&window, &DerivedOptions::default())?, [45.0; 9]);
//! # Ok::<(), terrane_surface::derived::DerivedError>(())
//! ```
//!
//! Laws kept here: a hole is nodata (NaN) in every map; what lies in a hole is
//! never invented as data beside it; `f64` inside, `f32` out.

mod catalogue;
mod curvature;
mod gradient;
mod options;
mod roughness;
mod sky_view;
#[cfg(test)]
mod tests;
mod window;

pub use catalogue::DerivedMap;
pub use gradient::horn_gradient;
pub use options::{DerivedError, DerivedOptions};
pub use window::HeightWindow;
