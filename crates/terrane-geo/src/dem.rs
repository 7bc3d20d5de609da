//! Heights from a raster, out of core.

use crate::frame::{fitted_crs, grid_in, own_crs_fits};
use crate::info::{body_frame, describe};
use crate::keys::KeyMemory;
use crate::open::{Allowed, Opened, open_named};
use crate::place::Placement;
use crate::sample::{Sample, sample};
use crate::source::{CropPosts, FilePosts};
use crate::values::{HeightRule, RULE_VERSION};
use crate::warp::{Kernel, WarpedPosts};
use crate::{Crs, GeoError, PostGrid, RasterInfo, RasterName, fill::FilledPosts};
use std::path::Path;
use std::sync::Arc;
use terrane_core::{ContentKey, Diagnostic, KeyBuilder, Place, PostSource, PostWindow, Progress, RasterSettings};

/// How [`DemFile::open`] goes about it.
#[derive(Default, Clone, Copy)]
pub struct OpenOptions<'a> {
    /// A small JSON file that remembers keys between runs, so that gigabytes
    /// are not read at every opening. It is made when it is missing.
    pub key_memory: Option<&'a Path>,
    /// Says which files a VRT (or a label) may name. Without it VRTs are
    /// refused.
    pub allowed: Option<Allowed<'a>>,
}

/// An opened DEM: what its file says and where its posts lie. It holds no
/// pixels.
#[derive(Debug, Clone)]
pub struct DemFile {
    /// How it was named.
    pub name: RasterName,
    /// What the file says.
    pub info: RasterInfo,
    /// The file's own CRS, horizontal part.
    pub crs: Crs,
    /// Key of the file's bytes and of the settings that change its heights or
    /// its place. Of a name that is not on disk (`/vsicurl/`...) it is made
    /// from the name, what the file declares, and the sampled values.
    pub key: ContentKey,
    /// Things worth saying about the file.
    pub notes: Vec<Diagnostic>,
    /// Lowest and highest height of a sample, metres; `None` when the sample
    /// holds none.
    pub sample_range_m: Option<(f64, f64)>,
    /// Mean column and row of the file's posts that hold data, by the same
    /// sample.
    pub(crate) sample_middle: Option<(f64, f64)>,
    /// Step between neighbouring heights of integer pixels, metres.
    pub height_quantum_m: Option<f64>,
    fill_within_m: Option<f64>,
    source: Arc<FilePosts>,
    placement: Placement,
}

/// Longitudes and latitudes of a raster, degrees; `None` where a corner lies
/// off the body.
#[derive(Debug, Clone, PartialEq)]
pub struct RasterOutline {
    /// The outer corners of the corner pixels: first row's first and last
    /// column, then last row's last and first column.
    pub corners: [Option<(f64, f64)>; 4],
    /// The middle.
    pub centre: Option<(f64, f64)>,
}

impl DemFile {
    /// Opens a raster and finds out what its heights mean, without reading all
    /// of it: radii are told from heights by a sample of its blocks.
    pub fn open(
        name: &RasterName,
        settings: &RasterSettings,
        options: &OpenOptions<'_>,
        progress: &dyn Progress,
    ) -> Result<Self, GeoError> {
        Self::open_as(name, settings, options, true, progress)
    }

