//! Measured rasters open with the values that their descriptions state.

#![allow(clippy::unwrap_used, clippy::panic)]

mod common;

use common::{data, open, open_with, read, read_all, whole};
use terrane_core::{PostWindow, Quiet, RasterSettings};
use terrane_geo::{Crs, DemFile, GeoError, PostGrid};

fn range(dem: &DemFile) -> (f32, f32) {
    dem.statistics(&Quiet).unwrap().range_m.unwrap()
}

/// The height nearest to a map point.
fn nearest(dem: &DemFile, easting_m: f64, northing_m: f64) -> f32 {
    let grid = dem.native_grid().unwrap();
    let (column, row) = grid.column_row(easting_m, northing_m);
    let window = PostWindow { column: column.round() as usize, row: row.round() as usize, columns: 1, rows: 1 };
    read(dem.posts(&dem.crs, grid).unwrap().as_ref(), window)[0]
}

fn correlation(a: &[f32], b: &[f32]) -> f64 {
    let pairs: Vec<(f64, f64)> = a
        .iter()
        .zip(b)
        .filter(|(a, b)| !(a.is_nan() || b.is_nan()))
        .map(|(a, b)| (f64::from(*a), f64::from(*b)))
        .collect();
    let n = pairs.len() as f64;
    let (ma, mb) = (pairs.iter().map(|p| p.0).sum::<f64>() / n, pairs.iter().map(|p| p.1).sum::<f64>() / n);
    let sum = |f: &dyn Fn(&(f64, f64)) -> f64| pairs.iter().map(f).sum::<f64>();
    let ab = sum(&|p| (p.0 - ma) * (p.1 - mb));
    ab / (sum(&|p| (p.0 - ma).powi(2)) * sum(&|p| (p.1 - mb).powi(2))).sqrt()
}

#[test]
fn heights_are_what_the_descriptions_state() {
    let known: &[(&str, f32, f32)] = &[
        ("moon-global/LDEM_4.LBL", -8878.5, 10504.0),
        ("moon-global/LDEM_4.IMG", -8878.5, 10504.0),
        ("moon-global/ldem_4.cub", -8878.5, 10504.0),
        ("mars-global/megt90n000cb.lbl", -8068.0, 21134.0),
        ("mars-global/megt90n000cb.img", -8068.0, 21134.0),
        ("earth-st-helens/SainteHelens.dem", 682.0, 2543.0),
        ("earth-st-helens/st_helens_65x65_nodata_nonsquare.tif", 682.0, 2932.0),
        ("earth-st-helens/st_helens_53x75_nan.nc", 682.0, 2932.0),
        ("earth-srtm/N44W072.hgt", 115.0, 1908.0),
        ("earth-srtm/S16E166.hgt.zip", -1.0, 1838.0),
        ("nasty/n43.dt0", 75.0, 460.0),
        ("nasty/n43_point.tif", 75.0, 460.0),
    ];
    for (name, low, high) in known {
        let Some(path) = data(name) else { continue };
        assert_eq!(range(&open(&path)), (*low, *high), "{name}");
    }
}

#[test]
fn every_file_opens_and_is_placed_or_says_what_is_missing() {
    let Some(root) = data("") else { return };
    let (mut opened, mut refused) = (0, Vec::new());
    for folder in std::fs::read_dir(&root).unwrap().flatten().filter(|entry| entry.path().is_dir()) {
        for file in std::fs::read_dir(folder.path()).unwrap().flatten() {
            let name = file.file_name().to_string_lossy().into_owned();
            match open_with(&file.path(), &RasterSettings::default()) {
                Ok(dem) => {
                    let (crs, grid) = dem.natural_frame().unwrap_or_else(|error| panic!("{name}: {error}"));
                    let posts = dem.posts(&crs, grid).unwrap();
                    let middle = PostWindow { column: grid.columns / 2, row: grid.rows / 2, columns: 1, rows: 1 };
                    read(posts.as_ref(), middle);
                    assert!(dem.sample_range_m.is_some(), "{name}");
                    assert_eq!(dem.native_grid().is_none(), dem.why_warped().is_some(), "{name}");
                    opened += 1;
                }
                Err(error) => {
                    let said = error.diagnostic();
                    assert!(!said.help.is_empty() && said.place.file.is_some(), "{name}: {said}");
                    refused.push((name, said.code));
                }
            }
        }
    }
    refused.sort();
    let refused: Vec<(&str, &str)> = refused.iter().map(|(name, code)| (name.as_str(), code.as_str())).collect();
    let expected = [
        ("LROC_WAC_4ppd.tif", "raster-no-crs"),
        ("NAC_DTM_APOLLO15_E261N0036_257x257_7472_2152.png", "raster-no-crs"),
        ("SRTMGL3_boulder.asc", "raster-no-crs"),
        ("byte_gcp_pixelispoint.tif", "raster-no-crs"),
        ("hugo_site.asc", "raster-no-crs"),
        ("isis3_geotiff.tif", "raster-no-crs"),
        ("jacksboro_fault_dem.npz", "raster-unreadable"),
        ("west_bijou_gully.asc", "raster-no-crs"),
        ("zh_dem_25_nocrs.tif", "raster-no-crs"),
    ];
    assert_eq!(refused, expected);
    assert_eq!(opened + refused.len(), 71);
}

