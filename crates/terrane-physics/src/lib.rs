//! Physics
mod drive;
mod engine;
mod error;
mod ground;
#[cfg(test)]
mod testing;
mod world;

pub use drive::{
    BallPilot, DriveOutcome, DrivePath, DriveSpec, DriveTrace, TraceRow, Vehicle, WheelRow, drive,
};
pub use error::PhysicsError;
pub use ground::{Bounds, Colliders, Counts, GroundShape, Nearest, Swap, TileCollider};
pub use world::{
    BallSpec, BodyId, BodyState, RoverCommand, RoverId, RoverSpec, RoverState, Steering, WheelState, World, WorldSpec,
};
