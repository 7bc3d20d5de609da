//! Counter-based random numbers and gradient noise.
//!
//! Everything random here is a pure function of a key: nothing is drawn from a
//! shared stream, so the result cannot depend on who asked first.

use std::f64::consts::TAU;

/// Directions that a lattice point's gradient may have.
const DIRECTIONS: usize = 256;

/// Brings noise made of unit gradients to an RMS of one (measured over 10^6 points).
const UNIT_RMS: f64 = 4.645;

/// Mixes 64 bits (the finaliser of `SplitMix64`, Steele, Lea and Flood 2014, fig. 15).
pub fn mix(mut z: u64) -> u64 {
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// A seed for one purpose, unrelated to the seeds of every other purpose.
pub fn subseed(seed: u64, purpose: u64) -> u64 {
    mix(mix(seed ^ 0x9e37_79b9_7f4a_7c15).wrapping_add(purpose.wrapping_mul(0xd134_2543_de82_ef95)))
}

/// The `draw`-th uniform number in `[0, 1)` of the thing numbered `index`.
pub fn uniform(seed: u64, index: u64, draw: u64) -> f64 {
    let bits = mix(subseed(seed, index) ^ mix(draw.wrapping_add(0x632b_e59b_d9b4_e019)));
    (bits >> 11) as f64 * (1.0 / (1u64 << 53) as f64)
}

/// Zero at and below `low`, one at and above `high`, C1 between.
pub fn smoothstep(low: f64, high: f64, x: f64) -> f64 {
    let t = ((x - low) / (high - low)).clamp(0.0, 1.0);
    t * t * (3.0 - 2.0 * t)
}

/// Gradient noise on a square lattice of unit spacing, zero mean, unit RMS.
///
/// Quintic interpolation (Perlin 2002, "Improving noise") keeps slopes smooth
/// across lattice lines; 256 directions hide the lattice better than Perlin's
/// eight.
#[derive(Debug, Clone)]
pub struct Noise {
    gradients: Vec<[f64; 2]>,
}

impl Default for Noise {
    fn default() -> Self {
        Self::new()
    }
}

impl Noise {
    /// The directions, made once.
    pub fn new() -> Self {
        let gradients = (0..DIRECTIONS)
            .map(|i| {
                let (sin, cos) = (TAU * (i as f64 + 0.5) / DIRECTIONS as f64).sin_cos();
                [cos * UNIT_RMS, sin * UNIT_RMS]
            })
            .collect();
        Self { gradients }
    }

    /// The value at (`x`, `y`), in lattice spacings, of the noise called `seed`.
    pub fn at(&self, seed: u64, x: f64, y: f64) -> f64 {
        let (x0, y0) = (x.floor(), y.floor());
        let (fx, fy) = (x - x0, y - y0);
        let (ix, iy) = (x0 as i64, y0 as i64);
        let corner = |dx: i64, dy: i64| {
            let key = seed
                ^ (ix.wrapping_add(dx) as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15)
                ^ (iy.wrapping_add(dy) as u64).wrapping_mul(0xc2b2_ae3d_27d4_eb4f).rotate_left(31);
            let g = self.gradients[(mix(key) >> 56) as usize % DIRECTIONS];
            g[0] * (fx - dx as f64) + g[1] * (fy - dy as f64)
        };
        let (u, v) = (quintic(fx), quintic(fy));
        let south = lerp(corner(0, 0), corner(1, 0), u);
        let north = lerp(corner(0, 1), corner(1, 1), u);
        lerp(south, north, v)
    }
}

fn quintic(t: f64) -> f64 {
    t * t * t * (t * (t * 6.0 - 15.0) + 10.0)
}

/// From `a` at 0 to `b` at 1.
pub fn lerp(a: f64, b: f64, t: f64) -> f64 {
    a + (b - a) * t
}

/// One octave: noise of one wavelength with its own rotation and offset, so that
/// the lattices of different octaves never line up.
#[derive(Debug, Clone)]
pub struct Octave {
    seed: u64,
    cos_per_m: f64,
    sin_per_m: f64,
    offset: [f64; 2],
    /// Lattice spacing, metres.
    pub wavelength_m: f64,
    /// RMS value.
    pub rms: f64,
}

impl Octave {
    /// Octave number `index` of the noise called `seed`.
    pub fn new(seed: u64, index: u64, wavelength_m: f64, rms: f64) -> Self {
        let (sin, cos) = (TAU * uniform(seed, index, 0)).sin_cos();
        Self {
            seed: subseed(seed, index),
            cos_per_m: cos / wavelength_m,
            sin_per_m: sin / wavelength_m,
            offset: [uniform(seed, index, 1) * 512.0, uniform(seed, index, 2) * 512.0],
            wavelength_m,
            rms,
        }
    }

    /// The octave's value at a place in metres.
    pub fn at(&self, noise: &Noise, east_m: f64, north_m: f64) -> f64 {
        let x = east_m * self.cos_per_m - north_m * self.sin_per_m + self.offset[0];
        let y = east_m * self.sin_per_m + north_m * self.cos_per_m + self.offset[1];
        self.rms * noise.at(self.seed, x, y)
    }
}

/// How much of a feature of `size_m` a grid of `posting_m` shows: nothing below
/// three postings, all of it from six.
///
/// Three postings is a margin over the Nyquist limit of two, because neither
/// craters nor noise octaves are pure sinusoids.
pub fn band(size_m: f64, posting_m: f64) -> f64 {
    if posting_m <= 0.0 { 1.0 } else { smoothstep(3.0, 6.0, size_m / posting_m) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn noise_has_zero_mean_and_unit_rms() {
        let noise = Noise::new();
        let (mut sum, mut squares) = (0.0, 0.0);
        let n = 400_000;
        for i in 0..n {
            let v = noise.at(7, uniform(1, i, 0) * 4000.0, uniform(1, i, 1) * 4000.0);
            sum += v;
            squares += v * v;
        }
        let (mean, rms) = (sum / n as f64, (squares / n as f64).sqrt());
        assert!(mean.abs() < 0.02, "mean {mean}");
        assert!((rms - 1.0).abs() < 0.02, "rms {rms}");
    }

    #[test]
    fn noise_is_continuous_across_lattice_lines() {
        let noise = Noise::new();
        for i in 0..100 {
            let y = f64::from(i) * 0.37;
            let jump = noise.at(3, 5.0 - 1e-9, y) - noise.at(3, 5.0 + 1e-9, y);
            assert!(jump.abs() < 1e-7);
        }
    }

    #[test]
    fn uniform_numbers_fill_the_unit_interval_evenly() {
        let n = 100_000;
        let mean = (0..n).map(|i| uniform(11, i, 4)).sum::<f64>() / n as f64;
        assert!((mean - 0.5).abs() < 0.005);
    }

    #[test]
    fn a_feature_below_three_postings_vanishes_and_from_six_is_whole() {
        assert_eq!(band(59.9, 20.0), 0.0);
        assert_eq!(band(120.0, 20.0), 1.0);
        assert!(band(90.0, 20.0) > 0.4 && band(90.0, 20.0) < 0.6);
    }
}
