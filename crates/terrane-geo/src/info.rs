//! What a raster's file says of itself.

use crate::open::{label_text, open, unreadable};
use crate::{Crs, GeoError};
use gdal::spatial_ref::SpatialRef;
use gdal::{Dataset, Metadata};
use serde::{Deserialize, Serialize};
use std::path::Path;
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
    /// Surface that heights are above, declared (the vertical part of the CRS)
    /// or overridden.
    #[serde(default)]
    pub vertical_datum: Option<String>,
    /// True when heights were converted from that surface: never so far.
    #[serde(default)]
    pub vertical_datum_applied: bool,
    /// Body-fixed frame of the coordinates, when the file or a setting states
    /// it.
    #[serde(default)]
    pub body_frame: Option<String>,
    /// How many tie points the geotransform was fitted to, when the file holds
    /// those instead of one.
    #[serde(default)]
    pub tie_points: Option<usize>,
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

pub(crate) fn describe(path: &Path, dataset: &Dataset, overrides: &RasterSettings) -> Result<RasterInfo, GeoError> {
    let band = dataset.rasterband(1).map_err(|error| unreadable(path, error))?;
    let (columns, rows) = dataset.raster_size();
    let placed = place_of(path, dataset)?;
    let (crs, vertical) = match &overrides.crs {
        Some(definition) => Crs::parse_with_vertical(definition).map(|(crs, vertical)| (Some(crs), vertical))?,
        None => match &placed.reference {
            // A local (engineering) CRS says nothing about a body, and neither
            // does one whose ellipsoid GDAL had to make up.
            Some(reference) if !reference.is_local() && !is_fallback(reference) => {
                Crs::with_vertical(reference).map_or((None, None), |(crs, vertical)| (Some(crs), vertical))
            }
            _ => (None, None),
        },
    };
    let unit = overrides.unit.clone().unwrap_or_else(|| {
        let unit = band.unit();
        let declared = vertical.as_ref().and_then(|vertical| vertical.unit.clone());
        if unit.trim().is_empty() { declared.unwrap_or_default() } else { unit }
    });
    Ok(RasterInfo {
        driver: dataset.driver().short_name(),
        columns,
        rows,
        bands: dataset.raster_count(),
        pixel_type: format!("{}", band.band_type()),
        nodata: overrides.nodata.or_else(|| band.no_data_value()),
        scale: overrides.scale.or_else(|| band.scale()).unwrap_or(1.0),
        offset: overrides.offset.or_else(|| band.offset()).unwrap_or(0.0),
        unit,
        crs,
        geotransform: placed.geotransform,
        area_or_point: dataset.metadata_item("AREA_OR_POINT", ""),
        vertical_datum: overrides.vertical_datum.clone().or(vertical.map(|vertical| vertical.name)),
        vertical_datum_applied: false,
        body_frame: overrides.body_frame.clone().or_else(|| body_frame(path)),
        tie_points: placed.tie_points,
    })
}

/// True when the file names no ellipsoid and GDAL put Earth's in its place.
fn is_fallback(reference: &SpatialRef) -> bool {
    reference.to_wkt().is_ok_and(|wkt| wkt.contains("unretrievable - using WGS84"))
}

/// The body-fixed frame that a PDS3 label states.
pub(crate) fn body_frame(path: &Path) -> Option<String> {
    let text = label_text(path);
    if !text.contains("PDS_VERSION_ID") {
        return None;
    }
    let value = text.lines().find_map(|line| {
        let (key, value) = line.split_once('=')?;
        (key.trim() == "COORDINATE_SYSTEM_NAME").then(|| value.trim().trim_matches('"').trim().to_owned())
    })?;
    (!value.is_empty() && value != "N/A").then_some(value)
}

struct Placed {
    reference: Option<SpatialRef>,
    geotransform: Option<[f64; 6]>,
    tie_points: Option<usize>,
}

