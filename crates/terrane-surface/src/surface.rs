//! The function itself: DEMs, joined, on a curved body.

use crate::grid::curvature_drop_m;
use crate::{DemGrid, Lattice, TILE_CELLS, TileKey};
use terrane_core::PostReadError;

/// What a surface is made of.
#[derive(Debug, Clone)]
pub struct SurfaceSpec {
    /// DEMs of one site, in any order; the finest wins where it has data.
    pub dems: Vec<DemGrid>,
    /// Radius of the body at the anchor, metres; `None` for a flat world.
    pub curvature_radius_m: Option<f64>,
    /// Height of the site origin above the datum, metres.
    pub origin_height_m: f64,
    /// How far outside a finer DEM a coarser one is bent to meet its border,
    /// in the coarser one's postings. Heights inside the finer are untouched.
    pub blend_postings: f64,
}

impl Default for SurfaceSpec {
    fn default() -> Self {
        Self { dems: Vec::new(), curvature_radius_m: None, origin_height_m: 0.0, blend_postings: 16.0 }
    }
}

/// Why there is no surface.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum SurfaceError {
    /// No DEM at all.
    #[error("the terrain has no DEM layer")]
    NoDem,
    /// A grid that can't be one.
    #[error("DEM {name}: {what}")]
    BadGrid {
        /// The DEM.
        name: String,
        /// What is wrong.
        what: String,
    },
    /// The DEMs are too far apart, or too different, for one lattice.
    #[error("the DEMs are too far apart, or their postings too different, for one site")]
    TooWide,
}

/// The height function of a site. See the crate's page.
#[derive(Debug, Clone)]
pub struct Surface {
    spec: SurfaceSpec,
    lattice: Lattice,
}

impl Surface {
    /// Checks the DEMs, orders them finest first, and lays the lattice.
    pub fn new(mut spec: SurfaceSpec) -> Result<Self, SurfaceError> {
        for dem in &spec.dems {
            let bad = |what: &str| SurfaceError::BadGrid { name: dem.name.clone(), what: what.to_owned() };
            if dem.columns < 2 || dem.rows < 2 {
                return Err(bad("fewer than two posts a side"));
            }
            if (dem.columns, dem.rows) != dem.posts.size() || !dem.posts.is_consistent() {
                return Err(bad("the number of heights is not columns times rows"));
            }
            if !(dem.posting_m.is_finite() && dem.posting_m > 0.0 && dem.x0_m.is_finite() && dem.z0_m.is_finite()) {
                return Err(bad("its place or posting is not a number"));
            }
        }
        if spec.dems.is_empty() {
            return Err(SurfaceError::NoDem);
        }
        spec.dems.sort_by(|a, b| a.posting_m.total_cmp(&b.posting_m));
        let lattice = Lattice::under(&spec.dems).ok_or(SurfaceError::TooWide)?;
        Ok(Self { spec, lattice })
    }

    /// What it is made of, finest DEM first.
    pub fn spec(&self) -> &SurfaceSpec {
        &self.spec
    }

    /// Where its posts are.
    pub fn lattice(&self) -> &Lattice {
        &self.lattice
    }

    /// How far the body's surface lies below the tangent plane at the site
    /// origin, metres: R - sqrt(R^2 - d^2) at distance d.
    pub fn curvature_drop_m(&self, x_m: f64, z_m: f64) -> f64 {
        self.spec.curvature_radius_m.map_or(0.0, |radius_m| curvature_drop_m(radius_m, x_m, z_m))
    }

    /// Height of the composed function at any place, site y in metres: what a
    /// post there would have. Between posts it is smooth, unlike the drawn
    /// triangles. `None` where there is no ground.
    pub fn height_m(&self, x_m: f64, z_m: f64) -> Option<f64> {
        let (datum, _) = self.datum_height_m(x_m, z_m)?;
        Some(datum - self.spec.origin_height_m - self.curvature_drop_m(x_m, z_m))
    }

    /// Height above the datum and the index of the DEM that gives it.
    pub fn datum_height_m(&self, x_m: f64, z_m: f64) -> Option<(f64, usize)> {
        self.datum_height_from(|dem, column, row| self.spec.dems[dem].posts.at(column, row), x_m, z_m)
    }

