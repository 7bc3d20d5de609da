//! Where a raster's posts lie, and around which globe.

use crate::source::FilePosts;
use crate::{Crs, GeoError};
use std::ops::Range;
use terrane_core::{PostReadError, PostSource, PostWindow};

/// Latitudes this far beyond a pole are rounding, degrees.
const BEYOND_DEG: f64 = 1e-3;

/// A raster's grid in its own CRS. Columns and rows count posts, which are
/// pixel centres: post (0, 0) is the centre of the first pixel.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Placement {
    pub crs: Crs,
    /// Corner-based geotransform, metres (degrees of a geographic CRS).
    pub gt: [f64; 6],
    pub columns: usize,
    pub rows: usize,
    /// Columns once around the body, where columns run along parallels.
    around: Option<f64>,
    /// Whole columns once around, when the raster holds all of them.
    pub whole: Option<i64>,
    /// True when the outer edge of the first (last) row is a pole of a raster
    /// that goes all around: its neighbours lie across the pole.
    over_pole: (bool, bool),
}

impl Placement {
    pub fn new(crs: Crs, gt: [f64; 6], columns: usize, rows: usize) -> Self {
        let gt = gt.map(|value| value * crs.metres_per_unit);
        let mut placed = Self { crs, gt, columns, rows, around: None, whole: None, over_pole: (false, false) };
        placed.around = placed.columns_around();
        let whole = placed.around.map(f64::round).filter(|around| *around >= 2.0 && columns as f64 >= *around);
        placed.whole = whole.map(|around| around as i64);
        if placed.whole.is_some_and(|around| around % 2 == 0) {
            placed.over_pole = (placed.is_pole(-0.5), placed.is_pole(rows as f64 - 0.5));
        }
        placed
    }

    /// Map coordinates of a fractional post, metres (or degrees).
    pub fn map(&self, column: f64, row: f64) -> (f64, f64) {
        let (c, r, gt) = (column + 0.5, row + 0.5, &self.gt);
        (gt[0] + c * gt[1] + r * gt[2], gt[3] + c * gt[4] + r * gt[5])
    }

    /// Fractional column and row of a map point; around the body, the column
    /// that lies within half of the way around of the raster's middle.
    pub fn column_row(&self, x: f64, y: f64) -> (f64, f64) {
        let gt = &self.gt;
        let (dx, dy) = (x - gt[0], y - gt[3]);
        if gt[2] == 0.0 && gt[4] == 0.0 {
            return (self.wrap(dx / gt[1] - 0.5), dy / gt[5] - 0.5);
        }
        let determinant = gt[1] * gt[5] - gt[2] * gt[4];
        let (c, r) = ((dx * gt[5] - dy * gt[2]) / determinant, (dy * gt[1] - dx * gt[4]) / determinant);
        (self.wrap(c - 0.5), r - 0.5)
    }

    /// The same column, within half of the way around of the middle one.
    pub fn wrap(&self, column: f64) -> f64 {
        let middle = 0.5 * (self.columns as f64 - 1.0);
        self.period().map_or(column, |around| {
            let turns = ((column - middle) / around).round();
            if turns == 0.0 { column } else { column - turns * around }
        })
    }

    /// Columns once around the body, whole when the raster is.
    pub fn period(&self) -> Option<f64> {
        self.whole.map(|around| around as f64).or(self.around)
    }

    /// The column nearest to another one around the body.
    pub fn near(&self, column: f64, other: f64) -> f64 {
        self.period().map_or(column, |around| column - ((column - other) / around).round() * around)
    }

    fn columns_around(&self) -> Option<f64> {
        let gt = &self.gt;
        if gt[2] != 0.0 || gt[4] != 0.0 || gt[1] == 0.0 {
            return None;
        }
        if !self.crs.projected {
            return Some(360.0 / gt[1].abs());
        }
        // A cylindrical map: easting depends on longitude alone, and evenly.
        // One of three steps may cross the map's own seam.
        let (x, y) = self.map(0.5 * self.columns as f64, 0.5 * self.rows as f64);
        let (lon, lat) = self.crs.lon_lat(x, y).ok()?;
        let easting = |lon: f64, lat: f64| self.crs.from_lon_lat(lon, lat).ok().map(|(x, _)| x);
        let steps = |lat: f64| -> Option<[f64; 3]> {
            let at: Option<Vec<f64>> = (0..4).map(|i| easting(lon - 15.0 + 10.0 * f64::from(i), lat)).collect();
            let at = at?;
            let mut steps = [at[1] - at[0], at[2] - at[1], at[3] - at[2]];
            steps.sort_by(f64::total_cmp);
            Some(steps)
        };
        let (here, there) = (steps(0.9 * lat + 1.0)?, steps(0.5 * lat - 3.0)?);
        let step = here[1];
        let even = (here[2] - step).abs().min((here[0] - step).abs()) < 1e-9 * step.abs();
        (even && (there[1] - step).abs() < 1e-9 * step.abs()).then_some(36.0 * step.abs() / gt[1].abs())
    }

