//! A four-wheeled rover: a box on four driven ball wheels.

use super::spec::{LEAST_M, check};
use super::{BodyId, BodyState, Rover, World};
use crate::PhysicsError;
use crate::engine::rapier::prelude::{
    ColliderBuilder, ImpulseJointHandle, JointAxis, MotorModel, RevoluteJointBuilder, RigidBodyBuilder,
};
use crate::engine::{Real, Vector, to_engine, turn_to_engine};
use glam::{DMat3, DQuat, DVec3};
use serde::{Deserialize, Serialize};

/// A rover of a world.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RoverId(usize);

/// How a rover turns.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Steering {
    /// The wheels of a side turn faster than the others; it can turn on the
    /// spot, and its wheels scrub.
    Skid,
    /// Every wheel stands square to the turn's middle (Ackermann, front and
    /// rear alike), as far as its steering angle goes, radians.
    AllWheels {
        /// The greatest steering angle, radians.
        most_rad: f64,
    },
}

/// A rover. Its own axes: x right, y up, z backward.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RoverSpec {
    /// Chassis box: width (x), height (y), length (z), metres.
    pub chassis_m: DVec3,
    /// Middle of the chassis above the axles, metres.
    pub chassis_over_axles_m: f64,
    /// Between front and rear axles, metres.
    pub wheelbase_m: f64,
    /// Between left and right wheels, metres.
    pub track_m: f64,
    /// Radius of a wheel, metres. Wheels touch the ground as balls.
    pub wheel_radius_m: f64,
    /// Mass of the chassis, kilograms.
    pub chassis_kg: f64,
    /// Mass of each wheel, kilograms.
    pub wheel_kg: f64,
    /// The most torque of each motor, N m.
    pub motor_n_m: f64,
    /// The most speed, m/s.
    pub most_speed_m_s: f64,
    /// How it turns.
    pub steering: Steering,
    /// Coulomb friction of its wheels.
    pub friction: f64,
}

impl Default for RoverSpec {
    fn default() -> Self {
        Self {
            chassis_m: DVec3::new(0.8, 0.3, 1.4),
            chassis_over_axles_m: 0.25,
            wheelbase_m: 1.6,
            track_m: 1.2,
            wheel_radius_m: 0.25,
            chassis_kg: 160.0,
            wheel_kg: 10.0,
            motor_n_m: 250.0,
            most_speed_m_s: 2.0,
            steering: Steering::Skid,
            friction: 0.8,
        }
    }
}

/// What a rover is told.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
pub struct RoverCommand {
    /// Speed forward, m/s; negative is backward.
    pub speed_m_s: f64,
    /// Turn rate clockwise seen from above, rad/s.
    pub turn_rad_s: f64,
}

/// One wheel of a rover.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct WheelState {
    /// Where it is and how it moves.
    pub body: BodyState,
    /// How fast it rolls forward about its axle, rad/s.
    pub roll_rad_s: f64,
    /// From its rim to the nearest ground, metres: negative when it is
    /// pressed in, `None` when there is no ground within a radius.
    pub clearance_m: Option<f64>,
    /// (rolled - gone) / the greater of both speeds: 1 spins on the spot, -1
    /// is dragged, beyond that it turns against its way; 0 at rest (Wong,
    /// Theory of Ground Vehicles, 2008, 1.3).
    pub slip: f64,
}

/// Where a rover is and how it moves.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct RoverState {
    /// Its chassis.
    pub chassis: BodyState,
    /// Heading, clockwise from grid north, radians.
    pub heading_rad: f64,
    /// Pitch, nose up, radians.
    pub pitch_rad: f64,
    /// Roll, right side down, radians.
    pub roll_rad: f64,
    /// Speed along its own forward axis, m/s.
    pub speed_m_s: f64,
    /// Front left, front right, rear left, rear right.
    pub wheels: [WheelState; 4],
}

impl RoverSpec {
    fn check(&self) -> Result<(), PhysicsError> {
        for (what, length_m) in [
            ("a chassis' width", self.chassis_m.x),
            ("a chassis' height", self.chassis_m.y),
            ("a chassis' length", self.chassis_m.z),
            ("a wheelbase", self.wheelbase_m),
            ("a track", self.track_m),
            ("a wheel's radius", self.wheel_radius_m),
        ] {
            check(what, length_m, LEAST_M, "a millimetre or more")?;
        }
        check("a chassis' height over its axles", self.chassis_over_axles_m.abs(), 0.0, "a number")?;
        check("a chassis' mass", self.chassis_kg, 1e-6, "a milligram or more")?;
        check("a wheel's mass", self.wheel_kg, 1e-6, "a milligram or more")?;
        check("a motor's torque", self.motor_n_m, 0.0, "0 N m or more")?;
        check("a rover's most speed", self.most_speed_m_s, 0.0, "0 m/s or more")?;
        check("a rover's friction", self.friction, 0.0, "0 or more")
    }

