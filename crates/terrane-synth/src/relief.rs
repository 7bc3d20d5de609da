//! The ground below the craters, and the regolith over them.
//!
//! Self-affine octaves of gradient noise: RMS height goes with the wavelength to
//! the Hurst exponent, as measured on the Moon (Rosenburg et al. 2011). The place
//! is bent by slower noise first (domain warping), which breaks the sameness that
//! plain sums of octaves have; each octave is bent by what is longer than itself.

use crate::noise::{Noise, Octave, band, smoothstep, subseed};
use crate::recipe::{Feature, Recipe, RidgeFeature};

/// Ratio of successive wavelengths; not 2, so that lattices never coincide.
const LACUNARITY: f64 = 1.87;
const REGOLITH_SHORTEST_M: f64 = 1.5;
const REGOLITH_LONGEST_M: f64 = 320.0;
/// Octaves shorter than this share of a bend's wavelength are not bent by it: they
/// would be drawn out into fibres.
const BENT_SHARE: f64 = 0.4;

/// Relief of a recipe, ready to be evaluated.
#[derive(Debug, Clone)]
pub(crate) struct Relief {
    noise: Noise,
    octaves: Vec<Octave>,
    /// Pairs of octaves that move a place east and north, the longest first.
    warp: Vec<[Octave; 2]>,
    regolith: Vec<Octave>,
    /// Slow variation of the regolith's roughness.
    patches: Octave,
    ridges: Vec<RidgeFeature>,
}

impl Relief {
    pub(crate) fn new(recipe: &Recipe) -> Self {
        let r = &recipe.relief;
        let spectrum = |purpose: u64, longest: f64, shortest: f64, rms_at: &dyn Fn(f64) -> f64| {
            let seed = subseed(recipe.seed, purpose);
            let wavelengths = std::iter::successors(Some(longest), |w| Some(w / LACUNARITY));
            let indexed = wavelengths.take_while(|w| *w >= shortest).enumerate();
            indexed.map(|(i, w)| Octave::new(seed, i as u64, w, rms_at(w))).collect::<Vec<_>>()
        };
        let warp_seed = subseed(recipe.seed, 12);
        let bend = |i: u64, wavelength: f64| {
            [0, 1].map(|axis| Octave::new(warp_seed, 2 * i + axis, wavelength, r.warp * wavelength))
        };
        Self {
            noise: Noise::new(),
            octaves: spectrum(10, r.longest_m, r.shortest_m, &|w| r.amplitude_m * (w / r.longest_m).powf(r.hurst)),
            warp: vec![bend(0, 0.41 * r.longest_m), bend(1, 0.07 * r.longest_m)],
            regolith: spectrum(11, REGOLITH_LONGEST_M, REGOLITH_SHORTEST_M, &|w| {
                r.regolith_m * (w / 10.0).powf(r.regolith_hurst)
            }),
            patches: Octave::new(subseed(recipe.seed, 13), 0, 170.0, 1.0),
            ridges: recipe
                .features
                .iter()
                .filter_map(|feature| match feature {
                    Feature::Ridge(ridge) => Some(ridge.clone()),
                    Feature::Crater(_) => None,
                })
                .collect(),
        }
    }

    /// Height of the ground before any crater, metres.
    pub(crate) fn ground(&self, posting_m: f64, east_m: f64, north_m: f64) -> f64 {
        let (mut x, mut y) = (east_m, north_m);
        let mut bends = self.warp.iter().rev().peekable();
        let mut height = 0.0;
        // From the shortest octave to the longest, which more and more bends reach.
        for octave in self.octaves.iter().rev() {
            while let Some([to_east, to_north]) =
                bends.next_if(|[bend, _]| octave.wavelength_m >= BENT_SHARE * bend.wavelength_m)
            {
                let moved = [to_east.at(&self.noise, x, y), to_north.at(&self.noise, x, y)];
                x += moved[0];
                y += moved[1];
            }
            let share = band(octave.wavelength_m, posting_m);
            if share > 0.0 {
                height += share * octave.at(&self.noise, x, y);
            }
        }
        height + self.ridges.iter().map(|ridge| height_of(ridge, posting_m, east_m, north_m)).sum::<f64>()
    }

    /// Height of the regolith's own roughness, metres.
    pub(crate) fn regolith(&self, posting_m: f64, east_m: f64, north_m: f64) -> f64 {
        if band(REGOLITH_LONGEST_M, posting_m) == 0.0 {
            return 0.0;
        }
        let strength = 1.0 + 0.35 * self.patches.at(&self.noise, east_m, north_m).clamp(-2.0, 2.0);
        strength * sum(&self.regolith, &self.noise, posting_m, east_m, north_m)
    }
}

/// The octaves that a grid of `posting_m` shows.
fn sum(octaves: &[Octave], noise: &Noise, posting_m: f64, x: f64, y: f64) -> f64 {
    let shown = octaves.iter().map(|octave| (octave, band(octave.wavelength_m, posting_m)));
    shown.take_while(|(_, share)| *share > 0.0).map(|(octave, share)| share * octave.at(noise, x, y)).sum()
}

/// A ridge's crest runs out along its length and falls to nothing at its feet.
fn height_of(ridge: &RidgeFeature, posting_m: f64, x: f64, y: f64) -> f64 {
    let (sin, cos) = ridge.azimuth_deg.to_radians().sin_cos();
    let (dx, dy) = (x - ridge.east_m, y - ridge.north_m);
    let along = (dx * sin + dy * cos).abs() / (0.5 * ridge.length_m);
    let across = (dx * cos - dy * sin).abs() / (0.5 * ridge.width_m);
    if along >= 1.0 || across >= 1.0 {
        return 0.0;
    }
    // smoothstep is flat at both ends, so the crest is rounded and the foot is C1.
    ridge.height_m
        * band(ridge.width_m, posting_m)
        * (1.0 - smoothstep(0.0, 1.0, across))
        * (1.0 - smoothstep(0.0, 1.0, along))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::noise::uniform;

    #[test]
    fn rms_deviation_grows_with_the_hurst_exponent() {
        let mut recipe = Recipe { features: Vec::new(), ..Recipe::default() };
        recipe.relief.hurst = 0.85;
        recipe.relief.longest_m = 60_000.0;
        recipe.relief.shortest_m = 10.0;
        let relief = Relief::new(&recipe);
        let deviation = |baseline: f64| {
            let n = 4000;
            let squares = (0..n).map(|i| {
                let (x, y) = (uniform(1, i, 0) * 4e5, uniform(1, i, 1) * 4e5);
                (relief.ground(0.0, x + baseline, y) - relief.ground(0.0, x, y)).powi(2)
            });
            (squares.sum::<f64>() / n as f64).sqrt()
        };
        let measured = (deviation(2400.0) / deviation(300.0)).ln() / 8f64.ln();
        // A finite band of octaves bends the power law a little at its ends.
        assert!((measured - 0.85).abs() < 0.08, "{measured}");
    }

    #[test]
    fn a_ridge_has_its_height_at_its_middle_and_none_at_its_feet() {
        let ridge = RidgeFeature { height_m: 9.0, ..RidgeFeature::default() };
        assert_eq!(height_of(&ridge, 1.0, ridge.east_m, ridge.north_m), 9.0);
        assert_eq!(height_of(&ridge, 1.0, ridge.east_m + 400.0, ridge.north_m), 0.0);
    }
}
