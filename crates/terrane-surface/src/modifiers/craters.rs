//! Craters, one by one and as seeded populations.
//!
//! The shape is that of a fresh simple crater ([`terrane_synth::fresh_profile`]:
//! Fassett and Thomson 2014, Pike 1977, McGetchin et al. 1973), analytic at any
//! resolution and exactly nothing from four radii on.

use super::Wish;
use crate::SiteRect;
use serde::{Deserialize, Serialize};
use terrane_synth::index::DiscIndex;
use terrane_synth::noise::{smoothstep, subseed, uniform};
use terrane_synth::{DEPTH_RATIO, RIM_RATIO, SUPPORT_RADII, fresh_depth_ratio, fresh_profile};

/// Ejecta thin out to nothing from here, radii.
const TAPER_FROM_RADII: f64 = 2.4;
/// Posts across a crater: fewer than these do not show its rim.
const POSTS_ACROSS: f64 = 16.0;
/// Craters of one population, at most.
pub const MOST_CRATERS: f64 = 2_000_000.0;

/// One crater.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct CraterSpec {
    /// Centre, site x, metres.
    pub x_m: f64,
    /// Centre, site z, metres.
    pub z_m: f64,
    /// Rim to rim, metres.
    pub diameter_m: f64,
    /// Depth from rim crest to floor, over diameter.
    pub depth_ratio: f64,
    /// Height of the rim crest over the ground around, over diameter.
    pub rim_ratio: f64,
}

impl CraterSpec {
    /// A fresh one with the depth that is published for its size
    /// ([`fresh_depth_ratio`]) and Pike's (1977) rim.
    pub fn fresh(x_m: f64, z_m: f64, diameter_m: f64) -> Self {
        Self { x_m, z_m, diameter_m, depth_ratio: fresh_depth_ratio(diameter_m), rim_ratio: RIM_RATIO }
    }

    /// With other ratios where they are given; a rim that is not is in
    /// proportion to the depth, as Pike (1977) has it. `relief_scale` is a
    /// factor on both.
    pub fn with_ratios(self, depth_ratio: Option<f64>, rim_ratio: Option<f64>, relief_scale: f64) -> Self {
        let rim_of = |depth_ratio: f64| depth_ratio * RIM_RATIO / DEPTH_RATIO;
        let rim_ratio = rim_ratio.or(depth_ratio.map(rim_of)).unwrap_or(self.rim_ratio);
        let depth_ratio = depth_ratio.unwrap_or(self.depth_ratio);
        Self { depth_ratio: depth_ratio * relief_scale, rim_ratio: rim_ratio * relief_scale, ..self }
    }

    /// Beyond this distance it changes nothing, metres.
    pub fn support_m(&self) -> f64 {
        0.5 * SUPPORT_RADII * self.diameter_m
    }

    /// Where it changes anything.
    pub fn bounds(&self) -> SiteRect {
        SiteRect::around(self.x_m, self.z_m, self.support_m())
    }

    /// Distance in rim radii; `None` where it changes nothing.
    fn radii(&self, x_m: f64, z_m: f64) -> Option<f64> {
        let (dx, dz) = (x_m - self.x_m, z_m - self.z_m);
        let (squared, support_m) = (dx * dx + dz * dz, self.support_m());
        (squared < support_m * support_m).then(|| squared.sqrt() / (0.5 * self.diameter_m))
    }

    fn relief_at_m(&self, radii: f64) -> f64 {
        let taper = 1.0 - smoothstep(TAPER_FROM_RADII, SUPPORT_RADII, radii);
        self.diameter_m * taper * fresh_profile(radii, self.depth_ratio, self.rim_ratio)
    }

    /// What it adds to the ground at a place, metres.
    pub fn relief_m(&self, x_m: f64, z_m: f64) -> f64 {
        self.radii(x_m, z_m).map_or(0.0, |radii| self.relief_at_m(radii))
    }

    pub(super) fn wish(&self) -> Wish {
        // The ejecta are smooth: the bowl and the rim are what needs posts.
        let rect = SiteRect::around(self.x_m, self.z_m, 0.75 * self.diameter_m);
        Wish { rect, posting_m: self.diameter_m / POSTS_ACROSS }
    }
}

/// How sizes are spread between the smallest and the largest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum SizeLaw {
    /// N(>D) falls with D^-2: small craters of an old surface, which fill it
    /// as fast as they are worn away (Trask 1966; Minton et al. 2019).
    #[default]
    Equilibrium,
    /// N(>D) falls with D^-3: craters below a kilometre as they are made
    /// (Neukum et al. 2001).
    Production,
    /// All sizes alike.
    Uniform,
}

