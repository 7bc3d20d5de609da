//! The radial shape of a simple crater, fresh and after diffusion.
//!
//! The fresh bowl has the shape of Fassett and Thomson (2014), scaled so that
//! depth and rim height are Pike's (1977); outside, ejecta thin with the cube of
//! the radius (McGetchin, Settle and Head 1973). Ageing is linear topographic
//! diffusion (Fassett and Thomson 2014, eq. 2), solved once on a radial grid and
//! tabulated.

use crate::noise::smoothstep;

/// Fresh depth from rim crest to floor over diameter, simple craters (Pike 1977: 0.196 D^1.010, km).
pub const DEPTH_RATIO: f64 = 0.196;
/// Fresh rim height over diameter (Pike 1977: 0.036 D^1.014, km).
pub const RIM_RATIO: f64 = 0.036;
/// A crater contributes nothing at or beyond this many radii.
pub const SUPPORT_RADII: f64 = 4.0;
/// The largest tabulated diffusion time kappa t / R^2.
pub(crate) const MAX_DIFFUSION: f64 = 0.8;

const TAPER_FROM_RADII: f64 = 2.4;
const AGES: usize = 32;
const STEP_RADII: f64 = 1.0 / 32.0;
const SAMPLES: usize = 4 * 32 + 1;

/// Height over diameter of the fresh crater at `r` radii, with the published
/// depth and rim.
pub(crate) fn fresh(r: f64) -> f64 {
    fresh_profile(r, DEPTH_RATIO, RIM_RATIO)
}

/// Height over diameter of a fresh simple crater at `r` rim radii from its
/// centre, above the ground around it. `depth_ratio` is depth from rim crest to
/// floor, `rim_ratio` the crest's height above the ground around, both over
/// diameter.
///
/// Fassett and Thomson (2014, eq. 4) give the interior as cubic polynomials of
/// the radius with a flat floor inside 0.2 R and a crest at 0.98 R; outside,
/// ejecta thin with the cube of the radius (McGetchin et al. 1973).
#[must_use]
pub fn fresh_profile(r: f64, depth_ratio: f64, rim_ratio: f64) -> f64 {
    const FLOOR: f64 = -0.181;
    const CREST: f64 = 0.037_447;
    if r >= 1.0 {
        return rim_ratio * r.powi(-3);
    }
    let x = r * 0.98;
    // The polynomial reaches the floor a hair inside 0.2 R: no step there.
    let published = (-0.229 + x * (0.228 + x * (0.083 - 0.039 * x))).max(FLOOR);
    rim_ratio - (CREST - published) * depth_ratio / (CREST - FLOOR)
}

/// Radial profiles at [`AGES`] diffusion times, in diameters.
#[derive(Debug, Clone)]
pub(crate) struct ProfileTable {
    /// `SAMPLES` heights an age, then the next age.
    heights: Vec<f64>,
}

/// The two tabulated rows between which one crater's diffusion time lies.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct ProfileRow {
    row: usize,
    blend: f64,
}

/// Diffusion time of a tabulated row; denser where profiles change fast.
fn row_time(row: usize) -> f64 {
    let t = row as f64 / (AGES - 1) as f64;
    MAX_DIFFUSION * t * t
}

impl ProfileTable {
    /// Solves dh/dt = (1/r) d/dr (r dh/dr) from the fresh shape.
    pub(crate) fn new() -> Self {
        const FINE: usize = 2;
        const REACH: usize = 8 * 32 * FINE;
        let dr = STEP_RADII / FINE as f64;
        let mut h: Vec<f64> = (0..=REACH).map(|i| fresh(i as f64 * dr)).collect();
        let mut next = h.clone();
        let mut heights = Vec::with_capacity(AGES * SAMPLES);
        let mut now = 0.0;
        for row in 0..AGES {
            let span = row_time(row) - now;
            // Explicit steps are stable up to dr^2 / 4 at the axis.
            let steps = (span / (0.2 * dr * dr)).ceil();
            let dt = if steps > 0.0 { span / steps } else { 0.0 };
            for _ in 0..steps as usize {
                let k = dt / (dr * dr);
                next[0] = h[0] + 4.0 * k * (h[1] - h[0]);
                for i in 1..REACH {
                    let half = 0.5 / i as f64;
                    next[i] = h[i] + k * ((1.0 + half) * (h[i + 1] - h[i]) - (1.0 - half) * (h[i] - h[i - 1]));
                }
                std::mem::swap(&mut h, &mut next);
            }
            now = row_time(row);
            heights.extend((0..SAMPLES).map(|s| {
                let r = s as f64 * STEP_RADII;
                h[s * FINE] * (1.0 - smoothstep(TAPER_FROM_RADII, SUPPORT_RADII - STEP_RADII, r))
            }));
        }
        Self { heights }
    }

