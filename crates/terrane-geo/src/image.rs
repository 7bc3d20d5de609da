//! Pictures draped over a site.

use crate::info::describe;
use crate::open::{open, unreadable};
use crate::{Crs, GeoError, PostGrid, RasterInfo};
use gdal::raster::{GdalDataType, ResampleAlg};
use std::path::Path;
use terrane_core::colour::srgb_byte_from_linear;
use terrane_core::{ContentKey, KeyBuilder, Progress, RasterSettings};

/// A picture in a site's CRS, 8-bit RGBA, row-major from the north-west.
#[derive(Debug, Clone)]
pub struct Image {
    /// What the file says.
    pub info: RasterInfo,
    /// Where its pixels' centres lie, or `None` when the file has no
    /// georeferencing at all.
    pub grid: Option<PostGrid>,
    /// Width, pixels.
    pub columns: usize,
    /// Height, pixels.
    pub rows: usize,
    /// `columns * rows * 4` bytes: colour as stored, alpha as coverage.
    pub rgba: Vec<u8>,
    /// True when the file has one or two bands (grey, grey and alpha).
    pub grey: bool,
    /// Key of the pixels and of where they lie.
    pub key: ContentKey,
}

/// Reads a picture and places it in `crs`. One of another CRS, or of a grid
/// that is not square and north-up, is resampled to `crs` at its own
/// resolution (bilinear). At most `max_side` pixels a side are kept; a larger
/// one is averaged down while it is read.
pub fn read_image(
    path: &Path,
    overrides: &RasterSettings,
    crs: &Crs,
    max_side: usize,
    progress: &dyn Progress,
) -> Result<Image, GeoError> {
    let dataset = open(path)?;
    let info = describe(path, &dataset, overrides)?;
    let factor = info.columns.max(info.rows).div_ceil(max_side.max(1)).max(1);
    let (columns, rows) = (info.columns.div_ceil(factor).max(1), info.rows.div_ceil(factor).max(1));
    progress.begin("reading picture", info.bands as u64);

    let grey = info.bands <= 2;
    let colour_bands: &[usize] = if grey { &[1, 1, 1] } else { &[1, 2, 3] };
    let mut rgba = vec![255_u8; columns * rows * 4];
    let read = |band: usize| -> Result<Vec<u8>, GeoError> {
        progress.check()?;
        let band = dataset.rasterband(band).map_err(|error| unreadable(path, error))?;
        let algorithm = (factor > 1).then_some(ResampleAlg::Average);
        let (full, kept) = ((info.columns, info.rows), (columns, rows));
        let buffer = band.read_as::<f64>((0, 0), full, kept, algorithm).map_err(|error| unreadable(path, error))?;
        progress.advance(1);
        let kind = band.band_type();
        let is_float = matches!(kind, GdalDataType::Float32 | GdalDataType::Float64);
        if is_float && buffer.data().iter().all(|value| value.is_nan() || (0.0..=1.5).contains(value)) {
            // Reflectance, linear; NaN becomes 0.
            return Ok(buffer.data().iter().map(|value| srgb_byte_from_linear(*value as f32)).collect());
        }
        let scale = if kind == GdalDataType::UInt16 { 255.0 / 65535.0 } else { 1.0 };
        Ok(buffer.data().iter().map(|value| (value * scale).round().clamp(0.0, 255.0) as u8).collect())
    };
    let mut last = None;
    for (channel, &band) in colour_bands.iter().enumerate() {
        if last.as_ref().is_none_or(|(read, _)| *read != band) {
            last = Some((band, read(band)?));
        }
        if let Some((_, values)) = &last {
            rgba.chunks_exact_mut(4).zip(values).for_each(|(pixel, value)| pixel[channel] = *value);
        }
    }
    if let Some(alpha) = [2, 4].contains(&info.bands).then_some(info.bands) {
        let values = read(alpha)?;
        rgba.chunks_exact_mut(4).zip(values).for_each(|(pixel, value)| pixel[3] = value);
    } else if let Some(nodata) = info.nodata.filter(|nodata| nodata.fract() == 0.0 && (0.0..=255.0).contains(nodata)) {
        let nodata = nodata as u8;
        rgba.chunks_exact_mut(4).filter(|p| p[..3].iter().all(|v| *v == nodata)).for_each(|p| p[3] = 0);
    }
    let grid = place(path, &info, crs, columns, rows, &mut rgba)?;
    let (columns, rows) = grid.map_or((columns, rows), |grid| (grid.columns, grid.rows));
    let place = grid.map_or(vec![], |grid| vec![grid.easting_m, grid.northing_m, grid.posting_m]);
    let key = KeyBuilder::new("image", 1)
        .numbers("grid", &place)
        .numbers("size", &[columns as f64, rows as f64])
        .bytes("rgba", &rgba)
        .finish();
    Ok(Image { info, grid, columns, rows, rgba, grey, key })
}

