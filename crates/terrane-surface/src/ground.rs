//! The question asked most: what is the ground here?

use crate::rays::{Leaf, Triangle};
use crate::{SiteRect, Surface, TILE_CELLS, TileKey};
use glam::DVec3;
use rayon::prelude::*;
use serde::Serialize;
use terrane_core::snap_to_post;

/// What a height comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Source {
    /// The DEM's posts around hold measured data.
    Measured,
    /// The nearest post was filled in by the DEM's reader.
    Filled,
    /// Invented: a level base, craters or detail of a stage.
    Synthesised,
    /// An edit changed it.
    Edited,
}

/// The ground at one place, exact on the drawn triangles of the finest level.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Ground {
    /// Site y, metres.
    pub height_m: f64,
    /// Height above the datum, metres: that of the triangle's posts, in
    /// between as the triangle goes.
    pub datum_height_m: f64,
    /// Upward unit normal of the triangle, site frame.
    pub normal: DVec3,
    /// Angle between the normal and straight up, radians.
    pub slope_rad: f64,
    /// Distance between the posts of the triangle, metres.
    pub posting_m: f64,
    /// Index of the DEM that gives the height, finest first.
    pub dem: usize,
    /// What the height comes from.
    pub source: Source,
    /// Class that edits have painted, 0 where none has.
    pub class: u8,
    /// The leaf tile.
    pub tile: TileKey,
}

/// A triangle of the finest level and a place on it.
struct Spot {
    tile: TileKey,
    /// The cell's north-west post, and the place from there, cells.
    cell: (u32, u32),
    place: (f64, f64),
    triangle: Triangle,
    is_north_west: bool,
}

impl Spot {
    fn height_m(&self) -> f64 {
        self.triangle.height_m(self.place.0, self.place.1)
    }

    fn normal(&self, posting_m: f64) -> DVec3 {
        DVec3::new(-self.triangle.east_m, posting_m, -self.triangle.south_m).normalize()
    }
}

impl Surface {
    /// Height of the ground at site x, z (metres): site y, metres, exact on the
    /// drawn triangles of the finest level. `None` in a hole or outside.
    pub fn height_at(&self, x_m: f64, z_m: f64) -> Option<f64> {
        self.at_spot(x_m, z_m, |spot| spot.height_m())
    }

    /// [`Surface::height_at`] for many places, on all cores, in order.
    pub fn height_at_each(&self, places_xz_m: &[(f64, f64)]) -> Vec<Option<f64>> {
        const PLACES: usize = 4096;
        let mut out = vec![None; places_xz_m.len()];
        out.par_chunks_mut(PLACES).zip(places_xz_m.par_chunks(PLACES)).for_each(|(out, places)| {
            out.iter_mut().zip(places).for_each(|(out, &(x_m, z_m))| *out = self.height_at(x_m, z_m));
        });
        out
    }

    /// Upward unit normal of the triangle at site x, z (metres), site frame.
    pub fn normal_at(&self, x_m: f64, z_m: f64) -> Option<DVec3> {
        self.at_spot(x_m, z_m, |spot| spot.normal(self.lattice().posting_at_m(spot.tile.level)))
    }

    /// Slope of the triangle at site x, z (metres), radians.
    pub fn slope_at_rad(&self, x_m: f64, z_m: f64) -> Option<f64> {
        self.normal_at(x_m, z_m).map(|normal| normal.y.clamp(-1.0, 1.0).acos())
    }

    /// The ground at site x, z (metres). `None` in a hole or outside.
    pub fn ground_at(&self, x_m: f64, z_m: f64) -> Option<Ground> {
        let (tile, height_m, drop_m, normal) = self.at_spot(x_m, z_m, |spot| {
            let normal = spot.normal(self.lattice().posting_at_m(spot.tile.level));
            (spot.tile, spot.height_m(), self.chord_drop_m(&spot), normal)
        })?;
        let base = self.base_height_m(x_m, z_m);
        let dem = base.map_or(self.spec().dems.len() - 1, |(_, dem)| dem);
        let reaching = self.reaching(&SiteRect::around(x_m, z_m, 0.0));
        let shaping = base.map(|(height_m, dem)| reaching.shaping(&self.spec().dems, dem, (x_m, z_m, height_m)));
        let shaping = shaping.unwrap_or_default();
        let source = if shaping.iter().any(|modifier| modifier.spec().is_edit()) {
            Source::Edited
        } else if !shaping.is_empty() || self.spec().dems[dem].posts.is_level() {
            Source::Synthesised
        } else if self.is_filled(x_m, z_m, dem) {
            Source::Filled
        } else {
            Source::Measured
        };
        Some(Ground {
            height_m,
            datum_height_m: height_m + drop_m + self.spec().origin_height_m,
            normal,
            slope_rad: normal.y.clamp(-1.0, 1.0).acos(),
            posting_m: self.lattice().posting_at_m(tile.level),
            dem,
            source,
            class: self.class_at(x_m, z_m).unwrap_or(0),
            tile,
        })
    }