    /// Places of the wheels' middles in the rover's own frame, metres.
    fn wheels_m(&self) -> [DVec3; 4] {
        let (x, z) = (0.5 * self.track_m, 0.5 * self.wheelbase_m);
        [(-x, -z), (x, -z), (-x, z), (x, z)].map(|(x, z)| DVec3::new(x, -self.chassis_over_axles_m, z))
    }

    /// For each wheel its steering angle, clockwise, radians, and the speed of
    /// its rim, m/s.
    fn wheel_orders(&self, command: RoverCommand) -> [(f64, f64); 4] {
        let most = self.most_speed_m_s;
        let speed_m_s = command.speed_m_s.clamp(-most, most);
        match self.steering {
            Steering::Skid => self.wheels_m().map(|wheel_m| {
                let speed_m_s = speed_m_s - command.turn_rad_s * wheel_m.x;
                (0.0, speed_m_s.clamp(-most, most))
            }),
            Steering::AllWheels { most_rad } => {
                let curvature = if speed_m_s.abs() < 1e-3 { 0.0 } else { command.turn_rad_s / speed_m_s };
                // tan(most) = c f / (1 - c x) for the wheel nearest the middle of the turn.
                let (x, f) = (0.5 * self.track_m, 0.5 * self.wheelbase_m);
                let tan = most_rad.clamp(0.0, 1.4).tan();
                let most_curvature = tan / (f + tan * x);
                let curvature = curvature.clamp(-most_curvature, most_curvature);
                self.wheels_m().map(|wheel_m| {
                    let (across, along) = (1.0 - curvature * wheel_m.x, -curvature * wheel_m.z);
                    (along.atan2(across), speed_m_s * across.hypot(along))
                })
            }
        }
    }
}

/// The axle of a wheel steered by an angle, in the rover's frame: a positive
/// turn about it rolls forward.
fn axle(steer_rad: f64) -> DVec3 {
    DQuat::from_rotation_y(-steer_rad) * DVec3::NEG_X
}

impl World {
    /// Adds a rover at site x, z, just over the ground that its wheels stand
    /// on, facing `heading_rad` clockwise from grid north.
    ///
    /// # Errors
    /// [`PhysicsError::BadNumber`] when a number makes no sense;
    /// [`PhysicsError::NoGround`] when a wheel has no ground under it.
    pub fn add_rover(
        &mut self,
        spec: &RoverSpec,
        (x_m, z_m): (f64, f64),
        heading_rad: f64,
    ) -> Result<RoverId, PhysicsError> {
        spec.check()?;
        check("a heading", heading_rad.abs(), 0.0, "a number")?;
        let (position_m, rotation) = self.stand(spec, (x_m, z_m), heading_rad)?;
        self.start_at(position_m);
        let body = |place_m: DVec3| {
            RigidBodyBuilder::dynamic()
                .translation(to_engine(place_m - self.origin_m))
                .rotation(Vector::ZERO)
                .can_sleep(false)
                .soft_ccd_prediction(spec.wheel_radius_m as Real)
        };
        let half = spec.chassis_m * 0.5;
        let mut chassis_body = body(position_m);
        chassis_body.position.rotation = turn_to_engine(rotation);
        let chassis_collider = ColliderBuilder::cuboid(half.x as Real, half.y as Real, half.z as Real)
            .mass(spec.chassis_kg as Real)
            .friction(0.3);
        let wheels_m = spec.wheels_m();
        let wheel_bodies = wheels_m.map(|wheel_m| {
            let mut wheel =
                body(position_m + rotation * wheel_m).allow_fast_rotation(true).gyroscopic_forces_enabled(false);
            wheel.position.rotation = turn_to_engine(rotation);
            wheel
        });
        let (chassis, _) = self.engine.insert(chassis_body, chassis_collider);
        let chassis_id = self.register(chassis, half.length());
        let mut wheels = [chassis_id; 4];
        let mut joints = [ImpulseJointHandle::invalid(); 4];
        for (k, wheel_body) in wheel_bodies.into_iter().enumerate() {
            let collider = ColliderBuilder::ball(spec.wheel_radius_m as Real)
                .mass(spec.wheel_kg as Real)
                .friction(spec.friction as Real);
            let (wheel, _) = self.engine.insert(wheel_body, collider);
            wheels[k] = self.register(wheel, spec.wheel_radius_m);
            let joint = RevoluteJointBuilder::new(to_engine(axle(0.0)))
                .local_anchor1(to_engine(wheels_m[k]))
                .contacts_enabled(false)
                .motor_model(MotorModel::ForceBased)
                .motor_velocity(0.0, (spec.motor_n_m * 10.0) as Real)
                .motor_max_force(spec.motor_n_m as Real);
            joints[k] = self.engine.insert_impulse_joint(chassis, wheel, joint);
        }
        self.rovers.push(Rover { spec: spec.clone(), chassis: chassis_id, wheels, joints });
        Ok(RoverId(self.rovers.len() - 1))
    }

