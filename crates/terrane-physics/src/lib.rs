//! What a wheel touches: colliders of the ground, and balls and rovers that
//! stand, roll and drive on them.
//!
//! A [`TileCollider`] is one leaf tile of a [`terrane_surface::Surface`]: the
//! leaf's own posts and diagonals. [`Colliders`] keeps the tiles around what
//! moves. A [`World`] steps bodies on them, and [`drive()`] sends a vehicle
//! along a path and hands back a [`DriveTrace`].
//!
//! ```
//! use glam::DVec3;
//! use terrane_physics::{BallSpec, World, WorldSpec};
//! use terrane_surface::{DemGrid, Surface, SurfaceSpec};
//!
//! let dem = DemGrid::in_memory("plain", (-32.0, -32.0), 1.0, (65, 65), vec![5.0; 65 * 65]);
//! let surface = Surface::new(SurfaceSpec { dems: vec![dem], ..SurfaceSpec::default() })?;
//! let mut world = World::new(surface, WorldSpec { gravity_m_s2: 1.62, ..WorldSpec::default() })?;
//! let position_m = DVec3::new(3.0, 6.0, 4.0);
//! let ball = world.add_ball(&BallSpec { radius_m: 0.25, position_m, ..BallSpec::default() })?;
//! for _ in 0..2 * 480 {
//!     world.step()?;
//! }
//! let height_m = world.body(ball).map(|state| state.position_m.y);
//! assert!((height_m.unwrap_or_default() - 5.25).abs() < 1e-3);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Laws kept here: a collider is the surface itself and never a substitute; a
//! hole is a hole; the ground is in before a body can reach it, and a tile is
//! swapped for another between two steps, all at once; the same calls give
//! the same bits on any number of threads. Site frame, SI units; site
//! positions are `f64`, and the engine works around an origin that goes with
//! the bodies.
//!
//! The engine is rapier3d with parry3d (Dimforge), in `f32`, or in `f64` with
//! the cargo feature `f64`. Its types stay inside of this crate. `docs/physics.md`
//! says which settings it has and why.

// What is a cast to the engine's `f32` is none with the feature `f64`.
#![cfg_attr(feature = "f64", allow(clippy::unnecessary_cast))]

mod drive;
mod engine;
mod error;
mod ground;
#[cfg(test)]
mod testing;
mod world;

pub use drive::{BallPilot, DriveOutcome, DrivePath, DriveSpec, DriveTrace, TraceRow, Vehicle, WheelRow, drive};
pub use error::PhysicsError;
pub use ground::{Colliders, Counts, GroundShape, Nearest, Swap, TileCollider};
pub use world::{
    BallSpec, BodyId, BodyState, RoverCommand, RoverId, RoverSpec, RoverState, Steering, WheelState, World, WorldSpec,
};
