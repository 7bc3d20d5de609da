//! Edits over a baked archive: the tiles that they touch, made in memory, so
//! that an edit costs what it touches and never a bake.

use crate::archive::Archive;
use crate::errors::{Finest, Patch, TileErrors, ancestors, round_up};
use crate::maps::SiteMap;
use crate::tile::APRON;
use crate::verify::round_down;
use crate::{ArchiveError, BakeOptions, Node, Tile};
use rayon::prelude::*;
use std::collections::{BTreeMap, HashMap};
use terrane_core::{ContentKey, Progress};
use terrane_surface::{SiteRect, Surface, TileKey};

/// Tiles and maps that differ from a baked archive's.
#[derive(Debug)]
pub(crate) struct Overlay {
    /// Levels that the lattice gained below the archive's finest.
    levels: u8,
    /// Tiles in the place of the archive's; `None` has no ground.
    tiles: HashMap<TileKey, Option<Tile>>,
    maps: Vec<SiteMap>,
}

impl Overlay {
    /// A tile that differs: `Some(None)` when it has no ground.
    pub(crate) fn tile(&self, key: TileKey) -> Option<Option<&Tile>> {
        self.tiles.get(&key).map(Option::as_ref)
    }

    /// What the archive calls a tile; `None` when it has no such level.
    pub(crate) fn name_below(&self, key: TileKey) -> Option<TileKey> {
        key.level.checked_sub(self.levels).map(|level| TileKey { level, ..key })
    }

    pub(crate) fn maps(&self) -> &[SiteMap] {
        &self.maps
    }
}

/// What laying edits over an archive touched.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Touched {
    /// Tiles that were made anew, of all levels.
    pub tiles: usize,
    /// Of these, leaves.
    pub leaves: usize,
}

impl Archive {
    /// The archive as it would be baked of `surface`, which differs from
    /// `baked` in its modifiers. Only tiles and maps that differ are made, in
    /// memory. Errors of tiles are bounds: never below what a bake measures.
    /// `key` is the key of `surface`.
    pub fn with_edits(
        mut self,
        baked: &Surface,
        surface: &Surface,
        options: &BakeOptions,
        key: &ContentKey,
        progress: &dyn Progress,
    ) -> Result<(Self, Touched), ArchiveError> {
        let levels = surface.lattice().root_level - self.lattice.root_level.min(surface.lattice().root_level);
        let changed = surface.changed_tiles(baked);
        progress.begin("tiles under edits", changed.len() as u64);
        let made = changed.par_iter().map(|&key| {
            progress.check()?;
            let tile = tile_of(surface, options, key);
            progress.advance(1);
            Ok((key, tile.bounds().map(|bounds| (tile, bounds))))
        });
        let made = made.collect::<Result<Vec<_>, ArchiveError>>()?;
        let rename = |(key, node): (TileKey, Node)| (TileKey { level: key.level + levels, ..key }, node);
        let mut nodes: BTreeMap<TileKey, Node> = std::mem::take(&mut self.nodes).into_iter().map(rename).collect();
        let mut tiles: HashMap<TileKey, Option<Tile>> = HashMap::new();
        for (key, found) in made {
            match found {
                None => {
                    nodes.remove(&key);
                    tiles.insert(key, None);
                }
                Some((tile, (low, high, has_holes))) => {
                    let before = nodes.get(&key).filter(|_| surface.lattice().is_split(key)).copied();
                    let (error_m, cover_error_m) =
                        before.map_or((0.0, 0.0), |before| (before.error_m, before.cover_error_m));
                    let (min_m, max_m) = (round_down(tile.code.decode(low)), round_up(tile.code.decode(high)));
                    nodes.insert(key, Node { min_m, max_m, error_m, cover_error_m, has_holes });
                    tiles.insert(key, Some(tile));
                }
            }
        }
        let errors = errors_above(surface, &tiles, progress)?;
        // From fine to coarse: a parent holds its children.
        for key in changed.iter().rev() {
            let children = key.children().filter(|_| surface.lattice().is_split(*key));
            let below: Vec<Node> =
                children.into_iter().flatten().filter_map(|child| nodes.get(&child).copied()).collect();
            let Some(node) = nodes.get_mut(key) else { continue };
            let own = errors.get(key).copied().unwrap_or_default();
            node.error_m = node.error_m.max(round_up(own.height_m));
            node.cover_error_m = node.cover_error_m.max(round_up(own.cover_m));
            for child in below {
                node.min_m = node.min_m.min(child.min_m);
                node.max_m = node.max_m.max(child.max_m);
                node.error_m = node.error_m.max(child.error_m);
                node.cover_error_m = node.cover_error_m.max(child.cover_error_m);
                node.has_holes |= child.has_holes;
            }
        }
        let rects = surface.changed_rects(baked);
        let mut maps = self.maps()?;
        maps.iter_mut().for_each(|map| map.make_again(surface, options.reference_m, &rects));
        if let Some((rect, posting_m)) = surface.detail(SiteMap::MOST_DETAIL, |modifier| modifier.is_edit()) {
            let mut detail = SiteMap::of_rect("edits", &rect, posting_m);
            detail.make_whole(surface, options.reference_m);
            let place = maps.iter().position(|map| map.posting_m > posting_m).unwrap_or(maps.len());
            maps.insert(place, detail);
        }
        let leaves = changed.iter().filter(|key| !surface.lattice().is_split(**key)).count();
        let touched = Touched { tiles: changed.len(), leaves };
        if let Some(failure) = surface.read_failure() {
            return Err(failure.into());
        }
        (self.nodes, self.lattice, self.key) = (nodes, surface.lattice().clone(), *key);
        self.overlay = Some(Overlay { levels, tiles, maps });
        Ok((self, touched))
    }
}

