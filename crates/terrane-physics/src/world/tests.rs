use super::*;
use crate::testing::{dem, flat, rough, surface};
use terrane_surface::SiteRect;

fn lunar() -> WorldSpec {
    WorldSpec { gravity_m_s2: 1.62, ..WorldSpec::default() }
}

/// A ball that rolls along +x without slipping on level ground at y = 7.
fn rolling(x_m: f64, z_m: f64, speed_m_s: f64) -> BallSpec {
    let radius_m = 0.5;
    BallSpec {
        radius_m,
        position_m: DVec3::new(x_m, 7.0 + radius_m, z_m),
        velocity_m_s: DVec3::new(speed_m_s, 0.0, 0.0),
        spin_rad_s: DVec3::new(0.0, 0.0, -speed_m_s / radius_m),
        ..BallSpec::default()
    }
}

/// Rolls 12 m across the border of two tiles; how far from where it should be
/// it ends, and how much it hopped.
fn roll(centre_m: (f64, f64), speed_m_s: f64) -> (DVec3, f64) {
    let mut world = World::new(flat(centre_m.0, centre_m.1), lunar()).unwrap();
    let start = rolling(centre_m.0 - 6.0, centre_m.1 - 0.3, speed_m_s);
    let ball = world.add_ball(&start).unwrap();
    let steps = (12.0 / speed_m_s / world.spec().step_s).round() as usize;
    let mut hop_m = 0.0_f64;
    for _ in 0..steps {
        world.step().unwrap();
        hop_m = hop_m.max((world.body(ball).unwrap().position_m.y - start.position_m.y).abs());
    }
    let expected_m = start.position_m + start.velocity_m_s * world.time_s();
    (world.body(ball).unwrap().position_m - expected_m, hop_m)
}

#[test]
fn a_ball_rolls_as_far_as_its_speed_says_and_never_hops() {
    let mut bad = false;
    for centre_m in [(0.0, 0.0), (14_142.0, 14_142.0), (20_000.25, -3.5)] {
        for speed_m_s in [0.5, 3.0, 15.0] {
            let (off_m, hop_m) = roll(centre_m, speed_m_s);
            println!("{centre_m:?} {speed_m_s} m/s: off {:.3} mm, hop {:.3} mm", off_m.x * 1e3, hop_m * 1e3);
            bad |= !(off_m.x.abs() < 1e-3 && off_m.z.abs() < 1e-3 && hop_m < 1e-3);
        }
    }
    assert!(!bad);
}

/// Level ground with five holes of one post each and one of a block.
fn holed() -> Surface {
    let is_hole = |x: f64, z: f64| {
        [(-20.0, -20.0), (5.0, 9.0), (0.0, 0.0), (-64.0, 3.0), (30.0, -7.0)].contains(&(x, z))
            || ((40.0..=44.0).contains(&x) && (40.0..=43.0).contains(&z))
    };
    surface(vec![dem((-64.0, -64.0), 1.0, (129, 113), |x, z| if is_hole(x, z) { f64::NAN } else { 7.0 })])
}

#[test]
fn a_ball_falls_through_holes_and_past_the_border_and_nowhere_else() {
    let surface = holed();
    let radius_m = 0.05;
    // Beside each hole the ground is whole from the next post on, 0.2 m in.
    let through = [
        (-20.0, -20.0),
        (5.0, 9.0),
        (0.0, 0.0),
        (30.0, -7.0),
        (42.0, 41.5),
        (64.3, 0.0),
        (-64.3, 5.0),
        (3.0, -64.3),
        (3.0, 48.3),
    ];
    let stays = [
        (-18.8, -20.0),
        (-20.0, -21.2),
        (5.0, 10.2),
        (3.8, 9.0),
        (1.2, 0.0),
        (-1.2, 0.0),
        (31.2, -7.0),
        (38.8, 41.0),
        (45.2, 41.0),
        (63.7, 0.5),
        (-63.7, 5.5),
        (3.5, -63.7),
        (3.5, 47.7),
        // The halves of cells that keep their three posts: on from the diagonal.
        (-20.6, -20.6),
        (0.6, 0.6),
        (5.6, 9.6),
    ];
    let mut world = World::new(surface, lunar()).unwrap();
    let mut drop = |(x_m, z_m): (f64, f64)| {
        let position_m = DVec3::new(x_m, 7.5, z_m);
        world.add_ball(&BallSpec { radius_m, position_m, ..BallSpec::default() }).unwrap()
    };
    let through: Vec<BodyId> = through.into_iter().map(&mut drop).collect();
    let stays: Vec<BodyId> = stays.into_iter().map(&mut drop).collect();
    for _ in 0..4 * 480 {
        world.step().unwrap();
    }
    for (k, id) in through.into_iter().enumerate() {
        let y_m = world.body(id).unwrap().position_m.y;
        assert!(y_m < 0.0, "ball {k} over a hole is at {y_m}");
    }
    for (k, id) in stays.into_iter().enumerate() {
        let y_m = world.body(id).unwrap().position_m.y;
        assert!((y_m - 7.0 - radius_m).abs() < 1e-3, "ball {k} beside a hole is at {y_m}");
    }
}

