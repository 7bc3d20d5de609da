//! What an author wrote against what the shader declares.

use crate::compile::Program;
use crate::reflect::{EngineFill, Param, ParamType};
use terrane_core::look::Authored;
use terrane_core::{Diagnostic, ParamValue, Place, ShaderLook};

/// Roles that only the engine fills.
const ENGINE_ROLES: &[&str] = &["height", "height_map", "shadow_cache", "shadow_cache_map"];
/// A name this similar is offered as the one that was meant.
const SIMILAR: f64 = 0.6;

impl Program {
    /// Says what is wrong with a look's inputs; `stage` names the file.
    pub fn check(&self, look: &ShaderLook, stage: &str) -> Vec<Diagnostic> {
        let inputs = look.inputs.iter();
        inputs
            .filter_map(|(name, input)| self.check_input(name, input))
            .map(|mut diagnostic| {
                diagnostic.place.file = Some(stage.to_owned());
                diagnostic
            })
            .collect()
    }

    fn check_input(&self, name: &str, input: &Authored<ParamValue>) -> Option<Diagnostic> {
        let error = |code: &str, title: &str, detail: String| {
            Some(Diagnostic::error(code, title).with_place(Place::prim(input.path.clone())).with_detail(detail))
        };
        if ENGINE_ROLES.contains(&name) {
            return error(
                "input-engine-owned",
                "shader input belongs to the engine",
                format!("`{name}` is filled from the DEM"),
            );
        }
        if self.textures.iter().any(|slot| slot.name == name) {
            return match &input.value {
                ParamValue::Asset(_) => None,
                other => error(
                    "input-type",
                    "shader input has the wrong type",
                    format!("`{name}` is a map: expected asset, found {}", other.type_name()),
                ),
            };
        }
        let Some(param) = self.params.iter().find(|param| param.name == name) else {
            let detail = format!("{} has no parameter `{name}`{}", file_name(&self.source), self.nearest(name));
            return error("input-unknown", "shader input not found", detail);
        };
        if param.engine.is_some() {
            return error(
                "input-engine-owned",
                "shader input belongs to the engine",
                format!("`{name}` is filled by the engine"),
            );
        }
        let Some(value) = numbers(param, &input.value) else {
            let detail = format!("`{name}` is {}, found {}", param.kind.name(), input.value.type_name());
            return error("input-type", "shader input has the wrong type", detail);
        };
        match param.range {
            Some([low, high]) if value.iter().any(|v| !(low..=high).contains(v)) => {
                let value = value.iter().map(f64::to_string).collect::<Vec<_>>().join(", ");
                error(
                    "input-range",
                    "shader input out of range",
                    format!("`{name}` is {value}; it goes from {low} to {high}"),
                )
            }
            _ => None,
        }
    }

    fn nearest(&self, name: &str) -> String {
        let authorable = self.params.iter().filter(|param| param.engine.is_none()).map(|param| &param.name);
        let known = authorable.chain(self.textures.iter().map(|slot| &slot.name));
        let best = known.map(|known| (strsim::jaro_winkler(name, known), known)).max_by(|a, b| a.0.total_cmp(&b.0));
        match best {
            Some((score, known)) if score > SIMILAR => format!("; did you mean `{known}`?"),
            _ => String::new(),
        }
    }

    /// The bytes of the Material uniform: authored values over defaults, and
    /// what `fill` gives for fields that the engine owns.
    pub fn uniform(&self, look: &ShaderLook, fill: impl Fn(&EngineFill) -> [f32; 4]) -> Vec<u8> {
        let size = self.uniform.map_or(0, |(_, size)| size as usize);
        let mut bytes = vec![0; size];
        for param in &self.params {
            let value = match (&param.engine, look.inputs.get(&param.name)) {
                (Some(engine), _) => fill(engine).iter().take(param.kind.len()).map(|v| f64::from(*v)).collect(),
                (None, Some(input)) => numbers(param, &input.value).unwrap_or_else(|| param.default.clone()),
                (None, None) => param.default.clone(),
            };
            for (word, value) in value.iter().enumerate() {
                let at = param.offset as usize + 4 * word;
                let encoded = match param.kind {
                    ParamType::Float | ParamType::Vector(_) => (*value as f32).to_le_bytes(),
                    ParamType::Int => (*value as i32).to_le_bytes(),
                    ParamType::Uint => (*value as u32).to_le_bytes(),
                };
                if let Some(target) = bytes.get_mut(at..at + 4) {
                    target.copy_from_slice(&encoded);
                }
            }
        }
        bytes
    }
}

fn file_name(identifier: &str) -> &str {
    identifier.rsplit('/').next().unwrap_or(identifier)
}

/// An authored value as the numbers of a parameter, when the types agree.
fn numbers(param: &Param, value: &ParamValue) -> Option<Vec<f64>> {
    match (param.kind, value) {
        (ParamType::Float, ParamValue::Float(v)) => Some(vec![*v]),
        (ParamType::Float | ParamType::Int | ParamType::Uint, ParamValue::Int(v)) => Some(vec![*v as f64]),
        (ParamType::Int | ParamType::Uint, ParamValue::Bool(v)) => Some(vec![f64::from(u8::from(*v))]),
        (ParamType::Vector(length), ParamValue::Vector(v)) if v.len() == usize::from(length) => Some(v.clone()),
        _ => None,
    }
    .filter(|numbers| numbers.iter().all(|v| v.is_finite()))
}
