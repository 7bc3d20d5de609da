//! From a surface to tiles of every level.

use crate::maps::{SiteMap, site_maps};
use rayon::prelude::*;
use std::collections::BTreeMap;
use std::sync::Arc;
use terrane_core::{Cancelled, Progress};
use terrane_surface::{Lattice, Surface, TILE_CELLS, TILE_POSTS, TileKey};

/// What is known of a tile without its heights.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Node {
    /// Lowest height of the finest surface inside, metres above the reference.
    pub min_m: f32,
    /// Highest height of the finest surface inside, metres above the reference.
    pub max_m: f32,
    /// Bound on the vertical distance between this tile's triangles and the
    /// finest surface, metres. Never smaller than a child's; 0 for a leaf.
    pub error_m: f32,
    /// True when some post holds no ground.
    pub has_holes: bool,
}

/// Every tile of a surface in memory, with the maps that shading reads.
#[derive(Debug, Clone)]
pub struct Pyramid {
    /// Where the posts are.
    pub lattice: Lattice,
    /// Site y of stored height 0, metres. Heights are kept relative to it, so
    /// that 32 bits resolve them.
    pub reference_m: f64,
    /// Bounds and errors by place.
    pub nodes: BTreeMap<TileKey, Node>,
    /// Heights by place: `TILE_POSTS`^2, row-major from the north-west,
    /// metres above the reference; NaN is a hole.
    pub heights_m: BTreeMap<TileKey, Arc<[f32]>>,
    /// One map a DEM, finest first.
    pub maps: Vec<SiteMap>,
}

const POSTS: usize = TILE_POSTS as usize;
const CELLS: usize = TILE_CELLS as usize;

/// Bakes a surface. The result is the same whatever the thread count.
pub fn build(surface: &Surface, progress: &dyn Progress) -> Result<Pyramid, Cancelled> {
    let lattice = surface.lattice().clone();
    let reference_m = reference_height_m(surface);
    let tiles = lattice.tiles();
    progress.begin("tiles", tiles.len() as u64);

    let mut nodes = BTreeMap::new();
    let mut heights_m: BTreeMap<TileKey, Arc<[f32]>> = BTreeMap::new();
    for level in 0..=lattice.root_level {
        let of_level: Vec<TileKey> = tiles.iter().copied().filter(|tile| tile.level == level).collect();
        let baked: Vec<(TileKey, Node, Arc<[f32]>)> = of_level
            .into_par_iter()
            .map(|tile| {
                progress.check()?;
                let (node, heights) = match tile.children().filter(|_| lattice.is_split(tile)) {
                    Some(children) => parent(surface, tile, children, &nodes, &heights_m, reference_m),
                    None => leaf(surface, tile, reference_m),
                };
                progress.advance(1);
                Ok((tile, node, heights))
            })
            .collect::<Result<_, Cancelled>>()?;
        for (tile, node, heights) in baked {
            nodes.insert(tile, node);
            heights_m.insert(tile, heights);
        }
    }
    // A tile that holds nothing but holes draws nothing.
    nodes.retain(|_, node| node.min_m <= node.max_m);
    heights_m.retain(|tile, _| nodes.contains_key(tile));
    let maps = site_maps(surface, reference_m, progress)?;
    Ok(Pyramid { lattice, reference_m, nodes, heights_m, maps })
}

/// A round number near the middle of the heights.
fn reference_height_m(surface: &Surface) -> f64 {
    let heights = surface.spec().dems.iter().flat_map(|dem| &dem.heights_m).filter(|height| !height.is_nan());
    let (low, high) = heights.fold((f32::INFINITY, f32::NEG_INFINITY), |(a, b), h| (a.min(*h), b.max(*h)));
    let middle = 0.5 * (f64::from(low) + f64::from(high)) - surface.spec().origin_height_m;
    if middle.is_finite() { middle.round() } else { 0.0 }
}

fn relative(height_m: Option<f64>, reference_m: f64) -> f32 {
    height_m.map_or(f32::NAN, |height| (height - reference_m) as f32)
}

fn leaf(surface: &Surface, tile: TileKey, reference_m: f64) -> (Node, Arc<[f32]>) {
    let places = (0..TILE_POSTS).flat_map(|v| (0..TILE_POSTS).map(move |u| (u, v)));
    let heights: Arc<[f32]> = places.map(|(u, v)| relative(surface.leaf_post_m(tile, u, v), reference_m)).collect();
    let mut node = empty_node();
    node.include(&heights);
    (node, heights)
}

