//! Decoded tiles that several neighbours need while a band of rows is worked
//! on.

use crate::{ArchiveError, Tile};
use std::collections::HashMap;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use terrane_surface::TileKey;

type Slot = Arc<OnceLock<Option<Arc<Tile>>>>;

/// Tiles by place, each read once, whoever asks first.
#[derive(Debug, Default)]
pub(crate) struct TileCache(Mutex<HashMap<TileKey, Slot>>);

impl TileCache {
    /// The tile, read with `read` unless it is here.
    pub(crate) fn get(
        &self,
        key: TileKey,
        read: impl FnOnce() -> Result<Option<Tile>, ArchiveError>,
    ) -> Result<Option<Arc<Tile>>, ArchiveError> {
        let slot = {
            let mut slots = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            Arc::clone(slots.entry(key).or_default())
        };
        let mut failure = None;
        let tile = slot.get_or_init(|| match read() {
            Ok(tile) => tile.map(Arc::new),
            Err(error) => {
                failure = Some(error);
                None
            }
        });
        match failure {
            Some(error) => Err(error),
            None => Ok(tile.clone()),
        }
    }

    /// Keeps a tile that was just made.
    pub(crate) fn put(&self, key: TileKey, tile: Tile) {
        let slot = Arc::new(OnceLock::from(Some(Arc::new(tile))));
        self.0.lock().unwrap_or_else(PoisonError::into_inner).insert(key, slot);
    }

    /// Forgets tiles that are not needed any more.
    pub(crate) fn retain(&self, keep: impl Fn(TileKey) -> bool) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).retain(|key, _| keep(*key));
    }
}
