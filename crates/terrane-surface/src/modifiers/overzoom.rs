//! Synthesised detail between the posts of a DEM.
//!
//! Fractal gradient noise less its own bilinear interpolation between the
//! DEM's posts: zero on every post, so that measured heights stay and levels
//! agree wherever they share posts.

use super::Wish;
use crate::{DemGrid, SiteRect};
use serde::{Deserialize, Serialize};
use terrane_synth::noise::{Noise, Octave, smoothstep, subseed};

/// Relief falls with wavelength to this power: Hurst exponents of the Moon at
/// tens of metres and less (Rosenburg et al. 2011).
const HURST: f64 = 0.8;
/// Gradient noise of unit RMS stays below this: the gradients' length times
/// half a cell's diagonal.
const NOISE_BOUND: f64 = 4.645 * std::f64::consts::FRAC_1_SQRT_2;
/// Octaves, at most.
const MOST_OCTAVES: usize = 16;

/// Synthesised detail.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct OverzoomSpec {
    /// Decides the pattern.
    pub seed: u64,
    /// The detail never leaves the interpolated ground by more, metres.
    pub amplitude_m: f64,
    /// Shortest wavelength, metres: the lattice gets a quarter of it.
    pub min_feature_m: f64,
    /// Longest wavelength, metres.
    pub max_feature_m: f64,
    /// Where detail is wanted.
    pub region: SiteRect,
}

impl OverzoomSpec {
    pub(super) fn wish(&self) -> Wish {
        Wish { rect: self.region, posting_m: 0.25 * self.min_feature_m }
    }
}

/// Made ready for evaluation.
#[derive(Debug)]
pub(super) struct Overzoom {
    spec: OverzoomSpec,
    noise: Noise,
    octaves: Vec<Octave>,
}

impl Overzoom {
    pub(super) fn new(spec: &OverzoomSpec) -> Self {
        let wavelengths = std::iter::successors(Some(spec.max_feature_m), |longer| Some(0.5 * longer));
        let kept: Vec<f64> =
            wavelengths.take_while(|length| *length >= 0.999 * spec.min_feature_m).take(MOST_OCTAVES).collect();
        let total: f64 = kept.iter().map(|length| length.powf(HURST)).sum();
        // Noise and its interpolation both stay within a half.
        let scale_m = 0.5 * spec.amplitude_m / (NOISE_BOUND * total.max(f64::MIN_POSITIVE));
        let seed = subseed(spec.seed, 0x6f76_657a);
        let octave =
            |(index, length): (usize, &f64)| Octave::new(seed, index as u64, *length, scale_m * length.powf(HURST));
        Self { spec: *spec, noise: Noise::new(), octaves: kept.iter().enumerate().map(octave).collect() }
    }

    fn noise_m(&self, x_m: f64, z_m: f64) -> f64 {
        self.octaves.iter().map(|octave| octave.at(&self.noise, x_m, z_m)).sum()
    }

    /// What is added at a place whose height comes from DEM number `dem` of
    /// these (finest first), metres.
    pub(super) fn relief_m(&self, dems: &[DemGrid], dem: usize, x_m: f64, z_m: f64) -> f64 {
        let own = &dems[dem];
        if own.posting_m <= self.spec.min_feature_m {
            return 0.0;
        }
        let weight = self.weight(dems, dem, x_m, z_m);
        if weight == 0.0 {
            return 0.0;
        }
        let (column, row) = own.column_row(x_m, z_m);
        let (column, row) = (terrane_core::snap_to_post(column), terrane_core::snap_to_post(row));
        let (c, r) = (column.floor(), row.floor());
        let (s, t) = (column - c, row - r);
        if s == 0.0 && t == 0.0 {
            return 0.0;
        }
        let post =
            |dc: f64, dr: f64| self.noise_m(own.x0_m + (c + dc) * own.posting_m, own.z0_m + (r + dr) * own.posting_m);
        let north = (1.0 - s) * post(0.0, 0.0) + s * post(1.0, 0.0);
        let south = (1.0 - s) * post(0.0, 1.0) + s * post(1.0, 1.0);
        weight * (self.noise_m(x_m, z_m) - ((1.0 - t) * north + t * south))
    }

    /// Fades over one posting at the region's border and where DEMs meet, so
    /// that there is no step.
    fn weight(&self, dems: &[DemGrid], dem: usize, x_m: f64, z_m: f64) -> f64 {
        let posting_m = dems[dem].posting_m;
        let fade = |distance_m: f64| smoothstep(0.0, posting_m, distance_m);
        let mut weight = fade(self.spec.region.depth_m(x_m, z_m));
        if dem + 1 < dems.len() {
            weight *= fade(dems[dem].rect().depth_m(x_m, z_m));
        }
        let finer = dems[..dem].iter().map(|finer| fade(-finer.rect().depth_m(x_m, z_m)));
        finer.fold(weight, |weight, fade| weight * fade)
    }
}
