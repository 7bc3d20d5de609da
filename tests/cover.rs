//! Never a hole: whatever is selected, no ray that meets ground shows sky.
#![allow(clippy::unwrap_used, clippy::panic)]

mod common;

use common::{Raster, Scene, pinhole};
use glam::DVec3;
use terrane_core::{Pose, Quiet};
use terrane_site::render::RenderOptions;

/// A repeatable number in 0..1.
fn chance(seed: u32) -> f64 {
    let mut v = seed.wrapping_mul(747_796_405).wrapping_add(2_891_336_453);
    v = ((v >> ((v >> 28) + 4)) ^ v).wrapping_mul(277_803_737);
    f64::from((v >> 22) ^ v) / f64::from(u32::MAX)
}

/// Saw teeth 25 m high over rough ground: cliffs, valleys and ridges.
fn rough(x_m: f64, z_m: f64) -> f64 {
    let teeth = 25.0 * ((x_m / 37.0).rem_euclid(1.0) - 0.5) * (z_m / 150.0).cos();
    let noise = 4.0 * chance((x_m.round() as i64 * 7919 + z_m.round() as i64 * 104_729) as u32);
    teeth + noise + 20.0 * (x_m / 400.0).sin() * (z_m / 300.0).cos()
}

#[test]
fn no_ray_that_meets_ground_shows_sky_at_any_level_of_detail() {
    let fine = Raster::moon(301, 1.0, rough);
    let context = Raster::moon(101, 20.0, rough);
    let scene = Scene::over(&fine);
    let file = scene.path("context.tif");
    context.write(&file, true);
    let scene = scene.dem(&file).sun(300.0, 40.0, 0.53).camera(
        "Any",
        &Pose::look_at(DVec3::new(0.0, 50.0, 0.0), DVec3::ZERO),
        &pinhole(70.0),
    );
    let ground = scene.open().ground(&Quiet).unwrap();
    let surface = &ground.surface;
    let reach_m = 990.0;

    let (mut levels, mut sky_pixels) = (std::collections::BTreeSet::new(), 0);
    for (round, pixel_error) in [1.0, 4.0, 24.0].into_iter().enumerate() {
        let options = RenderOptions {
            size: (96, 72),
            samples_per_side: 1,
            pixel_error,
            set: unlit(),
            ..RenderOptions::default()
        };
        let mut booth = scene.booth_with(options);
        let spec = booth.site.cameras(&[]).unwrap()[0].clone();
        let mut request = booth.studio.request(&booth.site, &spec).unwrap();
        for camera in 0..40_u32 {
            let number = |k: u32| chance(camera * 16 + k + 1000 * round as u32);
            let (x_m, z_m) = ((number(0) - 0.5) * 900.0, (number(1) - 0.5) * 900.0);
            let height_m = 1.0 + 300.0 * number(2).powi(3);
            let eye = DVec3::new(x_m, surface.ground_at(x_m, z_m).unwrap().height_m + height_m, z_m);
            let aim = DVec3::new(number(3) - 0.5, -0.45 * number(4), number(5) - 0.5);
            request.camera.pose = Pose::look_at(eye, eye + aim);
            let frame = booth.studio.frame(&request).unwrap();
            levels.insert(frame.stats.drawn_tiles);

            let optical = request.camera.pose.optical_from_usd_camera();
            let k = request.camera.intrinsics;
            let sky = frame.depth_m.iter().enumerate().filter(|(_, depth)| depth.is_infinite());
            for (index, _) in sky.step_by(7) {
                sky_pixels += 1;
                let (u, v) = (index as u32 % frame.width, index as u32 / frame.width);
                let direction = optical.rotation * k.ray(f64::from(u), f64::from(v)).1;
                // Deeper below the ground than the drawn error can explain.
                let mut distance_m = 0.5;
                while distance_m < 2500.0 {
                    let point = eye + direction * distance_m;
                    let inside = point.x.abs() < reach_m && point.z.abs() < reach_m;
                    let margin_m = 0.5 + 2.0 * pixel_error * distance_m / k.fx;
                    let below =
                        inside && surface.ground_at(point.x, point.z).is_some_and(|g| point.y < g.height_m - margin_m);
                    assert!(
                        !below,
                        "camera {camera} at {pixel_error} px: pixel ({u}, {v}) shows sky behind ground at {distance_m} m"
                    );
                    distance_m += (0.01 * distance_m).max(0.4);
                }
            }
        }
    }
    println!("{sky_pixels} sky pixels looked through; covers of {levels:?} tiles");
    assert!(sky_pixels > 5_000 && levels.len() > 10);
}

fn unlit() -> Vec<(String, terrane_core::ParamValue)> {
    vec![("photometry".to_owned(), terrane_core::ParamValue::Int(0))]
}
