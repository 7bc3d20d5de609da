//! Names, archives, VRTs, keys, and rasters larger than memory.

#![allow(clippy::unwrap_used, clippy::panic)]

mod common;

use common::{Sheet, open, open_with, read};
use gdal::DriverManager;
use gdal::cpl::CslStringList;
use gdal::raster::Buffer;
use std::path::Path;
use terrane_core::{PostWindow, Quiet, RasterSettings};
use terrane_geo::{DemFile, GeoError, OpenOptions, referenced_files};

fn open_allowed(path: &Path, allowed: &dyn Fn(&Path) -> bool) -> Result<DemFile, GeoError> {
    let options = OpenOptions { allowed: Some(allowed), ..OpenOptions::default() };
    DemFile::open(&path.into(), &RasterSettings::default(), &options, &Quiet)
}

#[test]
fn radii_become_heights_and_a_spike_makes_none() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("dem.tif");
    let mut values = vec![f32::NAN; 64];
    values[40..44].copy_from_slice(&[1_737_400.0, 1_737_650.0, 1_736_900.0, 1_737_401.0]);
    Sheet::default().write(&path, &values);
    let dem = open(&path);
    assert_eq!(dem.notes[0].code, "raster-radius");
    assert_eq!(dem.sample_range_m, Some((-500.0, 250.0)));
    let row = read(dem.raw_posts().as_ref(), PostWindow { column: 0, row: 5, columns: 4, rows: 1 });
    assert_eq!(row, [0.0, 250.0, -500.0, 1.0]);

    let values: Vec<f32> = (0..64).map(|i| if i == 9 { 1.6e6 } else { 100.0 + i as f32 }).collect();
    Sheet::default().write(&path, &values);
    let dem = open(&path);
    assert!(dem.notes.is_empty());
    assert_eq!(dem.sample_range_m, Some((100.0, 163.0)));
}

#[test]
fn a_vrt_opens_only_when_its_files_may_be_read() {
    let folder = tempfile::tempdir().unwrap();
    let inside = folder.path().join("a.tif");
    Sheet::default().write(&inside, &[5.0; 64]);
    let vrt = folder.path().join("a.vrt");
    let band = "<VRTRasterBand dataType=\"Float32\" band=\"1\"><SimpleSource><SourceFilename relativeToVRT=\"1\">a.tif</SourceFilename><SourceBand>1</SourceBand></SimpleSource></VRTRasterBand>";
    let crs = terrane_geo::Crs::parse("IAU_2015:30110").unwrap();
    let srs = crs.wkt().replace('&', "&amp;").replace('<', "&lt;").replace('"', "&quot;");
    let text = format!(
        "<VRTDataset rasterXSize=\"8\" rasterYSize=\"8\"><SRS>{srs}</SRS><GeoTransform>0,10,0,0,0,-10</GeoTransform>{band}</VRTDataset>"
    );
    std::fs::write(&vrt, &text).unwrap();
    assert_eq!(referenced_files(&vrt.as_path().into()).unwrap(), std::slice::from_ref(&inside));
    assert!(matches!(open_with(&vrt, &RasterSettings::default()), Err(GeoError::UnfitVrt { .. })));
    let refused = open_allowed(&vrt, &|_| false).unwrap_err();
    assert!(refused.to_string().contains("a.tif"), "{refused}");
    let dem = open_allowed(&vrt, &|path| path.starts_with(folder.path())).unwrap();
    assert_eq!(dem.sample_range_m, Some((5.0, 5.0)));

    Sheet::default().write(&inside, &[6.0; 64]);
    assert_ne!(open_allowed(&vrt, &|_| true).unwrap().key, dem.key);
    std::fs::remove_file(&inside).unwrap();
    let missing = open_allowed(&vrt, &|_| true).unwrap_err().to_string();
    assert!(missing.contains("is not there"), "{missing}");
}

