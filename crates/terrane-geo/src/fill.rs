//! Small holes filled from the data around them.

use std::sync::Arc;
use terrane_core::{PostReadError, PostSource, PostWindow};

/// Posts that a hole is filled from at most, whatever the distance in metres.
const MOST_REACH: usize = 64;

/// The eight directions in which data is looked for, clockwise.
const DIRECTIONS: [(i64, i64); 8] = [(0, -1), (1, -1), (1, 0), (1, 1), (0, 1), (-1, 1), (-1, 0), (-1, -1)];

/// Fills holes by the nearest valid post in each of eight directions, weighted
/// by the inverse square of its distance. A hole with data on one side only,
/// or with none within reach, stays a hole.
#[derive(Debug)]
pub(crate) struct FilledPosts {
    inner: Arc<dyn PostSource>,
    posting_m: f64,
    within_m: f64,
    reach: usize,
}

impl FilledPosts {
    pub fn new(inner: Arc<dyn PostSource>, posting_m: f64, within_m: f64) -> Self {
        let reach = (within_m / posting_m).floor().clamp(0.0, MOST_REACH as f64) as usize;
        Self { inner, posting_m, within_m, reach }
    }

    /// The window and as many posts around it as may fill it.
    fn around(&self, window: PostWindow) -> Result<(PostWindow, Vec<f32>), PostReadError> {
        let (columns, rows) = self.size();
        let (column, row) = (window.column.saturating_sub(self.reach), window.row.saturating_sub(self.reach));
        let wide = PostWindow {
            column,
            row,
            columns: (window.column + window.columns + self.reach).min(columns) - column,
            rows: (window.row + window.rows + self.reach).min(rows) - row,
        };
        let mut heights_m = vec![f32::NAN; wide.len()];
        self.inner.read(wide, &mut heights_m)?;
        Ok((wide, heights_m))
    }

    /// The height for a hole, if there is one.
    fn fill(&self, window: PostWindow, heights_m: &[f32], column: usize, row: usize) -> Option<f32> {
        let mut found = [false; 8];
        let (mut sum, mut weights) = (0.0, 0.0);
        for (direction, (dc, dr)) in DIRECTIONS.into_iter().enumerate() {
            let post_m = self.posting_m * if dc != 0 && dr != 0 { std::f64::consts::SQRT_2 } else { 1.0 };
            for step in 1..=self.reach as i64 {
                let (c, r) = (column as i64 + dc * step, row as i64 + dr * step);
                let inside = (0..window.columns as i64).contains(&c) && (0..window.rows as i64).contains(&r);
                let distance_m = post_m * step as f64;
                if !inside || distance_m > self.within_m {
                    break;
                }
                let height = heights_m[r as usize * window.columns + c as usize];
                if !height.is_nan() {
                    let weight = 1.0 / (distance_m * distance_m);
                    sum += weight * f64::from(height);
                    weights += weight;
                    found[direction] = true;
                    break;
                }
            }
        }
        // Opposite to within an eighth of a turn.
        let between = (0..8).any(|i| found[i] && (3..=5).any(|turn| found[(i + turn) % 8]));
        between.then_some((sum / weights) as f32)
    }

    fn each_hole(
        &self,
        window: PostWindow,
        mut work: impl FnMut(usize, f32),
        mut whole: impl FnMut(usize, &[f32]),
    ) -> Result<(), PostReadError> {
        let (wide, heights_m) = self.around(window)?;
        let (left, up) = (window.column - wide.column, window.row - wide.row);
        for row in 0..window.rows {
            let start = (row + up) * wide.columns + left;
            let line = &heights_m[start..start + window.columns];
            whole(row * window.columns, line);
            for (column, _) in line.iter().enumerate().filter(|(_, height)| height.is_nan()) {
                if let Some(height) = self.fill(wide, &heights_m, column + left, row + up) {
                    work(row * window.columns + column, height);
                }
            }
        }
        Ok(())
    }
}

impl PostSource for FilledPosts {
    fn size(&self) -> (usize, usize) {
        self.inner.size()
    }

    fn block_size(&self) -> (usize, usize) {
        self.inner.block_size()
    }

    fn read(&self, window: PostWindow, heights_m: &mut [f32]) -> Result<(), PostReadError> {
        let mut fills = Vec::new();
        self.each_hole(
            window,
            |place, height| fills.push((place, height)),
            |start, line| heights_m[start..start + line.len()].copy_from_slice(line),
        )?;
        fills.into_iter().for_each(|(place, height)| heights_m[place] = height);
        Ok(())
    }

    fn read_filled(&self, window: PostWindow, filled: &mut [bool]) -> Result<(), PostReadError> {
        filled.fill(false);
        self.each_hole(window, |place, _| filled[place] = true, |_, _| {})
    }

    fn is_all_measured(&self) -> bool {
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use terrane_core::MemoryPosts;

    fn filled(heights_m: &[f32], columns: usize, within_m: f64) -> FilledPosts {
        let rows = heights_m.len() / columns;
        FilledPosts::new(Arc::new(MemoryPosts::new(columns, rows, heights_m.to_vec()).unwrap()), 2.0, within_m)
    }

    fn read(posts: &FilledPosts, window: PostWindow) -> (Vec<f32>, Vec<bool>) {
        let (mut heights_m, mut marks) = (vec![0.0; window.len()], vec![false; window.len()]);
        posts.read(window, &mut heights_m).unwrap();
        posts.read_filled(window, &mut marks).unwrap();
        (heights_m, marks)
    }

    #[test]
    fn a_small_hole_is_filled_and_marked_and_a_wide_one_stays() {
        let mut heights_m = vec![7.0; 30 * 30];
        heights_m[5 * 30 + 5] = f32::NAN;
        (12..26).for_each(|row| heights_m[row * 30 + 12..row * 30 + 26].fill(f32::NAN));
        let posts = filled(&heights_m, 30, 6.0);
        let (read, marks) = read(&posts, PostWindow { column: 0, row: 0, columns: 30, rows: 30 });
        assert_eq!((read[5 * 30 + 5], marks[5 * 30 + 5]), (7.0, true));
        assert!(read[19 * 30 + 19].is_nan() && !marks[19 * 30 + 19]);
        assert!(!marks[0] && !posts.is_all_measured());
    }

    #[test]
    fn ground_does_not_grow_past_its_edge() {
        let mut heights_m = vec![f32::NAN; 100];
        (0..10).for_each(|row| heights_m[row * 10..row * 10 + 5].fill(3.0));
        let (read, _) = read(&filled(&heights_m, 10, 100.0), PostWindow { column: 0, row: 0, columns: 10, rows: 10 });
        assert!(read[55].is_nan() && read[59].is_nan());
    }

    #[test]
    fn a_filled_post_does_not_depend_on_its_window() {
        let heights_m: Vec<f32> =
            (0..400).map(|i| if i * 7 % 11 < 4 { f32::NAN } else { (i * 31 % 97) as f32 }).collect();
        let posts = filled(&heights_m, 20, 9.0);
        let (whole, _) = read(&posts, PostWindow { column: 0, row: 0, columns: 20, rows: 20 });
        for (column, row) in [(3, 4), (10, 0), (14, 15)] {
            let (part, _) = read(&posts, PostWindow { column, row, columns: 5, rows: 3 });
            for (i, height) in part.iter().enumerate() {
                let known = whole[(row + i / 5) * 20 + column + i % 5];
                assert!(known.to_bits() == height.to_bits() || known.is_nan() && height.is_nan());
            }
        }
    }
}
