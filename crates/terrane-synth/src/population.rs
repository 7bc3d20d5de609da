//! The random craters: how many, how large, where, how old.
//!
//! Cumulative law N(>D) = c D^-b, sampled by inverse transform. Small craters of
//! an old surface are in equilibrium with b = 2 (Trask 1966; Minton et al. 2019);
//! in equilibrium every degradation state is as frequent as any other, so few are
//! crisp and most are soft.

use crate::crater::Crater;
use crate::noise::{subseed, uniform};
use crate::recipe::{CraterFeature, Feature, Recipe, RecipeError};

/// More craters than this take minutes to lay and gigabytes to hold.
const MOST: f64 = 2_000_000.0;

/// A square of land and the range of diameters that are laid in it.
struct Stratum {
    purpose: u64,
    half_extent_m: f64,
    smallest_m: f64,
    largest_m: f64,
}

impl Stratum {
    /// Craters that the law gives it.
    fn count(&self, recipe: &Recipe) -> f64 {
        let density = cumulative_per_m2(recipe, self.smallest_m) - cumulative_per_m2(recipe, self.largest_m);
        (density * (2.0 * self.half_extent_m).powi(2)).round().max(0.0)
    }
}

/// Refuses a recipe whose parts are each in range and together ask for too much.
pub(crate) fn check_count(recipe: &Recipe, half_extent_m: f64) -> Result<(), RecipeError> {
    let value: f64 = strata(recipe, half_extent_m).iter().map(|stratum| stratum.count(recipe)).sum();
    if value <= MOST {
        return Ok(());
    }
    let expected = format!("at most {MOST} craters; raise smallest_m or detail_below_m");
    Err(RecipeError { field: "craters".to_owned(), value, expected })
}

fn strata(recipe: &Recipe, half_extent_m: f64) -> [Stratum; 2] {
    let c = &recipe.craters;
    [
        // A margin of one diameter, so that craters outside reach in.
        Stratum {
            purpose: 1,
            half_extent_m: half_extent_m + c.largest_m,
            smallest_m: c.detail_below_m,
            largest_m: c.largest_m,
        },
        Stratum {
            purpose: 2,
            half_extent_m: c.detail_half_extent_m + c.detail_below_m,
            smallest_m: c.smallest_m,
            largest_m: c.detail_below_m,
        },
    ]
}

/// All craters of a recipe, oldest first; `half_extent_m` is half the side of the context.
pub(crate) fn craters(recipe: &Recipe, half_extent_m: f64) -> Vec<Crater> {
    let mut all: Vec<Crater> =
        strata(recipe, half_extent_m).iter().flat_map(|stratum| sample(recipe, stratum)).collect();
    all.extend(recipe.features.iter().enumerate().filter_map(|(i, feature)| match feature {
        Feature::Crater(f) => Some(authored(recipe, i, f)),
        Feature::Ridge(_) => None,
    }));
    // Seeds are unique, so the order is total.
    all.sort_by(|a, b| b.age.total_cmp(&a.age).then(a.seed.cmp(&b.seed)));
    all
}

fn authored(recipe: &Recipe, index: usize, feature: &CraterFeature) -> Crater {
    let seed = subseed(subseed(recipe.seed, 3), index as u64);
    Crater::new(&recipe.craters, [feature.east_m, feature.north_m], feature.diameter_m, feature.degradation, seed)
}

/// Craters larger than `diameter_m` a square metre.
fn cumulative_per_m2(recipe: &Recipe, diameter_m: f64) -> f64 {
    recipe.craters.density_100m_per_km2 * 1e-6 * (diameter_m / 100.0).powf(-recipe.craters.slope)
}

fn sample(recipe: &Recipe, stratum: &Stratum) -> Vec<Crater> {
    let count = stratum.count(recipe) as u64;
    let seed = subseed(recipe.seed, stratum.purpose);
    (0..count).filter_map(|i| draw(recipe, stratum, subseed(seed, i))).collect()
}

