//! Depth and range against geometry: what a camera measures is where its ray
//! meets the ground, computed here in f64 from the same posts.

// Helpers outside #[test] may fail a test.
#![allow(clippy::unwrap_used, clippy::panic)]

mod common;

use common::ground::{Triangles, meet_function, moon_drop_m};
use common::stats::share;
use common::{Published, Raster, Scene, down_from, parallel, pinhole};
use glam::DVec3;
use terrane_core::Pose;
use terrane_core::camera::Lens;
use terrane_render::NO_HIT_LABEL;
use terrane_site::render::RenderOptions;

/// Sites are 257 posts of 0.5 m: 64 m to each side, several tiles and levels.
const HALF_M: f64 = 64.0;
const SIZE: (u32, u32) = (160, 120);
fn options() -> RenderOptions {
    RenderOptions { size: SIZE, samples_per_side: 1, ..RenderOptions::default() }
}

/// Where a ray meets the ground, as a ray parameter, which is planar depth.
type Meet<'a> = &'a dyn Fn(DVec3, DVec3) -> Option<f64>;

/// The cameras that every ground is seen by: `lift(x, z)` is the ground's
/// height there.
fn viewpoints(lift: impl Fn(f64, f64) -> f64) -> Vec<(&'static str, Pose, Lens)> {
    let at = |x: f64, above: f64, z: f64| DVec3::new(x, lift(x, z) + above, z);
    let from = |eye: DVec3, target: DVec3| Pose::look_at(eye, target);
    vec![
        ("Near", from(at(7.3, 1.6, 21.7), at(10.0, 0.0, 12.0)), pinhole(70.0)),
        ("Grazing", from(at(-52.1, 0.6, 43.3), at(30.0, 0.4, -40.0)), pinhole(60.0)),
        ("Above", down_from(5.2, lift(5.2, -7.1) + 150.0, -7.1), pinhole(60.0)),
        ("Oblique", from(DVec3::new(-90.0, 80.0, 75.0), DVec3::new(4.0, 0.0, 3.0)), pinhole(50.0)),
        ("ParallelDown", down_from(1.3, 200.0, -2.7), parallel(150.0, 112.5)),
        ("ParallelOblique", from(DVec3::new(80.0, 60.0, 90.0), DVec3::ZERO), parallel(140.0, 105.0)),
        ("ParallelGrazing", from(DVec3::new(-150.0, 40.0, 20.0), DVec3::new(0.0, 5.0, 0.0)), parallel(120.0, 90.0)),
    ]
}

struct Agreement {
    depth: f64,
    range: f64,
    ground: f64,
}

/// Compares every pixel of a published picture with the truth.
fn agreement(picture: &Published, meet: Meet<'_>) -> Agreement {
    let k = picture.description.intrinsics();
    let matrix = picture.description.pose_optical.site_from_camera;
    let axis = |column: usize| DVec3::new(matrix[0][column], matrix[1][column], matrix[2][column]);
    let [right, down, forward, eye] = [axis(0), axis(1), axis(2), axis(3)];
    let site = |v: DVec3| right * v.x + down * v.y + forward * v.z;
    let close = |measured: f32, truth: f64| (f64::from(measured) / truth - 1.0).abs() <= 1e-3;
    let (mut depth, mut range, mut ground) = (vec![], vec![], vec![]);
    for index in 0..picture.depth_m.len() {
        let (u, v) = (index as u32 % k.width, index as u32 / k.width);
        let (origin, direction) = k.ray(u.into(), v.into());
        let (measured, far) = (picture.depth_m[index], picture.range_m[index]);
        match meet(eye + site(origin), site(direction)) {
            Some(t) => {
                depth.push(close(measured, t));
                range.push(close(far, t * direction.length()));
            }
            None => {
                let nothing = picture.labels[index] == NO_HIT_LABEL as u16 && picture.normal[index] == [0.0; 3];
                depth.push(measured == f32::INFINITY && nothing);
                range.push(far == f32::INFINITY);
            }
        }
        let is_ground = picture.labels[index] != NO_HIT_LABEL as u16;
        assert_eq!(is_ground, measured.is_finite(), "label and depth disagree at ({u}, {v})");
        ground.push(is_ground);
    }
    Agreement { depth: share(depth), range: share(range), ground: share(ground) }
}

/// Draws a raster from every viewpoint and demands 99.9% of the pixels.
fn every_view_agrees(name: &str, raster: &Raster, meet: Meet<'_>) {
    let lifted = Triangles::on_moon(raster);
    let views = viewpoints(|x, z| lifted.bilinear_m(x, z).unwrap_or(0.0));
    let mut scene = Scene::over(raster).plain(0.2).input("int photometry = 0");
    for (view, pose, lens) in &views {
        scene = scene.camera(view, pose, lens);
    }
    let mut booth = scene.booth_with(options());
    let mut wrong = Vec::new();
    for (view, ..) in &views {
        let picture = booth.publish(view, &scene.path(view));
        let found = agreement(&picture, meet);
        println!(
            "{name:>8} {view:<16} depth {:.4}%, range {:.4}% of pixels within 1e-3; ground fills {:.0}%",
            100.0 * found.depth,
            100.0 * found.range,
            100.0 * found.ground
        );
        if found.depth < 0.999 || found.range < 0.999 {
            wrong.push((*view, found.depth, found.range));
        }
        assert!(found.ground > 0.02, "{view} sees no ground");
    }
    assert!(wrong.is_empty(), "{name}: share of right pixels (depth, range): {wrong:?}");
}

