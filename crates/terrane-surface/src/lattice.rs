//! Which posting the ground has where: a quadtree of square tiles.

use crate::modifiers::Wish;
use crate::{DemGrid, SiteRect};
use rustc_hash::FxHashSet;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::sync::Arc;

/// Cells along a tile's side.
pub const TILE_CELLS: u32 = 64;
/// Posts along a tile's side; neighbours share their border posts.
pub const TILE_POSTS: u32 = TILE_CELLS + 1;

/// A tile's place: level 0 is the finest; a tile of level L spans
/// `TILE_CELLS << L` finest cells.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct TileKey {
    /// Level, 0 is the finest.
    pub level: u8,
    /// Tiles of this level east of the lattice's corner.
    pub x: u32,
    /// Tiles of this level south of the lattice's corner.
    pub z: u32,
}

impl TileKey {
    /// The four tiles of the next finer level, north-west first, row by row.
    /// A tile of level 0 has none.
    pub fn children(self) -> Option<[Self; 4]> {
        let level = self.level.checked_sub(1)?;
        let child = |dx, dz| Self { level, x: 2 * self.x + dx, z: 2 * self.z + dz };
        Some([child(0, 0), child(1, 0), child(0, 1), child(1, 1)])
    }

    /// The tile of the next coarser level around this one.
    pub fn parent(self) -> Self {
        Self { level: self.level + 1, x: self.x / 2, z: self.z / 2 }
    }

    /// The tile of the same level beside this one, if its place is not
    /// negative.
    pub fn neighbour(self, dx: i32, dz: i32) -> Option<Self> {
        Some(Self { level: self.level, x: self.x.checked_add_signed(dx)?, z: self.z.checked_add_signed(dz)? })
    }

    /// Finest cells between the lattice's corner and this tile's corner.
    pub fn first_post(self) -> (u64, u64) {
        let span = u64::from(TILE_CELLS) << self.level;
        (u64::from(self.x) * span, u64::from(self.z) * span)
    }
}

/// The grid of posts under a surface. The lattice of level L is every 2^L-th
/// post of the finest, in both directions, from the north-west corner.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Lattice {
    /// Site x of the corner post, metres.
    pub x0_m: f64,
    /// Site z of the corner post, metres.
    pub z0_m: f64,
    /// Distance between the finest posts, metres.
    pub posting_m: f64,
    /// The level of the single root tile.
    pub root_level: u8,
    extents: Vec<Extent>,
    /// Rectangles that want finer posts than their DEMs have.
    regions: Vec<Extent>,
    /// Tiles that are split for the sake of single things: those of the stage,
    /// and those of edits, which change more often.
    splits: [Splits; 2],
}

/// A set of tiles.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct Splits(Arc<FxHashSet<TileKey>>);

impl Serialize for Splits {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut tiles: Vec<(u8, u32, u32)> = self.0.iter().map(|tile| (tile.level, tile.x, tile.z)).collect();
        tiles.sort_unstable();
        tiles.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Splits {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let tiles = Vec::<(u8, u32, u32)>::deserialize(deserializer)?;
        Ok(Self(Arc::new(tiles.into_iter().map(|(level, x, z)| TileKey { level, x, z }).collect())))
    }
}

/// What a lattice is laid for beside DEMs, and what of an earlier one still
/// holds.
#[derive(Debug, Default)]
pub(crate) struct Wishes<'a> {
    /// For whole regions.
    pub(crate) regions: Vec<Wish>,
    /// For single things of the stage, and for edits.
    pub(crate) single: [Vec<Wish>; 2],
    /// An earlier lattice over the same DEMs, and which of its sets of splits
    /// are for wishes that are still there; `single` then lists what is new.
    pub(crate) earlier: Option<(&'a Lattice, [bool; 2])>,
    /// Halvings of the finest DEM's posting that all wishes, old and new, need.
    pub(crate) halvings: u8,
}

/// A DEM's rectangle in finest cells from the corner, and the level whose
/// posting serves it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Extent {
    x: [f64; 2],
    z: [f64; 2],
    level: u8,
}

impl Extent {
    fn meets(&self, x: [f64; 2], z: [f64; 2]) -> bool {
        self.x[0] < x[1] && self.x[1] > x[0] && self.z[0] < z[1] && self.z[1] > z[0]
    }
}

