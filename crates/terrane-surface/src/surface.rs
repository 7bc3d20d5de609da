//! The function itself: DEMs, joined, on a curved body.

use crate::grid::curvature_drop_m;
use crate::lattice::Wishes;
use crate::leaves::Leaves;
use crate::modifiers::{Modifier, ModifierSpec, Reaching, Wish};
use crate::{DemGrid, Lattice, SiteRect, TILE_CELLS, TileKey};
use std::sync::Arc;
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
    /// What shapes the ground beyond its DEMs, in the order in which it is
    /// done.
    pub modifiers: Vec<ModifierSpec>,
}

impl Default for SurfaceSpec {
    fn default() -> Self {
        Self {
            dems: Vec::new(),
            curvature_radius_m: None,
            origin_height_m: 0.0,
            blend_postings: 16.0,
            modifiers: vec![],
        }
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
    /// A modifier that can't be one.
    #[error("{name}: {what}")]
    BadModifier {
        /// The modifier.
        name: String,
        /// What is wrong.
        what: String,
    },
    /// Modifiers ask for more tiles than a site can hold.
    #[error("{name} needs more, or finer, posts than a site can hold")]
    TooFine {
        /// The modifier that asks for most.
        name: String,
    },
    /// The DEMs are too far apart, or too different, for one lattice.
    #[error("the DEMs are too far apart, or their postings too different, for one site")]
    TooWide,
}

/// The height function of a site. See the crate's page. Cheap to clone; clones
/// share what they keep.
#[derive(Debug, Clone)]
pub struct Surface {
    spec: Arc<SurfaceSpec>,
    modifiers: Arc<Vec<Arc<Modifier>>>,
    lattice: Arc<Lattice>,
    leaves: Arc<Leaves>,
}

impl Surface {
    /// Checks the DEMs, orders them finest first, makes the modifiers ready one
    /// on the other, and lays the lattice.
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
        let modifiers = std::mem::take(&mut spec.modifiers);
        let bare = Self {
            spec: Arc::new(spec),
            modifiers: Arc::default(),
            lattice: Arc::new(lattice),
            leaves: Arc::new(Leaves::new()),
        };
        if modifiers.is_empty() { Ok(bare) } else { bare.revised(modifiers) }
    }

    /// The same DEMs under other modifiers. What both have in common from the
    /// first one on is not made again, so that adding or undoing the last of a
    /// thousand edits takes no longer than the only one.
    pub fn revised(&self, modifiers: Vec<ModifierSpec>) -> Result<Self, SurfaceError> {
        let common = self.modifiers.iter().zip(&modifiers).take_while(|(ours, wanted)| ours.spec() == *wanted).count();
        // What is made ready sees the ground of what came before.
        let mut below = Self { modifiers: Arc::new(self.modifiers[..common].to_vec()), ..self.clone() };
        for spec in &modifiers[common..] {
            let modifier = Arc::new(Modifier::new(spec.clone(), &below)?);
            Arc::make_mut(&mut below.modifiers).push(modifier);
        }
        let ready = below.modifiers;
        let lattice = self.relaid(&ready, common)?;
        let mut spec = (*self.spec).clone();
        spec.modifiers = modifiers;
        let mut revised = Self {
            spec: Arc::new(spec),
            modifiers: ready,
            lattice: Arc::new(lattice),
            leaves: Arc::new(Leaves::new()),
        };
        if revised.lattice.posting_m == self.lattice.posting_m {
            let changed = revised.changed_rects(self);
            let is_same = |tile: TileKey| !self.is_near(tile, &changed);
            revised.leaves = Arc::new(Leaves::kept_from(&self.leaves, is_same));
        }
        Ok(revised)
    }

