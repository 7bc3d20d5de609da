//! Heights from a raster.

use crate::info::{describe, open, unreadable};
use crate::{Crs, GeoError, PostGrid, RasterInfo};
use std::path::Path;
use terrane_core::{ContentKey, Diagnostic, KeyBuilder, Place, Progress, RasterSettings, Samples};

/// A DEM in memory: heights on a square, north-up grid.
#[derive(Debug, Clone)]
pub struct Dem {
    /// What the file says.
    pub info: RasterInfo,
    /// CRS of the grid.
    pub crs: Crs,
    /// Where the posts are.
    pub grid: PostGrid,
    /// Heights above the datum, metres, row-major from the north-west; a hole
    /// is NaN.
    pub heights_m: Vec<f32>,
    /// How many posts hold a height.
    pub valid: usize,
    /// Lowest and highest height, metres.
    pub range_m: (f32, f32),
    /// Key of the heights and of where they lie.
    pub key: ContentKey,
    /// Things worth saying about the source.
    pub notes: Vec<Diagnostic>,
}

/// More posts than this are refused; the out-of-core path is not here yet.
const MAX_POSTS: usize = 1 << 28;

/// Reads band 1 as heights: scale and offset applied in `f64`, nodata as NaN,
/// radii turned into heights above the body's sphere.
pub fn read_dem(path: &Path, overrides: &RasterSettings, progress: &dyn Progress) -> Result<Dem, GeoError> {
    let dataset = open(path)?;
    let info = describe(path, &dataset, overrides)?;
    let crs = info.crs.clone().ok_or_else(|| GeoError::NoCrs { path: path.to_owned() })?;
    let grid = info.post_grid(path)?;
    if info.columns.saturating_mul(info.rows) > MAX_POSTS {
        let (columns, rows) = (info.columns, info.rows);
        return Err(GeoError::TooLarge { path: path.to_owned(), columns, rows, limit: MAX_POSTS });
    }
    let mut notes = Vec::new();
    let (vertical_unit, note) = vertical_unit(&info, path);
    notes.extend(note);
    if !(info.scale.is_finite() && info.scale != 0.0 && info.offset.is_finite()) {
        let what = format!(
            "its scale is {} and its offset {}; heights need finite ones, and a scale that is not 0",
            info.scale, info.offset
        );
        return Err(GeoError::UnfitValues { path: path.to_owned(), what });
    }

    let band = dataset.rasterband(1).map_err(|error| unreadable(path, error))?;
    let mut heights_m = Vec::with_capacity(info.columns * info.rows);
    progress.begin("reading heights", info.rows as u64);
    let rows_at_once = (1_usize << 20).div_ceil(info.columns.max(1)).clamp(1, info.rows.max(1));
    let first_rows = || (0..info.rows).step_by(rows_at_once);
    let window = |row: usize| -> Result<Vec<Option<f64>>, GeoError> {
        progress.check()?;
        let size = (info.columns, rows_at_once.min(info.rows - row));
        let stored =
            band.read_as::<f64>((0, row as isize), size, size, None).map_err(|error| unreadable(path, error))?;
        let metres = |stored: f64| (stored * info.scale + info.offset) * vertical_unit;
        Ok(stored.data().iter().map(|&value| is_data(value, info.nodata).then(|| metres(value))).collect())
    };
    // The lowest value tells heights from radii, so that a single spike does
    // not. One height is enough: mostly the first window ends the search.
    let mut lowest = f64::INFINITY;
    for row in first_rows() {
        lowest = window(row)?.into_iter().flatten().fold(lowest, f64::min);
        if lowest.is_finite() && !is_radius(lowest, &crs) {
            break;
        }
    }
    let radius_m = if is_radius(lowest, &crs) { crs.body.semi_major_m } else { 0.0 };
    let mut overflow = false;
    for row in first_rows() {
        let values = window(row)?;
        progress.advance((values.len() / info.columns.max(1)) as u64);
        heights_m.extend(values.into_iter().map(|value| {
            let height = value.map_or(f32::NAN, |value| (value - radius_m) as f32);
            overflow |= height.is_infinite() || (value.is_some() && height.is_nan());
            height
        }));
    }
    if overflow {
        let what = "scaled, some heights are larger than numbers go; check the scale and offset".to_owned();
        return Err(GeoError::UnfitValues { path: path.to_owned(), what });
    }
    if radius_m > 0.0 {
        notes.push(radius_note(path, radius_m, &info));
    }
    finish(path, info, crs, grid, heights_m, notes)
}

/// A declared vertical unit in metres; an unknown one counts as metres and is
/// reported.
fn vertical_unit(info: &RasterInfo, path: &Path) -> (f64, Option<Diagnostic>) {
    match info.unit.trim().to_ascii_lowercase().as_str() {
        "" | "m" | "metre" | "meter" | "metres" | "meters" => (1.0, None),
        "km" | "kilometre" | "kilometer" | "kilometers" | "kilometres" => (1000.0, None),
        "ft" | "foot" | "feet" => (0.3048, None),
        "us-ft" | "ftus" | "us survey foot" => (1200.0 / 3937.0, None),
        other => {
            let note = Diagnostic::warning("raster-unit-unknown", "vertical unit not understood")
                .with_place(Place::file(path.display().to_string()))
                .with_detail(format!("the band's unit is `{other}`; its values are taken as metres"));
            (1.0, Some(note))
        }
    }
}

