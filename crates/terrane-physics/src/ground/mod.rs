//! The ground as colliders: one a leaf tile, and the set that is kept.

mod ball;
mod build;
mod colliders;
mod dispatch;
mod leaves;
mod nearest;
mod tile;

pub use colliders::{Colliders, Counts, Swap};
pub(crate) use dispatch::{GroundDispatcher, GroundHooks};
pub use nearest::Nearest;
pub use tile::{GroundShape, TileCollider};

#[cfg(test)]
mod tests;
