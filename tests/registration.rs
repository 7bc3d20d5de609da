//! Registration: what is seen is where the rasters' own georeferencing says.

// Helpers outside #[test] may fail a test.
#![allow(clippy::unwrap_used, clippy::panic)]

mod common;

use common::stats::{correlation, phase_shift};
use common::{Booth, Raster, Scene, down_from, parallel, shared};
use glam::DVec3;
use std::path::Path;
use std::process::Command;
use terrane_core::Quiet;
use terrane_core::RasterSettings;
use terrane_core::camera::ApertureFit;
use terrane_core::colour::srgb_byte_from_linear;
use terrane_geo::read_image;
use terrane_site::query::query_height;
use terrane_site::render::RenderOptions;

/// What `gdalinfo` says of the two files: middles (map metres) and pixels.
const GALE_DTM_MIDDLE: (f64, f64) = (8_142_580.0, -276_623.5);
const GALE_ORTHO_MIDDLE: (f64, f64) = (8_142_582.755_732_341, -276_621.524_639_129_35);
const GALE_ORTHO_PIXELS: u32 = 508;
const GALE_ORTHO_PIXEL_M: f64 = 0.64;
/// Side of the square in the middle that shifts are measured in.
const WINDOW: usize = 256;

/// Shift between the middles of two square pictures; what one of them lacks is
/// left out of both.
fn shift(stored: &[f64], drawn: &[f64]) -> (f64, f64) {
    let side = GALE_ORTHO_PIXELS as usize;
    let first = (side - WINDOW) / 2;
    let middle = (0..WINDOW * WINDOW).map(|k| (first + k / WINDOW) * side + first + k % WINDOW);
    let pairs: Vec<(f64, f64)> = middle.map(|k| (stored[k], drawn[k])).collect();
    let both: Vec<&(f64, f64)> = pairs.iter().filter(|pair| pair.0.is_finite() && pair.1.is_finite()).collect();
    assert!(both.len() > pairs.len() * 99 / 100);
    let mean = |side: fn(&(f64, f64)) -> f64| both.iter().map(|pair| side(pair)).sum::<f64>() / both.len() as f64;
    let means = (mean(|pair| pair.0), mean(|pair| pair.1));
    let filled = pairs.iter().map(|pair| if pair.0.is_finite() && pair.1.is_finite() { *pair } else { means });
    let (stored, drawn): (Vec<f64>, Vec<f64>) = filled.unzip();
    phase_shift(&stored, &drawn, WINDOW)
}

fn gale(samples_per_side: u32, moved_px: f64) -> Option<(Vec<f64>, Vec<f64>)> {
    let folder = shared("dem/mars-gale")?;
    let ortho = folder.join("gale_hirise_ortho_0.64m.tif");
    // The camera's film back is the orthoimage's grid, in the site frame: its
    // origin is the middle of the DTM, x is east, z is south.
    let east_m = GALE_ORTHO_MIDDLE.0 - GALE_DTM_MIDDLE.0 + moved_px * GALE_ORTHO_PIXEL_M;
    let south_m = GALE_DTM_MIDDLE.1 - GALE_ORTHO_MIDDLE.1;
    let side_m = f64::from(GALE_ORTHO_PIXELS) * GALE_ORTHO_PIXEL_M;
    let scene = Scene::new()
        .dem(&folder.join("gale_hirise_dtm_1m.tif"))
        .albedo(&ortho)
        .input("int photometry = 0")
        .camera("Plan", &down_from(east_m, -3000.0, south_m), &parallel(side_m, side_m));
    let size = (GALE_ORTHO_PIXELS, GALE_ORTHO_PIXELS);
    let options = RenderOptions { size, fit: ApertureFit::Both, samples_per_side, ..RenderOptions::default() };
    let shot = scene.booth_with(options).shoot("Plan");
    let drawn = shot.frame.radiance.iter().zip(&shot.frame.labels);
    let drawn = drawn.map(|(rgb, label)| if *label == 0 { f64::NAN } else { f64::from(srgb_byte_from_linear(rgb[0])) });

    let crs = terrane_geo::raster_info(&ortho, &RasterSettings::default()).unwrap().crs.unwrap();
    let image = read_image(&ortho, &RasterSettings::default(), &crs, 4096, &Quiet).unwrap();
    let stored = image.rgba.chunks_exact(4).map(|p| if p[3] == 255 { f64::from(p[0]) } else { f64::NAN });
    Some((stored.collect(), drawn.collect()))
}