#[test]
fn what_falls_out_of_the_world_ends_and_what_is_left_goes_on() {
    let mut world = World::new(flat(0.0, 0.0), lunar()).unwrap();
    let lost = world.add_ball(&BallSpec { position_m: DVec3::new(70.0, 8.0, 0.0), ..BallSpec::default() }).unwrap();
    let rests = world.add_ball(&BallSpec { position_m: DVec3::new(50.0, 8.0, 0.0), ..BallSpec::default() }).unwrap();
    for _ in 0..480 * 40 {
        world.step().unwrap();
    }
    assert!(world.body(lost).unwrap().has_fallen);
    let rests = world.body(rests).unwrap();
    assert!(!rests.has_fallen && rests.is_asleep && (rests.position_m.y - 7.25).abs() < 1e-3, "{rests:?}");
}

#[test]
fn a_fast_ball_does_not_fall_through_the_ground() {
    for (speed_m_s, radius_m) in [(50.0, 0.1), (200.0, 0.05), (300.0, 0.5)] {
        let mut world = World::new(rough(), lunar()).unwrap();
        let position_m = DVec3::new(3.3, 60.0, 2.1);
        let velocity_m_s = DVec3::new(0.1, -speed_m_s, 0.05);
        let ball = world.add_ball(&BallSpec { radius_m, position_m, velocity_m_s, ..BallSpec::default() }).unwrap();
        let (mut touched, mut deepest_m) = (false, 0.0_f64);
        for _ in 0..960 {
            world.step().unwrap();
            let place_m = world.body(ball).unwrap().position_m;
            if let Some(nearest) = world.nearest_ground(place_m, 2.0) {
                deepest_m = deepest_m.max(radius_m - nearest.distance_m);
                touched |= nearest.distance_m < radius_m + 1e-3;
            }
        }
        println!("struck at {speed_m_s} m/s: pressed in at most {:.3} mm", deepest_m * 1e3);
        assert!(touched && deepest_m < 0.5 * radius_m, "{speed_m_s} {radius_m}");
    }
}

#[test]
fn a_swap_of_the_same_ground_is_not_felt() {
    for speed_m_s in [0.0, 3.0] {
        let mut world = World::new(flat(0.0, 0.0), lunar()).unwrap();
        let start = rolling(-3.0, -0.3, speed_m_s);
        let ball = world.add_ball(&start).unwrap();
        let mut hop_m = 0.0_f64;
        for k in 0..960 {
            world.step().unwrap();
            if k % 3 == 0 {
                let swap = world.replace_surface(flat(0.0, 0.0), &[SiteRect::around(0.0, 0.0, 64.0)]).unwrap();
                assert!(!swap.put_in.is_empty());
            }
            hop_m = hop_m.max((world.body(ball).unwrap().position_m.y - start.position_m.y).abs());
        }
        let off_m = world.body(ball).unwrap().position_m - start.position_m - start.velocity_m_s * world.time_s();
        println!("{speed_m_s} m/s: hop {:.3} mm, off {:.3} mm", hop_m * 1e3, off_m.x * 1e3);
        assert!(hop_m < 1e-3 && off_m.x.abs() < 1e-3, "{speed_m_s}: {hop_m} {off_m}");
    }
}