    /// [`Surface::ground_at`] for many places, on all cores, in order.
    pub fn ground_at_each(&self, places_xz_m: &[(f64, f64)]) -> Vec<Option<Ground>> {
        places_xz_m.par_iter().map(|&(x_m, z_m)| self.ground_at(x_m, z_m)).collect()
    }

    /// Names of the modifiers that change the ground at site x, z (metres), in
    /// the order in which they do. One that takes the ground away is the last.
    pub fn shaped_by(&self, x_m: f64, z_m: f64) -> Vec<&str> {
        let Some((height_m, dem)) = self.base_height_m(x_m, z_m) else { return vec![] };
        let reaching = self.reaching(&SiteRect::around(x_m, z_m, 0.0));
        let shaping = reaching.shaping(&self.spec().dems, dem, (x_m, z_m, height_m));
        let names = |key| self.modifiers().iter().find(|own| own.key() == key).map(|own| own.spec().name.as_str());
        shaping.iter().filter_map(|modifier| names(modifier.key())).collect()
    }

    /// Class that edits have painted at site x, z (metres); `None` where none
    /// has.
    pub fn class_at(&self, x_m: f64, z_m: f64) -> Option<u8> {
        match self.modifiers().is_empty() {
            true => None,
            false => self.reaching(&SiteRect::around(x_m, z_m, 0.0)).class(x_m, z_m),
        }
    }

    /// Asks the triangle at a place. `None` in a hole or outside.
    fn at_spot<T>(&self, x_m: f64, z_m: f64, ask: impl Fn(Spot) -> T) -> Option<T> {
        let lattice = self.lattice();
        // A place within rounding of the outermost posts is on them.
        let inside = |place: f64| if snap_to_post(place) == 0.0 { 0.0 } else { place };
        let i = inside((x_m - lattice.x0_m) / lattice.posting_m);
        let j = inside((z_m - lattice.z0_m) / lattice.posting_m);
        let found = self.with_leaf_at([i, j], |tile, [u, v], leaf| self.spot(tile, u, v, leaf));
        found.or_else(|| self.spot_before_border(i, j)).map(ask)
    }

    /// The triangle of a leaf to the west or north, for a place on the border
    /// of one that has none there.
    fn spot_before_border(&self, i: f64, j: f64) -> Option<Spot> {
        let lattice = self.lattice();
        let (tile, u, v) = lattice.leaf_at(i, j)?;
        let on_border = |place: f64| snap_to_post(place) == 0.0;
        let step = 0.5 * (1_u64 << tile.level) as f64;
        let beside = [(true, false), (false, true), (true, true)].into_iter();
        let beside = beside.filter(|(west, north)| (!west || on_border(u)) && (!north || on_border(v)));
        let back = |place: f64, by: bool| if by { place - step } else { place };
        beside
            .filter_map(|(west, north)| {
                let (tile, ..) = lattice.leaf_at(back(i, west), back(j, north))?;
                let (first_i, first_j) = tile.first_post();
                let stride = (1_u64 << tile.level) as f64;
                self.spot(tile, (i - first_i as f64) / stride, (j - first_j as f64) / stride, None)
            })
            .next()
    }

    #[inline]
    fn spot(&self, tile: TileKey, u: f64, v: f64, leaf: Option<&Leaf>) -> Option<Spot> {
        let last = f64::from(TILE_CELLS - 1);
        let corners_m = |cu: u32, cv: u32| match leaf {
            Some(leaf) => leaf.corners_m(cu, cv),
            None => {
                let post = |u: u32, v: u32| self.leaf_post_m(tile, u, v).unwrap_or(f64::NAN);
                [post(cu, cv), post(cu + 1, cv), post(cu, cv + 1), post(cu + 1, cv + 1)]
            }
        };
        // The diagonal joins (0, 1) and (1, 0): the north-west triangle has
        // s + t <= 1. On the diagonal either will do, since the other one may
        // miss a post.
        let in_cell = |cu: f64, cv: f64| {
            let (cell, place) = ((cu as u32, cv as u32), (u - cu, v - cv));
            let corners_m = corners_m(cell.0, cell.1);
            let beyond_diagonal = snap_to_post(place.0 + place.1) - 1.0;
            let on = |is_north_west| {
                let triangle = Triangle::of(corners_m, is_north_west)?;
                Some(Spot { tile, cell, place, triangle, is_north_west })
            };
            let found = on(beyond_diagonal <= 0.0);
            found.or_else(|| if beyond_diagonal == 0.0 { on(false) } else { None })
        };
        let (snapped_u, snapped_v) = (snap_to_post(u), snap_to_post(v));
        // Places in a leaf are never negative.
        let floor = |place: f64| f64::from(place as u32);
        let (first_u, first_v) = (floor(snapped_u).min(last), floor(snapped_v).min(last));
        if let Some(spot) = in_cell(first_u, first_v) {
            return Some(spot);
        }
        // A place on an outer border belongs to the last cell, or, where the
        // border of the data runs along posts, to the cell before it.
        let before = |place: f64| (place.ceil() - 1.0).clamp(0.0, last);
        let (other_u, other_v) = (before(snapped_u), before(snapped_v));
        let others = [(other_u, first_v), (first_u, other_v), (other_u, other_v)];
        others.into_iter().filter(|cell| *cell != (first_u, first_v)).find_map(|(cu, cv)| in_cell(cu, cv))
    }

