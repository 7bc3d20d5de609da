//! A vehicle follows a path over a surface: the run, its trace, its outcome.

mod path;
mod pilot;
mod trace;

pub use path::DrivePath;
pub use pilot::{BallPilot, Vehicle};
pub use trace::{DriveOutcome, DriveTrace, TraceRow, WheelRow};

use crate::world::WorldSpec;
use crate::{PhysicsError, World};
use pilot::Pilot;
use serde::{Deserialize, Serialize};
use terrane_core::Progress;
use terrane_surface::Surface;
use trace::Recorder;

/// How to drive.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct DriveSpec {
    /// What drives.
    pub vehicle: Vehicle,
    /// Speed that it aims at, m/s.
    pub speed_m_s: f64,
    /// Gravity, time step and ground.
    pub world: WorldSpec,
    /// Simulated time after which it ends, seconds; `None` for thrice the time
    /// that the path takes, and a minute.
    pub limit_s: Option<f64>,
    /// A waypoint this near counts as reached, metres.
    pub tolerance_m: f64,
    /// Simulated time between two rows of the trace, seconds.
    pub row_every_s: f64,
    /// It is stuck when it has not come this much nearer to its waypoint in
    /// [`DriveSpec::stuck_after_s`], metres.
    pub stuck_within_m: f64,
    /// See [`DriveSpec::stuck_within_m`]; seconds.
    pub stuck_after_s: f64,
}

impl Default for DriveSpec {
    fn default() -> Self {
        Self {
            vehicle: Vehicle::default(),
            speed_m_s: 1.0,
            world: WorldSpec::default(),
            limit_s: None,
            tolerance_m: 0.5,
            row_every_s: 0.1,
            stuck_within_m: 0.2,
            stuck_after_s: 20.0,
        }
    }
}

/// It starts to drive when it stands this still, m/s, or after
/// [`SETTLE_S`].
const STILL_M_S: f64 = 5e-3;
/// The most time it is given to settle, seconds.
const SETTLE_S: f64 = 10.0;

impl DriveSpec {
    fn check(&self) -> Result<(), PhysicsError> {
        let above_zero = |what: &'static str, found: f64| {
            if found.is_finite() && found > 0.0 {
                return Ok(());
            }
            Err(PhysicsError::BadNumber { what, expected: "above 0", found })
        };
        above_zero("the speed", self.speed_m_s)?;
        above_zero("the time limit", self.limit_s.unwrap_or(1.0))?;
        above_zero("the tolerance", self.tolerance_m)?;
        above_zero("the time between rows", self.row_every_s)?;
        above_zero("the distance that counts as stuck", self.stuck_within_m)?;
        above_zero("the time that counts as stuck", self.stuck_after_s)
    }
}

/// Drives a path: starts settled on the ground at its first waypoint, facing
/// the second, and ends when the last is reached, when time is up, or when the
/// vehicle is stuck or falls where there is no ground.
///
/// Progress is counted in centimetres of path.
///
/// # Errors
/// [`PhysicsError::NoPath`] and [`PhysicsError::NoGround`] for a path that
/// can't be started; [`PhysicsError::BadNumber`] for numbers that make no
/// sense; [`PhysicsError::Cancelled`]; and what [`World::step`] gives.
pub fn drive(
    surface: &Surface,
    spec: &DriveSpec,
    path: &DrivePath,
    progress: &dyn Progress,
) -> Result<DriveTrace, PhysicsError> {
    spec.check()?;
    let mut world = World::new(surface.clone(), spec.world.clone())?;
    let mut pilot = Pilot::new(&mut world, spec, path)?;
    settle(&mut world, &pilot, progress)?;

    let length_m = path.length_m();
    progress.begin("driving", (length_m * 100.0) as u64);
    let limit_s = spec.limit_s.unwrap_or(3.0 * length_m / spec.speed_m_s + 60.0);
    let start_s = world.time_s();
    let mut recorder = Recorder::new(spec);
    let mut watch = Watch::new(spec);
    let mut told = 0;
    let outcome = loop {
        let time_s = world.time_s() - start_s;
        let state = pilot.state(&world);
        recorder.record(time_s, &state);
        if pilot.aim(&state) {
            break DriveOutcome::Reached;
        }
        let gone_m = pilot.gone_m(&state);
        let done = (gone_m.min(length_m) * 100.0) as u64;
        if done > told {
            progress.advance(done - told);
            told = done;
        }
        if let Some(ended) = fell(&world, &state).or_else(|| watch.ended(time_s, limit_s, gone_m)) {
            break ended;
        }
        progress.check()?;
        pilot.steer(&mut world, &state);
        world.step()?;
    };
    let time_s = world.time_s() - start_s;
    Ok(recorder.finish(time_s, &pilot.state(&world), outcome, world.counts()))
}

/// Steps until the vehicle stands still on its start.
fn settle(world: &mut World, pilot: &Pilot, progress: &dyn Progress) -> Result<(), PhysicsError> {
    let steps = (SETTLE_S / world.spec().step_s) as u64;
    let least = (0.5 / world.spec().step_s) as u64;
    for step in 0..steps {
        progress.check()?;
        pilot.brake(world);
        world.step()?;
        let state = pilot.state(world);
        if step > least && state.velocity_m_s.length() < STILL_M_S {
            break;
        }
    }
    Ok(())
}

/// The outcome of a vehicle that has no ground below it any more.
fn fell(world: &World, state: &pilot::State) -> Option<DriveOutcome> {
    let ground = world.surface().ground_at(state.position_m.x, state.position_m.z);
    let depth_m = match ground {
        Some(ground) => ground.height_m - state.position_m.y,
        // Over a hole: it may yet cross it.
        None => state.last_ground_m - state.position_m.y,
    };
    (state.has_fallen || depth_m > 2.0 * state.reach_m).then_some(DriveOutcome::Fell)
}

/// Watches the clock, and whether it still gets on.
struct Watch {
    stuck_within_m: f64,
    stuck_after_s: f64,
    best_m: f64,
    best_s: f64,
}

impl Watch {
    fn new(spec: &DriveSpec) -> Self {
        let (stuck_within_m, stuck_after_s) = (spec.stuck_within_m, spec.stuck_after_s);
        Self { stuck_within_m, stuck_after_s, best_m: 0.0, best_s: 0.0 }
    }

    fn ended(&mut self, time_s: f64, limit_s: f64, gone_m: f64) -> Option<DriveOutcome> {
        if gone_m > self.best_m + self.stuck_within_m {
            (self.best_m, self.best_s) = (gone_m, time_s);
        }
        if time_s >= limit_s {
            return Some(DriveOutcome::TimeLimit);
        }
        (time_s - self.best_s > self.stuck_after_s).then_some(DriveOutcome::Stuck)
    }
}

#[cfg(test)]
mod tests;