#[test]
fn a_plane_is_measured_where_it_is() {
    let raster = Raster::moon(257, 0.5, |_, _| 3.0);
    let truth = |x: f64, z: f64| 3.0 - moon_drop_m(x, z);
    every_view_agrees("plane", &raster, &|o, d| meet_function(truth, HALF_M, o, d));
}

#[test]
fn a_ramp_is_measured_where_it_is() {
    let ramp = |x: f64, z: f64| 5.0 + 0.21 * x - 0.13 * z;
    let raster = Raster::moon(257, 0.5, ramp);
    every_view_agrees("ramp", &raster, &|o, d| meet_function(|x, z| ramp(x, z) - moon_drop_m(x, z), HALF_M, o, d));
}

// A cone and a step have edges that posts do not hold: the truth is what the
// posts say, joined by triangles.

#[test]
fn a_cone_is_measured_where_its_posts_are() {
    let raster = Raster::moon(257, 0.5, |x, z| (18.0 - 0.6 * (x - 3.0).hypot(z + 2.0)).max(0.0));
    let truth = Triangles::on_moon(&raster);
    every_view_agrees("cone", &raster, &|o, d| truth.meet(o, d));
}

#[test]
fn a_step_is_measured_where_its_posts_are() {
    let raster = Raster::moon(257, 0.5, |x, z| if x + 0.4 * z > 1.0 { 6.0 } else { 0.0 });
    let truth = Triangles::on_moon(&raster);
    every_view_agrees("step", &raster, &|o, d| truth.meet(o, d));
}

/// Pixels whose rays pass through holes by more than half a pixel on every
/// side, and how many of those show ground all the same.
fn looks_into_holes(picture: &Published, truth: &Triangles) -> (usize, usize) {
    let k = picture.description.intrinsics();
    let matrix = picture.description.pose_optical.site_from_camera;
    let axis = |column: usize| DVec3::new(matrix[0][column], matrix[1][column], matrix[2][column]);
    let site = |v: DVec3| axis(0) * v.x + axis(1) * v.y + axis(2) * v.z;
    let misses = |u: f64, v: f64| {
        let (origin, direction) = k.ray(u, v);
        truth.meet(axis(3) + site(origin), site(direction)).is_none()
    };
    let (mut into, mut filled) = (0, 0);
    for index in 0..picture.depth_m.len() {
        let (u, v) = (f64::from(index as u32 % k.width), f64::from(index as u32 / k.width));
        if misses(u, v)
            && [(-0.5, -0.5), (0.5, -0.5), (-0.5, 0.5), (0.5, 0.5)].iter().all(|(du, dv)| misses(u + du, v + dv))
        {
            into += 1;
            filled += usize::from(picture.depth_m[index] != f32::INFINITY);
        }
    }
    (into, filled)
}

/// Draws a ground with missing posts from above, near and afar, and demands
/// that nothing is seen where nothing was measured.
fn holes_stay_open(name: &str, height: impl Fn(f64, f64) -> f64, missing: impl Fn(f64, f64) -> bool) {
    let raster = Raster::moon(257, 0.5, |x, z| if missing(x, z) { f64::NAN } else { height(x, z) });
    let truth = Triangles::on_moon(&raster);
    let views = [
        ("Down", down_from(-3.1, 100.0, 5.2), parallel(48.0, 36.0)),
        ("Close", down_from(-10.4, 20.0, 4.6), pinhole(40.0)),
        ("Mast", Pose::look_at(DVec3::new(3.0, 8.0, 20.0), DVec3::new(4.6, 0.0, 10.4)), pinhole(70.0)),
    ];
    let mut scene = Scene::over(&raster).plain(0.2).input("int photometry = 0");
    for (view, pose, lens) in &views {
        scene = scene.camera(view, pose, lens);
    }
    let mut booth = scene.booth_with(options());
    let mut wrong = Vec::new();
    for (view, ..) in &views {
        let picture = booth.publish(view, &scene.path(view));
        let found = agreement(&picture, &|o, d| truth.meet(o, d));
        let (into, filled) = looks_into_holes(&picture, &truth);
        println!(
            "{name:>8} {view:<16} {:.4}% of pixels right; {filled} of {into} looks into holes see ground",
            100.0 * found.depth
        );
        assert!(into > 0, "{name} {view}: no pixel looks into a hole");
        if filled > 0 || found.depth < 0.999 {
            wrong.push((*view, into, filled, found.depth));
        }
    }
    assert!(wrong.is_empty(), "{name}: (view, looks into holes, of those with ground, right pixels): {wrong:?}");
}

/// True at the post nearest to a place.
fn near(x: f64, z: f64, post: (f64, f64)) -> bool {
    (x - post.0).abs() < 0.3 && (z - post.1).abs() < 0.3
}

#[test]
fn a_field_of_missing_posts_is_seen_through() {
    let missing = |x: f64, z: f64| (x - 20.0).hypot(z + 15.0) < 9.0 || (x + 12.0).hypot(z - 5.0) < 2.0;
    holes_stay_open("field", |x, z| 0.02 * x + 0.01 * z, missing);
}

#[test]
fn a_single_missing_post_is_seen_through_on_flat_ground_too() {
    // At an odd post, which coarser tiles do not have, on ground that they
    // would show without any other error.
    holes_stay_open("flat", |_, _| 0.0, |x, z| near(x, z, (-10.5, 4.5)) || near(x, z, (4.5, 10.5)));
}

#[test]
fn a_single_missing_post_is_seen_through_on_rough_ground() {
    let rough = |x: f64, z: f64| 0.3 * (0.9 * x).sin() + 0.2 * (1.1 * z).cos();
    holes_stay_open("rough", rough, |x, z| near(x, z, (-10.5, 4.5)) || near(x, z, (4.0, 10.0)));
}