#[test]
fn longitudes_from_0_to_360_meet_those_from_minus_180() {
    let (Some(ldem), Some(lola)) = (data("moon-global/LDEM_4.LBL"), data("moon-global/lola_dem_1024x512_iau2015.tif"))
    else {
        return;
    };
    let (ldem, lola) = (open(&ldem), open(&lola));
    let grid = ldem.native_grid().unwrap();
    let here = read_all(ldem.posts(&ldem.crs, grid).unwrap().as_ref());
    let there = read_all(lola.posts(&ldem.crs, grid).unwrap().as_ref());
    assert!(there.iter().all(|height| !height.is_nan()), "no hole at the seam or at the poles");
    assert!(correlation(&here, &there) > 0.99, "{}", correlation(&here, &there));
    let rolled: Vec<f32> = (0..here.len()).map(|i| here[i / 1440 * 1440 + (i + 720) % 1440]).collect();
    assert!(correlation(&rolled, &there) < 0.0);
}

#[test]
fn a_global_grid_gives_the_pole_without_a_hole() {
    let Some(lola) = data("moon-global/lola_dem_1024x512_iau2015.tif") else { return };
    let lola = open(&lola);
    let polar = Crs::parse("IAU_2015:30135").unwrap();
    let covering = lola.grid_in(&polar, Some(20_000.0)).unwrap();
    assert!(covering.columns < 1000, "{covering:?}");
    let grid = PostGrid { easting_m: -50_000.0, northing_m: 50_000.0, posting_m: 2000.0, columns: 51, rows: 51 };
    let heights_m = read_all(lola.posts(&polar, grid).unwrap().as_ref());
    assert!(heights_m.iter().all(|height| !height.is_nan()));
}

#[test]
fn an_undeclared_scale_is_set_and_agrees_with_the_finer_tile() {
    let (Some(wide), Some(tile)) = (
        data("moon-south-pole/LRO_LOLA_resize_spole_296m.tif"),
        data("moon-south-pole/Shoemaker_final_adj_5mpp_surf_1k.tif"),
    ) else {
        return;
    };
    assert_eq!(nearest(&open(&wide), 75_500.0, 39_000.0), 1124.0);
    let settings = RasterSettings { scale: Some(0.5), ..RasterSettings::default() };
    let wide = open_with(&wide, &settings).unwrap();
    let tile = nearest(&open(&tile), 75_500.0, 39_000.0);
    assert!((tile - 566.7).abs() < 0.1, "{tile}");
    assert!((nearest(&wide, 75_500.0, 39_000.0) - tile).abs() < 10.0);
    assert_eq!(wide.height_quantum_m, Some(0.5));
}

#[test]
fn one_place_of_gale_in_two_rasters() {
    let (Some(ctx), Some(hirise)) = (
        data("mars-gale/B01_009861_1753_XI_04S222W__B06_011984_1754_XN_04S222W-DEM-geoid-adj.tif"),
        data("mars-gale/gale_hirise_dtm_1m.tif"),
    ) else {
        return;
    };
    let (ctx, hirise) = (open(&ctx), open(&hirise));
    let grid = hirise.native_grid().unwrap();
    let (fine, coarse) = (
        read_all(hirise.posts(&hirise.crs, grid).unwrap().as_ref()),
        read_all(ctx.posts(&hirise.crs, grid).unwrap().as_ref()),
    );
    assert!(coarse.iter().all(|height| !height.is_nan()));
    let middle = grid.rows / 2 * grid.columns + grid.columns / 2;
    let higher = coarse[middle] - fine[middle];
    assert!((higher - 9.5).abs() < 0.5, "{higher}");
}

#[test]
fn two_vertical_datums_of_one_grid_differ() {
    let name = "mars-ctx-g05/B01_009847_1902_XN_10N203W__G05_020185_1892_XN_09N203W-DEM";
    let (Some(sphere), Some(areoid)) = (data(&format!("{name}.tif")), data(&format!("{name}-geoid-adj.tif"))) else {
        return;
    };
    let (sphere, areoid) = (open(&sphere), open(&areoid));
    assert_eq!((&sphere.crs, sphere.native_grid()), (&areoid.crs, areoid.native_grid()));
    let (a, b) = (read_all(sphere.raw_posts().as_ref()), read_all(areoid.raw_posts().as_ref()));
    let off: Vec<f32> = a.iter().zip(&b).filter(|(a, b)| !(a.is_nan() || b.is_nan())).map(|(a, b)| b - a).collect();
    let mean = off.iter().sum::<f32>() / off.len() as f32;
    assert!((mean - 1178.0).abs() < 2.0, "{mean}");
}