#[test]
fn an_archive_holds_one_raster_or_names_them() {
    let folder = tempfile::tempdir().unwrap();
    let zip = |name: &str, files: &[&str]| {
        let path = folder.path().join(name);
        let text = "[0.0]".to_owned();
        for file in files {
            let local = folder.path().join(file);
            if file.ends_with(".tif") {
                Sheet::default().write(&local, &[5.0; 64])
            } else {
                std::fs::write(&local, &text).unwrap()
            }
        }
        let made = std::process::Command::new("python3")
            .arg("-c")
            .arg("import sys,zipfile,os\nz=zipfile.ZipFile(sys.argv[1],'w')\nfor f in sys.argv[2:]: z.write(f,os.path.basename(f))\nz.close()")
            .arg(&path)
            .args(files.iter().map(|file| folder.path().join(file)))
            .status();
        made.is_ok_and(|status| status.success()).then_some(path)
    };
    let (Some(one), Some(none), Some(several)) =
        (zip("one.zip", &["a.tif", "a.txt"]), zip("none.zip", &["b.txt"]), zip("several.zip", &["c.tif", "d.tif"]))
    else {
        println!("skipped: python3 is not there to make archives");
        return;
    };
    assert_eq!(open(&one).sample_range_m, Some((5.0, 5.0)));
    let said = |path: &Path| open_with(path, &RasterSettings::default()).unwrap_err().to_string();
    assert!(said(&none).contains("no raster"), "{}", said(&none));
    assert!(said(&several).contains("c.tif") && said(&several).contains("d.tif"), "{}", said(&several));
}

#[test]
fn keys_follow_content_and_settings_and_are_remembered() {
    let folder = tempfile::tempdir().unwrap();
    let (path, memory) = (folder.path().join("dem.tif"), folder.path().join("keys/keys.json"));
    let settings = RasterSettings::default();
    let open = |settings: &RasterSettings| {
        let options = OpenOptions { key_memory: Some(&memory), ..OpenOptions::default() };
        DemFile::open(&path.as_path().into(), settings, &options, &Quiet).unwrap()
    };
    Sheet::default().write(&path, &[1.0; 64]);
    let small = open(&settings);
    assert!(!memory.exists(), "a small file is not remembered");
    // Bytes behind the end change nothing but the length.
    std::fs::OpenOptions::new().write(true).open(&path).unwrap().set_len(17 << 20).unwrap();
    let first = open(&settings);
    assert_ne!(small.key, first.key);
    let remembered = std::fs::read(&memory).unwrap();
    assert_eq!(open(&settings).key, first.key);
    assert_eq!(std::fs::read(&memory).unwrap(), remembered, "nothing new, nothing written");
    std::fs::write(&memory, "{ damaged").unwrap();
    assert_eq!(open(&settings).key, first.key);
    assert_eq!(std::fs::read(&memory).unwrap(), remembered);
    assert_ne!(open(&RasterSettings { scale: Some(2.0), ..settings.clone() }).key, first.key);
    let named = RasterSettings { body_frame: Some("MOON_ME".into()), ..settings.clone() };
    assert_eq!(open(&named).key, first.key);
    std::fs::write(folder.path().join("dem.tif.aux.xml"), "<PAMDataset></PAMDataset>").unwrap();
    assert_ne!(open(&settings).key, first.key);
    std::fs::remove_file(folder.path().join("dem.tif.aux.xml")).unwrap();
    Sheet::default().write(&path, &[2.0; 64]);
    assert_ne!(open(&settings).key, first.key);
}

