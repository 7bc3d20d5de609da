//! A recipe made ready: craters placed, levelled into the ground and indexed.

use terrane_core::{Cancelled, Progress};

use crate::albedo::{Albedo, Glow};
use crate::crater::{Crater, Stamp};
use crate::grid::GridSpec;
use crate::index::DiscIndex;
use crate::noise::{band, smoothstep};
use crate::population;
use crate::profile::{ProfileTable, SUPPORT_RADII};
use crate::recipe::{Recipe, RecipeError, within};
use crate::relief::Relief;

/// Posts on the circle over which the ground of a crater is averaged.
const RING: usize = 6;

/// A synthetic site that can be sampled at any posting.
///
/// Heights are a pure function of recipe, extent, posting and place. Craters and
/// octaves of less than three postings are left out and fade in up to six, so a
/// coarse grid does not alias and grids of different posting agree about all that
/// is large enough for both.
#[derive(Debug, Clone)]
pub struct Landscape {
    craters: Vec<Crater>,
    stamps: Vec<Stamp>,
    glows: Vec<Option<Glow>>,
    index: DiscIndex,
    table: ProfileTable,
    relief: Relief,
    albedo: Albedo,
    pad: Option<Pad>,
}

/// The level place at the origin: between which craters it was made, and its plane.
#[derive(Debug, Clone)]
struct Pad {
    /// Craters from this number on are younger.
    before: u32,
    radius_m: f64,
    blend_m: f64,
    plane: [f64; 3],
}

/// The craters near a block of posts, with each one's band weight.
struct Near {
    older: Vec<(u32, f64)>,
    younger: Vec<(u32, f64)>,
}

impl Landscape {
    /// Places all craters of `recipe` in a square of `half_extent_m` around the origin.
    ///
    /// # Errors
    /// A recipe field, or the extent, that no landscape can be made from.
    pub fn new(recipe: &Recipe, half_extent_m: f64) -> Result<Self, RecipeError> {
        recipe.validate()?;
        within("half_extent_m", half_extent_m, 1.0, 50_000.0)?;
        population::check_count(recipe, half_extent_m)?;
        let craters = population::craters(recipe, half_extent_m);
        let radii = craters.iter().map(Crater::support_m);
        let (smallest, largest) = radii.fold((f64::MAX, 1.0), |(lo, hi): (f64, f64), r| (lo.min(r), hi.max(r)));
        let mut landscape = Self {
            stamps: Vec::with_capacity(craters.len()),
            glows: craters.iter().map(|crater| Glow::new(recipe, crater)).collect(),
            index: DiscIndex::new(smallest.min(largest), largest),
            table: ProfileTable::new(),
            relief: Relief::new(recipe),
            albedo: Albedo::new(recipe),
            pad: None,
            craters,
        };
        landscape.lay(recipe);
        Ok(landscape)
    }

    /// All craters, oldest first.
    #[must_use]
    pub fn craters(&self) -> &[Crater] {
        &self.craters
    }

    /// Heights in metres, row-major, one a post.
    ///
    /// # Errors
    /// When `progress` asks to stop.
    pub fn heights(&self, grid: &GridSpec, progress: &dyn Progress) -> Result<Vec<f32>, Cancelled> {
        let posting = grid.posting_m;
        grid.fill(
            "heights",
            progress,
            |min, max| self.near(min, max, posting),
            |near, place| self.height(near, posting, place) + self.relief.regolith(posting, place[0], place[1]),
        )
    }

    /// Normal albedo from 0 to 1, row-major, one a post.
    ///
    /// # Errors
    /// When `progress` asks to stop.
    pub fn albedo(&self, grid: &GridSpec, progress: &dyn Progress) -> Result<Vec<f32>, Cancelled> {
        let posting = grid.posting_m;
        grid.fill(
            "albedo",
            progress,
            |min, max| {
                let near = self.near(min, max, posting);
                let all = near.older.into_iter().chain(near.younger);
                all.filter_map(|(n, _)| Some((&self.stamps[n as usize], self.glows[n as usize]?))).collect::<Vec<_>>()
            },
            |near, place| {
                let mature = self.albedo.mature(posting, place[0], place[1]);
                near.iter().fold(mature, |albedo, (stamp, glow)| self.albedo.apply(stamp, glow, posting, place, albedo))
            },
        )
    }