    /// Opens heights, or values of any other kind: those are never radii, and
    /// none is too large.
    pub(crate) fn open_as(
        name: &RasterName,
        settings: &RasterSettings,
        options: &OpenOptions<'_>,
        is_heights: bool,
        progress: &dyn Progress,
    ) -> Result<Self, GeoError> {
        let path = name.as_path();
        let Opened { dataset, target, vrt, files } = open_named(name, options.allowed)?;
        let mut info = describe(path, &dataset, settings)?;
        if info.body_frame.is_none() {
            info.body_frame = body_frame(&target);
        }
        let crs = info.crs.clone().ok_or_else(|| GeoError::NoCrs { path: path.to_owned() })?;
        let gt = info.geotransform.ok_or_else(|| GeoError::NoGeotransform { path: path.to_owned() })?;
        if gt[1] * gt[5] == gt[2] * gt[4] {
            let what = "its geotransform is flat: pixels have no area".to_owned();
            return Err(GeoError::UnfitGrid { path: path.to_owned(), what });
        }
        refuse_cut_short(path, &target, &info)?;
        let body_radius_m = crs.body.semi_major_m;
        let (rule, mut notes) = HeightRule::new(path, &dataset, &info, settings, body_radius_m)?;
        let rule = if is_heights { rule } else { HeightRule { most_m: f64::INFINITY, ..rule } };
        let mut source = FilePosts::new(name.to_string(), target.clone(), vrt, dataset, rule);

        let mut memory = KeyMemory::load(options.key_memory);
        let mut key = KeyBuilder::new("dem-file", RULE_VERSION);
        // What is only carried and shown changes no height.
        let counted = RasterSettings { body_frame: None, vertical_datum: None, ..settings.clone() };
        key = key.bytes("settings", &serde_json::to_vec(&counted).unwrap_or_default());
        for file in &files {
            key = key.key("file", &memory.file(file, progress)?);
        }
        let on_disk =
            (!files.is_empty()).then(|| key.clone().bytes("target", inner_name(&target, &files).as_bytes()).finish());
        let found = match on_disk.and_then(|key| memory.sample(&key)) {
            Some(found) => found,
            None => sample(&source, &info.driver, body_radius_m, on_disk.is_none(), progress)?,
        };
        let key = on_disk.unwrap_or_else(|| {
            let declared = serde_json::to_vec(&info).unwrap_or_default();
            let key = key.bytes("name", name.to_string().as_bytes()).bytes("declared", &declared);
            found.digest.iter().fold(key, |key, digest| key.key("sample", digest)).finish()
        });
        if on_disk.is_some() && memory.sample(&key).is_none() {
            memory.remember_sample(&key, found);
        }
        memory.save(options.key_memory);

        if is_heights && found.is_radius(body_radius_m) {
            if crs.body.semi_minor_m != crs.body.semi_major_m {
                let what = "its values are distances from the body's centre, and its CRS lies on an ellipsoid, where such \
                            a distance is not a height; state an offset, or a CRS on a sphere";
                return Err(GeoError::UnfitValues { path: path.to_owned(), what: what.to_owned() });
            }
            source.rule.radius_m = body_radius_m;
            notes.push(radius_note(path, body_radius_m, &info));
        }
        let sample_range_m = found.range_m(if is_heights { body_radius_m } else { f64::INFINITY });
        if sample_range_m.is_none() {
            notes.push(no_data(path, &info, &found)?);
        }
        notes.extend(facts(path, &info, &target));
        let placement = Placement::new(crs.clone(), gt, info.columns, info.rows);
        Ok(Self {
            name: name.clone(),
            height_quantum_m: source.rule.quantum_m(&info.pixel_type),
            info,
            crs,
            key,
            notes,
            sample_range_m,
            sample_middle: found.middle(),
            fill_within_m: settings.fill_within_m.filter(|within_m| *within_m > 0.0),
            source: Arc::new(source),
            placement,
        })
    }

    /// The file's own grid when it is square, north-up and projected.
    pub fn native_grid(&self) -> Option<PostGrid> {
        self.info.post_grid(self.name.as_path()).ok()
    }

    /// Why the file's own grid does not serve (geographic, rotated, sheared,
    /// south-up, not square), in words; `None` when it does.
    pub fn why_warped(&self) -> Option<String> {
        match self.info.post_grid(self.name.as_path()) {
            Ok(_) => None,
            Err(GeoError::UnfitGrid { what, .. }) => Some(what),
            Err(error) => Some(error.to_string()),
        }
    }

