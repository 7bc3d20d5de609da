//! Heights of one grid read from a raster of another.
//!
//! Each post is found in the raster by exact transformation at every eighth
//! post, bilinear between where that errs by less than a thousandth of a
//! source post, and exact for every post elsewhere. Heights between source
//! posts are Catmull-Rom, bilinear beside a hole. Where posts lie more than two
//! source posts apart, the mean over the post's own footprint is taken instead,
//! so that thinning does not alias; a footprint less than half measured is a
//! hole. Cells of the target grid, not windows, decide all of it, so that a
//! post's height does not depend on the window that it is read with.

use crate::place::Placement;
use crate::source::FilePosts;
use crate::{Crs, GeoError, PostGrid};
use std::sync::Arc;
use terrane_core::{PostReadError, PostSource, PostWindow, bilinear, catmull_rom, snap_to_post};

/// Target posts along a cell.
const CELL: usize = 16;
/// Largest error of interpolated places, source posts.
const MOST_OFF: f64 = 1e-3;
/// Target posting in source postings beyond which footprints are averaged.
const THINNED: f64 = 2.0;
/// Target posts that are placed at once.
const PLACED_POSTS: usize = 1 << 18;
/// Source posts that are held at once (16 MiB).
const HELD_POSTS: i64 = 4 << 20;

/// A raster resampled to a grid, once, as it is read.
#[derive(Debug)]
pub(crate) struct WarpedPosts {
    pub source: Arc<FilePosts>,
    pub placement: Placement,
    pub crs: Crs,
    pub grid: PostGrid,
    pub kernel: Kernel,
}

/// How a value between source posts is found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kernel {
    /// Heights: Catmull-Rom, bilinear beside a hole, means when thinned.
    Heights,
    /// Colours and other quantities: bilinear up to the pixels' outer edges,
    /// means when thinned.
    Quantities,
    /// Classes: the pixel that covers the place, always.
    Classes,
}

/// Where a target post lies among source posts, and its footprint there.
#[derive(Debug, Clone, Copy)]
struct Place {
    column: i64,
    row: i64,
    /// Fractions of a post beyond `column` and `row`.
    u: f64,
    v: f64,
    /// Half of the footprint's width and height, source posts; 0 when the
    /// height is interpolated.
    half: (f32, f32),
}

/// The places of a cell's posts: fractional column, row, and footprint.
enum Cell {
    Even { corners: [(f64, f64); 4], footprint: (f64, f64) },
    Exact(Vec<(f64, f64)>),
}

impl WarpedPosts {
    fn places_of(&self, x: &mut [f64], y: &mut [f64]) -> Result<Vec<(f64, f64)>, GeoError> {
        self.crs.transform_to(&self.placement.crs, x, y)?;
        Ok(x.iter().zip(y).map(|(x, y)| self.placement.column_row(*x, *y)).collect())
    }

    /// Exact places of a cell's posts, `count` a side, `step` posts apart.
    fn exact(&self, cell: (usize, usize), count: usize, step: usize) -> Result<Vec<(f64, f64)>, GeoError> {
        let grid = &self.grid;
        let index = |i: usize| (i % count * step + cell.0 * CELL, i / count * step + cell.1 * CELL);
        let (mut x, mut y): (Vec<f64>, Vec<f64>) = (0..count * count)
            .map(index)
            .map(|(c, r)| (grid.easting_m + c as f64 * grid.posting_m, grid.northing_m - r as f64 * grid.posting_m))
            .unzip();
        self.places_of(&mut x, &mut y)
    }

    fn cell(&self, cell: (usize, usize)) -> Result<Cell, GeoError> {
        // Corners, middles of the edges and the middle: curvature of opposite
        // signs along the two axes cancels in the middle alone.
        let mut nodes = self.exact(cell, 3, CELL / 2)?;
        let first = nodes[0].0;
        nodes.iter_mut().for_each(|node| node.0 = self.placement.near(node.0, first));
        let corners = [nodes[0], nodes[2], nodes[6], nodes[8]];
        let off = |(i, node): (usize, &(f64, f64))| {
            let (c, r) = between(&corners, (i % 3) as f64 * 0.5, (i / 3) as f64 * 0.5);
            (c - node.0).abs().max((r - node.1).abs())
        };
        // A comparison that NaN fails.
        if nodes.iter().enumerate().map(off).all(|off| off < MOST_OFF) {
            let part = 1.0 / CELL as f64;
            let along =
                |a: usize, b: usize| ((corners[b].0 - corners[a].0) * part, (corners[b].1 - corners[a].1) * part);
            let footprint = footprint(along(0, 1), along(0, 2));
            return Ok(Cell::Even { corners, footprint });
        }
        Ok(Cell::Exact(self.exact(cell, CELL + 1, 1)?))
    }

