//! What a shader declares: parameters with offsets from naga and annotations
//! from the comments of its `struct Material`; textures by name.
//!
//! Annotations stand above a member: `//!@default 1`, `//!@ui 0 1` (range),
//! `//!@unit m`, `//!@engine placement albedo_map` (filled by the engine, not
//! authorable). Plain `//` comments become the description.

use naga::{AddressSpace, Module, ScalarKind, TypeInner, VectorSize};
use serde::Serialize;
use std::collections::BTreeMap;

/// The bind group that belongs to a material.
pub const MATERIAL_GROUP: u32 = 2;

/// What naga_oil puts into the names of what a module imports.
const ENGINE_MARK: &str = "naga_oil";
const MAX_BINDING: u32 = 31;
/// What every device binds beside the engine's own.
const MAX_TEXTURES: usize = 12;

/// Type of a parameter.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum ParamType {
    /// `f32`.
    Float,
    /// `i32`.
    Int,
    /// `u32`; booleans too.
    Uint,
    /// `vec2<f32>` to `vec4<f32>`.
    Vector(u8),
}

/// What the engine fills by itself.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum EngineFill {
    /// Where a raster layer lies: (x, z) of its first pixel centre relative to
    /// the eye in metres, pixels per metre, 1 when it is bound.
    Placement(String),
}

/// One member of `struct Material`.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Param {
    /// Name, as in `inputs:<name>`.
    pub name: String,
    /// Type.
    pub kind: ParamType,
    /// Offset in the uniform buffer, bytes.
    pub offset: u32,
    /// Value when nothing is authored.
    pub default: Vec<f64>,
    /// Smallest and largest sensible value.
    pub range: Option<[f64; 2]>,
    /// Unit, when stated.
    pub unit: Option<String>,
    /// What it does, in the shader author's words.
    pub description: String,
    /// Set when the engine fills it.
    pub engine: Option<EngineFill>,
}

/// A texture that the shader binds.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct TextureSlot {
    /// Name, as in `inputs:<name>`.
    pub name: String,
    /// Binding in group 2, the material's.
    pub binding: u32,
}

/// Everything reflected from a fragment module.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct Reflection {
    pub(crate) params: Vec<Param>,
    pub(crate) uniform: Option<(u32, u32)>,
    pub(crate) textures: Vec<TextureSlot>,
    pub(crate) samplers: Vec<u32>,
}

/// Reads group 2 of a module, and the annotations of the source that declares
/// `struct Material`. `Err` says what the engine can't bind.
pub(crate) fn reflect(module: &Module, source: &str) -> Result<Reflection, String> {
    let annotations = annotations(source)?;
    let mut out = Reflection::default();
    for (_, variable) in module.global_variables.iter() {
        let name = variable.name.clone().unwrap_or_default();
        let Some(binding) = variable.binding else { continue };
        if binding.group != MATERIAL_GROUP {
            // The engine's own names carry naga_oil's mark.
            if name.contains(ENGINE_MARK) {
                continue;
            }
            return Err(format!("`{name}` is in group {}; a material owns group {MATERIAL_GROUP}", binding.group));
        }
        if binding.binding > MAX_BINDING || out.textures.len() >= MAX_TEXTURES {
            return Err(format!(
                "`{name}`: bindings go to {MAX_BINDING}, and a material has at most {MAX_TEXTURES} textures"
            ));
        }
        match (&module.types[variable.ty].inner, variable.space) {
            (TypeInner::Struct { members, span }, AddressSpace::Uniform) if out.uniform.is_none() => {
                out.uniform = Some((binding.binding, *span));
                for member in members {
                    let name = member.name.clone().unwrap_or_default();
                    let kind = param_type(&module.types[member.ty].inner)
                        .ok_or_else(|| format!("parameter `{name}` is neither f32, i32, u32 nor a vector of f32"))?;
                    let known = annotations.get(&name).cloned().unwrap_or_default();
                    out.params.push(param(name, kind, member.offset, known)?);
                }
            }
            (
                TypeInner::Image {
                    dim: naga::ImageDimension::D2,
                    arrayed: false,
                    class: naga::ImageClass::Sampled { kind: ScalarKind::Float, multi: false },
                },
                _,
            ) => {
                out.textures.push(TextureSlot { name, binding: binding.binding });
            }
            (TypeInner::Sampler { comparison: false }, _) => out.samplers.push(binding.binding),
            _ => {
                return Err(format!(
                    "`{name}` in group {MATERIAL_GROUP} is neither the one Material uniform, a texture_2d<f32> nor a sampler"
                ));
            }
        }
    }
    out.textures.sort_by_key(|slot| slot.binding);
    Ok(out)
}