impl SizeLaw {
    /// By its name in a stage.
    pub fn named(name: &str) -> Option<Self> {
        [("equilibrium", Self::Equilibrium), ("production", Self::Production), ("uniform", Self::Uniform)]
            .into_iter()
            .find_map(|(known, law)| (known == name).then_some(law))
    }

    /// Share of craters that are larger than a diameter.
    pub fn share_above(self, diameter_m: f64, [low_m, high_m]: [f64; 2]) -> f64 {
        let d = diameter_m.clamp(low_m, high_m);
        match self.exponent() {
            Some(b) => (d.powf(-b) - high_m.powf(-b)) / (low_m.powf(-b) - high_m.powf(-b)),
            None => (high_m - d) / (high_m - low_m),
        }
    }

    fn exponent(self) -> Option<f64> {
        match self {
            Self::Equilibrium => Some(2.0),
            Self::Production => Some(3.0),
            Self::Uniform => None,
        }
    }

    /// The diameter above which a share of all craters lies.
    fn diameter_m(self, share_above: f64, [low_m, high_m]: [f64; 2]) -> f64 {
        match self.exponent() {
            Some(b) => {
                let (low, high) = (low_m.powf(-b), high_m.powf(-b));
                (high + share_above * (low - high)).powf(-1.0 / b)
            }
            None => high_m - share_above * (high_m - low_m),
        }
    }
}

/// A seeded population of craters.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct PopulationSpec {
    /// Decides everything that is random.
    pub seed: u64,
    /// Craters of all sizes a square kilometre.
    pub density_per_km2: f64,
    /// Smallest and largest diameter, metres.
    pub diameter_m: [f64; 2],
    /// How sizes are spread.
    pub law: SizeLaw,
    /// Depth over diameter of every crater; by size and wear when left out:
    /// fresh ones as published ([`fresh_depth_ratio`]), old ones down to a
    /// seventh of it, every state of wear as frequent as any other.
    pub depth_ratio: Option<f64>,
    /// Rim height over diameter of every crater; in proportion to its depth, as
    /// Pike (1977), when left out.
    pub rim_ratio: Option<f64>,
    /// Factor on all of their relief.
    pub relief_scale: f64,
    /// Where their centres lie.
    pub region: SiteRect,
}

impl PopulationSpec {
    /// Craters that it asks for.
    pub fn count(&self) -> f64 {
        (self.density_per_km2 * self.region.area_km2()).round()
    }

    /// All craters, oldest first. A crater depends on the spec and its number
    /// alone.
    pub fn craters(&self) -> Vec<CraterSpec> {
        let count = self.count().clamp(0.0, MOST_CRATERS) as u64;
        let seed = subseed(self.seed, 0x6372_6174);
        let mut aged: Vec<(f64, u64)> = (0..count).map(|index| (uniform(seed, index, 3), index)).collect();
        aged.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
        aged.into_iter().map(|(age, index)| self.crater(seed, age, index, count)).collect()
    }

    fn crater(&self, seed: u64, age: f64, index: u64, count: u64) -> CraterSpec {
        // One size from each of `count` slices of the law, so that a population
        // follows it however few there are.
        let share = (index as f64 + uniform(seed, index, 0)) / count as f64;
        let diameter_m = self.law.diameter_m(share, self.diameter_m);
        let place = |[low, high]: [f64; 2], draw: u64| low + (high - low) * uniform(seed, index, draw);
        let fresh = CraterSpec::fresh(place(self.region.x_m, 1), place(self.region.z_m, 2), diameter_m);
        let depth_ratio = self.depth_ratio.unwrap_or(fresh.depth_ratio * (1.0 - WEAR * age));
        fresh.with_ratios(Some(depth_ratio), self.rim_ratio, self.relief_scale)
    }
}

/// Share of its depth that the oldest crater has lost.
const WEAR: f64 = 6.0 / 7.0;

/// A population made ready: craters and where to find them.
#[derive(Debug)]
pub(super) struct Population {
    craters: Vec<CraterSpec>,
    index: DiscIndex,
}

impl Population {
    pub(super) fn new(spec: &PopulationSpec) -> Self {
        let craters = spec.craters();
        let radius_m = 0.5 * SUPPORT_RADII;
        let mut index = DiscIndex::new(spec.diameter_m[0] * radius_m, spec.diameter_m[1] * radius_m);
        craters.iter().for_each(|crater| index.push(crater.x_m, crater.z_m, crater.support_m()));
        Self { craters, index }
    }

    /// Numbers of the craters that reach a rectangle, oldest first.
    pub(super) fn reaching(&self, rect: &SiteRect) -> Vec<u32> {
        let mut found = Vec::new();
        // The index leaves out those that only touch.
        let rect = rect.grown(1e-6);
        let corner = |k: usize| [rect.x_m[k], rect.z_m[k]];
        self.index.query(corner(0), corner(1), 0.0, &mut found);
        found
    }

