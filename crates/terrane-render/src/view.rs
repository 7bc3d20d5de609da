//! From a camera in `f64` to what the GPU draws with: camera-relative `f32`.

use crate::uniform::ViewUniform;
use glam::{DMat4, DVec3, DVec4};
use terrane_core::Pose;
use terrane_core::camera::{Intrinsics, Projection};
use terrane_surface::{Lattice, TileKey};
use terrane_tiles::{Node, View};

/// A camera in the site frame.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Camera {
    /// Site from camera, USD axes.
    pub pose: Pose,
    /// Pixels.
    pub intrinsics: Intrinsics,
    /// Nearest depth drawn, metres.
    pub near_m: f64,
    /// Farthest depth drawn, metres.
    pub far_m: f64,
}

/// The light on a site.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Lighting {
    /// Unit vector to the sun's centre, site axes.
    pub to_sun: DVec3,
    /// Sun on a surface that faces it, lux, linear colour.
    pub sun_illuminance_lux: [f64; 3],
    /// Angular radius of the sun's disc, radians.
    pub sun_radius_rad: f64,
    /// Luminance of an even sky dome, cd/m2, linear colour.
    pub sky_luminance: [f64; 3],
}

/// Everything that changes from one picture to the next.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct FrameRequest {
    /// Where from.
    pub camera: Camera,
    /// By which light.
    pub lighting: Lighting,
    /// Largest projected error of the drawn ground, pixels.
    pub pixel_error: f64,
    /// Samples of the colour along each side of a pixel, an odd number. Depth,
    /// normals and labels are those of the pixel's centre.
    pub samples_per_side: u32,
}

/// Largest vertical error of the drawn ground, as a part of its distance.
const RELATIVE_ERROR: f64 = 1e-3;

/// Noise blocks, `BLOCK_M` of `shaders/engine/view.wgsl`.
const BLOCK_M: f64 = 1024.0;

impl Camera {
    /// What tile selection needs to know.
    ///
    /// A small picture has few pixels a radian; there the drawn ground is held
    /// to [`RELATIVE_ERROR`] of its distance, so that depth is as true in a
    /// small picture as in a large one.
    pub(crate) fn selection_view(&self, reference_m: f64, pixel_error: f64) -> View {
        let k = &self.intrinsics;
        let is_parallel = k.projection == Projection::Orthographic;
        let scale = k.fx.max(k.fy);
        let relative = pixel_error / RELATIVE_ERROR;
        let eye = self.pose.position_m;
        View {
            eye_m: DVec3::new(eye.x, eye.y - reference_m, eye.z),
            pixels_per_radian: if is_parallel { relative } else { scale.max(relative) },
            pixels_per_metre: is_parallel.then_some(scale),
        }
    }

    /// Right, down and forward in site axes.
    fn optical_axes(&self) -> [DVec3; 3] {
        let rotation = self.pose.optical_from_usd_camera().rotation;
        [rotation * DVec3::X, rotation * DVec3::Y, rotation * DVec3::Z]
    }

    /// Clip space from positions relative to the eye, moved by a part of a
    /// pixel. Depth is reversed: 1 at the near plane, 0 at the far plane.
    pub(crate) fn clip_from_rel(&self, offset_px: (f64, f64)) -> DMat4 {
        let k = &self.intrinsics;
        let [right, down, forward] = self.optical_axes();
        let (w, h) = (f64::from(k.width), f64::from(k.height));
        let (cx, cy) = (k.cx + 0.5 - offset_px.0, k.cy + 0.5 - offset_px.1);
        let (near, far) = (self.near_m, self.far_m);
        let row = |direction: DVec3, constant: f64| direction.extend(constant);
        let rows: [DVec4; 4] = match k.projection {
            Projection::Perspective => [
                row(right * (2.0 * k.fx / w) + forward * (2.0 * cx / w - 1.0), 0.0),
                row(down * (-2.0 * k.fy / h) + forward * (1.0 - 2.0 * cy / h), 0.0),
                row(forward * (-near / (far - near)), near * far / (far - near)),
                row(forward, 0.0),
            ],
            Projection::Orthographic => [
                row(right * (2.0 * k.fx / w), 2.0 * cx / w - 1.0),
                row(down * (-2.0 * k.fy / h), 1.0 - 2.0 * cy / h),
                row(forward * (-1.0 / (far - near)), far / (far - near)),
                DVec4::W,
            ],
        };
        DMat4::from_cols(rows[0], rows[1], rows[2], rows[3]).transpose()
    }