fn param_type(inner: &TypeInner) -> Option<ParamType> {
    match inner {
        TypeInner::Scalar(scalar) if scalar.width == 4 => match scalar.kind {
            ScalarKind::Float => Some(ParamType::Float),
            ScalarKind::Sint => Some(ParamType::Int),
            ScalarKind::Uint => Some(ParamType::Uint),
            _ => None,
        },
        TypeInner::Vector { size, scalar } if scalar.kind == ScalarKind::Float && scalar.width == 4 => {
            Some(ParamType::Vector(match size {
                VectorSize::Bi => 2,
                VectorSize::Tri => 3,
                VectorSize::Quad => 4,
            }))
        }
        _ => None,
    }
}

impl ParamType {
    /// How many numbers a value has.
    pub fn len(self) -> usize {
        if let Self::Vector(length) = self { length.into() } else { 1 }
    }

    /// Never: a value has at least one number.
    pub fn is_empty(self) -> bool {
        false
    }

    /// The name of the type, as USD would write it.
    pub fn name(self) -> String {
        match self {
            Self::Float => "float".into(),
            Self::Int => "int".into(),
            Self::Uint => "uint".into(),
            Self::Vector(length) => format!("float{length}"),
        }
    }
}

#[derive(Debug, Clone, Default)]
struct Annotation {
    default: Option<Vec<f64>>,
    range: Option<[f64; 2]>,
    unit: Option<String>,
    engine: Option<EngineFill>,
    description: Vec<String>,
}

fn param(name: String, kind: ParamType, offset: u32, known: Annotation) -> Result<Param, String> {
    let default = known.default.unwrap_or_else(|| vec![0.0; kind.len()]);
    if default.len() != kind.len() {
        return Err(format!(
            "`//!@default` of `{name}` has {} numbers, its type {} has {}",
            default.len(),
            kind.name(),
            kind.len()
        ));
    }
    let Annotation { range, unit, engine, description, .. } = known;
    Ok(Param { name, kind, offset, default, range, unit, engine, description: description.join(" ") })
}

fn annotations(source: &str) -> Result<BTreeMap<String, Annotation>, String> {
    let mut out = BTreeMap::new();
    let Some((_, body)) = source.split_once("struct Material") else { return Ok(out) };
    let mut current = Annotation::default();
    for line in body.lines().skip(1).map(str::trim).take_while(|line| !line.starts_with('}')) {
        if let Some(text) = line.strip_prefix("//!@") {
            annotate(&mut current, text).map_err(|why| format!("`//!@{text}`: {why}"))?;
        } else if let Some(text) = line.strip_prefix("//") {
            current.description.push(text.trim().to_owned());
        } else if let Some((name, _)) = line.split_once(':') {
            let name = name.rsplit(char::is_whitespace).next().unwrap_or(name);
            out.insert(name.to_owned(), std::mem::take(&mut current));
        }
    }
    Ok(out)
}

fn annotate(annotation: &mut Annotation, text: &str) -> Result<(), String> {
    let (word, rest) = text.split_once(char::is_whitespace).unwrap_or((text, ""));
    let numbers = || -> Result<Vec<f64>, String> {
        rest.split_whitespace().map(|n| n.parse().map_err(|_| format!("`{n}` is not a number"))).collect()
    };
    match word {
        "default" => annotation.default = Some(numbers()?),
        "ui" => match numbers()?[..] {
            [low, high] if low <= high => annotation.range = Some([low, high]),
            _ => return Err("expected a smallest and a largest value".into()),
        },
        "unit" => annotation.unit = Some(rest.trim().to_owned()),
        "engine" => match rest.split_whitespace().collect::<Vec<_>>()[..] {
            ["placement", map] => annotation.engine = Some(EngineFill::Placement(map.to_owned())),
            _ => return Err("the engine fills `placement <map>`".into()),
        },
        _ => return Err("known are default, ui, unit and engine".into()),
    }
    Ok(())
}