    /// Where a diffusion time kappa t / R^2 lies in the table.
    pub(crate) fn row(time: f64) -> ProfileRow {
        let place = (time.clamp(0.0, MAX_DIFFUSION) / MAX_DIFFUSION).sqrt() * (AGES - 1) as f64;
        let row = (place as usize).min(AGES - 2);
        let (low, high) = (row_time(row), row_time(row + 1));
        ProfileRow { row, blend: ((time.min(MAX_DIFFUSION) - low) / (high - low)).clamp(0.0, 1.0) }
    }

    /// Height over diameter at `r` radii; exactly zero from [`SUPPORT_RADII`] on, C1 everywhere.
    pub(crate) fn at(&self, row: ProfileRow, r: f64) -> f64 {
        if r >= SUPPORT_RADII {
            return 0.0;
        }
        let place = r / STEP_RADII;
        let i = (place as usize).min(SAMPLES - 2);
        let t = place - i as f64;
        // The profile is even in r, so the sample before the axis mirrors the one after it.
        let before = if i == 0 { 1 } else { i - 1 };
        let after = (i + 2).min(SAMPLES - 1);
        let tap = |s: usize| {
            let young = self.heights[row.row * SAMPLES + s];
            let old = self.heights[(row.row + 1) * SAMPLES + s];
            young + (old - young) * row.blend
        };
        let (p0, p1, p2, p3) = (tap(before), tap(i), tap(i + 1), tap(after));
        // Catmull and Rom (1974): C1 through the samples.
        p1 + 0.5 * t * (p2 - p0 + t * (2.0 * p0 - 5.0 * p1 + 4.0 * p2 - p3 + t * (3.0 * (p1 - p2) + p3 - p0)))
    }

    /// Depth from crest to floor, and crest height above the surroundings, both over diameter.
    #[cfg(test)]
    pub(crate) fn depth_and_rim(&self, row: ProfileRow) -> (f64, f64) {
        let crest = (0..SAMPLES).map(|s| self.at(row, s as f64 * STEP_RADII)).fold(f64::MIN, f64::max);
        (crest - self.at(row, 0.0), crest)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fresh_crater_has_pikes_depth_and_rim() {
        let table = ProfileTable::new();
        let (depth, rim) = table.depth_and_rim(ProfileTable::row(0.0));
        assert!((depth - 0.196).abs() < 0.002, "{depth}");
        assert!((rim - 0.036).abs() < 0.001, "{rim}");
    }

    #[test]
    fn ejecta_thin_with_the_cube_of_the_radius() {
        assert!((fresh(2.0) / fresh(1.0) - 0.125).abs() < 1e-12);
    }

    #[test]
    fn craters_only_get_shallower_with_age() {
        let table = ProfileTable::new();
        let depths: Vec<f64> =
            (0..=40).map(|i| table.depth_and_rim(ProfileTable::row(f64::from(i) * 0.02)).0).collect();
        assert!(depths.windows(2).all(|d| d[1] < d[0]));
        assert!(depths[40] < 0.03, "{}", depths[40]);
    }

    #[test]
    fn the_profile_ends_at_four_radii_without_a_step() {
        let table = ProfileTable::new();
        for time in [0.0, 0.1, 0.5, 0.8] {
            let row = ProfileTable::row(time);
            assert_eq!(table.at(row, 4.0), 0.0);
            assert!(table.at(row, 3.999).abs() < 1e-6);
        }
    }

    #[test]
    fn the_profile_has_no_kink_between_samples() {
        let table = ProfileTable::new();
        let row = ProfileTable::row(0.013);
        let e = 1e-6;
        for s in 1..128 {
            let r = f64::from(s) / 32.0;
            let left = (table.at(row, r) - table.at(row, r - e)) / e;
            let right = (table.at(row, r + e) - table.at(row, r)) / e;
            assert!((left - right).abs() < 1e-3, "at {r}: {left} {right}");
        }
    }
}