/// True for a value that can only be a distance from the body's centre.
fn is_radius(value: f64, crs: &Crs) -> bool {
    value.is_finite() && value > 0.5 * crs.body.semi_major_m && value < 2.0 * crs.body.semi_major_m
}

fn radius_note(path: &Path, radius: f64, info: &RasterInfo) -> Diagnostic {
    let mut detail = format!("values are radii; {radius} m is subtracted");
    if info.pixel_type == "Float32" {
        let step = f32::from_bits((radius as f32).to_bits() + 1) - radius as f32;
        detail += &format!("; the file stores them as 32-bit floats, whose step there is {step} m");
    }
    Diagnostic::note("raster-radius", "raster stores radii")
        .with_place(Place::file(path.display().to_string()))
        .with_detail(detail)
}

/// A stored value is data when it is finite, is not the nodata value, and is
/// not one of the sentinels at the far end of 32-bit floats.
fn is_data(value: f64, nodata: Option<f64>) -> bool {
    let sentinel =
        nodata.is_some_and(|nodata| value == nodata || (value as f32 == nodata as f32 && nodata.abs() > 1e30));
    value.is_finite() && !sentinel && value.abs() < 1e30
}

fn finish(
    path: &Path,
    info: RasterInfo,
    crs: Crs,
    grid: PostGrid,
    heights_m: Vec<f32>,
    notes: Vec<Diagnostic>,
) -> Result<Dem, GeoError> {
    let (mut valid, mut low, mut high) = (0, f32::INFINITY, f32::NEG_INFINITY);
    for &height in heights_m.iter().filter(|height| !height.is_nan()) {
        valid += 1;
        low = low.min(height);
        high = high.max(height);
    }
    if valid == 0 {
        let nodata = info.nodata.map_or("NaN".to_owned(), |nodata| nodata.to_string());
        return Err(GeoError::AllNodata { path: path.to_owned(), posts: heights_m.len(), nodata });
    }
    let bytes: Vec<u8> = heights_m.iter().flat_map(|height| height.to_bits().to_le_bytes()).collect();
    let key = KeyBuilder::new("dem", 1)
        .bytes("crs", crs.wkt().as_bytes())
        .numbers("grid", &[grid.easting_m, grid.northing_m, grid.posting_m, grid.columns as f64])
        .bytes("heights", &bytes)
        .finish();
    Ok(Dem { info, crs, grid, heights_m, valid, range_m: (low, high), key, notes })
}

/// The same heights on another grid, in another CRS of the same body:
/// Catmull-Rom between posts, bilinear beside a hole, a hole where the source
/// has one or ends.
pub fn resample_dem(
    dem: &Dem,
    crs: &Crs,
    grid: PostGrid,
    path: &Path,
    progress: &dyn Progress,
) -> Result<Dem, GeoError> {
    let source = Samples { columns: dem.grid.columns, rows: dem.grid.rows, values: &dem.heights_m };
    let mut heights_m = Vec::with_capacity(grid.columns * grid.rows);
    progress.begin("resampling heights", grid.rows as u64);
    for row in 0..grid.rows {
        progress.check()?;
        let mut x: Vec<f64> = (0..grid.columns).map(|column| grid.easting_m + column as f64 * grid.posting_m).collect();
        let mut y = vec![grid.northing_m - row as f64 * grid.posting_m; grid.columns];
        crs.transform_to(&dem.crs, &mut x, &mut y)?;
        heights_m.extend(x.iter().zip(&y).map(|(&x, &y)| {
            let (column, row) = dem.grid.column_row(x, y);
            source.catmull_rom(column, row).map_or(f32::NAN, |height| height as f32)
        }));
        progress.advance(1);
    }
    finish(path, dem.info.clone(), crs.clone(), grid, heights_m, dem.notes.clone())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{GeotiffValues, write_geotiff};
    use terrane_core::Quiet;

    fn read(crs: &str, values: &[f32]) -> Dem {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("dem.tif");
        let grid = PostGrid { easting_m: 0.0, northing_m: 0.0, posting_m: 10.0, columns: 4, rows: values.len() / 4 };
        write_geotiff(&path, &Crs::parse(crs).unwrap(), &grid, GeotiffValues::Float(values), true).unwrap();
        read_dem(&path, &RasterSettings::default(), &Quiet).unwrap()
    }

    #[test]
    fn radii_become_heights_also_below_rows_without_data() {
        let mut values = [f32::NAN; 12];
        values[8..].copy_from_slice(&[1_737_400.0, 1_737_650.0, 1_736_900.0, 1_737_401.0]);
        let dem = read("IAU_2015:30135", &values);
        assert_eq!(dem.heights_m[8..], [0.0, 250.0, -500.0, 1.0]);
        assert_eq!(dem.notes[0].code, "raster-radius");
    }

    #[test]
    fn a_spike_as_high_as_the_body_makes_no_radii_of_the_rest() {
        let dem = read("EPSG:32611", &[4.0e6, 120.0, 130.0, 140.0, 150.0, 160.0, 170.0, 180.0]);
        assert_eq!(dem.heights_m[1], 120.0);
        assert!(dem.notes.is_empty());
    }
}