fn tile_of(surface: &Surface, options: &BakeOptions, key: TileKey) -> Tile {
    let heights_m = match surface.lattice().is_split(key) {
        // A parent keeps every second post of its children: the function itself.
        true => {
            let (xs_m, zs_m) = surface.tile_places_m(key, APRON);
            surface.heights_m(&xs_m, &zs_m)
        }
        false => surface.leaf_heights_m(key, APRON),
    };
    let words = options.heights.encode(&heights_m, options.reference_m);
    Tile { code: options.heights, words, filled: surface.tile_filled(key, APRON) }
}

/// How far the triangles of every tile above the leaves among these lie from
/// those leaves.
fn errors_above(
    surface: &Surface,
    tiles: &HashMap<TileKey, Option<Tile>>,
    progress: &dyn Progress,
) -> Result<HashMap<TileKey, TileErrors>, ArchiveError> {
    let lattice = surface.lattice();
    let mut leaves: Vec<TileKey> = tiles.keys().copied().filter(|key| !lattice.is_split(*key)).collect();
    leaves.sort_unstable();
    let compared = leaves.par_iter().map(|&leaf| {
        progress.check()?;
        let finest = Finest::new(leaf, tiles.get(&leaf).and_then(Option::as_ref));
        let above = ancestors(leaf, lattice.root_level);
        let above = above.filter_map(|key| tiles.get(&key).and_then(Option::as_ref).map(|tile| (key, tile)));
        Ok(above.map(|(key, tile)| (key, finest.against(&Patch::under(leaf, key, tile), lattice))).collect::<Vec<_>>())
    });
    let mut errors: HashMap<TileKey, TileErrors> = HashMap::new();
    for (key, found) in compared.collect::<Result<Vec<_>, ArchiveError>>()?.into_iter().flatten() {
        errors.entry(key).or_default().include(found);
    }
    Ok(errors)
}

impl SiteMap {
    /// Most posts a side of a map for what is finer than any DEM.
    pub(crate) const MOST_DETAIL: usize = 2048;

    /// The grid of a map over a rectangle, without values.
    pub(crate) fn of_rect(name: &str, rect: &SiteRect, posting_m: f64) -> Self {
        let (width_m, height_m) = rect.size_m();
        let posts = |side_m: f64| (side_m / posting_m).floor() as usize + 1;
        Self {
            name: name.to_owned(),
            x0_m: rect.x_m[0],
            z0_m: rect.z_m[0],
            posting_m,
            columns: posts(width_m),
            rows: posts(height_m),
            heights_m: vec![],
            gradients: vec![],
        }
    }

    fn make_whole(&mut self, surface: &Surface, reference_m: f64) {
        self.heights_m = vec![0.0; self.columns * self.rows];
        self.gradients = vec![[0.0; 2]; self.columns * self.rows];
        self.make_window(surface, reference_m, [0, self.columns], [0, self.rows]);
    }

