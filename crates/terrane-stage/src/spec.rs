//! What a stage says, as plain data: the door between USD and everything else.
//!
//! All lengths are metres, all poses are in the stage's world turned so that +Y
//! is up; `upAxis` and `metersPerUnit` are honoured here and nowhere else.

use glam::DMat4;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use terrane_core::camera::Lens;
use terrane_core::look::{AssetRef, Authored, ParamValue};
use terrane_core::{Diagnostic, Pose, ShaderLook};

/// Everything terrane reads from a composed stage.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct SiteSpec {
    /// The root layer as the user named it.
    pub stage: String,
    /// Identifiers of every layer that took part, in no particular strength
    /// order, sorted; built-in ones are `lunco://` addresses.
    pub layers: Vec<String>,
    /// `upAxis` as authored or by fallback: `Y` or `Z`.
    pub up_axis: String,
    /// `metersPerUnit` as authored or by fallback (0.01).
    pub meters_per_unit: f64,
    /// How many active, defined, non-abstract prims there are.
    pub prim_count: usize,
    /// Where the site lies on its body.
    pub anchor: Option<AnchorSpec>,
    /// `lunco:time:epochJd`: Julian date, UTC.
    pub epoch_jd: Option<f64>,
    /// Gravity of the first PhysicsScene, m/s2, when authored.
    pub gravity_m_s2: Option<f64>,
    /// Terrain roots, in traversal order.
    pub terrains: Vec<TerrainSpec>,
    /// Materials with a source-asset Shader, by Material prim path.
    pub looks: BTreeMap<String, ShaderLook>,
    /// Cameras, in traversal order.
    pub cameras: Vec<CameraSpec>,
    /// Lights, in traversal order.
    pub lights: Vec<LightSpec>,
    /// What the reader has to say. An error here means that a thing could not
    /// be read; the rest is still true.
    pub diagnostics: Vec<Diagnostic>,
}

/// `lunco:anchor:*`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct AnchorSpec {
    /// Prim that carries the anchor.
    pub prim: String,
    /// NAIF id of the body (301 is the Moon, 499 Mars, 399 Earth).
    pub body: i64,
    /// Planetocentric latitude, degrees north.
    pub lat_deg: f64,
    /// Longitude, degrees east.
    pub lon_deg: f64,
    /// Height above the DEM's datum, metres.
    pub height_m: f64,
}

/// A prim with `lunco:assetMode = "layered"`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TerrainSpec {
    /// Prim path.
    pub prim: String,
    /// False when `visibility` (own or inherited) is `invisible`.
    pub visible: bool,
    /// World (metres, Y up) from terrain-local (metres, Y up).
    pub world_from_terrain: DMat4,
    /// Layers in prim order, disabled ones included.
    pub layers: Vec<TerrainLayer>,
    /// Prim path of the bound Material (`material:binding`, own or inherited,
    /// with its strength), whether or not it is in [`SiteSpec::looks`].
    pub material: Option<String>,
    /// Other `lunco:terrain:*` parameters, by the rest of their name.
    pub params: BTreeMap<String, Authored<ParamValue>>,
}

/// One child of a terrain with `lunco:layer`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TerrainLayer {
    /// Prim path.
    pub prim: String,
    /// `lunco:layer`: `dem`, `craters`, `raster`, ...
    pub kind: String,
    /// `lunco:layer:enabled`, true when not authored.
    pub enabled: bool,
    /// Other `lunco:layer:*` and `lunco:edit:*` parameters by full name
    /// without the `lunco:` prefix, e.g. `layer:demSource`, `layer:windowM`,
    /// `edit:radius`.
    pub params: BTreeMap<String, Authored<ParamValue>>,
}

impl TerrainLayer {
    /// The asset in a parameter, if it is one.
    pub fn asset(&self, name: &str) -> Option<(&AssetRef, &str)> {
        match self.params.get(name) {
            Some(Authored { value: ParamValue::Asset(asset), path }) => Some((asset, path)),
            _ => None,
        }
    }

    /// The number in a parameter, if it is one.
    pub fn number(&self, name: &str) -> Option<f64> {
        match self.params.get(name)?.value {
            ParamValue::Float(value) => Some(value),
            ParamValue::Int(value) => Some(value as f64),
            _ => None,
        }
    }
}

impl TerrainLayer {
    /// The token or string in a parameter, if it is one.
    pub fn text(&self, name: &str) -> Option<&str> {
        match &self.params.get(name)?.value {
            ParamValue::Text(text) => Some(text),
            _ => None,
        }
    }

    /// The numbers in a parameter, if it is a tuple.
    pub fn vector(&self, name: &str) -> Option<&[f64]> {
        match &self.params.get(name)?.value {
            ParamValue::Vector(numbers) => Some(numbers),
            _ => None,
        }
    }

    /// Path of a parameter's attribute, authored or not.
    pub fn attribute(&self, name: &str) -> String {
        self.params.get(name).map_or_else(|| format!("{}.lunco:{name}", self.prim), |authored| authored.path.clone())
    }
}

/// A UsdGeomCamera.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CameraSpec {
    /// Prim path.
    pub prim: String,
    /// World (metres, Y up) from camera (USD axes).
    pub pose: Pose,
    /// Optics.
    pub lens: Lens,
    /// `exposure`: stops added to the linear image (and, when any `exposure:*`
    /// attribute is authored, the whole of USD's exposure model as a base-2
    /// logarithm). `None` when nothing is authored.
    pub exposure_stops: Option<f64>,
}

/// What a light is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum LightKind {
    /// UsdLuxDistantLight: the sun.
    Distant,
    /// UsdLuxDomeLight.
    Dome,
    /// Any other UsdLux light, named in a diagnostic.
    Other,
}

/// A UsdLux light.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LightSpec {
    /// Prim path.
    pub prim: String,
    /// What it is.
    pub kind: LightKind,
    /// False when `visibility` is `invisible`.
    pub visible: bool,
    /// World (metres, Y up) from light; it shines along its local -Z.
    pub pose: Pose,
    /// `inputs:intensity` times 2^`inputs:exposure`. For a distant light the
    /// platform reads it as lux on a surface that faces it.
    pub intensity: f64,
    /// `inputs:color` times the colour temperature's tint when enabled; linear.
    pub color: [f64; 3],
    /// `inputs:angle`: angular diameter, degrees (distant lights).
    pub angle_deg: f64,
}
