//! One crater: what is decided about it, and what it does to the ground.

use crate::noise::{smoothstep, subseed, uniform};
use crate::profile::{DEPTH_RATIO, ProfileRow, ProfileTable, SUPPORT_RADII};
use crate::recipe::CraterRecipe;

/// Share of the older relief that a new bowl wipes out. Less than one, because
/// what lay below also steers how the walls slump.
const BOWL_ERASURE: f64 = 0.85;
/// Share of the older relief that the ejecta at the rim bury.
const EJECTA_ERASURE: f64 = 0.45;

/// One crater of a landscape.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Crater {
    /// Centre, metres east of the origin.
    pub east_m: f64,
    /// Centre, metres north of the origin.
    pub north_m: f64,
    /// Rim to rim, metres.
    pub diameter_m: f64,
    /// 0 is fresh, 1 about to vanish.
    pub degradation: f64,
    /// When it was made: 0 is now, 1 as old as the surface. Larger ages are laid first.
    pub age: f64,
    /// Depth from rim crest to floor when it was new, over diameter.
    pub fresh_depth_ratio: f64,
    /// Diffusion time kappa t / R^2 since it was made.
    pub diffusion: f64,
    /// Decides the irregularity of its outline.
    pub(crate) seed: u64,
}

impl Crater {
    /// A crater of a given size and degradation; depth, age and diffusion follow.
    ///
    /// A crater in equilibrium lives for a time that grows with its size, so its
    /// degradation is its age over that life. Above `equilibrium_m` the life is
    /// longer than the surface is old, and diffusion has not had the time to
    /// finish: time over R^2 then falls with 1/D, diffusivity growing with scale
    /// (Fassett and Thomson 2014 for the law, Minton et al. 2019 for the scale).
    pub(crate) fn new(recipe: &CraterRecipe, place: [f64; 2], diameter_m: f64, degradation: f64, seed: u64) -> Self {
        let size = diameter_m / recipe.equilibrium_m;
        let spread = 1.0 + 0.16 * (uniform(seed, 1, 0) + uniform(seed, 1, 1) - 1.0);
        // A crest is never a knife edge: slumping rounds it at once.
        let diffusion = 0.0015 + degradation * recipe.oldest_diffusion * (1.0 / size).min(1.0);
        Self {
            east_m: place[0],
            north_m: place[1],
            diameter_m,
            degradation,
            age: degradation * size.min(1.0),
            fresh_depth_ratio: fresh_depth_ratio(diameter_m) * spread,
            diffusion,
            seed,
        }
    }

    /// Centre to rim, metres.
    #[must_use]
    pub fn radius_m(&self) -> f64 {
        0.5 * self.diameter_m
    }

    /// Beyond this distance from the centre it changes nothing, metres.
    #[must_use]
    pub fn support_m(&self) -> f64 {
        SUPPORT_RADII * self.radius_m()
    }
}

/// Depth over diameter of a fresh crater.
///
/// Pike (1977): 0.196 for simple craters. Below some hundred metres fresh craters
/// are shallower, from about 0.2 down to about 0.1 (Sun et al. 2018; Stopar et al.
/// 2017); interpolated here in the logarithm of the diameter from 10 m to 400 m.
#[must_use]
pub fn fresh_depth_ratio(diameter_m: f64) -> f64 {
    let t = smoothstep(10f64.ln(), 400f64.ln(), diameter_m.ln());
    0.125 + (DEPTH_RATIO - 0.125) * t
}

/// A crater made ready for evaluation: what would otherwise be computed at every post.
#[derive(Debug, Clone)]
pub(crate) struct Stamp {
    pub(crate) east_m: f64,
    pub(crate) north_m: f64,
    pub(crate) diameter_m: f64,
    support_m: f64,
    /// One over the radius, 1/m.
    pub(crate) inverse_radius: f64,
    /// Profile heights are multiplied by this to give metres.
    scale_m: f64,
    row: ProfileRow,
    /// Outline harmonics 2, 3, 5: cosine and sine parts.
    outline: [[f64; 2]; 3],
    /// Height above the origin, and slope east and north, of the ground it was made in.
    pub(crate) plane: [f64; 3],
}

impl Stamp {
    pub(crate) fn new(crater: &Crater) -> Self {
        let mut outline = [[0.0; 2]; 3];
        for (k, (part, amplitude)) in outline.iter_mut().zip([0.05, 0.035, 0.02]).enumerate() {
            let seed = subseed(crater.seed, 77);
            let (sin, cos) = (std::f64::consts::TAU * uniform(seed, k as u64, 0)).sin_cos();
            let size = amplitude * (0.3 + 0.7 * uniform(seed, k as u64, 1));
            *part = [size * cos, size * sin];
        }
        Self {
            east_m: crater.east_m,
            north_m: crater.north_m,
            diameter_m: crater.diameter_m,
            support_m: crater.support_m(),
            inverse_radius: 1.0 / crater.radius_m(),
            scale_m: crater.diameter_m * crater.fresh_depth_ratio / DEPTH_RATIO,
            row: ProfileTable::row(crater.diffusion),
            outline,
            plane: [0.0; 3],
        }
    }

