//! The one place that turns a USD camera into pixel intrinsics.
//!
//! Rendering and publishing both read [`Intrinsics`], so an image always
//! matches its description. Pixel convention: the centre of the top-left pixel
//! is (0, 0) in `cx`, `cy` and in projected coordinates, as OpenCV and ROS have
//! it; the image covers [-0.5, width - 0.5].

use glam::{DVec2, DVec3};
use serde::{Deserialize, Serialize};

/// How a camera projects.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Projection {
    /// Pinhole.
    Perspective,
    /// Parallel projection; apertures are then lengths in scene space.
    Orthographic,
}

/// The optics of a UsdGeomCamera as authored.
///
/// Apertures, offsets and focal length are in tenths of a scene unit
/// (millimetres on a 35 mm film back by habit); only their ratios matter for a
/// perspective camera. Defaults are UsdGeomCamera's schema fallbacks.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Lens {
    /// Pinhole or parallel.
    pub projection: Projection,
    /// Focal length, tenths of a scene unit.
    pub focal_length: f64,
    /// Width of the film back, tenths of a scene unit.
    pub horizontal_aperture: f64,
    /// Height of the film back, tenths of a scene unit.
    pub vertical_aperture: f64,
    /// Shift of the film back to the right, tenths of a scene unit.
    pub horizontal_aperture_offset: f64,
    /// Shift of the film back upwards, tenths of a scene unit.
    pub vertical_aperture_offset: f64,
    /// Near clipping distance along the optical axis, metres.
    pub near_m: f64,
    /// Far clipping distance along the optical axis, metres.
    pub far_m: f64,
    /// Metres per scene unit, which sizes an orthographic film back.
    pub meters_per_unit: f64,
}

impl Default for Lens {
    fn default() -> Self {
        Self {
            projection: Projection::Perspective,
            focal_length: 50.0,
            horizontal_aperture: 20.955,
            vertical_aperture: 15.2908,
            horizontal_aperture_offset: 0.0,
            vertical_aperture_offset: 0.0,
            near_m: 1.0,
            far_m: 1.0e6,
            meters_per_unit: 1.0,
        }
    }
}

/// How a film back of one shape fills an image of another.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ApertureFit {
    /// Keep the horizontal field of view and square pixels; the vertical
    /// aperture follows the image's shape. UsdRender calls it
    /// `adjustApertureHeight`.
    #[default]
    Horizontal,
    /// Keep both apertures as authored; pixels need not be square. UsdRender
    /// calls it `adjustPixelAspectRatio`.
    Both,
}

/// Why a lens makes no image.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum LensError {
    /// A length that has to be positive is not.
    #[error("camera {what} is {value}; it has to be a positive number")]
    NotPositive {
        /// The attribute's name.
        what: &'static str,
        /// Its value.
        value: f64,
    },
    /// The near plane lies behind the far plane, or one is not a number.
    #[error("camera clipping range is ({near_m} m, {far_m} m); the first has to be smaller")]
    ClippingRange {
        /// Near distance, metres.
        near_m: f64,
        /// Far distance, metres.
        far_m: f64,
    },
}

/// An ideal camera of a given image size: focal lengths and principal point in
/// pixels. For a parallel projection `fx`, `fy` are pixels per metre.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Intrinsics {
    /// Image width, pixels.
    pub width: u32,
    /// Image height, pixels.
    pub height: u32,
    /// Pinhole or parallel.
    pub projection: Projection,
    /// Horizontal focal length, pixels.
    pub fx: f64,
    /// Vertical focal length, pixels.
    pub fy: f64,
    /// Principal point, pixels from the centre of the leftmost pixel.
    pub cx: f64,
    /// Principal point, pixels down from the centre of the topmost pixel.
    pub cy: f64,
}

