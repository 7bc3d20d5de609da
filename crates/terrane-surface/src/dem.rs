//! One DEM on its own grid, in the site frame.

use terrane_core::Samples;

/// Heights on a square grid. Post (column, row) lies at site
/// x = `x0_m` + column `posting_m` (east), z = `z0_m` + row `posting_m`
/// (south), as a north-up raster's rows run.
#[derive(Debug, Clone, PartialEq)]
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
    /// Heights above the vertical datum, metres, row-major; NaN is a hole.
    pub heights_m: Vec<f32>,
}

impl DemGrid {
    /// Site x of the last column, metres.
    pub fn x1_m(&self) -> f64 {
        self.x0_m + (self.columns as f64 - 1.0) * self.posting_m
    }

    /// Site z of the last row, metres.
    pub fn z1_m(&self) -> f64 {
        self.z0_m + (self.rows as f64 - 1.0) * self.posting_m
    }

    /// Height between posts: Catmull-Rom where all sixteen posts around hold
    /// data, else bilinear; at a post, the post itself, bit for bit. `None` in
    /// a hole or outside.
    pub fn height_m(&self, x_m: f64, z_m: f64) -> Option<f64> {
        let samples = Samples { columns: self.columns, rows: self.rows, values: &self.heights_m };
        samples.catmull_rom((x_m - self.x0_m) / self.posting_m, (z_m - self.z0_m) / self.posting_m)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn grid(heights_m: Vec<f32>) -> DemGrid {
        DemGrid { name: "t".into(), x0_m: -3.5, z0_m: -3.5, posting_m: 1.0, columns: 8, rows: 8, heights_m }
    }

    #[test]
    fn a_ramp_is_reproduced_between_posts() {
        let dem = grid((0..64).map(|i| (i % 8) as f32 * 2.0 + (i / 8) as f32 * 3.0).collect());
        assert_eq!(dem.height_m(-0.5, 0.5), Some(6.0 + 12.0));
        assert!((dem.height_m(-0.25, 1.0).unwrap() - (6.5 + 13.5)).abs() < 1e-12);
    }
}
