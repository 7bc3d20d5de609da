//! Opens a USD stage and reads it into plain data.
//!
//! Three types carry the crate: [`ReadRequest`] says which stage and at what
//! time, [`SiteSpec`] is everything terrane reads from it, and
//! [`ConfinedReader`] reads it in a child process of the same program, with
//! limits on memory, time and output, because a stage comes from outside and a
//! damaged one can make any reader loop, abort or eat all memory. Programs that
//! trust their files use [`read_in_process`].
//!
//! ```
//! use terrane_stage::{ReadRequest, read_in_process};
//!
//! let folder = tempfile::tempdir()?;
//! let stage = folder.path().join("site.usda");
//! std::fs::write(
//!     &stage,
//!     r#"#usda 1.0
//! (
//!     metersPerUnit = 1
//!     upAxis = "Y"
//! )
//! def Camera "Eye" { float focalLength = 24 }
//! "#,
//! )?;
//! let site = read_in_process(&ReadRequest::new(stage))?;
//! assert_eq!(site.cameras[0].prim, "/Eye");
//! assert_eq!(site.cameras[0].lens.focal_length, 24.0);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Laws kept here:
//!
//! - `upAxis` and `metersPerUnit` are honoured here and nowhere else: what
//!   leaves is in metres with +Y up.
//! - Only active, defined, non-abstract prims count.
//! - One thing that can't be read (a missing layer, a bad value) is a
//!   diagnostic, and the rest is still true. Nothing is replaced by a guess.
//! - Textures, shaders and elevation files are handed out as authored, with the
//!   layer they are relative to; whether they exist is their reader's matter.
//! - The same stage gives the same [`SiteSpec`], whatever the
//!   machine's load.
//!
//! Composition is done by the crate `openusd`; none of its types crosses this
//! door. Conventions follow OpenUSD's own documentation of UsdGeom, UsdLux,
//! UsdShade and UsdPhysics (<https://openusd.org/release/api/>).

mod binding;
mod blackbody;
mod cameras;
mod child;
mod composition;
mod confined;
mod error;
mod layer_text;
mod lights;
mod materials;
mod reader;
mod resolver;
mod scan;
mod site;
pub mod spec;
mod terrain;
mod tree;
mod values;
mod vocabulary;
mod xform;

pub use child::run_reader_child_if_asked;
pub use confined::{ConfinedReader, Limits};
pub use error::{ReaderLimit, StageError};
pub use reader::{ReadRequest, read_in_process};
pub use spec::SiteSpec;
