//! Surfaces and places for tests.

use terrane_surface::{DemGrid, Surface, SurfaceSpec};

/// A DEM of a function, its corner post at a place.
pub(crate) fn dem(
    (x0_m, z0_m): (f64, f64),
    posting_m: f64,
    (columns, rows): (usize, usize),
    height_m: impl Fn(f64, f64) -> f64,
) -> DemGrid {
    let heights = (0..columns * rows).map(|k| {
        let (column, row) = (k % columns, k / columns);
        height_m(x0_m + column as f64 * posting_m, z0_m + row as f64 * posting_m) as f32
    });
    DemGrid::in_memory("test", (x0_m, z0_m), posting_m, (columns, rows), heights.collect())
}

pub(crate) fn surface(dems: Vec<DemGrid>) -> Surface {
    Surface::new(SurfaceSpec { dems, ..SurfaceSpec::default() }).unwrap()
}

/// Level ground of 1 m cells, four tiles around a place.
pub(crate) fn flat(x_m: f64, z_m: f64) -> Surface {
    surface(vec![dem((x_m - 64.0, z_m - 64.0), 1.0, (129, 129), |_, _| 7.0)])
}

/// Waves of 2 to 20 m, up to some 20 degrees steep, on a slope.
pub(crate) fn rough_m(x_m: f64, z_m: f64) -> f64 {
    0.45 * (0.31 * x_m).sin()
        + 0.4 * (0.37 * z_m).cos()
        + 0.05 * (1.9 * x_m + 1.1 * z_m).sin()
        + 0.04 * (2.3 * z_m - 1.7 * x_m).cos()
        + 0.05 * x_m
}

/// Rough ground of 1 m cells, sixteen tiles around the anchor.
pub(crate) fn rough() -> Surface {
    surface(vec![dem((-128.0, -128.0), 1.0, (257, 257), rough_m)])
}

pub(crate) struct Seeded(pub u64);

impl Seeded {
    pub(crate) fn between(&mut self, low: f64, high: f64) -> f64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        low + (high - low) * (self.0 >> 11) as f64 / (1_u64 << 53) as f64
    }
}
