//! How a height is kept as a 32-bit word.

use multiversion::multiversion;
use serde::{Deserialize, Serialize};

/// The word of a post without ground.
pub(crate) const HOLE: i32 = i32::MIN;

/// How heights are kept. Every tile of an archive uses the same code and the
/// same reference, so that a border post is the same word on both sides.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum HeightCode {
    /// Whole steps of this many metres: a power of two, so that the arithmetic
    /// on decoded heights is exact.
    Steps(f64),
    /// 32-bit floats, as they are.
    Float,
}

impl HeightCode {
    /// The coarsest steps that keep heights to within `error_m`, metres.
    pub fn within(error_m: f64) -> Self {
        let error_m = if error_m.is_finite() && error_m > 0.0 { error_m.clamp(1e-6, 1e3) } else { 1e-3 };
        Self::Steps((2.0 * error_m).log2().floor().exp2())
    }

    /// Largest distance between a height and what is kept of it, metres. For
    /// floats that is half of a float's last place, which grows with the
    /// height above the reference; 0 stands for it.
    pub fn error_m(self) -> f64 {
        match self {
            Self::Steps(step_m) => 0.5 * step_m,
            Self::Float => 0.0,
        }
    }

    /// Heights above the reference, metres, to words; NaN is a hole.
    pub(crate) fn encode(self, heights_m: &[f64], reference_m: f64) -> Vec<i32> {
        match self {
            Self::Steps(step_m) => {
                let mut words = vec![0; heights_m.len()];
                encode_steps(heights_m, reference_m, 1.0 / step_m, &mut words);
                words
            }
            Self::Float => {
                // Floats in the order of their values, so that neighbours are
                // near each other as integers.
                let word = |height_m: &f64| {
                    let bits = ((height_m - reference_m) as f32).to_bits() as i32;
                    if height_m.is_nan() { HOLE } else { bits ^ (((bits >> 31) as u32) >> 1) as i32 }
                };
                heights_m.iter().map(word).collect()
            }
        }
    }

    /// A word to a height above the reference, metres; NaN is a hole.
    #[inline]
    pub(crate) fn decode(self, word: i32) -> f64 {
        match self {
            _ if word == HOLE => f64::NAN,
            Self::Steps(step_m) => f64::from(word) * step_m,
            Self::Float => f64::from(f32::from_bits((word ^ (((word >> 31) as u32) >> 1) as i32) as u32)),
        }
    }
}

/// Wide registers where the processor has them: the same bits.
#[multiversion(targets("x86_64+avx+avx2"))]
fn encode_steps(heights_m: &[f64], reference_m: f64, scale: f64, words: &mut [i32]) {
    // Adding it leaves the nearest integer in the low bits.
    const ROUNDER: f64 = 6_755_399_441_055_744.0;
    const MOST: f64 = (i32::MAX - 1) as f64;
    for (word, height_m) in words.iter_mut().zip(heights_m) {
        let steps = ((height_m - reference_m) * scale).clamp(-MOST, MOST);
        *word = if height_m.is_nan() { HOLE } else { (steps + ROUNDER).to_bits() as u32 as i32 };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn heights_come_back_within_the_stated_error() {
        let heights: Vec<f64> = (0..10_000).map(|k| f64::from(k).sin() * 9000.0).chain([f64::NAN]).collect();
        for error_m in [1e-3, 5e-4, 0.05] {
            let code = HeightCode::within(error_m);
            assert!(code.error_m() <= error_m && code.error_m() > 0.49 * error_m, "{code:?}");
            for (height, word) in heights.iter().zip(code.encode(&heights, 100.0)) {
                let back = code.decode(word) + 100.0;
                assert_eq!(back.is_nan(), height.is_nan(), "{height}");
                assert!(height.is_nan() || (back - height).abs() <= code.error_m(), "{height}");
            }
        }
    }

    #[test]
    fn floats_keep_their_bits_and_their_order() {
        let heights: Vec<f64> = [-3.5_f32, -0.0, 0.0, 1e-30, 7.25, -1e6].map(f64::from).to_vec();
        let words = HeightCode::Float.encode(&heights, 0.0);
        for (height, word) in heights.iter().zip(&words) {
            assert_eq!(HeightCode::Float.decode(*word).to_bits(), height.to_bits());
        }
        assert!(words[5] < words[0] && words[0] < words[1] && words[1] < words[2] && words[3] < words[4]);
    }
}