    /// Lays the craters oldest first, each into the ground that the older ones left.
    fn lay(&mut self, recipe: &Recipe) {
        let pad_age = population::pad_age(recipe);
        let pad_before = self.craters.iter().position(|c| c.age < pad_age).unwrap_or(self.craters.len());
        for number in 0..=self.craters.len() {
            if number == pad_before && recipe.pad.radius_m > 0.0 {
                let reach = recipe.pad.radius_m + 0.5 * recipe.pad.blend_m;
                let [level, east, north] = self.plane([0.0, 0.0], reach);
                // Level, but not unnaturally so: a little of the fall of the land stays.
                let plane = [level, 0.3 * east, 0.3 * north];
                let (radius_m, blend_m) = (recipe.pad.radius_m, recipe.pad.blend_m);
                self.pad = Some(Pad { before: number as u32, radius_m, blend_m, plane });
            }
            let Some(crater) = self.craters.get(number) else { break };
            let mut stamp = Stamp::new(crater);
            stamp.plane = self.plane([crater.east_m, crater.north_m], crater.radius_m());
            self.index.push(crater.east_m, crater.north_m, crater.support_m());
            self.stamps.push(stamp);
        }
    }

    /// The plane that best fits the ground laid so far within `radius_m` of a place:
    /// height there, slope east, slope north.
    ///
    /// Only what is at least about as large as the circle counts, whatever grid is
    /// sampled later, so that all grids see the same plane.
    fn plane(&self, centre: [f64; 2], radius_m: f64) -> [f64; 3] {
        let posting = radius_m / 3.0;
        let reach = 0.9 * radius_m;
        let min = centre.map(|c| c - reach);
        let max = centre.map(|c| c + reach);
        let near = self.near(min, max, posting);
        let middle = self.height(&near, posting, centre);
        let (mut mean, mut east, mut north) = (middle / (RING + 1) as f64, 0.0, 0.0);
        for k in 0..RING {
            let (sin, cos) = (std::f64::consts::TAU * k as f64 / RING as f64).sin_cos();
            let h = self.height(&near, posting, [centre[0] + reach * cos, centre[1] + reach * sin]);
            mean += h / (RING + 1) as f64;
            east += 2.0 * h * cos / (RING as f64 * reach);
            north += 2.0 * h * sin / (RING as f64 * reach);
        }
        [mean, east, north]
    }

    fn near(&self, min: [f64; 2], max: [f64; 2], posting_m: f64) -> Near {
        let mut found = Vec::new();
        // Three postings of diameter are the least that shows.
        self.index.query(min, max, 1.5 * posting_m * SUPPORT_RADII, &mut found);
        let weighted = |n: u32| (n, band(self.stamps[n as usize].diameter_m, posting_m));
        let split = self.pad.as_ref().map_or(found.len(), |pad| found.partition_point(|&n| n < pad.before));
        let younger = found.split_off(split);
        Near { older: found.into_iter().map(weighted).collect(), younger: younger.into_iter().map(weighted).collect() }
    }

    /// Height without the regolith's roughness.
    fn height(&self, near: &Near, posting_m: f64, place: [f64; 2]) -> f64 {
        let lay = |height: f64, (n, share): &(u32, f64)| {
            self.stamps[*n as usize].apply(&self.table, *share, place[0], place[1], height)
        };
        let ground = self.relief.ground(posting_m, place[0], place[1]);
        let old = near.older.iter().fold(ground, lay);
        let levelled = self.pad.as_ref().map_or(old, |pad| pad.apply(posting_m, place, old));
        near.younger.iter().fold(levelled, lay)
    }
}

impl Pad {
    fn apply(&self, posting_m: f64, [east_m, north_m]: [f64; 2], height_m: f64) -> f64 {
        let outer = self.radius_m + self.blend_m;
        let distance = east_m.hypot(north_m);
        let share = band(2.0 * self.radius_m, posting_m) * 0.95;
        if distance >= outer || share == 0.0 {
            return height_m;
        }
        let plane = self.plane[0] + self.plane[1] * east_m + self.plane[2] * north_m;
        height_m + share * (1.0 - smoothstep(self.radius_m, outer, distance)) * (plane - height_m)
    }
}