fn empty_node() -> Node {
    Node { min_m: f32::INFINITY, max_m: f32::NEG_INFINITY, error_m: 0.0, has_holes: false }
}

impl Node {
    fn include(&mut self, heights: &[f32]) {
        for &height in heights {
            if height.is_nan() {
                self.has_holes = true;
            } else {
                self.min_m = self.min_m.min(height);
                self.max_m = self.max_m.max(height);
            }
        }
    }
}

/// A parent keeps every second post of its children. Its error is the largest
/// of theirs plus the largest distance between its triangles and their posts.
fn parent(
    surface: &Surface,
    tile: TileKey,
    children: [TileKey; 4],
    nodes: &BTreeMap<TileKey, Node>,
    heights_m: &BTreeMap<TileKey, Arc<[f32]>>,
    reference_m: f64,
) -> (Node, Arc<[f32]>) {
    let child_heights = children.map(|child| heights_m.get(&child));
    let (first_i, first_j) = tile.first_post();
    let post = |u: usize, v: usize| -> f32 {
        // Border posts belong to either child; the first that exists serves.
        for (index, heights) in child_heights.iter().enumerate() {
            let (cu, cv) = ((2 * u).wrapping_sub((index % 2) * CELLS), (2 * v).wrapping_sub((index / 2) * CELLS));
            if let (Some(heights), true) = (heights, cu < POSTS && cv < POSTS) {
                return heights[cv * POSTS + cu];
            }
        }
        let (i, j) = (first_i + ((u as u64) << tile.level), first_j + ((v as u64) << tile.level));
        relative(surface.post_m(i, j), reference_m)
    };
    let places = (0..POSTS).flat_map(|v| (0..POSTS).map(move |u| (u, v)));
    let heights: Arc<[f32]> = places.map(|(u, v)| post(u, v)).collect();

    let mut node = empty_node();
    node.include(&heights);
    let mut children_error = 0.0_f32;
    let mut own_error = 0.0_f32;
    for (index, child) in children.iter().enumerate() {
        if let (Some(known), Some(fine)) = (nodes.get(child), child_heights[index]) {
            node.min_m = node.min_m.min(known.min_m);
            node.max_m = node.max_m.max(known.max_m);
            node.has_holes |= known.has_holes;
            children_error = children_error.max(known.error_m);
            let lost = surface.lattice().posting_at_m(tile.level) as f32;
            own_error =
                own_error.max(deviation(&heights, fine, (index % 2) * CELLS / 2, (index / 2) * CELLS / 2, lost));
        }
    }
    node.error_m = children_error + own_error;
    (node, heights)
}

/// Largest vertical distance between a child's posts and the parent's
/// triangles; `lost_m` where only one of them has ground, so that a hole is
/// neither filled nor widened from near.
fn deviation(coarse: &[f32], fine: &[f32], u0: usize, v0: usize, lost_m: f32) -> f32 {
    let at = |u: usize, v: usize| f64::from(coarse[(v0 + v) * POSTS + u0 + u]);
    let mut worst = 0.0_f32;
    for v in 0..POSTS {
        for u in 0..POSTS {
            let height = f64::from(fine[v * POSTS + u]);
            let (cu, cv) = (u / 2, v / 2);
            let drawn = match (u % 2, v % 2) {
                (0, 0) => at(cu, cv),
                (1, 0) => 0.5 * (at(cu, cv) + at(cu + 1, cv)),
                (0, _) => 0.5 * (at(cu, cv) + at(cu, cv + 1)),
                // The middle of a cell lies on its diagonal.
                _ => 0.5 * (at(cu + 1, cv) + at(cu, cv + 1)),
            };
            let distance = match (drawn.is_nan(), height.is_nan()) {
                (true, true) => 0.0,
                (false, false) => round_up((drawn - height).abs()),
                _ => lost_m,
            };
            worst = worst.max(distance);
        }
    }
    worst
}

/// To `f32`, never below: an error is a bound.
fn round_up(value: f64) -> f32 {
    let near = value as f32;
    if f64::from(near) < value { near.next_up() } else { near }
}

