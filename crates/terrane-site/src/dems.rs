//! The DEM layers of a terrain: opened, placed in one map frame.

use crate::{Failure, OpenSite};
use terrane_core::{Diagnostic, Place, PostSource, PostWindow, Progress, SiteFrame};
use terrane_geo::{Crs, DemFile, OpenOptions, PostGrid, RasterName};
use terrane_stage::spec::TerrainLayer;
use terrane_surface::{DemGrid, Posts};

/// A DEM, where it came from and where its posts lie in the site's map frame.
#[derive(Debug, Clone)]
pub struct DemSource {
    /// Prim path of the layer.
    pub prim: String,
    /// The raster.
    pub file: DemFile,
    /// Posts in the site's map frame, cropped and thinned as authored.
    pub grid: PostGrid,
    /// Why these are not the file's own posts, when they are not.
    pub why_resampled: Option<String>,
    /// Side of the window around the origin that the DEM was cropped to, when
    /// it reaches towards the body's limb, metres.
    pub cropped_to_m: Option<f64>,
}

/// Grids up to this many posts are read whole when a site is opened.
const WHOLE_POSTS: usize = 1 << 22;

impl OpenSite {
    /// Opens the raster of a DEM layer.
    pub(crate) fn open_dem(&self, layer: &TerrainLayer, progress: &dyn Progress) -> Result<DemFile, Failure> {
        let Some((asset, attribute)) = layer.asset("layer:demSource") else {
            let detail = "lunco:layer:demSource is not authored".to_owned();
            let mut error = self.error("dem-no-source", "DEM layer names no raster", detail);
            error.place.prim = Some(layer.prim.clone());
            return Err(error.into());
        };
        let (file, settings) = self.raster(asset, attribute)?;
        let name = RasterName::from(file.as_path());
        self.with_raster_options(&file, |options| DemFile::open(&name, &settings, options, progress))
            .map_err(|error| self.at_attribute(error.diagnostic(), attribute).into())
    }

    /// Opens rasters with the site's memory of keys, and its rule for the files
    /// that a VRT may name: those that the twin may read, or that lie beside
    /// it.
    pub(crate) fn with_raster_options<T>(
        &self,
        file: &std::path::Path,
        open: impl FnOnce(&OpenOptions<'_>) -> Result<T, terrane_geo::GeoError>,
    ) -> Result<T, terrane_geo::GeoError> {
        let memory = self.cache_folder().join("sources.json");
        let folder = file.parent().unwrap_or(std::path::Path::new(""));
        let allowed = |named: &std::path::Path| match &self.roots.twin {
            Some(twin) => twin.may_read(named) || (twin.may_read(file) && named.starts_with(folder)),
            None => true,
        };
        open(&OpenOptions { key_memory: Some(&memory), allowed: Some(&allowed) })
    }
}

/// How far from its origin a site reaches at most, metres: ground near the
/// body's limb and beyond has no place over the tangent plane.
fn reach_m(crs: &Crs) -> f64 {
    0.5 * crs.body.semi_major_m
}

/// True when some of a grid lies farther from the origin than a site reaches.
pub(crate) fn reaches_too_far(grid: &PostGrid, crs: &Crs, frame: &SiteFrame) -> bool {
    let (east_m, south_m) = (
        grid.easting_m + (grid.columns - 1) as f64 * grid.posting_m,
        grid.northing_m - (grid.rows - 1) as f64 * grid.posting_m,
    );
    let distances_m = [
        grid.easting_m - frame.origin_easting_m,
        east_m - frame.origin_easting_m,
        grid.northing_m - frame.origin_northing_m,
        south_m - frame.origin_northing_m,
    ];
    distances_m.into_iter().any(|distance_m| distance_m.abs() > reach_m(crs))
}

/// A DEM's grid in the site's map frame, thinned and cropped as its layer asks.
pub(crate) fn place(
    prim: String,
    file: DemFile,
    layer: &TerrainLayer,
    crs: &Crs,
    frame: &SiteFrame,
) -> Result<DemSource, Failure> {
    let number = |name: &str| layer.number(name).filter(|value| *value > 0.0);
    let own = file.grid_in(crs, None)?;
    let target_m = number("layer:targetRes").filter(|target| *target > own.posting_m * 1.001);
    let mut grid = match target_m {
        Some(_) => file.grid_in(crs, target_m)?,
        None => own,
    };
    let is_native = file.native_grid().is_some_and(|native| native == own);
    let why_resampled = match (is_native, target_m) {
        (true, None) => None,
        (true, Some(target_m)) => Some(format!("lunco:layer:targetRes is {target_m} m")),
        (false, _) => {
            Some(file.why_warped().unwrap_or_else(|| format!("its CRS, {}, is not the site's", file.crs.name)))
        }
    };
    let reach_m = reach_m(crs);
    let too_far = reaches_too_far(&grid, crs, frame);
    let asked_m = number("layer:windowM");
    let window_m = if too_far { Some(asked_m.unwrap_or(f64::INFINITY).min(2.0 * reach_m)) } else { asked_m };
    let cropped_to_m = (too_far && window_m != asked_m).then_some(2.0 * reach_m);
    if let Some(window_m) = window_m {
        grid = crop(&grid, frame, window_m).ok_or_else(|| {
            let detail = format!(
                "lunco:layer:windowM is {window_m} m around the site origin; fewer than two posts a side lie in it"
            );
            Diagnostic::error("dem-window", "DEM's window holds no ground")
                .with_place(Place { prim: Some(prim.clone()), ..Place::file(file.name.to_string()) })
                .with_detail(detail)
        })?;
    }
    Ok(DemSource { prim, file, grid, why_resampled, cropped_to_m })
}

/// The posts within a square of `window_m` around the site origin.
fn crop(grid: &PostGrid, frame: &SiteFrame, window_m: f64) -> Option<PostGrid> {
    let (column, row) = grid.column_row(frame.origin_easting_m, frame.origin_northing_m);
    let reach = 0.5 * window_m / grid.posting_m;
    let range = |middle: f64, count: usize| {
        let first = (middle - reach).ceil().clamp(0.0, count as f64 - 1.0);
        let last = (middle + reach).floor().clamp(0.0, count as f64 - 1.0);
        (last > first).then_some((first as usize, last as usize))
    };
    let ((c0, c1), (r0, r1)) = (range(column, grid.columns)?, range(row, grid.rows)?);
    Some(PostGrid {
        easting_m: grid.easting_m + c0 as f64 * grid.posting_m,
        northing_m: grid.northing_m - r0 as f64 * grid.posting_m,
        columns: c1 - c0 + 1,
        rows: r1 - r0 + 1,
        ..*grid
    })
}

/// What is known of a DEM's heights.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct DemHeights {
    /// Lowest and highest, metres above the datum; `None` when there are none.
    pub range_m: Option<(f64, f64)>,
    /// Share of posts without data; `None` when only a sample was read.
    pub nodata_share: Option<f64>,
}

