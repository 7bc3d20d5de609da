//! One file a pyramid: a header, an up-front index of fixed-size entries found
//! by place, then tiles and maps, each compressed and checked on its own.
//!
//! Layout, little-endian: [`Header`]; `meta_bytes` of JSON (lattice, reference,
//! maps); `tile_count` [`Entry`]s sorted by (level, x, z); blocks. A block is
//! zstd over byte planes (all first bytes, all second bytes, ...), which floats
//! compress better in.

use crate::{Node, Pyramid, SiteMap};
use bytemuck::{Pod, Zeroable};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fs::File;
use std::io::Write;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use terrane_core::{ContentKey, Progress};
use terrane_surface::{Lattice, TILE_POSTS, TileKey};

/// Raised whenever the same input would bake to something else.
pub const RULE_VERSION: u32 = 2;

const MAGIC: [u8; 8] = *b"TRNPYR\r\n";
const TILE_BYTES: usize = (TILE_POSTS * TILE_POSTS * 4) as usize;
/// A header that announces more than this is damaged.
const MAX_META_BYTES: u32 = 16 << 20;
const COMPRESSION_LEVEL: i32 = 3;

#[repr(C)]
#[derive(Debug, Clone, Copy, Pod, Zeroable)]
struct Header {
    magic: [u8; 8],
    rule_version: u32,
    tile_count: u32,
    meta_bytes: u32,
    reserved: u32,
    key: [u8; 32],
    checksum: [u8; 32],
}

#[repr(C)]
#[derive(Debug, Clone, Copy, Pod, Zeroable)]
struct Entry {
    level: u32,
    x: u32,
    z: u32,
    has_holes: u32,
    min_m: f32,
    max_m: f32,
    error_m: f32,
    bytes: u32,
    offset: u64,
    checksum: [u8; 16],
}

#[derive(Debug, Serialize, Deserialize)]
struct Meta {
    lattice: Lattice,
    reference_m: f64,
    maps: Vec<MapEntry>,
}

#[derive(Debug, Serialize, Deserialize)]
struct MapEntry {
    map: SiteMap,
    heights: Block,
    gradients: Block,
}

#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
struct Block {
    offset: u64,
    bytes: u32,
    checksum: [u8; 16],
}

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
    /// The disk said no.
    #[error("{}: {source}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
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

/// An open archive: the index in memory, tiles read on demand.
#[derive(Debug)]
pub struct Archive {
    path: PathBuf,
    file: File,
    /// What it was baked from.
    pub key: ContentKey,
    /// Where the posts are.
    pub lattice: Lattice,
    /// Site y of stored height 0, metres.
    pub reference_m: f64,
    /// Bounds and errors by place.
    pub nodes: BTreeMap<TileKey, Node>,
    blocks: BTreeMap<TileKey, Block>,
    maps: Vec<MapEntry>,
}

fn checksum(bytes: &[u8]) -> [u8; 16] {
    let mut short = [0; 16];
    short.copy_from_slice(&ContentKey::of_bytes(bytes).as_bytes()[..16]);
    short
}

fn planes(bytes: &[u8], size: usize) -> Vec<u8> {
    (0..size).flat_map(|plane| bytes.iter().skip(plane).step_by(size).copied()).collect()
}

fn interleave(planes: &[u8], size: usize) -> Vec<u8> {
    let count = planes.len() / size;
    (0..planes.len()).map(|k| planes[(k % size) * count + k / size]).collect()
}

/// Writes blocks behind the index and remembers where.
struct BlockWriter<W> {
    out: W,
    offset: u64,
}

impl<W: Write> BlockWriter<W> {
    fn block(&mut self, values: &[f32]) -> std::io::Result<Block> {
        let bytes = zstd::bulk::compress(&planes(bytemuck::cast_slice(values), 4), COMPRESSION_LEVEL)?;
        self.out.write_all(&bytes)?;
        let block = Block { offset: self.offset, bytes: bytes.len() as u32, checksum: checksum(&bytes) };
        self.offset += bytes.len() as u64;
        Ok(block)
    }
}