/// The picture's pixel grid in `crs`; resamples `rgba` when it has to.
fn place(
    path: &Path,
    info: &RasterInfo,
    crs: &Crs,
    columns: usize,
    rows: usize,
    rgba: &mut Vec<u8>,
) -> Result<Option<PostGrid>, GeoError> {
    let (own, gt) = match (&info.crs, info.geotransform) {
        (Some(own), Some(gt)) => (own, gt),
        (None, Some(_)) => return Err(GeoError::NoCrs { path: path.to_owned() }),
        (_, None) => return Ok(None),
    };
    // Geotransform of the kept (possibly thinned) pixels.
    let (sx, sy) = (info.columns as f64 / columns as f64, info.rows as f64 / rows as f64);
    let gt = [gt[0], gt[1] * sx, gt[2] * sy, gt[3], gt[4] * sx, gt[5] * sy].map(|value| value * own.metres_per_unit);
    let map = |c: f64, r: f64| (gt[0] + c * gt[1] + r * gt[2], gt[3] + c * gt[4] + r * gt[5]);
    let (w, h) = (columns as f64, rows as f64);

    // The outline in the site's CRS, dense enough for a curved edge.
    let edge = (0..=32).map(|i| f64::from(i) / 32.0);
    let outline: Vec<(f64, f64)> = edge.flat_map(|t| [(t * w, 0.0), (t * w, h), (0.0, t * h), (w, t * h)]).collect();
    let source: Vec<(f64, f64)> = outline.iter().map(|&(c, r)| map(c, r)).collect();
    let (mut x, mut y): (Vec<f64>, Vec<f64>) = source.iter().copied().unzip();
    own.transform_to(crs, &mut x, &mut y)?;
    let moved = source.iter().zip(x.iter().zip(&y)).map(|(s, (x, y))| (s.0 - x).abs().max((s.1 - y).abs()));
    let moved = moved.fold(0.0, |worst: f64, d| if d.is_nan() { f64::INFINITY } else { worst.max(d) });
    let square = gt[2] == 0.0 && gt[4] == 0.0 && gt[1] > 0.0 && ((gt[1] + gt[5]) / gt[1]).abs() * w.max(h) < 0.01;
    if square && moved < 0.01 * gt[1] {
        let (easting_m, northing_m) = map(0.5, 0.5);
        return Ok(Some(PostGrid { easting_m, northing_m, posting_m: gt[1], columns, rows }));
    }

    let finite = |values: &[f64]| {
        values
            .iter()
            .filter(|v| v.is_finite())
            .fold((f64::INFINITY, f64::NEG_INFINITY), |(a, b), v| (a.min(*v), b.max(*v)))
    };
    let ((x0, x1), (y0, y1)) = (finite(&x), finite(&y));
    let posting_m = ((x1 - x0) * (y1 - y0) / (w * h)).sqrt();
    if !(posting_m.is_finite() && posting_m > 0.0) {
        return Err(GeoError::Transform { message: format!("{} has no place in {}", path.display(), crs.name) });
    }
    let count = |length: f64, most: usize| ((length / posting_m).ceil() as usize).clamp(1, most * 4);
    let grid = PostGrid {
        easting_m: x0 + 0.5 * posting_m,
        northing_m: y1 - 0.5 * posting_m,
        posting_m,
        columns: count(x1 - x0, columns),
        rows: count(y1 - y0, rows),
    };
    *rgba = warp(rgba, (columns, rows), gt, own, crs, &grid)?;
    Ok(Some(grid))
}

fn warp(
    rgba: &[u8],
    (columns, rows): (usize, usize),
    gt: [f64; 6],
    own: &Crs,
    crs: &Crs,
    grid: &PostGrid,
) -> Result<Vec<u8>, GeoError> {
    let determinant = gt[1] * gt[5] - gt[2] * gt[4];
    let mut out = Vec::with_capacity(grid.columns * grid.rows * 4);
    for row in 0..grid.rows {
        let mut x: Vec<f64> = (0..grid.columns).map(|column| grid.easting_m + column as f64 * grid.posting_m).collect();
        let mut y = vec![grid.northing_m - row as f64 * grid.posting_m; grid.columns];
        crs.transform_to(own, &mut x, &mut y)?;
        for (x, y) in x.iter().zip(&y) {
            let (dx, dy) = (x - gt[0], y - gt[3]);
            let column = (dx * gt[5] - dy * gt[2]) / determinant - 0.5;
            let row = (dy * gt[1] - dx * gt[4]) / determinant - 0.5;
            out.extend(bilinear_rgba(rgba, columns, rows, column, row));
        }
    }
    Ok(out)
}

/// Bilinear in colour weighted by coverage; uncovered outside.
fn bilinear_rgba(rgba: &[u8], columns: usize, rows: usize, column: f64, row: f64) -> [u8; 4] {
    let inside = column >= -0.5 && row >= -0.5 && column <= columns as f64 - 0.5 && row <= rows as f64 - 0.5;
    if !inside {
        return [0; 4];
    }
    let (mut colour, mut coverage) = ([0.0; 3], 0.0);
    for (dr, dc) in [(0.0, 0.0), (0.0, 1.0), (1.0, 0.0), (1.0, 1.0)] {
        let (c, r) = (column.floor() + dc, row.floor() + dr);
        let weight = (1.0 - (column - c).abs()) * (1.0 - (row - r).abs());
        let (c, r) = (c.clamp(0.0, columns as f64 - 1.0) as usize, r.clamp(0.0, rows as f64 - 1.0) as usize);
        let pixel = &rgba[(r * columns + c) * 4..][..4];
        let weight = weight * f64::from(pixel[3]) / 255.0;
        coverage += weight;
        colour.iter_mut().zip(pixel).for_each(|(sum, value)| *sum += weight * f64::from(*value));
    }
    if coverage <= 0.0 {
        return [0; 4];
    }
    let byte = |value: f64| value.round().clamp(0.0, 255.0) as u8;
    [byte(colour[0] / coverage), byte(colour[1] / coverage), byte(colour[2] / coverage), byte(coverage * 255.0)]
}
