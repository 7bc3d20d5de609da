//! Site maps: heights and gradients on each DEM's own grid, for shading and
//! for the sun's march, which read data and not the drawn mesh.

use rayon::prelude::*;
use serde::{Deserialize, Serialize};
use terrane_core::{Cancelled, Progress};
use terrane_surface::{DemGrid, Surface};

/// More posts a side than this are thinned: what every GPU can bind.
pub const MAX_MAP_SIDE: usize = 4096;

/// Heights and gradients of the surface on one DEM's grid.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SiteMap {
    /// The DEM's name.
    pub name: String,
    /// Site x of the first column, metres.
    pub x0_m: f64,
    /// Site z of the first row, metres.
    pub z0_m: f64,
    /// Distance between posts, metres.
    pub posting_m: f64,
    /// Columns.
    pub columns: usize,
    /// Rows.
    pub rows: usize,
    /// Heights above the pyramid's reference, metres; NaN is a hole.
    #[serde(skip)]
    pub heights_m: Vec<f32>,
    /// Gradients (dy/dx, dy/dz); zero in a hole.
    #[serde(skip)]
    pub gradients: Vec<[f32; 2]>,
}

pub(crate) fn site_maps(
    surface: &Surface,
    reference_m: f64,
    progress: &dyn Progress,
) -> Result<Vec<SiteMap>, Cancelled> {
    let dems = &surface.spec().dems;
    progress.begin("site maps", dems.len() as u64);
    let mut maps = Vec::new();
    for dem in dems {
        maps.push(site_map(surface, dem, reference_m, progress)?);
        progress.advance(1);
    }
    Ok(maps)
}

fn site_map(surface: &Surface, dem: &DemGrid, reference_m: f64, progress: &dyn Progress) -> Result<SiteMap, Cancelled> {
    let stride = dem.columns.max(dem.rows).div_ceil(MAX_MAP_SIDE);
    let (columns, rows) = ((dem.columns - 1) / stride + 1, (dem.rows - 1) / stride + 1);
    let posting_m = dem.posting_m * stride as f64;
    let sample = |column: i64, row: i64| {
        surface.height_m(dem.x0_m + column as f64 * posting_m, dem.z0_m + row as f64 * posting_m)
    };
    // One ring of posts around the map, from whatever DEM has them, so that a
    // gradient at the border is as good as any.
    let width = columns + 2;
    let ringed: Vec<Option<f64>> = (0..rows + 2)
        .into_par_iter()
        .map(|row| {
            progress.check()?;
            Ok((0..width).map(|column| sample(column as i64 - 1, row as i64 - 1)).collect::<Vec<_>>())
        })
        .collect::<Result<Vec<_>, Cancelled>>()?
        .concat();
    let at = |column: usize, row: usize| ringed[row * width + column];
    let (mut heights_m, mut gradients) = (Vec::with_capacity(columns * rows), Vec::with_capacity(columns * rows));
    for row in 1..=rows {
        for column in 1..=columns {
            heights_m.push(at(column, row).map_or(f32::NAN, |height| (height - reference_m) as f32));
            let block = |dc: usize, dr: usize| at(column + dc - 1, row + dr - 1);
            gradients.push(horn_gradient(block, posting_m));
        }
    }
    let DemGrid { name, x0_m, z0_m, .. } = dem;
    Ok(SiteMap { name: name.clone(), x0_m: *x0_m, z0_m: *z0_m, posting_m, columns, rows, heights_m, gradients })
}

/// Gradient by Horn's weighted differences over 3 x 3 posts (Horn 1981, "Hill
/// shading and the reflectance map", eq. for p_w and q_w), the rule that
/// `gdaldem` uses. A missing post continues the slope of those that are there.
fn horn_gradient(block: impl Fn(usize, usize) -> Option<f64>, posting_m: f64) -> [f32; 2] {
    let Some(centre) = block(1, 1) else { return [0.0; 2] };
    let beside = |c: usize, r: usize| {
        block(c, r).or_else(|| block(2 - c, 2 - r).map(|opposite| 2.0 * centre - opposite)).unwrap_or(centre)
    };
    let at = |c: usize, r: usize| match (c, r) {
        (1, _) | (_, 1) => beside(c, r),
        _ => block(c, r).unwrap_or_else(|| beside(c, 1) + beside(1, r) - centre),
    };
    let east = at(2, 0) + 2.0 * at(2, 1) + at(2, 2) - at(0, 0) - 2.0 * at(0, 1) - at(0, 2);
    let south = at(0, 2) + 2.0 * at(1, 2) + at(2, 2) - at(0, 0) - 2.0 * at(1, 0) - at(2, 0);
    [(east / (8.0 * posting_m)) as f32, (south / (8.0 * posting_m)) as f32]
}

#[cfg(test)]
mod tests {
    use super::*;
    use terrane_core::Quiet;
    use terrane_surface::SurfaceSpec;

    #[test]
    fn a_plane_has_its_gradient_everywhere_even_at_borders_and_beside_holes() {
        let mut heights_m: Vec<f32> = (0..400).map(|k| (k % 20) as f32 * 0.5 - (k / 20) as f32 * 0.25).collect();
        heights_m[7 * 20 + 7] = f32::NAN;
        let dem = DemGrid { name: "p".into(), x0_m: 0.0, z0_m: 0.0, posting_m: 2.0, columns: 20, rows: 20, heights_m };
        let surface = Surface::new(SurfaceSpec { dems: vec![dem], ..SurfaceSpec::default() }).unwrap();
        let maps = site_maps(&surface, 0.0, &Quiet).unwrap();
        for (k, gradient) in maps[0].gradients.iter().enumerate() {
            let expected = if k == 7 * 20 + 7 { [0.0; 2] } else { [0.25, -0.125] };
            assert_eq!(*gradient, expected, "post {k}");
        }
    }
}
