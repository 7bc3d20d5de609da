//! Slope, aspect, normal and hillshade: what follows from the gradient.

use super::window::{Block, blocks, continued};
use super::{DerivedOptions, HeightWindow};

/// Gradient (dy/dx towards the east, dy/dz towards the south) at the middle of
/// 3 x 3 posts, `[row][column]` from the north-west, by Horn's weighted
/// differences (Horn 1981, "Hill shading and the reflectance map", p_w and
/// q_w), the rule that `gdaldem` uses. A missing post (NaN) continues the
/// slope of those that are there; `None` when the middle one is missing.
#[inline]
pub fn horn_gradient(block: &Block, posting_m: f64) -> Option<[f64; 2]> {
    if block[1][1].is_nan() {
        return None;
    }
    let [east, south] = differences(block);
    // Each of the eight posts around enters one of the sums, so that a hole
    // among them shows here.
    let [east, south] = if east.is_nan() || south.is_nan() { differences(&continued(block)) } else { [east, south] };
    Some([east / (8.0 * posting_m), south / (8.0 * posting_m)])
}

#[inline]
fn differences([north, middle, south]: &Block) -> [f64; 2] {
    [
        north[2] + 2.0 * middle[2] + south[2] - north[0] - 2.0 * middle[0] - south[0],
        south[0] + 2.0 * south[1] + south[2] - north[0] - 2.0 * north[1] - north[2],
    ]
}

fn each_gradient(window: &HeightWindow, row: usize, mut put: impl FnMut(usize, [f64; 2])) {
    for (column, block) in blocks(window.lines_m(row)).enumerate() {
        if let Some(gradient) = horn_gradient(&block, window.posting_m) {
            put(column, gradient);
        }
    }
}

pub(super) fn slope_row(window: &HeightWindow, _: &DerivedOptions, row: usize, bands: &mut [&mut [f32]]) {
    each_gradient(window, row, |column, [east, south]| {
        bands[0][column] = (east * east + south * south).sqrt().atan().to_degrees() as f32;
    });
}

pub(super) fn aspect_row(window: &HeightWindow, _: &DerivedOptions, row: usize, bands: &mut [&mut [f32]]) {
    each_gradient(window, row, |column, [east, south]| {
        // Level ground faces nowhere; gdaldem calls that nodata too.
        if east != 0.0 || south != 0.0 {
            // Downhill points -east and, since rows run south, +south northwards.
            let clockwise_deg = (-east).atan2(south).to_degrees();
            let from_north = if clockwise_deg < 0.0 { clockwise_deg + 360.0 } else { clockwise_deg } as f32;
            // Also what the sum or the rounding brings to a full turn; + 0 turns -0 into 0.
            bands[0][column] = if from_north >= 360.0 { 0.0 } else { from_north + 0.0 };
        }
    });
}

pub(super) fn normal_row(window: &HeightWindow, _: &DerivedOptions, row: usize, bands: &mut [&mut [f32]]) {
    each_gradient(window, row, |column, [east, south]| {
        let length = (east * east + south * south + 1.0).sqrt();
        for (band, part) in bands.iter_mut().zip([-east, 1.0, -south]) {
            // + 0 turns the -0 of level ground into 0.
            band[column] = (part / length + 0.0) as f32;
        }
    });
}

/// Lambert's cosine, Horn 1981's R with the sun at azimuth and elevation:
/// max(0, n . s).
pub(super) fn hillshade_row(window: &HeightWindow, options: &DerivedOptions, row: usize, bands: &mut [&mut [f32]]) {
    let (azimuth, elevation) = (options.sun_azimuth_deg.to_radians(), options.sun_elevation_deg.to_radians());
    let sun = [elevation.cos() * azimuth.sin(), elevation.sin(), -elevation.cos() * azimuth.cos()];
    each_gradient(window, row, |column, [east, south]| {
        let length = (east * east + south * south + 1.0).sqrt();
        let cosine = (sun[1] - east * sun[0] - south * sun[2]) / length;
        bands[0][column] = cosine.clamp(0.0, 1.0) as f32;
    });
}
