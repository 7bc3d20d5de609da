//! Grids that are not square, north-up and projected come out in the right
//! place.

#![allow(clippy::unwrap_used, clippy::panic)]

mod common;

use common::{Sheet, open, open_with, read, read_all};
use terrane_core::{PostWindow, RasterSettings};
use terrane_geo::{Crs, PostGrid};

const RELIEF_M: f64 = 1000.0;

/// A round hill: its height at a place, by the angle from its top.
fn hill_m(top: (f64, f64), wide_deg: f64, (lon, lat): (f64, f64)) -> f64 {
    let unit = |(lon, lat): (f64, f64)| {
        let (lon, lat) = (lon.to_radians(), lat.to_radians());
        [lat.cos() * lon.cos(), lat.cos() * lon.sin(), lat.sin()]
    };
    let (a, b) = (unit(top), unit((lon, lat)));
    let chord2: f64 = a.iter().zip(&b).map(|(a, b)| (a - b) * (a - b)).sum();
    RELIEF_M * (-chord2.sqrt().to_degrees().powi(2) / (wide_deg * wide_deg)).exp()
}

fn check(name: &str, sheet: &Sheet<'_>, top: (f64, f64), wide_deg: f64) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("hill.tif");
    let crs = Crs::parse(sheet.crs).unwrap();
    let values: Vec<f32> = (0..sheet.size.0 * sheet.size.1)
        .map(|i| {
            let (x, y) = sheet.map(i % sheet.size.0, i / sheet.size.0);
            let place = if crs.projected {
                crs.lon_lat(x * crs.metres_per_unit, y * crs.metres_per_unit).unwrap()
            } else {
                (x, y)
            };
            hill_m(top, wide_deg, place) as f32
        })
        .collect();
    sheet.write(&path, &values);

    let dem = open(&path);
    assert!(dem.why_warped().is_some(), "{name}");
    let (frame, grid) = dem.natural_frame().unwrap();
    let posts = dem.posts(&frame, grid).unwrap();
    let heights_m = read_all(posts.as_ref());
    let (mut worst, mut valid, mut sums) = (0.0_f64, 0, [0.0; 3]);
    for (i, height) in heights_m.iter().enumerate().filter(|(_, height)| !height.is_nan()) {
        let (x, y) = (
            grid.easting_m + (i % grid.columns) as f64 * grid.posting_m,
            grid.northing_m - (i / grid.columns) as f64 * grid.posting_m,
        );
        worst = worst.max((f64::from(*height) - hill_m(top, wide_deg, frame.lon_lat(x, y).unwrap())).abs());
        valid += 1;
        let weight = f64::from(*height);
        sums = [sums[0] + weight, sums[1] + weight * x, sums[2] + weight * y];
    }
    assert!(worst < 0.02 * RELIEF_M, "{name}: off by {worst} m in {}", frame.name);
    assert!(valid as f64 > 0.3 * heights_m.len() as f64, "{name}: {valid} of {}", heights_m.len());
    let (x, y) = frame.from_lon_lat(top.0, top.1).unwrap();
    let off = (sums[1] / sums[0] - x).hypot(sums[2] / sums[0] - y) / grid.posting_m;
    assert!(off < 0.2, "{name}: centre off by {off} posts in {}", frame.name);

    // Any window reads the same bits.
    for (column, row, columns, rows) in [(0, 0, 7, 5), (13, 21, 30, 3), (grid.columns / 2, grid.rows / 3, 17, 40)] {
        let window =
            PostWindow { column, row, columns: columns.min(grid.columns - column), rows: rows.min(grid.rows - row) };
        for (i, height) in read(posts.as_ref(), window).iter().enumerate() {
            let known = heights_m[(row + i / window.columns) * grid.columns + column + i % window.columns];
            assert!(known.to_bits() == height.to_bits() || known.is_nan() && height.is_nan(), "{name} {window:?} {i}");
        }
    }
}

fn turned(centre: (f64, f64), size: (usize, usize), step_m: f64, angle_deg: f64, shear: f64, stretch: f64) -> [f64; 6] {
    let (s, c) = angle_deg.to_radians().sin_cos();
    let (a, d) = (step_m * c, step_m * s);
    let (b, e) = (stretch * step_m * (s + shear * c), stretch * step_m * (-c + shear * s));
    let (w, h) = (0.5 * size.0 as f64, 0.5 * size.1 as f64);
    [centre.0 - w * a - h * b, a, b, centre.1 - w * d - h * e, d, e]
}

