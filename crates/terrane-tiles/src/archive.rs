//! An archive that is open: the index in memory, tiles read on demand.

use crate::bytes::{ByteSource, HttpBytes, is_url};
use crate::codec;
use crate::format::{Block, Entry, Header, MAGIC, MAX_META_BYTES, MapEntry, Meta, RULE_VERSION, checksum};
use crate::maps::{STRIP_ROWS, SiteMap};
use crate::overlay::Overlay;
use crate::{HeightCode, Node, Tile};
use bytemuck::Zeroable;
use rayon::prelude::*;
use std::collections::BTreeMap;
use std::fs::File;
use std::path::{Path, PathBuf};
use terrane_core::{ContentKey, PostReadError, Progress};
use terrane_surface::{Lattice, TileKey};

/// Code of the diagnostic that a block of an archive is damaged: baking again
/// mends it.
pub const DAMAGED: &str = "archive-damaged";

/// Why an archive can't be read or written.
#[derive(Debug, thiserror::Error)]
pub enum ArchiveError {
    /// It is not there.
    #[error("{}: not baked yet", path.display())]
    Missing {
        /// The file.
        path: PathBuf,
    },
    /// It was baked by another version or from other data.
    #[error("{}: stale: {why}", path.display())]
    Stale {
        /// The file.
        path: PathBuf,
        /// What differs.
        why: String,
    },
    /// Its bytes are not what was written.
    #[error("{}: damaged: {why}", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        why: String,
    },
    /// The disk, or the server, said no.
    #[error("{}: {source}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// More posts than one archive takes.
    #[error(
        "{posts} posts are more than one archive takes ({most}); choose a part with lunco:layer:windowM, or a coarser lunco:layer:targetRes"
    )]
    TooLarge {
        /// Posts of all DEMs.
        posts: u128,
        /// As many are taken.
        most: u128,
    },
    /// The heights to bake could not be read.
    #[error("heights can't be read: {0}")]
    Heights(#[from] PostReadError),
    /// Stopped by the user; nothing was left behind.
    #[error(transparent)]
    Cancelled(#[from] terrane_core::Cancelled),
}

impl ArchiveError {
    /// True when baking again mends it.
    pub fn is_mended_by_baking(&self) -> bool {
        matches!(self, Self::Missing { .. } | Self::Stale { .. } | Self::Damaged { .. })
    }
}

/// An open archive. See the crate's page.
#[derive(Debug)]
pub struct Archive {
    path: PathBuf,
    source: Box<dyn ByteSource>,
    /// What it was baked from.
    pub key: ContentKey,
    /// Where the posts are.
    pub lattice: Lattice,
    /// Site y of stored height 0, metres.
    pub reference_m: f64,
    /// How heights are kept.
    pub heights: HeightCode,
    /// Bounds and errors by place, of tiles that hold ground.
    pub nodes: BTreeMap<TileKey, Node>,
    /// Its size, bytes.
    pub file_bytes: u64,
    blocks: BTreeMap<TileKey, Block>,
    maps: Vec<MapEntry>,
    pub(crate) overlay: Option<Overlay>,
}

impl Archive {
    /// Opens an archive, a file or a http:// address, or says why it is
    /// refused. Only its front is read.
    pub fn open(path: &Path, key: Option<&ContentKey>) -> Result<Self, ArchiveError> {
        let owned = || path.to_owned();
        let io = |source: std::io::Error| match source.kind() {
            std::io::ErrorKind::NotFound => ArchiveError::Missing { path: owned() },
            std::io::ErrorKind::UnexpectedEof => {
                ArchiveError::Damaged { path: owned(), why: "it ends too early".into() }
            }
            _ => ArchiveError::Io { path: owned(), source },
        };
        let damaged = |why: &str| ArchiveError::Damaged { path: owned(), why: why.to_owned() };
        let stale = |why: String| ArchiveError::Stale { path: owned(), why };

        let source: Box<dyn ByteSource> = match path.to_str().filter(|_| is_url(path)) {
            Some(url) => Box::new(HttpBytes::new(url)),
            None => Box::new(File::open(path).map_err(io)?),
        };
        let length = source.length().map_err(io)?;
        let mut header = Header::zeroed();
        source.read_at(0, bytemuck::bytes_of_mut(&mut header)).map_err(io)?;
        if header.magic != MAGIC {
            return Err(damaged("it is not a terrane pyramid"));
        }
        if header.rule_version != RULE_VERSION {
            return Err(stale(format!("baked by rule {}, this is rule {RULE_VERSION}", header.rule_version)));
        }
        if key.is_some_and(|key| *key.as_bytes() != header.key) {
            return Err(stale("baked from other data or parameters".into()));
        }
        let index_bytes = header.tile_count.saturating_mul(size_of::<Entry>() as u64);
        let front = header.meta_room.saturating_add(index_bytes).saturating_add(size_of::<Header>() as u64);
        if header.meta_room > MAX_META_BYTES.into() || u64::from(header.meta_bytes) > header.meta_room || front > length
        {
            return Err(damaged("its header announces more than the file holds"));
        }
        if header.file_bytes != length {
            return Err(damaged(if header.file_bytes > length { "it ends too early" } else { "it is too long" }));
        }
        let mut bytes = vec![0; (front as usize) - size_of::<Header>()];
        source.read_at(size_of::<Header>() as u64, &mut bytes).map_err(io)?;
        if *ContentKey::of_bytes(&bytes).as_bytes() != header.checksum {
            return Err(damaged("its index does not match its checksum"));
        }
        let (meta, index) = bytes.split_at(header.meta_room as usize);
        let meta: Meta = serde_json::from_slice(&meta[..header.meta_bytes as usize])
            .map_err(|_| damaged("its description does not parse"))?;

        let (mut nodes, mut blocks) = (BTreeMap::new(), BTreeMap::new());
        for entry in index.chunks_exact(size_of::<Entry>()).map(bytemuck::pod_read_unaligned::<Entry>) {
            if entry.bytes > 0 {
                nodes.insert(entry.key(), entry.node());
                blocks.insert(entry.key(), entry.block());
            }
        }
        let all = blocks.values().chain(meta.maps.iter().flat_map(|map| &map.strips));
        if all.into_iter().any(|block| block.offset.saturating_add(block.bytes.into()) > length) {
            return Err(damaged("it ends too early"));
        }
        let Meta { lattice, reference_m, heights, maps } = meta;
        let key = ContentKey::from_raw(header.key);
        Ok(Self {
            path: owned(),
            source,
            key,
            lattice,
            reference_m,
            heights,
            nodes,
            file_bytes: length,
            blocks,
            maps,
            overlay: None,
        })
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// A tile, read and checked. `None` when there is no ground.
    pub fn tile(&self, key: TileKey) -> Result<Option<Tile>, ArchiveError> {
        let mut key = key;
        if let Some(overlay) = &self.overlay {
            if let Some(tile) = overlay.tile(key) {
                return Ok(tile.cloned());
            }
            let Some(below) = overlay.name_below(key) else { return Ok(None) };
            key = below;
        }
        let Some(block) = self.blocks.get(&key) else { return Ok(None) };
        let tile = codec::decode(&self.block(block, &name(key))?, self.heights);
        tile.map(Some).ok_or_else(|| self.damaged(&name(key), "does not decode"))
    }

    /// The site maps, finest first.
    pub fn maps(&self) -> Result<Vec<SiteMap>, ArchiveError> {
        match &self.overlay {
            Some(overlay) => Ok(overlay.maps().to_vec()),
            None => self.maps.iter().map(|entry| self.map(entry)).collect(),
        }
    }

    /// The site maps without their values, finest first.
    pub fn map_grids(&self) -> impl Iterator<Item = &SiteMap> {
        self.maps.iter().map(|entry| &entry.map)
    }

    fn map(&self, entry: &MapEntry) -> Result<SiteMap, ArchiveError> {
        let mut map = entry.map.clone();
        for (index, block) in entry.strips.iter().enumerate() {
            let posts = map.columns * STRIP_ROWS.min(map.rows.saturating_sub(index * STRIP_ROWS));
            let what = format!("site map {}", map.name);
            let bytes = self.block(block, &what)?;
            let values =
                crate::maps::decode_strip(&bytes, posts).ok_or_else(|| self.damaged(&what, "does not decode"))?;
            map.heights_m.extend(values.0);
            map.gradients.extend(values.1);
        }
        if map.heights_m.len() != map.columns * map.rows {
            return Err(self.damaged(&format!("site map {}", map.name), "lacks rows"));
        }
        Ok(map)
    }

    /// Reads every block and compares its checksum, so that damage is found
    /// before it is drawn. [`crate::verify`] looks at what they say, too.
    pub fn check_blocks(&self, progress: &dyn Progress) -> Result<(), ArchiveError> {
        progress.begin("checking", self.blocks.len() as u64);
        self.blocks.par_iter().try_for_each(|(key, block)| {
            progress.check()?;
            progress.advance(1);
            self.block(block, &name(*key)).map(|_| ())
        })?;
        let strips = self.maps.iter().flat_map(|map| map.strips.iter().map(|strip| (&map.map.name, strip)));
        strips.into_iter().try_for_each(|(name, strip)| self.block(strip, name).map(|_| ()))
    }

    pub(crate) fn damaged(&self, what: &str, why: &str) -> ArchiveError {
        ArchiveError::Damaged { path: self.path.clone(), why: format!("{what}: {why}") }
    }

    fn block(&self, block: &Block, what: &str) -> Result<Vec<u8>, ArchiveError> {
        let mut bytes = vec![0; block.bytes as usize];
        self.source.read_at(block.offset, &mut bytes).map_err(|source| match source.kind() {
            std::io::ErrorKind::UnexpectedEof => self.damaged(what, "it ends too early"),
            _ => ArchiveError::Io { path: self.path.clone(), source },
        })?;
        if checksum(&bytes) != block.checksum {
            return Err(self.damaged(what, "checksum does not match"));
        }
        Ok(bytes)
    }
}

/// A tile's place in words.
pub(crate) fn name(key: TileKey) -> String {
    format!("level {}, tile ({}, {})", key.level, key.x, key.z)
}