#[test]
fn a_ball_that_sleeps_wakes_and_follows_when_its_ground_changes() {
    let mut world = World::new(flat(0.0, 0.0), lunar()).unwrap();
    let ball = world.add_ball(&rolling(10.4, 10.2, 0.0)).unwrap();
    let far = world.add_ball(&rolling(-20.0, 10.2, 0.0)).unwrap();
    for _ in 0..960 {
        world.step().unwrap();
    }
    assert!(world.body(ball).unwrap().is_asleep && world.body(far).unwrap().is_asleep);
    let sunken = |depth_m: f64| {
        surface(vec![dem((-64.0, -64.0), 1.0, (129, 129), move |x, z| {
            if (x - 10.0).hypot(z - 10.0) < 4.0 { 7.0 - depth_m } else { 7.0 }
        })])
    };
    for depth_m in [0.2, -0.2] {
        world.replace_surface(sunken(depth_m), &[SiteRect::around(10.0, 10.0, 5.0)]).unwrap();
        assert!(!world.body(ball).unwrap().is_asleep && world.body(far).unwrap().is_asleep);
        for _ in 0..1920 {
            world.step().unwrap();
        }
        let y_m = world.body(ball).unwrap().position_m.y;
        assert!((y_m - (7.5 - depth_m)).abs() < 1e-3, "{depth_m}: {y_m}");
    }
}

#[test]
fn wheels_are_never_pressed_a_millimetre_into_rough_ground() {
    let mut world = World::new(rough(), WorldSpec { gravity_m_s2: 3.71, ..WorldSpec::default() }).unwrap();
    let rover = world.add_rover(&RoverSpec::default(), (-12.0, 4.0), 1.2).unwrap();
    let (mut steps, mut worst_m, mut touching) = (0, 0.0_f64, 0);
    let mut tiles = std::collections::BTreeSet::new();
    for k in 0..10_000 {
        let turn_rad_s = 0.15 * (f64::from(k) * 0.001).sin();
        world.command_rover(rover, RoverCommand { speed_m_s: 1.5_f64.min(f64::from(k) * 0.001), turn_rad_s });
        world.step().unwrap();
        for wheel in world.rover(rover).unwrap().wheels {
            let clearance_m = wheel.clearance_m.expect("a wheel is near the ground");
            worst_m = worst_m.max(-clearance_m);
            touching += usize::from(clearance_m < 1e-3);
            steps += 1;
            let ground = world.surface().ground_at(wheel.body.position_m.x, wheel.body.position_m.z).unwrap();
            tiles.insert(ground.tile);
        }
    }
    let state = world.rover(rover).unwrap();
    println!(
        "{steps} wheel-steps over {} tiles, {touching} in touch, pressed in at most {:.3} mm, now {:?}",
        tiles.len(),
        worst_m * 1e3,
        state.chassis.position_m
    );
    assert!(worst_m < 1e-3, "{worst_m}");
    assert!(touching > steps / 2 && tiles.len() >= 2);
}

#[test]
fn the_same_calls_give_the_same_bits_on_any_number_of_threads() {
    let run = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| {
            let mut world = World::new(rough(), lunar()).unwrap();
            let rover = world.add_rover(&RoverSpec::default(), (0.0, 0.0), 0.4).unwrap();
            let ball = BallSpec { position_m: DVec3::new(4.0, 3.0, 5.0), ..BallSpec::default() };
            let ball = world.add_ball(&ball).unwrap();
            let mut trace = vec![];
            for _ in 0..1500 {
                world.command_rover(rover, RoverCommand { speed_m_s: 1.0, turn_rad_s: 0.1 });
                world.step().unwrap();
                let (rover, ball) = (world.rover(rover).unwrap(), world.body(ball).unwrap());
                for v in [rover.chassis.position_m, rover.wheels[3].body.spin_rad_s, ball.position_m] {
                    trace.extend(v.to_array().map(f64::to_bits));
                }
            }
            trace
        })
    };
    let first = run(1);
    assert_eq!(first, run(1));
    assert_eq!(first, run(2));
}

