//! Rays against the ground: the first hit, exact on the triangles of the
//! finest level, found through a hierarchy of bounds and not by marching.

mod bounds;
mod leaf;

pub use bounds::TileBounds;
pub(crate) use leaf::Leaf;

use crate::{Surface, TILE_CELLS, TileKey};
use glam::DVec3;
use leaf::BLOCK_LEVELS;
use rayon::prelude::*;
use serde::Serialize;
use terrane_core::snap_to_post;

/// A ray in the site frame.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Ray {
    /// Where it begins, metres.
    pub origin_m: DVec3,
    /// Unit direction.
    pub direction: DVec3,
    /// How far it goes, metres.
    pub most_m: f64,
}

impl Ray {
    /// From a place in a direction, which need not be of unit length. `None`
    /// when the direction has none or something is not a number.
    pub fn new(origin_m: DVec3, direction: DVec3, most_m: f64) -> Option<Self> {
        let direction = direction.try_normalize().filter(|_| origin_m.is_finite() && most_m >= 0.0)?;
        Some(Self { origin_m, direction, most_m })
    }

    /// From one place to another.
    pub fn between(from_m: DVec3, to_m: DVec3) -> Option<Self> {
        Self::new(from_m, to_m - from_m, from_m.distance(to_m))
    }

    /// The place at a distance.
    pub fn at_m(&self, distance_m: f64) -> DVec3 {
        self.origin_m + distance_m * self.direction
    }
}

/// Where a ray first meets the ground.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct RayHit {
    /// From the ray's origin, metres.
    pub distance_m: f64,
    /// The place, site frame.
    pub position_m: DVec3,
    /// Upward unit normal of the triangle.
    pub normal: DVec3,
    /// True when the ray came from below the ground.
    pub is_from_below: bool,
    /// The leaf tile.
    pub tile: TileKey,
}

/// Answers rays on one surface, from any number of threads.
#[derive(Debug)]
pub struct RayCaster {
    surface: Surface,
    bounds: TileBounds,
}

impl RayCaster {
    /// On a surface whose tiles have these bounds.
    pub fn new(surface: Surface, bounds: TileBounds) -> Self {
        Self { surface, bounds }
    }

    /// The surface.
    pub fn surface(&self) -> &Surface {
        &self.surface
    }

    /// The first hit. Both sides of the ground count; a hole does not. Rays
    /// slip through no post and no edge: where the sign of "above" changes
    /// between two triangles, that is a hit.
    pub fn cast(&self, ray: &Ray) -> Option<RayHit> {
        let lattice = self.surface.lattice();
        // In finest cells from the lattice's corner, so that edges lie at whole
        // numbers and neighbours compute the same crossing.
        let scale = 1.0 / lattice.posting_m;
        let walk = Walk {
            caster: self,
            ray,
            origin: [(ray.origin_m.x - lattice.x0_m) * scale, (ray.origin_m.z - lattice.z0_m) * scale],
            direction: [ray.direction.x * scale, ray.direction.z * scale],
        };
        let root = lattice.root();
        let (span, first) = ((u64::from(TILE_CELLS) << root.level) as f64, [0.0, 0.0]);
        let part = walk.clip([0.0, ray.most_m], first, span)?;
        walk.tile(root, part, &mut Side::default())
    }

    /// [`RayCaster::cast`] for many rays, on all cores, in order.
    pub fn cast_each(&self, rays: &[Ray]) -> Vec<Option<RayHit>> {
        rays.par_iter().map(|ray| self.cast(ray)).collect()
    }

    /// The same on a surface that differs in some tiles, which are all named.
    pub fn revised(&self, surface: &Surface, changed: &[TileKey]) -> Self {
        let bounds = match surface.lattice().posting_m == self.surface.lattice().posting_m {
            true => self.bounds.revised(surface, changed),
            false => self.bounds.renumbered(&self.surface, surface).revised(surface, changed),
        };
        Self { surface: surface.clone(), bounds }
    }
}

/// On which side of the ground the ray was last seen: above (positive), below,
/// or not known (0); and until where, metres.
#[derive(Debug, Clone, Copy, Default)]
struct Side {
    above: f64,
    until_m: f64,
}