    /// The map frame and grid that fit this raster best. Its own when it has a
    /// native grid. Its own CRS on a square, north-up grid when that CRS is true
    /// to scale there within a hundredth. Else a fitted frame on its own
    /// geographic CRS: polar stereographic beyond 60 degrees, transverse
    /// Mercator for rasters of Earth up to 6 degrees wide, equirectangular
    /// otherwise. The posting is the geometric mean of the raster's two postings
    /// at its middle.
    pub fn natural_frame(&self) -> Result<(Crs, PostGrid), GeoError> {
        if let Some(grid) = self.native_grid() {
            return Ok((self.crs.clone(), grid));
        }
        let path = self.name.as_path();
        let crs = if own_crs_fits(&self.placement) { self.crs.clone() } else { fitted_crs(&self.placement, path)? };
        let grid = grid_in(&self.placement, &crs, None, path)?;
        Ok((crs, grid))
    }

    /// The grid that covers this raster in another CRS of the same body, at
    /// `posting_m` or its own resolution there. Where the map stretches the
    /// ground more than four times (a polar map of a whole globe) it is not
    /// covered.
    pub fn grid_in(&self, crs: &Crs, posting_m: Option<f64>) -> Result<PostGrid, GeoError> {
        match self.native_grid() {
            Some(grid)
                if posting_m.is_none_or(|posting_m| posting_m == grid.posting_m) && self.coincides(crs, &grid) =>
            {
                Ok(grid)
            }
            _ => grid_in(&self.placement, crs, posting_m, self.name.as_path()),
        }
    }

    /// Heights on a grid of `crs`: as they are when it is the file's own grid
    /// or a whole-post crop of it, otherwise resampled straight from the file
    /// as they are read.
    pub fn posts(&self, crs: &Crs, grid: PostGrid) -> Result<Arc<dyn PostSource>, GeoError> {
        let sound = grid.posting_m.is_finite()
            && grid.posting_m > 0.0
            && grid.easting_m.is_finite()
            && grid.northing_m.is_finite();
        if !sound || grid.columns == 0 || grid.rows == 0 || !crs.projected {
            let what = format!("{grid:?} of {} is no grid of posts in metres", crs.name);
            return Err(GeoError::UnfitGrid { path: self.name.as_path().to_owned(), what });
        }
        self.crs.same_body(crs)?;
        let source = Arc::clone(&self.source);
        let posts: Arc<dyn PostSource> = match self.crop(crs, &grid) {
            Some(crop) => Arc::new(CropPosts { source, crop }),
            None => Arc::new(self.warped(source, crs, grid, Kernel::Heights)),
        };
        Ok(match self.fill_within_m {
            Some(within_m) => Arc::new(FilledPosts::new(posts, grid.posting_m, within_m)),
            None => posts,
        })
    }

    /// A band's values on a grid of `crs`: as they are on the file's own grid,
    /// resampled by the kernel otherwise.
    pub(crate) fn band_on(
        &self,
        band: usize,
        crs: &Crs,
        grid: PostGrid,
        kernel: Kernel,
    ) -> Result<Arc<dyn PostSource>, GeoError> {
        self.crs.same_body(crs)?;
        let source = Arc::new(self.source.with_band(band));
        Ok(match self.crop(crs, &grid) {
            Some(crop) => Arc::new(CropPosts { source, crop }),
            None => Arc::new(self.warped(source, crs, grid, kernel)),
        })
    }

    fn warped(&self, source: Arc<FilePosts>, crs: &Crs, grid: PostGrid, kernel: Kernel) -> WarpedPosts {
        WarpedPosts { source, placement: self.placement.clone(), crs: crs.clone(), grid, kernel }
    }

    pub(crate) fn source(&self) -> &FilePosts {
        &self.source
    }

    pub(crate) fn placement(&self) -> &Placement {
        &self.placement
    }