impl Archive {
    /// Writes a pyramid beside `path` and moves it there when whole.
    pub fn write(
        path: &Path,
        key: &ContentKey,
        pyramid: &Pyramid,
        progress: &dyn Progress,
    ) -> Result<(), ArchiveError> {
        let io = |source| ArchiveError::Io { path: path.to_owned(), source };
        let folder = path.parent().unwrap_or(Path::new("."));
        std::fs::create_dir_all(folder).map_err(io)?;
        // Blocks first, into a file of their own, since the index in front
        // holds their sizes; offsets in it are relative to the first block.
        let mut blocks =
            BlockWriter { out: std::io::BufWriter::new(tempfile::tempfile_in(folder).map_err(io)?), offset: 0 };
        progress.begin("writing", pyramid.heights_m.len() as u64);
        let mut entries = Vec::with_capacity(pyramid.nodes.len());
        for (tile, node) in &pyramid.nodes {
            progress.check()?;
            let block = blocks.block(&pyramid.heights_m[tile]).map_err(io)?;
            entries.push(Entry {
                level: tile.level.into(),
                x: tile.x,
                z: tile.z,
                has_holes: node.has_holes.into(),
                min_m: node.min_m,
                max_m: node.max_m,
                error_m: node.error_m,
                bytes: block.bytes,
                offset: block.offset,
                checksum: block.checksum,
            });
            progress.advance(1);
        }
        let mut maps = Vec::new();
        for map in &pyramid.maps {
            let heights = blocks.block(&map.heights_m).map_err(io)?;
            let gradients = blocks.block(bytemuck::cast_slice(&map.gradients)).map_err(io)?;
            maps.push(MapEntry {
                map: SiteMap { heights_m: vec![], gradients: vec![], ..map.clone() },
                heights,
                gradients,
            });
        }
        let meta = Meta { lattice: pyramid.lattice.clone(), reference_m: pyramid.reference_m, maps };
        let meta = serde_json::to_vec(&meta).map_err(|error| io(error.into()))?;
        let index: &[u8] = bytemuck::cast_slice(&entries);
        let header = Header {
            magic: MAGIC,
            rule_version: RULE_VERSION,
            tile_count: entries.len() as u32,
            meta_bytes: meta.len() as u32,
            reserved: 0,
            key: *key.as_bytes(),
            checksum: *ContentKey::of_bytes(&[&meta, index].concat()).as_bytes(),
        };
        let mut blocks = blocks.out.into_inner().map_err(|error| io(error.into_error()))?;
        let mut write = || -> std::io::Result<()> {
            let mut whole = tempfile::Builder::new().prefix(".partial-").tempfile_in(folder)?;
            whole.write_all(bytemuck::bytes_of(&header))?;
            whole.write_all(&meta)?;
            whole.write_all(index)?;
            std::io::Seek::rewind(&mut blocks)?;
            std::io::copy(&mut blocks, &mut whole)?;
            whole.as_file().sync_all()?;
            whole.persist(path).map_err(|error| error.error)?;
            Ok(())
        };
        write().map_err(io)
    }

    /// Opens an archive, or says why it is refused.
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

        let file = File::open(path).map_err(io)?;
        let length = file.metadata().map_err(io)?.len();
        let mut header = Header::zeroed();
        file.read_exact_at(bytemuck::bytes_of_mut(&mut header), 0).map_err(io)?;
        if header.magic != MAGIC {
            return Err(damaged("it is not a terrane pyramid"));
        }
        if header.rule_version != RULE_VERSION {
            return Err(stale(format!("baked by rule {}, this is rule {RULE_VERSION}", header.rule_version)));
        }
        if key.is_some_and(|key| *key.as_bytes() != header.key) {
            return Err(stale("baked from other data or parameters".into()));
        }
        let index_bytes = u64::from(header.tile_count) * size_of::<Entry>() as u64;
        let front = size_of::<Header>() as u64 + u64::from(header.meta_bytes) + index_bytes;
        if header.meta_bytes > MAX_META_BYTES || front > length {
            return Err(damaged("its header announces more than the file holds"));
        }
        let mut bytes = vec![0; header.meta_bytes as usize + index_bytes as usize];
        file.read_exact_at(&mut bytes, size_of::<Header>() as u64).map_err(io)?;
        if *ContentKey::of_bytes(&bytes).as_bytes() != header.checksum {
            return Err(damaged("its index does not match its checksum"));
        }
        let (meta, index) = bytes.split_at(header.meta_bytes as usize);
        let mut meta: Meta = serde_json::from_slice(meta).map_err(|_| damaged("its description does not parse"))?;