#[test]
fn a_hill_of_the_moon_in_every_kind_of_grid() {
    let size = (90, 80);
    let crs = "IAU_2015:30110";
    let top = (12.0, 8.0);
    let centre = Crs::parse(crs).unwrap().from_lon_lat(top.0, top.1).unwrap();
    let south_up = [centre.0 - 9000.0, 200.0, 0.0, centre.1 - 8000.0, 0.0, 200.0];
    check("south-up", &Sheet { crs, gt: south_up, size, ..Sheet::default() }, top, 0.06);
    for (name, angle, shear, stretch) in [
        ("rotated", 30.0, 0.0, 1.0),
        ("sheared", 0.0, 0.3, 1.0),
        ("anisotropic", 0.0, 0.0, 1.7),
        ("all", -50.0, 0.2, 0.8),
    ] {
        let gt = turned(centre, size, 200.0, angle, shear, stretch);
        check(name, &Sheet { crs, gt, size, ..Sheet::default() }, top, 0.06);
    }
    let geographic = [11.6, 0.009, 0.0, 8.36, 0.0, -0.009];
    check("geographic", &Sheet { crs: "IAU_2015:30100", gt: geographic, size, ..Sheet::default() }, top, 0.06);
    let beyond = [371.6, 0.009, 0.0, 8.36, 0.0, -0.009];
    check("longitudes beyond 360", &Sheet { crs: "IAU_2015:30100", gt: beyond, size, ..Sheet::default() }, top, 0.06);
}

#[test]
fn a_hill_near_the_pole_and_one_across_the_date_line() {
    let near = [40.0, 0.05, 0.0, -84.0, 0.0, -0.02];
    let sheet = Sheet { crs: "IAU_2015:30100", gt: near, size: (200, 100), ..Sheet::default() };
    check("polar", &sheet, (45.0, -85.0), 0.12);
    let across = [178.0, 0.02, 0.0, 11.0, 0.0, -0.02];
    let sheet = Sheet { crs: "IAU_2015:49900", gt: across, size: (200, 100), ..Sheet::default() };
    check("date line", &sheet, (180.0, 10.0), 0.2);
    // A whole globe with the hill on its seam.
    let globe = [0.0, 1.0, 0.0, 90.0, 0.0, -1.0];
    let sheet = Sheet { crs: "IAU_2015:30100", gt: globe, size: (360, 180), ..Sheet::default() };
    check_on_seam(&sheet);
}

fn check_on_seam(sheet: &Sheet<'_>) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("globe.tif");
    let values: Vec<f32> =
        (0..360 * 180).map(|i| hill_m((0.0, 0.0), 12.0, sheet.map(i % 360, i / 360)) as f32).collect();
    sheet.write(&path, &values);
    let crs = Crs::parse("IAU_2015:30110").unwrap();
    let grid = PostGrid { easting_m: -303_000.0, northing_m: 303_000.0, posting_m: 12_000.0, columns: 51, rows: 51 };
    let dem = open(&path);
    for (i, height) in read_all(dem.posts(&crs, grid).unwrap().as_ref()).iter().enumerate() {
        let (x, y) = (grid.easting_m + (i % 51) as f64 * 12_000.0, grid.northing_m - (i / 51) as f64 * 12_000.0);
        let expected = hill_m((0.0, 0.0), 12.0, crs.lon_lat(x, y).unwrap());
        assert!((f64::from(*height) - expected).abs() < 0.01 * RELIEF_M, "{i}: {height} {expected}");
    }
}

