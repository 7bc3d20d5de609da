//! The bytes of an archive: one file a pyramid.
//!
//! Layout, little-endian:
//!
//! | part | size | what |
//! |---|---|---|
//! | [`Header`] | 128 | magic, rule version, sizes, content key, checksum of what follows it up to the blocks |
//! | description | `meta_room` | JSON ([`Meta`]), padded with zeros |
//! | index | `tile_count` x 64 | [`Entry`]s, coarse before fine, then by row and column |
//! | blocks | the rest | tiles and strips of site maps, each compressed and checked on its own |
//!
//! The index is in front and its entries are of one size, coarse ones first, so
//! that a reader finds a tile by its place and can begin with a prefix. Every
//! tile of the lattice has an entry; one without ground has no block.

use crate::maps::SiteMap;
use crate::{HeightCode, Node};
use bytemuck::{Pod, Zeroable};
use serde::{Deserialize, Serialize};
use terrane_core::ContentKey;
use terrane_surface::{Lattice, TileKey};

/// Raised whenever the same input would bake to something else.
pub const RULE_VERSION: u32 = 5;

pub(crate) const MAGIC: [u8; 8] = *b"TRNPYR\r\n";
/// A header that announces more than this is damaged.
pub(crate) const MAX_META_BYTES: u32 = 192 << 20;

#[repr(C)]
#[derive(Debug, Clone, Copy, Pod, Zeroable)]
pub(crate) struct Header {
    pub(crate) magic: [u8; 8],
    pub(crate) rule_version: u32,
    pub(crate) meta_bytes: u32,
    pub(crate) meta_room: u64,
    pub(crate) tile_count: u64,
    pub(crate) file_bytes: u64,
    pub(crate) reserved: [u64; 3],
    pub(crate) key: [u8; 32],
    pub(crate) checksum: [u8; 32],
}

#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Pod, Zeroable)]
pub(crate) struct Entry {
    pub(crate) offset: u64,
    pub(crate) bytes: u32,
    pub(crate) x: u32,
    pub(crate) z: u32,
    pub(crate) level: u8,
    pub(crate) has_holes: u8,
    pub(crate) reserved: [u8; 2],
    pub(crate) min_m: f32,
    pub(crate) max_m: f32,
    pub(crate) error_m: f32,
    pub(crate) cover_error_m: f32,
    pub(crate) padding: [u32; 2],
    pub(crate) checksum: [u8; 16],
}

impl Entry {
    pub(crate) fn new(key: TileKey, block: Block, node: &Node) -> Self {
        Self {
            offset: block.offset,
            bytes: block.bytes,
            x: key.x,
            z: key.z,
            level: key.level,
            has_holes: node.has_holes.into(),
            reserved: [0; 2],
            min_m: node.min_m,
            max_m: node.max_m,
            error_m: node.error_m,
            cover_error_m: node.cover_error_m,
            padding: [0; 2],
            checksum: block.checksum,
        }
    }

    /// The entry of a tile without ground.
    pub(crate) fn empty(key: TileKey) -> Self {
        Self { x: key.x, z: key.z, level: key.level, ..Self::zeroed() }
    }

    pub(crate) fn key(&self) -> TileKey {
        TileKey { level: self.level, x: self.x, z: self.z }
    }

    pub(crate) fn node(&self) -> Node {
        let Self { min_m, max_m, error_m, cover_error_m, .. } = *self;
        Node { min_m, max_m, error_m, cover_error_m, has_holes: self.has_holes != 0 }
    }

    pub(crate) fn block(&self) -> Block {
        Block { offset: self.offset, bytes: self.bytes, checksum: self.checksum }
    }
}

/// Where some bytes of the file are, and what they have to be.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub(crate) struct Block {
    pub(crate) offset: u64,
    pub(crate) bytes: u32,
    pub(crate) checksum: [u8; 16],
}

/// The description in front of the index.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Meta {
    pub(crate) lattice: Lattice,
    pub(crate) reference_m: f64,
    pub(crate) heights: HeightCode,
    pub(crate) maps: Vec<MapEntry>,
}

/// A site map without its values, and the blocks that hold them.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct MapEntry {
    pub(crate) map: SiteMap,
    /// From the north: each holds [`crate::maps::STRIP_ROWS`] rows, heights and
    /// then gradients.
    pub(crate) strips: Vec<Block>,
}

impl Block {
    /// These bytes, not yet in their place.
    pub(crate) fn of(bytes: &[u8]) -> Self {
        Self { offset: 0, bytes: bytes.len() as u32, checksum: checksum(bytes) }
    }
}

pub(crate) fn checksum(bytes: &[u8]) -> [u8; 16] {
    let mut short = [0; 16];
    short.copy_from_slice(&ContentKey::of_bytes(bytes).as_bytes()[..16]);
    short
}

/// Coarse before fine, then by row and column: the order of the index.
pub(crate) fn index_order(key: &TileKey) -> (std::cmp::Reverse<u8>, u32, u32) {
    (std::cmp::Reverse(key.level), key.z, key.x)
}

const _: () = assert!(size_of::<Header>() == 128 && size_of::<Entry>() == 64);
