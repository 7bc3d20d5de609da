//! The tile pyramid of a surface: built, kept in one file, selected from.
//!
//! [`bake`] turns a [`terrane_surface::Surface`] into one file: tiles of every
//! level with bounds and measured errors, and the site maps that shading reads.
//! [`Archive`] reads it, from a disk or a web server; [`verify`] checks all of
//! it; [`select`] says which tiles a set of views needs. No GPU here.
//!
//! Laws kept here: detail is earned by measured error; a cover is always
//! whole; the same input gives the same bytes and the same selection, whatever
//! the thread count; a damaged or stale file is refused.
//!
//! ```
//! use terrane_surface::{DemGrid, Surface, SurfaceSpec};
//! use terrane_tiles::{BakeOptions, HeightCode, View, bake, select};
//!
//! let dem = DemGrid::in_memory("flat", (-64.0, -64.0), 1.0, (129, 129), vec![0.0; 129 * 129]);
//! let surface = Surface::new(SurfaceSpec { dems: vec![dem], ..SurfaceSpec::default() })?;
//! let folder = tempfile::tempdir()?;
//! let key = terrane_core::ContentKey::of_bytes(b"flat");
//! let options = BakeOptions { heights: HeightCode::within(0.001), reference_m: 0.0 };
//! let archive = bake(&surface, &folder.path().join("flat.pyramid"), &key, &options, &terrane_core::Quiet)?;
//! let view = View { eye_m: [0.0, 2.0, 0.0].into(), pixels_per_radian: 500.0, pixels_per_metre: None };
//! // Flat ground has no error, so one tile is enough.
//! assert_eq!(select(&archive.nodes, &archive.lattice, &[view], 1.0).tiles.len(), 1);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod archive;
mod bake;
mod bytes;
mod cache;
mod code;
mod codec;
mod error_table;
mod errors;
mod format;
mod maps;
mod overlay;
mod select;
mod tile;
mod verify;
mod work;

pub use archive::{Archive, ArchiveError, DAMAGED};
pub use bake::{BakeOptions, Node, bake};
pub use bytes::{ByteSource, HttpBytes};
pub use code::HeightCode;
pub use format::RULE_VERSION;
pub use maps::{MAX_MAP_SIDE, SiteMap};
pub use overlay::Touched;
pub use select::{DrawTile, Selection, View, select};
pub use tile::{APRON, Tile};
pub use verify::{Fault, Verified, verify};
