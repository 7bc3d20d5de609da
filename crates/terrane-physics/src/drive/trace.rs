//! What a drive leaves behind.

use super::pilot::State;
use super::{DriveSpec, Vehicle};
use crate::ground::Counts;
use serde::Serialize;

/// How a drive ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum DriveOutcome {
    /// The last waypoint was reached.
    Reached,
    /// Time was up before.
    TimeLimit,
    /// It got no nearer to its waypoint for too long.
    Stuck,
    /// It fell where there is no ground.
    Fell,
}

impl std::fmt::Display for DriveOutcome {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Reached => "reached its last waypoint",
            Self::TimeLimit => "ran out of time",
            Self::Stuck => "got stuck",
            Self::Fell => "fell where there is no ground",
        })
    }
}

/// One wheel in a row of the trace; a ball is its own wheel.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct WheelRow {
    /// From its rim to the nearest ground, metres: negative when pressed in,
    /// `None` when there is none within a radius.
    pub clearance_m: Option<f64>,
    /// Slip: 1 spins on the spot, -1 is dragged, beyond that it turns against
    /// its way. For a ball how fast its ground side slides, to the greater of
    /// its rolling speed and its speed.
    pub slip: f64,
}

/// A row of the trace.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct TraceRow {
    /// Simulated time, seconds.
    pub t_s: f64,
    /// Site x of the chassis' or the ball's middle, metres.
    pub x_m: f64,
    /// Site y, metres.
    pub y_m: f64,
    /// Site z, metres.
    pub z_m: f64,
    /// Heading, clockwise from grid north, degrees 0 to 360.
    pub heading_deg: f64,
    /// Pitch, nose up, degrees.
    pub pitch_deg: f64,
    /// Roll, right side down, degrees.
    pub roll_deg: f64,
    /// Speed, m/s; a rover's is along its forward axis.
    pub speed_m_s: f64,
    /// Front left, front right, rear left, rear right; or the ball.
    pub wheels: Vec<WheelRow>,
}

/// A drive, from start to end.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct DriveTrace {
    /// How it ended.
    pub outcome: DriveOutcome,
    /// Simulated time, seconds.
    pub time_s: f64,
    /// Distance gone in plan, metres.
    pub distance_m: f64,
    /// Distance over time, m/s.
    pub mean_speed_m_s: f64,
    /// The most that a wheel was pressed into the ground at any step, metres.
    pub worst_penetration_m: f64,
    /// The most that a wheel was off the ground at any step, metres; farther
    /// than its own radius is not looked.
    pub worst_gap_m: f64,
    /// True when a wheel was farther from any ground than that.
    pub lost_ground: bool,
    /// Steps times wheels.
    pub wheel_steps: u64,
    /// Colliders built, kept and dropped.
    pub colliders: Counts,
    /// The rows, the first at time 0 and the last at the end.
    pub rows: Vec<TraceRow>,
}

pub(super) struct Recorder {
    row_every_s: f64,
    rows: Vec<TraceRow>,
    next_s: f64,
    last_xz_m: Option<(f64, f64)>,
    distance_m: f64,
    worst_penetration_m: f64,
    worst_gap_m: f64,
    lost_ground: bool,
    wheel_steps: u64,
    is_ball: bool,
    half_step_s: f64,
}

impl Recorder {
    pub fn new(spec: &DriveSpec) -> Self {
        Self {
            row_every_s: spec.row_every_s,
            rows: vec![],
            next_s: 0.0,
            last_xz_m: None,
            distance_m: 0.0,
            worst_penetration_m: 0.0,
            worst_gap_m: 0.0,
            lost_ground: false,
            wheel_steps: 0,
            is_ball: matches!(spec.vehicle, Vehicle::Ball(_)),
            half_step_s: 0.5 * spec.world.step_s,
        }
    }

    pub fn record(&mut self, time_s: f64, state: &State) {
        let (x_m, z_m) = (state.position_m.x, state.position_m.z);
        // A centimetre at a time, so that trembling is no distance.
        let (last_x_m, last_z_m) = *self.last_xz_m.get_or_insert((x_m, z_m));
        let moved_m = (x_m - last_x_m).hypot(z_m - last_z_m);
        if moved_m > 0.01 {
            self.distance_m += moved_m;
            self.last_xz_m = Some((x_m, z_m));
        }
        for (clearance_m, _) in &state.wheels {
            self.lost_ground |= clearance_m.is_none();
            let clearance_m = clearance_m.unwrap_or(0.0);
            self.worst_penetration_m = self.worst_penetration_m.max(-clearance_m);
            self.worst_gap_m = self.worst_gap_m.max(clearance_m);
            self.wheel_steps += 1;
        }
        if time_s + self.half_step_s >= self.next_s {
            self.rows.push(self.row(time_s, state));
            self.next_s += self.row_every_s;
        }
    }

    fn row(&self, t_s: f64, state: &State) -> TraceRow {
        // A ball has no heading while it rests.
        let heading_deg = state.heading_rad.to_degrees().rem_euclid(360.0);
        let wheels = state.wheels.iter().map(|&(clearance_m, slip)| WheelRow { clearance_m, slip }).collect();
        let turn = if self.is_ball { 0.0 } else { 1.0 };
        TraceRow {
            t_s,
            x_m: state.position_m.x,
            y_m: state.position_m.y,
            z_m: state.position_m.z,
            heading_deg,
            pitch_deg: turn * state.pitch_rad.to_degrees(),
            roll_deg: turn * state.roll_rad.to_degrees(),
            speed_m_s: state.speed_m_s,
            wheels,
        }
    }

    pub fn finish(mut self, time_s: f64, state: &State, outcome: DriveOutcome, colliders: Counts) -> DriveTrace {
        if self.rows.last().is_none_or(|last| last.t_s < time_s) {
            let row = self.row(time_s, state);
            self.rows.push(row);
        }
        DriveTrace {
            outcome,
            time_s,
            distance_m: self.distance_m,
            mean_speed_m_s: if time_s > 0.0 { self.distance_m / time_s } else { 0.0 },
            worst_penetration_m: self.worst_penetration_m,
            worst_gap_m: self.worst_gap_m,
            lost_ground: self.lost_ground,
            wheel_steps: self.wheel_steps,
            colliders,
            rows: self.rows,
        }
    }
}
