//! What a raster's file says of itself.

use crate::{Crs, GeoError};
use gdal::{Dataset, DatasetOptions, GdalOpenFlags, Metadata};
use serde::{Deserialize, Serialize};
use std::path::Path;
use std::sync::Once;
use terrane_core::RasterSettings;

/// What is known of a raster before its pixels are read.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RasterInfo {
    /// GDAL's short driver name.
    pub driver: String,
    /// Columns.
    pub columns: usize,
    /// Rows.
    pub rows: usize,
    /// Bands.
    pub bands: usize,
    /// Pixel type of band 1, in GDAL's words.
    pub pixel_type: String,
    /// Declared or overridden nodata value of band 1.
    pub nodata: Option<f64>,
    /// Metres per stored unit, declared or overridden.
    pub scale: f64,
    /// Added after scaling, declared or overridden.
    pub offset: f64,
    /// Unit of band 1, when declared.
    pub unit: String,
    /// CRS, declared or overridden.
    pub crs: Option<Crs>,
    /// GDAL's geotransform: corner-based for pixel-is-point files too.
    pub geotransform: Option<[f64; 6]>,
    /// `AREA_OR_POINT`, when declared.
    pub area_or_point: Option<String>,
}

/// A square, north-up grid of posts in map coordinates, metres. Post (column,
/// row) lies at (`easting_m` + column `posting_m`, `northing_m` - row
/// `posting_m`): posts are pixel centres, whatever `AREA_OR_POINT` says, since
/// GDAL's geotransform already accounts for it.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct PostGrid {
    /// Easting of the first column, metres.
    pub easting_m: f64,
    /// Northing of the first (northernmost) row, metres.
    pub northing_m: f64,
    /// Distance between posts, metres.
    pub posting_m: f64,
    /// Columns.
    pub columns: usize,
    /// Rows.
    pub rows: usize,
}

impl PostGrid {
    /// Fractional column and row of a map point.
    pub fn column_row(&self, easting_m: f64, northing_m: f64) -> (f64, f64) {
        ((easting_m - self.easting_m) / self.posting_m, (self.northing_m - northing_m) / self.posting_m)
    }

    /// Easting and northing of the middle of the pixels' extent, metres.
    pub fn centre_m(&self) -> (f64, f64) {
        (
            self.easting_m + 0.5 * (self.columns as f64 - 1.0) * self.posting_m,
            self.northing_m - 0.5 * (self.rows as f64 - 1.0) * self.posting_m,
        )
    }
}

static GDAL_SETUP: Once = Once::new();

/// GDAL prints errors to stderr on its own; every one of them also comes back
/// as a result, so its printing is switched off.
pub(crate) fn set_up_gdal() {
    GDAL_SETUP.call_once(|| gdal::config::set_error_handler(|_, _, _| {}));
}

/// Formats that hold their own pixels. Left out are those that name other
/// files or services of their choosing (VRT, WMS...): a raster inside a twin
/// must not read outside of it.
const DRIVERS: &[&str] = &[
    "GTiff",
    "COG",
    "AAIGrid",
    "AIG",
    "GRASSASCIIGrid",
    "DTED",
    "SRTMHGT",
    "USGSDEM",
    "SDTS",
    "netCDF",
    "HDF5",
    "HDF4",
    "ISIS3",
    "ISIS2",
    "PDS",
    "PDS4",
    "VICAR",
    "FITS",
    "HFA",
    "ENVI",
    "EHdr",
    "ERS",
    "SAGA",
    "GSAG",
    "GSBG",
    "GS7BG",
    "XYZ",
    "BAG",
    "GRIB",
    "RST",
    "RRASTER",
    "PCRaster",
    "PNG",
    "JPEG",
    "JP2OpenJPEG",
    "BMP",
    "PNM",
    "WEBP",
    "HF2",
    "Terragen",
    "Leveller",
];

