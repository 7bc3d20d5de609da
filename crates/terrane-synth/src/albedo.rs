//! Brightness of the ground: mottled highlands, brighter where impacts dug up
//! fresh material.

use crate::crater::{Crater, Stamp};
use crate::noise::{Noise, Octave, band, smoothstep, subseed, uniform};
use crate::recipe::Recipe;

/// Wavelengths of the mottling, metres, and each one's share of its RMS.
const MOTTLES: [(f64, f64); 7] =
    [(5_200.0, 0.55), (1_430.0, 0.45), (410.0, 0.4), (117.0, 0.35), (37.0, 0.3), (11.3, 0.25), (4.1, 0.2)];

/// Albedo of a recipe, ready to be evaluated.
#[derive(Debug, Clone)]
pub(crate) struct Albedo {
    noise: Noise,
    mottles: Vec<Octave>,
    streaks_seed: u64,
    mean: f64,
    brightest: f64,
}

/// How a crater brightens the ground, and for how far.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Glow {
    gain: f64,
    seed: u64,
    /// Rays are for the freshest only.
    rays: f64,
}

impl Glow {
    /// None for a crater whose ejecta have matured.
    pub(crate) fn new(recipe: &Recipe, crater: &Crater) -> Option<Self> {
        let freshness = 1.0 - crater.degradation / recipe.albedo.fresh_fraction.max(1e-9);
        (freshness > 0.0).then(|| Self {
            gain: recipe.albedo.fresh_gain
                * freshness
                * freshness
                * (0.4 + 0.6 * uniform(crater.seed, 9, 0))
                * (0.35 + 0.65 * smoothstep(8.0, 80.0, crater.diameter_m)),
            seed: subseed(crater.seed, 10),
            rays: smoothstep(0.5, 0.9, freshness) * smoothstep(12.0, 60.0, crater.diameter_m),
        })
    }
}

impl Albedo {
    pub(crate) fn new(recipe: &Recipe) -> Self {
        let seed = subseed(recipe.seed, 20);
        let mottle = |(i, (wavelength, share)): (usize, &(f64, f64))| {
            Octave::new(seed, i as u64, *wavelength, share * recipe.albedo.mottling)
        };
        Self {
            noise: Noise::new(),
            mottles: MOTTLES.iter().enumerate().map(mottle).collect(),
            streaks_seed: subseed(recipe.seed, 21),
            mean: recipe.albedo.mean,
            brightest: (recipe.albedo.mean * (1.05 + recipe.albedo.fresh_gain)).min(1.0),
        }
    }

    /// Albedo of mature ground; wavelengths below six postings are left out, since
    /// brightness shows the weave of lattice noise sooner than relief does.
    pub(crate) fn mature(&self, posting_m: f64, east_m: f64, north_m: f64) -> f64 {
        let mottling: f64 = self
            .mottles
            .iter()
            .map(|octave| band(0.5 * octave.wavelength_m, posting_m) * octave.at(&self.noise, east_m, north_m))
            .sum();
        // exp keeps it positive and makes bright and dark patches equally strong in ratio.
        self.mean * mottling.exp()
    }

    /// Albedo after a fresh crater, where it was `before`.
    pub(crate) fn apply(&self, stamp: &Stamp, glow: &Glow, posting_m: f64, place: [f64; 2], before: f64) -> f64 {
        let Some(r) = stamp.radii(place[0], place[1]) else { return before };
        // Walls and rim expose the most fresh material, the floor less, ejecta thin outward.
        let inside = 0.75 + 0.25 * smoothstep(0.3, 0.9, r);
        let (dx, dy) = (place[0] - stamp.east_m, place[1] - stamp.north_m);
        let distance = dx.hypot(dy).max(1e-9);
        // Noise on a circle around the crater: rays that widen outward and close on themselves.
        let (cx, cy) = (dx / distance, dy / distance);
        // Rays and clots are a fraction of the crater in size.
        let fine = band(0.25 * stamp.diameter_m, posting_m);
        let ray = self.noise.at(self.streaks_seed ^ glow.seed, 2.1 * cx + 40.0, 2.1 * cy + 40.0);
        // Clots that break rays and blanket up, smaller near the rim than far out.
        let (x, y) = (dx * stamp.inverse_radius, dy * stamp.inverse_radius);
        let clot = self.noise.at(glow.seed, 1.1 * x, 1.1 * y) + 0.6 * self.noise.at(glow.seed, 2.7 * x, 2.7 * y);
        let ragged = r * (1.0 + smoothstep(0.8, 1.6, r) * fine * (0.09 * clot - 0.04 * ray).clamp(-0.35, 0.35));
        let blanket = (1.0 - smoothstep(0.6, 3.2, ragged)).powi(2);
        let reach = smoothstep(-0.6, 2.2, ray + 0.5 * clot) * (1.0 - smoothstep(1.4, 3.9, r));
        let rays = fine * glow.rays * 0.5 * reach * smoothstep(0.9, 1.5, r);
        let weight = inside * blanket + rays * (1.0 - blanket);
        // Mottling stays below the ejecta, and overlapping blankets do not add up.
        let bright = (before * (1.0 + glow.gain)).min(self.brightest);
        before + band(stamp.diameter_m, posting_m) * weight.clamp(0.0, 1.0) * (bright - before).max(0.0)
    }
}
