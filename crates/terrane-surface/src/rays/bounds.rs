//! Lowest and highest ground of each tile: what a ray looks at first.

use crate::{Surface, TileKey};
use rayon::prelude::*;
use std::collections::HashMap;
use terrane_core::{Cancelled, Progress};

/// Lowest and highest site y of the finest triangles in each tile, metres.
/// Tiles that are not named have no ground.
#[derive(Debug, Clone, Default)]
pub struct TileBounds(HashMap<TileKey, [f32; 2]>);

impl TileBounds {
    /// From what a bake knows; every tile with ground has to be named, and
    /// bounds may be wider than the ground but never narrower.
    pub fn new(bounds_m: impl IntoIterator<Item = (TileKey, [f32; 2])>) -> Self {
        Self(bounds_m.into_iter().collect())
    }

    /// Measures every leaf of a surface: reads all of its heights.
    pub fn measure(surface: &Surface, progress: &dyn Progress) -> Result<Self, Cancelled> {
        let lattice = surface.lattice();
        let tiles = lattice.tiles();
        let leaves: Vec<TileKey> = tiles.iter().copied().filter(|tile| !lattice.is_split(*tile)).collect();
        progress.begin("bounds of tiles", leaves.len() as u64);
        let found = leaves.par_iter().map(|leaf| {
            progress.check()?;
            let bounds_m = range_m(&surface.leaf_heights_m(*leaf, 0)).map(|bounds_m| (*leaf, bounds_m));
            progress.advance(1);
            Ok(bounds_m)
        });
        let mut bounds: HashMap<TileKey, [f32; 2]> =
            found.collect::<Result<Vec<_>, Cancelled>>()?.into_iter().flatten().collect();
        // From fine to coarse: a parent holds its children.
        for tile in tiles.iter().rev().filter(|tile| tile.level < lattice.root_level) {
            if let Some([low_m, high_m]) = bounds.get(tile).copied() {
                let parent = bounds.entry(tile.parent()).or_insert([low_m, high_m]);
                *parent = [parent[0].min(low_m), parent[1].max(high_m)];
            }
        }
        Ok(Self(bounds))
    }

    /// With some tiles measured anew, leaves or not, and all that hold them.
    pub(super) fn revised(&self, surface: &Surface, changed: &[TileKey]) -> Self {
        let (mut bounds, lattice) = (self.0.clone(), surface.lattice());
        let mut finest_first = changed.to_vec();
        finest_first.sort_unstable();
        finest_first.dedup();
        let mut next = 0;
        while next < finest_first.len() {
            let tile = finest_first[next];
            next += 1;
            let range = match tile.children().filter(|_| lattice.is_split(tile)) {
                None if lattice.has_ground(tile) => range_m(&surface.leaf(tile).heights_m),
                None => None,
                Some(children) => {
                    let ranges = children.iter().filter_map(|child| bounds.get(child).copied());
                    ranges.reduce(|a, b| [a[0].min(b[0]), a[1].max(b[1])])
                }
            };
            match range {
                Some(range) => bounds.insert(tile, range),
                None => bounds.remove(&tile),
            };
            if tile.level < lattice.root_level
                && let Err(place) = finest_first[next..].binary_search(&tile.parent())
            {
                finest_first.insert(next + place, tile.parent());
            }
        }
        Self(bounds)
    }

    /// The same tiles by the names that another lattice gives them, whose posts
    /// lie on the same corner at a posting that is a power of two of this one.
    pub(super) fn renumbered(&self, from: &Surface, to: &Surface) -> Self {
        let levels = (from.lattice().posting_m / to.lattice().posting_m).log2().round();
        let rename = |(tile, bounds): (&TileKey, &[f32; 2])| {
            let level = f64::from(tile.level) + levels;
            (level >= 0.0).then_some((TileKey { level: level as u8, ..*tile }, *bounds))
        };
        Self(self.0.iter().filter_map(rename).collect())
    }

    /// The bounds of a tile; `None` without ground.
    pub fn get(&self, tile: TileKey) -> Option<[f64; 2]> {
        self.0.get(&tile).map(|bounds_m| bounds_m.map(f64::from))
    }
}

/// Lowest and highest of some heights, rounded outwards; holes (NaN) do not
/// count.
pub(super) fn range_m(heights_m: &[f64]) -> Option<[f32; 2]> {
    let fold = |range: [f64; 2], height_m: &f64| [range[0].min(*height_m), range[1].max(*height_m)];
    let [low_m, high_m] = heights_m.iter().fold([f64::INFINITY, f64::NEG_INFINITY], fold);
    (low_m <= high_m).then(|| outwards([low_m, high_m]))
}

/// To `f32`, never narrower.
pub(super) fn outwards([low_m, high_m]: [f64; 2]) -> [f32; 2] {
    let (low, high) = (low_m as f32, high_m as f32);
    [
        if f64::from(low) > low_m { low.next_down() } else { low },
        if f64::from(high) < high_m { high.next_up() } else { high },
    ]
}