impl Lens {
    /// The pixel intrinsics of this lens for an image of `width` x `height`.
    ///
    /// A film back moved to the right (positive offset) sees more of the right
    /// side: the optical axis then meets the image left of its middle.
    pub fn intrinsics(&self, width: u32, height: u32, fit: ApertureFit) -> Result<Intrinsics, LensError> {
        let positive = |what, value: f64| {
            if value.is_finite() && value > 0.0 { Ok(value) } else { Err(LensError::NotPositive { what, value }) }
        };
        let (w, h) = (f64::from(width), f64::from(height));
        positive("image width", w)?;
        positive("image height", h)?;
        let aperture_x = positive("horizontalAperture", self.horizontal_aperture)?;
        let aperture_y = match fit {
            ApertureFit::Horizontal => aperture_x * h / w,
            ApertureFit::Both => positive("verticalAperture", self.vertical_aperture)?,
        };
        if !(self.near_m < self.far_m && self.near_m.is_finite()) {
            return Err(LensError::ClippingRange { near_m: self.near_m, far_m: self.far_m });
        }
        let (fx, fy) = match self.projection {
            Projection::Perspective => {
                positive("clipping near distance", self.near_m)?;
                let f = positive("focalLength", self.focal_length)?;
                (f * w / aperture_x, f * h / aperture_y)
            }
            Projection::Orthographic => {
                let metres = 0.1 * positive("metersPerUnit", self.meters_per_unit)?;
                (w / (aperture_x * metres), h / (aperture_y * metres))
            }
        };
        Ok(Intrinsics {
            width,
            height,
            projection: self.projection,
            fx,
            fy,
            cx: 0.5 * w - 0.5 - self.horizontal_aperture_offset * w / aperture_x,
            cy: 0.5 * h - 0.5 + self.vertical_aperture_offset * h / aperture_y,
        })
    }
}

impl Intrinsics {
    /// The camera matrix K, row-major, as CameraInfo publishes it.
    pub fn k(&self) -> [[f64; 3]; 3] {
        [[self.fx, 0.0, self.cx], [0.0, self.fy, self.cy], [0.0, 0.0, 1.0]]
    }

    /// Projects a point in the optical frame (x right, y down, z forward,
    /// metres) to pixels. `None` behind a pinhole.
    pub fn project(&self, optical_m: DVec3) -> Option<DVec2> {
        let scale = match self.projection {
            Projection::Perspective if optical_m.z <= 0.0 => return None,
            Projection::Perspective => 1.0 / optical_m.z,
            Projection::Orthographic => 1.0,
        };
        Some(DVec2::new(self.fx * optical_m.x * scale + self.cx, self.fy * optical_m.y * scale + self.cy))
    }

    /// Origin (metres) and direction, in the optical frame, of the ray through
    /// pixel (`u`, `v`). The direction has z = 1, so that planar depth is the
    /// ray parameter and range is depth times its length.
    pub fn ray(&self, u: f64, v: f64) -> (DVec3, DVec3) {
        let (x, y) = ((u - self.cx) / self.fx, (v - self.cy) / self.fy);
        match self.projection {
            Projection::Perspective => (DVec3::ZERO, DVec3::new(x, y, 1.0)),
            Projection::Orthographic => (DVec3::new(x, y, 0.0), DVec3::Z),
        }
    }

    /// Radians that a pixel's height spans at the principal point of a
    /// pinhole, or metres for a parallel projection.
    pub fn pixel_angle_rad(&self) -> f64 {
        1.0 / self.fy
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ninety_degree_camera_has_a_focal_length_of_half_its_width() {
        let lens = Lens { focal_length: 10.0, horizontal_aperture: 20.0, ..Lens::default() };
        let k = lens.intrinsics(640, 480, ApertureFit::Horizontal).unwrap();
        assert_eq!((k.fx, k.fy, k.cx, k.cy), (320.0, 320.0, 319.5, 239.5));
    }

    #[test]
    fn a_film_back_moved_right_and_up_sees_more_of_the_right_and_top() {
        let lens = Lens {
            horizontal_aperture_offset: 2.0,
            vertical_aperture_offset: 1.0,
            horizontal_aperture: 20.0,
            vertical_aperture: 10.0,
            ..Lens::default()
        };
        let k = lens.intrinsics(200, 100, ApertureFit::Both).unwrap();
        assert_eq!((k.cx, k.cy), (79.5, 59.5));
    }

    #[test]
    fn projection_and_ray_are_inverse() {
        for projection in [Projection::Perspective, Projection::Orthographic] {
            let lens = Lens { projection, horizontal_aperture_offset: 1.0, ..Lens::default() };
            let k = lens.intrinsics(320, 200, ApertureFit::Both).unwrap();
            let (origin, direction) = k.ray(17.25, 93.0);
            let back = k.project(origin + 7.0 * direction).unwrap();
            assert!((back - DVec2::new(17.25, 93.0)).length() < 1e-9);
        }
    }

    #[test]
    fn a_lens_that_makes_no_image_says_which_attribute_is_wrong() {
        let lens = Lens { focal_length: 0.0, ..Lens::default() };
        let error = lens.intrinsics(8, 8, ApertureFit::Horizontal).unwrap_err();
        assert_eq!(error.to_string(), "camera focalLength is 0; it has to be a positive number");
    }
}
