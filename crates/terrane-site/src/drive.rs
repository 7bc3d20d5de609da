//! `terrane drive`: a vehicle follows a path over the site's ground.

use crate::files::write_whole;
use crate::ground::Ground;
use crate::places::read_places;
use crate::query::Place;
use crate::{Failure, OpenSite};
use serde::Serialize;
use std::path::{Path, PathBuf};
use terrane_core::{Diagnostic, Progress};
use terrane_physics::{
    BallPilot, Counts, DriveOutcome, DrivePath, DriveSpec, DriveTrace, PhysicsError, RoverSpec, Vehicle, WorldSpec,
};

/// Where to drive.
#[derive(Debug, Clone, PartialEq)]
pub enum Course {
    /// Waypoints of a CSV file: columns `x_m` and `z_m`, or `lon_deg` and
    /// `lat_deg`, in any place among others.
    File {
        /// The file.
        path: PathBuf,
        /// Longitude and latitude, and not site x and z.
        is_lon_lat: bool,
    },
    /// A random path over passable ground.
    Seeded {
        /// Which.
        seed: u64,
        /// How long at least, metres.
        distance_m: f64,
        /// From where; the site's origin, or ground near it, when left out.
        start: Option<Place>,
    },
}

/// What drives.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum VehicleKind {
    /// A four-wheeled rover.
    Rover,
    /// A ball that is turned from inside.
    Ball,
}

/// A drive as it is asked for.
#[derive(Debug, Clone, PartialEq)]
pub struct DriveRequest {
    /// Where to.
    pub course: Course,
    /// The trace to write, a CSV file.
    pub output: PathBuf,
    /// What drives.
    pub vehicle: VehicleKind,
    /// Speed that it aims at, m/s.
    pub speed_m_s: f64,
    /// Gravity, m/s2; the stage's or the body's when left out.
    pub gravity_m_s2: Option<f64>,
    /// Time step, seconds; the engine's usual one when left out.
    pub step_s: Option<f64>,
    /// Simulated time after which it ends, seconds.
    pub limit_s: Option<f64>,
}

/// Where gravity comes from.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum GravitySource {
    /// The person who asked.
    Asked,
    /// The stage's PhysicsScene.
    Stage,
    /// The body that the site is on, by its name.
    Body(String),
}

/// How a drive went.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct DriveReport {
    /// The trace that was written.
    pub file: PathBuf,
    /// What drove.
    pub vehicle: VehicleKind,
    /// How it ended.
    pub outcome: DriveOutcome,
    /// Gravity, m/s2.
    pub gravity_m_s2: f64,
    /// Where that comes from.
    pub gravity_from: GravitySource,
    /// Waypoints.
    pub waypoints: usize,
    /// Length of the path in plan, metres.
    pub path_m: f64,
    /// Distance gone in plan, metres.
    pub distance_m: f64,
    /// Simulated time, seconds.
    pub time_s: f64,
    /// Distance over time, m/s.
    pub mean_speed_m_s: f64,
    /// The most that a wheel was pressed into the ground at any step, metres.
    pub worst_penetration_m: f64,
    /// The most that a wheel was off the ground at any step, metres.
    pub worst_gap_m: f64,
    /// True when a wheel was farther from any ground than its own radius, which
    /// is as far as gaps are measured.
    pub lost_ground: bool,
    /// Steps times wheels.
    pub wheel_steps: u64,
    /// Rows of the trace.
    pub rows: usize,
    /// Colliders built, kept and dropped.
    pub colliders: Counts,
    /// Where it ended: site x, y, z, metres.
    pub end_m: [f64; 3],
}

impl DriveReport {
    /// A warning when the drive did not reach the end of its path.
    pub fn warning(&self) -> Option<Diagnostic> {
        let [x, y, z] = self.end_m;
        (self.outcome != DriveOutcome::Reached).then(|| {
            Diagnostic::warning("drive-ended-early", format!("vehicle {}", self.outcome))
                .with_detail(format!("after {:.1} s, at x {x:.2} m, y {y:.2} m, z {z:.2} m", self.time_s))
        })
    }
}

