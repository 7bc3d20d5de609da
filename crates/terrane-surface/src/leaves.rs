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

/// A leaf with its place.
struct Recent {
    surface: u64,
    tile: TileKey,
    first: [f64; 2],
    end: [f64; 2],
    scale: f64,
    leaf: Arc<Leaf>,
}

/// Leaves that a thread keeps at hand, found without asking other threads.
const AT_HAND: usize = 1024;

/// What a thread asked last.
struct AtHand {
    last: usize,
    leaves: Vec<Option<Recent>>,
}

thread_local! {
    static AT_HAND_OF_THREAD: RefCell<AtHand> = const { RefCell::new(AtHand { last: 0, leaves: Vec::new() }) };
}

impl Recent {
    #[inline]
    fn place(&self, surface: u64, [i, j]: [f64; 2]) -> Option<[f64; 2]> {
        let is_inside = self.surface == surface
            && (self.first[0]..self.end[0]).contains(&i)
            && (self.first[1]..self.end[1]).contains(&j);
        is_inside.then(|| [(i - self.first[0]) * self.scale, (j - self.first[1]) * self.scale])
    }

    fn new(surface: u64, tile: TileKey, leaf: Arc<Leaf>) -> Self {
        let (first_i, first_j) = tile.first_post();
        let first = [first_i as f64, first_j as f64];
        let span = (u64::from(crate::TILE_CELLS) << tile.level) as f64;
        let scale = 1.0 / (1_u64 << tile.level) as f64;
        Self { surface, tile, first, end: first.map(|first| first + span), scale, leaf }
    }
}

impl AtHand {
    fn last(&self) -> Option<&Recent> {
        self.leaves.get(self.last)?.as_ref()
    }

    /// Neighbours of one level never share a slot.
    fn slot(tile: TileKey) -> usize {
        ((tile.x as usize & 31) | ((tile.z as usize & 31) << 5)) ^ ((usize::from(tile.level) * 421) & (AT_HAND - 1))
    }
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
            Some(Entry::Asked(times)) => (times.fetch_add(1, Ordering::Relaxed) >= WORTH_IT).then(|| self.leaf(tile)),
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
        let id = self.leaves().id;
        let at_hand = AT_HAND_OF_THREAD.with_borrow_mut(|at_hand| {
            if let Some((recent, place)) = at_hand.last().and_then(|recent| Some((recent, recent.place(id, [i, j])?))) {
                return Ok(ask(recent.tile, place, Some(&recent.leaf)));
            }
            // A leaf is mostly as fine as the one before, or nearly so; one that
            // is at hand needs no search.
            let guess = at_hand.last().map_or(self.lattice().root_level, |recent| recent.tile.level);
            for level in [guess, guess.saturating_sub(1), guess + 1] {
                let Some(slot) = self.lattice().tile_around(i, j, level).map(AtHand::slot) else { continue };
                let recent = at_hand.leaves.get(slot).and_then(Option::as_ref);
                if let Some((recent, place)) = recent.and_then(|recent| Some((recent, recent.place(id, [i, j])?))) {
                    let answer = ask(recent.tile, place, Some(&recent.leaf));
                    at_hand.last = slot;
                    return Ok(answer);
                }
            }
            let Some((tile, u, v)) = self.lattice().leaf_near_level(i, j, guess) else { return Ok(None) };
            let slot = AtHand::slot(tile);
            match at_hand.leaves.get(slot) {
                Some(Some(recent)) if recent.surface == id && recent.tile == tile => {
                    at_hand.last = slot;
                    let answer = at_hand.last().map(|recent| ask(tile, [u, v], Some(&recent.leaf)));
                    Ok(answer.flatten())
                }
                _ => Err((tile, u, v)),
            }
        });
        let (tile, u, v) = match at_hand {
            Ok(answer) => return answer,
            Err(leaf) => leaf,
        };
        let leaf = self.leaf_if_worth(tile);
        let answer = ask(tile, [u, v], leaf.as_deref());
        if let Some(leaf) = leaf {
            AT_HAND_OF_THREAD.with_borrow_mut(|at_hand| {
                at_hand.leaves.resize_with(AT_HAND, || None);
                at_hand.last = AtHand::slot(tile);
                at_hand.leaves[at_hand.last] = Some(Recent::new(id, tile, leaf));
            });
        }
        answer
    }

    /// A tile's rectangle.
    pub fn tile_rect(&self, tile: TileKey) -> SiteRect {
        self.lattice().tile_rect(tile)
    }
}