    /// Posts in some rectangles, and those beside them, made again.
    fn make_again(&mut self, surface: &Surface, reference_m: f64, rects: &[SiteRect]) {
        for rect in rects {
            let range = |[low_m, high_m]: [f64; 2], start_m: f64, count: usize| {
                let first = ((low_m - start_m) / self.posting_m).ceil() - 1.0;
                let end = ((high_m - start_m) / self.posting_m).floor() + 2.0;
                [first, end].map(|place| place.clamp(0.0, count as f64) as usize)
            };
            let (columns, rows) = (range(rect.x_m, self.x0_m, self.columns), range(rect.z_m, self.z0_m, self.rows));
            if columns[0] < columns[1] && rows[0] < rows[1] {
                self.make_window(surface, reference_m, columns, rows);
            }
        }
    }

    fn make_window(&mut self, surface: &Surface, reference_m: f64, columns: [usize; 2], rows: [usize; 2]) {
        let made = self.values(surface, reference_m, columns, rows);
        let width = columns[1] - columns[0];
        for (k, (height_m, gradient)) in made.into_iter().enumerate() {
            let post = (rows[0] + k / width) * self.columns + columns[0] + k % width;
            (self.heights_m[post], self.gradients[post]) = (height_m, gradient);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{HeightCode, bake};
    use terrane_core::Quiet;
    use terrane_surface::{DemGrid, EditKind, EditSpec, ModifierSpec, Shape, SurfaceSpec};

    fn edit(kind: EditKind, x_m: f64, z_m: f64, radius_m: f64, amount: f64) -> ModifierSpec {
        ModifierSpec { name: "e".into(), shape: Shape::Edit(EditSpec { kind, x_m, z_m, radius_m, amount }) }
    }

    #[test]
    fn edits_over_an_archive_are_what_a_bake_of_them_is() {
        let rough = |k: usize| 4.0 * ((k % 601) as f32 * 0.05).sin() + 3.0 * ((k / 601) as f32 * 0.04).cos();
        let dem = DemGrid::in_memory("d", (-600.0, -600.0), 2.0, (601, 601), (0..601 * 601).map(rough).collect());
        let spec = SurfaceSpec { dems: vec![dem], curvature_radius_m: Some(1.7e6), ..SurfaceSpec::default() };
        let surface = Surface::new(spec).unwrap();
        let edits = vec![
            edit(EditKind::Brush, 100.0, 50.0, 30.0, 4.0),
            edit(EditKind::Crater, -200.0, 90.0, 5.0, 0.0),
            edit(EditKind::Hole, 0.0, -300.0, 20.0, 0.0),
            edit(EditKind::Smooth, 110.0, 60.0, 40.0, 0.0),
        ];
        let edited = surface.revised(edits).unwrap();
        let options = BakeOptions { heights: HeightCode::within(0.0005), reference_m: 0.0 };
        let folder = tempfile::tempdir().unwrap();
        let keys = [b"a", b"b"].map(|bytes| ContentKey::of_bytes(bytes));
        let base = bake(&surface, &folder.path().join("a"), &keys[0], &options, &Quiet).unwrap();
        let anew = bake(&edited, &folder.path().join("b"), &keys[1], &options, &Quiet).unwrap();
        let (over, touched) = base.with_edits(&surface, &edited, &options, &keys[1], &Quiet).unwrap();
        assert!(touched.tiles < anew.nodes.len() && touched.leaves > 4, "{touched:?} of {}", anew.nodes.len());
        assert_eq!(over.lattice, anew.lattice);
        assert_eq!(over.nodes.keys().collect::<Vec<_>>(), anew.nodes.keys().collect::<Vec<_>>());
        for (key, node) in &anew.nodes {
            assert_eq!(over.tile(*key).unwrap(), anew.tile(*key).unwrap(), "{key:?}");
            let own = over.nodes[key];
            assert_eq!((own.min_m, own.max_m, own.has_holes), (node.min_m, node.max_m, node.has_holes), "{key:?}");
            assert!(own.error_m >= node.error_m && own.cover_error_m >= node.cover_error_m, "{key:?} {own:?} {node:?}");
        }
        // The DEM's own map, by what it is over; a map of finer posts is added.
        let (over, anew) = (over.maps().unwrap(), anew.maps().unwrap());
        let of_dem = |maps: &[SiteMap]| maps.iter().find(|map| map.name == "d").unwrap().clone();
        let bits = |map: &SiteMap| map.heights_m.iter().map(|height| height.to_bits()).collect::<Vec<_>>();
        assert!(bits(&of_dem(&over)) == bits(&of_dem(&anew)) && of_dem(&over).gradients == of_dem(&anew).gradients);
        assert!(over[0].posting_m < 1.0 && over.len() == 2);
    }
}
