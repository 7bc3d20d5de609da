//! From radiance to pixel values.

/// What radiance is multiplied by.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Exposure {
    /// Linear value per cd/m2.
    pub linear_per_cd_m2: f64,
    /// True when the stage's camera says so, false when it was found from the
    /// picture.
    pub is_authored: bool,
}

/// The middle of what the picture shows is put here...
const MIDDLE: f64 = 0.25;
/// ...unless this share of it would then be brighter than [`WHITE`].
const BRIGHT_SHARE: f64 = 0.98;
const WHITE: f64 = 0.9;

impl Exposure {
    /// USD's exposure model: value = radiance times 2^stops.
    pub fn authored(stops: f64) -> Self {
        Self { linear_per_cd_m2: stops.exp2(), is_authored: true }
    }

    /// Puts the middle of what the picture shows at a quarter of white, or less
    /// where that would burn out its bright end. Deterministic: it reads
    /// nothing but the picture.
    pub fn automatic(radiance: &[[f32; 3]], shows: impl Fn(usize) -> bool) -> Self {
        let luminance = |[r, g, b]: [f32; 3]| 0.2126 * r + 0.7152 * g + 0.0722 * b;
        let mut lit: Vec<f32> = radiance
            .iter()
            .enumerate()
            .filter(|(k, _)| shows(*k))
            .map(|(_, rgb)| luminance(*rgb))
            .filter(|value| *value > 0.0 && value.is_finite())
            .collect();
        if lit.is_empty() {
            return Self { linear_per_cd_m2: 1.0, is_authored: false };
        }
        let mut quantile = |share: f64| {
            let index = ((lit.len() - 1) as f64 * share) as usize;
            f64::from(*lit.select_nth_unstable_by(index, f32::total_cmp).1)
        };
        let linear_per_cd_m2 = (MIDDLE / quantile(0.5)).min(WHITE / quantile(BRIGHT_SHARE));
        Self { linear_per_cd_m2, is_authored: false }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn automatic_exposure_reads_only_what_shows() {
        let radiance: Vec<[f32; 3]> = (0..101).map(|k| [k as f32; 3]).collect();
        let even = Exposure::automatic(&radiance, |k| (40..=60).contains(&k));
        assert!((even.linear_per_cd_m2 - 0.25 / 50.0).abs() < 1e-6, "{even:?}");
        // Mostly dark with a bright part: the bright part decides.
        let harsh = Exposure::automatic(&radiance, |k| k > 95 || (1..10).contains(&k));
        assert!((harsh.linear_per_cd_m2 - 0.9 / 99.0).abs() < 1e-6, "{harsh:?}");
        assert_eq!(Exposure::automatic(&radiance, |_| false).linear_per_cd_m2, 1.0);
    }
}
