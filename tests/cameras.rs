//! Intrinsics: the published K, and nothing else, says where in the image a
//! post of the DEM is seen.

// Helpers outside #[test] may fail a test.
#![allow(clippy::unwrap_used, clippy::panic)]

mod common;

use common::ground::{Triangles, moon_drop_m};
use common::{FITS, Published, Raster, Scene, parallel, pinhole, shared};
use glam::{DVec2, DVec3};
use serde_json::Value;
use std::process::Command;
use terrane_core::Pose;
use terrane_core::camera::{ApertureFit, Intrinsics, Lens, Projection};
use terrane_site::render::RenderOptions;
use terrane_stage::{ReadRequest, read_in_process};

const SIZE: (u32, u32) = (320, 240);
/// Spikes of one post stand on flat ground here (site x, z).
const SPIKES: [(f64, f64); 12] = [
    (0.0, 0.0),
    (-9.0, 2.0),
    (8.0, 3.0),
    (-4.0, 7.0),
    (5.0, 9.0),
    (-12.0, -8.0),
    (13.0, -6.0),
    (1.0, -11.0),
    (-7.0, 12.0),
    (10.0, 12.0),
    (-18.0, 4.0),
    (18.0, 2.0),
];
const SPIKE_M: f64 = 1.0;
const TIP_PX: f64 = 1.25;

fn spikes() -> Raster {
    let mut raster = Raster::moon(65, 1.0, |_, _| 0.0);
    for (x, z) in SPIKES {
        *raster.post_at(x, z) = SPIKE_M as f32;
    }
    raster
}

/// What a K and a pose say, written out here and not taken from the product.
struct Camera {
    k: [[f64; 3]; 3],
    axes: [DVec3; 3],
    eye: DVec3,
    is_parallel: bool,
}

impl Camera {
    fn of(picture: &Published) -> Self {
        let m = picture.description.pose_optical.site_from_camera;
        let column = |k: usize| DVec3::new(m[0][k], m[1][k], m[2][k]);
        Self {
            k: picture.description.k,
            axes: [column(0), column(1), column(2)],
            eye: column(3),
            is_parallel: picture.description.projection == Projection::Orthographic,
        }
    }

    fn project(&self, point: DVec3) -> DVec2 {
        let rel = point - self.eye;
        let [x, y, z] = self.axes.map(|axis| axis.dot(rel));
        let [[fx, _, cx], [_, fy, cy], _] = self.k;
        let depth = if self.is_parallel { 1.0 } else { z };
        DVec2::new(fx * x / depth + cx, fy * y / depth + cy)
    }

    /// Origin, and direction of planar depth 1.
    fn ray(&self, u: f64, v: f64) -> (DVec3, DVec3) {
        let [[fx, _, cx], [_, fy, cy], _] = self.k;
        let [right, down, forward] = self.axes;
        let across = right * ((u - cx) / fx) + down * ((v - cy) / fy);
        if self.is_parallel { (self.eye + across, forward) } else { (self.eye, across + forward) }
    }
}

/// The spike that a point belongs to, if it is high enough on one.
fn spike_at(point: DVec3) -> Option<usize> {
    let on = |(x, z): &(f64, f64)| (point.x - x).abs() < 1.0 && (point.z - z).abs() < 1.0;
    (point.y > 0.35 * SPIKE_M).then(|| SPIKES.iter().position(on)).flatten()
}

/// Middle and number of the pixels that show each spike.
fn middles(points: impl Iterator<Item = (u32, u32, DVec3)>) -> Vec<(DVec2, u32)> {
    let mut sums = vec![(DVec2::ZERO, 0_u32); SPIKES.len()];
    for (column, row, point) in points {
        if let Some(spike) = spike_at(point) {
            sums[spike].0 += DVec2::new(column.into(), row.into());
            sums[spike].1 += 1;
        }
    }
    sums.into_iter().map(|(sum, count)| (sum / f64::from(count.max(1)), count)).collect()
}

