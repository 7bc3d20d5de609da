//! The planes of one picture.

use terrane_core::camera::Intrinsics;

/// Registered planes, row-major from the top left.
#[derive(Debug, Clone, Copy)]
pub struct Images<'a> {
    /// Radiance towards the eye, cd/m2, linear.
    pub radiance: &'a [[f32; 3]],
    /// Distance along the optical axis, metres; +infinity for nothing.
    pub depth_m: &'a [f32],
    /// Unit normals, site axes.
    pub normal: &'a [[f32; 3]],
    /// Label ids.
    pub labels: &'a [u32],
}

/// Distance along each pixel's ray from distance along the optical axis, both
/// metres. `depth_m` is row-major, of the size in `k`.
pub fn range_from_depth(depth_m: &[f32], k: &Intrinsics) -> Vec<f32> {
    let width = k.width.max(1);
    let along = |index: usize| {
        let (u, v) = (index as u32 % width, index as u32 / width);
        k.ray(f64::from(u), f64::from(v)).1.length()
    };
    depth_m.iter().enumerate().map(|(index, depth)| (f64::from(*depth) * along(index)) as f32).collect()
}
