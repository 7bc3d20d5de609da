//! Curvatures of the quadratic that fits 3 x 3 posts best.
//!
//! Positive is convex: a dome of radius R has the mean curvature 1/R at its
//! top. A curvature is a second difference, which a continued slope would
//! falsify, so that it is nodata where one of the nine posts is a hole.

use super::window::{Block, blocks};
use super::{DerivedOptions, HeightWindow};

/// Derivatives of the height at the middle post, x to the east and z to the
/// south.
struct Derivatives {
    x: f64,
    z: f64,
    xx: f64,
    xz: f64,
    zz: f64,
}

/// Least squares over nine posts (Evans 1980, "An integrated system of terrain
/// analysis and slope mapping").
fn derivatives([north, middle, south]: &Block, posting_m: f64) -> Derivatives {
    let column = |c: usize| north[c] + middle[c] + south[c];
    let row = |heights: &[f64; 3]| heights[0] + heights[1] + heights[2];
    let square = posting_m * posting_m;
    Derivatives {
        x: (column(2) - column(0)) / (6.0 * posting_m),
        z: (row(south) - row(north)) / (6.0 * posting_m),
        xx: (column(0) + column(2) - 2.0 * column(1)) / (3.0 * square),
        xz: (south[2] + north[0] - south[0] - north[2]) / (4.0 * square),
        zz: (row(north) + row(south) - 2.0 * row(middle)) / (3.0 * square),
    }
}

impl Derivatives {
    /// Normal curvature along the gradient:
    /// -(x^2 xx + 2 x z xz + z^2 zz) / (p (1 + p)^(3/2)), p = x^2 + z^2
    /// (Mitasova and Hofierka 1993, "Interpolation by regularized spline with
    /// tension: II", profile curvature, with the sign turned).
    fn profile(&self) -> f64 {
        let Self { x, z, xx, xz, zz } = self;
        let p = x * x + z * z;
        // 0 / 0 on level ground, where no direction is steepest: NaN.
        -(x * x * xx + 2.0 * x * z * xz + z * z * zz) / (p * (1.0 + p) * (1.0 + p).sqrt())
    }

    /// Curvature of the contour in the horizontal plane:
    /// -(z^2 xx - 2 x z xz + x^2 zz) / p^(3/2), p = x^2 + z^2
    /// (same paper, plan curvature, with the sign turned).
    fn plan(&self) -> f64 {
        let Self { x, z, xx, xz, zz } = self;
        let p = x * x + z * z;
        if p == 0.0 { f64::NAN } else { -(z * z * xx - 2.0 * x * z * xz + x * x * zz) / (p * p.sqrt()) }
    }

    /// Mean curvature of a graph (do Carmo, Differential Geometry of Curves
    /// and Surfaces, section 3-3), with the sign turned:
    /// -((1 + z^2) xx - 2 x z xz + (1 + x^2) zz) / (2 (1 + p)^(3/2)).
    fn mean(&self) -> f64 {
        let Self { x, z, xx, xz, zz } = self;
        let p = x * x + z * z;
        -((1.0 + z * z) * xx - 2.0 * x * z * xz + (1.0 + x * x) * zz) / (2.0 * (1.0 + p) * (1.0 + p).sqrt())
    }
}

pub(super) fn profile_row(window: &HeightWindow, _: &DerivedOptions, row: usize, bands: &mut [&mut [f32]]) {
    each(window, row, bands, Derivatives::profile);
}

pub(super) fn plan_row(window: &HeightWindow, _: &DerivedOptions, row: usize, bands: &mut [&mut [f32]]) {
    each(window, row, bands, Derivatives::plan);
}

pub(super) fn mean_row(window: &HeightWindow, _: &DerivedOptions, row: usize, bands: &mut [&mut [f32]]) {
    each(window, row, bands, Derivatives::mean);
}

fn each(window: &HeightWindow, row: usize, bands: &mut [&mut [f32]], curvature: impl Fn(&Derivatives) -> f64) {
    for (out, block) in bands[0].iter_mut().zip(blocks(window.lines_m(row))) {
        // All nine posts enter the second differences: a hole makes NaN.
        *out = (curvature(&derivatives(&block, window.posting_m)) + 0.0) as f32;
    }
}
