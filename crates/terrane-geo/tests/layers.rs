//! Raster layers: the right value at the right place, and never a mixed class.

#![allow(clippy::unwrap_used)]

use std::path::{Path, PathBuf};
use terrane_core::{PostWindow, Quiet, RasterSettings};
use terrane_geo::{Crs, DemFile, GeoError, GeotiffValues, LayerFile, LayerKind, OpenOptions, PostGrid, write_geotiff};

fn open(path: &Path, kind: Option<LayerKind>) -> LayerFile {
    LayerFile::open(&path.into(), &RasterSettings::default(), kind, &OpenOptions::default(), &Quiet).unwrap()
}

fn all(layer: &LayerFile, band: usize, crs: &Crs, grid: PostGrid) -> Vec<f32> {
    let mut values = vec![0.0; grid.columns * grid.rows];
    let window = PostWindow { column: 0, row: 0, columns: grid.columns, rows: grid.rows };
    layer.band(band, crs, grid).unwrap().read(window, &mut values).unwrap();
    values
}

fn data(name: &str) -> Option<PathBuf> {
    let root = std::env::var_os("TERRANE_DATA").map_or("../../../shared/data".into(), PathBuf::from);
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(root).join("dem").join(name);
    if !path.exists() {
        println!("skipped: {} is not here", path.display());
    }
    path.canonicalize().ok()
}

/// Classes in a checker of 40 m squares, 2 m pixels, on the Moon's equator.
fn checker(path: &Path) -> (Crs, PostGrid) {
    let crs = Crs::parse("IAU_2015:30110").unwrap();
    let grid = PostGrid { easting_m: 1.0, northing_m: -1.0, posting_m: 2.0, columns: 200, rows: 200 };
    let class = |k: usize| [3_u8, 17, 90, 200][(k % 200 / 20 + k / 200 / 20) % 4];
    let values: Vec<u8> = (0..200 * 200).map(class).collect();
    write_geotiff(path, &crs, &grid, GeotiffValues::Byte(&values), false).unwrap();
    (crs, grid)
}

#[test]
fn classes_stay_classes_and_their_edges_lie_where_the_pixels_end() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("classes.tif");
    let (crs, _) = checker(&path);
    let layer = open(&path, Some(LayerKind::Classes));
    // Half-metre posts at odd places: edges lie at multiples of 40 m.
    let grid = PostGrid { easting_m: 20.3, northing_m: -20.3, posting_m: 0.5, columns: 600, rows: 600 };
    for (k, value) in all(&layer, 1, &crs, grid).iter().enumerate() {
        let (x, y) = (20.3 + (k % 600) as f64 * 0.5, 20.3 + (k / 600) as f64 * 0.5);
        let square = (x / 40.0) as usize + (y / 40.0) as usize;
        assert_eq!(*value, [3.0, 17.0, 90.0, 200.0][square % 4], "{x} {y}");
    }
    // In another map, and thinned, there are still only these.
    let other = Crs::parse("+proj=tmerc +lon_0=0.005 +lat_0=0 +R=1737400 +units=m").unwrap();
    let thin = PostGrid { easting_m: -100.0, northing_m: -10.0, posting_m: 7.0, columns: 30, rows: 30 };
    let values = all(&layer, 1, &other, thin);
    assert!(values.iter().all(|v| v.is_nan() || [3.0, 17.0, 90.0, 200.0].contains(v)));
    assert!(values.iter().filter(|v| !v.is_nan()).count() > 500);
}

