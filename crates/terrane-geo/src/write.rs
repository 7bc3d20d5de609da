//! GeoTIFFs that open in the right place.

mod options;
mod reproject;
mod stream;
mod template;
#[cfg(test)]
mod tests;

pub use options::{Compression, GeotiffBand, GeotiffOptions, PixelType};
pub use reproject::reproject_geotiff;
pub use stream::GeotiffWriter;

use crate::open::set_up_gdal;
use crate::{Crs, GeoError, PostGrid};
use gdal::cpl::CslStringList;
use gdal::raster::{Buffer, GdalType};
use gdal::{Dataset, DriverManager, Metadata};
use std::path::Path;

/// What a GeoTIFF is filled with: one band, row-major from the north-west.
#[derive(Debug, Clone, Copy)]
pub enum GeotiffValues<'a> {
    /// 32-bit floats; NaN is nodata.
    Float(&'a [f32]),
    /// Bytes.
    Byte(&'a [u8]),
}

/// A metadata item of a GeoTIFF; `None` when the file is no GeoTIFF or has no
/// such item.
pub fn geotiff_metadata(path: &Path, item: &str) -> Option<String> {
    set_up_gdal();
    let dataset = Dataset::open(path).ok().filter(|dataset| dataset.driver().short_name() == "GTiff")?;
    dataset.metadata_item(item, "")
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
    let folder = path.parent().unwrap_or(Path::new("."));
    let partial = tempfile::Builder::new().prefix(".partial-").suffix(".tif").tempfile_in(folder);
    let partial = partial.map_err(|error| failed(error.to_string()))?.into_temp_path();
    let written = match values {
        GeotiffValues::Float(values) => write(&partial, crs, grid, values, Some(f64::NAN), point)
            .and_then(|()| holds(&partial, values, |a, b| a.to_bits() == b.to_bits())),
        GeotiffValues::Byte(values) => {
            write(&partial, crs, grid, values, None, point).and_then(|()| holds(&partial, values, |a, b| a == b))
        }
    };
    match written {
        Ok(true) => {}
        Ok(false) => return Err(failed("what was written does not read back; is the disk full?".into())),
        Err(error) => return Err(failed(format!("{error}; is the disk full?"))),
    }
    partial.persist(path).map_err(|error| failed(error.error.to_string()))
}

/// GDAL does not report every failed write, so the file is read again.
fn holds<T: GdalType + Copy>(
    path: &Path,
    values: &[T],
    same: impl Fn(&T, &T) -> bool,
) -> Result<bool, gdal::errors::GdalError> {
    let read = Dataset::open(path)?.rasterband(1)?.read_band_as::<T>()?;
    Ok(read.len() == values.len() && read.data().iter().zip(values).all(|(a, b)| same(a, b)))
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
