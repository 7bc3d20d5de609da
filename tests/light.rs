//! Light: the sun on measured ground against a hillshade that others trust,
//! the photometric laws against their f64 twins.

// Helpers outside #[test] may fail a test.
#![allow(clippy::unwrap_used, clippy::panic)]

mod common;

use common::ground::moon_drop_m;
use common::stats::{correlation, quantile, share};
use common::{Booth, Raster, SUN_LUX, Scene, Shot, down_from, parallel, pinhole, shared};
use glam::DVec3;
use std::f64::consts::PI;
use std::path::Path;
use std::process::Command;
use terrane_core::Pose;
use terrane_core::camera::ApertureFit;
use terrane_site::render::RenderOptions;

/// Unit vector to a sun, site axes (x east, y up, z south).
fn to_sun(azimuth_deg: f64, elevation_deg: f64) -> DVec3 {
    let (azimuth, elevation) = (azimuth_deg.to_radians(), elevation_deg.to_radians());
    DVec3::new(azimuth.sin() * elevation.cos(), elevation.sin(), -azimuth.cos() * elevation.cos())
}

/// Cosine between the sun and the normal at inner posts, by Horn's 3 x 3 rule as
/// `gdaldem hillshade` has it; NaN at borders and beside holes.
fn hillshade(dem: &Raster, sun: DVec3) -> Vec<f64> {
    let (columns, rows) = (dem.grid.columns, dem.grid.rows);
    let at = |c: usize, r: usize| f64::from(dem.heights_m[r * columns + c]);
    let cosine = |c: usize, r: usize| {
        if c == 0 || r == 0 || c + 1 == columns || r + 1 == rows {
            return f64::NAN;
        }
        let (w, e, n, s) = (c - 1, c + 1, r - 1, r + 1);
        let run = 8.0 * dem.grid.posting_m;
        let dx = (at(e, n) + 2.0 * at(e, r) + at(e, s) - at(w, n) - 2.0 * at(w, r) - at(w, s)) / run;
        let dz = (at(w, s) + 2.0 * at(c, s) + at(e, s) - at(w, n) - 2.0 * at(c, n) - at(e, n)) / run;
        sun.dot(DVec3::new(-dx, 1.0, -dz).normalize()).max(0.0)
    };
    (0..columns * rows).map(|k| cosine(k % columns, k / columns)).collect()
}

/// `gdaldem hillshade`'s grey values, or `None` and a printed reason.
fn gdaldem(file: &Path, azimuth_deg: f64, elevation_deg: f64) -> Option<Vec<f64>> {
    let folder = tempfile::tempdir().unwrap();
    let picture = folder.path().join("hillshade.png");
    let result = Command::new("gdaldem")
        .args(["hillshade", "-q", "-of", "PNG", "-az", &azimuth_deg.to_string(), "-alt", &elevation_deg.to_string()])
        .args([file, &picture])
        .status();
    if !result.is_ok_and(|status| status.success()) {
        println!("skipped: the command gdaldem is not here");
        return None;
    }
    let grey = image::open(&picture).unwrap().into_luma8().into_raw();
    // 0 is what it has no value for.
    Some(grey.iter().map(|grey| if *grey == 0 { f64::NAN } else { f64::from(*grey) }).collect())
}

/// Draws a DEM from above, a pixel a post, as a Lambert surface.
fn lambert_map(file: &Path, dem: &Raster, azimuth_deg: f64, elevation_deg: f64) -> Shot {
    let (width_m, height_m) = (dem.grid.columns as f64 * dem.grid.posting_m, dem.grid.rows as f64 * dem.grid.posting_m);
    let above_m = f64::from(dem.heights_m.iter().copied().fold(f32::NEG_INFINITY, f32::max)) + 100.0;
    let scene = Scene::new()
        .dem(file)
        .plain(0.5)
        .input("float weight_albedo = 0")
        .input("int photometry = 1")
        .input("float sun_shadow = 0")
        .sun(azimuth_deg, elevation_deg, 0.53)
        .camera("Plan", &down_from(0.0, above_m, 0.0), &parallel(width_m, height_m));
    let size = (dem.grid.columns as u32, dem.grid.rows as u32);
    let options = RenderOptions { size, fit: ApertureFit::Both, samples_per_side: 1, ..RenderOptions::default() };
    scene.booth_with(options).shoot("Plan")
}