#[cfg(test)]
mod tests {
    use super::*;
    use terrane_core::Quiet;
    use terrane_surface::{DemGrid, SurfaceSpec};

    fn surface(hole: bool) -> Surface {
        let mut heights_m: Vec<f32> = (0..257 * 200)
            .map(|k| {
                let (x, z) = ((k % 257) as f32, (k / 257) as f32);
                12.0 * (x * 0.11).sin() + 7.0 * (z * 0.07).cos() + ((k * 7919) % 101) as f32 * 0.01
            })
            .collect();
        if hole {
            for k in 0..400 {
                heights_m[(60 + k / 20) * 257 + 100 + k % 20] = f32::NAN;
            }
        }
        let dem = DemGrid {
            name: "t".into(),
            x0_m: -128.0,
            z0_m: -100.0,
            posting_m: 1.0,
            columns: 257,
            rows: 200,
            heights_m,
        };
        Surface::new(SurfaceSpec { dems: vec![dem], ..SurfaceSpec::default() }).unwrap()
    }

    #[test]
    fn stored_errors_bound_the_distance_to_the_finest_surface() {
        let surface = surface(false);
        let pyramid = build(&surface, &Quiet).unwrap();
        for (tile, node) in &pyramid.nodes {
            let heights = &pyramid.heights_m[tile];
            let (first_i, first_j) = tile.first_post();
            let span = 64_u64 << tile.level;
            for j in (0..=span).step_by(3) {
                for i in (0..=span).step_by(3) {
                    let Some(truth) = surface.post_m(first_i + i, first_j + j) else { continue };
                    let scale = (1_u64 << tile.level) as f64;
                    let (u, v) = (i as f64 / scale, j as f64 / scale);
                    let (cu, cv) = (u.floor().min(63.0), v.floor().min(63.0));
                    let at = |du: f64, dv: f64| f64::from(heights[(cv + dv) as usize * 65 + (cu + du) as usize]);
                    let (s, t) = (u - cu, v - cv);
                    let drawn = if s + t <= 1.0 {
                        at(0.0, 0.0) + s * (at(1.0, 0.0) - at(0.0, 0.0)) + t * (at(0.0, 1.0) - at(0.0, 0.0))
                    } else {
                        at(1.0, 1.0)
                            + (1.0 - s) * (at(0.0, 1.0) - at(1.0, 1.0))
                            + (1.0 - t) * (at(1.0, 0.0) - at(1.0, 1.0))
                    };
                    if !drawn.is_nan() {
                        let distance = (drawn + pyramid.reference_m - truth).abs();
                        assert!(distance <= f64::from(node.error_m) + 1e-5, "{tile:?}: {distance} > {}", node.error_m);
                    }
                }
            }
        }
    }

    #[test]
    fn errors_and_bounds_grow_towards_the_root() {
        let pyramid = build(&surface(true), &Quiet).unwrap();
        for (tile, node) in &pyramid.nodes {
            if let Some(parent) = pyramid.nodes.get(&tile.parent()) {
                assert!(parent.error_m >= node.error_m);
                assert!(parent.min_m <= node.min_m && parent.max_m >= node.max_m);
            }
        }
        assert!(pyramid.nodes[&pyramid.lattice.root()].has_holes);
    }

    #[test]
    fn neighbours_share_their_border_posts_bit_for_bit() {
        let pyramid = build(&surface(true), &Quiet).unwrap();
        for (tile, heights) in &pyramid.heights_m {
            let Some(east) = tile.neighbour(1, 0).and_then(|key| pyramid.heights_m.get(&key)) else { continue };
            for v in 0..POSTS {
                assert_eq!(heights[v * POSTS + 64].to_bits(), east[v * POSTS].to_bits(), "{tile:?}");
            }
        }
    }

    #[test]
    fn one_thread_and_two_bake_the_same() {
        let bake = |threads| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| build(&surface(true), &Quiet).unwrap())
        };
        let (one, two) = (bake(1), bake(2));
        assert_eq!(one.nodes, two.nodes);
        let bits = |p: &Pyramid| {
            p.heights_m.values().flat_map(|h| h.iter().map(|v| v.to_bits()).collect::<Vec<_>>()).collect::<Vec<_>>()
        };
        assert_eq!(bits(&one), bits(&two));
    }
}