    /// How far the datum lies below the tangent plane under a triangle's posts,
    /// in between as the triangle goes.
    fn chord_drop_m(&self, spot: &Spot) -> f64 {
        let (i, j) = spot.tile.first_post();
        let drop_m = |du: u32, dv: u32| {
            let post = |first: u64, k: u32| first + (u64::from(k) << spot.tile.level);
            let (x_m, z_m) = self.lattice().post_xz_m(post(i, spot.cell.0 + du), post(j, spot.cell.1 + dv));
            self.curvature_drop_m(x_m, z_m)
        };
        let ((s, t), east_m, south_m) = (spot.place, drop_m(1, 0), drop_m(0, 1));
        match spot.is_north_west {
            true => (1.0 - s - t) * drop_m(0, 0) + s * east_m + t * south_m,
            false => (s + t - 1.0) * drop_m(1, 1) + (1.0 - s) * south_m + (1.0 - t) * east_m,
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::{DemGrid, Surface, SurfaceSpec};
    use glam::DVec3;

    fn dem(name: &str, x0_m: f64, posting_m: f64, posts: usize, height: impl Fn(f64, f64) -> f64) -> DemGrid {
        let place = |k: usize| x0_m + k as f64 * posting_m;
        let heights = (0..posts * posts).map(|k| height(place(k % posts), place(k / posts)) as f32);
        DemGrid::in_memory(name, (x0_m, x0_m), posting_m, (posts, posts), heights.collect())
    }

    fn flat_world(dems: Vec<DemGrid>) -> Surface {
        Surface::new(SurfaceSpec { dems, ..SurfaceSpec::default() }).unwrap()
    }

    #[test]
    fn the_diagonal_joins_south_west_and_north_east() {
        // One cell of a saddle: corners 0, 1, 1, 0; on the diagonal it is 1.
        let grid = dem("saddle", 0.0, 1.0, 2, |x, z| if x == z { x.min(0.0) } else { 1.0 });
        let surface = flat_world(vec![grid]);
        assert_eq!(surface.ground_at(0.5, 0.5).unwrap().height_m, 1.0);
        assert_eq!(surface.ground_at(0.25, 0.25).unwrap().height_m, 0.5);
        assert_eq!(surface.ground_at(0.75, 0.75).unwrap().height_m, 0.5);
    }

    #[test]
    fn a_ramp_has_its_slope_and_normal() {
        let surface = flat_world(vec![dem("ramp", -20.0, 0.5, 81, |x, _| x)]);
        let ground = surface.ground_at(3.3, -7.7).unwrap();
        assert!((ground.height_m - 3.3).abs() < 1e-9);
        assert!((ground.slope_rad.to_degrees() - 45.0).abs() < 1e-9);
        assert!((ground.normal - DVec3::new(-1.0, 1.0, 0.0).normalize()).length() < 1e-12);
    }

    #[test]
    fn every_measured_post_beside_holes_has_ground_as_long_as_a_triangle_reaches_it() {
        // Holes at every third post of a row and a column, off round numbers.
        let hole = |k: f64| ((k + 20.3) / 0.7).round() as i64;
        let is_hole = |x: f64, z: f64| hole(x) % 3 == 0 && hole(z) % 4 == 0;
        let grid = dem("holes", -20.3, 0.7, 50, |x, z| if is_hole(x, z) { f64::NAN } else { 0.5 * x - z });
        let surface = flat_world(vec![grid]);
        for v in 0..50 {
            for u in 0..50 {
                let (x, z) = (-20.3 + f64::from(u) * 0.7, -20.3 + f64::from(v) * 0.7);
                for off in [0.0, 1e-8, -1e-8] {
                    let inside = (0..50).contains(&u) && (off == 0.0 || (1..49).contains(&u));
                    if !inside {
                        continue;
                    }
                    let found = surface.ground_at(x + off, z).map(|ground| ground.height_m);
                    match found {
                        Some(height_m) => assert!(!is_hole(x, z) && (height_m - (0.5 * x - z)).abs() < 1e-5),
                        None => assert!(is_hole(x, z) || (u == 0 || v == 0 || u == 49 || v == 49), "{u} {v} {off}"),
                    }
                }
            }
        }
    }

    #[test]
    fn there_is_ground_up_to_the_last_post_and_none_beyond() {
        let surface = flat_world(vec![dem("flat", 0.0, 1.0, 101, |_, _| 7.0)]);
        assert!(surface.ground_at(100.0, 100.0).is_some());
        assert!(surface.ground_at(64.0, 100.0).is_some());
        assert!(surface.ground_at(100.001, 50.0).is_none());
        assert!(surface.ground_at(-0.001, 50.0).is_none());
        assert!(surface.ground_at(f64::NAN, 0.0).is_none());
    }

    #[test]
    fn a_fine_dem_wins_and_the_coarse_one_meets_it() {
        let fine = dem("fine", -32.0, 1.0, 65, |x, z| 10.0 + 0.1 * x - 0.05 * z);
        let coarse = dem("coarse", -1000.0, 20.0, 101, |_, _| 0.0);
        let surface = flat_world(vec![coarse, fine]);
        assert!((surface.ground_at(5.0, 6.0).unwrap().height_m - 10.2).abs() < 1e-6);
        assert_eq!(surface.ground_at(5.0, 6.0).unwrap().dem, 0);
        // No cliff at the border, and the coarse heights far away.
        for step in [0.01, 0.5, 1.0] {
            let (inside, outside) =
                (surface.ground_at(32.0 - step, 3.0).unwrap(), surface.ground_at(32.0 + step, 3.0).unwrap());
            assert!((inside.height_m - outside.height_m).abs() < 0.4 * step + 1e-3, "{step}");
        }
        assert_eq!(surface.ground_at(700.0, 0.0).unwrap().height_m, 0.0);
    }

    #[test]
    fn a_hole_beyond_a_tile_border_leaves_the_ground_on_it() {
        // Posts of column 64 are the border of two tiles; the one to the east
        // has no ground beside it.
        let surface = flat_world(vec![dem("half", 0.0, 1.0, 129, |x, z| if x > 64.0 { f64::NAN } else { x + z })]);
        for z in [3.0, 20.5, 64.0, 100.25] {
            assert_eq!(surface.ground_at(64.0, z).map(|ground| ground.height_m), Some(64.0 + z), "{z}");
            assert_eq!(surface.height_at(64.0, z), Some(64.0 + z));
            assert!(surface.ground_at(64.001, z).is_none());
        }
    }

    #[test]
    fn the_surface_is_continuous_across_every_leaf_border() {
        let fine = dem("fine", -32.0, 1.0, 65, |x, z| (0.3 * x).sin() + (0.2 * z).cos());
        let coarse = dem("coarse", -1000.0, 20.0, 101, |x, z| 3.0 * (0.02 * x).sin() + 2.0 * (0.03 * z).cos());
        let surface = flat_world(vec![coarse, fine]);
        let lattice = surface.lattice();
        for tile in lattice.tiles().into_iter().filter(|tile| !lattice.is_split(*tile)) {
            let ([x0, _], [z0, z1]) = lattice.tile_bounds_m(tile);
            for k in 1..40 {
                let z = z0 + (z1 - z0) * f64::from(k) / 40.0;
                let (a, b) = (surface.ground_at(x0 - 1e-7, z), surface.ground_at(x0 + 1e-7, z));
                if let (Some(a), Some(b)) = (a, b) {
                    assert!((a.height_m - b.height_m).abs() < 1e-5, "{tile:?} at {z}: {} {}", a.height_m, b.height_m);
                }
            }
        }
    }

    #[test]
    fn the_body_curves_away_from_the_anchor() {
        let dems = vec![dem("flat", -20_000.0, 400.0, 101, |_, _| 0.0)];
        let spec = SurfaceSpec { dems, curvature_radius_m: Some(1_737_400.0), ..SurfaceSpec::default() };
        let surface = Surface::new(spec).unwrap();
        assert!((surface.height_m(20_000.0, 0.0).unwrap() + 115.1183).abs() < 1e-3);
        assert_eq!(surface.height_m(0.0, 0.0), Some(0.0));
        // A triangle is a chord: lower than the datum's arc, at datum height 0.
        for (x, z) in [(200.0, 200.0), (150.0, 100.0), (-19_900.0, 8_300.0), (350.0, 300.0)] {
            let ground = surface.ground_at(x, z).unwrap();
            assert!(ground.datum_height_m.abs() < 1e-9 && ground.height_m < -surface.curvature_drop_m(x, z), "{x}");
        }
    }
}
