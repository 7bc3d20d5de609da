//! The collider of one leaf tile.

use super::build::{self, Built};
use crate::PhysicsError;
use crate::engine::f64_of;
use crate::engine::rapier::parry::shape::{SharedShape, Triangle};
use glam::DVec3;
use serde::{Deserialize, Serialize};
use terrane_core::snap_to_post;
use terrane_surface::{SiteRect, Surface, TILE_CELLS, TILE_POSTS, TileKey};

/// What a tile's collider is made of. Both have the same triangles.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum GroundShape {
    /// A height field that knows the slope of the cells around it, so that
    /// nothing trips over the border of two tiles.
    #[default]
    HeightField,
    /// A mesh of the tile's own triangles and no more, for comparison. Its
    /// contacts are the engine's own: bodies may trip over its border, and a
    /// ball that is set down just on a post may fall through.
    TriangleMesh,
}

/// The collider of a leaf tile: the leaf's own posts and diagonals, as drawn
/// at the finest level. A triangle is there when its three posts are.
#[derive(Clone)]
pub struct TileCollider {
    tile: TileKey,
    bounds: SiteRect,
    posting_m: f64,
    reference_m: f64,
    /// The leaf's posts, row by row from the north-west, NaN in holes.
    posts_m: Vec<f64>,
    low_high_m: Option<[f64; 2]>,
    built: Option<Built>,
}

impl std::fmt::Debug for TileCollider {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("TileCollider")
            .field("tile", &self.tile)
            .field("bounds", &self.bounds)
            .field("reference_m", &self.reference_m)
            .field("triangles", &self.triangle_count())
            .finish_non_exhaustive()
    }
}

impl TileCollider {
    /// Builds the collider of a leaf of the surface.
    ///
    /// # Errors
    /// [`PhysicsError::NotALeaf`] for a tile that is split or has no ground.
    pub fn build(surface: &Surface, tile: TileKey, shape: GroundShape) -> Result<Self, PhysicsError> {
        let lattice = surface.lattice();
        if tile.level > lattice.root().level || lattice.is_split(tile) || !lattice.has_ground(tile) {
            return Err(PhysicsError::NotALeaf(tile));
        }
        let bounds = lattice.tile_rect(tile);
        let posting_m = lattice.posting_at_m(tile.level);
        let posts_m = surface.leaf_heights_m(tile, 0);
        let low_high_m = posts_m.iter().filter(|post| post.is_finite()).fold(None, |range: Option<[f64; 2]>, post| {
            Some(range.map_or([*post; 2], |[low, high]| [low.min(*post), high.max(*post)]))
        });
        let reference_m = low_high_m.map_or(0.0, |[low, high]| (0.5 * (low + high)).round());
        let mut collider = Self { tile, bounds, posting_m, reference_m, posts_m, low_high_m, built: None };
        if collider.triangle_count() > 0 {
            collider.built = match shape {
                GroundShape::HeightField => Some(build::height_field(surface, &collider)),
                GroundShape::TriangleMesh => build::triangle_mesh(&collider),
            };
        }
        Ok(collider)
    }

    /// The leaf.
    pub fn tile(&self) -> TileKey {
        self.tile
    }

    /// The leaf's rectangle.
    pub fn bounds(&self) -> SiteRect {
        self.bounds
    }

    /// Distance between its posts, metres.
    pub fn posting_m(&self) -> f64 {
        self.posting_m
    }

    /// Site position of the collider's own origin: the middle of the tile, and
    /// a whole metre near the middle of its heights.
    pub fn origin_m(&self) -> DVec3 {
        let (x_m, z_m) = self.bounds.middle_m();
        DVec3::new(x_m, self.reference_m, z_m)
    }

    /// Least and greatest height of its posts, site y in metres; `None` when
    /// there is no post.
    pub fn low_high_m(&self) -> Option<[f64; 2]> {
        self.low_high_m
    }

    /// Height of post (`u`, `v`), 0 to [`TILE_CELLS`], site y in metres: the
    /// surface's own number. `None` in a hole.
    pub fn post_m(&self, u: u32, v: u32) -> Option<f64> {
        let post = self.posts_m.get((v * TILE_POSTS + u) as usize).filter(|_| u < TILE_POSTS)?;
        post.is_finite().then_some(*post)
    }