#[test]
fn a_hill_of_earth_in_degrees_and_in_feet() {
    let sheet =
        Sheet { crs: "EPSG:4326", gt: [9.9, 0.002, 0.0, 46.1, 0.0, -0.002], size: (100, 100), ..Sheet::default() };
    check("degrees", &sheet, (10.0, 46.0), 0.02);
    let feet = "EPSG:6529";
    let centre = Crs::parse(feet).unwrap().from_lon_lat(-106.2, 35.0).unwrap();
    let centre = (centre.0 * 3937.0 / 1200.0, centre.1 * 3937.0 / 1200.0);
    let gt = turned(centre, (90, 90), 300.0, 20.0, 0.0, 1.0);
    check("feet", &Sheet { crs: feet, gt, size: (90, 90), ..Sheet::default() }, (-106.2, 35.0), 0.02);
}

#[test]
fn a_spike_stays_on_its_metre_in_every_format() {
    let folder = tempfile::tempdir().unwrap();
    let size = (40, 30);
    let mut values = vec![0.0; size.0 * size.1];
    values[12 * 40 + 17] = 50.0;
    let gt = [100_000.0, 25.0, 0.0, 50_000.0, 0.0, -25.0];
    for (name, driver, point) in [
        ("area.tif", "GTiff", false),
        ("point.tif", "GTiff", true),
        ("a.xml", "PDS4", false),
        ("a.cub", "ISIS3", false),
    ] {
        let path = folder.path().join(name);
        Sheet { driver, gt, size, point, ..Sheet::default() }.write(&path, &values);
        let dem = open(&path);
        let grid = dem.native_grid().unwrap_or_else(|| panic!("{name}: {:?}", dem.why_warped()));
        let heights_m = read_all(dem.posts(&dem.crs, grid).unwrap().as_ref());
        let spike = heights_m.iter().position(|height| *height == 50.0).unwrap();
        let x = grid.easting_m + (spike % 40) as f64 * grid.posting_m;
        let y = grid.northing_m - (spike / 40) as f64 * grid.posting_m;
        assert!((x - 100_437.5).abs() < 1e-3 && (y - 49_687.5).abs() < 1e-3, "{name}: {x} {y}");
    }
}

#[test]
fn a_crop_is_read_as_it_is_and_a_shifted_grid_is_not() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("dem.tif");
    let values: Vec<f32> = (0..64 * 64).map(|i| ((i * 37) % 101) as f32).collect();
    Sheet { size: (64, 64), ..Sheet::default() }.write(&path, &values);
    let dem = open(&path);
    let native = dem.native_grid().unwrap();
    let crop = PostGrid {
        easting_m: native.easting_m + 100.0,
        northing_m: native.northing_m - 50.0,
        columns: 20,
        rows: 30,
        ..native
    };
    let posts = dem.posts(&dem.crs, crop).unwrap();
    let heights_m = read_all(posts.as_ref());
    assert_eq!((heights_m[0], heights_m[599]), (values[5 * 64 + 10], values[34 * 64 + 29]));
    // Beyond the raster there are holes, at its posts the same heights.
    let wide = PostGrid { easting_m: native.easting_m - 20.0, columns: 68, ..native };
    let heights_m = read_all(dem.posts(&dem.crs, wide).unwrap().as_ref());
    assert!(heights_m[1].is_nan() && heights_m[66].is_nan());
    assert_eq!((heights_m[2], heights_m[65]), (values[0], values[63]));
}

#[test]
fn no_sentinel_enters_a_height() {
    let folder = tempfile::tempdir().unwrap();
    let size = (60, 60);
    for (name, sentinel, nodata, settings) in [
        ("a.tif", -3.4e38_f32, None, RasterSettings::default()),
        ("b.tif", 9999.0, Some(9999.0), RasterSettings::default()),
        ("c.tif", f32::NAN, None, RasterSettings::default()),
        ("d.tif", 9999.0, None, RasterSettings { valid_range_m: Some([-100.0, 500.0]), ..RasterSettings::default() }),
        ("e.tif", -9999.0, None, RasterSettings { nodata: Some(-9999.0), ..RasterSettings::default() }),
        ("f.tif", f32::INFINITY, None, RasterSettings::default()),
        ("g.tif", 1.0e9, None, RasterSettings::default()),
    ] {
        let path = folder.path().join(name);
        let values: Vec<f32> =
            (0..3600).map(|i| if i * 7919 % 31 == 0 || i == 1800 { sentinel } else { 120.0 }).collect();
        Sheet { size, nodata, gt: turned((0.0, 0.0), size, 10.0, 17.0, 0.0, 1.0), ..Sheet::default() }
            .write(&path, &values);
        let dem = open_with(&path, &settings).unwrap();
        assert_eq!(dem.sample_range_m, Some((120.0, 120.0)), "{name}");
        let (crs, grid) = dem.natural_frame().unwrap();
        let coarse = dem.grid_in(&crs, Some(35.0)).unwrap();
        for grid in [grid, coarse] {
            let heights_m = read_all(dem.posts(&crs, grid).unwrap().as_ref());
            assert!(heights_m.iter().any(|height| !height.is_nan()), "{name}");
            for height in heights_m.iter().filter(|height| !height.is_nan()) {
                assert!((height - 120.0).abs() < 1e-3, "{name}: {height}");
            }
        }
    }
}

