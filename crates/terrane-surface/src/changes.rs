//! What differs between two surfaces over the same DEMs: only there are tiles,
//! colliders and maps made again.

use crate::{SiteRect, Surface, TILE_CELLS, TileKey};
use std::collections::{BTreeSet, HashSet};
use terrane_core::ContentKey;

impl Surface {
    /// Rectangles outside of which both surfaces are the same function. Both
    /// stand on the same DEMs.
    pub fn changed_rects(&self, earlier: &Self) -> Vec<SiteRect> {
        let keys = |surface: &Self| surface.modifiers().iter().map(|modifier| *modifier.key()).collect::<HashSet<_>>();
        let only_in = |surface: &Self, others: &HashSet<ContentKey>| {
            let new = surface.modifiers().iter().filter(|modifier| !others.contains(modifier.key()));
            new.map(|modifier| modifier.bounds()).collect::<Vec<_>>()
        };
        let (here, before) = (keys(self), keys(earlier));
        let mut rects = only_in(self, &before);
        rects.extend(only_in(earlier, &here));
        rects
    }

    /// Tiles of this surface's lattice, of every level, that are not the same
    /// tiles in an earlier surface over the same DEMs: whose posts, or one ring
    /// of posts around them, may be others, or whose triangles go elsewhere.
    /// Coarse before fine.
    pub fn changed_tiles(&self, earlier: &Self) -> Vec<TileKey> {
        let rects = self.changed_rects(earlier);
        let levels = (earlier.lattice().posting_m / self.lattice().posting_m).log2().round() as i32;
        let (mut changed, mut wave) = (BTreeSet::new(), vec![self.lattice().root()]);
        while !wave.is_empty() {
            wave.retain(|tile| self.lattice().has_ground(*tile) && self.is_near(*tile, &rects));
            for tile in wave.iter().filter(|tile| self.differs(earlier, **tile, levels, &rects)) {
                // Errors of a tile are those of the ground below it.
                let above = std::iter::successors(Some(*tile), |tile| Some(tile.parent()));
                let above = above.take_while(|above| above.level <= self.lattice().root_level);
                changed.extend(above.map(|tile| (std::cmp::Reverse(tile.level), tile.z, tile.x)));
            }
            let split = wave.iter().filter(|tile| self.lattice().is_split(**tile));
            wave = split.filter_map(|tile| tile.children()).flatten().collect();
        }
        changed.into_iter().map(|(level, z, x)| TileKey { level: level.0, x, z }).collect()
    }

    /// False for tiles that are surely the same: what is split for a rectangle
    /// reaches one coarser tile farther, and joins beside that one more.
    pub(crate) fn is_near(&self, tile: TileKey, rects: &[SiteRect]) -> bool {
        let rect = self.tile_rect(tile);
        let near = rect.grown(4.0 * rect.size_m().0);
        rects.iter().any(|changed| changed.meets(&near))
    }

    fn differs(&self, earlier: &Self, tile: TileKey, levels: i32, rects: &[SiteRect]) -> bool {
        let rect = self.tile_rect(tile);
        let apron = rect.grown(rect.size_m().0 / f64::from(TILE_CELLS));
        if rects.iter().any(|changed| changed.meets(&apron)) {
            return true;
        }
        let Ok(level) = u8::try_from(i32::from(tile.level) - levels) else { return true };
        let was = TileKey { level, ..tile };
        let exists = |surface: &Self, tile: TileKey| {
            tile.level == surface.lattice().root_level
                || (tile.level < surface.lattice().root_level && surface.lattice().is_split(tile.parent()))
        };
        let form = |surface: &Self, tile: TileKey| {
            let is_split = surface.lattice().is_split(tile);
            let joins =
                [(-1, 0), (1, 0), (0, -1), (0, 1)].map(|(dx, dz)| !is_split && surface.touches_coarser(tile, dx, dz));
            (exists(surface, tile), is_split, joins)
        };
        form(self, tile) != form(earlier, was)
    }
}
