//! `terrane drive`: a request in, a report for a person or as JSON out.

use crate::args::DriveArgs;
use crate::print::{self, say};
use crate::progress::Bar;
use std::process::ExitCode;
use terrane_core::Diagnostic;
use terrane_site::drive::{Course, DriveReport, DriveRequest, GravitySource, drive};
use terrane_site::query::Place;
use terrane_site::{Failure, OpenSite};

/// Drives and reports. Fails when the vehicle did not reach its last waypoint;
/// the trace is there all the same.
pub fn run(site: &OpenSite, args: &DriveArgs, progress: &Bar) -> Result<ExitCode, Failure> {
    let request = DriveRequest {
        course: course(args)?,
        output: args.output.clone(),
        vehicle: args.vehicle.into(),
        speed_m_s: args.speed,
        gravity_m_s2: args.gravity,
        step_s: args.step,
        limit_s: args.limit,
    };
    let report = drive(site, &request, progress)?;
    progress.finish();
    print::to_stderr(&site.spec.diagnostics);
    let warning = report.warning();
    print::to_stderr(warning.as_slice());
    if args.json {
        print::json(&report);
    } else {
        say_report(&report);
    }
    Ok(if warning.is_none() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn course(args: &DriveArgs) -> Result<Course, Failure> {
    if let Some(path) = &args.path {
        return Ok(Course::File { path: path.clone(), is_lon_lat: args.lon_lat });
    }
    let Some(seed) = args.seed else {
        let detail = "a drive needs waypoints";
        return Err(Diagnostic::error("drive", "no path")
            .with_detail(detail)
            .with_help("give a CSV file with --path, or --seed N for a random path")
            .into());
    };
    let start = args.start.as_deref().and_then(|start| match start {
        [a, b] if args.lon_lat => Some(Place::LonLat(*a, *b)),
        [a, b] => Some(Place::Site(*a, *b)),
        _ => None,
    });
    Ok(Course::Seeded { seed, distance_m: args.distance, start })
}

fn say_report(report: &DriveReport) {
    let from = match &report.gravity_from {
        GravitySource::Asked => "as asked".to_owned(),
        GravitySource::Stage => "the stage's PhysicsScene".to_owned(),
        GravitySource::Body(name) => format!("{name}, as the stage has no PhysicsScene"),
    };
    let [x, y, z] = report.end_m;
    say!("{}", report.outcome);
    say!("  trace        {} ({} rows)", report.file.display(), report.rows);
    say!("  path         {} waypoints, {:.1} m", report.waypoints, report.path_m);
    say!("  gone         {:.1} m in {:.1} s, {:.2} m/s", report.distance_m, report.time_s, report.mean_speed_m_s);
    say!("  ended at     x {x:.2}  y {y:.2}  z {z:.2} m");
    say!("  gravity      {} m/s2 ({from})", report.gravity_m_s2);
    say!(
        "  wheels       pressed in at most {:.3} mm, off the ground {}, over {} wheel-steps",
        report.worst_penetration_m * 1e3,
        match report.lost_ground {
            true => "farther than their radius".to_owned(),
            false => format!("at most {:.0} mm", report.worst_gap_m * 1e3),
        },
        report.wheel_steps
    );
    let counts = report.colliders;
    say!("  colliders    {} built, {} kept, {} dropped", counts.built, counts.kept, counts.dropped);
}