/// Compares where spikes are drawn with where K puts them; returns how many
/// were compared, and the largest distances (of middles, of tips), pixels.
fn spikes_are_where_k_says(picture: &Published, truth: &Triangles) -> (usize, f64, f64) {
    let camera = Camera::of(picture);
    let width = picture.description.width;
    let pixels = || (0..picture.depth_m.len() as u32).map(|index| (index % width, index / width));
    let drawn = pixels().filter_map(|(column, row)| {
        let depth_m = f64::from(picture.depth_m[(row * width + column) as usize]);
        let (origin, direction) = camera.ray(column.into(), row.into());
        depth_m.is_finite().then(|| (column, row, origin + direction * depth_m))
    });
    let predicted = pixels().filter_map(|(column, row)| {
        let (origin, direction) = camera.ray(column.into(), row.into());
        truth.meet(origin, direction).map(|t| (column, row, origin + direction * t))
    });
    let drawn: Vec<_> = drawn.collect();
    let (found, expected) = (middles(drawn.iter().copied()), middles(predicted));
    let (mut compared, mut middle_px, mut tip_px) = (0, 0.0_f64, 0.0_f64);
    for (spike, ((found, _), (expected, count))) in found.iter().zip(&expected).enumerate() {
        let (x, z) = SPIKES[spike];
        let tip = DVec3::new(x, SPIKE_M - moon_drop_m(x, z), z);
        let at = camera.project(tip);
        let inside = (4.0..f64::from(width) - 5.0).contains(&at.x)
            && (4.0..f64::from(picture.description.height) - 5.0).contains(&at.y);
        if *count < 12 || !inside {
            continue;
        }
        compared += 1;
        middle_px = middle_px.max(found.distance(*expected));
        // The pixel that shows the highest ground of this spike.
        let of_spike = drawn.iter().filter(|(.., point)| spike_at(*point) == Some(spike));
        let highest = of_spike.max_by(|a, b| a.2.y.total_cmp(&b.2.y)).unwrap();
        let offset = DVec2::new(highest.0.into(), highest.1.into()) - at;
        tip_px = tip_px.max(offset.abs().max_element());
    }
    (compared, middle_px, tip_px)
}

/// The published K against USD's film back: it spans aperture around offset.
fn expected_k(lens: &Lens, fit: ApertureFit, size: (u32, u32)) -> [[f64; 3]; 3] {
    let (w, h) = (f64::from(size.0), f64::from(size.1));
    let aperture_x = lens.horizontal_aperture;
    let aperture_y = if fit == ApertureFit::Both { lens.vertical_aperture } else { aperture_x * h / w };
    let unit =
        if lens.projection == Projection::Orthographic { 10.0 / lens.meters_per_unit } else { lens.focal_length };
    let left = -0.5 * aperture_x + lens.horizontal_aperture_offset;
    let top = 0.5 * aperture_y + lens.vertical_aperture_offset;
    let (cx, cy) = (-left / aperture_x * w - 0.5, top / aperture_y * h - 0.5);
    [[unit * w / aperture_x, 0.0, cx], [0.0, unit * h / aperture_y, cy], [0.0, 0.0, 1.0]]
}

fn assert_same_k(found: [[f64; 3]; 3], expected: [[f64; 3]; 3], what: &str) {
    for (found, expected) in found.as_flattened().iter().zip(expected.as_flattened()) {
        assert!((found - expected).abs() <= 1e-4 * expected.abs().max(1.0), "{what}: K is {found}, not {expected}");
    }
}

