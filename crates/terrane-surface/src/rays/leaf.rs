//! A leaf's posts, and the bounds of blocks of its cells.

use super::bounds::range_m;
use crate::{TILE_CELLS, TILE_POSTS};
use std::sync::OnceLock;

const POSTS: usize = TILE_POSTS as usize;
const CELLS: usize = TILE_CELLS as usize;
/// Levels of blocks: from single cells to the tile.
pub(super) const BLOCK_LEVELS: u8 = TILE_CELLS.ilog2() as u8;

/// Posts of one leaf with the bounds of its blocks of 2^level cells a side.
#[derive(Debug)]
pub(crate) struct Leaf {
    /// Heights of posts, site y in metres, row by row; NaN is a hole.
    pub(super) heights_m: Vec<f64>,
    /// Bounds of blocks, by level; an empty range (low above high) has none.
    /// Made when a ray first asks.
    blocks_m: OnceLock<Vec<Vec<[f32; 2]>>>,
}

const NO_GROUND: [f32; 2] = [f32::INFINITY, f32::NEG_INFINITY];

impl Leaf {
    pub(crate) fn new(heights_m: Vec<f64>) -> Self {
        Self { heights_m, blocks_m: OnceLock::new() }
    }

    fn blocks_m(&self) -> &[Vec<[f32; 2]>] {
        self.blocks_m.get_or_init(|| blocks_over(&self.heights_m))
    }

    /// Bounds of a block, metres; `None` without ground.
    pub(super) fn bounds_m(&self, level: u8, x: u32, z: u32) -> Option<[f64; 2]> {
        let side = CELLS >> level;
        let [low_m, high_m] = self.blocks_m()[usize::from(level)][z as usize * side + x as usize];
        (low_m <= high_m).then(|| [f64::from(low_m), f64::from(high_m)])
    }

    /// Heights of a cell's corners: north-west, north-east, south-west,
    /// south-east.
    #[inline]
    pub(crate) fn corners_m(&self, x: u32, z: u32) -> [f64; 4] {
        let first = z as usize * POSTS + x as usize;
        [0, 1, POSTS, POSTS + 1].map(|step| self.heights_m[first + step])
    }
}

/// Bounds of blocks of cells, by level.
fn blocks_over(heights_m: &[f64]) -> Vec<Vec<[f32; 2]>> {
    let cells = (0..CELLS * CELLS).map(|cell| {
        let first = cell / CELLS * POSTS + cell % CELLS;
        let corners = [0, 1, POSTS, POSTS + 1].map(|step| heights_m[first + step]);
        range_m(&corners).unwrap_or(NO_GROUND)
    });
    let mut blocks_m = vec![cells.collect::<Vec<_>>()];
    for level in 1..=BLOCK_LEVELS {
        let (side, below) = (CELLS >> level, &blocks_m[usize::from(level) - 1]);
        let join = |block: usize| {
            let first = 2 * (block / side) * 2 * side + 2 * (block % side);
            let four = [first, first + 1, first + 2 * side, first + 2 * side + 1].map(|child| below[child]);
            four.into_iter().fold(NO_GROUND, |a, b| [a[0].min(b[0]), a[1].max(b[1])])
        };
        let joined = (0..side * side).map(join).collect();
        blocks_m.push(joined);
    }
    blocks_m
}

#[cfg(test)]
mod tests {
    use super::super::bounds::outwards;
    use super::*;

    #[test]
    fn blocks_hold_their_cells() {
        let mut heights_m: Vec<f64> = (0..POSTS * POSTS).map(|k| ((k * 7919) % 1013) as f64 * 0.1).collect();
        heights_m[70] = f64::NAN;
        let leaf = Leaf::new(heights_m.clone());
        for level in 0..=BLOCK_LEVELS {
            for (x, z) in [(0, 0), (((CELLS >> level) - 1) as u32, 0), (0, ((CELLS >> level) - 1) as u32)] {
                let side = 1 << level;
                let posts = (0..=side).flat_map(|v| (0..=side).map(move |u| (u, v)));
                let at = |(u, v): (usize, usize)| heights_m[(z as usize * side + v) * POSTS + x as usize * side + u];
                let inside: Vec<f64> = posts.map(at).filter(|height| !height.is_nan()).collect();
                let expected = outwards([
                    inside.iter().copied().fold(f64::INFINITY, f64::min),
                    inside.iter().copied().fold(f64::NEG_INFINITY, f64::max),
                ]);
                assert_eq!(leaf.bounds_m(level, x, z), Some(expected.map(f64::from)), "{level} {x} {z}");
            }
        }
    }
}