#[test]
fn a_sparse_raster_of_a_hundred_billion_posts_opens_and_answers() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("sparse.tif");
    let mut options = CslStringList::new();
    for (key, value) in
        [("SPARSE_OK", "TRUE"), ("TILED", "YES"), ("BLOCKXSIZE", "512"), ("BLOCKYSIZE", "512"), ("BIGTIFF", "YES")]
    {
        options.set_name_value(key, value).unwrap();
    }
    let size = (400_000, 300_000);
    {
        let driver = DriverManager::get_driver_by_name("GTiff").unwrap();
        let mut dataset =
            driver.create_with_band_type_with_options::<f32, _>(&path, size.0, size.1, 1, &options).unwrap();
        let crs = terrane_geo::Crs::parse("IAU_2015:30110").unwrap();
        dataset.set_projection(crs.wkt()).unwrap();
        dataset.set_geo_transform(&[0.0, 2.0, 0.0, 0.0, 0.0, -2.0]).unwrap();
        let mut band = dataset.rasterband(1).unwrap();
        band.set_no_data_value(Some(f64::NAN)).unwrap();
        for (column, row) in [(1000, 2000), (350_000, 250_000)] {
            let values = (0..100 * 100).map(|i| 1_737_400.0 + (i % 7) as f32).collect();
            band.write((column, row), (100, 100), &mut Buffer::new((100, 100), values)).unwrap();
        }
    }
    let started = std::time::Instant::now();
    let dem = open(&path);
    println!("opened in {:?}", started.elapsed());
    assert!(started.elapsed().as_secs() < 30);
    assert_eq!(dem.sample_range_m, Some((0.0, 6.0)));
    let (crs, grid) = dem.natural_frame().unwrap();
    let posts = dem.posts(&crs, grid).unwrap();
    let window = PostWindow { column: 350_000, row: 250_000, columns: 4, rows: 1 };
    assert_eq!(read(posts.as_ref(), window), [0.0, 1.0, 2.0, 3.0]);
    assert!(read(posts.as_ref(), PostWindow { row: 260_000, ..window }).iter().all(|height| height.is_nan()));
    // Thinned ten thousand times, a post covers more than may be held.
    let thin = dem.grid_in(&crs, Some(20_000.0)).unwrap();
    let posts = dem.posts(&crs, thin).unwrap();
    assert!(read(posts.as_ref(), PostWindow { column: 0, row: 0, columns: 1, rows: 1 })[0].is_nan());
}

#[test]
fn every_window_of_a_striped_and_a_tiled_file_is_the_same() {
    let folder = tempfile::tempdir().unwrap();
    let values: Vec<f32> = (0..300 * 200).map(|i| (i * 31 % 1009) as f32).collect();
    for (name, options) in [("striped.tif", &[][..]), ("tiled.tif", &[("TILED", "YES"), ("COMPRESS", "LZW")][..])] {
        let path = folder.path().join(name);
        Sheet { size: (300, 200), options, ..Sheet::default() }.write(&path, &values);
        let dem = open(&path);
        let posts = dem.raw_posts();
        std::thread::scope(|scope| {
            for thread in 0..4_usize {
                let (posts, values) = (&posts, &values);
                scope.spawn(move || {
                    for i in 0..50_usize {
                        let (column, row) = ((i * 37 + thread * 11) % 260, (i * 53 + thread) % 180);
                        let window = PostWindow { column, row, columns: 1 + i % 40, rows: 1 + i % 20 };
                        for (i, height) in read(posts.as_ref(), window).iter().enumerate() {
                            let place = (row + i / window.columns) * 300 + column + i % window.columns;
                            assert_eq!(*height, values[place]);
                        }
                    }
                });
            }
        });
        let outside = PostWindow { column: 290, row: 0, columns: 20, rows: 1 };
        assert!(posts.read(outside, &mut [0.0; 20]).is_err());
    }
}

#[test]
fn a_mask_makes_holes() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("masked.tif");
    Sheet::default().write(&path, &[5.0; 64]);
    {
        let options = gdal::DatasetOptions { open_flags: gdal::GdalOpenFlags::GDAL_OF_UPDATE, ..Default::default() };
        let dataset = gdal::Dataset::open_ex(&path, options).unwrap();
        let mut band = dataset.rasterband(1).unwrap();
        band.create_mask_band(true).unwrap();
        let mut mask = band.open_mask_band().unwrap();
        let values = (0..64).map(|i| if i < 8 { 0_u8 } else { 255 }).collect();
        mask.write((0, 0), (8, 8), &mut Buffer::new((8, 8), values)).unwrap();
    }
    let found = open(&path).statistics(&Quiet).unwrap();
    assert_eq!((found.valid, found.posts), (56, 64));
}