/// One crater, or none where every place tried would spoil the site.
fn draw(recipe: &Recipe, stratum: &Stratum, seed: u64) -> Option<Crater> {
    let b = -recipe.craters.slope;
    let (low, high) = (stratum.smallest_m.powf(b), stratum.largest_m.powf(b));
    let diameter_m = (low - uniform(seed, 0, 0) * (low - high)).powf(1.0 / b);
    let degradation = uniform(seed, 0, 1);
    (0..4).find_map(|attempt| {
        let place = [2, 3].map(|axis| stratum.half_extent_m * (2.0 * uniform(seed, attempt, axis) - 1.0));
        let crater = Crater::new(&recipe.craters, place, diameter_m, degradation, seed);
        (!spoils_site(recipe, &crater)).then_some(crater)
    })
}

/// Whether a crater would break the promises about the middle of the site: no
/// huge bowl in it, and a pad to stand on.
fn spoils_site(recipe: &Recipe, crater: &Crater) -> bool {
    let distance = crater.east_m.hypot(crater.north_m);
    let reaches = |radius_m: f64| distance < radius_m + 1.4 * crater.radius_m();
    let c = &recipe.craters;
    let pad = &recipe.pad;
    (crater.diameter_m > c.site_largest_m && reaches(c.site_radius_m))
        || (pad.radius_m > 0.0
            && crater.age < pad_age(recipe)
            && crater.diameter_m > pad.largest_crater_m
            && reaches(pad.radius_m))
}

/// When the pad was levelled, on the scale of [`Crater::age`]: the life of a 15 m
/// crater ago, so that small craters lie on it as everywhere else.
pub(crate) fn pad_age(recipe: &Recipe) -> f64 {
    (15.0 / recipe.craters.equilibrium_m).min(0.5)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_measured_size_frequency_slope_is_the_law_within_five_percent() {
        for slope in [1.8, 2.0, 2.6] {
            let mut recipe = Recipe::default();
            recipe.craters.slope = slope;
            let all = craters(&recipe, 4000.0);
            let half = 4000.0 + recipe.craters.largest_m;
            let larger = |d: f64| all.iter().filter(|c| c.diameter_m > d && c.east_m.abs() < half).count() as f64;
            let measured = (larger(45.0) / larger(450.0)).log10();
            // The law is truncated at the largest crater.
            let truncated = |d: f64| d.powf(-slope) - 6000f64.powf(-slope);
            let expected = (truncated(45.0) / truncated(450.0)).log10();
            assert!((measured / expected - 1.0).abs() < 0.05, "{measured} for {expected}");
        }
    }

    #[test]
    fn the_default_population_has_trasks_density() {
        let recipe = Recipe::default();
        let all = craters(&recipe, 10_000.0);
        let inside = all.iter().filter(|c| c.diameter_m > 100.0 && c.east_m.abs().max(c.north_m.abs()) < 10_000.0);
        let per_km2 = inside.count() as f64 / 400.0;
        assert!((per_km2 / 7.9 - 1.0).abs() < 0.06, "{per_km2}");
    }

    #[test]
    fn craters_are_laid_oldest_first() {
        let all = craters(&Recipe::default(), 2000.0);
        assert!(all.windows(2).all(|pair| pair[0].age >= pair[1].age));
    }

    #[test]
    fn few_craters_are_crisp() {
        let all = craters(&Recipe::default(), 2000.0);
        let crisp = all.iter().filter(|c| c.degradation < 0.1).count() as f64 / all.len() as f64;
        assert!((crisp - 0.1).abs() < 0.02, "{crisp}");
    }

    #[test]
    fn no_large_crater_reaches_the_middle_of_the_site() {
        let all = craters(&Recipe::default(), 10_000.0);
        assert!(all.iter().all(|c| c.diameter_m <= 220.0 || c.east_m.hypot(c.north_m) > 550.0 + c.radius_m()));
    }
}