fn agrees_with_hillshade(name: &str, path: &str) {
    let Some(file) = shared(path) else { return };
    let dem = Raster::read(&file);
    for (azimuth_deg, elevation_deg) in [(315.0, 45.0), (80.0, 15.0)] {
        let shade = hillshade(&dem, to_sun(azimuth_deg, elevation_deg));
        let drawn = lambert_map(&file, &dem, azimuth_deg, elevation_deg).red();
        let found = correlation(&shade, &drawn);
        let off = shade.iter().zip(&drawn).filter(|(cosine, _)| cosine.is_finite());
        let off = off.map(|(cosine, radiance)| (radiance / (0.5 * SUN_LUX / PI) - cosine).abs()).collect();
        let off = quantile(off, 0.99);
        let other = gdaldem(&file, azimuth_deg, elevation_deg).map(|grey| correlation(&grey, &drawn));
        println!(
            "{name}, sun at {azimuth_deg} / {elevation_deg}: correlation {found:.5} with Horn's formula \
             (99% of cosines within {off:.4}), with gdaldem {other:.5?}"
        );
        assert!(found >= 0.98, "{name}: correlation with the formula is {found}");
        assert!(off < 0.01, "{name}: cosines differ by {off}");
        assert!(other.is_none_or(|other| other >= 0.98), "{name}: correlation with gdaldem is {other:?}");
    }
}

#[test]
fn gale_is_shaded_as_gdaldem_shades_it() {
    agrees_with_hillshade("gale", "dem/mars-gale/gale_hirise_dtm_1m.tif");
}

#[test]
fn shoemaker_is_shaded_as_gdaldem_shades_it() {
    agrees_with_hillshade("shoemaker", "dem/moon-south-pole/Shoemaker_final_adj_5mpp_surf_1k.tif");
}

/// The laws of `shaders/lunar_brdf.wesl` in f64: radiance factor (I/F).
mod twin {
    pub struct Phase {
        pub slope: f64,
        pub surge: f64,
        pub width: f64,
    }

    pub fn lambert(albedo: f64, mu_sun: f64) -> f64 {
        albedo * mu_sun.max(0.0)
    }

    pub fn phase_curve(phase_angle: f64, phase: &Phase) -> f64 {
        let broad = (-phase.slope * phase_angle).exp();
        let narrow = (-phase_angle / phase.width).exp();
        (broad + phase.surge * narrow) / (1.0 + phase.surge)
    }

    pub fn lommel_seeliger(albedo: f64, mu_sun: f64, mu_eye: f64, phase: f64) -> f64 {
        albedo * phase * 2.0 * mu_sun.max(0.0) / (mu_sun.max(0.0) + mu_eye)
    }
}

