//! Bodies on the ground, step by step.

mod bodies;
mod origin;
mod rover;
mod spec;
mod step;

use crate::PhysicsError;
use crate::engine::rapier::prelude::{ColliderHandle, ImpulseJointHandle, NarrowPhase, PhysicsWorld, RigidBodyHandle};
use crate::engine::to_engine;
use crate::ground::{Colliders, Counts, GroundDispatcher, Nearest};
use glam::DVec3;
use std::collections::BTreeMap;
use terrane_surface::{SiteRect, Surface, TileKey};

pub use bodies::{BallSpec, BodyId, BodyState};
pub use rover::{RoverCommand, RoverId, RoverSpec, RoverState, Steering, WheelState};
pub use spec::WorldSpec;
pub(crate) use spec::check;

/// A body and what is remembered of it.
struct Body {
    handle: RigidBodyHandle,
    /// How far it reaches from its position, metres.
    reach_m: f64,
    /// It fell out of the world and is at rest for ever.
    has_fallen: bool,
}

struct Rover {
    spec: RoverSpec,
    chassis: BodyId,
    wheels: [BodyId; 4],
    joints: [ImpulseJointHandle; 4],
}

/// Bodies on the ground. See the crate's page.
///
/// Positions are in the site frame, metres. The engine's own origin goes with
/// the bodies, so that they are as precise far from the anchor as at it.
pub struct World {
    spec: WorldSpec,
    engine: PhysicsWorld,
    ground: Colliders,
    handles: BTreeMap<TileKey, ColliderHandle>,
    bodies: Vec<Body>,
    rovers: Vec<Rover>,
    /// Site position of the engine's origin: whole metres.
    origin_m: DVec3,
    steps: u64,
    /// Site y of the lowest ground seen so far, metres.
    lowest_m: f64,
}

impl std::fmt::Debug for World {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("World")
            .field("spec", &self.spec)
            .field("bodies", &self.bodies.len())
            .field("steps", &self.steps)
            .field("counts", &self.counts())
            .finish_non_exhaustive()
    }
}

impl World {
    /// A world without bodies on a surface.
    ///
    /// # Errors
    /// [`PhysicsError::BadNumber`] when a number of the spec makes no sense.
    pub fn new(surface: Surface, spec: WorldSpec) -> Result<Self, PhysicsError> {
        spec.check()?;
        let mut engine = PhysicsWorld::new();
        engine.gravity = to_engine(DVec3::new(0.0, -spec.gravity_m_s2, 0.0));
        engine.integration_parameters = spec.integration();
        engine.narrow_phase = NarrowPhase::with_query_dispatcher(GroundDispatcher);
        Ok(Self {
            ground: Colliders::new(surface, spec.shape, spec.ring_tiles),
            spec,
            engine,
            handles: BTreeMap::new(),
            bodies: Vec::new(),
            rovers: Vec::new(),
            origin_m: DVec3::ZERO,
            steps: 0,
            lowest_m: f64::INFINITY,
        })
    }

    /// What it was made with.
    pub fn spec(&self) -> &WorldSpec {
        &self.spec
    }

    /// The surface that bodies stand on.
    pub fn surface(&self) -> &Surface {
        self.ground.surface()
    }

    /// Simulated time, seconds.
    pub fn time_s(&self) -> f64 {
        self.steps as f64 * self.spec.step_s
    }

    /// Steps so far.
    pub fn steps(&self) -> u64 {
        self.steps
    }

    /// Site position of the engine's origin, metres. It moves with the bodies;
    /// positions that this type gives and takes do not depend on it.
    pub fn origin_m(&self) -> DVec3 {
        self.origin_m
    }

    /// Colliders built, kept and dropped.
    pub fn counts(&self) -> Counts {
        self.ground.counts()
    }

    /// The kept colliders.
    pub fn colliders(&self) -> &Colliders {
        &self.ground
    }

    /// Keeps the colliders of a rectangle from the next step on, bodies or not.
    /// Returns its number.
    ///
    /// # Errors
    /// [`PhysicsError::BadNumber`] when a side is not a number.
    pub fn add_box(&mut self, bounds: SiteRect) -> Result<u32, PhysicsError> {
        if !bounds.is_finite() {
            return Err(PhysicsError::BadNumber { what: "a side of a box", expected: "a number", found: f64::NAN });
        }
        Ok(self.ground.add_box(bounds))
    }

    /// No longer keeps a rectangle's colliders.
    pub fn remove_box(&mut self, number: u32) {
        self.ground.remove_box(number);
    }

    /// The nearest ground within `reach_m` of a point, among the kept
    /// colliders, in `f64` on the drawn triangles.
    pub fn nearest_ground(&self, point_m: DVec3, reach_m: f64) -> Option<Nearest> {
        let around = SiteRect::around(point_m.x, point_m.z, reach_m);
        let tiles = self.ground.tiles().filter(|tile| tile.bounds().meets(&around));
        let found: Vec<Nearest> = tiles.filter_map(|tile| tile.nearest(point_m, reach_m)).collect();
        let is_below = found.iter().any(|nearest| nearest.distance_m < 0.0);
        let nearest = found.into_iter().min_by(|a, b| a.distance_m.abs().total_cmp(&b.distance_m.abs()))?;
        let distance_m = nearest.distance_m.abs();
        Some(Nearest { distance_m: if is_below { -distance_m } else { distance_m }, ..nearest })
    }
}

#[cfg(test)]
mod tests;
