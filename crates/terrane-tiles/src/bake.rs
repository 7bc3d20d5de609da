//! From a surface to an archive, band by band, so that memory does not grow
//! with the ground.

use crate::cache::TileCache;
use crate::code::HOLE;
use crate::error_table::ErrorTable;
use crate::errors::{TileErrors, round_up};
use crate::format::{Block, Entry, Header, MAGIC, MapEntry, Meta, RULE_VERSION, index_order};
use crate::maps::SiteMap;
use crate::tile::{APRON, SIDE, STORED, stored};
use crate::verify::round_down;
use crate::work::{Made, Work, lock_folder};
use crate::{Archive, ArchiveError, HeightCode, Tile, codec};
use rayon::prelude::*;
use std::collections::{BTreeMap, VecDeque};
use std::path::Path;
use terrane_core::{ContentKey, KeyBuilder, Progress};
use terrane_surface::{Lattice, Surface, TILE_CELLS, TILE_POSTS, TileKey};

/// What is known of a tile without its heights.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Node {
    /// Lowest height of the finest surface inside, metres above the reference.
    pub min_m: f32,
    /// Highest height of the finest surface inside, metres above the reference.
    pub max_m: f32,
    /// Largest vertical distance between this tile's triangles and the finest
    /// surface, metres, measured at every finest post. Never smaller than a
    /// child's; 0 for a leaf.
    pub error_m: f32,
    /// Posting of the coarsest triangles, here or below, whose outline is not
    /// that of the finest ground, metres: how far a hole's edge may be off. 0
    /// where outlines agree.
    pub cover_error_m: f32,
    /// True when some post holds no ground.
    pub has_holes: bool,
}

impl Node {
    /// The larger of both errors: what selection has to keep small, metres.
    pub fn drawn_error_m(&self) -> f32 {
        self.error_m.max(self.cover_error_m)
    }
}

/// How a surface is baked.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct BakeOptions {
    /// How heights are kept.
    pub heights: HeightCode,
    /// Site y of stored height 0, metres: a round number near the heights.
    pub reference_m: f64,
}

/// Posts of one archive: its tiles are listed in memory, some 250 bytes each.
const MOST_POSTS: u128 = 100_000_000_000;
/// Tiles that are worked on before anything is written, at least a row.
const TILES_A_STEP: usize = 1024;

/// What is made before it is written and noted.
#[derive(Debug, Default)]
struct Step {
    /// Rows of tiles of one level.
    tiles: Vec<TileKey>,
    /// Strips of site maps, by map and place: those that need no more of the
    /// heights than these tiles do, so that nothing is read twice.
    strips: Vec<(usize, usize)>,
}

/// Bakes a surface into an archive at `path`. The bytes depend on the surface,
/// the key and the options alone: not on the thread count, nor on whether an
/// earlier bake of the same was killed and this one goes on with it. Cancelled
/// or failed, it leaves nothing behind, except that it can go on after heights
/// could not be read; an archive that was at `path` stays until it is
/// replaced.
pub fn bake(
    surface: &Surface,
    path: &Path,
    key: &ContentKey,
    options: &BakeOptions,
    progress: &dyn Progress,
) -> Result<Archive, ArchiveError> {
    let posts = surface.spec().dems.iter().map(|dem| dem.columns as u128 * dem.rows as u128).sum();
    if posts > MOST_POSTS {
        return Err(ArchiveError::TooLarge { posts, most: MOST_POSTS });
    }
    let folder = path.parent().filter(|folder| *folder != Path::new("")).unwrap_or(Path::new("."));
    let lock = lock_folder(folder, progress)?;
    // Whoever held the lock may have baked the same.
    match Archive::open(path, Some(key)) {
        Ok(archive) => return Ok(archive),
        Err(error) if error.is_mended_by_baking() => {}
        Err(error) => return Err(error),
    }
    let detail = surface.detail(SiteMap::MOST_DETAIL, |_| true);
    let detail = detail.map(|(rect, posting_m)| SiteMap::of_rect("detail", &rect, posting_m));
    let maps: Vec<SiteMap> = detail.into_iter().chain(surface.spec().dems.iter().map(SiteMap::of)).collect();
    let tiles = surface.lattice().tiles();
    let front = Front::new(surface.lattice(), options, &maps, tiles.len());
    let plan = KeyBuilder::new("bake", RULE_VERSION).key("key", key).bytes("front", &front.json()).finish();
    let mut work = Work::begin(path, &plan, options.heights, front.bytes(), maps.len(), lock)?;
    let errors = ErrorTable::new(surface.lattice(), &tiles);
    let baker = Baker { surface, options, tiles: &tiles, maps: &maps, errors: &errors, progress };
    let made = baker.run(&mut work).and_then(|()| {
        let errors = errors.finish(|tile| work.tile(tile), progress)?;
        front.finish(&mut work, &tiles, key, &errors)
    });
    match made {
        Ok(()) => Archive::open(path, Some(key)),
        Err(error) => {
            if !matches!(error, ArchiveError::Heights(_)) {
                work.abandon();
            }
            Err(error)
        }
    }
}