    /// Places of a window of the target grid, row-major; `None` where there is
    /// no height.
    fn places(&self, window: PostWindow) -> Result<Vec<Option<Place>>, GeoError> {
        let mut places = vec![None; window.len()];
        let (last_column, last_row) = (window.column + window.columns, window.row + window.rows);
        for cell_row in window.row / CELL..last_row.div_ceil(CELL) {
            for cell_column in window.column / CELL..last_column.div_ceil(CELL) {
                let cell = self.cell((cell_column, cell_row))?;
                let rows = (cell_row * CELL).max(window.row)..((cell_row + 1) * CELL).min(last_row);
                for row in rows {
                    let columns = (cell_column * CELL).max(window.column)..((cell_column + 1) * CELL).min(last_column);
                    for column in columns {
                        let (i, j) = (column - cell_column * CELL, row - cell_row * CELL);
                        let (at, footprint) = match &cell {
                            Cell::Even { corners, footprint } => {
                                let part = 1.0 / CELL as f64;
                                (between(corners, i as f64 * part, j as f64 * part), *footprint)
                            }
                            Cell::Exact(posts) => self.exact_post(posts, i, j),
                        };
                        places[(row - window.row) * window.columns + column - window.column] =
                            self.place(at, footprint);
                    }
                }
            }
        }
        Ok(places)
    }

    fn exact_post(&self, posts: &[(f64, f64)], i: usize, j: usize) -> ((f64, f64), (f64, f64)) {
        let at = posts[j * (CELL + 1) + i];
        let step = |other: (f64, f64)| (self.placement.near(other.0, at.0) - at.0, other.1 - at.1);
        let (right, down) = (step(posts[j * (CELL + 1) + i + 1]), step(posts[(j + 1) * (CELL + 1) + i]));
        let (wide, high) = footprint(right, down);
        // Beyond a map's edge there is no neighbour to tell the footprint.
        let known = |length: f64| if length.is_finite() { length } else { 1.0 };
        (at, (known(wide), known(high)))
    }

    fn place(&self, (column, row): (f64, f64), (wide, high): (f64, f64)) -> Option<Place> {
        if !(column.is_finite() && row.is_finite()) {
            return None;
        }
        let (column, row) = (snap_to_post(self.placement.wrap(column)), snap_to_post(row));
        let (west, north, east, south) = self.placement.bounds();
        let half = if wide.max(high) > THINNED && self.kernel != Kernel::Classes {
            let most = self.placement.period().unwrap_or(f64::MAX);
            ((0.5 * wide.max(1.0).min(most)) as f32, (0.5 * high.max(1.0)) as f32)
        } else {
            (0.0, 0.0)
        };
        // A pixel reaches half a post beyond its middle.
        let (mut column, mut row) = (column, row);
        if self.kernel != Kernel::Heights && half.0 == 0.0 {
            let onto = |place: f64, low: f64, high: f64| {
                let near = place >= low - 0.5 && place <= high + 0.5;
                if near { place.clamp(low, high) } else { place }
            };
            (column, row) = (onto(column, west, east), onto(row, north, south));
        }
        let (hc, hr) = (f64::from(half.0), f64::from(half.1));
        let inside = column + hc >= west && column - hc <= east && row + hr >= north && row - hr <= south;
        let (c, r) = (column.floor(), row.floor());
        inside.then_some(Place { column: c as i64, row: r as i64, u: column - c, v: row - r, half })
    }