/// The deepest quadtree that post indices of 32 bits allow.
const MAX_LEVEL: u32 = 24;
/// Tiles that modifiers may make, at most.
const MOST_TILES: usize = 8_000_000;

impl Lattice {
    /// The lattice under some DEMs, the finest first. Its posts are the finest
    /// DEM's own. `None` when there is no DEM or the spread is absurd.
    pub fn under(dems: &[DemGrid]) -> Option<Self> {
        Self::for_wishes(dems, &Wishes::default())
    }

    /// The same, with finer posts where they are wished for.
    pub(crate) fn for_wishes(dems: &[DemGrid], wishes: &Wishes<'_>) -> Option<Self> {
        let finest = dems.first()?;
        let west = dems.iter().map(|d| d.x0_m).fold(f64::INFINITY, f64::min);
        let north = dems.iter().map(|d| d.z0_m).fold(f64::INFINITY, f64::min);
        // Whole cells from the finest DEM's corner, so that its posts stay posts.
        let cells_outward = |distance_m: f64| (distance_m / finest.posting_m - 1e-6).ceil().max(0.0);
        let x0_m = finest.x0_m - cells_outward(finest.x0_m - west) * finest.posting_m;
        let z0_m = finest.z0_m - cells_outward(finest.z0_m - north) * finest.posting_m;
        let posting_m = finest.posting_m / (1_u64 << wishes.halvings.min(MAX_LEVEL as u8)) as f64;
        let extent = |x_m: [f64; 2], z_m: [f64; 2], wanted_m: f64| Extent {
            x: x_m.map(|x_m| (x_m - x0_m) / posting_m),
            z: z_m.map(|z_m| (z_m - z0_m) / posting_m),
            level: ((wanted_m / posting_m).log2() + 1e-6).floor().clamp(0.0, f64::from(MAX_LEVEL)) as u8,
        };
        let extents: Vec<Extent> =
            dems.iter().map(|dem| extent([dem.x0_m, dem.x1_m()], [dem.z0_m, dem.z1_m()], dem.posting_m)).collect();
        let wished = |wish: &Wish| extent(wish.rect.x_m, wish.rect.z_m, wish.posting_m);
        let span = extents.iter().flat_map(|e| [e.x[1], e.z[1]]).fold(1.0, f64::max);
        let root_level = (0..=MAX_LEVEL).find(|level| f64::from(TILE_CELLS << level.min(&25)) >= span - 1e-6)? as u8;
        let regions = wishes.regions.iter().map(wished).collect();
        let earlier = wishes.earlier.filter(|(earlier, _)| earlier.posting_m == posting_m);
        let mut lattice = Self { x0_m, z0_m, posting_m, root_level, extents, regions, splits: Default::default() };
        for (set, single) in wishes.single.iter().enumerate() {
            let kept = earlier.filter(|(_, holds)| holds[set]).map(|(earlier, _)| earlier.splits[set].clone());
            let mut splits = kept.unwrap_or_default();
            for wish in single.iter().map(wished) {
                lattice.split_for(&wish, &mut splits)?;
            }
            lattice.splits[set] = splits;
        }
        (lattice.tiles_wished() <= MOST_TILES).then_some(lattice)
    }

    /// Halvings of a posting that make it fine enough for a wish; none when it
    /// is.
    pub(crate) fn halvings(posting_m: f64, wish: &Wish) -> u8 {
        (posting_m / wish.posting_m).log2().ceil().clamp(0.0, f64::from(MAX_LEVEL)) as u8
    }