impl Side {
    /// The side at the beginning of a part of the ray, if the part before it
    /// ended there.
    fn at(self, distance_m: f64) -> f64 {
        if distance_m <= self.until_m { self.above } else { 0.0 }
    }
}

struct Walk<'a> {
    caster: &'a RayCaster,
    ray: &'a Ray,
    /// x and z of the ray's origin, finest cells from the lattice's corner.
    origin: [f64; 2],
    /// Finest cells a metre along the ray.
    direction: [f64; 2],
}

/// A part of the ray: begin and end, metres.
type Part = [f64; 2];

impl Walk<'_> {
    /// The part of a part over a square of `span` finest cells.
    fn clip(&self, part: Part, first: [f64; 2], span: f64) -> Option<Part> {
        let [mut begin, mut end] = part;
        for ((origin, direction), low) in self.origin.into_iter().zip(self.direction).zip(first) {
            let high = low + span;
            if direction == 0.0 {
                if !(low..=high).contains(&origin) {
                    return None;
                }
                continue;
            }
            let (a, b) = ((low - origin) / direction, (high - origin) / direction);
            (begin, end) = (begin.max(a.min(b)), end.min(a.max(b)));
        }
        (begin <= end).then_some([begin, end])
    }

    /// Passes over ground between two heights when the ray stays above or
    /// below all of it, and notes which.
    fn passes(&self, [low_m, high_m]: [f64; 2], [begin, end]: Part, side: &mut Side) -> bool {
        let y = |distance_m: f64| self.ray.origin_m.y + distance_m * self.ray.direction.y;
        let (lowest, highest) = (y(begin).min(y(end)), y(begin).max(y(end)));
        let above = if lowest > high_m {
            1.0
        } else if highest < low_m {
            -1.0
        } else {
            return false;
        };
        *side = Side { above, until_m: end };
        true
    }

    /// Four children in the order in which the ray meets them.
    fn in_order<T: Copy>(
        &self,
        part: Part,
        children: [(T, [f64; 2]); 4],
        span: f64,
    ) -> impl Iterator<Item = (T, Part)> {
        let mut met = children.map(|(child, first)| self.clip(part, first, span).map(|part| (child, part)));
        met.sort_by(|a, b| match (a, b) {
            (Some((_, a)), Some((_, b))) => a[0].total_cmp(&b[0]).then(a[1].total_cmp(&b[1])),
            (a, b) => b.is_some().cmp(&a.is_some()),
        });
        met.into_iter().flatten()
    }

    fn tile(&self, tile: TileKey, part: Part, side: &mut Side) -> Option<RayHit> {
        if self.passes(self.caster.bounds.get(tile)?, part, side) {
            return None;
        }
        let children = tile.children().filter(|_| self.caster.surface.lattice().is_split(tile));
        let Some(children) = children else {
            let leaf = self.caster.surface.leaf(tile);
            return self.block(tile, &leaf, (BLOCK_LEVELS, 0, 0), part, side);
        };
        let span = (u64::from(TILE_CELLS) << (tile.level - 1)) as f64;
        let children = children.map(|child| (child, [f64::from(child.x) * span, f64::from(child.z) * span]));
        self.in_order(part, children, span).find_map(|(child, part)| self.tile(child, part, side))
    }

    /// A block of 2^level cells a side of a leaf.
    fn block(&self, tile: TileKey, leaf: &Leaf, block: (u8, u32, u32), part: Part, side: &mut Side) -> Option<RayHit> {
        let (level, x, z) = block;
        if self.passes(leaf.bounds_m(level, x, z)?, part, side) {
            return None;
        }
        let Some(below) = level.checked_sub(1) else { return self.cell(tile, leaf, (x, z), part, side) };
        let (i, j) = tile.first_post();
        let span = (1_u64 << (below + tile.level)) as f64;
        let children = [(0, 0), (1, 0), (0, 1), (1, 1)].map(|(dx, dz)| {
            let (x, z) = (2 * x + dx, 2 * z + dz);
            ((below, x, z), [i as f64 + f64::from(x) * span, j as f64 + f64::from(z) * span])
        });
        self.in_order(part, children, span).find_map(|(child, part)| self.block(tile, leaf, child, part, side))
    }

    /// The two triangles of a cell, in the order in which the ray meets them.
    fn cell(&self, tile: TileKey, leaf: &Leaf, (x, z): (u32, u32), part: Part, side: &mut Side) -> Option<RayHit> {
        let (i, j) = tile.first_post();
        let span = (1_u64 << tile.level) as f64;
        let first = [i as f64 + f64::from(x) * span, j as f64 + f64::from(z) * span];
        let place = |distance_m: f64| {
            [0, 1].map(|axis| {
                ((self.origin[axis] - first[axis] + distance_m * self.direction[axis]) / span).clamp(0.0, 1.0)
            })
        };
        let [begin, end] = part;
        // Where the ray crosses the diagonal, s + t = 1.
        let along = (self.direction[0] + self.direction[1]) / span;
        let from_diagonal = ((self.origin[0] - first[0]) + (self.origin[1] - first[1])) / span - 1.0;
        let crossing = -from_diagonal / along;
        let parts = if crossing > begin && crossing < end {
            [Some([begin, crossing]), Some([crossing, end])]
        } else {
            [Some(part), None]
        };
        let corners_m = leaf.corners_m(x, z);
        let posting_m = self.caster.surface.lattice().posting_at_m(tile.level);
        parts.into_iter().flatten().find_map(|part| {
            let [s, t] = place(0.5 * (part[0] + part[1]));
            // On the diagonal either will do, as in a query.
            let beyond_diagonal = snap_to_post(s + t) - 1.0;
            let triangle = Triangle::of(corners_m, beyond_diagonal <= 0.0)
                .or_else(|| if beyond_diagonal == 0.0 { Triangle::of(corners_m, false) } else { None })?;
            let above = |distance_m: f64| {
                let [s, t] = place(distance_m);
                self.ray.origin_m.y + distance_m * self.ray.direction.y - triangle.height_m(s, t)
            };
            let (a, b) = (above(part[0]), above(part[1]));
            let before = side.at(part[0]);
            *side = Side { above: b, until_m: part[1] };
            let distance_m = if a == 0.0 || before * a < 0.0 {
                part[0]
            } else if a * b < 0.0 {
                part[0] + (part[1] - part[0]) * (a / (a - b))
            } else if b == 0.0 {
                part[1]
            } else {
                return None;
            };
            Some(RayHit {
                distance_m,
                position_m: self.ray.at_m(distance_m),
                normal: DVec3::new(-triangle.east_m, posting_m, -triangle.south_m).normalize(),
                is_from_below: if before != 0.0 { before < 0.0 } else { a < 0.0 || (a == 0.0 && b > 0.0) },
                tile,
            })
        })
    }
}

/// The plane over one half of a cell.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Triangle {
    is_north_west: bool,
    corner_m: f64,
    /// Rise over one cell to the east, metres.
    pub(crate) east_m: f64,
    /// Rise over one cell to the south, metres.
    pub(crate) south_m: f64,
}

impl Triangle {
    /// `None` when one of its posts is a hole.
    #[inline]
    pub(crate) fn of([north_west, north_east, south_west, south_east]: [f64; 4], is_north_west: bool) -> Option<Self> {
        let (corner_m, east_m, south_m) = if is_north_west {
            (north_west, north_east - north_west, south_west - north_west)
        } else {
            (south_east, south_east - south_west, south_east - north_east)
        };
        let has_ground = !(corner_m + east_m + south_m).is_nan();
        has_ground.then_some(Self { is_north_west, corner_m, east_m, south_m })
    }

    #[inline]
    pub(crate) fn height_m(&self, s: f64, t: f64) -> f64 {
        match self.is_north_west {
            true => self.corner_m + s * self.east_m + t * self.south_m,
            false => self.corner_m - (1.0 - s) * self.east_m - (1.0 - t) * self.south_m,
        }
    }
}

#[cfg(test)]
mod tests;
