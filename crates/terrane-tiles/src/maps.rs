//! Site maps: heights and gradients on each DEM's own grid, for shading and
//! for the sun's march, which read data and not the drawn mesh.

use crate::codec;
use serde::{Deserialize, Serialize};
use terrane_surface::derived::horn_gradient;
use terrane_surface::{DemGrid, Surface};

/// More posts a side than this are thinned: what every GPU can bind.
pub const MAX_MAP_SIDE: usize = 4096;
/// Rows that are kept as one block.
pub(crate) const STRIP_ROWS: usize = 64;

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

impl SiteMap {
    /// The grid of a DEM's map, without values.
    pub(crate) fn of(dem: &DemGrid) -> Self {
        let stride = dem.columns.max(dem.rows).div_ceil(MAX_MAP_SIDE);
        Self {
            name: dem.name.clone(),
            x0_m: dem.x0_m,
            z0_m: dem.z0_m,
            posting_m: dem.posting_m * stride as f64,
            columns: (dem.columns - 1) / stride + 1,
            rows: (dem.rows - 1) / stride + 1,
            heights_m: vec![],
            gradients: vec![],
        }
    }

    /// How many strips its rows fill.
    pub(crate) fn strips(&self) -> usize {
        self.rows.div_ceil(STRIP_ROWS)
    }

    /// Site z of the last heights that a strip needs, metres.
    pub(crate) fn end_m(&self, strip: usize) -> f64 {
        let rows = ((strip + 1) * STRIP_ROWS).min(self.rows);
        self.z0_m + rows as f64 * self.posting_m
    }

    /// One strip of rows, baked: heights relative to the reference, and
    /// gradients. One ring of posts around the strip, from whatever DEM has
    /// them, makes a gradient at a border as good as any.
    pub(crate) fn bake_strip(&self, surface: &Surface, reference_m: f64, strip: usize) -> std::io::Result<Vec<u8>> {
        let first = strip * STRIP_ROWS;
        let rows = STRIP_ROWS.min(self.rows - first);
        let values = self.values(surface, reference_m, [0, self.columns], [first, first + rows]);
        let (heights_m, gradients): (Vec<f32>, Vec<[f32; 2]>) = values.into_iter().unzip();
        let mut bytes = planes(bytemuck::cast_slice(&heights_m));
        bytes.extend(planes(bytemuck::cast_slice(&gradients)));
        codec::compress(&bytes)
    }

    /// Heights relative to the reference and gradients of a window of posts,
    /// row by row.
    pub(crate) fn values(
        &self,
        surface: &Surface,
        reference_m: f64,
        [first_column, end_column]: [usize; 2],
        [first, end]: [usize; 2],
    ) -> Vec<(f32, [f32; 2])> {
        let (columns, rows) = (end_column - first_column, end - first);
        let place = |start: f64, k: usize| start + (k as f64 - 1.0) * self.posting_m;
        let xs_m: Vec<f64> = (0..columns + 2).map(|k| place(self.x0_m, first_column + k)).collect();
        let zs_m: Vec<f64> = (0..rows + 2).map(|k| place(self.z0_m, first + k)).collect();
        let width = xs_m.len();
        let ringed = surface.heights_m(&xs_m, &zs_m);
        let mut values = Vec::with_capacity(columns * rows);
        for row in 1..=rows {
            for column in 1..=columns {
                let height_m = (ringed[row * width + column] - reference_m) as f32;
                let line = |row: usize| {
                    let first = row * width + column - 1;
                    [ringed[first], ringed[first + 1], ringed[first + 2]]
                };
                values.push((height_m, gradient([line(row - 1), line(row), line(row + 1)], self.posting_m)));
            }
        }
        values
    }
}

/// Gradient (dy/dx, dy/dz) at the middle of 3 x 3 posts; zero in a hole.
pub(crate) fn gradient(block: [[f64; 3]; 3], posting_m: f64) -> [f32; 2] {
    horn_gradient(&block, posting_m).map_or([0.0; 2], |gradient| gradient.map(|grade| grade as f32))
}

/// Heights and gradients of a strip of so many posts.
pub(crate) fn decode_strip(bytes: &[u8], posts: usize) -> Option<(Vec<f32>, Vec<[f32; 2]>)> {
    let bytes = codec::decompress(bytes, posts * 12).ok().filter(|bytes| bytes.len() == posts * 12)?;
    let (heights, gradients) = bytes.split_at(posts * 4);
    let heights_m = bytemuck::allocation::pod_collect_to_vec(&interleave(heights));
    Some((heights_m, bytemuck::allocation::pod_collect_to_vec(&interleave(gradients))))
}

/// Bytes of 32-bit values, all first bytes before all second ones: floats
/// compress better so.
fn planes(bytes: &[u8]) -> Vec<u8> {
    let mut planes = vec![0; bytes.len()];
    for (plane, out) in planes.chunks_exact_mut((bytes.len() / 4).max(1)).enumerate() {
        out.iter_mut().zip(bytes.chunks_exact(4)).for_each(|(out, value)| *out = value[plane]);
    }
    planes
}

fn interleave(planes: &[u8]) -> Vec<u8> {
    let count = planes.len() / 4;
    (0..planes.len()).map(|k| planes[(k % 4) * count + k / 4]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use terrane_surface::SurfaceSpec;

    #[test]
    fn a_plane_has_its_gradient_everywhere_even_at_borders_and_beside_holes() {
        let mut heights_m: Vec<f32> = (0..20 * 150).map(|k| (k % 20) as f32 * 0.5 - (k / 20) as f32 * 0.25).collect();
        heights_m[7 * 20 + 7] = f32::NAN;
        let dem = DemGrid::in_memory("p", (0.0, 0.0), 2.0, (20, 150), heights_m.clone());
        let map = SiteMap::of(&dem);
        let surface = Surface::new(SurfaceSpec { dems: vec![dem], ..SurfaceSpec::default() }).unwrap();
        let mut post = 0;
        for strip in 0..map.strips() {
            let bytes = map.bake_strip(&surface, 1.0, strip).unwrap();
            let rows = STRIP_ROWS.min(150 - strip * STRIP_ROWS);
            let (heights, gradients) = decode_strip(&bytes, rows * 20).unwrap();
            for (height, gradient) in heights.iter().zip(gradients) {
                let expected = if post == 7 * 20 + 7 { [0.0; 2] } else { [0.25, -0.125] };
                assert_eq!(gradient, expected, "post {post}");
                let is_hole = post == 7 * 20 + 7;
                assert!(height.is_nan() == is_hole && (is_hole || (height + 1.0 - heights_m[post]).abs() <= 1e-5));
                post += 1;
            }
        }
        assert_eq!(post, 20 * 150);
    }
}
