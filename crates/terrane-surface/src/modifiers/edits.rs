//! Edits: what a person does to the ground, one at a time.

use super::{CraterSpec, Wish};
use crate::{SiteRect, Surface};
use serde::{Deserialize, Serialize};
use terrane_core::catmull_rom;
use terrane_synth::noise::smoothstep;

/// What an edit does within its radius.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum EditKind {
    /// Raises (or lowers) by `amount` metres in the middle, fading to nothing.
    Brush,
    /// Levels to the height found in the middle plus `amount` metres; flat in
    /// the inner half of the radius.
    Flatten,
    /// Digs a fresh crater whose rim has the radius; `amount` is its depth from
    /// rim to floor, metres, as published for its size when 0.
    Crater,
    /// Blends towards the mean ground over `amount` metres (a quarter of the
    /// radius when 0).
    Smooth,
    /// Takes the ground away.
    Hole,
    /// Sets the class of the ground to `amount`, 0 to 255; heights stay.
    Paint,
}

impl EditKind {
    /// All of them, by their names in a stage.
    pub const NAMED: [(&'static str, Self); 6] = [
        ("brush", Self::Brush),
        ("flatten", Self::Flatten),
        ("crater", Self::Crater),
        ("smooth", Self::Smooth),
        ("hole", Self::Hole),
        ("paint", Self::Paint),
    ];

    /// By its name in a stage.
    pub fn named(name: &str) -> Option<Self> {
        Self::NAMED.iter().find_map(|(known, kind)| (*known == name).then_some(*kind))
    }

    /// Its name in a stage.
    pub fn name(self) -> &'static str {
        Self::NAMED.iter().find_map(|(name, kind)| (*kind == self).then_some(*name)).unwrap_or_default()
    }
}

/// One edit.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct EditSpec {
    /// What it does.
    pub kind: EditKind,
    /// Centre, site x, metres.
    pub x_m: f64,
    /// Centre, site z, metres.
    pub z_m: f64,
    /// How far it reaches, metres; of a crater, its rim.
    pub radius_m: f64,
    /// See [`EditKind`].
    pub amount: f64,
}

impl EditSpec {
    /// The crater that a crater edit digs.
    pub fn crater(&self) -> CraterSpec {
        let fresh = CraterSpec::fresh(self.x_m, self.z_m, 2.0 * self.radius_m);
        let depth_ratio = (self.amount != 0.0).then_some(self.amount / fresh.diameter_m);
        fresh.with_ratios(depth_ratio, None, 1.0)
    }

    /// Where it changes anything.
    pub fn bounds(&self) -> SiteRect {
        match self.kind {
            EditKind::Crater => self.crater().bounds(),
            _ => SiteRect::around(self.x_m, self.z_m, self.radius_m),
        }
    }

    pub(super) fn wish(&self) -> Option<Wish> {
        let posts_a_radius = match self.kind {
            EditKind::Crater => return Some(self.crater().wish()),
            EditKind::Brush | EditKind::Smooth => 4.0,
            EditKind::Flatten | EditKind::Hole => 8.0,
            EditKind::Paint => return None,
        };
        Some(Wish { rect: self.bounds(), posting_m: self.radius_m / posts_a_radius })
    }

    /// Distance from the centre over the radius; `None` from the radius on.
    fn radii(&self, x_m: f64, z_m: f64) -> Option<f64> {
        let radii = (x_m - self.x_m).hypot(z_m - self.z_m) / self.radius_m;
        (radii < 1.0).then_some(radii)
    }
}

/// An edit made ready for evaluation.
#[derive(Debug)]
pub(super) struct Edit {
    pub(super) spec: EditSpec,
    ready: Ready,
}

#[derive(Debug)]
enum Ready {
    Plain,
    Crater(CraterSpec),
    /// The height that a flattening levels to, above the datum; `None` when
    /// there is no ground in the middle.
    Level(Option<f64>),
    Smoothed(Smoothed),
}

impl Edit {
    /// `below` is the ground that the edit finds.
    pub(super) fn new(spec: &EditSpec, below: &Surface) -> Self {
        let ready = match spec.kind {
            EditKind::Crater => Ready::Crater(spec.crater()),
            EditKind::Flatten => {
                Ready::Level(below.datum_height_m(spec.x_m, spec.z_m).map(|(height_m, _)| height_m + spec.amount))
            }
            EditKind::Smooth => Ready::Smoothed(Smoothed::new(spec, below)),
            EditKind::Brush | EditKind::Hole | EditKind::Paint => Ready::Plain,
        };
        Self { spec: *spec, ready }
    }