fn lenses() -> Vec<(&'static str, Lens)> {
    let film = |x: f64, y: f64, dx: f64, dy: f64, base: Lens| Lens {
        horizontal_aperture: x,
        vertical_aperture: y,
        horizontal_aperture_offset: dx,
        vertical_aperture_offset: dy,
        ..base
    };
    let wide = Lens { focal_length: 22.0, ..pinhole(60.0) };
    let flat = parallel(44.0, 33.0);
    vec![
        ("FourByThree", film(24.0, 18.0, 0.0, 0.0, wide)),
        ("ThreeByTwo", film(36.0, 24.0, 0.0, 0.0, wide)),
        ("Square", film(26.0, 26.0, 0.0, 0.0, wide)),
        ("Shifted", film(30.0, 20.0, 4.0, -2.5, wide)),
        ("SquareShifted", film(26.0, 26.0, -3.0, 5.0, wide)),
        ("Parallel", flat),
        ("ParallelWide", film(500.0, 250.0, 0.0, 0.0, flat)),
        ("ParallelShifted", film(460.0, 300.0, 30.0, -45.0, flat)),
    ]
}

#[test]
fn posts_are_seen_where_the_published_k_projects_them() {
    let raster = spikes();
    let truth = Triangles::on_moon(&raster);
    let pose = Pose::look_at(DVec3::new(9.0, 16.0, 27.0), DVec3::new(0.5, 0.5, 1.0));
    let mut scene = Scene::over(&raster).plain(0.2).input("int photometry = 0");
    for (name, lens) in lenses() {
        scene = scene.camera(name, &pose, &lens);
    }
    for fit in FITS {
        let options = RenderOptions { size: SIZE, fit, samples_per_side: 1, ..RenderOptions::default() };
        let mut booth = scene.booth_with(options);
        for (name, lens) in lenses() {
            let picture = booth.publish(name, &scene.path("out"));
            assert_same_k(picture.description.k, expected_k(&lens, fit, SIZE), name);
            let (compared, middle_px, tip_px) = spikes_are_where_k_says(&picture, &truth);
            println!(
                "{name:<16} {fit:?}: {compared} spikes, middles within {middle_px:.3} px, tips within {tip_px:.2} px"
            );
            assert!(compared >= 6, "{name}: only {compared} spikes are in the picture");
            assert!(middle_px <= 0.25, "{name} {fit:?}: a spike is drawn {middle_px} px from where K puts it");
            // The highest sample of a pyramid that is seen from the side lies
            // up to a pixel below its tip.
            assert!(tip_px <= TIP_PX, "{name} {fit:?}: a tip is drawn {tip_px} px from where K projects it");
        }
    }
}

#[test]
fn the_command_publishes_the_camera_that_it_drew() {
    let raster = spikes();
    let truth = Triangles::on_moon(&raster);
    let lens = Lens { horizontal_aperture_offset: 3.0, vertical_aperture_offset: 2.0, ..pinhole(58.0) };
    let pose = Pose::look_at(DVec3::new(-7.0, 15.0, 26.0), DVec3::new(0.0, 0.0, 2.0));
    let scene = Scene::over(&raster).plain(0.2).sun(300.0, 20.0, 0.53).camera("Nav", &pose, &lens);
    let out = scene.path("out");
    let result = Command::new(env!("CARGO_BIN_EXE_terrane"))
        .args(["render", "--quiet", "--camera", "/World/Cameras/Nav", "--size", "320x240", "--fit", "both"])
        .args([&scene.stage(), std::path::Path::new("-o"), &out])
        .env("TERRANE_CACHE", scene.path("cache"))
        .output()
        .unwrap();
    assert!(result.status.success(), "{}", String::from_utf8_lossy(&result.stderr));
    let picture = Published::read(&out);
    assert_same_k(picture.description.k, expected_k(&lens, ApertureFit::Both, SIZE), "Nav");
    let (compared, middle_px, tip_px) = spikes_are_where_k_says(&picture, &truth);
    println!("terrane render: {compared} spikes, middles within {middle_px:.3} px, tips within {tip_px:.2} px");
    assert!(compared >= 6 && middle_px <= 0.25 && tip_px <= TIP_PX);

    let description = picture.description;
    let usd = Pose { position_m: pose.position_m, rotation: pose.rotation };
    let drawn = glam::DQuat::from_array(description.pose_usd.orientation_xyzw);
    assert!(DVec3::from(description.pose_usd.position_m).distance(usd.position_m) < 1e-9);
    assert!(drawn.angle_between(usd.rotation) < 1e-6, "{drawn} {}", usd.rotation);
    let sun = description.sun.unwrap();
    assert!((sun.grid_azimuth_deg - 300.0).abs() < 1e-6 && (sun.elevation_deg - 20.0).abs() < 1e-6, "{sun:?}");
    assert_eq!((description.exposure.source.as_str(), description.exposure.stops), ("authored", 0.0));
    for name in
        ["rgb.png", "rgb.exr", "depth.exr", "range.exr", "normal.exr", "labels.png", "labels.json", "camera.json"]
    {
        assert!(out.join(name).is_file(), "{name} is missing");
    }
}