    /// Where a rover stands: the plane through the ground under its wheels, a
    /// little higher, so that nothing starts inside of the ground.
    fn stand(
        &self,
        spec: &RoverSpec,
        (x_m, z_m): (f64, f64),
        heading_rad: f64,
    ) -> Result<(DVec3, DQuat), PhysicsError> {
        let turn = DQuat::from_rotation_y(-heading_rad);
        let mut feet_m = [DVec3::ZERO; 4];
        let mut steepest = 1.0_f64;
        for (foot_m, wheel_m) in feet_m.iter_mut().zip(spec.wheels_m()) {
            let place_m = turn * wheel_m + DVec3::new(x_m, 0.0, z_m);
            let ground = self.surface().ground_at(place_m.x, place_m.z);
            let ground = ground.ok_or(PhysicsError::NoGround { x_m: place_m.x, z_m: place_m.z })?;
            *foot_m = DVec3::new(place_m.x, ground.height_m, place_m.z);
            steepest = steepest.min(ground.normal.y.max(0.2));
        }
        let [front_left, front_right, rear_left, rear_right] = feet_m;
        let up = (rear_left - front_right).cross(rear_right - front_left).normalize();
        let forward = turn * DVec3::NEG_Z;
        let right = forward.cross(up).normalize();
        let rotation = DQuat::from_mat3(&DMat3::from_cols(right, up, right.cross(up)));
        let middle_m = 0.25 * (front_left + front_right + rear_left + rear_right);
        // No wheel starts in the ground, however its foot lies to the plane.
        let highest_m = feet_m.iter().map(|foot_m| (*foot_m - middle_m).dot(up)).fold(0.0, f64::max);
        let over_m = spec.wheel_radius_m / steepest + highest_m + spec.chassis_over_axles_m + 0.01;
        Ok((middle_m + up * over_m, rotation))
    }

    /// Tells a rover how to go from the next step on.
    pub fn command_rover(&mut self, id: RoverId, command: RoverCommand) {
        let Some(rover) = self.rovers.get(id.0) else { return };
        let orders = rover.spec.wheel_orders(command);
        let damping = (rover.spec.motor_n_m * 10.0) as Real;
        let is_steered = rover.spec.steering != Steering::Skid;
        for (handle, (steer_rad, rim_m_s)) in rover.joints.into_iter().zip(orders) {
            let roll_rad_s = rim_m_s / rover.spec.wheel_radius_m;
            if let Some(joint) = self.engine.impulse_joints.get_mut(handle, true) {
                joint.data.set_motor_velocity(JointAxis::AngX, roll_rad_s as Real, damping);
                if is_steered {
                    joint.data.set_local_axis1(to_engine(axle(steer_rad)));
                }
            }
        }
    }

    /// The bodies of a rover's wheels: front left, front right, rear left,
    /// rear right.
    pub fn rover_wheels(&self, id: RoverId) -> Option<[BodyId; 4]> {
        self.rovers.get(id.0).map(|rover| rover.wheels)
    }

    /// Where a rover is and how it moves. `None` for another world's rover.
    pub fn rover(&self, id: RoverId) -> Option<RoverState> {
        let rover = self.rovers.get(id.0)?;
        let chassis = self.body(rover.chassis)?;
        let [right, up, back] = [DVec3::X, DVec3::Y, DVec3::Z].map(|axis| chassis.rotation * axis);
        let mut wheels = [None; 4];
        for (state, (wheel, joint)) in wheels.iter_mut().zip(rover.wheels.iter().zip(rover.joints)) {
            // The engine's own `local_axis1` adds the anchor to the axis.
            let axle_own = self.engine.impulse_joints.get(joint)?.data.local_frame1.rotation * Vector::X;
            let axle = chassis.rotation * crate::engine::from_engine(axle_own);
            *state = Some(self.wheel(&rover.spec, *wheel, axle, chassis.spin_rad_s)?);
        }
        let [Some(a), Some(b), Some(c), Some(d)] = wheels else { return None };
        Some(RoverState {
            chassis,
            heading_rad: (-back.x).atan2(back.z),
            pitch_rad: (-back.y).clamp(-1.0, 1.0).asin(),
            roll_rad: (-right.y).atan2(up.y),
            speed_m_s: -chassis.velocity_m_s.dot(back),
            wheels: [a, b, c, d],
        })
    }

    fn wheel(&self, spec: &RoverSpec, id: BodyId, axle: DVec3, chassis_spin: DVec3) -> Option<WheelState> {
        let body = self.body(id)?;
        let radius_m = spec.wheel_radius_m;
        let nearest = self.nearest_ground(body.position_m, 2.0 * radius_m);
        let up = nearest.map_or(DVec3::Y, |nearest| nearest.normal);
        // A turn about the axle takes the rim's underside backward.
        let forward = axle.cross(up).normalize_or_zero();
        let roll_rad_s = body.spin_rad_s.dot(axle);
        let (rolled, gone) = (roll_rad_s * radius_m, body.velocity_m_s.dot(forward));
        let greater = rolled.abs().max(gone.abs());
        let slip = if greater < 0.01 { 0.0 } else { (rolled - gone) / greater };
        let clearance_m = nearest.map(|nearest| nearest.distance_m - radius_m);
        Some(WheelState { body, roll_rad_s: roll_rad_s - chassis_spin.dot(axle), clearance_m, slip })
    }
}
