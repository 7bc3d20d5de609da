//! What a person writes to ask for a site. Every field has a default.

use serde::{Deserialize, Serialize};

/// Everything that decides a synthetic site; equal recipes give equal bits.
///
/// Meant to be read from TOML by the caller. Places are metres east and north
/// of the site's origin.
///
/// ```
/// let text = r#"
/// seed = 12
/// [craters]
/// smallest_m = 4.0
/// [[features]]
/// kind = "crater"
/// east_m = -40.0
/// north_m = 150.0
/// diameter_m = 80.0
/// degradation = 0.02
/// "#;
/// let recipe: terrane_synth::Recipe = toml::from_str(text)?;
/// recipe.validate()?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Recipe {
    /// Decides every random choice.
    pub seed: u64,
    /// The fractal ground below the craters.
    pub relief: ReliefRecipe,
    /// The crater population.
    pub craters: CraterRecipe,
    /// The brightness of the ground.
    pub albedo: AlbedoRecipe,
    /// The level place at the origin, where a rover or lander stands.
    pub pad: PadRecipe,
    /// Landmarks with a fixed place, added to the random ones.
    pub features: Vec<Feature>,
}

/// Fractal relief (self-affine, as measured for the Moon by Rosenburg et al. 2011).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ReliefRecipe {
    /// RMS height of the longest octave, metres.
    pub amplitude_m: f64,
    /// Hurst exponent: an octave's height goes with its wavelength to this power.
    /// Rosenburg et al. (2011) find a median near 0.95 in the highlands.
    pub hurst: f64,
    /// Longest wavelength, metres.
    pub longest_m: f64,
    /// Shortest wavelength, metres; craters and regolith make what is finer.
    pub shortest_m: f64,
    /// How far the ground is bent out of shape, as a fraction of the bend's wavelength.
    pub warp: f64,
    /// RMS height of the regolith's own roughness at 10 m wavelength, metres, laid over the craters.
    pub regolith_m: f64,
    /// Hurst exponent of the regolith's roughness.
    pub regolith_hurst: f64,
}

/// A crater population with N(>D) = density_100m (D / 100 m)^-slope.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct CraterRecipe {
    /// Craters larger than 100 m a square kilometre. Trask (1966) gives 7.9 for
    /// surfaces in equilibrium: N(>D) = 10^10.9 D^-2 a 10^6 km^2, D in metres.
    pub density_100m_per_km2: f64,
    /// Exponent of the cumulative law; 2 in equilibrium (Trask 1966; Minton et al. 2019).
    pub slope: f64,
    /// Smallest diameter, metres; only inside the detail square.
    pub smallest_m: f64,
    /// Largest diameter, metres.
    pub largest_m: f64,
    /// Craters smaller than this exist only inside the detail square, metres.
    pub detail_below_m: f64,
    /// Half the side of the detail square around the origin, metres.
    pub detail_half_extent_m: f64,
    /// Diameter above which the surface is too young for equilibrium: larger
    /// craters keep more of their shape, metres.
    pub equilibrium_m: f64,
    /// Diffusion time kappa t / R^2 of the oldest craters that still show (0 to 0.8).
    pub oldest_diffusion: f64,
    /// Largest crater that may reach into the middle of the site, metres.
    pub site_largest_m: f64,
    /// Radius of the middle of the site, metres.
    pub site_radius_m: f64,
}

/// Normal albedo, 0 to 1.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct AlbedoRecipe {
    /// Mature ground.
    pub mean: f64,
    /// RMS of the mottling, as a fraction of `mean`.
    pub mottling: f64,
    /// How much brighter the freshest ejecta are, as a fraction of `mean`.
    pub fresh_gain: f64,
    /// Fraction of a crater's life during which its ejecta stay bright.
    pub fresh_fraction: f64,
}

/// A level place at the origin.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct PadRecipe {
    /// Radius of the level place, metres; 0 for none.
    pub radius_m: f64,
    /// Width of the ring in which it joins the ground, metres.
    pub blend_m: f64,
    /// Largest crater that may touch it, metres.
    pub largest_crater_m: f64,
}

/// A landmark with a fixed place.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
pub enum Feature {
    /// A crater, laid among the random ones according to its age.
    Crater(CraterFeature),
    /// A rounded ridge below all craters.
    Ridge(RidgeFeature),
}

