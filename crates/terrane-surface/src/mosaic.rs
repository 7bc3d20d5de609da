//! How much nested DEMs disagree along their borders.

use crate::{DemGrid, Surface};
use serde::Serialize;

/// Heights of a finer DEM minus those of a coarser one, along the finer one's
/// border.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Disagreement {
    /// Index of the finer DEM, finest first.
    pub finer: usize,
    /// Index of the coarser DEM.
    pub coarser: usize,
    /// Border posts of the finer DEM where both have ground.
    pub posts: usize,
    /// Smallest difference, metres.
    pub min_m: f64,
    /// Middle difference, metres.
    pub median_m: f64,
    /// Largest difference, metres.
    pub max_m: f64,
    /// Root of the mean squared difference from the median, metres.
    pub spread_m: f64,
}

/// Posts of a border that are compared, at most.
const MAX_BORDER_POSTS: usize = 20_000;

/// The disagreement along the outermost posts of `finer` that hold data: of
/// each row and column the first and the last one.
pub(crate) fn disagreement(finer: &DemGrid, coarser: &DemGrid) -> Option<(usize, [f64; 4])> {
    let mut differences: Vec<f64> = Vec::new();
    let mut compare = |column: i64, row: i64| {
        let Some(fine) = finer.posts.at(column, row) else { return false };
        let (x_m, z_m) = (finer.x0_m + column as f64 * finer.posting_m, finer.z0_m + row as f64 * finer.posting_m);
        if let Some(coarse) = coarser.height_m(x_m, z_m) {
            differences.push(fine + finer.shift_m - coarse);
        }
        true
    };
    let (columns, rows) = (finer.columns as i64, finer.rows as i64);
    let step = (2 * (columns + rows) as usize).div_ceil(MAX_BORDER_POSTS).max(1);
    for row in (0..rows).step_by(step) {
        (0..columns).find(|column| compare(*column, row));
        (0..columns).rev().find(|column| compare(*column, row));
    }
    for column in (0..columns).step_by(step) {
        (0..rows).find(|row| compare(column, *row));
        (0..rows).rev().find(|row| compare(column, *row));
    }
    if differences.is_empty() {
        return None;
    }
    differences.sort_by(f64::total_cmp);
    let count = differences.len();
    let median = 0.5 * (differences[(count - 1) / 2] + differences[count / 2]);
    let squares: f64 = differences.iter().map(|difference| (difference - median).powi(2)).sum();
    Some((count, [differences[0], median, differences[count - 1], (squares / count as f64).sqrt()]))
}

impl Surface {
    /// Disagreements of every pair of DEMs whose border the coarser covers.
    pub fn disagreements(&self) -> Vec<Disagreement> {
        let dems = &self.spec().dems;
        let pairs = (0..dems.len()).flat_map(|finer| (finer + 1..dems.len()).map(move |coarser| (finer, coarser)));
        pairs
            .filter_map(|(finer, coarser)| {
                let (posts, [min_m, median_m, max_m, spread_m]) = disagreement(&dems[finer], &dems[coarser])?;
                Some(Disagreement { finer, coarser, posts, min_m, median_m, max_m, spread_m })
            })
            .collect()
    }
}

/// Shifts each DEM but the finest by the median of its disagreement along the
/// longest border of a finer one that it covers, finest first, so that a small
/// inset does not decide for a wide context. `dems` are sorted so.
pub fn level(dems: &mut [DemGrid]) {
    for coarser in 1..dems.len() {
        let borders = (0..coarser).filter_map(|finer| {
            let (posts, [_, median_m, ..]) = disagreement(&dems[finer], &dems[coarser])?;
            Some((posts as f64 * dems[finer].posting_m, median_m))
        });
        if let Some((_, median_m)) = borders.max_by(|a, b| a.0.total_cmp(&b.0)) {
            dems[coarser].shift_m += median_m;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::SurfaceSpec;

    fn dems() -> Vec<DemGrid> {
        let hill = |x: f64, z: f64| 30.0 * (x * 0.01).sin() + 20.0 * (z * 0.013).cos();
        let dem = |name: &str, x0: f64, posting: f64, posts: usize, shift: f64| {
            let place = |k: usize| x0 + k as f64 * posting;
            let heights = (0..posts * posts).map(|k| (hill(place(k % posts), place(k / posts)) + shift) as f32);
            DemGrid::in_memory(name, (x0, x0), posting, (posts, posts), heights.collect())
        };
        vec![
            dem("fine", -50.0, 1.0, 101, 0.0),
            dem("middle", -400.0, 8.0, 101, 9.5),
            dem("wide", -2000.0, 40.0, 101, -3.0),
        ]
    }

    #[test]
    fn a_constant_disagreement_is_measured_and_removed() {
        let surface = Surface::new(SurfaceSpec { dems: dems(), ..SurfaceSpec::default() }).unwrap();
        let found = surface.disagreements();
        assert_eq!(found.len(), 3);
        assert!((found[0].median_m + 9.5).abs() < 0.02 && found[0].spread_m < 0.05, "{found:?}");
        assert_eq!(found[0].posts, 404);
        let mut levelled = dems();
        level(&mut levelled);
        assert!((levelled[1].shift_m + 9.5).abs() < 0.02 && (levelled[2].shift_m - 3.0).abs() < 0.2);
        let surface = Surface::new(SurfaceSpec { dems: levelled, ..SurfaceSpec::default() }).unwrap();
        assert!(surface.disagreements().iter().all(|d| d.median_m.abs() < 0.2), "{:?}", surface.disagreements());
    }
}