/// The geotransform, or the affine that fits the tie points when there is
/// none.
fn place_of(path: &Path, dataset: &Dataset) -> Result<Placed, GeoError> {
    // Some drivers report the identity when they know nothing.
    let known = |gt: &[f64; 6]| gt.iter().all(|value| value.is_finite()) && *gt != [0.0, 1.0, 0.0, 0.0, 0.0, 1.0];
    let geotransform = dataset.geo_transform().ok().filter(known);
    if geotransform.is_some() || dataset.gcps().is_empty() {
        return Ok(Placed { reference: dataset.spatial_ref().ok(), geotransform, tie_points: None });
    }
    let points: Vec<[f64; 4]> =
        dataset.gcps().iter().map(|point| [point.pixel(), point.line(), point.x(), point.y()]).collect();
    let unfit = |what: String| GeoError::UnfitGrid { path: path.to_owned(), what };
    let gt = fit_affine(&points)
        .ok_or_else(|| unfit(format!("its {} tie points do not fix a grid; three apart are needed", points.len())))?;
    let off = residual_pixels(&gt, &points);
    if off > 0.5 {
        return Err(unfit(format!(
            "its {} tie points lie up to {off:.2} pixels off the straight grid that fits them best",
            points.len()
        )));
    }
    let reference = dataset.gcp_spatial_ref().or_else(|| dataset.spatial_ref().ok());
    Ok(Placed { reference, geotransform: Some(gt), tie_points: Some(points.len()) })
}

/// Least squares of x and y over pixel and line, about their means.
fn fit_affine(points: &[[f64; 4]]) -> Option<[f64; 6]> {
    let n = points.len() as f64;
    let mean = |i: usize| points.iter().map(|point| point[i]).sum::<f64>() / n;
    let (mp, ml, mx, my) = (mean(0), mean(1), mean(2), mean(3));
    let sum = |i: usize, mi: f64, j: usize, mj: f64| -> f64 { points.iter().map(|p| (p[i] - mi) * (p[j] - mj)).sum() };
    let (pp, pl, ll) = (sum(0, mp, 0, mp), sum(0, mp, 1, ml), sum(1, ml, 1, ml));
    let determinant = pp * ll - pl * pl;
    if points.len() < 3 || determinant <= 1e-9 * pp.max(ll).powi(2) {
        return None;
    }
    let solve = |i: usize, mi: f64| {
        let (p, l) = (sum(0, mp, i, mi), sum(1, ml, i, mi));
        ((p * ll - l * pl) / determinant, (l * pp - p * pl) / determinant)
    };
    let ((a, b), (c, d)) = (solve(2, mx), solve(3, my));
    Some([mx - a * mp - b * ml, a, b, my - c * mp - d * ml, c, d])
}

/// The largest distance between a tie point and its place, pixels.
fn residual_pixels(gt: &[f64; 6], points: &[[f64; 4]]) -> f64 {
    let pixel = (gt[1] * gt[5] - gt[2] * gt[4]).abs().sqrt();
    let off = |p: &[f64; 4]| {
        let (x, y) = (gt[0] + gt[1] * p[0] + gt[2] * p[1], gt[3] + gt[4] * p[0] + gt[5] * p[1]);
        (x - p[2]).hypot(y - p[3]) / pixel
    };
    points.iter().map(off).fold(0.0, f64::max)
}

/// Opens a raster and says what its file declares, without reading pixels.
pub fn raster_info(path: &Path, overrides: &RasterSettings) -> Result<RasterInfo, GeoError> {
    describe(path, &open(path)?, overrides)
}

impl RasterInfo {
    fn turned(&self, gt: &[f64; 6]) -> String {
        // Columns and rows at right angles are a rotation, else a shear.
        let skew = (gt[1] * gt[2] + gt[4] * gt[5]).abs() / (gt[1].hypot(gt[4]) * gt[2].hypot(gt[5])).max(1e-300);
        if skew > 1e-6 {
            return "its grid is sheared".to_owned();
        }
        format!("its grid is rotated by {:.4} degrees", gt[4].atan2(gt[1]).to_degrees())
    }

    /// The grid of posts, when it is square, north-up and metric.
    pub fn post_grid(&self, path: &Path) -> Result<PostGrid, GeoError> {
        let unfit = |what: String| GeoError::UnfitGrid { path: path.to_owned(), what };
        let crs = self.crs.as_ref().ok_or_else(|| GeoError::NoCrs { path: path.to_owned() })?;
        let gt = self.geotransform.ok_or_else(|| GeoError::NoGeotransform { path: path.to_owned() })?;
        if gt[1] * gt[5] == gt[2] * gt[4] {
            return Err(unfit("its geotransform is flat: pixels have no area".to_owned()));
        }
        if !crs.projected {
            return Err(unfit(format!("its CRS, {}, is geographic (degrees)", crs.name)));
        }
        if gt[2] != 0.0 || gt[4] != 0.0 {
            return Err(unfit(self.turned(&gt)));
        }
        if gt[1] <= 0.0 || gt[5] >= 0.0 {
            let which =
                if gt[5] > 0.0 { "its rows run from south to north" } else { "its columns run from east to west" };
            return Err(unfit(which.to_owned()));
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
