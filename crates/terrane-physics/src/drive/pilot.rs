//! Who drives: aims at the next waypoint and tells the vehicle.

use super::{DrivePath, DriveSpec};
use crate::world::{BallSpec, BodyId, RoverCommand, RoverId, RoverSpec, RoverState, check};
use crate::{PhysicsError, World};
use glam::DVec3;
use serde::{Deserialize, Serialize};

/// What drives.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Vehicle {
    /// A four-wheeled rover.
    Rover(RoverSpec),
    /// A ball that is turned from inside.
    Ball(BallPilot),
}

impl Default for Vehicle {
    fn default() -> Self {
        Self::Rover(RoverSpec::default())
    }
}

/// A ball that turns itself.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct BallPilot {
    /// Radius, metres.
    pub radius_m: f64,
    /// Mass, kilograms.
    pub mass_kg: f64,
    /// The most torque it turns itself with, N m.
    pub motor_n_m: f64,
    /// Coulomb friction.
    pub friction: f64,
}

impl Default for BallPilot {
    fn default() -> Self {
        Self { radius_m: 0.25, mass_kg: 20.0, motor_n_m: 60.0, friction: 0.8 }
    }
}

/// The vehicle's state, as both kinds have it.
#[derive(Default)]
pub(super) struct State {
    pub position_m: DVec3,
    pub velocity_m_s: DVec3,
    pub heading_rad: f64,
    pub pitch_rad: f64,
    pub roll_rad: f64,
    pub speed_m_s: f64,
    pub wheels: Vec<(Option<f64>, f64)>,
    pub has_fallen: bool,
    pub reach_m: f64,
    /// Height of the ground last seen below it, site y, metres.
    pub last_ground_m: f64,
}

enum Driven {
    Rover(RoverId, RoverSpec),
    Ball(BodyId, BallPilot),
}

pub(super) struct Pilot {
    driven: Driven,
    path: Vec<(f64, f64)>,
    /// The waypoint that is aimed at.
    next: usize,
    /// Path length up to each waypoint, metres.
    up_to_m: Vec<f64>,
    speed_m_s: f64,
    tolerance_m: f64,
    step_s: f64,
    /// The speed asked for now: it changes gently.
    asked_m_s: f64,
    last_ground_m: std::cell::Cell<f64>,
}

/// How fast the asked speed changes, m/s2.
const GENTLE_M_S2: f64 = 0.5;
/// Turn rate asked for each radian off course, 1/s, and the most of it, rad/s.
const TURN_GAIN: f64 = 1.5;
const MOST_TURN_RAD_S: f64 = 0.8;
/// Farther off course than this, a rover that can turns on the spot, radians.
const SPOT_RAD: f64 = 1.0;

impl Pilot {
    pub fn new(world: &mut World, spec: &DriveSpec, path: &DrivePath) -> Result<Self, PhysicsError> {
        let path = path.waypoints_xz_m().to_vec();
        let ((x_m, z_m), towards) = (path[0], path[1]);
        let heading_rad = (towards.0 - x_m).atan2(-(towards.1 - z_m));
        let ground = world.surface().ground_at(x_m, z_m).ok_or(PhysicsError::NoGround { x_m, z_m })?;
        let driven = match &spec.vehicle {
            Vehicle::Rover(rover) => Driven::Rover(world.add_rover(rover, (x_m, z_m), heading_rad)?, rover.clone()),
            Vehicle::Ball(ball) => {
                check("a ball's torque", ball.motor_n_m, 0.0, "0 N m or more")?;
                let position_m = DVec3::new(x_m, ground.height_m, z_m) + ground.normal * (ball.radius_m + 0.01);
                let (radius_m, mass_kg, friction) = (ball.radius_m, ball.mass_kg, ball.friction);
                let start = BallSpec { radius_m, mass_kg, friction, position_m, ..BallSpec::default() };
                Driven::Ball(world.add_ball(&start)?, ball.clone())
            }
        };
        let mut up_to_m = vec![0.0];
        for pair in path.windows(2) {
            let before_m = up_to_m.last().copied().unwrap_or(0.0);
            up_to_m.push(before_m + (pair[1].0 - pair[0].0).hypot(pair[1].1 - pair[0].1));
        }
        Ok(Self {
            driven,
            path,
            next: 1,
            up_to_m,
            speed_m_s: spec.speed_m_s,
            tolerance_m: spec.tolerance_m,
            step_s: spec.world.step_s,
            asked_m_s: 0.0,
            last_ground_m: std::cell::Cell::new(ground.height_m),
        })
    }

    pub fn state(&self, world: &World) -> State {
        let state = match &self.driven {
            Driven::Rover(id, spec) => world.rover(*id).map(|rover| of_rover(&rover, spec)),
            Driven::Ball(id, spec) => of_ball(world, *id, spec),
        };
        // A vehicle that is not there any more has fallen.
        let mut state = state.unwrap_or(State { has_fallen: true, ..State::default() });
        let ground = world.surface().ground_at(state.position_m.x, state.position_m.z);
        if let Some(ground) = ground {
            self.last_ground_m.set(ground.height_m);
        }
        state.last_ground_m = self.last_ground_m.get();
        state
    }

    /// Aims at the next waypoint; true when the last one is reached.
    pub fn aim(&mut self, state: &State) -> bool {
        while let Some(&(x_m, z_m)) = self.path.get(self.next) {
            if (state.position_m.x - x_m).hypot(state.position_m.z - z_m) > self.tolerance_m {
                return false;
            }
            self.next += 1;
        }
        true
    }

    /// How far along its path it is, metres.
    pub fn gone_m(&self, state: &State) -> f64 {
        let Some((x_m, z_m)) = self.path.get(self.next) else { return self.up_to_m.last().copied().unwrap_or(0.0) };
        self.up_to_m[self.next] - (state.position_m.x - x_m).hypot(state.position_m.z - z_m)
    }

