//! The error table while it grows: leaves are compared as they are made, and
//! what their own posts can't tell is looked up when all tiles are there.

use crate::cache::TileCache;
use crate::errors::{Finest, OWN_LEVELS, Patch, TileErrors, ancestors, compare_upwards, finest_rows, make_monotone};
use crate::{ArchiveError, Tile};
use rayon::prelude::*;
use std::cell::OnceCell;
use std::collections::{BTreeMap, HashMap};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use terrane_core::Progress;
use terrane_surface::{Lattice, TILE_CELLS, TileKey};

/// Tiles that are compared before those above them are sorted out.
const TILES_A_STEP: usize = 1024;

/// Errors that are known so far, raised by any thread: bits of floats that are
/// not negative are in the floats' order.
#[derive(Debug, Default)]
struct Known {
    height_m: AtomicU64,
    cover_m: AtomicU64,
}

impl Known {
    fn height_m(&self) -> f64 {
        f64::from_bits(self.height_m.load(Ordering::Relaxed))
    }

    fn include(&self, errors: TileErrors) {
        self.height_m.fetch_max(errors.height_m.to_bits(), Ordering::Relaxed);
        self.cover_m.fetch_max(errors.cover_m.to_bits(), Ordering::Relaxed);
    }

    fn finish(self) -> TileErrors {
        TileErrors {
            height_m: f64::from_bits(self.height_m.into_inner()),
            cover_m: f64::from_bits(self.cover_m.into_inner()),
        }
    }
}

/// The error table of a pyramid. The same whatever leaves were compared as
/// they were made, in whatever order.
#[derive(Debug)]
pub(crate) struct ErrorTable<'a> {
    lattice: &'a Lattice,
    tiles: &'a [TileKey],
    known: HashMap<TileKey, Known>,
    /// Leaves that were compared with what their own posts tell, with their
    /// distance to the last of those tiles; `None` beside holes.
    begun: Mutex<HashMap<TileKey, Option<f64>>>,
}

impl<'a> ErrorTable<'a> {
    /// Of these tiles, coarse before fine, as [`Lattice::tiles`] has them.
    pub(crate) fn new(lattice: &'a Lattice, tiles: &'a [TileKey]) -> Self {
        let known = tiles.iter().map(|tile| (*tile, Known::default())).collect();
        Self { lattice, tiles, known, begun: Mutex::default() }
    }

    fn known_m(&self, tile: TileKey) -> f64 {
        self.known.get(&tile).map_or(0.0, Known::height_m)
    }

    fn include(&self, tile: TileKey, errors: TileErrors) {
        self.known.get(&tile).into_iter().for_each(|known| known.include(errors));
    }

    /// Compares a leaf that was just made with all that its own posts tell.
    pub(crate) fn include_leaf(&self, key: TileKey, tile: &Tile) {
        let finest = Arc::new(Finest::new(key, Some(tile)));
        let above = finest.own_patches(self.lattice.root_level).map(Ok::<_, std::convert::Infallible>);
        let Ok(bound) = compare_upwards(
            None,
            above,
            self.lattice,
            || Ok(Arc::clone(&finest)),
            |tile| self.known_m(tile),
            |tile, errors| self.include(tile, errors),
        );
        let bound = bound.map(|(_, bound_m)| bound_m);
        self.begun.lock().unwrap_or_else(PoisonError::into_inner).insert(key, bound);
    }

    /// Compares what is left, with tiles that `read` reads.
    pub(crate) fn finish(
        self,
        read: impl Fn(TileKey) -> Result<Option<Tile>, ArchiveError> + Sync,
        progress: &dyn Progress,
    ) -> Result<BTreeMap<TileKey, TileErrors>, ArchiveError> {
        let begun = std::mem::take(&mut *self.begun.lock().unwrap_or_else(PoisonError::into_inner));
        let rows = finest_rows(self.lattice, self.tiles);
        progress.begin("errors", rows.iter().map(Vec::len).sum::<usize>() as u64);
        let above = TileCache::default();
        let mut rows = rows.into_iter().peekable();
        while let Some(mut band) = rows.next() {
            while band.len() < TILES_A_STEP
                && let Some(row) = rows.next_if(|row| band[0].0.level == row[0].0.level)
            {
                band.extend(row);
            }
            band.par_iter().try_for_each(|&(key, is_ground)| {
                progress.check()?;
                progress.advance(1);
                self.finish_leaf(key, is_ground, begun.get(&key).copied(), &above, &read)
            })?;
            if let Some(next) = rows.peek() {
                let z = next[0].0.first_post().1;
                above.retain(|tile| {
                    let (_, first) = tile.first_post();
                    first + (u64::from(TILE_CELLS) << tile.level) > z
                });
            }
        }
        let mut errors = self.known.into_iter().map(|(tile, known)| (tile, known.finish())).collect();
        make_monotone(&mut errors, self.tiles);
        Ok(errors)
    }

    /// What is left of one leaf: all, or what is above its own posts' reach.
    fn finish_leaf(
        &self,
        key: TileKey,
        is_ground: bool,
        begun: Option<Option<f64>>,
        above: &TileCache,
        read: &(impl Fn(TileKey) -> Result<Option<Tile>, ArchiveError> + Sync),
    ) -> Result<(), ArchiveError> {
        let patch = |ancestor: TileKey| {
            let tile = above.get(ancestor, || read(ancestor)).transpose()?;
            Some(tile.map(|tile| (ancestor, Patch::under(key, ancestor, &tile))))
        };
        let reach = begun.map_or(0, |_| OWN_LEVELS as usize);
        let mut chain = ancestors(key, self.lattice.root_level).skip(reach).peekable();
        if chain.peek().is_none() {
            return Ok(());
        }
        // The last triangles that it was compared with.
        let last = ancestors(key, self.lattice.root_level).take(reach).last();
        let below = match (begun.flatten(), last.and_then(patch).transpose()?) {
            (Some(bound_m), Some((_, patch))) => Some((patch, bound_m)),
            _ => None,
        };
        let finest = OnceCell::new();
        let read_finest = || match finest.get() {
            Some(finest) => Ok(Arc::clone(finest)),
            None => {
                let tile = if is_ground { read(key)? } else { None };
                Ok(Arc::clone(finest.get_or_init(|| Arc::new(Finest::new(key, tile.as_ref())))))
            }
        };
        compare_upwards(
            below,
            chain.filter_map(patch),
            self.lattice,
            read_finest,
            |tile| self.known_m(tile),
            |tile, errors| self.include(tile, errors),
        )?;
        Ok(())
    }
}