#[test]
fn a_ball_set_down_just_on_posts_edges_diagonals_and_seams_stays() {
    for posting_m in [1.0, 0.7, 5.0] {
        let side_m = 64.0 * posting_m;
        let surface = surface(vec![dem((-side_m, -side_m), posting_m, (129, 129), |_, _| 7.0)]);
        let mut world = World::new(surface, lunar()).unwrap();
        let mut balls = vec![];
        // Posts, edges and diagonals, around the corner of four tiles.
        for j in -8..=8 {
            for i in -8..=8 {
                let (x_m, z_m) = (0.5 * f64::from(i) * posting_m, 0.5 * f64::from(j) * posting_m);
                let ball = BallSpec { radius_m: 0.1, position_m: DVec3::new(x_m, 7.11, z_m), ..BallSpec::default() };
                balls.push((world.add_ball(&ball).unwrap(), x_m, z_m));
            }
        }
        for _ in 0..720 {
            world.step().unwrap();
        }
        for (ball, x_m, z_m) in balls {
            let off_m = world.body(ball).unwrap().position_m - DVec3::new(x_m, 7.1, z_m);
            assert!(off_m.abs().max_element() < 1e-3, "{posting_m} {x_m} {z_m}: {off_m}");
        }
    }
}

/// A 1 m DEM inside a 4 m one: leaves of two levels beside each other.
fn nested(height_m: fn(f64, f64) -> f64) -> Surface {
    let (fine, coarse) =
        (dem((-48.0, -48.0), 1.0, (97, 97), height_m), dem((-512.0, -512.0), 4.0, (257, 257), height_m));
    surface(vec![fine, coarse])
}

#[test]
fn where_leaves_of_different_levels_meet_nothing_hops_and_nothing_sinks() {
    for (x_m, speed_m_s) in [(-330.0, 15.0), (-275.0, 3.0)] {
        let mut world = World::new(nested(|_, _| 7.0), lunar()).unwrap();
        let start = rolling(x_m, 10.3, speed_m_s);
        let ball = world.add_ball(&start).unwrap();
        let mut levels = std::collections::BTreeSet::new();
        for _ in 0..(120.0 / speed_m_s * 480.0) as usize {
            world.step().unwrap();
            let place_m = world.body(ball).unwrap().position_m;
            assert!((place_m.y - start.position_m.y).abs() < 1e-3, "{speed_m_s}: {place_m}");
            levels.insert(world.surface().ground_at(place_m.x, place_m.z).unwrap().tile.level);
        }
        assert!(levels.len() >= 2, "{levels:?}");
    }
    let mut world = World::new(nested(crate::testing::rough_m), lunar()).unwrap();
    let rover = world.add_rover(&RoverSpec::default(), (-290.0, 5.0), 1.4).unwrap();
    let (mut worst_m, mut levels) = (0.0_f64, std::collections::BTreeSet::new());
    for k in 0..30_000 {
        let speed_m_s = 2.0_f64.min(f64::from(k) * 0.001);
        let heading_rad = world.rover(rover).unwrap().heading_rad;
        world.command_rover(rover, RoverCommand { speed_m_s, turn_rad_s: 1.57 - heading_rad });
        world.step().unwrap();
        for wheel in world.rover(rover).unwrap().wheels {
            worst_m = worst_m.max(-wheel.clearance_m.expect("a wheel is near the ground"));
            let place_m = wheel.body.position_m;
            levels.insert(world.surface().ground_at(place_m.x, place_m.z).unwrap().tile.level);
        }
    }
    let x_m = world.rover(rover).unwrap().chassis.position_m.x;
    println!("across levels {levels:?} to x {x_m:.1}: pressed in at most {:.3} mm", worst_m * 1e3);
    assert!(worst_m < 1e-3 && levels.len() >= 2, "{worst_m} {levels:?}");
}