    /// [`Surface::datum_height_m`] with posts from elsewhere, by DEM, column
    /// and row.
    pub(crate) fn datum_height_from(
        &self,
        at: impl Fn(usize, i64, i64) -> Option<f64>,
        x_m: f64,
        z_m: f64,
    ) -> Option<(f64, usize)> {
        let dems = &self.spec.dems;
        let height = |index: usize| dems[index].height_from(|column, row| at(index, column, row), x_m, z_m);
        let (index, height) = (0..dems.len()).find_map(|index| height(index).map(|height| (index, height)))?;
        let bend: f64 = dems[..index].iter().map(|finer| self.bend_m(finer, &dems[index], x_m, z_m)).sum();
        Some((height + bend, index))
    }

    /// The first failure to read heights, if there was one. Heights that could
    /// not be read count as holes, so ask before an answer is trusted.
    pub fn read_failure(&self) -> Option<PostReadError> {
        self.spec.dems.iter().find_map(|dem| dem.posts.failure())
    }

    /// True when the height at a place was filled in and not measured: when
    /// the nearest post of the DEM that gives it was.
    pub fn is_filled(&self, x_m: f64, z_m: f64, dem: usize) -> bool {
        let dem = &self.spec.dems[dem];
        let (column, row) = dem.column_row(x_m, z_m);
        dem.posts.is_filled(column.round() as i64, row.round() as i64)
    }

    /// What is added to `coarse` near the outside of `finer`'s border, so that
    /// both meet there: the difference at the nearest border point, fading
    /// smoothly over the blend band.
    fn bend_m(&self, finer: &DemGrid, coarse: &DemGrid, x_m: f64, z_m: f64) -> f64 {
        let band_m = self.spec.blend_postings * coarse.posting_m;
        let (px, pz) = (x_m.clamp(finer.x0_m, finer.x1_m()), z_m.clamp(finer.z0_m, finer.z1_m()));
        let distance_m = (x_m - px).hypot(z_m - pz);
        if distance_m >= band_m || distance_m == 0.0 {
            return 0.0;
        }
        match (finer.height_m(px, pz), coarse.height_m(px, pz)) {
            (Some(fine), Some(coarse)) => {
                let t = distance_m / band_m;
                (fine - coarse) * (1.0 - t * t * (3.0 - 2.0 * t))
            }
            _ => 0.0,
        }
    }

    /// Height of a lattice post, site y in metres.
    pub fn post_m(&self, i: u64, j: u64) -> Option<f64> {
        let (x_m, z_m) = self.lattice.post_xz_m(i, j);
        self.height_m(x_m, z_m)
    }

    /// Height of post (`u`, `v`) of a leaf tile, 0 to [`TILE_CELLS`]. On a side
    /// that touches a coarser leaf, a post that the coarser lattice does not
    /// have lies on the straight line between its neighbours, so that both
    /// sides are one surface.
    pub fn leaf_post_m(&self, tile: TileKey, u: u32, v: u32) -> Option<f64> {
        let (i, j) = tile.first_post();
        let post = |u: u32, v: u32| self.post_m(i + (u64::from(u) << tile.level), j + (u64::from(v) << tile.level));
        let side = |place: u32| match place {
            0 => Some(-1),
            TILE_CELLS => Some(1),
            _ => None,
        };
        if let (1, Some(dx)) = (v % 2, side(u))
            && self.touches_coarser(tile, dx, 0)
        {
            return Some(0.5 * (post(u, v - 1)? + post(u, v + 1)?));
        }
        if let (1, Some(dz)) = (u % 2, side(v))
            && self.touches_coarser(tile, 0, dz)
        {
            return Some(0.5 * (post(u - 1, v)? + post(u + 1, v)?));
        }
        post(u, v)
    }

    /// True when the leaf beside `tile` is of a coarser level and has ground.
    pub(crate) fn touches_coarser(&self, tile: TileKey, dx: i32, dz: i32) -> bool {
        let Some(beside) = tile.neighbour(dx, dz) else { return false };
        let parent = beside.parent();
        tile.level < self.lattice.root_level && !self.lattice.is_split(parent) && self.lattice.has_ground(parent)
    }
}