#[test]
fn thinning_takes_the_mean_of_what_a_post_covers() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("dem.tif");
    // Stripes of one post: every tenth post would see one colour only.
    let values: Vec<f32> = (0..200 * 200).map(|i| if i % 200 % 2 == 0 { 0.0 } else { 10.0 }).collect();
    Sheet { size: (200, 200), ..Sheet::default() }.write(&path, &values);
    let dem = open(&path);
    let grid = dem.grid_in(&dem.crs, Some(100.0)).unwrap();
    assert_eq!((grid.columns, grid.rows), (20, 20));
    for height in read_all(dem.posts(&dem.crs, grid).unwrap().as_ref()) {
        assert!((height - 5.0).abs() < 1e-5, "{height}");
    }
}

#[test]
fn filling_closes_small_holes_of_a_warped_grid_and_marks_them() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("dem.tif");
    let mut values = vec![30.0_f32; 50 * 50];
    values[25 * 50 + 25] = f32::NAN;
    let size = (50, 50);
    Sheet { size, gt: turned((0.0, 0.0), size, 10.0, 10.0, 0.0, 1.0), ..Sheet::default() }.write(&path, &values);
    let plain = open(&path);
    let filled = open_with(&path, &RasterSettings { fill_within_m: Some(60.0), ..RasterSettings::default() }).unwrap();
    assert_ne!(plain.key, filled.key);
    let (crs, grid) = plain.natural_frame().unwrap();
    let (a, b) = (plain.posts(&crs, grid).unwrap(), filled.posts(&crs, grid).unwrap());
    let window = PostWindow { column: grid.columns / 2 - 5, row: grid.rows / 2 - 5, columns: 10, rows: 10 };
    let (before, after) = (read(a.as_ref(), window), read(b.as_ref(), window));
    assert!(before.iter().any(|height| height.is_nan()) && after.iter().all(|height| *height == 30.0));
    let mut marks = vec![false; window.len()];
    b.read_filled(window, &mut marks).unwrap();
    assert!(before.iter().zip(&marks).all(|(height, filled)| height.is_nan() == *filled));
    assert!(a.is_all_measured() && !b.is_all_measured());
}

#[test]
fn flipped_and_transposed_grids_lose_no_post() {
    let values: Vec<f32> = (0..7 * 5).map(|k| (k * k % 31) as f32).collect();
    let folder = tempfile::tempdir().unwrap();
    for (name, gt) in [
        ("south up", [500.0, 10.0, 0.0, 100.0, 0.0, 10.0]),
        ("east flipped", [500.0, -10.0, 0.0, 100.0, 0.0, -10.0]),
        ("transposed", [500.0, 0.0, 10.0, 100.0, 10.0, 0.0]),
    ] {
        let path = folder.path().join(format!("{name}.tif"));
        Sheet { gt, size: (7, 5), ..Sheet::default() }.write(&path, &values);
        let dem = open(&path);
        let (frame, grid) = dem.natural_frame().unwrap();
        assert_eq!(grid.columns * grid.rows, 35, "{name}");
        let mut found: Vec<f32> = read_all(dem.posts(&frame, grid).unwrap().as_ref());
        let mut expected = values.clone();
        found.sort_by(f32::total_cmp);
        expected.sort_by(f32::total_cmp);
        let off = found.iter().zip(&expected).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max);
        assert!(off < 1e-4 && !found.iter().any(|height| height.is_nan()), "{name}: {off} {found:?}");
    }
}