    /// Adds every tile that has to be split for a wish, by the rule of
    /// [`Lattice::is_split`]. `None` when they are too many.
    fn split_for(&self, wish: &Extent, splits: &mut Splits) -> Option<()> {
        let covers = |extent: &Extent| {
            let around = |a: [f64; 2], b: [f64; 2]| a[0] <= b[0] && a[1] >= b[1];
            extent.level <= wish.level && around(extent.x, wish.x) && around(extent.z, wish.z)
        };
        if self.extents.iter().chain(&self.regions).any(covers) {
            return Some(());
        }
        for level in wish.level + 1..=self.root_level {
            let span = (u64::from(TILE_CELLS) << level) as f64;
            let most = f64::from(1_u32 << (self.root_level - level)) - 1.0;
            // A tile and its neighbours: from one span before it to one behind.
            let range = |[low, high]: [f64; 2]| {
                let (first, last) = ((low / span - 2.0).floor() + 1.0, (high / span + 1.0).ceil() - 1.0);
                (first.clamp(0.0, most + 1.0) as u32, last.clamp(-1.0, most))
            };
            let ((x0, x1), (z0, z1)) = (range(wish.x), range(wish.z));
            if x1 < f64::from(x0) || z1 < f64::from(z0) {
                continue;
            }
            if (x1 - f64::from(x0) + 1.0) * (z1 - f64::from(z0) + 1.0) > MOST_TILES as f64 {
                return None;
            }
            let tiles = (z0..=z1 as u32).flat_map(|z| (x0..=x1 as u32).map(move |x| TileKey { level, x, z }));
            let new = tiles.filter(|tile| !splits.0.contains(tile) && self.has_ground(*tile)).collect::<Vec<_>>();
            if !new.is_empty() {
                Arc::make_mut(&mut splits.0).extend(new);
            }
        }
        (splits.0.len() <= MOST_TILES).then_some(())
    }

    /// Tiles that wishes make, about.
    fn tiles_wished(&self) -> usize {
        let region = |region: &Extent| {
            let span = (u64::from(TILE_CELLS) << region.level) as f64;
            ((region.x[1] - region.x[0]) / span + 1.0) * ((region.z[1] - region.z[0]) / span + 1.0)
        };
        let regions = self.regions.iter().map(region).sum::<f64>() as usize;
        self.splits.iter().map(|set| 4 * set.0.len()).sum::<usize>().saturating_add(regions)
    }

    /// The root tile.
    pub fn root(&self) -> TileKey {
        TileKey { level: self.root_level, x: 0, z: 0 }
    }

    /// Site x and z of a finest post, metres.
    pub fn post_xz_m(&self, i: u64, j: u64) -> (f64, f64) {
        (self.x0_m + i as f64 * self.posting_m, self.z0_m + j as f64 * self.posting_m)
    }

    /// Distance between the posts of a level, metres.
    pub fn posting_at_m(&self, level: u8) -> f64 {
        self.posting_m * (1_u64 << level) as f64
    }

    /// Site x and z of a tile's corners: [west, east], [north, south], metres.
    pub fn tile_bounds_m(&self, tile: TileKey) -> ([f64; 2], [f64; 2]) {
        let (i, j) = tile.first_post();
        let span = u64::from(TILE_CELLS) << tile.level;
        let ((x0, z0), (x1, z1)) = (self.post_xz_m(i, j), self.post_xz_m(i + span, j + span));
        ([x0, x1], [z0, z1])
    }

    /// A tile's rectangle.
    pub fn tile_rect(&self, tile: TileKey) -> SiteRect {
        let (x_m, z_m) = self.tile_bounds_m(tile);
        SiteRect { x_m, z_m }
    }

    fn span(tile: TileKey, margin_tiles: f64) -> ([f64; 2], [f64; 2]) {
        let (i, j) = tile.first_post();
        let span = (u64::from(TILE_CELLS) << tile.level) as f64;
        let side = |first: u64| [first as f64 - margin_tiles * span, first as f64 + (1.0 + margin_tiles) * span];
        (side(i), side(j))
    }

    /// True when a DEM reaches into the tile.
    pub fn has_ground(&self, tile: TileKey) -> bool {
        let (x, z) = Self::span(tile, 0.0);
        self.extents.iter().any(|extent| extent.meets(x, z))
    }

    /// True when the tile or one of its eight neighbours holds data finer than
    /// its level. Looking at the neighbours too makes the tree restricted:
    /// leaves that touch differ by at most one level.
    pub fn is_split(&self, tile: TileKey) -> bool {
        if tile.level == 0 {
            return false;
        }
        let (x, z) = Self::span(tile, 1.0);
        let mut extents = self.extents.iter().chain(&self.regions);
        extents.any(|extent| extent.level < tile.level && extent.meets(x, z))
            || self.splits.iter().any(|set| !set.0.is_empty() && set.0.contains(&tile))
    }

    /// The leaf around a place given in finest cells from the corner, and the
    /// place inside it in its own cells. `None` outside the lattice or where
    /// no DEM reaches.
    pub fn leaf_at(&self, i: f64, j: f64) -> Option<(TileKey, f64, f64)> {
        self.leaf_near_level(i, j, self.root_level)
    }