/// Surface gravity of bodies by NAIF id, m/s2 (NASA planetary fact sheets;
/// Vesta: Russell et al. 2012).
const BODY_GRAVITY_M_S2: &[(i64, f64)] =
    &[(301, 1.62), (499, 3.71), (399, 9.81), (199, 3.70), (299, 8.87), (502, 1.31), (606, 1.35), (2_000_004, 0.25)];

fn refused(title: &str, detail: impl Into<String>) -> Diagnostic {
    Diagnostic::error("drive", title).with_detail(detail)
}

impl From<PhysicsError> for Failure {
    fn from(error: PhysicsError) -> Self {
        match error {
            PhysicsError::Unread(error) => Self::unread(&error),
            PhysicsError::Cancelled(cancelled) => cancelled.into(),
            PhysicsError::NoGround { .. } => refused("no ground to start on", error.to_string())
                .with_help("a rover needs ground under each of its wheels; `terrane query` says where there is some")
                .into(),
            PhysicsError::NoWay { .. } => refused("no path found", error.to_string())
                .with_help("ask for a shorter one, start elsewhere, or give waypoints with --path")
                .into(),
            error => refused("can't be driven", error.to_string()).into(),
        }
    }
}

/// Drives, and writes the trace; it appears under its name only when it is
/// whole.
pub fn drive(site: &OpenSite, request: &DriveRequest, progress: &dyn Progress) -> Result<DriveReport, Failure> {
    check_output(&request.output)?;
    let ground = site.ground(progress)?;
    let (gravity_m_s2, gravity_from) = gravity(site, &ground, request.gravity_m_s2)?;
    let path = match &request.course {
        Course::File { path, is_lon_lat } => {
            let places_xz_m = read_places(path, *is_lon_lat, &ground)?;
            let place = terrane_core::Place::file(path.display().to_string());
            DrivePath::new(places_xz_m).map_err(|error| refused("no path", error.to_string()).with_place(place))?
        }
        Course::Seeded { seed, distance_m, start } => seeded(&ground, *seed, *distance_m, *start)?,
    };
    let usual = WorldSpec::default();
    let spec = DriveSpec {
        vehicle: match request.vehicle {
            VehicleKind::Rover => {
                Vehicle::Rover(RoverSpec { most_speed_m_s: 1.5 * request.speed_m_s + 1.0, ..RoverSpec::default() })
            }
            VehicleKind::Ball => Vehicle::Ball(BallPilot::default()),
        },
        speed_m_s: request.speed_m_s,
        world: WorldSpec { gravity_m_s2, step_s: request.step_s.unwrap_or(usual.step_s), ..usual },
        limit_s: request.limit_s,
        ..DriveSpec::default()
    };
    let trace = terrane_physics::drive(&ground.surface, &spec, &path, progress)?;
    ground.check_read()?;
    write_whole(&request.output, &trace_csv(&trace, request.vehicle))?;
    let end_m = trace.rows.last().map_or([f64::NAN; 3], |row| [row.x_m, row.y_m, row.z_m]);
    Ok(DriveReport {
        file: request.output.clone(),
        vehicle: request.vehicle,
        outcome: trace.outcome,
        gravity_m_s2,
        gravity_from,
        waypoints: path.waypoints_xz_m().len(),
        path_m: path.length_m(),
        distance_m: trace.distance_m,
        time_s: trace.time_s,
        mean_speed_m_s: trace.mean_speed_m_s,
        worst_penetration_m: trace.worst_penetration_m,
        worst_gap_m: trace.worst_gap_m,
        lost_ground: trace.lost_ground,
        wheel_steps: trace.wheel_steps,
        rows: trace.rows.len(),
        colliders: trace.colliders,
        end_m,
    })
}

