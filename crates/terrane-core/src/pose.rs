//! Rigid poses and the camera axes that robotics tools expect.

use glam::{DMat3, DMat4, DQuat, DVec3};
use serde::{Deserialize, Serialize};

/// A rigid pose: rotates, then translates, metres. Right-handed.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Pose {
    /// Where the local origin is in the parent frame, metres.
    pub position_m: DVec3,
    /// Turns local axes into parent axes.
    pub rotation: DQuat,
}

impl Pose {
    /// The pose that changes nothing.
    pub const IDENTITY: Self = Self { position_m: DVec3::ZERO, rotation: DQuat::IDENTITY };

    /// The rigid part of an affine matrix; scale is dropped, so that a camera
    /// under a scaled parent still looks along a unit direction. `None` when
    /// the matrix is singular, mirrored, or not finite.
    pub fn from_affine(matrix: DMat4) -> Option<Self> {
        if !matrix.is_finite() {
            return None;
        }
        let z = matrix.z_axis.truncate().try_normalize()?;
        let y = matrix.y_axis.truncate();
        let y = (y - z * y.dot(z)).try_normalize()?;
        let x = y.cross(z);
        if x.dot(matrix.x_axis.truncate()) <= 0.0 {
            return None;
        }
        Some(Self {
            position_m: matrix.w_axis.truncate(),
            rotation: DQuat::from_mat3(&DMat3::from_cols(x, y, z)).normalize(),
        })
    }

    /// A camera at `eye_m` (USD axes: looks down -Z, +Y up) that looks at
    /// `target_m`. Straight up or down, the top of the image points to -Z
    /// (grid north).
    pub fn look_at(eye_m: DVec3, target_m: DVec3) -> Self {
        let back = (eye_m - target_m).try_normalize().unwrap_or(DVec3::Z);
        let up = if back.y.abs() > 1.0 - 1e-9 { DVec3::NEG_Z } else { DVec3::Y };
        let x = up.cross(back).normalize();
        let rotation = DQuat::from_mat3(&DMat3::from_cols(x, back.cross(x), back)).normalize();
        Self { position_m: eye_m, rotation }
    }

    /// Local point to parent point, metres.
    pub fn transform_point(&self, local_m: DVec3) -> DVec3 {
        self.position_m + self.rotation * local_m
    }

    /// Parent point to local point, metres.
    pub fn inverse_transform_point(&self, parent_m: DVec3) -> DVec3 {
        self.rotation.inverse() * (parent_m - self.position_m)
    }

    /// This pose with its axes renamed from USD camera axes (x right, y up,
    /// looks down -z) to the optical frame (x right, y down, z forward).
    pub fn optical_from_usd_camera(&self) -> Self {
        Self {
            position_m: self.position_m,
            rotation: (self.rotation * DQuat::from_rotation_x(std::f64::consts::PI)).normalize(),
        }
    }

    /// The pose as a matrix, parent from local.
    pub fn matrix(&self) -> DMat4 {
        DMat4::from_rotation_translation(self.rotation, self.position_m)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_optical_frame_looks_forward_along_plus_z_with_y_down() {
        let pose = Pose::look_at(DVec3::new(0.0, 2.0, 0.0), DVec3::new(0.0, 2.0, -5.0));
        let optical = pose.optical_from_usd_camera();
        assert!((optical.rotation * DVec3::Z - DVec3::NEG_Z).length() < 1e-12);
        assert!((optical.rotation * DVec3::Y - DVec3::NEG_Y).length() < 1e-12);
        assert!((optical.rotation * DVec3::X - DVec3::X).length() < 1e-12);
    }

    #[test]
    fn looking_straight_down_puts_grid_north_at_the_top() {
        let pose = Pose::look_at(DVec3::new(3.0, 100.0, 4.0), DVec3::new(3.0, 0.0, 4.0));
        assert!((pose.rotation * DVec3::Y - DVec3::NEG_Z).length() < 1e-12);
        assert!((pose.rotation * DVec3::X - DVec3::X).length() < 1e-12);
    }

    #[test]
    fn a_mirrored_or_singular_matrix_has_no_pose() {
        assert!(Pose::from_affine(DMat4::from_scale(DVec3::new(-1.0, 1.0, 1.0))).is_none());
        assert!(Pose::from_affine(DMat4::ZERO).is_none());
        assert!(Pose::from_affine(DMat4::from_scale(DVec3::splat(2.0))).is_some());
    }
}