impl Step {
    fn len(&self) -> usize {
        self.tiles.len() + self.strips.len()
    }
}

struct Baker<'a> {
    surface: &'a Surface,
    options: &'a BakeOptions,
    tiles: &'a [TileKey],
    maps: &'a [SiteMap],
    errors: &'a ErrorTable<'a>,
    progress: &'a dyn Progress,
}

impl Baker<'_> {
    /// All steps. A band of parents follows as soon as the children under and
    /// around it are there, so that they need not be read again. The order
    /// depends on the lattice alone.
    fn steps(&self) -> Vec<Step> {
        let levels = usize::from(self.surface.lattice().root_level) + 1;
        let mut bands: Vec<VecDeque<Vec<TileKey>>> = vec![VecDeque::new(); levels];
        for tile in self.tiles {
            let bands = &mut bands[usize::from(tile.level)];
            match bands.back_mut() {
                Some(band) if band.last().is_some_and(|last| last.z == tile.z) || band.len() < TILES_A_STEP => {
                    band.push(*tile);
                }
                _ => bands.push_back(vec![*tile]),
            }
        }
        let mut steps = Vec::new();
        let mut strips = vec![0; self.maps.len()];
        let mut done: Vec<Option<u32>> = vec![None; levels];
        loop {
            // The coarsest level that has what it needs goes first.
            let is_ready = |level: &usize| {
                let Some(last) = bands[*level].front().and_then(|band| band.last()) else { return false };
                let Some(below) = level.checked_sub(1) else { return true };
                bands[below].is_empty() || done[below].is_some_and(|row| row > 2 * last.z + 2)
            };
            let Some(level) = (0..levels).rev().find(is_ready) else { break };
            if let Some(tiles) = bands[level].pop_front() {
                done[level] = tiles.last().map(|last| last.z);
                let strips = tiles.last().map(|last| self.strips_down_to(*last, &mut strips)).unwrap_or_default();
                steps.push(Step { tiles, strips });
            }
        }
        let left =
            self.maps.iter().enumerate().flat_map(|(map, grid)| (strips[map]..grid.strips()).map(move |k| (map, k)));
        steps.extend(left.map(|strip| Step { tiles: vec![], strips: vec![strip] }));
        steps
    }

    /// Strips of the maps, from `done` on, for which rows of leaves down to
    /// this one have read all heights.
    fn strips_down_to(&self, last: TileKey, done: &mut [usize]) -> Vec<(usize, usize)> {
        let lattice = self.surface.lattice();
        let posting_m = lattice.posting_at_m(last.level);
        let end_m = lattice.z0_m + f64::from(last.z + 1) * f64::from(TILE_CELLS) * posting_m;
        let mut ready = Vec::new();
        let dems = &self.surface.spec().dems;
        // A map of what is finer than any DEM comes last: it needs no heights of its own.
        let of_dems = self.maps.iter().zip(done).enumerate().skip(self.maps.len() - dems.len());
        for ((index, (grid, done)), dem) in of_dems.zip(dems) {
            // The level on which this DEM's own posts are leaves.
            let own = (0..lattice.root_level).find(|level| 2.0 * lattice.posting_at_m(*level) > dem.posting_m);
            while own.unwrap_or(lattice.root_level) == last.level && *done < grid.strips() && grid.end_m(*done) <= end_m
            {
                ready.push((index, *done));
                *done += 1;
            }
        }
        ready
    }

    fn run(&self, work: &mut Work) -> Result<(), ArchiveError> {
        let steps = self.steps();
        let all: usize = steps.iter().map(Step::len).sum();
        self.progress.begin(if work.steps_done > 0 { "tiles (going on)" } else { "tiles" }, all as u64);
        self.progress.advance(steps.iter().take(work.steps_done).map(Step::len).sum::<usize>() as u64);
        let recent = TileCache::default();
        for step in steps.iter().skip(work.steps_done) {
            let (tiles, strips) =
                rayon::join(|| self.make_tiles(work, &recent, &step.tiles), || self.make_strips(&step.strips));
            let made = Made { tiles: tiles?, strips: strips? };
            if let Some(failure) = self.surface.read_failure() {
                return Err(failure.into());
            }
            work.append(made)?;
        }
        Ok(())
    }

    fn make_tiles(
        &self,
        work: &Work,
        recent: &TileCache,
        tiles: &[TileKey],
    ) -> Result<Vec<(Entry, Vec<u8>)>, ArchiveError> {
        let made = tiles.par_iter().map(|&key| {
            self.progress.check()?;
            let is_split = self.surface.lattice().is_split(key);
            let tile = if is_split { self.parent(work, recent, key)? } else { self.leaf(key) };
            self.progress.advance(1);
            let Some((low, high, has_holes)) = tile.bounds() else { return Ok((Entry::empty(key), vec![])) };
            if !is_split {
                self.errors.include_leaf(key, &tile);
            }
            let (min_m, max_m) = (round_down(tile.code.decode(low)), round_up(tile.code.decode(high)));
            let node = Node { min_m, max_m, error_m: 0.0, cover_error_m: 0.0, has_holes };
            let bytes =
                codec::encode(&tile).map_err(|source| ArchiveError::Io { path: Path::new("zstd").into(), source })?;
            recent.put(key, tile);
            Ok((Entry::new(key, Block::of(&bytes), &node), bytes))
        });
        let made = made.collect::<Result<Vec<_>, ArchiveError>>()?;
        if let Some(last) = tiles.last() {
            // What the next rows of this level still need of the level below.
            recent.retain(|child| child.level + 1 != last.level || child.z > 2 * last.z);
        }
        Ok(made)
    }

    fn make_strips(&self, strips: &[(usize, usize)]) -> Result<Vec<(usize, Vec<u8>)>, ArchiveError> {
        let made = strips.par_iter().map(|&(map, strip)| {
            self.progress.check()?;
            let bytes = self.maps[map].bake_strip(self.surface, self.options.reference_m, strip);
            self.progress.advance(1);
            bytes
                .map(|bytes| (map, bytes))
                .map_err(|source| ArchiveError::Io { path: Path::new("zstd").into(), source })
        });
        made.collect()
    }

    fn leaf(&self, key: TileKey) -> Tile {
        let heights_m = self.surface.leaf_heights_m(key, APRON);
        let words = self.options.heights.encode(&heights_m, self.options.reference_m);
        Tile { code: self.options.heights, words, filled: self.surface.tile_filled(key, APRON) }
    }

    /// A parent keeps every second post of its children; its apron comes from
    /// the tiles around them.
    fn parent(&self, work: &Work, recent: &TileCache, key: TileKey) -> Result<Tile, ArchiveError> {
        let mut around: [[Option<_>; 4]; 4] = Default::default();
        for (dz, row) in (-1..).zip(&mut around) {
            for (dx, slot) in (-1..).zip(row) {
                let place = (2 * i64::from(key.x) + dx, 2 * i64::from(key.z) + dz);
                if let (Ok(x), Ok(z)) = (u32::try_from(place.0), u32::try_from(place.1)) {
                    let child = TileKey { level: key.level - 1, x, z };
                    *slot = recent.get(child, || work.tile(child))?;
                }
            }
        }
        let (mut words, mut filled) = (vec![HOLE; STORED], None);
        let has_filled = around.iter().flatten().flatten().any(|tile| tile.filled.is_some());
        copy_from_own(&around, &mut words);
        // Without holes or filled posts, only the ring is left.
        let ring = [-(APRON as i32), (TILE_CELLS + APRON) as i32];
        let is_whole = !has_filled && (1..3).all(|row| around[row][1..3].iter().all(Option::is_some));
        for v in ring[0]..=ring[1] {
            let step = if is_whole && !ring.contains(&v) { ring[1] - ring[0] } else { 1 };
            for u in (ring[0]..=ring[1]).step_by(step as usize) {
                let here = stored(u, v);
                match from_children(&around, 2 * u, 2 * v) {
                    Some((tile, there)) => {
                        words[here] = tile.words[there];
                        if tile.filled.as_ref().is_some_and(|filled| filled[there]) {
                            filled.get_or_insert_with(|| vec![false; STORED])[here] = true;
                        }
                    }
                    None => words[here] = self.word_of_post(key, u, v),
                }
            }
        }
        Ok(Tile { code: self.options.heights, words, filled })
    }

    /// The function itself, where no finer tile has the post.
    fn word_of_post(&self, key: TileKey, u: i32, v: i32) -> i32 {
        let (i, j) = key.first_post();
        let post = |first: u64, k: i32| u64::try_from(first as i64 + (i64::from(k) << key.level)).ok();
        let height = post(i, u).zip(post(j, v)).and_then(|(i, j)| self.surface.post_m(i, j));
        let words = self.options.heights.encode(&[height.unwrap_or(f64::NAN)], self.options.reference_m);
        words.first().copied().unwrap_or(HOLE)
    }
}