    /// Distance from the centre in rim radii, the rim not being quite a circle;
    /// none beyond the support.
    pub(crate) fn radii(&self, east_m: f64, north_m: f64) -> Option<f64> {
        let (dx, dy) = (east_m - self.east_m, north_m - self.north_m);
        let squared = dx * dx + dy * dy;
        if squared >= self.support_m * self.support_m {
            return None;
        }
        let distance = squared.sqrt();
        let r = distance * self.inverse_radius;
        if r < 1e-9 {
            return Some(0.0);
        }
        // Powers of the unit direction are the cosines and sines of its multiples.
        let (c1, s1) = (dx / distance, dy / distance);
        let (c2, s2) = (c1 * c1 - s1 * s1, 2.0 * c1 * s1);
        let (c3, s3) = (c2 * c1 - s2 * s1, s2 * c1 + c2 * s1);
        let (c5, s5) = (c3 * c2 - s3 * s2, s3 * c2 + c3 * s2);
        let o = &self.outline;
        let bend = o[0][0] * c2 + o[0][1] * s2 + o[1][0] * c3 + o[1][1] * s3 + o[2][0] * c5 + o[2][1] * s5;
        // Round at the floor and at the edge of the support, irregular at the rim.
        let strength = smoothstep(0.1, 0.9, r) * (1.0 - smoothstep(1.5, 3.5, r));
        Some(r * (1.0 + bend * strength))
    }

    /// The ground after this crater, where it was `height_m` before.
    ///
    /// The older ground fades toward the plane it was made in, then the profile is
    /// added: a bowl replaces what it was dug into instead of adding to it.
    pub(crate) fn apply(&self, table: &ProfileTable, band: f64, east_m: f64, north_m: f64, height_m: f64) -> f64 {
        let Some(r) = self.radii(east_m, north_m) else { return height_m };
        let [level, slope_east, slope_north] = self.plane;
        let plane = level + slope_east * (east_m - self.east_m) + slope_north * (north_m - self.north_m);
        let bowl = BOWL_ERASURE * (1.0 - smoothstep(0.55, 1.35, r));
        let ejecta = EJECTA_ERASURE * (1.0 - smoothstep(0.9, 2.2, r));
        let erasure = bowl + ejecta * (1.0 - bowl);
        height_m + band * (erasure * (plane - height_m) + self.scale_m * table.at(self.row, r))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stamp(diameter_m: f64, degradation: f64) -> (Crater, Stamp) {
        let crater = Crater::new(&CraterRecipe::default(), [10.0, -20.0], diameter_m, degradation, 5);
        (crater, Stamp::new(&crater))
    }

    #[test]
    fn a_large_fresh_crater_is_a_fifth_as_deep_as_wide() {
        let table = ProfileTable::new();
        let (crater, stamp) = stamp(1000.0, 0.0);
        let floor = stamp.apply(&table, 1.0, 10.0, -20.0, 0.0);
        let crest = (0..4000).map(|i| stamp.apply(&table, 1.0, 10.0 + f64::from(i) * 0.5, -20.0, 0.0));
        let crest = crest.fold(f64::MIN, f64::max);
        let expected = crater.fresh_depth_ratio * 1000.0;
        assert!(((crest - floor) / expected - 1.0).abs() < 0.06, "{} of {expected}", crest - floor);
        assert!((crest / (0.036 * 1000.0) - 1.0).abs() < 0.25, "{crest}");
    }

    #[test]
    fn a_crater_changes_nothing_at_four_radii() {
        let table = ProfileTable::new();
        let (crater, stamp) = stamp(50.0, 0.4);
        assert_eq!(stamp.apply(&table, 1.0, 10.0 + crater.support_m(), -20.0, 3.25), 3.25);
        let inside = stamp.apply(&table, 1.0, 10.0 + 0.99 * crater.support_m(), -20.0, 3.25);
        assert!((inside - 3.25).abs() < 1e-4);
    }

    #[test]
    fn small_fresh_craters_are_shallower_than_large_ones() {
        assert!((fresh_depth_ratio(5.0) - 0.125).abs() < 1e-12);
        assert!((fresh_depth_ratio(900.0) - 0.196).abs() < 1e-12);
        assert!(fresh_depth_ratio(60.0) > 0.14 && fresh_depth_ratio(60.0) < 0.18);
    }

    #[test]
    fn the_bowl_replaces_the_ground_it_was_dug_into() {
        let table = ProfileTable::new();
        let (_, stamp) = stamp(100.0, 0.0);
        let rough = stamp.apply(&table, 1.0, 12.0, -20.0, 10.0);
        let flat = stamp.apply(&table, 1.0, 12.0, -20.0, 0.0);
        assert!((rough - flat).abs() < 2.0, "{}", rough - flat);
    }
}
