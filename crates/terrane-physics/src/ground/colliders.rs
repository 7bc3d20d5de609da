//! Which tiles are kept as colliders, and how they change.

use super::leaves::{leaf_under, leaves_in};
use super::tile::{GroundShape, TileCollider};
use crate::PhysicsError;
use rayon::prelude::*;
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use terrane_surface::{SiteRect, Surface, TileKey};

/// The most tiles that are kept: some 60 kB each.
pub(crate) const MOST_TILES: usize = 16_384;

/// What has been done to tiles so far.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct Counts {
    /// Colliders built, again after an edit included.
    pub built: u64,
    /// Colliders that are kept now.
    pub kept: usize,
    /// Colliders dropped, those that an edit replaced included.
    pub dropped: u64,
}

/// A change of the kept tiles. All of it happens between two steps.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Swap {
    /// Tiles that are in now, new or built again, in the order of their keys.
    pub put_in: Vec<TileKey>,
    /// Tiles that are out now, in the order of their keys.
    pub taken_out: Vec<TileKey>,
}

impl Swap {
    /// True when nothing changed.
    pub fn is_empty(&self) -> bool {
        self.put_in.is_empty() && self.taken_out.is_empty()
    }
}

/// The tiles around what moves: colliders of leaves, never of substitutes.
///
/// The same calls give the same tiles in the same order whatever the number of
/// threads.
#[derive(Debug, Clone)]
pub struct Colliders {
    surface: Surface,
    shape: GroundShape,
    ring: u32,
    boxes: BTreeMap<u32, SiteRect>,
    next_box: u32,
    live: BTreeMap<TileKey, Arc<TileCollider>>,
    counts: Counts,
    /// What the kept tiles were chosen for.
    chosen_for: Option<Vec<TileKey>>,
}

impl Colliders {
    /// No tiles yet, of a surface. `ring` tiles are kept around the one under
    /// each body, beyond what the body can reach in a step.
    pub fn new(surface: Surface, shape: GroundShape, ring: u32) -> Self {
        Self {
            surface,
            shape,
            ring: ring.min(16),
            boxes: BTreeMap::new(),
            next_box: 0,
            live: BTreeMap::new(),
            counts: Counts::default(),
            chosen_for: None,
        }
    }

    /// The surface.
    pub fn surface(&self) -> &Surface {
        &self.surface
    }

    /// What has been done so far.
    pub fn counts(&self) -> Counts {
        Counts { kept: self.live.len(), ..self.counts }
    }

    /// The kept tiles, in the order of their keys.
    pub fn tiles(&self) -> impl Iterator<Item = &TileCollider> {
        self.live.values().map(AsRef::as_ref)
    }

    /// A kept tile.
    pub fn tile(&self, tile: TileKey) -> Option<&TileCollider> {
        self.live.get(&tile).map(AsRef::as_ref)
    }

    /// Keeps the tiles of a rectangle too, from the next [`Colliders::follow`]
    /// on. Returns its number.
    pub fn add_box(&mut self, bounds: SiteRect) -> u32 {
        self.chosen_for = None;
        self.boxes.insert(self.next_box, bounds);
        self.next_box += 1;
        self.next_box - 1
    }

    /// No longer keeps a rectangle's tiles.
    pub fn remove_box(&mut self, number: u32) {
        self.chosen_for = None;
        self.boxes.remove(&number);
    }

    /// Chooses the tiles for bodies that will be inside of `reaches` until
    /// this is called next, and builds those that are missing, on all cores.
    ///
    /// # Errors
    /// [`PhysicsError::TooManyTiles`], and then nothing has changed;
    /// [`PhysicsError::Unread`] when heights could not be read.
    pub fn follow(&mut self, reaches: &[SiteRect]) -> Result<Swap, PhysicsError> {
        let lattice = self.surface.lattice();
        let mut under: Vec<TileKey> = Vec::new();
        let mut reached = BTreeSet::new();
        for reach in reaches {
            let (x_m, z_m) = reach.middle_m();
            under.extend(leaf_under(lattice, x_m, z_m));
            reached.extend(leaves_in(lattice, reach, MOST_TILES));
        }
        under.sort_unstable();
        under.dedup();
        let is_settled = self.chosen_for.as_ref() == Some(&under);
        if is_settled && reached.iter().all(|tile| self.live.contains_key(tile)) {
            return Ok(Swap::default());
        }
        let mut wanted = reached;
        for tile in &under {
            let around = lattice.tile_rect(*tile);
            let span_m = around.x_m[1] - around.x_m[0];
            // Half a post less, so that the next tiles but one do not touch.
            let margin_m = f64::from(self.ring) * span_m - 0.5 * lattice.posting_m;
            wanted.extend(leaves_in(lattice, &around.grown(margin_m), MOST_TILES));
            // Those just left stay: a body may go to and fro over a border.
            let kept = around.grown(margin_m + span_m);
            wanted.extend(self.live.values().filter(|live| live.bounds().meets(&kept)).map(|live| live.tile()));
        }
        for bounds in self.boxes.values() {
            wanted.extend(leaves_in(lattice, bounds, MOST_TILES));
        }
        let swap = self.put(&wanted, |_| false)?;
        self.chosen_for = Some(under);
        Ok(swap)
    }

