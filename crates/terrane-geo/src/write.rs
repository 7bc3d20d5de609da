//! GeoTIFFs that open in the right place.

use crate::info::set_up_gdal;
use crate::{Crs, GeoError, PostGrid};
use gdal::cpl::CslStringList;
use gdal::raster::{Buffer, GdalType};
use gdal::{DriverManager, Metadata};
use std::path::Path;

/// What a GeoTIFF is filled with: one band, row-major from the north-west.
#[derive(Debug, Clone, Copy)]
pub enum GeotiffValues<'a> {
    /// 32-bit floats; NaN is nodata.
    Float(&'a [f32]),
    /// Bytes.
    Byte(&'a [u8]),
}

/// Writes a compressed GeoTIFF. `point` marks posts as points
/// (`AREA_OR_POINT=Point`) rather than as areas; the posts lie at the same map
/// coordinates either way. The file appears under its name only when whole.
pub fn write_geotiff(
    path: &Path,
    crs: &Crs,
    grid: &PostGrid,
    values: GeotiffValues<'_>,
    point: bool,
) -> Result<(), GeoError> {
    set_up_gdal();
    let failed = |message: String| GeoError::Write { path: path.to_owned(), message };
    let partial = path.with_extension("partial.tif");
    let written = match values {
        GeotiffValues::Float(values) => write(&partial, crs, grid, values, Some(f64::NAN), point),
        GeotiffValues::Byte(values) => write(&partial, crs, grid, values, None, point),
    };
    let finished = written
        .map_err(|error| failed(error.to_string()))
        .and_then(|()| std::fs::rename(&partial, path).map_err(|error| failed(error.to_string())));
    if finished.is_err() {
        let _ = std::fs::remove_file(&partial);
    }
    finished
}

fn write<T: GdalType + Copy>(
    path: &Path,
    crs: &Crs,
    grid: &PostGrid,
    values: &[T],
    nodata: Option<f64>,
    point: bool,
) -> Result<(), gdal::errors::GdalError> {
    let mut options = CslStringList::new();
    for (name, value) in
        [("COMPRESS", "DEFLATE"), ("PREDICTOR", if nodata.is_some() { "3" } else { "2" }), ("TILED", "YES")]
    {
        options.set_name_value(name, value)?;
    }
    let driver = DriverManager::get_driver_by_name("GTiff")?;
    let mut dataset = driver.create_with_band_type_with_options::<T, _>(path, grid.columns, grid.rows, 1, &options)?;
    dataset.set_projection(crs.wkt())?;
    if point {
        dataset.set_metadata_item("AREA_OR_POINT", "Point", "")?;
    }
    let (step, unit) = (grid.posting_m / crs.metres_per_unit, crs.metres_per_unit);
    let (west, north) = (grid.easting_m / unit - 0.5 * step, grid.northing_m / unit + 0.5 * step);
    dataset.set_geo_transform(&[west, step, 0.0, north, 0.0, -step])?;
    let mut band = dataset.rasterband(1)?;
    if nodata.is_some() {
        band.set_no_data_value(nodata)?;
    }
    band.write((0, 0), (grid.columns, grid.rows), &mut Buffer::new((grid.columns, grid.rows), values.to_vec()))?;
    dataset.close()
}
