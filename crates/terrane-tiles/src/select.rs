//! Which tiles a set of views needs: a pure function of views and nodes.

use crate::Node;
use glam::DVec3;
use std::collections::{BTreeMap, BTreeSet};
use terrane_surface::{Lattice, TileKey};

/// What selection needs to know of a camera.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct View {
    /// Eye relative to the pyramid: site x and z, and y above the reference,
    /// metres.
    pub eye_m: DVec3,
    /// Pixels that a radian spans at the image's middle, or more where errors
    /// have to stay smaller than a pixel.
    pub pixels_per_radian: f64,
    /// For a parallel projection: pixels that a metre spans, at any distance.
    /// The larger of both errors counts.
    pub pixels_per_metre: Option<f64>,
}

/// A tile to draw, and which of its sides meet a coarser tile.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct DrawTile {
    /// The tile.
    pub tile: TileKey,
    /// Sides that meet a tile one level coarser: 1 west, 2 east, 4 north,
    /// 8 south. Posts that the coarser side lacks move onto its lattice.
    pub coarser_sides: u8,
    /// Sides, by the same bits, on which a leaf meets a leaf of another level:
    /// the ground itself changes its posting there, and no post moves. What
    /// rounding leaves open along them is closed by a skirt.
    pub joined_sides: u8,
}

/// A whole cover of the ground: no two tiles overlap, neighbours differ by at
/// most one level.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Selection {
    /// Tiles in order of place.
    pub tiles: Vec<DrawTile>,
    /// Largest error that any tile projects to in any view, pixels.
    pub worst_error_px: f64,
}

/// Refines tiles whose error projects to more than `pixel_error` pixels in
/// some view, then until neighbours differ by at most one level.
pub fn select(nodes: &BTreeMap<TileKey, Node>, lattice: &Lattice, views: &[View], pixel_error: f64) -> Selection {
    let error_px = |tile: TileKey, node: &Node| {
        views.iter().map(|view| projected_error_px(lattice, tile, node, view)).fold(0.0, f64::max)
    };
    let children = |tile: TileKey| {
        let children = tile.children().filter(|_| lattice.is_split(tile));
        children.into_iter().flatten().filter(|child| nodes.contains_key(child))
    };
    let mut cover = BTreeSet::new();
    let mut open: Vec<TileKey> = nodes.contains_key(&lattice.root()).then(|| lattice.root()).into_iter().collect();
    while let Some(tile) = open.pop() {
        let refine = nodes.get(&tile).is_some_and(|node| error_px(tile, node) > pixel_error);
        if refine && children(tile).next().is_some() {
            open.extend(children(tile));
        } else {
            cover.insert(tile);
        }
    }
    balance(&mut cover, lattice, children);

    let worst_error_px = cover.iter().filter_map(|tile| Some(error_px(*tile, nodes.get(tile)?))).fold(0.0, f64::max);
    let tiles = cover.iter().map(|&tile| {
        let (coarser, joined) = (coarser_sides(&cover, lattice, tile), joined_sides(&cover, lattice, tile));
        DrawTile { tile, coarser_sides: coarser & !joined, joined_sides: joined }
    });
    Selection { tiles: tiles.collect(), worst_error_px }
}

const SIDES: [(i32, i32); 4] = [(-1, 0), (1, 0), (0, -1), (0, 1)];

/// Splits tiles until none touches one two or more levels finer.
fn balance<I: Iterator<Item = TileKey>>(
    cover: &mut BTreeSet<TileKey>,
    lattice: &Lattice,
    children: impl Fn(TileKey) -> I,
) {
    let mut queue: Vec<TileKey> = cover.iter().copied().collect();
    while let Some(tile) = queue.pop() {
        if !cover.contains(&tile) {
            continue;
        }
        for (dx, dz) in SIDES {
            let Some(beside) = tile.neighbour(dx, dz) else { continue };
            let mut around = beside.parent();
            while around.level < lattice.root_level {
                around = around.parent();
                if cover.contains(&around) && children(around).next().is_some() {
                    cover.remove(&around);
                    let parts: Vec<TileKey> = children(around).collect();
                    cover.extend(&parts);
                    queue.extend(parts);
                    queue.push(tile);
                    break;
                }
            }
        }
    }
}

fn coarser_sides(cover: &BTreeSet<TileKey>, lattice: &Lattice, tile: TileKey) -> u8 {
    if tile.level >= lattice.root_level {
        return 0;
    }
    SIDES.iter().enumerate().fold(0, |mask, (bit, &(dx, dz))| {
        let coarser = tile.neighbour(dx, dz).is_some_and(|beside| cover.contains(&beside.parent()));
        mask | u8::from(coarser) << bit
    })
}

