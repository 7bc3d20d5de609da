//! The height function of a site, and what it answers. Pure: no files, no GPU.
//!
//! A [`Surface`] folds one or more DEMs ([`DemGrid`], finest wins) and the
//! body's curvature into one function of site x and z. Its [`Lattice`] says at
//! which posting the ground is drawn where, so that the mesh, the query and
//! every bake read the same triangles: cell by cell, the diagonal joins
//! (-x, +z) with (+x, -z).
//!
//! ```
//! use terrane_surface::{DemGrid, Surface, SurfaceSpec};
//!
//! let heights_m = vec![0.0, 1.0, 2.0, 0.0, 1.0, 2.0, 0.0, 1.0, 2.0];
//! let dem = DemGrid::in_memory("ramp", (0.0, 0.0), 1.0, (3, 3), heights_m);
//! let surface = Surface::new(SurfaceSpec { dems: vec![dem], ..SurfaceSpec::default() })?;
//! assert_eq!(surface.ground_at(1.25, 0.5).map(|ground| ground.height_m), Some(1.25));
//! assert!(surface.ground_at(9.0, 0.5).is_none());
//! # Ok::<(), terrane_surface::SurfaceError>(())
//! ```
//!
//! Laws kept here: one surface; a hole is "no ground", never a number; `f64`
//! throughout; a post's height depends on its place alone.

mod changes;
mod dem;
pub mod derived;
mod grid;
mod ground;
mod lattice;
mod leaves;
mod modifiers;
mod mosaic;
mod pages;
mod rays;
mod rect;
mod surface;
mod traverse;

pub use dem::DemGrid;
pub use grid::curvature_drop_m;
pub use ground::{Ground, Source};
pub use lattice::{Lattice, TILE_CELLS, TILE_POSTS, TileKey};
pub use modifiers::{
    CraterSpec, EditKind, EditSpec, MOST_CRATERS, Modifier, ModifierSpec, OverzoomSpec, PopulationSpec, Shape, SizeLaw,
};
pub use mosaic::{Disagreement, level};
pub use pages::Posts;
pub use rays::{Ray, RayCaster, RayHit, TileBounds};
pub use rect::SiteRect;
pub use surface::{Surface, SurfaceError, SurfaceSpec};
pub use traverse::{Footprint, LineOfSight, MOST_PROFILE_POINTS, ProfilePoint};