/// Draws a plane of a gradient by one law and returns the largest relative
/// difference from the twin over all cameras and pixels.
fn worst_against_twin(law: u32, gradient: (f64, f64), sun: (f64, f64), albedo: f64, phase: &twin::Phase) -> f64 {
    let raster = Raster::moon(65, 1.0, |x, z| gradient.0 * x + gradient.1 * z);
    let sun_m = to_sun(sun.0, sun.1);
    let eye = |direction: DVec3| Pose::look_at(25.0 * direction.normalize(), DVec3::ZERO);
    let mut scene = Scene::over(&raster)
        .plain(albedo)
        .input(&format!("int photometry = {law}"))
        .input("float sun_shadow = 0")
        .input(&format!("float phase_slope = {}", phase.slope))
        .input(&format!("float opposition_surge = {}", phase.surge))
        .input(&format!("float opposition_width = {}", phase.width))
        .sun(sun.0, sun.1, 0.53);
    let cameras = [
        ("WithTheSun", eye(sun_m + DVec3::new(0.02, 0.01, 0.0))),
        ("AgainstTheSun", eye(DVec3::new(-sun_m.x, 0.5, -sun_m.z))),
        ("Across", eye(DVec3::new(sun_m.z, 0.4, -sun_m.x))),
        ("Down", down_from(0.0, 25.0, 0.0)),
    ];
    for (name, pose) in &cameras {
        scene = scene.camera(name, pose, &pinhole(30.0));
    }
    let mut booth = scene.booth(120, 90);
    let normal = DVec3::new(-gradient.0, 1.0, -gradient.1).normalize();
    let mut worst = 0.0_f64;
    for (name, _) in &cameras {
        let shot = booth.shoot(name);
        let mut seen = 0;
        for k in 0..120 * 90 {
            let Some(point) = shot.point(k % 120, k / 120) else { continue };
            let to_eye = (shot.optical.position_m - point).normalize();
            let (mu_sun, mu_eye) = (normal.dot(sun_m), normal.dot(to_eye));
            let factor = if law == 1 {
                twin::lambert(albedo, mu_sun)
            } else {
                let curve = twin::phase_curve(to_eye.dot(sun_m).clamp(-1.0, 1.0).acos(), phase);
                twin::lommel_seeliger(albedo, mu_sun, mu_eye, curve)
            };
            let expected = factor * SUN_LUX / PI;
            let found = f64::from(shot.frame.radiance[k as usize][0]);
            worst = worst.max((found / expected - 1.0).abs());
            seen += 1;
        }
        assert!(seen > 2000, "{name} sees {seen} pixels of ground");
    }
    worst
}

#[test]
fn lambert_and_lommel_seeliger_agree_with_their_twins() {
    let moon = twin::Phase { slope: 0.7, surge: 0.35, width: 0.1 };
    let other = twin::Phase { slope: 1.9, surge: 1.2, width: 0.04 };
    for (law, gradient, sun, albedo, phase) in [
        (1, (0.0, 0.0), (135.0, 30.0), 0.12, &moon),
        (1, (0.2, -0.1), (310.0, 50.0), 0.6, &moon),
        (2, (0.0, 0.0), (135.0, 30.0), 0.12, &moon),
        (2, (0.0, 0.0), (20.0, 6.0), 0.3, &moon),
        (2, (0.2, -0.1), (310.0, 50.0), 0.12, &other),
    ] {
        let worst = worst_against_twin(law, gradient, sun, albedo, phase);
        println!("photometry {law}, gradient {gradient:?}, sun {sun:?}: radiance within {worst:.5} of the twin");
        assert!(worst <= 2e-3, "photometry {law}, sun {sun:?}: radiance is {worst} off");
    }
}

/// Part of a disc above a straight horizon at `height` radii over its middle,
/// -1 (all visible at 1): area of a circular segment.
fn disc_fraction(height: f64) -> f64 {
    let x = height.clamp(-1.0, 1.0);
    0.5 + (x * (1.0 - x * x).sqrt() + x.asin()) / PI
}

/// A plan view of a Lambert ground; sun_shadow as given.
fn lit_from(raster: &Raster, sun: (f64, f64, f64), sun_shadow: u8, width_m: f64, size: (u32, u32)) -> Shot {
    let height_m = width_m * f64::from(size.1) / f64::from(size.0);
    let scene = Scene::over(raster)
        .plain(0.5)
        .input("int photometry = 1")
        .input(&format!("float sun_shadow = {sun_shadow}"))
        .sun(sun.0, sun.1, sun.2)
        .camera("Plan", &down_from(0.0, 300.0, 0.0), &parallel(width_m, height_m));
    let mut booth: Booth = scene.booth(size.0, size.1);
    booth.shoot("Plan")
}