    /// True when a CRS gives every post of the native grid the coordinates that
    /// the file's own does, to a thousandth of a post: two definitions of one
    /// map, such as an old and a new name of it.
    fn coincides(&self, crs: &Crs, grid: &PostGrid) -> bool {
        if crs.wkt() == self.crs.wkt() {
            return true;
        }
        const STEPS: usize = 16;
        let (width, height) = ((grid.columns - 1) as f64, (grid.rows - 1) as f64);
        let share = |k: usize| k as f64 / STEPS as f64;
        let places = (0..=STEPS).flat_map(|r| (0..=STEPS).map(move |c| (c, r)));
        let (own_x, own_y): (Vec<f64>, Vec<f64>) = places
            .map(|(c, r)| {
                let (column, row) = (share(c) * width, share(r) * height);
                (grid.easting_m + column * grid.posting_m, grid.northing_m - row * grid.posting_m)
            })
            .unzip();
        let (mut x, mut y) = (own_x.clone(), own_y.clone());
        let near = |a: &[f64], b: &[f64]| a.iter().zip(b).all(|(a, b)| (a - b).abs() < 1e-3 * grid.posting_m);
        self.crs.transform_to(crs, &mut x, &mut y).is_ok() && near(&x, &own_x) && near(&y, &own_y)
    }

    /// The part of the file's own posts that a grid is, if it is one.
    fn crop(&self, crs: &Crs, grid: &PostGrid) -> Option<PostWindow> {
        let native = self.native_grid().filter(|native| self.coincides(crs, native))?;
        let (column, row) = native.column_row(grid.easting_m, grid.northing_m);
        let longest = grid.columns.max(grid.rows) as f64;
        let same = (grid.posting_m / native.posting_m - 1.0).abs() * longest < 1e-3;
        let whole = (column - column.round()).abs() < 1e-3 && (row - row.round()).abs() < 1e-3;
        let (column, row) = (column.round(), row.round());
        let inside = column >= 0.0
            && row >= 0.0
            && column + grid.columns as f64 <= native.columns as f64
            && row + grid.rows as f64 <= native.rows as f64;
        (same && whole && inside).then_some(PostWindow {
            column: column as usize,
            row: row as usize,
            columns: grid.columns,
            rows: grid.rows,
        })
    }

    /// The file's own posts, whatever their grid: columns and rows as stored,
    /// heights in metres, holes as NaN.
    pub fn raw_posts(&self) -> Arc<dyn PostSource> {
        Arc::clone(&self.source) as Arc<dyn PostSource>
    }

    /// Longitude and latitude of the pixels' outline, for reports.
    pub fn outline_lon_lat(&self) -> Result<RasterOutline, GeoError> {
        let (east, south) = (self.info.columns as f64 - 0.5, self.info.rows as f64 - 0.5);
        let middle = (0.5 * (east - 0.5), 0.5 * (south - 0.5));
        let points = [(-0.5, -0.5), (east, -0.5), (east, south), (-0.5, south), middle];
        let found = self.placement.lon_lat(&points)?;
        let point = |i: usize| found.get(i).copied().filter(|(lon, lat)| lon.is_finite() && lat.is_finite());
        Ok(RasterOutline { corners: [point(0), point(1), point(2), point(3)], centre: point(4) })
    }

    /// Easting and northing of the middle of what a sample found measured,
    /// metres on a grid of `crs` over this raster; `None` when that lies beside
    /// the grid.
    pub fn sample_middle_m(&self, crs: &Crs, grid: &PostGrid) -> Option<(f64, f64)> {
        let (column, row) = self.sample_middle?;
        let (easting_m, northing_m) = match self.native_grid() {
            Some(native) if native == *grid => {
                (grid.easting_m + column * grid.posting_m, grid.northing_m - row * grid.posting_m)
            }
            _ => {
                let (lon_deg, lat_deg) = self.post_lon_lat(column, row).ok()?;
                crs.from_lon_lat(lon_deg, lat_deg).ok()?
            }
        };
        let (column, row) = grid.column_row(easting_m, northing_m);
        let is_inside = (0.0..grid.columns as f64).contains(&column) && (0.0..grid.rows as f64).contains(&row);
        is_inside.then_some((easting_m, northing_m))
    }