    /// Holds the vehicle still.
    pub fn brake(&self, world: &mut World) {
        match &self.driven {
            Driven::Rover(id, _) => world.command_rover(*id, RoverCommand::default()),
            Driven::Ball(id, spec) => self.turn_ball(world, *id, spec, DVec3::ZERO),
        }
    }

    /// Tells the vehicle how to go for the next step.
    pub fn steer(&mut self, world: &mut World, state: &State) {
        let Some(&(x_m, z_m)) = self.path.get(self.next) else { return };
        let (dx, dz) = (x_m - state.position_m.x, z_m - state.position_m.z);
        let course_rad = dx.atan2(-dz);
        // Slower near the end, so that it does not run past.
        let left_m = self.up_to_m.last().copied().unwrap_or(0.0) - self.gone_m(state);
        let wanted_m_s = self.speed_m_s.min(0.2 + (GENTLE_M_S2 * left_m).max(0.0).sqrt());
        let change_m_s = GENTLE_M_S2 * self.step_s;
        match &self.driven {
            Driven::Rover(id, spec) => {
                let off_rad = wrapped(course_rad - state.heading_rad);
                let can_spin = spec.steering == crate::world::Steering::Skid;
                let on_course = if !can_spin {
                    off_rad.cos().max(0.3)
                } else if off_rad.abs() > SPOT_RAD {
                    0.0
                } else {
                    off_rad.cos().powi(2)
                };
                let wanted_m_s = wanted_m_s * on_course;
                self.asked_m_s += (wanted_m_s - self.asked_m_s).clamp(-4.0 * change_m_s, change_m_s);
                let turn_rad_s = (TURN_GAIN * off_rad).clamp(-MOST_TURN_RAD_S, MOST_TURN_RAD_S);
                world.command_rover(*id, RoverCommand { speed_m_s: self.asked_m_s, turn_rad_s });
            }
            Driven::Ball(id, spec) => {
                self.asked_m_s += (wanted_m_s - self.asked_m_s).clamp(-4.0 * change_m_s, change_m_s);
                let wanted = DVec3::new(course_rad.sin(), 0.0, -course_rad.cos()) * self.asked_m_s;
                self.turn_ball(world, *id, spec, wanted);
            }
        }
    }

    /// Turns a ball towards rolling at a velocity. A ball that rolls without
    /// slipping at v has the spin (up x v) / r.
    fn turn_ball(&self, world: &mut World, id: BodyId, spec: &BallPilot, wanted_m_s: DVec3) {
        let Some(state) = world.body(id) else { return };
        let nearest = world.nearest_ground(state.position_m, 2.0 * spec.radius_m);
        let up = nearest.map_or(DVec3::Y, |nearest| nearest.normal);
        let spin_off = DVec3::Y.cross(wanted_m_s - state.velocity_m_s.with_y(0.0)) / spec.radius_m;
        // 7/5 of its own inertia: what turns has to be moved along.
        let inertia = 1.4 * spec.mass_kg * spec.radius_m * spec.radius_m;
        // What holds it on the slope.
        let weight_n = DVec3::NEG_Y * world.spec().gravity_m_s2 * spec.mass_kg;
        let hold = up.cross(-weight_n.reject_from_normalized(up)) * spec.radius_m;
        let torque = (spin_off * inertia * 8.0 + hold).clamp_length_max(spec.motor_n_m);
        world.push_spin(id, torque * self.step_s);
    }
}

fn wrapped(angle_rad: f64) -> f64 {
    use std::f64::consts::{PI, TAU};
    (angle_rad + PI).rem_euclid(TAU) - PI
}

fn of_rover(rover: &RoverState, spec: &RoverSpec) -> State {
    State {
        position_m: rover.chassis.position_m,
        velocity_m_s: rover.chassis.velocity_m_s,
        heading_rad: rover.heading_rad,
        pitch_rad: rover.pitch_rad,
        roll_rad: rover.roll_rad,
        speed_m_s: rover.speed_m_s,
        wheels: rover.wheels.iter().map(|wheel| (wheel.clearance_m, wheel.slip)).collect(),
        has_fallen: rover.chassis.has_fallen,
        reach_m: spec.wheelbase_m,
        last_ground_m: 0.0,
    }
}

fn of_ball(world: &World, id: BodyId, spec: &BallPilot) -> Option<State> {
    let ball = world.body(id)?;
    let nearest = world.nearest_ground(ball.position_m, 2.0 * spec.radius_m);
    let up = nearest.map_or(DVec3::Y, |nearest| nearest.normal);
    let rolled = (ball.spin_rad_s.cross(up) * spec.radius_m).reject_from_normalized(up);
    let gone = ball.velocity_m_s.reject_from_normalized(up);
    let greater = rolled.length().max(gone.length());
    // How fast the ground side of the ball slides, to the greater speed.
    let slip = if greater < 0.01 { 0.0 } else { (rolled - gone).length() / greater };
    let (vx, vz) = (ball.velocity_m_s.x, ball.velocity_m_s.z);
    Some(State {
        position_m: ball.position_m,
        velocity_m_s: ball.velocity_m_s,
        heading_rad: if vx.hypot(vz) < 1e-3 { 0.0 } else { vx.atan2(-vz) },
        pitch_rad: 0.0,
        roll_rad: 0.0,
        speed_m_s: ball.velocity_m_s.length(),
        wheels: vec![(nearest.map(|nearest| nearest.distance_m - spec.radius_m), slip)],
        has_fallen: ball.has_fallen,
        reach_m: 2.0 * spec.radius_m,
        last_ground_m: 0.0,
    })
}