    /// Height above the datum after the edit; `None` where it takes the ground
    /// away.
    pub(super) fn apply(&self, x_m: f64, z_m: f64, height_m: f64) -> Option<f64> {
        if let Ready::Crater(crater) = &self.ready {
            return Some(height_m + crater.relief_m(x_m, z_m));
        }
        let Some(radii) = self.spec.radii(x_m, z_m) else { return Some(height_m) };
        // Flat in the inner half, C1 to nothing at the radius.
        let weight = 1.0 - smoothstep(0.5, 1.0, radii);
        match (&self.ready, self.spec.kind) {
            (Ready::Level(Some(level_m)), _) => Some(height_m + weight * (level_m - height_m)),
            (Ready::Smoothed(smoothed), _) => {
                let mean_m = smoothed.height_m(x_m, z_m).unwrap_or(height_m);
                Some(height_m + weight * (mean_m - height_m))
            }
            (Ready::Plain, EditKind::Brush) => Some(height_m + self.spec.amount * (1.0 - radii * radii).powi(2)),
            (Ready::Plain, EditKind::Hole) => None,
            _ => Some(height_m),
        }
    }

    /// The class that it paints at a place.
    pub(super) fn class(&self, x_m: f64, z_m: f64) -> Option<u8> {
        (self.spec.kind == EditKind::Paint).then(|| self.spec.radii(x_m, z_m))?.map(|_| self.spec.amount as u8)
    }
}

/// Mean ground around every place of an edit, on a small grid.
#[derive(Debug)]
struct Smoothed {
    x0_m: f64,
    z0_m: f64,
    step_m: f64,
    side: usize,
    heights_m: Vec<Option<f64>>,
}

/// Steps of the grid that a standard deviation of the mean's weights spans, and
/// how many deviations count.
const STEPS_A_DEVIATION: f64 = 2.0;
const DEVIATIONS: f64 = 3.0;
/// Steps across the edit, at most.
const MOST_STEPS: f64 = 64.0;

impl Smoothed {
    fn new(spec: &EditSpec, below: &Surface) -> Self {
        let asked_m = if spec.amount > 0.0 { spec.amount } else { 0.25 * spec.radius_m };
        let length_m = asked_m.min(spec.radius_m);
        let step_m = (length_m / STEPS_A_DEVIATION).max(2.0 * spec.radius_m / MOST_STEPS);
        // One step more than the radius on every side, for the spline.
        let reach = (spec.radius_m / step_m).ceil() + 2.0;
        let taps = (DEVIATIONS * length_m / step_m).ceil();
        let places = |middle_m: f64, reach: f64| -> Vec<f64> {
            (0..=(2.0 * reach) as usize).map(|k| middle_m + (k as f64 - reach) * step_m).collect()
        };
        let (xs_m, zs_m) = (places(spec.x_m, reach + taps), places(spec.z_m, reach + taps));
        let found_m = below.datum_heights_m(&xs_m, &zs_m);
        let (wide, side, taps) = (xs_m.len(), (2.0 * reach) as usize + 1, taps as usize);
        let weights: Vec<f64> =
            (0..=2 * taps).map(|k| (-0.5 * ((k as f64 - taps as f64) * step_m / length_m).powi(2)).exp()).collect();
        // Sums of height times weight and of weights, along rows and then along
        // columns; holes have no weight.
        let mut rows = vec![[0.0; 2]; wide * side];
        for (row, out) in rows.chunks_exact_mut(side).enumerate() {
            for (column, out) in out.iter_mut().enumerate() {
                let line = &found_m[row * wide + column..][..weights.len()];
                for (height_m, weight) in line.iter().zip(&weights).filter(|(height_m, _)| !height_m.is_nan()) {
                    *out = [out[0] + weight * height_m, out[1] + weight];
                }
            }
        }
        let mean = |place: usize| {
            let (row, column) = (place / side, place % side);
            let line = weights.iter().enumerate().map(|(k, weight)| (rows[(row + k) * side + column], weight));
            let [sum, total] =
                line.fold([0.0; 2], |sum, (row, weight)| [sum[0] + weight * row[0], sum[1] + weight * row[1]]);
            (total > 0.0).then(|| sum / total)
        };
        let heights_m = (0..side * side).map(mean).collect();
        Self { x0_m: spec.x_m - reach * step_m, z0_m: spec.z_m - reach * step_m, step_m, side, heights_m }
    }

    fn height_m(&self, x_m: f64, z_m: f64) -> Option<f64> {
        let at = |column: i64, row: i64| {
            let inside = (0..self.side as i64).contains(&column) && (0..self.side as i64).contains(&row);
            inside.then(|| self.heights_m[row as usize * self.side + column as usize]).flatten()
        };
        catmull_rom(at, (x_m - self.x0_m) / self.step_m, (z_m - self.z0_m) / self.step_m)
    }
}