    /// The lattice for some modifiers, of which the first `common` are those of
    /// this surface.
    fn relaid(&self, modifiers: &[Arc<Modifier>], common: usize) -> Result<Lattice, SurfaceError> {
        let finest_m = self.spec.dems[0].posting_m;
        let wishes_of = |modifier: &Arc<Modifier>| modifier.wishes();
        let need = |wishes: &[Wish]| wishes.iter().map(|wish| Lattice::halvings(finest_m, wish)).max().unwrap_or(0);
        let regions: Vec<Wish> = modifiers.iter().filter_map(|modifier| modifier.region_wish()).collect();
        // Edits come and go; what is not an edit seldom does.
        let set_of = |modifier: &Arc<Modifier>| usize::from(modifier.spec().is_edit());
        let lost = |set: usize| self.modifiers[common..].iter().any(|modifier| set_of(modifier) == set);
        let mut holds = [!lost(0), !lost(1)];
        let halvings = modifiers.iter().map(|modifier| modifier.halvings(finest_m)).max().unwrap_or(0);
        if self.lattice.posting_m != finest_m / (1_u64 << halvings) as f64 {
            holds = [false; 2];
        }
        let new = |set: usize| -> Vec<Wish> {
            let from = if holds[set] { common } else { 0 };
            modifiers[from..].iter().filter(|modifier| set_of(modifier) == set).flat_map(wishes_of).collect()
        };
        let wishes = Wishes {
            single: [new(0), new(1)],
            earlier: Some((&self.lattice, holds)),
            halvings: halvings.max(need(&regions)),
            regions,
        };
        Lattice::for_wishes(&self.spec.dems, &wishes).ok_or_else(|| {
            let asks = |modifier: &&Arc<Modifier>| -> f64 {
                modifier.wishes().into_iter().chain(modifier.region_wish()).map(|wish| wish.tiles()).sum()
            };
            let most = modifiers.iter().max_by(|a, b| asks(a).total_cmp(&asks(b)));
            SurfaceError::TooFine { name: most.map_or_else(String::new, |modifier| modifier.spec().name.clone()) }
        })
    }

    /// What it is made of, finest DEM first.
    pub fn spec(&self) -> &SurfaceSpec {
        &self.spec
    }

    /// Where its posts are.
    pub fn lattice(&self) -> &Lattice {
        &self.lattice
    }

    /// Its modifiers, made ready, in order.
    pub fn modifiers(&self) -> &[Arc<Modifier>] {
        &self.modifiers
    }

    pub(crate) fn leaves(&self) -> &Leaves {
        &self.leaves
    }

    /// The modifiers that reach a rectangle.
    pub(crate) fn reaching(&self, rect: &SiteRect) -> Reaching {
        Reaching::of(&self.modifiers, rect)
    }

    /// Where modifiers need finer posts than any DEM has: one rectangle around
    /// all of them that are wanted, and a posting for a map of it with at most
    /// so many posts a side, metres. `None` where a DEM's own posts do.
    pub fn detail(&self, most_posts: usize, wanted: impl Fn(&ModifierSpec) -> bool) -> Option<(SiteRect, f64)> {
        let finest_m = self.spec.dems[0].posting_m;
        let ground = self.spec.dems.iter().map(DemGrid::rect).reduce(SiteRect::joined)?;
        let is_fine = |modifier: &&Arc<Modifier>| {
            let region = modifier.region_wish().map_or(0, |wish| Lattice::halvings(finest_m, &wish));
            wanted(modifier.spec()) && modifier.halvings(finest_m).max(region) > 0
        };
        let fine = self.modifiers.iter().filter(is_fine).filter_map(|modifier| modifier.bounds().common(ground));
        let rect = fine.reduce(SiteRect::joined)?;
        let (width_m, height_m) = rect.size_m();
        let mut posting_m = self.lattice.posting_m;
        while width_m.max(height_m) / posting_m > (most_posts - 2) as f64 {
            posting_m *= 2.0;
        }
        (posting_m < 0.75 * finest_m && width_m.min(height_m) > 2.0 * posting_m).then_some((rect, posting_m))
    }

    /// The same ground without its edits.
    pub fn without_edits(&self) -> Result<Self, SurfaceError> {
        let kept: Vec<ModifierSpec> =
            self.spec.modifiers.iter().filter(|modifier| !modifier.is_edit()).cloned().collect();
        if kept.len() == self.spec.modifiers.len() { Ok(self.clone()) } else { self.revised(kept) }
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
        let (height_m, dem) = self.base_height_m(x_m, z_m)?;
        if self.modifiers.is_empty() {
            return Some((height_m, dem));
        }
        let reaching = self.reaching(&SiteRect::around(x_m, z_m, 0.0));
        reaching.apply(&self.spec.dems, dem, x_m, z_m, height_m).map(|height_m| (height_m, dem))
    }

    /// Height above the datum as the DEMs have it, without modifiers, and the
    /// index of the DEM that gives it.
    pub fn base_height_m(&self, x_m: f64, z_m: f64) -> Option<(f64, usize)> {
        self.base_height_from(|dem, column, row| self.spec.dems[dem].posts.at(column, row), x_m, z_m)
    }

    /// [`Surface::base_height_m`] with posts from elsewhere, by DEM, column
    /// and row.
    pub(crate) fn base_height_from(
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