/// An authored crater.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct CraterFeature {
    /// Centre, metres east of the origin.
    pub east_m: f64,
    /// Centre, metres north of the origin.
    pub north_m: f64,
    /// Rim to rim, metres.
    pub diameter_m: f64,
    /// 0 is fresh, 1 about to vanish.
    pub degradation: f64,
}

/// An authored ridge.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct RidgeFeature {
    /// Middle of the crest, metres east of the origin.
    pub east_m: f64,
    /// Middle of the crest, metres north of the origin.
    pub north_m: f64,
    /// Direction of the crest, degrees clockwise from north.
    pub azimuth_deg: f64,
    /// Length over which the crest runs out to nothing, metres.
    pub length_m: f64,
    /// Width from foot to foot, metres.
    pub width_m: f64,
    /// Height of the crest, metres; negative for a trough.
    pub height_m: f64,
}

/// A recipe that cannot be built: which field, what it says, what was expected.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[error("recipe field `{field}` is {value}: expected {expected}")]
pub struct RecipeError {
    /// Dotted path of the field, as in the TOML.
    pub field: String,
    /// Its value.
    pub value: f64,
    /// What would have been accepted.
    pub expected: String,
}

impl Default for Recipe {
    fn default() -> Self {
        Self {
            seed: 2,
            relief: ReliefRecipe::default(),
            craters: CraterRecipe::default(),
            albedo: AlbedoRecipe::default(),
            pad: PadRecipe::default(),
            features: vec![Feature::Crater(CraterFeature::default()), Feature::Ridge(RidgeFeature::default())],
        }
    }
}

impl Default for ReliefRecipe {
    fn default() -> Self {
        Self {
            amplitude_m: 78.0,
            hurst: 0.92,
            longest_m: 13_000.0,
            shortest_m: 150.0,
            warp: 0.06,
            regolith_m: 0.055,
            regolith_hurst: 0.8,
        }
    }
}

impl Default for CraterRecipe {
    fn default() -> Self {
        Self {
            density_100m_per_km2: 7.9,
            slope: 2.0,
            smallest_m: 2.0,
            largest_m: 6_000.0,
            detail_below_m: 40.0,
            detail_half_extent_m: 600.0,
            equilibrium_m: 300.0,
            oldest_diffusion: 0.32,
            site_largest_m: 220.0,
            site_radius_m: 550.0,
        }
    }
}

impl Default for AlbedoRecipe {
    fn default() -> Self {
        Self { mean: 0.14, mottling: 0.035, fresh_gain: 0.4, fresh_fraction: 0.15 }
    }
}

impl Default for PadRecipe {
    fn default() -> Self {
        Self { radius_m: 10.0, blend_m: 25.0, largest_crater_m: 3.0 }
    }
}

impl Default for CraterFeature {
    /// A fresh crater to the north-east, in sight of the origin.
    fn default() -> Self {
        Self { east_m: 84.0, north_m: 88.0, diameter_m: 74.0, degradation: 0.012 }
    }
}

impl Default for RidgeFeature {
    /// A low swell west of the origin.
    fn default() -> Self {
        Self { east_m: -260.0, north_m: 60.0, azimuth_deg: 24.0, length_m: 700.0, width_m: 260.0, height_m: 6.0 }
    }
}