pub(crate) fn open(path: &Path) -> Result<Dataset, GeoError> {
    set_up_gdal();
    match std::fs::metadata(path) {
        Ok(found) if found.is_file() => {}
        Ok(_) => return Err(GeoError::Unreadable { path: path.to_owned(), message: "it is not a file".into() }),
        Err(_) => return Err(GeoError::Missing { path: path.to_owned() }),
    }
    let open_flags =
        GdalOpenFlags::GDAL_OF_RASTER | GdalOpenFlags::GDAL_OF_READONLY | GdalOpenFlags::GDAL_OF_VERBOSE_ERROR;
    let options = DatasetOptions { open_flags, allowed_drivers: Some(DRIVERS), ..DatasetOptions::default() };
    Dataset::open_ex(path, options).map_err(|error| unreadable(path, error))
}

pub(crate) fn unreadable(path: &Path, error: gdal::errors::GdalError) -> GeoError {
    let message = match error {
        gdal::errors::GdalError::CplError { msg, .. } if !msg.is_empty() => msg,
        gdal::errors::GdalError::NullPointer { msg, .. } if msg.is_empty() => {
            "it is in no raster format that terrane reads".into()
        }
        gdal::errors::GdalError::NullPointer { msg, .. } => msg,
        other => other.to_string(),
    };
    GeoError::Unreadable { path: path.to_owned(), message }
}

pub(crate) fn describe(path: &Path, dataset: &Dataset, overrides: &RasterSettings) -> Result<RasterInfo, GeoError> {
    let gdal_error = |error| unreadable(path, error);
    let (columns, rows) = dataset.raster_size();
    let band = dataset.rasterband(1).map_err(gdal_error)?;
    let crs = match &overrides.crs {
        Some(definition) => Some(Crs::parse(definition)?),
        None => match dataset.spatial_ref() {
            // A local (engineering) CRS says nothing about a body.
            Ok(reference) if !reference.is_local() => Crs::from_reference(&reference).ok(),
            _ => None,
        },
    };
    Ok(RasterInfo {
        driver: dataset.driver().short_name(),
        columns,
        rows,
        bands: dataset.raster_count(),
        pixel_type: format!("{}", band.band_type()),
        nodata: overrides.nodata.or_else(|| band.no_data_value()),
        scale: overrides.scale.or_else(|| band.scale()).unwrap_or(1.0),
        offset: overrides.offset.or_else(|| band.offset()).unwrap_or(0.0),
        unit: band.unit(),
        crs,
        geotransform: dataset.geo_transform().ok(),
        area_or_point: dataset.metadata_item("AREA_OR_POINT", ""),
    })
}

/// Opens a raster and says what its file declares, without reading pixels.
pub fn raster_info(path: &Path, overrides: &RasterSettings) -> Result<RasterInfo, GeoError> {
    describe(path, &open(path)?, overrides)
}

impl RasterInfo {
    /// The grid of posts, when it is square, north-up and metric.
    pub fn post_grid(&self, path: &Path) -> Result<PostGrid, GeoError> {
        let unfit = |what: String| GeoError::UnfitGrid { path: path.to_owned(), what };
        let crs = self.crs.as_ref().ok_or_else(|| GeoError::NoCrs { path: path.to_owned() })?;
        let gt = self.geotransform.ok_or_else(|| GeoError::NoGeotransform { path: path.to_owned() })?;
        if !crs.projected {
            return Err(unfit(format!("its CRS, {}, is geographic (degrees); a site needs metres", crs.name)));
        }
        if gt[2] != 0.0 || gt[4] != 0.0 {
            return Err(unfit("the grid is rotated or sheared".to_owned()));
        }
        if gt[1] <= 0.0 || gt[5] >= 0.0 {
            return Err(unfit("the grid does not run north-up, west to east".to_owned()));
        }
        // The same posting to within what would displace the far corner by a
        // hundredth of a post.
        let longest = self.columns.max(self.rows) as f64;
        if ((gt[1] + gt[5]) / gt[1]).abs() * longest > 0.01 {
            return Err(unfit(format!("its posts are {} by {} apart, not square", gt[1], -gt[5])));
        }
        let unit = crs.metres_per_unit;
        Ok(PostGrid {
            easting_m: (gt[0] + 0.5 * gt[1]) * unit,
            northing_m: (gt[3] + 0.5 * gt[5]) * unit,
            posting_m: gt[1] * unit,
            columns: self.columns,
            rows: self.rows,
        })
    }
}