/// Grids with more posts are sampled and not counted.
const COUNTED_POSTS: usize = 1 << 26;

impl DemSource {
    /// Counts holes and finds the range of heights, of all posts when they are
    /// not too many, else of a sample.
    pub fn heights(&self, crs: &Crs, progress: &dyn Progress) -> Result<DemHeights, Failure> {
        if self.grid.columns * self.grid.rows > COUNTED_POSTS {
            return Ok(DemHeights { range_m: self.file.sample_range_m, nodata_share: None });
        }
        let found = terrane_geo::statistics(&*self.file.posts(crs, self.grid)?, progress)?;
        Ok(DemHeights {
            range_m: found.range_m.map(|(low, high)| (low.into(), high.into())),
            nodata_share: Some(1.0 - found.valid as f64 / found.posts.max(1) as f64),
        })
    }

    /// The posts as the surface takes them: whole when they are few, page by
    /// page otherwise.
    pub(crate) fn grid_in_site(
        &self,
        crs: &Crs,
        frame: &SiteFrame,
        progress: &dyn Progress,
    ) -> Result<DemGrid, Failure> {
        let source = self.file.posts(crs, self.grid)?;
        let (columns, rows) = (self.grid.columns, self.grid.rows);
        let posts = match source.is_all_measured() && columns * rows <= WHOLE_POSTS {
            true => Posts::whole(columns, rows, read_whole(&*source, progress)?),
            false => Posts::paged(source),
        };
        let first = frame.site_from_map(self.grid.easting_m, self.grid.northing_m, 0.0);
        Ok(DemGrid {
            name: self.prim.clone(),
            x0_m: first.x,
            z0_m: first.z,
            posting_m: self.grid.posting_m,
            columns,
            rows,
            posts,
            shift_m: 0.0,
        })
    }
}

fn read_whole(source: &dyn PostSource, progress: &dyn Progress) -> Result<Vec<f32>, Failure> {
    let (columns, rows) = source.size();
    let mut heights_m = vec![f32::NAN; columns * rows];
    let step = source.block_size().1.max(1);
    progress.begin("reading heights", rows as u64);
    for row in (0..rows).step_by(step) {
        progress.check()?;
        let window = PostWindow { column: 0, row, columns, rows: step.min(rows - row) };
        source
            .read(window, &mut heights_m[row * columns..][..window.len()])
            .map_err(|error| Failure::unread(&error))?;
        progress.advance(window.rows as u64);
    }
    Ok(heights_m)
}
