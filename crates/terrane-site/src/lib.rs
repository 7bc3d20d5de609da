//! The open site: a stage, its ground, its materials, and the commands that
//! work on them. The command line, and every other way in, calls what is here.
//!
//! [`OpenSite`] reads a stage; [`inspect()`](inspect::inspect), [`bake()`](bake::bake),
//! [`query_height`](query::query_height) and [`render()`](render::render) are the
//! commands on it; [`new_twin`](twin::new_twin) makes a folder for a new site.
//! Every failure is a [`Failure`]: one or more diagnostics for a person.

pub mod archive;
pub mod bake;
pub mod bench;
pub mod dems;
pub mod drive;
pub mod edits;
pub mod export;
mod failure;
pub mod fields;
mod files;
pub mod ground;
pub mod inspect;
mod layers;
mod level_base;
pub mod light;
mod modifiers;
mod open;
pub mod places;
pub mod query;
pub mod raster;
pub mod raster_layers;
pub mod render;
mod synthetic;
pub mod twin;

pub use failure::Failure;
pub use open::{OpenSite, ReaderMode, SiteOptions};