    /// What the named craters add, metres: a younger one wipes out what older
    /// ones of the same population left where it is dug.
    pub(super) fn relief_m(&self, numbers: &[u32], x_m: f64, z_m: f64) -> f64 {
        numbers.iter().fold(0.0, |relief_m, number| {
            let crater = &self.craters[*number as usize];
            match crater.radii(x_m, z_m) {
                None => relief_m,
                Some(radii) => relief_m * smoothstep(0.6, 1.4, radii) + crater.relief_at_m(radii),
            }
        })
    }

    pub(super) fn finest_wish(&self) -> Option<Wish> {
        self.craters.iter().min_by(|a, b| a.diameter_m.total_cmp(&b.diameter_m)).map(CraterSpec::wish)
    }

    pub(super) fn wishes(&self) -> impl Iterator<Item = Wish> + '_ {
        self.craters.iter().map(CraterSpec::wish)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_crater_has_the_published_depth_rim_and_ejecta() {
        let crater = CraterSpec::fresh(100.0, -50.0, 1000.0);
        let at = |radii: f64| crater.relief_m(100.0 + 500.0 * radii, -50.0);
        // Pike (1977): depth 0.196 D, rim 0.036 D.
        assert!((at(1.0) - 36.0).abs() < 1e-9 && (at(1.0) - at(0.0) - 196.0).abs() < 1e-9);
        // A flat floor inside a fifth of the radius (Fassett and Thomson 2014).
        assert_eq!(at(0.0), at(0.19));
        assert!(at(0.3) > at(0.2));
        // Ejecta thin with the cube (McGetchin et al. 1973), and end at four radii.
        assert!((at(2.0) / at(1.0) - 0.125).abs() < 1e-12);
        assert_eq!(at(4.0), 0.0);
        assert!(at(3.99) > 0.0 && at(3.99) < 1e-4);
        // Walls of fresh simple craters are near the angle of repose at most.
        let steepest = (0..1000).map(|k| (at(f64::from(k + 1) * 1e-3) - at(f64::from(k) * 1e-3)) / 0.5);
        let steepest_deg = steepest.fold(0.0, f64::max).atan().to_degrees();
        assert!((25.0..38.0).contains(&steepest_deg), "{steepest_deg}");
    }

    fn population(law: SizeLaw, density_per_km2: f64) -> PopulationSpec {
        PopulationSpec {
            seed: 9,
            density_per_km2,
            diameter_m: [10.0, 400.0],
            law,
            depth_ratio: None,
            rim_ratio: None,
            relief_scale: 1.0,
            region: SiteRect::around(0.0, 0.0, 5000.0),
        }
    }

    #[test]
    fn a_hundred_thousand_craters_follow_their_size_law_within_five_percent() {
        for law in [SizeLaw::Equilibrium, SizeLaw::Production, SizeLaw::Uniform] {
            let spec = population(law, 1000.0);
            let craters = spec.craters();
            assert_eq!(craters.len(), 100_000);
            for diameter_m in [12.0, 20.0, 40.0, 80.0, 150.0] {
                let larger = craters.iter().filter(|crater| crater.diameter_m > diameter_m).count() as f64;
                let expected = 1e5 * law.share_above(diameter_m, spec.diameter_m);
                assert!((larger / expected - 1.0).abs() < 0.05, "{law:?} {diameter_m}: {larger} for {expected}");
            }
            // Laid evenly, and every age alike.
            let west = craters.iter().filter(|crater| crater.x_m < 0.0).count() as f64;
            assert!((west / 5e4 - 1.0).abs() < 0.02, "{west}");
            let large_first = craters[..50_000].iter().filter(|crater| crater.diameter_m > 20.0).count() as f64;
            let expected = 5e4 * law.share_above(20.0, spec.diameter_m);
            assert!((large_first / expected - 1.0).abs() < 0.05, "{large_first} for {expected}");
        }
    }

    #[test]
    fn equal_specs_make_equal_craters_and_other_seeds_others() {
        let spec = population(SizeLaw::Equilibrium, 30.0);
        assert_eq!(spec.craters(), spec.craters());
        assert_ne!(spec.craters(), PopulationSpec { seed: 10, ..spec }.craters());
    }

    #[test]
    fn a_young_crater_wipes_out_an_old_one() {
        let mut population = Population::new(&population(SizeLaw::Uniform, 0.02));
        let young = CraterSpec::fresh(0.0, 0.0, 100.0);
        population.craters = vec![CraterSpec::fresh(20.0, 0.0, 60.0), young];
        let both_m = population.relief_m(&[0, 1], 0.0, 0.0);
        assert_eq!(both_m, young.relief_m(0.0, 0.0));
        assert!(population.relief_m(&[0], 0.0, 0.0) < -1.0);
    }
}