    /// True when a tile's bounds may reach into the picture.
    pub(crate) fn sees(&self, lattice: &Lattice, reference_m: f64, tile: TileKey, node: &Node) -> bool {
        let ([x0, x1], [z0, z1]) = lattice.tile_bounds_m(tile);
        let eye = self.pose.position_m;
        let low = DVec3::new(x0, reference_m + f64::from(node.min_m) - f64::from(node.error_m), z0) - eye;
        let high = DVec3::new(x1, reference_m + f64::from(node.max_m) + f64::from(node.error_m), z1) - eye;
        let m = self.clip_from_rel((0.0, 0.0)).transpose();
        let (x, y, z, w) = (m.x_axis, m.y_axis, m.z_axis, m.w_axis);
        // Half a pixel more on each side for the samples around the centre.
        let wide = 1.0 + 2.0 / f64::from(self.intrinsics.width.min(self.intrinsics.height));
        let planes = [w * wide + x, w * wide - x, w * wide + y, w * wide - y, z, w - z];
        planes.iter().all(|plane| {
            let normal = plane.truncate();
            let farthest = DVec3::select(normal.cmpge(DVec3::ZERO), high, low);
            normal.dot(farthest) + plane.w >= 0.0
        })
    }

    /// Post of the lattice cell under the eye, and the eye inside the cell.
    pub(crate) fn eye_post(&self, lattice: &Lattice) -> ([i64; 2], [f32; 2]) {
        let split = |place_m: f64| {
            let cell = (place_m / lattice.posting_m).floor();
            (cell as i64, (place_m - cell * lattice.posting_m) as f32)
        };
        let eye = self.pose.position_m;
        let ((i, x), (j, z)) = (split(eye.x - lattice.x0_m), split(eye.z - lattice.z0_m));
        ([i, j], [x, z])
    }
}

fn array(v: DVec3) -> [f32; 3] {
    v.as_vec3().to_array()
}

/// Radiance is stored divided by that of a bright surface, so that 16-bit
/// floats hold it well whatever the light.
pub(crate) fn pre_exposure(lighting: &Lighting) -> f64 {
    let brightest = lighting.sun_illuminance_lux.iter().copied().fold(0.0, f64::max) / std::f64::consts::PI;
    let sky = lighting.sky_luminance.iter().copied().fold(0.0, f64::max);
    1.0 / brightest.max(sky).max(1.0)
}

/// The uniform of one sample of a frame.
pub(crate) fn view_uniform(
    request: &FrameRequest,
    lattice: &Lattice,
    reference_m: f64,
    map_count: usize,
    offset_px: (f64, f64),
    pre_exposure: f64,
) -> ViewUniform {
    let camera = &request.camera;
    let light = &request.lighting;
    let eye = camera.pose.position_m;
    let (_, eye_in_cell_m) = camera.eye_post(lattice);
    let block = |place_m: f64| (place_m / BLOCK_M).floor();
    let eye_height_m = eye.y - reference_m;
    let colour = |c: [f64; 3]| c.map(|v| v as f32);
    ViewUniform {
        clip_from_rel: camera.clip_from_rel(offset_px).as_mat4().to_cols_array_2d(),
        forward: array(camera.optical_axes()[2]),
        parallel: f32::from(u8::from(camera.intrinsics.projection == Projection::Orthographic)),
        eye_block: [block(eye.x) as i32, block(eye.z) as i32],
        eye_in_block_m: [(eye.x - block(eye.x) * BLOCK_M) as f32, (eye.z - block(eye.z) * BLOCK_M) as f32],
        eye_in_cell_m,
        eye_high_m: eye_height_m as f32,
        eye_low_m: (eye_height_m - f64::from(eye_height_m as f32)) as f32,
        posting_m: lattice.posting_m as f32,
        pre_exposure: pre_exposure as f32,
        map_count: map_count as i32,
        sun_radius: light.sun_radius_rad as f32,
        sun_direction: array(light.to_sun),
        reserved: 0.0,
        sun_illuminance: colour(light.sun_illuminance_lux),
        reserved_a: 0.0,
        sky_luminance: colour(light.sky_luminance),
        reserved_b: 0.0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use terrane_core::camera::{ApertureFit, Lens};

    #[test]
    fn clip_space_agrees_with_the_published_intrinsics() {
        for projection in [Projection::Perspective, Projection::Orthographic] {
            let lens =
                Lens { projection, horizontal_aperture_offset: 3.0, vertical_aperture_offset: -1.0, ..Lens::default() };
            let intrinsics = lens.intrinsics(320, 200, ApertureFit::Both).unwrap();
            let pose = Pose::look_at(DVec3::new(1.0, 30.0, -4.0), DVec3::new(20.0, 3.0, 40.0));
            let camera = Camera { pose, intrinsics, near_m: 0.5, far_m: 1000.0 };
            for point in [DVec3::new(20.0, 5.0, 37.0), DVec3::new(-9.0, -2.0, 60.0)] {
                let optical = pose.optical_from_usd_camera().inverse_transform_point(point);
                let pixel = intrinsics.project(optical).unwrap();
                let clip = camera.clip_from_rel((0.0, 0.0)) * (point - pose.position_m).extend(1.0);
                let ndc = clip / clip.w;
                let drawn = ((ndc.x + 1.0) * 160.0 - 0.5, (1.0 - ndc.y) * 100.0 - 0.5);
                assert!((drawn.0 - pixel.x).abs() < 1e-9 && (drawn.1 - pixel.y).abs() < 1e-9, "{drawn:?} {pixel}");
                assert!(ndc.z > 0.0 && ndc.z < 1.0);
            }
        }
    }
}