#[test]
fn an_unlit_map_view_of_gale_is_its_orthoimage() {
    for samples in [1, 3] {
        let Some((stored, drawn)) = gale(samples, 0.0) else { return };
        let found = correlation(&stored, &drawn);
        let (right, down) = shift(&stored, &drawn);
        println!("gale, {samples} x {samples} samples: correlation {found:.5}, shift ({right:.4}, {down:.4}) px");
        assert!(found >= 0.99, "correlation with the orthoimage is {found}");
        assert!(right.abs() <= 0.1 && down.abs() <= 0.1, "the picture is shifted by ({right}, {down}) px");
    }
}

#[test]
fn a_shift_of_a_quarter_of_a_pixel_would_be_found() {
    let Some((stored, drawn)) = gale(3, 0.25) else { return };
    let (right, down) = shift(&stored, &drawn);
    println!("gale seen from 0.25 px further east: shift ({right:.4}, {down:.4}) px");
    assert!((right + 0.25).abs() < 0.05 && down.abs() < 0.05, "found ({right}, {down}) px");
}

const MARS: &str = "IAU_2015:49910";
const CORNER_M: (f64, f64) = (500_000.0, -200_000.0);
const POSTING_M: f64 = 2.0;
const POSTS: usize = 65;
/// Column and row of the one high post.
const PEAK: (usize, usize) = (41, 18);

fn peak_raster() -> Raster {
    let half_m = 0.5 * POSTS as f64 * POSTING_M;
    let mut raster = Raster::new(MARS, (CORNER_M.0 + half_m, CORNER_M.1 - half_m), POSTS, POSTING_M, |_, _| 0.0);
    raster.heights_m[PEAK.1 * POSTS + PEAK.0] = 5.0;
    raster
}

/// Map coordinates of the peak, once as queried and once as seen.
fn peak_of(file: &Path) -> [(f64, f64); 2] {
    let scene = Scene::new().dem(file).plain(0.2).input("int photometry = 0").camera(
        "Plan",
        &down_from(0.0, 500.0, 0.0),
        &parallel(128.0, 128.0),
    );
    let mut booth: Booth = scene.booth(320, 320);
    let ground = booth.site.ground(&Quiet).unwrap();
    let shot = booth.shoot("Plan");

    // The highest of all half posts; the answer carries map coordinates.
    let places = (-128..=128).flat_map(|j| (-128..=128).map(move |i| (f64::from(i) * 0.5, f64::from(j) * 0.5)));
    let heights = places.filter_map(|(x, z)| Some((x, z, ground.surface.ground_at(x, z)?.height_m)));
    let (x, z, _) = heights.max_by(|a, b| a.2.total_cmp(&b.2)).unwrap();
    let answer = query_height(&ground, x, z).unwrap();
    let datum_m = answer.ground.unwrap().datum_height_m;
    assert!((datum_m - 5.0).abs() < 1e-6, "the peak is {datum_m} m high");

    // The middle of the pixels that show it.
    let pixels = (0..320 * 320).filter_map(|k| shot.point(k % 320, k / 320));
    let high: Vec<DVec3> = pixels.filter(|point| point.y > 1.0).collect();
    let middle = high.iter().sum::<DVec3>() / high.len() as f64;
    [(answer.easting_m, answer.northing_m), ground.frame.map_from_site(middle.x, middle.z)]
}

fn assert_at(found: [(f64, f64); 2], expected: (f64, f64), what: &str) {
    let [queried, seen] = found;
    println!("{what}: queried at {queried:?}, seen at ({:.3}, {:.3}), expected at {expected:?}", seen.0, seen.1);
    assert!((queried.0 - expected.0).abs() < 1e-6 && (queried.1 - expected.1).abs() < 1e-6, "{what}: {queried:?}");
    // A pixel is 0.4 m.
    assert!((seen.0 - expected.0).abs() < 0.1 && (seen.1 - expected.1).abs() < 0.1, "{what}: {seen:?}");
}