/// Sides on which both tiles are leaves, of different levels.
fn joined_sides(cover: &BTreeSet<TileKey>, lattice: &Lattice, tile: TileKey) -> u8 {
    if lattice.is_split(tile) {
        return 0;
    }
    let is_leaf = |tile: TileKey| cover.contains(&tile) && !lattice.is_split(tile);
    SIDES.iter().enumerate().fold(0, |mask, (bit, &(dx, dz))| {
        let joins = tile.neighbour(dx, dz).is_some_and(|beside| {
            let coarser = tile.level < lattice.root_level && is_leaf(beside.parent());
            // Of its children, those that touch this tile.
            let touches = |child: &TileKey| match (dx, dz) {
                (1, _) => child.x == 2 * beside.x,
                (-1, _) => child.x == 2 * beside.x + 1,
                (_, 1) => child.z == 2 * beside.z,
                _ => child.z == 2 * beside.z + 1,
            };
            coarser || beside.children().is_some_and(|children| children.into_iter().filter(touches).any(is_leaf))
        });
        mask | u8::from(joins) << bit
    })
}

/// Pixels that a tile's error spans at the nearest point of its bounds.
fn projected_error_px(lattice: &Lattice, tile: TileKey, node: &Node, view: &View) -> f64 {
    let error_m = f64::from(node.drawn_error_m());
    if error_m == 0.0 {
        return 0.0;
    }
    let ([x0, x1], [z0, z1]) = lattice.tile_bounds_m(tile);
    let low = DVec3::new(x0, f64::from(node.min_m) - error_m, z0);
    let high = DVec3::new(x1, f64::from(node.max_m) + error_m, z1);
    let distance_m = (view.eye_m - view.eye_m.clamp(low, high)).length();
    let parallel_px = view.pixels_per_metre.map_or(0.0, |scale| error_m * scale);
    parallel_px.max(error_m * view.pixels_per_radian / distance_m.max(1e-9))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Archive, BakeOptions, HeightCode, bake};
    use terrane_core::Quiet;
    use terrane_surface::{DemGrid, Surface, SurfaceSpec, TILE_CELLS};

    fn pyramid() -> Archive {
        let heights = |posts: usize, scale: f32| {
            (0..posts * posts).map(|k| scale * (((k * 2_654_435_761) % 1000) as f32 / 1000.0)).collect::<Vec<f32>>()
        };
        let dem = |x0_m: f64, posting_m, posts, scale| {
            DemGrid::in_memory("t", (x0_m, x0_m), posting_m, (posts, posts), heights(posts, scale))
        };
        let dems = vec![dem(-128.0, 1.0, 257, 2.0), dem(-2000.0, 20.0, 201, 30.0)];
        let surface = Surface::new(SurfaceSpec { dems, ..SurfaceSpec::default() }).unwrap();
        let folder = tempfile::tempdir().unwrap();
        let options = BakeOptions { heights: HeightCode::within(0.001), reference_m: 0.0 };
        let key = terrane_core::ContentKey::of_bytes(b"t");
        bake(&surface, &folder.path().join("t.pyramid"), &key, &options, &Quiet).unwrap()
    }

    #[test]
    fn every_cover_is_whole_and_restricted() {
        let pyramid = pyramid();
        let lattice = &pyramid.lattice;
        for k in 0..200 {
            let spread = f64::from(k);
            let eye_m = DVec3::new(
                (spread * 37.7) % 3000.0 - 1500.0,
                5.0 + (spread * 13.1) % 900.0,
                (spread * 91.3) % 3000.0 - 1500.0,
            );
            let view = View { eye_m, pixels_per_radian: 700.0, pixels_per_metre: None };
            let selection = select(&pyramid.nodes, lattice, &[view], 1.0);
            let area: f64 = selection
                .tiles
                .iter()
                .map(|t| (f64::from(TILE_CELLS) * lattice.posting_at_m(t.tile.level)).powi(2))
                .sum();
            let leaves = lattice.tiles().into_iter().filter(|tile| !lattice.is_split(*tile));
            let ground: f64 = leaves.map(|t| (f64::from(TILE_CELLS) * lattice.posting_at_m(t.level)).powi(2)).sum();
            // A coarse tile may reach over ground that is not there, never less.
            assert!(area >= ground - 1e-6, "{area} < {ground}");
            let cover: BTreeSet<TileKey> = selection.tiles.iter().map(|t| t.tile).collect();
            for tile in &cover {
                for (dx, dz) in SIDES {
                    let mut around = match tile.neighbour(dx, dz) {
                        Some(beside) => beside.parent(),
                        None => continue,
                    };
                    while around.level < lattice.root_level {
                        around = around.parent();
                        assert!(!cover.contains(&around), "{tile:?} touches {around:?}");
                    }
                }
            }
            assert!(selection.worst_error_px <= 1.0);
        }
    }

    #[test]
    fn a_smaller_pixel_error_never_gives_a_coarser_cover() {
        let pyramid = pyramid();
        let view = View { eye_m: DVec3::new(10.0, 30.0, 5.0), pixels_per_radian: 500.0, pixels_per_metre: None };
        let counts: Vec<usize> = [64.0, 16.0, 4.0, 1.0, 0.25]
            .iter()
            .map(|px| select(&pyramid.nodes, &pyramid.lattice, &[view], *px).tiles.len())
            .collect();
        assert!(counts.is_sorted(), "{counts:?}");
        assert!(counts[4] > counts[0], "{counts:?}");
    }
}