    fn is_pole(&self, row: f64) -> bool {
        let (x, y) = self.map(0.5 * self.columns as f64, row);
        let pole = |lat: f64| {
            if !self.crs.projected {
                return Some(lat);
            }
            let lon = self.crs.lon_lat(x, self.map(0.0, 0.5 * self.rows as f64).1).ok()?.0;
            self.crs.from_lon_lat(lon, lat).ok().map(|(_, northing)| northing)
        };
        [90.0, -90.0].into_iter().filter_map(pole).any(|pole| (pole - y).abs() < 0.02 * self.gt[5].abs())
    }

    /// Columns and rows between which there is a height: posts, and what lies
    /// across the seam and the poles.
    pub fn bounds(&self) -> (f64, f64, f64, f64) {
        let (columns, rows) = (self.columns as f64 - 1.0, self.rows as f64 - 1.0);
        let (west, east) = if self.whole.is_some() { (f64::NEG_INFINITY, f64::INFINITY) } else { (0.0, columns) };
        let over = |over: bool| if over { 0.5 } else { 0.0 };
        (west, -over(self.over_pole.0), east, rows + over(self.over_pole.1))
    }

    /// Reads posts of a rectangle that may cross the seam, a pole and the
    /// raster's edge: what is not there is a hole.
    pub fn read(
        &self,
        source: &FilePosts,
        columns: Range<i64>,
        rows: Range<i64>,
        heights_m: &mut Vec<f32>,
    ) -> Result<(), PostReadError> {
        let wide = (columns.end - columns.start).max(0) as usize;
        heights_m.clear();
        heights_m.resize(wide * (rows.end - rows.start).max(0) as usize, f32::NAN);
        let last = self.rows as i64;
        let half = self.whole.unwrap_or(0) / 2;
        let mut part = Vec::new();
        // Rows before the first pole, between, and beyond the last one.
        let parts = [
            (self.over_pole.0, rows.start..rows.end.min(0), -1),
            (true, rows.start.max(0)..rows.end.min(last), 0),
            (self.over_pole.1, rows.start.max(last)..rows.end, 2 * last - 1),
        ];
        for (there, wanted, mirror) in parts {
            if !there || wanted.is_empty() {
                continue;
            }
            let mirrored = mirror != 0;
            let from = if mirrored { mirror - (wanted.end - 1)..mirror - wanted.start + 1 } else { wanted.clone() };
            if from.start < 0 || from.end > last {
                continue;
            }
            let shift = if mirrored { half } else { 0 };
            for (at, first, count) in self.column_parts(columns.start + shift..columns.end + shift) {
                let window = PostWindow {
                    column: first,
                    row: from.start as usize,
                    columns: count,
                    rows: (from.end - from.start) as usize,
                };
                part.clear();
                part.resize(window.len(), 0.0);
                source.read(window, &mut part)?;
                for (i, line) in part.chunks_exact(count).enumerate() {
                    let row = from.start + i as i64;
                    let row = if mirrored { mirror - row } else { row };
                    let start = (row - rows.start) as usize * wide + at;
                    heights_m[start..start + count].copy_from_slice(line);
                }
            }
        }
        Ok(())
    }

    /// The runs of real columns behind a range: where they go, the first of
    /// them and how many.
    fn column_parts(&self, columns: Range<i64>) -> Vec<(usize, usize, usize)> {
        let Some(around) = self.whole else {
            let (start, end) = (columns.start.max(0), columns.end.min(self.columns as i64));
            if start >= end {
                return Vec::new();
            }
            return vec![((start - columns.start) as usize, start as usize, (end - start) as usize)];
        };
        let mut parts = Vec::new();
        let mut at = columns.start;
        while at < columns.end {
            let first = at.rem_euclid(around);
            let count = (around - first).min(columns.end - at);
            parts.push(((at - columns.start) as usize, first as usize, count as usize));
            at += count;
        }
        parts
    }

    /// Longitude and latitude of posts, NaN where there is none.
    pub fn lon_lat(&self, posts: &[(f64, f64)]) -> Result<Vec<(f64, f64)>, GeoError> {
        let (mut x, mut y): (Vec<f64>, Vec<f64>) = posts.iter().map(|&(column, row)| self.map(column, row)).unzip();
        if self.crs.projected {
            self.crs.lon_lat_or_nan(&mut x, &mut y)?;
        }
        // Labels round: an edge a hair beyond a pole is the pole.
        let place = |(lon, lat): (f64, f64)| match lat.abs() <= 90.0 + BEYOND_DEG {
            true => (lon, lat.clamp(-90.0, 90.0)),
            false => (f64::NAN, f64::NAN),
        };
        Ok(x.into_iter().zip(y).map(place).collect())
    }
}