#[test]
fn a_wall_throws_a_shadow_of_its_length_with_the_penumbra_of_the_disc() {
    const WALL_M: f64 = 10.0;
    // West of x = -1 is 10 m high; the sun stands in the west.
    let raster = Raster::moon(129, 1.0, |x, _| if x < -0.5 { WALL_M } else { 0.0 });
    for (elevation_deg, disc_deg) in [(20.0, 0.53), (20.0, 4.0), (35.0, 4.0), (12.0, 2.0)] {
        let shot = lit_from(&raster, (270.0, elevation_deg, disc_deg), 1, 128.0, (320, 40));
        let lit = 0.5 * SUN_LUX / PI * elevation_deg.to_radians().sin();
        let radius = 0.5 * f64::to_radians(disc_deg);
        let (mut worst, mut end_m) = (0.0_f64, f64::NAN);
        let mut before = 0.0;
        for column in 0..320 {
            let x = shot.point(column, 20).unwrap().x;
            // The wall's own face, and the cell at its foot.
            if x < 0.5 {
                continue;
            }
            let seen = f64::from(shot.frame.radiance[20 * 320 + column as usize][0]) / lit;
            // The crest is the post at x = -1.
            let skyline = (WALL_M / (x + 1.0)).atan();
            let expected = disc_fraction((elevation_deg.to_radians() - skyline) / radius);
            // Where the cell at the foot does not tilt the normal.
            if x > 1.5 {
                worst = worst.max((seen - expected).abs());
            }
            if before < 0.5 && seen >= 0.5 && x > 1.5 {
                end_m = x;
            }
            before = seen;
        }
        let expected_m = WALL_M / elevation_deg.to_radians().tan() - 1.0;
        println!(
            "wall of {WALL_M} m, sun {elevation_deg} deg high, disc {disc_deg} deg: shadow ends at {end_m:.2} m \
             (expected {expected_m:.2}), visibility within {worst:.3} of the disc's area"
        );
        assert!((end_m - expected_m).abs() <= 1.0, "the shadow ends at {end_m} m, not {expected_m} m");
        assert!(worst <= 0.05, "visibility is {worst} off in the penumbra");
    }
}

#[test]
fn a_plain_is_lit_evenly_by_a_sun_half_a_degree_high() {
    let raster = Raster::moon(257, 2.0, |_, _| 0.0);
    let sun = to_sun(250.0, 0.5);
    let shot = lit_from(&raster, (250.0, 0.5, 0.53), 1, 500.0, (200, 200));
    let ratios = (0..200 * 200).map(|k| {
        let point = shot.point(k % 200, k / 200).unwrap();
        // The Moon's curvature turns the normal by x / R.
        let step = 1.0;
        let slope = |dx: f64, dz: f64| {
            (moon_drop_m(point.x - dx, point.z - dz) - moon_drop_m(point.x + dx, point.z + dz)) / (2.0 * step)
        };
        let normal = DVec3::new(-slope(step, 0.0), 1.0, -slope(0.0, step)).normalize();
        f64::from(shot.frame.radiance[k as usize][0]) / (0.5 * SUN_LUX / PI * normal.dot(sun))
    });
    let ratios: Vec<f64> = ratios.collect();
    let (low, high) = (quantile(ratios.clone(), 0.0), quantile(ratios, 1.0));
    println!("plain under a sun 0.5 deg high: radiance is {low:.4} to {high:.4} of what it should be");
    assert!(low > 0.99 && high < 1.01, "{low} to {high}");
}

