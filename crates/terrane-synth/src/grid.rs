//! Where posts lie, and the walk over them.

use rayon::prelude::*;
use terrane_core::{Cancelled, Progress};

/// Rows and columns of the blocks for which nearby craters are gathered once.
const BLOCK: usize = 32;

/// A north-up grid of posts in local metres.
///
/// Post (column, row) lies at east `x0_m + column * posting_m` and north
/// `y0_m - row * posting_m`; row 0 is the north edge.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct GridSpec {
    /// East of the first column, metres from the origin.
    pub x0_m: f64,
    /// North of the first row, metres from the origin.
    pub y0_m: f64,
    /// Distance between neighbouring posts, metres.
    pub posting_m: f64,
    /// Posts in a row.
    pub columns: usize,
    /// Rows.
    pub rows: usize,
}

impl GridSpec {
    /// A square grid of `posts` by `posts` with its middle on the origin.
    #[must_use]
    pub fn centred(posting_m: f64, posts: usize) -> Self {
        let half = 0.5 * posting_m * posts.saturating_sub(1) as f64;
        Self { x0_m: -half, y0_m: half, posting_m, columns: posts, rows: posts }
    }

    /// East and north of a post, metres.
    #[must_use]
    pub fn place(&self, column: usize, row: usize) -> [f64; 2] {
        [self.x0_m + column as f64 * self.posting_m, self.y0_m - row as f64 * self.posting_m]
    }

    /// One value a post, row-major.
    ///
    /// `gather` sees a block's corners (south-west, north-east) and returns what
    /// its posts need; `value` sees that and a post. Each value depends on its post
    /// alone, so threads cannot change it.
    pub(crate) fn fill<G>(
        &self,
        what: &str,
        progress: &dyn Progress,
        gather: impl Fn([f64; 2], [f64; 2]) -> G + Sync,
        value: impl Fn(&G, [f64; 2]) -> f64 + Sync,
    ) -> Result<Vec<f32>, Cancelled> {
        progress.begin(what, self.rows as u64);
        let mut values = vec![0f32; self.columns * self.rows];
        let bands = values.par_chunks_mut((self.columns * BLOCK).max(1)).enumerate();
        bands.try_for_each(|(band, out)| {
            progress.check()?;
            let (first, rows) = (band * BLOCK, out.len() / self.columns);
            for start in (0..self.columns).step_by(BLOCK) {
                let end = (start + BLOCK).min(self.columns);
                let [west, north] = self.place(start, first);
                let [east, south] = self.place(end - 1, first + rows - 1);
                let near = gather([west, south], [east, north]);
                for row in 0..rows {
                    for column in start..end {
                        out[row * self.columns + column] = value(&near, self.place(column, first + row)) as f32;
                    }
                }
            }
            progress.advance(rows as u64);
            Ok(())
        })?;
        Ok(values)
    }
}