/// Copies what the four children of a parent have: every second post of them.
fn copy_from_own<T: std::ops::Deref<Target = Tile>>(around: &[[Option<T>; 4]; 4], words: &mut [i32]) {
    let half = (TILE_CELLS / 2) as usize;
    for (row, dz) in [(1, 0), (2, half)] {
        for (column, dx) in [(1, 0), (2, half)] {
            let Some(child) = &around[row][column] else { continue };
            for v in 0..=half {
                let from = &child.words[stored(0, 2 * v as i32)..][..TILE_POSTS as usize];
                let to = &mut words[stored(dx as i32, (dz + v) as i32)..][..=half];
                to.iter_mut().zip(from.iter().step_by(2)).for_each(|(to, from)| *to = *from);
            }
        }
    }
}

/// A post in one of the 4 x 4 tiles around and below a parent, by its place in
/// their posts, counted from the parent's corner.
fn from_children<T: std::ops::Deref<Target = Tile>>(
    around: &[[Option<T>; 4]; 4],
    u: i32,
    v: i32,
) -> Option<(&Tile, usize)> {
    let cells = TILE_CELLS as i32;
    // A border post belongs to the tiles on both sides.
    let sides = |place: i32| {
        let tile = place.div_euclid(cells);
        let on_border = place.rem_euclid(cells) == 0;
        [Some(tile), on_border.then_some(tile - 1)].into_iter().flatten().map(move |tile| (tile, place - tile * cells))
    };
    for (row, v) in sides(v) {
        for (column, u) in sides(u) {
            let slot =
                around.get(usize::try_from(row + 1).ok()?).and_then(|row| row.get(usize::try_from(column + 1).ok()?));
            if let Some(Some(tile)) = slot {
                return Some((tile, stored(u, v)));
            }
        }
    }
    None
}