    /// Longitude and latitude of one post of the file, degrees: pixel centres
    /// are whole numbers.
    pub fn post_lon_lat(&self, column: f64, row: f64) -> Result<(f64, f64), GeoError> {
        let found = self.placement.lon_lat(&[(column, row)])?;
        found.first().copied().filter(|(lon, lat)| lon.is_finite() && lat.is_finite()).ok_or_else(|| {
            GeoError::Transform { message: format!("post {column}, {row} of {} lies off the body", self.name) }
        })
    }
}

/// An ASCII grid takes two bytes a post at least; GDAL reads on and on in one
/// that ends before.
fn refuse_cut_short(path: &Path, target: &Path, info: &RasterInfo) -> Result<(), GeoError> {
    const ASCII_GRIDS: [&str; 3] = ["AAIGrid", "GRASSASCIIGrid", "ISG"];
    let least = 2 * (info.columns as u64).saturating_mul(info.rows as u64);
    let held = std::fs::metadata(target).map_or(u64::MAX, |found| found.len());
    if !ASCII_GRIDS.contains(&info.driver.as_str()) || held >= least - 1 {
        return Ok(());
    }
    let message = format!(
        "its header promises {} x {} posts, which take {least} bytes at least; it holds {held}: it is cut short",
        info.columns, info.rows
    );
    Err(GeoError::Unreadable { path: path.to_owned(), message })
}

/// The name inside an archive, which its bytes alone do not tell.
fn inner_name(target: &Path, files: &[std::path::PathBuf]) -> String {
    if files.iter().any(|file| file == target) {
        String::new()
    } else {
        target.file_name().unwrap_or_default().to_string_lossy().into_owned()
    }
}

fn note(code: &str, title: &str, path: &Path, detail: String) -> Diagnostic {
    Diagnostic::note(code, title).with_place(Place::file(path.display().to_string())).with_detail(detail)
}

fn radius_note(path: &Path, radius: f64, info: &RasterInfo) -> Diagnostic {
    let mut detail = format!("values are radii; {radius} m is subtracted");
    if info.pixel_type == "Float32" {
        let step = f32::from_bits((radius as f32).to_bits() + 1) - radius as f32;
        detail += &format!("; the file stores them as 32-bit floats, whose step there is {step} m");
    }
    note("raster-radius", "raster stores radii", path, detail)
}

/// A raster without data is an error when all of it was read, else a warning.
fn no_data(path: &Path, info: &RasterInfo, found: &Sample) -> Result<Diagnostic, GeoError> {
    if found.whole {
        let nodata = info.nodata.map_or("NaN".to_owned(), |nodata| nodata.to_string());
        return Err(GeoError::AllNodata { path: path.to_owned(), posts: info.columns * info.rows, nodata });
    }
    Ok(Diagnostic::warning("raster-sample-empty", "sample of the raster holds no data")
        .with_place(Place::file(path.display().to_string()))
        .with_detail("none of the blocks sampled holds a height; values are taken as heights, not radii"))
}

/// What else is worth saying.
fn facts(path: &Path, info: &RasterInfo, target: &Path) -> Vec<Diagnostic> {
    let mut notes = Vec::new();
    if let Some(datum) = &info.vertical_datum {
        let detail = format!("vertical datum {datum}: not applied; heights are used as stored");
        notes.push(note("raster-vertical-datum", "vertical datum not applied", path, detail));
    }
    if info.bands > 1 {
        let detail = format!("it has {} bands; heights are read from the first", info.bands);
        notes.push(note("raster-bands", "raster has several bands", path, detail));
    }
    if let Some(count) = info.tie_points {
        let detail = format!("it has no geotransform; the straight grid that fits its {count} tie points is used");
        notes.push(note("raster-tie-points", "raster is placed by tie points", path, detail));
    }
    if target != path {
        notes.push(note(
            "raster-opened-by",
            "raster opened by another name",
            path,
            format!("read as {}", target.display()),
        ));
    }
    notes
}