        let (mut nodes, mut blocks) = (BTreeMap::new(), BTreeMap::new());
        for entry in index.chunks_exact(size_of::<Entry>()).map(bytemuck::pod_read_unaligned::<Entry>) {
            let tile = TileKey { level: entry.level as u8, x: entry.x, z: entry.z };
            let Entry { min_m, max_m, error_m, .. } = entry;
            nodes.insert(tile, Node { min_m, max_m, error_m, has_holes: entry.has_holes != 0 });
            blocks.insert(tile, Block { offset: front + entry.offset, bytes: entry.bytes, checksum: entry.checksum });
        }
        for map in &mut meta.maps {
            map.heights.offset += front;
            map.gradients.offset += front;
        }
        let all = blocks.values().chain(meta.maps.iter().flat_map(|map| [&map.heights, &map.gradients]));
        if all.into_iter().any(|block| block.offset + u64::from(block.bytes) > length) {
            return Err(damaged("it ends too early"));
        }
        let (lattice, reference_m) = (meta.lattice, meta.reference_m);
        let key = ContentKey::from_raw(header.key);
        Ok(Self { path: owned(), file, key, lattice, reference_m, nodes, blocks, maps: meta.maps })
    }

    /// Heights of a tile, `TILE_POSTS`^2, metres above the reference; NaN is a
    /// hole. `None` when there is no such tile.
    pub fn tile(&self, tile: TileKey) -> Result<Option<Vec<f32>>, ArchiveError> {
        self.blocks.get(&tile).map(|block| self.block(block, TILE_BYTES, &format!("{tile:?}"))).transpose()
    }

    /// Reads everything, so that damage is found before it is drawn.
    pub fn verify(&self) -> Result<(), ArchiveError> {
        self.nodes.keys().try_for_each(|tile| self.tile(*tile).map(|_| ()))?;
        self.maps().map(|_| ())
    }

    /// The site maps, finest first.
    pub fn maps(&self) -> Result<Vec<SiteMap>, ArchiveError> {
        let read = |entry: &MapEntry| {
            let posts = entry.map.columns * entry.map.rows;
            let heights_m = self.block(&entry.heights, posts * 4, &entry.map.name)?;
            let gradients = self.block(&entry.gradients, posts * 8, &entry.map.name)?;
            Ok(SiteMap { heights_m, gradients: bytemuck::cast_slice(&gradients).to_vec(), ..entry.map.clone() })
        };
        self.maps.iter().map(read).collect()
    }

    fn block(&self, block: &Block, size: usize, what: &str) -> Result<Vec<f32>, ArchiveError> {
        let damaged = |why: &str| ArchiveError::Damaged { path: self.path.clone(), why: format!("{what}: {why}") };
        let mut bytes = vec![0; block.bytes as usize];
        let io = |source| ArchiveError::Io { path: self.path.clone(), source };
        self.file.read_exact_at(&mut bytes, block.offset).map_err(io)?;
        if checksum(&bytes) != block.checksum {
            return Err(damaged("checksum does not match"));
        }
        let planes = zstd::bulk::decompress(&bytes, size).map_err(|_| damaged("does not decompress"))?;
        if planes.len() != size {
            return Err(damaged("has the wrong size"));
        }
        Ok(bytemuck::allocation::pod_collect_to_vec(&interleave(&planes, 4)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use terrane_core::Quiet;
    use terrane_surface::{DemGrid, Surface, SurfaceSpec};

    fn pyramid() -> Pyramid {
        let mut heights_m: Vec<f32> = (0..150 * 90).map(|k| (k % 37) as f32 * 0.3).collect();
        heights_m[777] = f32::NAN;
        let dem = DemGrid { name: "t".into(), x0_m: 0.0, z0_m: 0.0, posting_m: 1.0, columns: 150, rows: 90, heights_m };
        crate::build(&Surface::new(SurfaceSpec { dems: vec![dem], ..SurfaceSpec::default() }).unwrap(), &Quiet).unwrap()
    }

    fn bits(values: &[f32]) -> Vec<u32> {
        values.iter().map(|value| value.to_bits()).collect()
    }

    #[test]
    fn what_is_written_is_read_back_bit_for_bit() {
        let (folder, pyramid) = (tempfile::tempdir().unwrap(), pyramid());
        let (path, key) = (folder.path().join("a.pyramid"), ContentKey::of_bytes(b"a"));
        Archive::write(&path, &key, &pyramid, &Quiet).unwrap();
        let archive = Archive::open(&path, Some(&key)).unwrap();
        assert_eq!(archive.nodes, pyramid.nodes);
        for (tile, heights) in &pyramid.heights_m {
            assert_eq!(bits(&archive.tile(*tile).unwrap().unwrap()), bits(heights));
        }
        let maps = archive.maps().unwrap();
        assert_eq!(bits(&maps[0].heights_m), bits(&pyramid.maps[0].heights_m));
        assert_eq!(maps[0].gradients, pyramid.maps[0].gradients);
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1, "nothing else is left behind");
    }

    #[test]
    fn stale_and_damaged_files_are_refused() {
        let (folder, pyramid) = (tempfile::tempdir().unwrap(), pyramid());
        let (path, key) = (folder.path().join("a.pyramid"), ContentKey::of_bytes(b"a"));
        assert!(matches!(Archive::open(&path, None), Err(ArchiveError::Missing { .. })));
        Archive::write(&path, &key, &pyramid, &Quiet).unwrap();
        let other = ContentKey::of_bytes(b"b");
        assert!(matches!(Archive::open(&path, Some(&other)), Err(ArchiveError::Stale { .. })));

        let whole = std::fs::read(&path).unwrap();
        let mut refused = 0;
        for k in 0..300 {
            let mut bytes = whole.clone();
            let place = (k * 7919) % bytes.len();
            if k % 3 == 0 {
                bytes.truncate(place)
            } else {
                bytes[place] ^= 1 << (k % 8)
            }
            std::fs::write(&path, &bytes).unwrap();
            let read = Archive::open(&path, Some(&key)).and_then(|archive| archive.verify());
            match read {
                Err(error) => {
                    assert!(error.is_mended_by_baking(), "{error}");
                    refused += 1;
                }
                // The one reserved word in the header is not read.
                Ok(()) => assert!((20..24).contains(&place), "damage at {place} went unseen"),
            }
        }
        assert!(refused > 290);
    }
}