#[test]
fn tie_points_place_a_raster_when_they_lie_on_a_straight_grid() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, bend: f64| {
        let path = folder.path().join(name);
        let driver = DriverManager::get_driver_by_name("GTiff").unwrap();
        let mut dataset = driver.create_with_band_type::<f32, _>(&path, 100, 100, 1).unwrap();
        let reference = gdal::spatial_ref::SpatialRef::from_epsg(32611).unwrap();
        let point = |pixel: f64, line: f64, bend: f64| gdal::Gcp {
            id: String::new(),
            info: String::new(),
            pixel,
            line,
            x: 400_000.0 + 10.0 * (pixel + bend),
            y: 3_700_000.0 - 10.0 * line,
            z: 0.0,
        };
        let points = vec![
            point(0.0, 0.0, 0.0),
            point(100.0, 0.0, 0.0),
            point(0.0, 100.0, 0.0),
            point(100.0, 100.0, 0.0),
            point(30.0, 60.0, bend),
        ];
        dataset.set_gcps(points, &reference).unwrap();
        dataset.flush_cache().unwrap();
        path
    };
    let dem = open(&write("straight.tif", 0.0));
    let grid = dem.native_grid().unwrap();
    assert!((grid.easting_m - 400_005.0).abs() < 1e-3 && (grid.posting_m - 10.0).abs() < 1e-6, "{grid:?}");
    assert_eq!(dem.info.tie_points, Some(5));
    let error = open_with(&write("bent.tif", 4.0), &RasterSettings::default()).unwrap_err().to_string();
    assert!(error.contains("pixels off"), "{error}");
}

#[test]
fn a_name_that_is_no_file_opens_and_has_a_key() {
    let path = Path::new("/vsimem/terrane_a.tif");
    Sheet::default().write(path, &[5.0; 64]);
    let first = open(path);
    assert!(first.name.is_file().is_none());
    assert_eq!(first.sample_range_m, Some((5.0, 5.0)));
    assert_eq!(open(path).key, first.key);
    Sheet::default().write(path, &[6.0; 64]);
    assert_ne!(open(path).key, first.key);
}

#[test]
fn a_grid_cut_short_and_radii_on_an_ellipsoid_are_refused_at_once() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("cut.asc");
    std::fs::write(&path, "ncols 30000\nnrows 30000\nxllcorner 0\nyllcorner 0\ncellsize 1\nNODATA_value -9999\n1 ")
        .unwrap();
    let settings = RasterSettings { crs: Some("EPSG:32611".into()), ..RasterSettings::default() };
    let error = open_with(&path, &settings).unwrap_err().to_string();
    assert!(error.contains("cut short"), "{error}");
    let whole = "ncols 2\nnrows 2\nxllcorner 0\nyllcorner 0\ncellsize 1\n1 2\n3 4";
    std::fs::write(&path, whole).unwrap();
    assert_eq!(open_with(&path, &settings).unwrap().sample_range_m, Some((1.0, 4.0)));

    let path = folder.path().join("radii.tif");
    Sheet { crs: "EPSG:32611", ..Sheet::default() }.write(&path, &[6_371_100.0; 64]);
    let error = open_with(&path, &RasterSettings::default()).unwrap_err().to_string();
    assert!(error.contains("ellipsoid"), "{error}");
    let settings = RasterSettings { offset: Some(-6_371_000.0), ..RasterSettings::default() };
    assert_eq!(open_with(&path, &settings).unwrap().sample_range_m, Some((100.0, 100.0)));
}
