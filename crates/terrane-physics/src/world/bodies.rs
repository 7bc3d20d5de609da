//! Balls, and the state of any body.

use super::spec::{LEAST_M, check};
use super::{Body, World};
use crate::PhysicsError;
use crate::engine::rapier::prelude::{ColliderBuilder, RigidBodyBuilder, RigidBodyHandle};
use crate::engine::{Real, from_engine, to_engine, turn_from_engine};
use glam::{DQuat, DVec3};
use serde::{Deserialize, Serialize};

/// A body of a world.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct BodyId(pub(super) usize);

/// A ball.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct BallSpec {
    /// Radius, metres.
    pub radius_m: f64,
    /// Mass, kilograms, spread evenly.
    pub mass_kg: f64,
    /// Position of its centre in the site frame, metres.
    pub position_m: DVec3,
    /// Velocity in the site frame, m/s.
    pub velocity_m_s: DVec3,
    /// Spin in the site frame, rad/s.
    pub spin_rad_s: DVec3,
    /// Coulomb friction.
    pub friction: f64,
}

impl Default for BallSpec {
    fn default() -> Self {
        Self {
            radius_m: 0.25,
            mass_kg: 10.0,
            position_m: DVec3::ZERO,
            velocity_m_s: DVec3::ZERO,
            spin_rad_s: DVec3::ZERO,
            friction: 0.8,
        }
    }
}

/// Where a body is and how it moves, site frame.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct BodyState {
    /// Position of its middle, metres.
    pub position_m: DVec3,
    /// Turn from its own axes to the site's.
    pub rotation: DQuat,
    /// Velocity, m/s.
    pub velocity_m_s: DVec3,
    /// Angular velocity, rad/s.
    pub spin_rad_s: DVec3,
    /// True while it rests and costs nothing.
    pub is_asleep: bool,
    /// True when it fell out of the world, a kilometre below any ground, and
    /// is no longer simulated.
    pub has_fallen: bool,
}

impl World {
    /// Adds a ball.
    ///
    /// # Errors
    /// [`PhysicsError::BadNumber`] when a number makes no sense.
    pub fn add_ball(&mut self, ball: &BallSpec) -> Result<BodyId, PhysicsError> {
        check("a ball's radius", ball.radius_m, LEAST_M, "a millimetre or more")?;
        check("a ball's mass", ball.mass_kg, 1e-6, "a milligram or more")?;
        check("a ball's friction", ball.friction, 0.0, "0 or more")?;
        for (what, vector) in [
            ("a ball's position", ball.position_m),
            ("a ball's velocity", ball.velocity_m_s),
            ("a ball's spin", ball.spin_rad_s),
        ] {
            check(what, vector.length(), 0.0, "numbers")?;
        }
        self.start_at(ball.position_m);
        let body = RigidBodyBuilder::dynamic()
            .translation(to_engine(ball.position_m - self.origin_m))
            .linvel(to_engine(ball.velocity_m_s))
            .angvel(to_engine(ball.spin_rad_s))
            .allow_fast_rotation(true)
            .gyroscopic_forces_enabled(false)
            .soft_ccd_prediction(ball.radius_m as Real);
        let collider = ColliderBuilder::ball(ball.radius_m as Real)
            .mass(ball.mass_kg as Real)
            .friction(ball.friction as Real)
            .restitution(0.0);
        let (handle, _) = self.engine.insert(body, collider);
        Ok(self.register(handle, ball.radius_m))
    }

    pub(super) fn register(&mut self, handle: RigidBodyHandle, reach_m: f64) -> BodyId {
        if let Some(body) = self.engine.bodies.get_mut(handle) {
            // What creeps slower than this for a second rests.
            let activation = body.activation_mut();
            activation.normalized_linear_threshold = 2e-3;
            activation.angular_threshold = 1e-2;
            activation.time_until_sleep = 1.0;
        }
        self.bodies.push(Body { handle, reach_m, has_fallen: false });
        BodyId(self.bodies.len() - 1)
    }

    /// All bodies, in the order they were added.
    pub fn bodies(&self) -> impl Iterator<Item = BodyId> + use<> {
        (0..self.bodies.len()).map(BodyId)
    }

    /// Where a body is and how it moves. `None` for another world's body.
    pub fn body(&self, id: BodyId) -> Option<BodyState> {
        let body = self.bodies.get(id.0)?;
        let rigid = self.engine.bodies.get(body.handle)?;
        Some(BodyState {
            position_m: from_engine(rigid.translation()) + self.origin_m,
            rotation: turn_from_engine(rigid.rotation()),
            velocity_m_s: from_engine(rigid.linvel()),
            spin_rad_s: from_engine(rigid.angvel()),
            is_asleep: rigid.is_sleeping(),
            has_fallen: body.has_fallen,
        })
    }

    /// Turns a body: adds an angular impulse, N m s, site frame, and wakes it.
    pub fn push_spin(&mut self, id: BodyId, impulse_n_m_s: DVec3) {
        let body = self.bodies.get(id.0).filter(|body| !body.has_fallen && impulse_n_m_s.is_finite());
        if let Some(rigid) = body.and_then(|body| self.engine.bodies.get_mut(body.handle)) {
            rigid.apply_torque_impulse(to_engine(impulse_n_m_s), true);
        }
    }
}
