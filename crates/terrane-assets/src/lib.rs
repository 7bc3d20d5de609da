//! Where assets come from, and the rules that confine them.
//!
//! Three kinds of address name an asset:
//!
//! - `lunco://shaders/...`, `lunco://stages/...` (or `lunco://scenes/...`): the
//!   product's own library, compiled in; a folder on disk may override it.
//! - `twin://...`: inside the open twin, never above it, symbolic links
//!   included. A twin's manifest may map such an address to a file elsewhere
//!   that its owner names (see [`Twin`]).
//! - any other path: relative to the layer that authored it.
//!
//! [`AssetRoots`] resolves an authored path to an [`AssetLocation`] or says what
//! was tried.
//!
//! ```
//! use terrane_assets::{AssetLocation, AssetRoots};
//!
//! let roots = AssetRoots::default();
//! let shader = roots.resolve("lunco://shaders/terrain_layered.wesl", None)?;
//! assert!(matches!(shader, AssetLocation::Library(_)));
//! assert!(roots.resolve("twin://dem.tif", None).is_err());
//! # Ok::<(), terrane_assets::AssetError>(())
//! ```

mod library;
mod resolve;
mod twin;

pub use library::library_files;
pub use resolve::{AssetError, AssetLocation, AssetRoots};
pub use twin::{BakeSettings, MANIFEST_NAME, Mosaic, Twin, TwinManifest};
