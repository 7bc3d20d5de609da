//! What the tests of rasters share.
#![allow(dead_code, clippy::unwrap_used)]

use gdal::cpl::CslStringList;
use gdal::raster::Buffer;
use gdal::{DriverManager, Metadata};
use std::path::{Path, PathBuf};
use terrane_core::{PostSource, PostWindow, Quiet, RasterSettings};
use terrane_geo::{Crs, DemFile, GeoError, OpenOptions};

/// A measured raster, or `None` with a printed reason.
pub fn data(name: &str) -> Option<PathBuf> {
    let root = std::env::var_os("TERRANE_DATA")
        .map_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data"), PathBuf::from);
    let path = root.join("dem").join(name);
    if path.exists() {
        return Some(path);
    }
    println!("skipped: {name} is not there (set TERRANE_DATA)");
    None
}

pub fn open_with(path: &Path, settings: &RasterSettings) -> Result<DemFile, GeoError> {
    DemFile::open(&path.into(), settings, &OpenOptions::default(), &Quiet)
}

pub fn open(path: &Path) -> DemFile {
    open_with(path, &RasterSettings::default()).unwrap()
}

pub fn whole(posts: &dyn PostSource) -> PostWindow {
    let (columns, rows) = posts.size();
    PostWindow { column: 0, row: 0, columns, rows }
}

pub fn read(posts: &dyn PostSource, window: PostWindow) -> Vec<f32> {
    let mut heights_m = vec![0.0; window.len()];
    posts.read(window, &mut heights_m).unwrap();
    heights_m
}

pub fn read_all(posts: &dyn PostSource) -> Vec<f32> {
    read(posts, whole(posts))
}

/// A raster to be written.
pub struct Sheet<'a> {
    pub driver: &'a str,
    pub crs: &'a str,
    pub gt: [f64; 6],
    pub size: (usize, usize),
    pub nodata: Option<f64>,
    pub point: bool,
    pub options: &'a [(&'a str, &'a str)],
}

impl Default for Sheet<'_> {
    fn default() -> Self {
        let gt = [0.0, 10.0, 0.0, 0.0, 0.0, -10.0];
        Self { driver: "GTiff", crs: "IAU_2015:30110", gt, size: (8, 8), nodata: None, point: false, options: &[] }
    }
}

impl Sheet<'_> {
    pub fn write(&self, path: &Path, values: &[f32]) {
        let crs = Crs::parse(self.crs).unwrap();
        let mut options = CslStringList::new();
        self.options.iter().for_each(|(key, value)| options.set_name_value(key, value).unwrap());
        let driver = DriverManager::get_driver_by_name(self.driver).unwrap();
        let mut dataset =
            driver.create_with_band_type_with_options::<f32, _>(path, self.size.0, self.size.1, 1, &options).unwrap();
        dataset.set_projection(crs.wkt()).unwrap();
        if self.point {
            dataset.set_metadata_item("AREA_OR_POINT", "Point", "").unwrap();
        }
        dataset.set_geo_transform(&self.gt).unwrap();
        let mut band = dataset.rasterband(1).unwrap();
        if self.nodata.is_some() {
            band.set_no_data_value(self.nodata).unwrap();
        }
        band.write((0, 0), self.size, &mut Buffer::new(self.size, values.to_vec())).unwrap();
        dataset.close().unwrap();
    }

    /// Map coordinates of a post, metres or degrees.
    pub fn map(&self, column: usize, row: usize) -> (f64, f64) {
        let (c, r, gt) = (column as f64 + 0.5, row as f64 + 0.5, self.gt);
        (gt[0] + c * gt[1] + r * gt[2], gt[3] + c * gt[4] + r * gt[5])
    }
}