    /// The tile of a level around a place inside the lattice, given in finest
    /// cells from the corner, whether it is a leaf or not.
    #[inline]
    pub(crate) fn tile_around(&self, i: f64, j: f64, level: u8) -> Option<TileKey> {
        let levels_below_root = self.root_level.checked_sub(level)?;
        let (span, last) = ((u64::from(TILE_CELLS) << level) as f64, (1_u32 << levels_below_root) - 1);
        let place = |place: f64| ((place / span) as u32).min(last);
        (i >= 0.0 && j >= 0.0).then(|| TileKey { level, x: place(i), z: place(j) })
    }

    /// The same, quickest when the leaf is of the level that is guessed: what
    /// is split lies in what is split, so that a search can begin anywhere.
    pub(crate) fn leaf_near_level(&self, i: f64, j: f64, guess: u8) -> Option<(TileKey, f64, f64)> {
        let span = f64::from(TILE_CELLS) * (1_u64 << self.root_level) as f64;
        if !(i >= 0.0 && j >= 0.0 && i <= span && j <= span) {
            return None;
        }
        let mut tile = self.tile_around(i, j, guess.min(self.root_level))?;
        while self.is_split(tile) {
            tile = self.tile_around(i, j, tile.level - 1)?;
        }
        while tile.level < self.root_level && !self.is_split(tile.parent()) {
            tile = tile.parent();
        }
        let (first_i, first_j) = tile.first_post();
        let stride = (1_u64 << tile.level) as f64;
        self.has_ground(tile).then_some((tile, (i - first_i as f64) / stride, (j - first_j as f64) / stride))
    }

    /// Every tile with ground, leaves included, coarse before fine, row by row.
    pub fn tiles(&self) -> Vec<TileKey> {
        let mut all = Vec::new();
        let mut wave = vec![self.root()];
        while !wave.is_empty() {
            wave.retain(|tile| self.has_ground(*tile));
            wave.sort_by_key(|tile| (tile.z, tile.x));
            all.extend_from_slice(&wave);
            wave =
                wave.iter().filter(|tile| self.is_split(**tile)).filter_map(|tile| tile.children()).flatten().collect();
        }
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn dem(x0_m: f64, z0_m: f64, posting_m: f64, posts: usize) -> DemGrid {
        DemGrid::in_memory("t", (x0_m, z0_m), posting_m, (posts, posts), vec![])
    }

    #[test]
    fn one_dem_fills_its_lattice_at_its_own_posts() {
        let lattice = Lattice::under(&[dem(-100.0, -50.0, 2.0, 200)]).unwrap();
        assert_eq!((lattice.x0_m, lattice.z0_m, lattice.root_level), (-100.0, -50.0, 2));
        let leaves = lattice.tiles().iter().filter(|tile| !lattice.is_split(**tile)).count();
        assert_eq!(leaves, 16);
        assert_eq!(lattice.leaf_at(70.5, 3.25), Some((TileKey { level: 0, x: 1, z: 0 }, 6.5, 3.25)));
    }

    #[test]
    fn a_fine_dem_in_a_coarse_one_makes_a_restricted_tree() {
        let lattice = Lattice::under(&[dem(-512.0, -512.0, 1.0, 1025), dem(-10240.0, -10240.0, 20.0, 1025)]).unwrap();
        let leaves: Vec<_> = lattice.tiles().into_iter().filter(|tile| !lattice.is_split(*tile)).collect();
        for tile in &leaves {
            for (dx, dz) in [(1, 0), (0, 1), (-1, 0), (0, -1)] {
                let (i, j) = tile.first_post();
                let span = (u64::from(TILE_CELLS) << tile.level) as f64;
                let (i, j) = (i as f64 + span * (0.5 + f64::from(dx)), j as f64 + span * (0.5 + f64::from(dz)));
                if let Some((beside, ..)) = lattice.leaf_at(i, j) {
                    assert!(beside.level <= tile.level + 1, "{tile:?} touches {beside:?}");
                }
            }
        }
        assert_eq!(leaves.iter().map(|tile| tile.level).max(), Some(4));
        assert!(leaves.len() < 1500, "{}", leaves.len());
        // The fine DEM's posts are lattice posts.
        let corner = (-512.0 - lattice.x0_m) / lattice.posting_m;
        assert!((corner - corner.round()).abs() < 1e-9);
    }
}
