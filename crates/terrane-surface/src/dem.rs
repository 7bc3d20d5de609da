//! One DEM on its own grid, in the site frame.

use crate::{Posts, SiteRect};
use terrane_core::catmull_rom;

/// Heights on a square grid. Post (column, row) lies at site
/// x = `x0_m` + column `posting_m` (east), z = `z0_m` + row `posting_m`
/// (south), as a north-up raster's rows run.
#[derive(Debug, Clone)]
pub struct DemGrid {
    /// What it is called in messages and query answers.
    pub name: String,
    /// Site x of the first column, metres.
    pub x0_m: f64,
    /// Site z of the first row, metres.
    pub z0_m: f64,
    /// Distance between posts, metres.
    pub posting_m: f64,
    /// Columns.
    pub columns: usize,
    /// Rows.
    pub rows: usize,
    /// Heights above the vertical datum.
    pub posts: Posts,
    /// Added to every height, metres: what levels this DEM to a finer one.
    pub shift_m: f64,
}

impl DemGrid {
    /// A DEM in memory: `columns * rows` heights above the datum, metres,
    /// row-major; NaN is a hole. [`crate::Surface::new`] checks the count.
    pub fn in_memory(
        name: &str,
        (x0_m, z0_m): (f64, f64),
        posting_m: f64,
        (columns, rows): (usize, usize),
        heights_m: Vec<f32>,
    ) -> Self {
        let posts = Posts::whole(columns, rows, heights_m);
        Self { name: name.to_owned(), x0_m, z0_m, posting_m, columns, rows, posts, shift_m: 0.0 }
    }

    /// A base that nobody has measured: `columns * rows` posts of one height
    /// around the site origin, metres above the datum.
    pub fn level(name: &str, height_m: f32, posting_m: f64, (columns, rows): (usize, usize)) -> Self {
        let first_m = |count: usize| -0.5 * (count.saturating_sub(1)) as f64 * posting_m;
        let posts = Posts::level(columns, rows, height_m);
        let (x0_m, z0_m) = (first_m(columns), first_m(rows));
        Self { name: name.to_owned(), x0_m, z0_m, posting_m, columns, rows, posts, shift_m: 0.0 }
    }

    /// Site x of the last column, metres.
    pub fn x1_m(&self) -> f64 {
        self.x0_m + (self.columns as f64 - 1.0) * self.posting_m
    }

    /// Site z of the last row, metres.
    pub fn z1_m(&self) -> f64 {
        self.z0_m + (self.rows as f64 - 1.0) * self.posting_m
    }

    /// From its first to its last posts.
    pub fn rect(&self) -> SiteRect {
        SiteRect { x_m: [self.x0_m, self.x1_m()], z_m: [self.z0_m, self.z1_m()] }
    }

    /// Fractional column and row of a place.
    pub fn column_row(&self, x_m: f64, z_m: f64) -> (f64, f64) {
        ((x_m - self.x0_m) / self.posting_m, (z_m - self.z0_m) / self.posting_m)
    }

    /// Height between posts: Catmull-Rom where all sixteen posts around hold
    /// data, else bilinear; at a post, the post itself, bit for bit. `None` in
    /// a hole or outside.
    pub fn height_m(&self, x_m: f64, z_m: f64) -> Option<f64> {
        self.height_from(|column, row| self.posts.at(column, row), x_m, z_m)
    }

    /// [`DemGrid::height_m`] with posts from elsewhere.
    pub(crate) fn height_from(&self, at: impl Fn(i64, i64) -> Option<f64>, x_m: f64, z_m: f64) -> Option<f64> {
        let (column, row) = self.column_row(x_m, z_m);
        catmull_rom(at, column, row).map(|height| height + self.shift_m)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ramp_is_reproduced_between_posts() {
        let heights_m = (0..64).map(|i| (i % 8) as f32 * 2.0 + (i / 8) as f32 * 3.0).collect();
        let dem = DemGrid::in_memory("t", (-3.5, -3.5), 1.0, (8, 8), heights_m);
        assert_eq!(dem.height_m(-0.5, 0.5), Some(6.0 + 12.0));
        assert!((dem.height_m(-0.25, 1.0).unwrap() - (6.5 + 13.5)).abs() < 1e-12);
    }
}
