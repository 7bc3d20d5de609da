//! Files that are whole or absent.

use super::*;
use crate::raster_info;
use std::path::PathBuf;
use tempfile::TempDir;
use terrane_core::{Quiet, RasterSettings};

const COLUMNS: usize = 300;
const ROWS: usize = 520;

fn grid() -> PostGrid {
    PostGrid { easting_m: 1000.0, northing_m: 2000.0, posting_m: 2.5, columns: COLUMNS, rows: ROWS }
}

fn crs() -> Crs {
    Crs::parse("IAU_2015:30135").unwrap()
}

fn folder() -> (TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("map.tif");
    (folder, path)
}

fn names(folder: &TempDir) -> Vec<String> {
    let entries = std::fs::read_dir(folder.path()).unwrap();
    let mut names: Vec<String> = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

fn band(name: &str) -> GeotiffBand {
    GeotiffBand { name: name.into(), description: "what & why <\"x\">".into(), unit: "metre".into() }
}

/// Noise with holes, different in every band; a block row of nothing but holes at the end.
fn noise(band: usize) -> Vec<f32> {
    let value = |k: usize| (k.wrapping_mul(2_654_435_761).wrapping_add(band * 977) % 100_003) as f32 * 0.013;
    (0..COLUMNS * ROWS).map(|k| if k % 17 == band || k / COLUMNS >= 512 { f32::NAN } else { value(k) }).collect()
}

fn read(path: &Path, band: usize) -> Vec<f32> {
    Dataset::open(path).unwrap().rasterband(band + 1).unwrap().read_band_as::<f32>().unwrap().data().to_vec()
}

fn bits(values: &[f32]) -> Vec<u32> {
    values.iter().map(|value| value.to_bits()).collect()
}

/// Hands over rows in portions that fit no block.
fn write_all(writer: &mut GeotiffWriter, bands: usize) {
    for first in (0..ROWS).step_by(37) {
        for band in 0..bands {
            let values = &noise(band)[first * COLUMNS..ROWS.min(first + 37) * COLUMNS];
            writer.write_rows(band, first, values).unwrap();
        }
    }
}

#[test]
fn many_bands_come_back_bit_for_bit_with_their_names_units_and_metadata() {
    for (compression, cloud_optimized) in [
        (Compression::Deflate, false),
        (Compression::Zstd, false),
        (Compression::None, false),
        (Compression::Deflate, true),
    ] {
        let (folder, path) = folder();
        let bands: Vec<_> = (0..5).map(|n| band(&format!("band {n}"))).collect();
        let metadata = vec![("TERRANE_RULE".to_owned(), "a & b".to_owned())];
        let options = GeotiffOptions { metadata, compression, cloud_optimized, ..GeotiffOptions::floats(bands) };
        let mut writer = GeotiffWriter::create(&path, &crs(), &grid(), options).unwrap();
        assert_eq!(names(&folder).len(), 1);
        write_all(&mut writer, 5);
        writer.finish(&Quiet).unwrap();
        assert_eq!(names(&folder), ["map.tif"]);
        let dataset = Dataset::open(&path).unwrap();
        assert_eq!(dataset.metadata_item("TERRANE_RULE", "").as_deref(), Some("a & b"));
        assert_eq!(dataset.metadata_item("AREA_OR_POINT", "").as_deref(), Some("Point"));
        let layout = dataset.metadata_item("LAYOUT", "IMAGE_STRUCTURE");
        assert_eq!(layout.as_deref(), cloud_optimized.then_some("COG"));
        for n in 0..5 {
            let read_band = dataset.rasterband(n + 1).unwrap();
            assert_eq!(read_band.description().unwrap(), format!("band {n}"));
            assert_eq!(read_band.metadata_item("definition", "").as_deref(), Some("what & why <\"x\">"));
            assert_eq!(read_band.unit(), "metre");
            assert!(read_band.no_data_value().unwrap().is_nan());
            // Every block is in the file, also one of nothing but holes.
            assert!(read_band.metadata_item("BLOCK_OFFSET_0_2", "TIFF").is_some() || cloud_optimized);
            assert_eq!(bits(&read(&path, n)), bits(&noise(n)), "{compression:?} {n}");
        }
    }
}

#[test]
fn posts_lie_where_write_geotiff_puts_them_whether_points_or_areas() {
    let (folder, path) = folder();
    let at_once = folder.path().join("at-once.tif");
    for code in ["IAU_2015:30135", "EPSG:2229"] {
        let crs = Crs::parse(code).unwrap();
        for point in [true, false] {
            let options = GeotiffOptions { point, ..GeotiffOptions::floats(vec![band("a")]) };
            let mut writer = GeotiffWriter::create(&path, &crs, &grid(), options).unwrap();
            write_all(&mut writer, 1);
            writer.finish(&Quiet).unwrap();
            write_geotiff(&at_once, &crs, &grid(), GeotiffValues::Float(&noise(0)), point).unwrap();
            let info = |path: &Path| raster_info(path, &RasterSettings::default()).unwrap();
            let (streamed, at_once) = (info(&path), info(&at_once));
            assert_eq!(streamed.geotransform, at_once.geotransform, "{code} {point}");
            assert_eq!(streamed.crs, at_once.crs);
            assert_eq!(streamed.area_or_point, at_once.area_or_point);
        }
    }
}

#[test]
fn bytes_are_kept_and_other_numbers_refused() {
    let (_folder, path) = folder();
    let classes: Vec<f32> = noise(0).iter().map(|v| if v.is_nan() { f32::NAN } else { (v % 7.0).floor() }).collect();
    let options = GeotiffOptions::bytes(vec![band("class")], Some(255));
    let mut writer = GeotiffWriter::create(&path, &crs(), &grid(), options.clone()).unwrap();
    writer.write_rows(0, 0, &classes).unwrap();
    writer.finish(&Quiet).unwrap();
    let expected: Vec<f32> = classes.iter().map(|v| if v.is_nan() { 255.0 } else { *v }).collect();
    assert_eq!(read(&path, 0), expected);
    for strange in [0.5, -1.0, 256.0] {
        let mut writer = GeotiffWriter::create(&path, &crs(), &grid(), options.clone()).unwrap();
        let error = writer.write_rows(0, 0, &vec![strange; COLUMNS * ROWS]).unwrap_err();
        assert!(error.to_string().contains("is no byte"), "{error}");
    }
}

#[test]
fn what_is_dropped_or_unfinished_leaves_nothing() {
    let (folder, path) = folder();
    let options = GeotiffOptions::floats(vec![band("a"), band("b")]);
    let mut writer = GeotiffWriter::create(&path, &crs(), &grid(), options.clone()).unwrap();
    write_all(&mut writer, 2);
    drop(writer);
    assert_eq!(names(&folder), [""; 0]);
    let mut writer = GeotiffWriter::create(&path, &crs(), &grid(), options).unwrap();
    write_all(&mut writer, 1);
    let error = writer.finish(&Quiet).unwrap_err();
    assert!(error.to_string().contains("band `b` has 0 of 520 rows"), "{error}");
    assert_eq!(names(&folder), [""; 0]);
}

#[test]
fn rows_out_of_order_are_refused() {
    let (_folder, path) = folder();
    let mut writer = GeotiffWriter::create(&path, &crs(), &grid(), GeotiffOptions::floats(vec![band("a")])).unwrap();
    let row = [1.0; COLUMNS];
    writer.write_rows(0, 0, &row).unwrap();
    for (band, first_row, values) in
        [(0, 0, &row[..]), (0, 2, &row[..]), (0, 1, &row[..7]), (1, 0, &row[..]), (0, 1, &[0.0; COLUMNS * ROWS][..])]
    {
        assert!(matches!(writer.write_rows(band, first_row, values), Err(GeoError::Write { .. })), "{first_row}");
    }
    writer.write_rows(0, 1, &row).unwrap();
}

#[test]
fn a_file_that_is_damaged_while_it_is_written_never_gets_its_name() {
    // What a full disk does: the file is shorter than GDAL believes.
    let (folder, path) = folder();
    std::fs::write(&path, b"before").unwrap();
    let options = GeotiffOptions::floats(vec![band("a")]);
    let mut writer = GeotiffWriter::create(&path, &crs(), &grid(), options).unwrap();
    write_all(&mut writer, 1);
    let partial = names(&folder).into_iter().find(|name| name.starts_with(".partial-")).unwrap();
    let growing = folder.path().join(partial).join("rows.tif");
    // On Unix the open file stays GDAL's; what has its name is an empty one.
    std::fs::remove_file(&growing).unwrap();
    std::fs::write(&growing, b"").unwrap();
    assert!(matches!(writer.finish(&Quiet), Err(GeoError::Write { .. })));
    assert_eq!(names(&folder), ["map.tif"]);
    assert_eq!(std::fs::read(&path).unwrap(), b"before");
}

#[test]
#[ignore = "mounts a file system, which takes root"]
fn a_full_disk_is_a_clear_error() {
    let folder = tempfile::tempdir().unwrap();
    let mount = |program: &str, arguments: &[&str]| {
        std::process::Command::new(program).args(arguments).arg(folder.path()).status().unwrap().success()
    };
    for size in ["size=40k", "size=200k"] {
        assert!(mount("mount", &["-t", "tmpfs", "-o", size, "tmpfs"]));
        let path = folder.path().join("map.tif");
        let attempt = || -> Result<(), GeoError> {
            let options = GeotiffOptions::floats(vec![band("a")]);
            let mut writer = GeotiffWriter::create(&path, &crs(), &grid(), options)?;
            writer.write_rows(0, 0, &noise(0))?;
            writer.finish(&Quiet)
        };
        let outcome = attempt();
        let left = names(&folder);
        assert!(mount("umount", &[]));
        let error = outcome.unwrap_err();
        println!("{size}: {error}");
        assert!(matches!(error, GeoError::Write { .. }));
        assert_eq!(left, [""; 0]);
    }
}

#[test]
fn a_plane_reprojected_is_the_same_plane_and_holes_stay_holes() {
    let (folder, path) = folder();
    let (moved, back) = (folder.path().join("moved.tif"), folder.path().join("back.tif"));
    // A polar stereographic plane, turned by 30 degrees in the other CRS.
    let turned = Crs::parse("+proj=stere +lat_0=-90 +lon_0=30 +R=1737400 +units=m").unwrap();
    let plane: Vec<f32> = (0..COLUMNS * ROWS)
        .map(|k| ((k % COLUMNS) as f32, (k / COLUMNS) as f32))
        .map(|(c, r)| if (c - 100.0).hypot(r - 300.0) < 20.0 { f32::NAN } else { 0.5 * c + 0.25 * r })
        .collect();
    let mut writer = GeotiffWriter::create(&path, &crs(), &grid(), GeotiffOptions::floats(vec![band("a")])).unwrap();
    writer.write_rows(0, 0, &plane).unwrap();
    writer.finish(&Quiet).unwrap();
    reproject_geotiff(&path, &moved, &turned, Some(2.0), false, &Quiet).unwrap();
    let info = raster_info(&moved, &RasterSettings::default()).unwrap();
    let place = info.post_grid(&moved).unwrap();
    assert_eq!((place.posting_m, info.unit.as_str(), info.area_or_point.as_deref()), (2.0, "metre", Some("Point")));
    let values = read(&moved, 0);
    let posts = || (0..values.len()).map(|k| ((k % place.columns) as f64, (k / place.columns) as f64));
    let mut x: Vec<f64> = posts().map(|(column, _)| place.easting_m + column * place.posting_m).collect();
    let mut y: Vec<f64> = posts().map(|(_, row)| place.northing_m - row * place.posting_m).collect();
    turned.transform_to(&crs(), &mut x, &mut y).unwrap();
    let (mut compared, mut worst): (_, f64) = (0, 0.0);
    for (value, (x, y)) in values.iter().zip(x.into_iter().zip(y)).filter(|(value, _)| !value.is_nan()) {
        let (c, r) = grid().column_row(x, y);
        let from_hole = (c - 100.0).hypot(r - 300.0);
        assert!(from_hole > 18.0 && c > -0.6 && r > -0.6 && c < 299.6 && r < 519.6, "{c} {r} has no data");
        if c > 1.0 && r > 1.0 && c < 298.0 && r < 518.0 && from_hole > 22.0 {
            worst = worst.max((f64::from(*value) - (0.5 * c + 0.25 * r)).abs());
            compared += 1;
        }
    }
    // Half a unit a post: what the warper's interpolation of places may cost.
    assert!(worst < 0.01, "{worst}");
    assert!(compared > 10_000, "{compared}");
    reproject_geotiff(&path, &back, &crs(), None, true, &Quiet).unwrap();
    assert_eq!(bits(&read(&back, 0)), bits(&plane), "to its own CRS nothing changes");
}

#[test]
fn classes_stay_classes_and_another_body_is_refused() {
    let (folder, path) = folder();
    let moved = folder.path().join("moved.tif");
    let turned = Crs::parse("+proj=stere +lat_0=-90 +lon_0=45 +R=1737400 +units=m").unwrap();
    let mut writer =
        GeotiffWriter::create(&path, &crs(), &grid(), GeotiffOptions::bytes(vec![band("class")], Some(255))).unwrap();
    let classes: Vec<f32> = (0..COLUMNS * ROWS).map(|k| if k % COLUMNS < 150 { 1.0 } else { 9.0 }).collect();
    writer.write_rows(0, 0, &classes).unwrap();
    writer.finish(&Quiet).unwrap();
    reproject_geotiff(&path, &moved, &turned, None, true, &Quiet).unwrap();
    // Turned and otherwise alike, to a part in a thousand: as fine as before.
    let posting_m = raster_info(&moved, &RasterSettings::default()).unwrap().geotransform.unwrap()[1];
    assert!((posting_m / 2.5 - 1.0).abs() < 1e-3, "{posting_m}");
    let values = read(&moved, 0);
    assert!(values.iter().all(|value| [1.0, 9.0, 255.0].contains(value)));
    let share = values.iter().filter(|value| **value == 1.0).count() as f64
        / values.iter().filter(|value| **value != 255.0).count() as f64;
    assert!((share - 0.5).abs() < 0.01, "{share}");
    let mars = Crs::parse("IAU_2015:49910").unwrap();
    assert!(matches!(reproject_geotiff(&path, &moved, &mars, None, true, &Quiet), Err(GeoError::Transform { .. })));
}