#[test]
fn area_and_point_are_half_a_post_apart() {
    let origin = |name: &str| data(name).map(|path| open(&path).info.geotransform.unwrap());
    for kind in ["model_tie_point_and_pixel_scale", "model_transformation", "model_tie_points"] {
        let (Some(area), Some(point)) = (
            origin(&format!("nasty/austrian_capitals_{kind}_pixel_is_area.tif")),
            origin(&format!("nasty/austrian_capitals_{kind}_pixel_is_point.tif")),
        ) else {
            return;
        };
        assert!(
            (area[0] - 4_302_000.0).abs() < 1e-3 && (point[0] - 4_301_500.0).abs() < 1e-3,
            "{kind} {area:?} {point:?}"
        );
    }
    assert_eq!(origin("nasty/byte_point.tif").unwrap()[0], 440_690.0);
    for name in ["nasty/n43.dt0", "nasty/n43_point.tif"] {
        let gt = origin(name).unwrap();
        assert!((gt[0] + 80.0041667).abs() < 1e-6 && (gt[3] - 44.0041667).abs() < 1e-6, "{name}");
    }
    let (dted, tiff) = (open(&data("nasty/n43.dt0").unwrap()), open(&data("nasty/n43_point.tif").unwrap()));
    assert_eq!(read_all(dted.raw_posts().as_ref()), read_all(tiff.raw_posts().as_ref()));
    assert!((dted.post_lon_lat(0.0, 0.0).unwrap().0 + 80.0).abs() < 1e-9);
}

#[test]
fn units_vertical_datums_and_frames_are_carried() {
    if let Some(path) = data("nasty/vertical_navd88_usft_1px.tif") {
        let dem = open(&path);
        assert_eq!(dem.info.vertical_datum.as_deref(), Some("NAVD88 height (ftUS)"));
        assert!(!dem.info.vertical_datum_applied && dem.notes.iter().any(|note| note.detail.contains("not applied")));
        assert!((dem.native_grid().unwrap().posting_m - 2.0 * 1200.0 / 3937.0).abs() < 1e-6);
        let feet = open_with(&path, &RasterSettings { unit: Some("m".into()), ..RasterSettings::default() }).unwrap();
        let ratio = range(&feet).0 / range(&dem).0;
        assert!((f64::from(ratio) - 3937.0 / 1200.0).abs() < 1e-5, "{ratio}");
        assert_ne!(feet.key, dem.key);
    }
    if let Some(path) = data("nasty/vertical_egm08_compound.tif") {
        let dem = open(&path);
        assert_eq!(dem.info.vertical_datum.as_deref(), Some("EGM08_Geoid"));
        assert_eq!(dem.crs.name, "WGS 84 / UTM zone 32N");
    }
    if let Some(path) = data("moon-global/LDEM_4.LBL") {
        assert_eq!(open(&path).info.body_frame.as_deref(), Some("MEAN EARTH/POLAR AXIS OF DE421"));
        let settings = RasterSettings { body_frame: Some("MOON_ME".into()), ..RasterSettings::default() };
        let dem = open_with(&path, &settings).unwrap();
        assert_eq!((dem.info.body_frame.as_deref(), dem.key), (Some("MOON_ME"), open(&path).key));
    }
}

#[test]
fn special_pixels_and_radii_of_vesta() {
    let Some(path) = data("small-bodies/vesta_dtm_5km_specialpixels.cub") else { return };
    let dem = open(&path);
    let found = dem.statistics(&Quiet).unwrap();
    let share = found.valid as f64 / found.posts as f64;
    assert!((share - 0.23).abs() < 0.01, "{share}");
    let (low, high) = found.range_m.unwrap();
    assert!(low > -78_000.0 && high < 4000.0, "{low} {high}");
    assert!(dem.notes.iter().any(|note| note.code == "raster-radius"));
}

