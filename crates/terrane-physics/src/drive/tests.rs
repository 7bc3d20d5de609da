use super::*;
use crate::testing::{dem, rough, rough_m, surface};
use terrane_core::{Cancelled, Quiet};

fn spec(vehicle: Vehicle) -> DriveSpec {
    DriveSpec { vehicle, speed_m_s: 1.0, ..DriveSpec::default() }
}

fn goes_far(vehicle: Vehicle) {
    let surface = rough();
    let path = DrivePath::seeded(&surface, 7, (3.0, -4.0), 60.0).unwrap();
    assert!(path.length_m() >= 60.0 - 1e-9);
    let trace = drive(&surface, &spec(vehicle), &path, &Quiet).unwrap();
    println!(
        "drive: {} {:.1} m in {:.1} s, {} wheel-steps, pressed in {:.3} mm, off {:.0} mm, {:?}",
        trace.outcome,
        trace.distance_m,
        trace.time_s,
        trace.wheel_steps,
        trace.worst_penetration_m * 1e3,
        trace.worst_gap_m * 1e3,
        trace.colliders
    );
    assert_eq!(trace.outcome, DriveOutcome::Reached);
    assert!(trace.distance_m > 50.0 && trace.worst_penetration_m < 1e-3);
    let (last, goal) = (trace.rows.last().unwrap(), path.waypoints_xz_m().last().unwrap());
    assert!((last.x_m - goal.0).hypot(last.z_m - goal.1) <= 0.5);
    assert!(trace.rows.windows(2).all(|pair| pair[1].t_s > pair[0].t_s));
}

#[test]
fn a_rover_drives_a_seeded_path_over_rough_ground() {
    goes_far(Vehicle::default());
}

#[test]
fn a_rover_that_steers_all_wheels_drives_it_too() {
    let steering = crate::world::Steering::AllWheels { most_rad: 0.7 };
    goes_far(Vehicle::Rover(crate::world::RoverSpec { steering, ..Default::default() }));
}

#[test]
fn a_ball_drives_a_seeded_path_over_rough_ground() {
    goes_far(Vehicle::Ball(BallPilot::default()));
}

#[test]
fn a_rover_drives_on_mars_and_on_earth() {
    let surface = rough();
    let path = DrivePath::seeded(&surface, 3, (0.0, 0.0), 20.0).unwrap();
    for gravity_m_s2 in [3.71, 9.81] {
        let mut spec = spec(Vehicle::default());
        spec.world.gravity_m_s2 = gravity_m_s2;
        let trace = drive(&surface, &spec, &path, &Quiet).unwrap();
        println!("drive at {gravity_m_s2} m/s2: {}, {:.3} mm", trace.outcome, trace.worst_penetration_m * 1e3);
        assert_eq!(trace.outcome, DriveOutcome::Reached);
        assert!(trace.worst_penetration_m < 1e-3);
    }
}

#[test]
fn a_drive_is_the_same_to_the_bit_on_any_number_of_threads() {
    let surface = rough();
    let path = DrivePath::seeded(&surface, 9, (0.0, 0.0), 12.0).unwrap();
    let run = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| format!("{:?}", drive(&surface, &spec(Vehicle::default()), &path, &Quiet).unwrap()))
    };
    let first = run(1);
    assert_eq!(first, run(1));
    assert_eq!(first, run(2));
}

#[test]
fn a_seed_is_a_path_and_another_seed_another() {
    let surface = rough();
    let path = |seed| DrivePath::seeded(&surface, seed, (0.0, 0.0), 100.0).unwrap();
    assert_eq!(path(1), path(1));
    assert_ne!(path(1), path(2));
    assert!(matches!(DrivePath::seeded(&surface, 1, (500.0, 0.0), 10.0), Err(PhysicsError::NoGround { .. })));
    assert!(matches!(DrivePath::seeded(&surface, 1, (0.0, 0.0), 1e7), Err(PhysicsError::NoWay { .. })));
}

#[test]
fn a_drive_into_a_hole_or_a_wall_or_for_too_long_says_so() {
    let with = |change: fn(f64, f64) -> f64| {
        surface(vec![dem((-64.0, -64.0), 1.0, (129, 129), move |x, z| 0.1 * rough_m(x, z) + change(x, z))])
    };
    let path = DrivePath::new(vec![(0.0, 0.0), (0.0, -30.0)]).unwrap();
    let outcome = |surface: &Surface, limit_s| {
        let spec = DriveSpec { limit_s, ..spec(Vehicle::default()) };
        drive(surface, &spec, &path, &Quiet).unwrap().outcome
    };
    let pit = with(|_, z| if (-16.0..-8.0).contains(&z) { f64::NAN } else { 0.0 });
    assert_eq!(outcome(&pit, None), DriveOutcome::Fell);
    let wall = with(|_, z| if z < -12.0 { 8.0 } else { 0.0 });
    assert_eq!(outcome(&wall, None), DriveOutcome::Stuck);
    assert_eq!(outcome(&with(|_, _| 0.0), Some(5.0)), DriveOutcome::TimeLimit);
}

#[test]
fn what_can_not_be_driven_is_refused() {
    let surface = rough();
    let go = |spec: &DriveSpec, path: &DrivePath| drive(&surface, spec, path, &Quiet).unwrap_err().to_string();
    let path = DrivePath::new(vec![(0.0, 0.0), (5.0, 0.0)]).unwrap();
    assert_eq!(DrivePath::new(vec![(0.0, 0.0), (0.5, 0.0)]), Err(PhysicsError::NoPath));
    assert_eq!(DrivePath::new(vec![(0.0, 0.0), (f64::NAN, 0.0)]), Err(PhysicsError::NoPath));
    let off = DrivePath::new(vec![(500.0, 0.0), (5.0, 0.0)]).unwrap();
    assert_eq!(go(&DriveSpec::default(), &off), "there is no ground at x 500 m, z 0 m");
    let still = DriveSpec { speed_m_s: 0.0, ..DriveSpec::default() };
    assert_eq!(go(&still, &path), "the speed has to be above 0, not 0");
    let mut weightless = DriveSpec::default();
    weightless.world.gravity_m_s2 = -1.0;
    assert_eq!(go(&weightless, &path), "gravity has to be 0 m/s2 or more, not -1");
}

struct Impatient;

impl Progress for Impatient {
    fn begin(&self, _: &str, _: u64) {}
    fn advance(&self, _: u64) {}
    fn is_cancelled(&self) -> bool {
        true
    }
}

#[test]
fn a_drive_can_be_cancelled() {
    let path = DrivePath::new(vec![(0.0, 0.0), (5.0, 0.0)]).unwrap();
    let cancelled = drive(&rough(), &DriveSpec::default(), &path, &Impatient);
    assert_eq!(cancelled.unwrap_err(), PhysicsError::Cancelled(Cancelled));
}
