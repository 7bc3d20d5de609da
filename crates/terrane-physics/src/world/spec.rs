//! What a world is made with, and the engine's settings that follow.

use crate::PhysicsError;
use crate::engine::Real;
use crate::engine::rapier::prelude::{FrictionModel, IntegrationParameters, SpringCoefficients};
use crate::ground::GroundShape;
use serde::{Deserialize, Serialize};

/// What a world is made with.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct WorldSpec {
    /// Gravity, m/s2, along site -y everywhere: over a site of some kilometres
    /// the plumb line turns by less than 0.1 degrees even on the Moon.
    pub gravity_m_s2: f64,
    /// Length of a step, seconds.
    pub step_s: f64,
    /// Tiles kept around the one under each body.
    pub ring_tiles: u32,
    /// What the ground's colliders are made of.
    pub shape: GroundShape,
    /// Coulomb friction of the ground. A pair has the mean of both.
    pub friction: f64,
}

impl Default for WorldSpec {
    fn default() -> Self {
        Self { gravity_m_s2: 1.62, step_s: 1.0 / 480.0, ring_tiles: 1, shape: GroundShape::HeightField, friction: 0.8 }
    }
}

/// A number inside of a range, or an error that says so.
pub(crate) fn check(what: &'static str, found: f64, least: f64, expected: &'static str) -> Result<(), PhysicsError> {
    if found.is_finite() && found >= least {
        return Ok(());
    }
    Err(PhysicsError::BadNumber { what, expected, found })
}

/// The longest step that contacts can be solved with, seconds.
const MOST_STEP_S: f64 = 1.0 / 60.0;
/// More than any body has that one could stand on, m/s2.
const MOST_GRAVITY_M_S2: f64 = 300.0;
/// The least length that makes sense, metres.
pub(crate) const LEAST_M: f64 = 1e-3;

impl WorldSpec {
    pub(super) fn check(&self) -> Result<(), PhysicsError> {
        check("gravity", self.gravity_m_s2, 0.0, "0 m/s2 or more")?;
        if self.gravity_m_s2 > MOST_GRAVITY_M_S2 {
            let (what, expected) = ("gravity", "300 m/s2 or less");
            return Err(PhysicsError::BadNumber { what, expected, found: self.gravity_m_s2 });
        }
        check("the time step", self.step_s, 1e-5, "ten microseconds or more")?;
        if self.step_s > MOST_STEP_S {
            let (what, expected) = ("the time step", "a sixtieth of a second or less");
            return Err(PhysicsError::BadNumber { what, expected, found: self.step_s });
        }
        check("friction", self.friction, 0.0, "0 or more")
    }

    /// The engine's settings. `docs/physics.md` says why.
    pub(super) fn integration(&self) -> IntegrationParameters {
        let stiff = SpringCoefficients { natural_frequency: (0.5 / self.step_s) as Real, damping_ratio: 5.0 };
        IntegrationParameters {
            dt: self.step_s as Real,
            min_ccd_dt: (self.step_s / 100.0) as Real,
            num_solver_iterations: 4,
            contact_softness: stiff,
            static_contact_softness: stiff,
            // Clusters and recycled contacts are a cell or centimetres off.
            contact_clustering: false,
            contact_recycling: false,
            warmstart_joints: true,
            friction_model: FrictionModel::Coulomb,
            normalized_max_linear_velocity: Real::MAX,
            ..IntegrationParameters::default()
        }
    }
}