    /// True when a triangle is there: its three posts are.
    pub fn has_triangle(&self, u: u32, v: u32, is_north_west: bool) -> bool {
        self.corners_m(u, v, is_north_west).is_some()
    }

    /// Its triangles, row by row of cells, the north-west one first: corners
    /// in the site frame, metres, counterclockwise seen from above. Exactly as
    /// drawn.
    pub fn triangles_m(&self) -> impl Iterator<Item = [DVec3; 3]> + '_ {
        let cells = (0..TILE_CELLS).flat_map(|v| (0..TILE_CELLS).map(move |u| (u, v)));
        cells.flat_map(|(u, v)| [true, false].map(|is_north_west| self.corners_m(u, v, is_north_west))).flatten()
    }

    /// How many triangles it has.
    pub fn triangle_count(&self) -> usize {
        self.triangles_m().count()
    }

    /// Corners of a triangle in the site frame, metres.
    pub(crate) fn corners_m(&self, u: u32, v: u32, is_north_west: bool) -> Option<[DVec3; 3]> {
        let corner = |du: u32, dv: u32| {
            let height_m = self.post_m(u + du, v + dv)?;
            let x_m = self.bounds.x_m[0] + f64::from(u + du) * self.posting_m;
            let z_m = self.bounds.z_m[0] + f64::from(v + dv) * self.posting_m;
            Some(DVec3::new(x_m, height_m, z_m))
        };
        let (north_east, south_west) = (corner(1, 0)?, corner(0, 1)?);
        let corners = if is_north_west {
            [corner(0, 0)?, south_west, north_east]
        } else {
            [south_west, corner(1, 1)?, north_east]
        };
        Some(corners)
    }

    /// Height of the collider at site x, z (metres), site y in metres, read
    /// from the engine's own triangle there. `None` in a hole or outside of
    /// the tile. It differs from [`Surface::ground_at`] by the engine's
    /// rounding alone.
    pub fn height_m(&self, x_m: f64, z_m: f64) -> Option<f64> {
        let (u, v) = ((x_m - self.bounds.x_m[0]) / self.posting_m, (z_m - self.bounds.z_m[0]) / self.posting_m);
        let side = f64::from(TILE_CELLS);
        let (u, v) = (snap_to_post(u), snap_to_post(v));
        if !((0.0..=side).contains(&u) && (0.0..=side).contains(&v)) {
            return None;
        }
        // On a border the cell before it will do, since the next one may miss
        // a post; on the diagonal, either triangle.
        let candidates = |place: f64| [place.floor().min(side - 1.0), (place.ceil() - 1.0).max(0.0)];
        let cells = candidates(v).into_iter().flat_map(|cv| candidates(u).map(|cu| (cu, cv)));
        cells.into_iter().find_map(|(cu, cv)| {
            let beyond = snap_to_post(u - cu + v - cv) - 1.0;
            let on = |is_north_west| self.engine_height_m(x_m, z_m, (cu as u32, cv as u32), is_north_west);
            on(beyond <= 0.0).or_else(|| if beyond == 0.0 { on(false) } else { None })
        })
    }

    fn engine_height_m(&self, x_m: f64, z_m: f64, cell: (u32, u32), is_north_west: bool) -> Option<f64> {
        let triangle = self.built.as_ref()?.triangle(cell, is_north_west)?;
        let origin_m = self.origin_m();
        Some(height_on(&triangle, x_m - origin_m.x, z_m - origin_m.z) + origin_m.y)
    }

    pub(crate) fn shape(&self) -> Option<SharedShape> {
        self.built.as_ref().map(|built| built.shape.clone())
    }
}

/// Height of a triangle's plane at local x, z.
fn height_on(triangle: &Triangle, x: f64, z: f64) -> f64 {
    let [a, b, c] = [triangle.a, triangle.b, triangle.c].map(|p| p.to_array().map(f64_of));
    let (abx, abz, acx, acz) = (b[0] - a[0], b[2] - a[2], c[0] - a[0], c[2] - a[2]);
    let area = abx * acz - abz * acx;
    let (px, pz) = (x - a[0], z - a[2]);
    let (s, t) = ((px * acz - pz * acx) / area, (abx * pz - abz * px) / area);
    a[1] + s * (b[1] - a[1]) + t * (c[1] - a[1])
}
