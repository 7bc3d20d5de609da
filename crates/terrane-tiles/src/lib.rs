//! The tile pyramid of a surface: built, kept in one file, selected from.
//!
//! [`build`] bakes a [`terrane_surface::Surface`] into tiles of every level
//! with bounds and errors, and into the site maps that shading reads;
//! [`Archive`] is the one file that holds them; [`select`] says which tiles a
//! set of views needs. No GPU here.
//!
//! Laws kept here: detail is earned by measured error; a cover is always
//! whole; the same input gives the same bytes and the same selection, whatever
//! the thread count; a damaged or stale file is refused.
//!
//! ```
//! use terrane_surface::{DemGrid, Surface, SurfaceSpec};
//! use terrane_tiles::{build, select, View};
//!
//! let dem = DemGrid {
//!     name: "flat".into(), x0_m: -64.0, z0_m: -64.0, posting_m: 1.0,
//!     columns: 129, rows: 129, heights_m: vec![0.0; 129 * 129],
//! };
//! let surface = Surface::new(SurfaceSpec { dems: vec![dem], ..SurfaceSpec::default() })?;
//! let pyramid = build(&surface, &terrane_core::Quiet)?;
//! let view = View { eye_m: [0.0, 2.0, 0.0].into(), pixels_per_radian: 500.0, pixels_per_metre: None };
//! // Flat ground has no error, so one tile is enough.
//! assert_eq!(select(&pyramid.nodes, &pyramid.lattice, &[view], 1.0).tiles.len(), 1);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod archive;
mod maps;
mod pyramid;
mod select;

pub use archive::{Archive, ArchiveError, RULE_VERSION};
pub use maps::{MAX_MAP_SIDE, SiteMap};
pub use pyramid::{Node, Pyramid, build};
pub use select::{DrawTile, Selection, View, select};
