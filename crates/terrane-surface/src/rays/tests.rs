use super::*;
use crate::{DemGrid, SurfaceSpec};
use terrane_core::Quiet;

fn rough(x_m: f64, z_m: f64) -> f64 {
    6.0 * (0.11 * x_m).sin() + 5.0 * (0.13 * z_m).cos() + 0.8 * (1.3 * x_m + 0.7 * z_m).sin()
}

fn dem(name: &str, x0_m: f64, posting_m: f64, posts: usize, height: impl Fn(f64, f64) -> f64) -> DemGrid {
    let place = |k: usize| x0_m + k as f64 * posting_m;
    let heights = (0..posts * posts).map(|k| height(place(k % posts), place(k / posts)) as f32);
    DemGrid::in_memory(name, (x0_m, x0_m), posting_m, (posts, posts), heights.collect())
}

fn caster(dems: Vec<DemGrid>) -> RayCaster {
    let spec = SurfaceSpec { dems, curvature_radius_m: Some(1_737_400.0), ..SurfaceSpec::default() };
    let surface = Surface::new(spec).unwrap();
    let bounds = TileBounds::measure(&surface, &Quiet).unwrap();
    RayCaster::new(surface, bounds)
}

/// A 1 m DEM inside a 7 m one, with a hole in both.
fn nested() -> RayCaster {
    let hole = |x: f64, z: f64| if (x - 5.0).hypot(z - 9.0) < 12.0 { f64::NAN } else { rough(x, z) };
    caster(vec![dem("fine", -75.0, 1.0, 151, hole), dem("coarse", -490.0, 7.0, 141, hole)])
}

struct Seeded(u64);

impl Seeded {
    fn between(&mut self, low: f64, high: f64) -> f64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        low + (high - low) * (self.0 >> 11) as f64 / (1_u64 << 53) as f64
    }
}

#[test]
fn plumb_lines_meet_the_height_that_queries_give_at_posts_edges_and_between() {
    let caster = nested();
    let lattice = caster.surface().lattice();
    let mut met = 0;
    for j in 0..300 {
        for i in 0..300 {
            // Every quarter of a cell over some tiles of the fine DEM and past its border.
            let (x, z) = (lattice.x0_m + 440.0 + f64::from(i) * 0.25, lattice.z0_m + 480.0 + f64::from(j) * 0.25);
            let down = Ray::new(DVec3::new(x, 100.0, z), DVec3::NEG_Y, 1000.0).unwrap();
            let up = Ray::new(DVec3::new(x, -100.0, z), DVec3::Y, 1000.0).unwrap();
            let ground = caster.surface().ground_at(x, z);
            match (caster.cast(&down), caster.cast(&up), ground) {
                (Some(down), Some(up), Some(ground)) => {
                    assert!((down.position_m.y - ground.height_m).abs() < 1e-9, "{x} {z}");
                    assert!((up.position_m.y - ground.height_m).abs() < 1e-9, "{x} {z}");
                    assert!(up.is_from_below && !down.is_from_below);
                    met += 1;
                }
                (None, None, None) => {}
                other => panic!("{x} {z}: {other:?}"),
            }
        }
    }
    assert!(met > 80_000 && met < 90_000, "{met}");
}

#[test]
fn the_first_hit_lies_on_the_ground_and_nothing_lies_before_it() {
    let caster = nested();
    let mut seeded = Seeded(3);
    let (mut hits, mut misses, mut below) = (0, 0, 0);
    for _ in 0..3000 {
        let origin =
            DVec3::new(seeded.between(-400.0, 400.0), seeded.between(-15.0, 40.0), seeded.between(-400.0, 400.0));
        let direction = DVec3::new(seeded.between(-1.0, 1.0), seeded.between(-0.4, 0.2), seeded.between(-1.0, 1.0));
        let ray = Ray::new(origin, direction, 600.0).unwrap();
        let hit = caster.cast(&ray);
        let until_m = hit.map_or(ray.most_m, |hit| hit.distance_m);
        // The sign of "above" does not change before the hit; unknown over holes.
        let mut side = 0.0;
        for k in 0..4000 {
            let distance_m = until_m * f64::from(k) / 4000.0;
            let place = ray.at_m(distance_m);
            let Some(ground) = caster.surface().ground_at(place.x, place.z) else {
                side = 0.0;
                continue;
            };
            let above = place.y - ground.height_m;
            if above.abs() > 1e-6 {
                assert!(side * above >= 0.0, "{ray:?} passed ground before {until_m} at {distance_m}");
                side = above.signum();
            }
        }
        match hit {
            Some(hit) => {
                let ground = caster.surface().ground_at(hit.position_m.x, hit.position_m.z).unwrap();
                assert!((hit.position_m.y - ground.height_m).abs() < 1e-7, "{hit:?} {ground:?}");
                assert_eq!(hit.is_from_below, side < 0.0, "{hit:?}");
                hits += 1;
                below += usize::from(hit.is_from_below);
            }
            None => misses += 1,
        }
    }
    assert!(hits > 1500 && misses > 100 && below > 200, "{hits} {misses} {below}");
}

#[test]
fn rays_along_edges_diagonals_and_through_posts_slip_through_nowhere() {
    let caster = caster(vec![dem("ridge", -96.0, 1.0, 193, |x, _| 10.0 - x.abs())]);
    for k in -40..=40 {
        let z = f64::from(k) * 0.5;
        for (dx, dz) in [(1.0, 0.0), (1.0, 1.0), (1.0, -1.0), (2.0, 1.0), (1.0, 0.5)] {
            for y in [2.0, 5.5, 9.999] {
                let ray = Ray::new(DVec3::new(-30.0, y, z), DVec3::new(dx, 0.0, dz), 500.0).unwrap();
                let hit = caster.cast(&ray).unwrap_or_else(|| panic!("{ray:?}"));
                assert!((hit.position_m.x + 10.0 - y).abs() < 2e-3, "{hit:?}");
                let back = Ray::new(DVec3::new(30.0, y, z), DVec3::new(-dx, 0.0, dz), 500.0).unwrap();
                assert!((caster.cast(&back).unwrap().position_m.x - 10.0 + y).abs() < 2e-3);
            }
        }
    }
}

#[test]
fn a_hole_is_seen_through_and_a_ray_ends_where_it_ends() {
    let caster = nested();
    let into = Ray::new(DVec3::new(5.0, 50.0, 9.0), DVec3::NEG_Y, 1000.0).unwrap();
    assert_eq!(caster.cast(&into), None);
    let beside = Ray::new(DVec3::new(25.0, 50.0, 9.0), DVec3::NEG_Y, 1000.0).unwrap();
    let far_m = caster.cast(&beside).unwrap().distance_m;
    assert!(caster.cast(&Ray { most_m: far_m - 1e-6, ..beside }).is_none());
    assert!(caster.cast(&Ray { most_m: far_m + 1e-6, ..beside }).is_some());
    assert!(Ray::new(DVec3::NAN, DVec3::X, 1.0).is_none() && Ray::new(DVec3::ZERO, DVec3::ZERO, 1.0).is_none());
    let past = Ray::new(DVec3::new(5000.0, 1.0, 0.0), DVec3::NEG_Y, 1e9).unwrap();
    assert_eq!(caster.cast(&past), None);
}
