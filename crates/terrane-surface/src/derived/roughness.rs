//! Relief among nine posts.

use super::window::{Block, blocks};
use super::{DerivedOptions, HeightWindow};

/// Largest minus smallest of the posts that are there (Wilson et al. 2007,
/// "Multiscale terrain analysis of multibeam bathymetry data", as `gdaldem
/// roughness`); 0 for a post on its own.
pub(super) fn roughness_row(window: &HeightWindow, _: &DerivedOptions, row: usize, bands: &mut [&mut [f32]]) {
    each_block(window, row, bands, |block| {
        let heights = || block.iter().flatten().copied();
        // `min` and `max` pass over NaN.
        heights().fold(f64::NEG_INFINITY, f64::max) - heights().fold(f64::INFINITY, f64::min)
    });
}

/// Root of the summed squared differences to the eight neighbours (Riley,
/// DeGloria and Elliot 1999, "A terrain ruggedness index that quantifies
/// topographic heterogeneity"). Where some are holes, the sum over the others
/// is scaled up to eight; 0 for a post on its own.
pub(super) fn tri_row(window: &HeightWindow, _: &DerivedOptions, row: usize, bands: &mut [&mut [f32]]) {
    each_block(window, row, bands, |block| {
        let centre = block[1][1];
        let (mut sum, mut neighbours) = (0.0, -1.0);
        for &height in block.iter().flatten().filter(|height| !height.is_nan()) {
            sum += (height - centre) * (height - centre);
            neighbours += 1.0;
        }
        if neighbours > 0.0 { (sum * 8.0 / neighbours).sqrt() } else { 0.0 }
    });
}

fn each_block(window: &HeightWindow, row: usize, bands: &mut [&mut [f32]], value: impl Fn(&Block) -> f64) {
    for (out, block) in bands[0].iter_mut().zip(blocks(window.lines_m(row))) {
        if !block[1][1].is_nan() {
            *out = value(&block) as f32;
        }
    }
}
