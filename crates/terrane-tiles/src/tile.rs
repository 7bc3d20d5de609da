//! One tile: heights of its posts and of one ring of posts around them.

use crate::code::{HOLE, HeightCode};
use crate::maps::gradient;
use terrane_surface::TILE_POSTS;

/// Rings of posts around a tile: what a gradient at its border needs.
pub const APRON: u32 = 1;

/// Posts along the side of a stored tile.
pub(crate) const SIDE: usize = (TILE_POSTS + 2 * APRON) as usize;
/// Posts of a stored tile.
pub(crate) const STORED: usize = SIDE * SIDE;
const POSTS: usize = TILE_POSTS as usize;

/// Heights of a tile, with its apron.
#[derive(Debug, Clone, PartialEq)]
pub struct Tile {
    pub(crate) code: HeightCode,
    /// [`STORED`] words, row by row from the apron's north-west corner.
    pub(crate) words: Vec<i32>,
    /// Which of them were filled in, when some were.
    pub(crate) filled: Option<Vec<bool>>,
}

/// Place of a post in the stored rows; posts run from 0, the apron lies at -1
/// and at [`TILE_POSTS`].
#[inline]
pub(crate) fn stored(u: i32, v: i32) -> usize {
    (v + APRON as i32) as usize * SIDE + (u + APRON as i32) as usize
}

impl Tile {
    /// Height of post (`u`, `v`) above the archive's reference, metres, from
    /// -1 (the apron) to [`TILE_POSTS`]; NaN is a hole.
    pub fn height_m(&self, u: i32, v: i32) -> f64 {
        self.code.decode(self.words[stored(u, v)])
    }

    /// True when the post's height was filled in and not measured.
    pub fn is_filled(&self, u: i32, v: i32) -> bool {
        self.filled.as_ref().is_some_and(|filled| filled[stored(u, v)])
    }

    /// Heights of the tile's own posts, row by row from the north-west, metres
    /// above the reference; NaN is a hole.
    pub fn heights_m(&self) -> Vec<f32> {
        self.decoded(|word| self.code.decode(word) as f32)
    }

    /// The same in full precision.
    pub(crate) fn exact_m(&self) -> Vec<f64> {
        match self.code {
            HeightCode::Steps(step_m) if !self.words.contains(&HOLE) => self.decoded(|word| f64::from(word) * step_m),
            code => self.decoded(|word| code.decode(word)),
        }
    }

    fn decoded<T>(&self, decode: impl Fn(i32) -> T) -> Vec<T> {
        let mut out = Vec::with_capacity(POSTS * POSTS);
        self.inner_rows().for_each(|row| out.extend(row.iter().map(|word| decode(*word))));
        out
    }

    /// Gradients (dy/dx, dy/dz) at the tile's own posts, by the rule that the
    /// site maps use; zero in a hole.
    pub fn gradients(&self, posting_m: f64) -> Vec<[f32; 2]> {
        let places = (0..POSTS as i32).flat_map(|v| (0..POSTS as i32).map(move |u| (u, v)));
        let line = |u: i32, v: i32| [-1, 0, 1].map(|du| self.height_m(u + du, v));
        places.map(|(u, v)| gradient([-1, 0, 1].map(|dv| line(u, v + dv)), posting_m)).collect()
    }

    /// Words of the tile's own posts.
    fn inner_rows(&self) -> impl Iterator<Item = &[i32]> {
        let ring = APRON as usize;
        self.words.chunks_exact(SIDE).skip(ring).take(POSTS).map(move |row| &row[ring..ring + POSTS])
    }

    /// Lowest and highest word of the tile's own posts, and whether some are
    /// holes. `None` when all are.
    pub(crate) fn bounds(&self) -> Option<(i32, i32, bool)> {
        let (mut low, mut high, mut holes) = (i32::MAX, i32::MIN, false);
        for row in self.inner_rows() {
            for &word in row {
                holes |= word == HOLE;
                low = low.min(if word == HOLE { i32::MAX } else { word });
                high = high.max(word);
            }
        }
        (low <= high && high != HOLE).then_some((low, high, holes))
    }
}