    /// Takes another surface: what it changed, and what it now splits or
    /// merges, is built anew; the rest stays. `changed` are rectangles of the
    /// site where heights differ.
    ///
    /// # Errors
    /// As [`Colliders::follow`]; then the old surface is still in.
    pub fn replace_surface(&mut self, surface: Surface, changed: &[SiteRect]) -> Result<Swap, PhysicsError> {
        let (old, new) = (self.surface.lattice(), surface.lattice());
        let is_same_grid = (old.x0_m, old.z0_m, old.posting_m) == (new.x0_m, new.z0_m, new.posting_m);
        let mut wanted = BTreeSet::new();
        for tile in self.live.values() {
            let inside = tile.bounds().grown(-0.5 * old.posting_m.min(tile.posting_m()));
            wanted.extend(leaves_in(new, &inside, MOST_TILES));
        }
        // A tile's apron, and the posts that it bends to meet a coarser
        // neighbour, read one post beyond its border, of either's level.
        let stale: BTreeSet<TileKey> = wanted
            .iter()
            .copied()
            .filter(|tile| {
                let reads = new.tile_rect(*tile).grown(2.0 * new.posting_at_m(tile.level));
                !is_same_grid || changed.iter().any(|bounds| bounds.meets(&reads)) || self.is_bent_anew(new, *tile)
            })
            .collect();
        let before = std::mem::replace(&mut self.surface, surface);
        let swap = self.put(&wanted, |tile| stale.contains(&tile));
        match &swap {
            Ok(_) => self.chosen_for = None,
            Err(_) => self.surface = before,
        }
        swap
    }

    /// True when a neighbour of the tile is of another level than before, so
    /// that the posts on their border may have moved.
    fn is_bent_anew(&self, new: &terrane_surface::Lattice, tile: TileKey) -> bool {
        let old = self.surface.lattice();
        let (x_m, z_m) = new.tile_rect(tile).middle_m();
        let step_m = new.posting_at_m(tile.level) * 0.5 * f64::from(terrane_surface::TILE_CELLS + 1);
        [(-1.0, 0.0), (1.0, 0.0), (0.0, -1.0), (0.0, 1.0)].into_iter().any(|(dx, dz)| {
            // Along a side there may be two finer leaves.
            [-0.5, 0.5].into_iter().any(|along| {
                let (x_m, z_m) = (x_m + step_m * (dx + along * dz), z_m + step_m * (dz + along * dx));
                leaf_under(old, x_m, z_m).map(|leaf| leaf.level) != leaf_under(new, x_m, z_m).map(|leaf| leaf.level)
            })
        })
    }

    /// Makes the kept tiles those that are wanted; a stale one is built again.
    fn put(&mut self, wanted: &BTreeSet<TileKey>, is_stale: impl Fn(TileKey) -> bool) -> Result<Swap, PhysicsError> {
        if wanted.len() > MOST_TILES {
            return Err(PhysicsError::TooManyTiles { tiles: wanted.len(), most: MOST_TILES });
        }
        let put_in: Vec<TileKey> =
            wanted.iter().copied().filter(|tile| !self.live.contains_key(tile) || is_stale(*tile)).collect();
        let built: Result<Vec<_>, PhysicsError> = put_in
            .par_iter()
            .map(|tile| Ok(Arc::new(TileCollider::build(&self.surface, *tile, self.shape)?)))
            .collect();
        let built = built?;
        if let Some(failure) = self.surface.read_failure() {
            return Err(failure.into());
        }
        let taken_out: Vec<TileKey> = self.live.keys().copied().filter(|tile| !wanted.contains(tile)).collect();
        self.counts.built += built.len() as u64;
        self.counts.dropped += taken_out.len() as u64;
        for (tile, collider) in put_in.iter().zip(built) {
            self.counts.dropped += u64::from(self.live.insert(*tile, collider).is_some());
        }
        for tile in &taken_out {
            self.live.remove(tile);
        }
        Ok(Swap { put_in, taken_out })
    }
}