#[test]
fn corners_and_middles_are_where_proj_puts_them() {
    for name in [
        "moon-south-pole/LRO_LOLA_resize_spole_296m.tif",
        "moon-south-pole/Shoemaker_final_adj_5mpp_surf_1k.tif",
        "moon-global/LDEM_4.LBL",
        "mars-gale/gale_hirise_dtm_1m.tif",
        "earth-bigtujunga/bigtujunga.tif",
        "earth-vestfold-antarctica/vestfold.tif",
        "nasty/oblique_cylindrical.xml",
        "nasty/rotated_geomatrix_point.tif",
        "nasty/vertical_navd88_usft_1px.tif",
        "small-bodies/europa_cog_bigtiff.tif",
    ] {
        let Some(path) = data(name) else { continue };
        let dem = open(&path);
        let (gt, outline) = (dem.info.geotransform.unwrap(), dem.outline_lon_lat().unwrap());
        let (w, h) = (dem.info.columns as f64, dem.info.rows as f64);
        let points = [(0.0, 0.0), (w, 0.0), (w, h), (0.0, h), (0.5 * w, 0.5 * h)];
        let maps = points.map(|(c, r)| (gt[0] + c * gt[1] + r * gt[2], gt[3] + c * gt[4] + r * gt[5]));
        let Some(expected) = by_gdaltransform(&dem.crs, &maps) else { return };
        let found: Vec<_> = outline.corners.into_iter().chain([outline.centre]).collect();
        for (found, expected) in found.iter().zip(&expected) {
            let Some(found) = found else { panic!("{name}: no place, expected {expected:?}") };
            // The label of LDEM_4 rounds: its edge lies 28 millionths beyond.
            let expected = (expected.0, expected.1.clamp(-90.0, 90.0));
            let turn = (found.0 - expected.0) / 360.0;
            // At a pole longitude means nothing.
            let lon_off = if expected.1.abs() > 89.999_999 { 0.0 } else { 360.0 * (turn - turn.round()).abs() };
            assert!(lon_off < 1e-9 && (found.1 - expected.1).abs() < 1e-9, "{name}: {found:?} {expected:?}");
        }
    }
}

/// Longitudes and latitudes by GDAL's own program, `None` where it is missing.
fn by_gdaltransform(crs: &Crs, points: &[(f64, f64)]) -> Option<Vec<(f64, f64)>> {
    use std::io::Write;
    let geographic = format!("+proj=longlat +a={} +b={} +no_defs", crs.body.semi_major_m, crs.body.semi_minor_m);
    let program = std::process::Command::new("gdaltransform")
        .args(["-s_srs", crs.wkt(), "-t_srs", &geographic, "-output_xy"])
        .stdin(std::process::Stdio::piped())
        .stdout(std::process::Stdio::piped())
        .spawn();
    let Ok(mut program) = program else {
        println!("skipped: gdaltransform is not there");
        return None;
    };
    let text: String = points.iter().map(|(x, y)| format!("{x:.17e} {y:.17e}\n")).collect();
    program.stdin.take().unwrap().write_all(text.as_bytes()).unwrap();
    let output = program.wait_with_output().unwrap();
    let numbers: Vec<f64> =
        String::from_utf8(output.stdout).unwrap().split_whitespace().map(|number| number.parse().unwrap()).collect();
    Some(numbers.chunks_exact(2).map(|pair| (pair[0], pair[1])).collect())
}

#[test]
fn map_coordinates_come_back_within_a_millimetre() {
    for name in [
        "moon-south-pole/LRO_LOLA_resize_spole_296m.tif",
        "earth-bigtujunga/bigtujunga.tif",
        "earth-swiss-alps/swiss_lv95_2.5m_cog.tif",
        "earth-srtm/N44W072.hgt",
        "moon-global/lola_dem_1024x512_iau2015.tif",
        "nasty/vertical_navd88_usft_1px.tif",
    ] {
        let Some(path) = data(name) else { continue };
        let (crs, grid) = open(&path).natural_frame().unwrap();
        let (easting_m, northing_m) = grid.centre_m();
        for (dx, dy) in [(0.0, 0.0), (50_000.0, 0.0), (-35_000.0, 35_000.0), (0.0, -50_000.0)] {
            let (lon, lat) = crs.lon_lat(easting_m + dx, northing_m + dy).unwrap();
            let (x, y) = crs.from_lon_lat(lon, lat).unwrap();
            assert!((x - easting_m - dx).hypot(y - northing_m - dy) < 1e-3, "{name}");
        }
    }
}

#[test]
fn a_raster_without_a_crs_names_what_is_missing() {
    let Some(path) = data("earth-small/west_bijou_gully.asc") else { return };
    assert!(matches!(open_with(&path, &RasterSettings::default()), Err(GeoError::NoCrs { .. })));
    let settings = RasterSettings { crs: Some("EPSG:32613".into()), ..RasterSettings::default() };
    let dem = open_with(&path, &settings).unwrap();
    assert_eq!(dem.native_grid().unwrap().posting_m, 3.0);
    assert_eq!(whole(dem.raw_posts().as_ref()).len(), 43 * 89);
}