impl Recipe {
    /// Checks every field.
    ///
    /// # Errors
    /// Names the first field that no landscape can be made from.
    pub fn validate(&self) -> Result<(), RecipeError> {
        let r = &self.relief;
        within("relief.amplitude_m", r.amplitude_m, 0.0, 5_000.0)?;
        within("relief.hurst", r.hurst, 0.3, 1.2)?;
        within("relief.shortest_m", r.shortest_m, 1.0, 100_000.0)?;
        within("relief.longest_m", r.longest_m, r.shortest_m, 1_000_000.0)?;
        within("relief.warp", r.warp, 0.0, 0.2)?;
        within("relief.regolith_m", r.regolith_m, 0.0, 2.0)?;
        within("relief.regolith_hurst", r.regolith_hurst, 0.3, 1.5)?;
        let c = &self.craters;
        within("craters.density_100m_per_km2", c.density_100m_per_km2, 0.0, 60.0)?;
        within("craters.slope", c.slope, 1.0, 4.0)?;
        within("craters.smallest_m", c.smallest_m, 0.5, 1_000.0)?;
        within("craters.detail_below_m", c.detail_below_m, c.smallest_m, 10_000.0)?;
        within("craters.largest_m", c.largest_m, c.detail_below_m, 15_000.0)?;
        within("craters.detail_half_extent_m", c.detail_half_extent_m, 0.0, 20_000.0)?;
        within("craters.equilibrium_m", c.equilibrium_m, 1.0, 100_000.0)?;
        within("craters.oldest_diffusion", c.oldest_diffusion, 0.0, crate::profile::MAX_DIFFUSION)?;
        within("craters.site_largest_m", c.site_largest_m, 0.0, 1e6)?;
        within("craters.site_radius_m", c.site_radius_m, 0.0, 5_000.0)?;
        let a = &self.albedo;
        within("albedo.mean", a.mean, 0.01, 0.6)?;
        within("albedo.mottling", a.mottling, 0.0, 0.2)?;
        within("albedo.fresh_gain", a.fresh_gain, 0.0, 1.5)?;
        within("albedo.fresh_fraction", a.fresh_fraction, 0.0, 1.0)?;
        within("pad.radius_m", self.pad.radius_m, 0.0, 500.0)?;
        within("pad.blend_m", self.pad.blend_m, 0.1, 1_000.0)?;
        within("pad.largest_crater_m", self.pad.largest_crater_m, 0.0, 1e6)?;
        self.features.iter().enumerate().try_for_each(|(i, feature)| feature.validate(i))
    }
}

impl Feature {
    fn validate(&self, index: usize) -> Result<(), RecipeError> {
        let check = |name: &str, value, low, high| within(&format!("features[{index}].{name}"), value, low, high);
        match self {
            Self::Crater(c) => {
                check("east_m", c.east_m, -1e6, 1e6)?;
                check("north_m", c.north_m, -1e6, 1e6)?;
                check("diameter_m", c.diameter_m, 0.5, 15_000.0)?;
                check("degradation", c.degradation, 0.0, 1.0)
            }
            Self::Ridge(r) => {
                check("east_m", r.east_m, -1e6, 1e6)?;
                check("north_m", r.north_m, -1e6, 1e6)?;
                check("azimuth_deg", r.azimuth_deg, -360.0, 360.0)?;
                check("length_m", r.length_m, 1.0, 1e6)?;
                check("width_m", r.width_m, 1.0, 1e6)?;
                check("height_m", r.height_m, -5_000.0, 5_000.0)
            }
        }
    }
}

/// Refuses NaN too, because NaN is within nothing.
pub(crate) fn within(field: &str, value: f64, low: f64, high: f64) -> Result<(), RecipeError> {
    if (low..=high).contains(&value) {
        Ok(())
    } else {
        Err(RecipeError { field: field.to_owned(), value, expected: format!("from {low} to {high}") })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_default_recipe_is_valid() {
        assert_eq!(Recipe::default().validate(), Ok(()));
    }

    #[test]
    fn a_bad_field_is_named_with_its_value_and_what_was_expected() {
        let mut recipe = Recipe::default();
        recipe.craters.slope = 9.0;
        let message = recipe.validate().unwrap_err().to_string();
        assert_eq!(message, "recipe field `craters.slope` is 9: expected from 1 to 4");
    }

    #[test]
    fn a_bad_feature_is_named_by_its_place_in_the_list() {
        let crater = CraterFeature { diameter_m: f64::NAN, ..CraterFeature::default() };
        let recipe = Recipe { features: vec![Feature::Crater(crater)], ..Recipe::default() };
        assert_eq!(recipe.validate().unwrap_err().field, "features[0].diameter_m");
    }

    #[test]
    fn toml_fills_what_it_leaves_out_and_refuses_what_it_does_not_know() {
        let text = "seed = 4\n[craters]\nslope = 1.9\n[[features]]\nkind = \"crater\"\ndiameter_m = 60.0\n";
        let recipe: Recipe = toml::from_str(text).unwrap();
        assert_eq!((recipe.seed, recipe.craters.slope, recipe.features.len()), (4, 1.9, 1));
        assert!(toml::from_str::<Recipe>("[relief]\nhurts = 0.9\n").is_err());
        assert!(toml::from_str::<Recipe>("[[features]]\nkind = \"crater\"\nradius = 9.0\n").is_err());
    }

    #[test]
    fn a_recipe_survives_toml() {
        let recipe = Recipe::default();
        assert_eq!(toml::from_str::<Recipe>(&toml::to_string(&recipe).unwrap()).unwrap(), recipe);
    }
}
