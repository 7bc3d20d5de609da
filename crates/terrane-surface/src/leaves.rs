//! Posts of leaf tiles that are asked for again and again, kept.

use crate::rays::Leaf;
use crate::{SiteRect, Surface, TileKey};
use quick_cache::sync::Cache;
use std::cell::RefCell;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

/// Leaves that are kept: some 35 KiB each, and 65 KiB where rays go.
const LEAVES: usize = 4096;
/// A leaf is made when it is asked for so often: posts of a leaf cost as much
/// as some thousand queries without it.
const WORTH_IT: u32 = 24;

/// The leaves of one surface.
#[derive(Debug)]
pub(crate) struct Leaves {
    /// No other has it.
    id: u64,
    kept: Cache<TileKey, Entry>,
}

#[derive(Debug, Clone)]
enum Entry {
    /// Asked for so often, not made yet.
    Asked(Arc<AtomicU32>),
    Made(Arc<Leaf>),
}

/// A leaf with its place, for the thread that asked last.
struct Recent {
    surface: u64,
    tile: TileKey,
    first: [f64; 2],
    end: [f64; 2],
    scale: f64,
    leaf: Arc<Leaf>,
}

thread_local! {
    static RECENT: RefCell<Option<Recent>> = const { RefCell::new(None) };
}

impl Leaves {
    pub(crate) fn new() -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        Self { id: NEXT.fetch_add(1, Ordering::Relaxed), kept: Cache::new(LEAVES) }
    }

    /// Those of an earlier surface that are the same here.
    pub(crate) fn kept_from(earlier: &Self, is_same: impl Fn(TileKey) -> bool) -> Self {
        let leaves = Self::new();
        for (tile, entry) in earlier.kept.iter().filter(|(tile, _)| is_same(*tile)) {
            leaves.kept.insert(tile, entry);
        }
        leaves
    }
}

impl Surface {
    /// A leaf's posts, made now unless they are kept.
    pub(crate) fn leaf(&self, tile: TileKey) -> Arc<Leaf> {
        if let Some(Entry::Made(leaf)) = self.leaves().kept.get(&tile) {
            return leaf;
        }
        let leaf = Arc::new(Leaf::new(self.leaf_heights_m(tile, 0)));
        self.leaves().kept.insert(tile, Entry::Made(Arc::clone(&leaf)));
        leaf
    }

    /// A leaf's posts when they are kept, or worth it by now.
    pub(crate) fn leaf_if_worth(&self, tile: TileKey) -> Option<Arc<Leaf>> {
        match self.leaves().kept.get(&tile) {
            Some(Entry::Made(leaf)) => Some(leaf),
            Some(Entry::Asked(times)) => {
                (times.fetch_add(1, Ordering::Relaxed) >= WORTH_IT).then(|| self.leaf(tile))
            }
            None => {
                self.leaves().kept.insert(tile, Entry::Asked(Arc::default()));
                None
            }
        }
    }

    /// Calls `ask` with the leaf around a place, given in finest cells from the
    /// lattice's corner, with the place in the leaf's cells and the leaf's
    /// posts when they are kept. `None` outside.
    pub(crate) fn with_leaf_at<T>(
        &self,
        [i, j]: [f64; 2],
        ask: impl Fn(TileKey, [f64; 2], Option<&Leaf>) -> Option<T>,
    ) -> Option<T> {
        let again = RECENT.with_borrow(|recent| {
            let recent = recent.as_ref().filter(|recent| {
                recent.surface == self.leaves().id
                    && (recent.first[0]..recent.end[0]).contains(&i)
                    && (recent.first[1]..recent.end[1]).contains(&j)
            })?;
            let place = [(i - recent.first[0]) * recent.scale, (j - recent.first[1]) * recent.scale];
            Some(ask(recent.tile, place, Some(&recent.leaf)))
        });
        if let Some(answer) = again {
            return answer;
        }
        let (tile, u, v) = self.lattice().leaf_at(i, j)?;
        let leaf = self.leaf_if_worth(tile);
        let answer = ask(tile, [u, v], leaf.as_deref());
        if let Some(leaf) = leaf {
            let (first_i, first_j) = tile.first_post();
            let first = [first_i as f64, first_j as f64];
            let span = (u64::from(crate::TILE_CELLS) << tile.level) as f64;
            let scale = 1.0 / (1_u64 << tile.level) as f64;
            let end = first.map(|first| first + span);
            let recent = Recent { surface: self.leaves().id, tile, first, end, scale, leaf };
            RECENT.with_borrow_mut(|last| *last = Some(recent));
        }
        answer
    }

    /// A tile's rectangle.
    pub fn tile_rect(&self, tile: TileKey) -> SiteRect {
        let (x_m, z_m) = self.lattice().tile_bounds_m(tile);
        SiteRect { x_m, z_m }
    }
}