#[test]
fn a_post_is_at_its_own_place_whether_written_as_point_or_as_area() {
    let folder = tempfile::tempdir().unwrap();
    let raster = peak_raster();
    let expected = (CORNER_M.0 + (PEAK.0 as f64 + 0.5) * POSTING_M, CORNER_M.1 - (PEAK.1 as f64 + 0.5) * POSTING_M);
    for point in [false, true] {
        let file = folder.path().join(format!("point_{point}.tif"));
        raster.write(&file, point);
        let info = terrane_geo::raster_info(&file, &RasterSettings::default()).unwrap();
        assert_eq!(info.area_or_point.as_deref(), Some(if point { "Point" } else { "Area" }));
        assert_at(peak_of(&file), expected, if point { "as point" } else { "as area" });
    }
}

#[test]
fn one_tie_point_under_both_tags_is_half_a_post_apart() {
    let folder = tempfile::tempdir().unwrap();
    let area = folder.path().join("area.tif");
    let point = folder.path().join("point.tif");
    peak_raster().write(&area, false);
    // Told to ignore the tag's meaning, GDAL writes the same tie point (the
    // corner's coordinates) under the other tag.
    let translate = Command::new("gdal_translate")
        .args(["-q", "-mo", "AREA_OR_POINT=Point", "--config", "GTIFF_POINT_GEO_IGNORE", "TRUE"])
        .args([&area, &point])
        .status();
    if !translate.is_ok_and(|status| status.success()) {
        println!("skipped: gdal_translate is not here");
        return;
    }
    let whole = (CORNER_M.0 + PEAK.0 as f64 * POSTING_M, CORNER_M.1 - PEAK.1 as f64 * POSTING_M);
    let half = 0.5 * POSTING_M;
    assert_at(peak_of(&area), (whole.0 + half, whole.1 - half), "tie point, area");
    assert_at(peak_of(&point), whole, "tie point, point");
}

#[test]
fn a_draped_picture_obeys_its_tag_too() {
    // Single pixels of 1 km, the same tie points under both tags: by the tags,
    // the point files lie half a pixel further north-west. gdal_translate -of
    // XYZ puts Linz's pixel of the area files here.
    const LINZ_M: (f64, f64) = (4_640_500.0, 2_805_500.0);
    let Some(folder) = shared("dem/nasty") else { return };
    let ground = Raster::new("EPSG:3035", LINZ_M, 65, 200.0, |_, _| 0.0);
    for (tag, moved_m) in [("area", 0.0), ("point", 500.0)] {
        for way in ["model_tie_point_and_pixel_scale", "model_transformation"] {
            let file = folder.join(format!("austrian_capitals_{way}_pixel_is_{tag}.tif"));
            let scene = Scene::over(&ground)
                .albedo(&file)
                .input("color3f base_albedo = (0, 0, 0)")
                .input("int photometry = 0")
                .camera("Plan", &down_from(0.0, 5000.0, 0.0), &parallel(12_000.0, 12_000.0));
            let shot = scene.booth(240, 240).shoot("Plan");
            let lit = (0..240 * 240).filter(|k| shot.frame.radiance[*k as usize][0] > 1e-4);
            let lit: Vec<DVec3> = lit.filter_map(|k| shot.point(k % 240, k / 240)).collect();
            let middle = lit.iter().sum::<DVec3>() / lit.len() as f64;
            let found = (LINZ_M.0 + middle.x, LINZ_M.1 - middle.z);
            println!("Linz, {way}, {tag}: {} pixels around {found:?}", lit.len());
            let away = (found.0 - LINZ_M.0 + moved_m).hypot(found.1 - LINZ_M.1 - moved_m);
            assert!(away < 10.0, "{way}, {tag}: Linz is drawn {away} m from its place");
        }
    }
}