#[test]
fn a_leaf_that_splits_under_a_ball_is_not_felt() {
    let coarse = || dem((-512.0, -512.0), 4.0, (257, 257), |_, _| 7.0);
    let fine = || dem((-32.0, -32.0), 1.0, (65, 65), |_, _| 7.0);
    let mut world = World::new(surface(vec![coarse()]), lunar()).unwrap();
    let ball = world.add_ball(&rolling(-3.0, 1.0, 2.0)).unwrap();
    for k in 0..960 {
        if k % 100 == 50 {
            let dems = if k % 200 == 50 { vec![fine(), coarse()] } else { vec![coarse()] };
            let swap = world.replace_surface(surface(dems), &[SiteRect::around(0.0, 0.0, 40.0)]).unwrap();
            assert!(!swap.put_in.is_empty());
        }
        world.step().unwrap();
        let place_m = world.body(ball).unwrap().position_m;
        assert!((place_m.y - 7.5).abs() < 1e-3, "{k}: {place_m}");
    }
    assert!((world.body(ball).unwrap().position_m.x - 1.0).abs() < 1e-3);
}

#[test]
fn a_box_is_kept_without_any_body_and_nonsense_is_refused() {
    let mut world = World::new(rough(), lunar()).unwrap();
    let number = world.add_box(SiteRect { x_m: [-100.0, -70.0], z_m: [10.0, 20.0] }).unwrap();
    world.step().unwrap();
    assert_eq!(world.counts(), Counts { built: 1, kept: 1, dropped: 0 });
    world.remove_box(number);
    world.step().unwrap();
    assert_eq!(world.counts(), Counts { built: 1, kept: 0, dropped: 1 });
    assert!(world.add_box(SiteRect::around(f64::NAN, 0.0, 1.0)).is_err());
    let ball = BallSpec { radius_m: 0.0, ..BallSpec::default() };
    assert_eq!(world.add_ball(&ball).unwrap_err().to_string(), "a ball's radius has to be a millimetre or more, not 0");
    assert!(World::new(rough(), WorldSpec { step_s: 0.5, ..lunar() }).is_err());
    assert!(matches!(world.add_rover(&RoverSpec::default(), (127.9, 0.0), 0.0), Err(PhysicsError::NoGround { .. })));
}

#[test]
fn a_rover_that_goes_straight_on_level_ground_does_not_slip() {
    let mut world = World::new(flat(0.0, 0.0), lunar()).unwrap();
    let rover = world.add_rover(&RoverSpec::default(), (-20.0, 3.0), 1.2).unwrap();
    for k in 0..4800 {
        let speed_m_s = 1.0_f64.min(f64::from(k) * 0.001);
        world.command_rover(rover, RoverCommand { speed_m_s, turn_rad_s: 0.0 });
        world.step().unwrap();
    }
    let state = world.rover(rover).unwrap();
    assert!((state.speed_m_s - 1.0).abs() < 1e-2 && (state.heading_rad - 1.2).abs() < 1e-2, "{state:?}");
    assert!(state.wheels.iter().all(|wheel| wheel.slip.abs() < 1e-2), "{state:?}");
}

#[test]
fn balls_of_any_size_roll_fast_over_small_cells_without_sinking() {
    let fine = || surface(vec![dem((-64.0, -64.0), 0.25, (513, 513), crate::testing::rough_m)]);
    for (radius_m, speed_m_s) in [(0.05, 2.0), (0.5, 8.0), (2.0, 12.0), (4.0, 3.0)] {
        let mut world = World::new(fine(), WorldSpec { gravity_m_s2: 9.81, ..WorldSpec::default() }).unwrap();
        let height_m = world.surface().ground_at(-30.0, 3.0).unwrap().height_m;
        let ball = BallSpec {
            radius_m,
            position_m: DVec3::new(-30.0, height_m + 1.2 * radius_m + 0.1, 3.0),
            velocity_m_s: DVec3::new(speed_m_s, 0.0, 0.4),
            ..BallSpec::default()
        };
        let ball = world.add_ball(&ball).unwrap();
        let mut deepest_m = 0.0_f64;
        for _ in 0..1440 {
            world.step().unwrap();
            let place_m = world.body(ball).unwrap().position_m;
            if let Some(nearest) = world.nearest_ground(place_m, 1.5 * radius_m) {
                deepest_m = deepest_m.max(radius_m - nearest.distance_m);
            }
        }
        println!("ball of {radius_m} m at {speed_m_s} m/s: pressed in at most {:.3} mm", deepest_m * 1e3);
        assert!(deepest_m < 1e-3, "{radius_m} {speed_m_s}: {deepest_m}");
    }
}