/// Header, description and index: as long as the lattice makes them, before
/// any block is written.
struct Front {
    meta: Meta,
    room: u64,
    tile_count: usize,
}

impl Front {
    fn new(lattice: &Lattice, options: &BakeOptions, maps: &[SiteMap], tile_count: usize) -> Self {
        let maps = maps.iter().map(|map| MapEntry { map: map.clone(), strips: vec![] });
        let meta = Meta {
            lattice: lattice.clone(),
            reference_m: options.reference_m,
            heights: options.heights,
            maps: maps.collect(),
        };
        // A strip takes at most so much in JSON.
        const STRIP_JSON: usize = 160;
        let strips: usize = meta.maps.iter().map(|entry| entry.map.strips()).sum();
        let known = serde_json::to_vec(&meta).map_or(0, |json| json.len());
        let room = (known + strips * STRIP_JSON).next_multiple_of(4096) as u64;
        Self { meta, room, tile_count }
    }

    /// Everything that the bake depends on, apart from the heights.
    fn json(&self) -> Vec<u8> {
        serde_json::to_vec(&self.meta).unwrap_or_default()
    }

    fn bytes(&self) -> u64 {
        size_of::<Header>() as u64 + self.room + (self.tile_count * size_of::<Entry>()) as u64
    }

    /// Writes the front around what is known now, and names the file.
    fn finish(
        &self,
        work: &mut Work,
        tiles: &[TileKey],
        key: &ContentKey,
        errors: &BTreeMap<TileKey, TileErrors>,
    ) -> Result<(), ArchiveError> {
        let mut meta = self.meta.clone();
        meta.maps.iter_mut().zip(&work.strips).for_each(|(map, strips)| map.strips.clone_from(strips));
        let json = serde_json::to_vec(&meta).unwrap_or_default();
        let mut front = json.clone();
        front.resize(self.room as usize, 0);
        let mut entries: BTreeMap<TileKey, Entry> = work.entries.clone();
        widen_bounds(&mut entries, tiles);
        let mut order: Vec<TileKey> = tiles.to_vec();
        order.sort_by_key(index_order);
        for tile in order {
            let mut entry = entries.get(&tile).copied().unwrap_or(Entry::empty(tile));
            let error = errors.get(&tile).copied().unwrap_or_default();
            if entry.bytes > 0 {
                (entry.error_m, entry.cover_error_m) = (round_up(error.height_m), round_up(error.cover_m));
            }
            front.extend_from_slice(bytemuck::bytes_of(&entry));
        }
        let header = Header {
            magic: MAGIC,
            rule_version: RULE_VERSION,
            meta_bytes: json.len() as u32,
            meta_room: self.room,
            tile_count: self.tile_count as u64,
            file_bytes: work.file_bytes(),
            reserved: [0; 3],
            key: *key.as_bytes(),
            checksum: *ContentKey::of_bytes(&front).as_bytes(),
        };
        work.finish(&header, &front)
    }
}

/// A parent's bounds hold its children's.
fn widen_bounds(entries: &mut BTreeMap<TileKey, Entry>, tiles: &[TileKey]) {
    for tile in tiles.iter().rev() {
        let Some(own) = entries.get(tile).copied() else { continue };
        if let Some(parent) = entries.get_mut(&tile.parent()).filter(|_| own.bytes > 0) {
            parent.min_m = parent.min_m.min(own.min_m);
            parent.max_m = parent.max_m.max(own.max_m);
            parent.has_holes |= own.has_holes;
        }
    }
}

const _: () = assert!(SIDE == (TILE_POSTS + 2 * APRON) as usize);
