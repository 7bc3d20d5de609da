//! What a USD Material becomes: plain data, without any GPU type.

use crate::{ContentKey, KeyBuilder};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// A value of a shader input or a layer parameter, as authored.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ParamValue {
    /// `bool`.
    Bool(bool),
    /// Any integer type.
    Int(i64),
    /// `half`, `float`, `double`.
    Float(f64),
    /// `float2`, `float3`, `color3f` and so on, in order.
    Vector(Vec<f64>),
    /// `token` or `string`.
    Text(String),
    /// `asset`.
    Asset(AssetRef),
}

impl ParamValue {
    /// The name of the type, for messages.
    pub fn type_name(&self) -> String {
        match self {
            Self::Bool(_) => "bool".into(),
            Self::Int(_) => "int".into(),
            Self::Float(_) => "float".into(),
            Self::Vector(v) => format!("float{}", v.len()),
            Self::Text(_) => "token".into(),
            Self::Asset(_) => "asset".into(),
        }
    }
}

/// An asset path as authored, and the layer that authored it, to which a
/// relative path is anchored.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct AssetRef {
    /// The text between the `@` signs.
    pub authored: String,
    /// Identifier of the authoring layer: an absolute file path, or a
    /// `lunco://` or `twin://` address.
    pub anchor: String,
}

/// A value and the attribute it came from.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Authored<T> {
    /// The value.
    pub value: T,
    /// Attribute path, e.g. `/Looks/Ground/Shader.inputs:weight_albedo`.
    pub path: String,
}

/// In which language a source is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ShaderLanguage {
    /// WESL: imports and conditional translation.
    Wesl,
    /// Plain WGSL.
    Wgsl,
}

/// A shader source named by a Material.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ShaderSource {
    /// The language of the attribute it was authored in.
    pub language: ShaderLanguage,
    /// Where it is.
    pub asset: AssetRef,
    /// Attribute path.
    pub path: String,
}

/// What a Material/Shader pair says about a surface: its shader, an optional
/// vertex stage, the interface it claims, and an open map of inputs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ShaderLook {
    /// Prim path of the Material.
    pub material: String,
    /// Prim path of its surface Shader.
    pub shader_prim: String,
    /// Fragment source and material contract.
    pub shader: ShaderSource,
    /// Optional vertex stage (geomorph).
    pub vertex_shader: Option<ShaderSource>,
    /// `info:wesl:interface`.
    pub interface: Option<Authored<String>>,
    /// Authored `inputs:*` by name, maps (`albedo_map`, ...) included.
    pub inputs: BTreeMap<String, Authored<ParamValue>>,
}

/// Floats are rounded to this step for the sharing key, so that looks that
/// differ by noise share a pipeline.
const KEY_QUANTUM: f64 = 1e-6;

impl ShaderLook {
    /// A key that is equal for looks that draw the same: sources, interface
    /// and values, floats quantised, prim paths left out.
    pub fn sharing_key(&self) -> ContentKey {
        let source = |key: KeyBuilder, label: &str, source: &ShaderSource| {
            key.bytes(label, source.asset.authored.as_bytes()).bytes("anchor", source.asset.anchor.as_bytes())
        };
        let mut key = source(KeyBuilder::new("shader-look", 1), "shader", &self.shader);
        if let Some(vertex) = &self.vertex_shader {
            key = source(key, "vertex", vertex);
        }
        if let Some(interface) = &self.interface {
            key = key.bytes("interface", interface.value.as_bytes());
        }
        for (name, input) in &self.inputs {
            key = key.bytes("input", name.as_bytes());
            let quantise = |v: f64| (v / KEY_QUANTUM).round() * KEY_QUANTUM;
            key = match &input.value {
                ParamValue::Bool(v) => key.bytes("bool", &[u8::from(*v)]),
                ParamValue::Int(v) => key.bytes("int", &v.to_le_bytes()),
                ParamValue::Float(v) => key.numbers("float", &[quantise(*v)]),
                ParamValue::Vector(v) => key.numbers("vector", &v.iter().map(|v| quantise(*v)).collect::<Vec<_>>()),
                ParamValue::Text(v) => key.bytes("text", v.as_bytes()),
                ParamValue::Asset(v) => key.bytes("asset", v.authored.as_bytes()).bytes("anchor", v.anchor.as_bytes()),
            };
        }
        key.finish()
    }
}