/// Relief of a few metres at every size down to the posts, the same each run.
fn rough() -> Raster {
    let hash = |i: i64, j: i64| {
        let mut v = (i as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ (j as u64).wrapping_mul(0xC2B2_AE3D_27D4_EB4F);
        v = (v ^ (v >> 31)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        ((v ^ (v >> 29)) >> 11) as f64 / (1_u64 << 53) as f64 - 0.5
    };
    Raster::moon(257, 1.0, |x, z| {
        let waves = 4.0 * (0.05 * x + 0.3).sin() * (0.043 * z).cos() + 1.5 * (0.21 * x - 0.13 * z).sin();
        waves + 0.5 * (0.61 * x + 0.77 * z).sin() + 0.25 * hash(x.round() as i64, z.round() as i64)
    })
}

#[test]
fn shadows_on_rough_ground_agree_with_a_march_in_f64() {
    let raster = rough();
    let ground = common::ground::Triangles::on_moon(&raster);
    for (azimuth_deg, elevation_deg, disc_deg) in [(250.0, 12.0, 2.0), (33.0, 5.0, 0.53)] {
        let sun = (azimuth_deg, elevation_deg, disc_deg);
        let [open, shaded] = [0, 1].map(|shadow| lit_from(&raster, sun, shadow, 231.0, (220, 220)));
        let toward = to_sun(azimuth_deg, 0.0);
        let radius = 0.5 * f64::to_radians(disc_deg);
        let mut differences = Vec::new();
        let mut strict = Vec::new();
        let mut partly = 0;
        let mut state = 12_345_u64;
        while differences.len() < 300 {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let k = ((state >> 33) % (220 * 220)) as u32;
            let lit = f64::from(open.frame.radiance[k as usize][0]);
            // Where the sun only grazes, the ratio would be noise.
            if lit < 0.5 * SUN_LUX / PI * 0.02 {
                continue;
            }
            let seen = f64::from(shaded.frame.radiance[k as usize][0]) / lit;
            let place = open.point(k % 220, k / 220).unwrap();
            let here_m = ground.bilinear_m(place.x, place.z).unwrap();
            let skyline = |first_m: f64| {
                let mut tangent = f64::NEG_INFINITY;
                let mut distance_m = first_m;
                let along = |d: f64| ground.bilinear_m(place.x + toward.x * d, place.z + toward.z * d);
                while let Some(there_m) = along(distance_m) {
                    tangent = tangent.max((there_m - here_m) / distance_m);
                    distance_m += 0.05;
                }
                disc_fraction((f64::to_radians(elevation_deg) - tangent.atan()) / radius)
            };
            // Ground nearer than a post and a half shades by its normal alone:
            // between posts nobody knows more. `strict` is what that leaves out.
            let expected = skyline(1.5);
            strict.push((seen - skyline(0.1)).abs() <= 0.05);
            partly += usize::from((0.02..0.98).contains(&expected));
            differences.push((seen - expected).abs());
        }
        let close = share(differences.iter().map(|difference| *difference <= 0.05));
        println!(
            "rough ground, sun {elevation_deg} deg high, disc {disc_deg} deg: {:.1}% of 300 points within 0.05 of f64 \
             ({partly} in penumbra), {:.1}% when it marches from 0.1 m on; 99% within {:.3}",
            100.0 * close,
            100.0 * share(strict),
            quantile(differences, 0.99)
        );
        assert!(close >= 0.97, "{:.1}% of the points agree", 100.0 * close);
    }
}

#[test]
fn level_ground_beside_a_small_hole_is_lit() {
    let hole =
        "token lunco:edit:kind = \"hole\"\ndouble2 lunco:edit:center = (0.3, 0.2)\ndouble lunco:edit:radius = 0.4";
    let scene = Scene::over(&Raster::moon(129, 1.0, |_, _| 0.0)).plain(1.0).layer("Shaft", "edit", hole);
    let scene = scene.input("uint photometry = 1").sun(210.0, 20.0, 0.53);
    let mut booth = scene.camera("Down", &down_from(0.0, 12.0, 0.0), &pinhole(60.0)).booth(160, 120);
    let shot = booth.shoot("Down");
    let lit = SUN_LUX / PI * 20.0_f64.to_radians().sin();
    let (mut ground, mut dark) = (0, 0);
    for (depth_m, seen) in shot.frame.depth_m.iter().zip(shot.red()) {
        ground += u32::from(depth_m.is_finite());
        dark += u32::from(depth_m.is_finite() && seen < 0.9 * lit);
    }
    assert!(ground > 18_000 && ground < 160 * 120, "{ground} pixels of ground");
    assert_eq!(dark, 0, "of {ground} pixels of level ground");
}