/// Turns a direction or point of a Z-up stage to +Y up.
fn upright(v: &Value) -> DVec3 {
    let [x, y, z]: [f64; 3] = serde_json::from_value(v.clone()).unwrap();
    DVec3::new(x, z, -y)
}

#[test]
fn cameras_that_maya_wrote_have_the_k_of_their_apertures() {
    let Some(folder) = shared("usd") else { return };
    let name = "maya-usd/test/lib/usd/translators/UsdImportCameraTest/UsdImportCameraTest.usda";
    let expected: Value =
        serde_json::from_str(&std::fs::read_to_string(folder.join("expected.json")).unwrap()).unwrap();
    let mut compared = 0;
    for camera in expected["plain"][name]["cameras"].as_array().unwrap() {
        for value in camera["values"].as_array().unwrap() {
            let time_code = value["t"].as_f64();
            // Without a time code the reader takes the stage's start, where
            // OpenUSD's default is the schema's fallback.
            if time_code.is_none() && camera["samples"] != 0 {
                continue;
            }
            let site = read_in_process(&ReadRequest { time_code, ..ReadRequest::new(folder.join(name)) }).unwrap();
            let found = site.cameras.iter().find(|found| camera["path"] == found.prim.as_str()).unwrap();
            let number = |key: &str| value[key].as_f64().unwrap();
            let what = format!("{} at {}", found.prim, value["t"]);
            let metres = site.meters_per_unit;

            let k = found.lens.intrinsics(640, 480, ApertureFit::Both).unwrap();
            let parallel = value["projection"] == "Orthographic";
            assert_eq!(k.projection == Projection::Orthographic, parallel, "{what}");
            let (fx, fy) = if parallel {
                // Tenths of a scene unit.
                (640.0 / (0.1 * metres * number("hap")), 480.0 / (0.1 * metres * number("vap")))
            } else {
                let half = |key: &str| (0.5 * number(key)).to_radians().tan();
                (320.0 / half("hfov_deg"), 240.0 / half("vfov_deg"))
            };
            let cx = 319.5 - number("hoff") / number("hap") * 640.0;
            let cy = 239.5 + number("voff") / number("vap") * 480.0;
            assert_same_k(k.k(), [[fx, 0.0, cx], [0.0, fy, cy], [0.0, 0.0, 1.0]], &what);

            let square: Intrinsics = found.lens.intrinsics(640, 480, ApertureFit::Horizontal).unwrap();
            assert_same_k(square.k(), expected_k(&found.lens, ApertureFit::Horizontal, (640, 480)), &what);
            assert!((square.fx / square.fy - 1.0).abs() < 1e-12, "{what}: pixels are square");
            let forward = found.pose.rotation * DVec3::NEG_Z;
            assert!(forward.distance(upright(&value["fwd"])) < 1e-4, "{what} looks along {forward}");
            let place = upright(&value["pos"]) * metres;
            assert!(found.pose.position_m.distance(place) < 1e-5, "{what} is at {}", found.pose.position_m);
            compared += 1;
        }
    }
    println!("{compared} cameras of {name} agree with OpenUSD");
    assert!(compared >= 6);
}
