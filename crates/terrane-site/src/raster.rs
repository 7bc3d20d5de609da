//! `terrane inspect` on a raster: what its file says and how a site would use
//! it.

use crate::Failure;
use serde::Serialize;
use terrane_core::{Diagnostic, Progress, RasterSettings};
use terrane_geo::{Crs, DemFile, DemStatistics, GeoError, OpenOptions, PostGrid, RasterInfo, RasterName, raster_info};

/// What a raster holds.
#[derive(Debug, Clone, Serialize)]
pub struct RasterReport {
    /// How it was named.
    pub raster: String,
    /// What its file says.
    pub info: RasterInfo,
    /// How a site would use it as a DEM, or `None` when it can't.
    pub dem: Option<DemFacts>,
    /// Everything that there is to say, errors included.
    pub diagnostics: Vec<Diagnostic>,
}

/// A raster as a DEM.
#[derive(Debug, Clone, Serialize)]
pub struct DemFacts {
    /// Longitude and latitude of the outer corners (first row, then last), and
    /// of the middle, degrees; `None` off the body.
    pub corners_lon_lat_deg: [Option<(f64, f64)>; 4],
    /// The middle.
    pub centre_lon_lat_deg: Option<(f64, f64)>,
    /// The map frame that a site of this raster alone would have.
    pub map_frame: Crs,
    /// Its posts there.
    pub grid: PostGrid,
    /// Why these are not the file's own posts, when they are not.
    pub why_resampled: Option<String>,
    /// All posts, counted; `None` when they are too many.
    pub statistics: Option<DemStatistics>,
    /// Lowest and highest height of a sample, metres.
    pub sample_range_m: Option<(f64, f64)>,
    /// Content key of the file and its settings.
    pub key: String,
}

/// Larger rasters are sampled unless counting is asked for.
const COUNTED_POSTS: usize = 1 << 28;

/// Says what a raster holds; a raster that is no DEM is a diagnostic.
pub fn inspect_raster(
    name: &RasterName,
    settings: &RasterSettings,
    count_all: bool,
    progress: &dyn Progress,
) -> Result<RasterReport, Failure> {
    let options = OpenOptions { key_memory: None, allowed: Some(&|_| true) };
    match DemFile::open(name, settings, &options, progress) {
        Ok(file) => {
            let outline = file.outline_lon_lat()?;
            let (map_frame, grid) = file.natural_frame()?;
            let counted = count_all || file.info.columns * file.info.rows <= COUNTED_POSTS;
            let statistics = if counted { Some(file.statistics(progress)?) } else { None };
            let dem = DemFacts {
                corners_lon_lat_deg: outline.corners,
                centre_lon_lat_deg: outline.centre,
                map_frame,
                grid,
                why_resampled: file.why_warped(),
                statistics,
                sample_range_m: file.sample_range_m,
                key: file.key.to_string(),
            };
            Ok(RasterReport { raster: name.to_string(), info: file.info, dem: Some(dem), diagnostics: file.notes })
        }
        Err(error @ GeoError::Cancelled(_)) => Err(error.into()),
        Err(error) => {
            // What can be said of it is said.
            let info = raster_info(name.as_path(), settings).map_err(|_| Failure::from(error.diagnostic()))?;
            let diagnostics = vec![error.diagnostic()];
            Ok(RasterReport { raster: name.to_string(), info, dem: None, diagnostics })
        }
    }
}