fn gravity(site: &OpenSite, ground: &Ground, asked: Option<f64>) -> Result<(f64, GravitySource), Failure> {
    let body = &ground.crs.body;
    if let Some(gravity_m_s2) = asked {
        return Ok((gravity_m_s2, GravitySource::Asked));
    }
    if let Some(gravity_m_s2) = site.spec.gravity_m_s2 {
        return Ok((gravity_m_s2, GravitySource::Stage));
    }
    let known = BODY_GRAVITY_M_S2.iter().find(|(id, _)| body.naif_id == Some(*id));
    let (_, gravity_m_s2) = known.ok_or_else(|| {
        let detail = format!("the stage has no PhysicsScene with a gravityMagnitude, and the body is {}", body.name);
        refused("gravity is not known", detail).with_help("say it with --gravity, m/s2")
    })?;
    Ok((*gravity_m_s2, GravitySource::Body(body.name.clone())))
}

/// A path from where it is asked for, else from ground at or near the origin.
fn seeded(ground: &Ground, seed: u64, distance_m: f64, start: Option<Place>) -> Result<DrivePath, Failure> {
    if let Some(start) = start {
        return Ok(DrivePath::seeded(&ground.surface, seed, start.xz_m(ground)?, distance_m)?);
    }
    // Around the origin, then around the middle of each DEM, the finest first.
    let dems = ground.surface.spec().dems.iter();
    let middles = dems.map(|dem| (0.5 * (dem.x0_m + dem.x1_m()), 0.5 * (dem.z0_m + dem.z1_m())));
    let around = |(x_m, z_m): (f64, f64)| {
        let steps = [(0.0, 0.0), (1.0, 0.0), (0.0, 1.0), (-1.0, 0.0), (0.0, -1.0)];
        steps.map(|(dx, dz)| (x_m + 40.0 * dx, z_m + 40.0 * dz))
    };
    let mut first = None;
    for start_xz_m in std::iter::once((0.0, 0.0)).chain(middles).flat_map(around) {
        match DrivePath::seeded(&ground.surface, seed, start_xz_m, distance_m) {
            Ok(path) => return Ok(path),
            Err(error) => first = Some(first.unwrap_or(error)),
        }
    }
    ground.check_read()?;
    Err(first.unwrap_or(PhysicsError::NoWay { seed, distance_m }).into())
}

/// How every trace begins.
const TRACE_HEADER: &str = "t_s,x_m,y_m,z_m,heading_deg,pitch_deg,roll_deg,speed_m_s";

/// Refuses an output that would take the place of something that is no trace.
fn check_output(output: &Path) -> Result<(), Failure> {
    let refused = |detail: &str| -> Result<(), Failure> {
        Err(Diagnostic::error("drive-output", "trace can't be written")
            .with_place(terrane_core::Place::file(output.display().to_string()))
            .with_detail(detail)
            .with_help("name another file")
            .into())
    };
    match std::fs::metadata(output) {
        Err(_) => Ok(()),
        Ok(found) if !found.is_file() => refused("it exists, and is no file"),
        Ok(_) => {
            let mut start = vec![0; TRACE_HEADER.len()];
            let read = std::fs::File::open(output).and_then(|mut file| {
                use std::io::Read;
                file.read_exact(&mut start)
            });
            if read.is_ok() && start == TRACE_HEADER.as_bytes() {
                return Ok(());
            }
            refused("it exists, and is no trace of `terrane drive`; it is left alone")
        }
    }
}

fn trace_csv(trace: &DriveTrace, vehicle: VehicleKind) -> String {
    let wheels: &[&str] = match vehicle {
        VehicleKind::Rover => &["front_left", "front_right", "rear_left", "rear_right"],
        VehicleKind::Ball => &["ball"],
    };
    let mut text = TRACE_HEADER.to_owned();
    for wheel in wheels {
        text += &format!(",{wheel}_clearance_m,{wheel}_slip");
    }
    text.push('\n');
    for row in &trace.rows {
        text += &format!(
            "{:.4},{:.6},{:.6},{:.6},{:.4},{:.4},{:.4},{:.6}",
            row.t_s, row.x_m, row.y_m, row.z_m, row.heading_deg, row.pitch_deg, row.roll_deg, row.speed_m_s
        );
        for wheel in &row.wheels {
            let clearance = wheel.clearance_m.map_or(String::new(), |clearance_m| format!("{clearance_m:.7}"));
            text += &format!(",{clearance},{:.4}", wheel.slip);
        }
        text.push('\n');
    }
    text
}