#[test]
fn quantities_are_averaged_where_they_are_thinned_and_holes_do_not_bleed() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("scalar.tif");
    let crs = Crs::parse("IAU_2015:30110").unwrap();
    let grid = PostGrid { easting_m: 0.5, northing_m: -0.5, posting_m: 1.0, columns: 160, rows: 160 };
    let value = |k: usize| match (k % 160, k / 160) {
        (c, _) if c >= 120 => f32::NAN,
        (c, r) => 5.0e6 + if (c + r) % 2 == 0 { 10.0 } else { -10.0 },
    };
    let values: Vec<f32> = (0..160 * 160).map(value).collect();
    write_geotiff(&path, &crs, &grid, GeotiffValues::Float(&values), false).unwrap();
    let layer = open(&path, None);
    assert_eq!(layer.kind, LayerKind::Scalar);
    let thin = PostGrid { easting_m: 4.0, northing_m: -4.0, posting_m: 8.0, columns: 20, rows: 20 };
    for (k, value) in all(&layer, 1, &crs, thin).iter().enumerate() {
        match k % 20 {
            15.. => assert!(value.is_nan(), "{k}"),
            _ => assert!((value - 5.0e6).abs() < 1.0, "{k}: {value}"),
        }
    }
    // Windows do not matter.
    let fine = PostGrid { easting_m: 3.3, northing_m: -7.1, posting_m: 0.7, columns: 100, rows: 90 };
    let whole = all(&layer, 1, &crs, fine);
    let posts = layer.band(1, &crs, fine).unwrap();
    let mut part = vec![0.0; 33 * 21];
    posts.read(PostWindow { column: 41, row: 17, columns: 33, rows: 21 }, &mut part).unwrap();
    for (k, value) in part.iter().enumerate() {
        assert_eq!(value.to_bits(), whole[(17 + k / 33) * 100 + 41 + k % 33].to_bits());
    }
}

#[test]
fn a_layer_that_lies_elsewhere_is_an_error_that_shows_both() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("classes.tif");
    let (crs, grid) = checker(&path);
    let layer = open(&path, None);
    assert_eq!(layer.footprint(&crs, grid).unwrap().covered_share, 1.0);
    let half = PostGrid { easting_m: grid.easting_m + 200.0, ..grid };
    let found = layer.footprint(&crs, half).unwrap();
    assert!((found.covered_share - 0.5).abs() < 0.02 && (found.inside_share - 0.5).abs() < 0.02, "{found:?}");
    let far = PostGrid { easting_m: grid.easting_m + 50_000.0, ..grid };
    let error = layer.footprint(&crs, far).unwrap_err();
    assert!(matches!(error, GeoError::NoOverlap { .. }));
    let said = error.to_string();
    assert!(said.contains("E 1.0 to 399.0") && said.contains("E 50001.0 to 50399.0"), "{said}");
}

#[test]
fn measured_layers_agree_with_their_sites() {
    let dem = |name: &str| {
        let path = data(name)?;
        let options = OpenOptions::default();
        let file = DemFile::open(&path.as_path().into(), &RasterSettings::default(), &options, &Quiet).unwrap();
        Some(file.natural_frame().unwrap())
    };
    if let (Some((crs, grid)), Some(ortho)) =
        (dem("mars-gale/gale_hirise_dtm_1m.tif"), data("mars-gale/gale_hirise_ortho_0.64m.tif"))
    {
        let layer = open(&ortho, None);
        assert_eq!((layer.kind, layer.bands), (LayerKind::Colour, 1), "grey and alpha");
        let found = layer.footprint(&crs, grid).unwrap();
        println!("gale ortho over its DTM: {found:?}");
        // 324.5 m of 347 m by 336 m.
        assert!((found.covered_share - 0.90).abs() < 0.03 && found.inside_share == 1.0);
    }
    if let (Some((crs, grid)), Some(wac)) =
        (dem("moon-global/lola_dem_1024x512_iau2015.tif"), data("moon-global/lroc_wac_1024x512_iau2015.tif"))
    {
        // The same grid, so that both are sampled at the same places.
        let layer = open(&wac, Some(LayerKind::Classes));
        let found = layer.footprint(&crs, grid).unwrap();
        println!("WAC over LOLA: {found:?}");
        assert!(found.covered_share > 0.95);
        let values = all(&layer, 1, &crs, grid);
        assert!(values.iter().filter(|v| !v.is_nan()).all(|v| v.fract() == 0.0 && (1.0..=255.0).contains(v)));
    }
    if let (Some((crs, grid)), Some(wac)) =
        (dem("mars-gale/gale_hirise_dtm_1m.tif"), data("moon-global/lroc_wac_1024x512_iau2015.tif"))
    {
        let refused = open(&wac, None).footprint(&crs, grid).unwrap_err();
        assert!(refused.to_string().contains("Mars"), "{refused}");
    }
}