    /// Heights of a part of the placed posts, reading the source once when what
    /// they need can be held, else half by half.
    fn heights(&self, part: Part<'_>, heights_m: &mut [f32], held: &mut Vec<f32>) -> Result<(), PostReadError> {
        let mut reach: Option<Reach> = None;
        let mut near = 0;
        part.each(|_, place| {
            let own = place.reach();
            match &mut reach {
                Some(reach) => reach.widen(&own.moved(self.turns(own.columns.0, near))),
                None => {
                    near = own.columns.0;
                    reach = Some(own);
                }
            }
        });
        let Some(mut reach) = reach else { return Ok(()) };
        // Rows far outside hold nothing.
        reach.rows.0 = reach.rows.0.max(-(self.placement.rows as i64));
        reach.rows.1 = reach.rows.1.min(2 * self.placement.rows as i64);
        if reach.len() > HELD_POSTS {
            if let Some((one, two)) = part.halves() {
                self.heights(one, heights_m, held)?;
                return self.heights(two, heights_m, held);
            }
            let mut result = Ok(());
            part.each(|i, place| {
                if result.is_ok() {
                    result = self.large_mean(&place, held).map(|height| heights_m[i] = height);
                }
            });
            return result;
        }
        self.placement.read(&self.source, reach.columns.0..reach.columns.1, reach.rows.0..reach.rows.1, held)?;
        let at = |column: i64, row: i64| reach.at(held, column, row);
        part.each(|i, place| {
            let turned = self.turns(place.reach().columns.0, near);
            let height = if place.half.0 > 0.0 {
                let mut mean = Mean::default();
                let rows = place.mean_rows();
                place.add_rows(&mut mean, rows.0..rows.1, |column, row| at(column + turned, row));
                mean.height()
            } else {
                let near = |c: i64, r: i64| at(place.column + c + turned, place.row + r);
                match self.kernel {
                    Kernel::Heights => catmull_rom(near, place.u, place.v),
                    Kernel::Quantities => bilinear(near, place.u, place.v),
                    Kernel::Classes => near(i64::from(place.u >= 0.5), i64::from(place.v >= 0.5)),
                }
            };
            heights_m[i] = height.map_or(f32::NAN, |height| height as f32);
        });
        Ok(())
    }

    /// Columns to add so that a column lies near another around the body.
    fn turns(&self, column: i64, near: i64) -> i64 {
        self.placement.whole.map_or(0, |around| ((near - column) as f64 / around as f64).round() as i64 * around)
    }

    /// The mean over a footprint too large to hold, some rows at a time.
    fn large_mean(&self, place: &Place, held: &mut Vec<f32>) -> Result<f32, PostReadError> {
        let reach = place.reach();
        let at_once = (HELD_POSTS / (reach.columns.1 - reach.columns.0).max(1)).max(1);
        let (mut row, end) = place.mean_rows();
        let mut mean = Mean::default();
        while row < end {
            let next = (row + at_once).min(end);
            self.placement.read(&self.source, reach.columns.0..reach.columns.1, row..next, held)?;
            let part = Reach { columns: reach.columns, rows: (row, next) };
            place.add_rows(&mut mean, row..next, |column, row| part.at(held, column, row));
            row = next;
        }
        Ok(mean.height().map_or(f32::NAN, |height| height as f32))
    }
}

/// Bilinear between four corners in row-major order.
fn between(corners: &[(f64, f64); 4], u: f64, v: f64) -> (f64, f64) {
    let mix = |a: f64, b: f64, c: f64, d: f64| (a * (1.0 - u) + b * u) * (1.0 - v) + (c * (1.0 - u) + d * u) * v;
    let [a, b, c, d] = *corners;
    (mix(a.0, b.0, c.0, d.0), mix(a.1, b.1, c.1, d.1))
}

/// Width and height in source posts of a target post, from its two sides.
fn footprint(right: (f64, f64), down: (f64, f64)) -> (f64, f64) {
    (right.0.hypot(down.0), right.1.hypot(down.1))
}

#[derive(Debug, Default)]
struct Mean {
    sum: f64,
    weight: f64,
    valid: f64,
}

impl Mean {
    fn height(&self) -> Option<f64> {
        (self.valid > 0.0 && self.valid >= 0.5 * self.weight).then(|| self.sum / self.valid)
    }
}

impl Place {
    /// The source posts that may count.
    fn reach(&self) -> Reach {
        let (c, r) = (f64::from(self.half.0).ceil() as i64 + 1, f64::from(self.half.1).ceil() as i64 + 1);
        Reach { columns: (self.column - c, self.column + c + 2), rows: (self.row - r, self.row + r + 2) }
    }

    fn mean_rows(&self) -> (i64, i64) {
        self.reach().rows
    }

    /// Adds rows to the mean, each post by how much of the footprint it covers.
    fn add_rows(&self, mean: &mut Mean, rows: std::ops::Range<i64>, at: impl Fn(i64, i64) -> Option<f64>) {
        // Relative to the whole post, so that no large number rounds.
        let cover = |post: i64, whole: i64, fraction: f64, half: f32| {
            let (place, half) = ((post - whole) as f64 - fraction, f64::from(half));
            (half.min(place + 0.5) - (-half).max(place - 0.5)).max(0.0)
        };
        let columns = self.reach().columns;
        for row in rows {
            let high = cover(row, self.row, self.v, self.half.1);
            if high <= 0.0 {
                continue;
            }
            for column in columns.0..columns.1 {
                let weight = high * cover(column, self.column, self.u, self.half.0);
                if weight > 0.0 {
                    mean.weight += weight;
                    if let Some(height) = at(column, row) {
                        mean.sum += weight * height;
                        mean.valid += weight;
                    }
                }
            }
        }
    }
}

