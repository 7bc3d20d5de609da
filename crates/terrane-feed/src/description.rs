//! `camera.json` and `labels.json`.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use terrane_core::Pose;
use terrane_core::camera::{Intrinsics, Projection};

/// Everything that has to be known to use the images.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CameraDescription {
    /// Version of this description.
    pub version: u32,
    /// Prim path of the camera.
    pub camera: String,
    /// Image width, pixels.
    pub width: u32,
    /// Image height, pixels.
    pub height: u32,
    /// Pinhole or parallel.
    pub projection: Projection,
    /// Camera matrix, row-major. The centre of the top-left pixel is (0, 0).
    /// For a parallel projection its focal lengths are pixels per metre.
    pub k: [[f64; 3]; 3],
    /// Name of the distortion model, as CameraInfo names it.
    pub distortion_model: String,
    /// Its coefficients.
    pub distortion_coefficients: Vec<f64>,
    /// Site from camera, USD axes: x right, y up, looks along -z.
    pub pose_usd: PoseDescription,
    /// Site from camera, optical axes: x right, y down, z forward.
    pub pose_optical: PoseDescription,
    /// Nearest depth drawn, metres.
    pub near_m: f64,
    /// Farthest depth drawn, metres.
    pub far_m: f64,
    /// Julian date, UTC, when the stage has one.
    pub time_jd: Option<f64>,
    /// The sun, when there is one.
    pub sun: Option<SunDescription>,
    /// How radiance became pixel values.
    pub exposure: ExposureDescription,
    /// What depth and range mean.
    pub depth: DepthConvention,
    /// What was drawn.
    pub keys: ContentKeys,
}

/// The distortion model of an ideal camera.
pub const DISTORTION_NONE: (&str, [f64; 5]) = ("plumb_bob", [0.0; 5]);

/// A pose as numbers.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct PoseDescription {
    /// Position in the site frame, metres.
    pub position_m: [f64; 3],
    /// Rotation as a quaternion: x, y, z, w.
    pub orientation_xyzw: [f64; 4],
    /// The same as a row-major matrix, site from camera.
    pub site_from_camera: [[f64; 4]; 4],
}

impl From<Pose> for PoseDescription {
    fn from(pose: Pose) -> Self {
        Self {
            position_m: pose.position_m.to_array(),
            orientation_xyzw: pose.rotation.to_array(),
            site_from_camera: pose.matrix().transpose().to_cols_array_2d(),
        }
    }
}

/// Where the sun stood.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct SunDescription {
    /// Unit vector to the sun, site axes.
    pub direction: [f64; 3],
    /// Degrees clockwise from grid north.
    pub grid_azimuth_deg: f64,
    /// Degrees above the site's horizontal plane.
    pub elevation_deg: f64,
    /// Diameter of its disc, degrees.
    pub angular_diameter_deg: f64,
    /// On a surface that faces it, lux.
    pub illuminance_lux: [f64; 3],
}

/// How radiance became pixel values.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ExposureDescription {
    /// `rgb.exr` holds radiance (cd/m2) times this.
    pub linear_per_cd_m2: f64,
    /// Base-2 logarithm of it; its negative is EV100 in USD's exposure model.
    pub stops: f64,
    /// `authored` or `automatic`.
    pub source: String,
    /// From `rgb.exr` to `rgb.png`.
    pub tone_curve: String,
}

/// What the numbers in the depth images mean.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct DepthConvention {
    /// Of `depth.exr`.
    pub depth: String,
    /// Of `range.exr`.
    pub range: String,
    /// Of a pixel that shows nothing.
    pub no_hit: String,
}

impl Default for DepthConvention {
    fn default() -> Self {
        Self {
            depth: "metres along the optical axis".into(),
            range: "metres along the pixel's ray".into(),
            no_hit: "+infinity".into(),
        }
    }
}

/// Content keys of what was drawn.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct ContentKeys {
    /// The baked ground.
    pub ground: String,
    /// The compiled material.
    pub shader: String,
    /// Its values.
    pub look: String,
    /// Raster layers by role.
    pub layers: BTreeMap<String, String>,
}

/// A row of `labels.json`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Label {
    /// Value in `labels.png`.
    pub id: u16,
    /// Semantic class.
    pub class: String,
    /// Prim that it stands for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub prim: Option<String>,
}

impl CameraDescription {
    /// The size and K of an ideal camera.
    pub fn intrinsics(&self) -> Intrinsics {
        let [[fx, _, cx], [_, fy, cy], _] = self.k;
        Intrinsics { width: self.width, height: self.height, projection: self.projection, fx, fy, cx, cy }
    }
}