/// A rectangle of source posts, ends excluded.
#[derive(Debug, Clone, Copy)]
struct Reach {
    columns: (i64, i64),
    rows: (i64, i64),
}

impl Reach {
    fn moved(&self, columns: i64) -> Self {
        Self { columns: (self.columns.0 + columns, self.columns.1 + columns), rows: self.rows }
    }

    fn widen(&mut self, other: &Self) {
        self.columns = (self.columns.0.min(other.columns.0), self.columns.1.max(other.columns.1));
        self.rows = (self.rows.0.min(other.rows.0), self.rows.1.max(other.rows.1));
    }

    fn len(&self) -> i64 {
        (self.columns.1 - self.columns.0).saturating_mul(self.rows.1 - self.rows.0)
    }

    fn at(&self, held: &[f32], column: i64, row: i64) -> Option<f64> {
        let inside = (self.columns.0..self.columns.1).contains(&column) && (self.rows.0..self.rows.1).contains(&row);
        let wide = self.columns.1 - self.columns.0;
        let place = inside.then(|| ((row - self.rows.0) * wide + column - self.columns.0) as usize)?;
        held.get(place).filter(|height| !height.is_nan()).map(|height| f64::from(*height))
    }
}

/// A rectangle of placed posts.
#[derive(Debug, Clone, Copy)]
struct Part<'a> {
    places: &'a [Option<Place>],
    wide: usize,
    columns: (usize, usize),
    rows: (usize, usize),
}

impl Part<'_> {
    fn each(&self, mut work: impl FnMut(usize, Place)) {
        for row in self.rows.0..self.rows.1 {
            for i in row * self.wide + self.columns.0..row * self.wide + self.columns.1 {
                if let Some(place) = self.places[i] {
                    work(i, place);
                }
            }
        }
    }

    fn halves(&self) -> Option<(Self, Self)> {
        let (columns, rows) = (self.columns.1 - self.columns.0, self.rows.1 - self.rows.0);
        if columns.max(rows) < 2 {
            return None;
        }
        let (mut one, mut two) = (*self, *self);
        if columns >= rows {
            one.columns.1 = self.columns.0 + columns / 2;
            two.columns.0 = one.columns.1;
        } else {
            one.rows.1 = self.rows.0 + rows / 2;
            two.rows.0 = one.rows.1;
        }
        Some((one, two))
    }
}

impl PostSource for WarpedPosts {
    fn size(&self) -> (usize, usize) {
        (self.grid.columns, self.grid.rows)
    }

    fn block_size(&self) -> (usize, usize) {
        let (columns, rows) = self.size();
        // Whole rows of a striped file are decoded whatever is read of them.
        let wide = if self.source.striped() { columns } else { columns.min(512) };
        let high = ((1 << 18) / wide.max(1) / CELL * CELL).clamp(CELL, 512);
        (wide, high.min(rows))
    }

    fn read(&self, window: PostWindow, heights_m: &mut [f32]) -> Result<(), PostReadError> {
        let failed = |message: String| PostReadError { source_name: self.source.name.clone(), message };
        if heights_m.len() != window.len() {
            return Err(failed(format!("{window:?} does not fit {} heights", heights_m.len())));
        }
        heights_m.fill(f32::NAN);
        let mut held = Vec::new();
        let mut first = 0;
        while first < window.rows && window.columns > 0 {
            // To the next border of cells after as many rows as can be placed.
            let row = window.row + first;
            let whole = (PLACED_POSTS / window.columns / CELL).max(1) * CELL;
            let rows = (whole - row % CELL).min(window.rows - first);
            let band = PostWindow { row, rows, ..window };
            let places = self.places(band).map_err(|error| failed(error.to_string()))?;
            let part = Part { places: &places, wide: band.columns, columns: (0, band.columns), rows: (0, rows) };
            let out = &mut heights_m[first * window.columns..(first + rows) * window.columns];
            self.heights(part, out, &mut held)?;
            first += rows;
        }
        Ok(())
    }
}
