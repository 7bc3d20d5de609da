//! Composed values at one time, as plain data.
//!
//! A time sample of a `float` comes back from openusd as a double, and getters
//! are strict about types, so everything is read as a value and converted here.

use crate::tree::property;
use glam::{DMat4, DQuat};
use openusd::sdf::{self, Value};
use openusd::usd::{Stage, TimeCode};
use std::cell::RefCell;
use std::fmt::Display;
use terrane_core::look::{AssetRef, Authored, ParamValue};
use terrane_core::{Diagnostic, Place, Severity};

/// An open stage, the time to read it at, and where messages go.
pub(crate) struct Reading<'a> {
    pub stage: &'a Stage,
    /// `None` reads defaults, and the first sample where there is none.
    pub time: Option<f64>,
    /// The stage as the user named it, for messages.
    pub file: String,
    /// Identifier of the root layer.
    pub root_layer: String,
    pub diagnostics: RefCell<Vec<Diagnostic>>,
}

impl Reading<'_> {
    /// Adds a message about a prim or attribute path.
    pub fn say(&self, diagnostic: Diagnostic, path: &str) {
        let place = Place { file: Some(self.file.clone()), prim: Some(path.to_owned()), ..Place::default() };
        self.diagnostics.borrow_mut().push(diagnostic.with_place(place));
    }

    /// The value of a fallible look-up, or a message and `None`.
    pub fn known<T, E: Display>(&self, result: Result<T, E>, path: &str) -> Option<T> {
        result
            .inspect_err(|error| {
                let diagnostic = Diagnostic::error("value-unreadable", "value can't be read");
                self.say(diagnostic.with_detail(format!("{error:#}")), path);
            })
            .ok()
    }

    /// The composed value of an attribute; blocked and unauthored is `None`.
    pub fn value(&self, path: &sdf::Path) -> Option<Value> {
        let attribute = self.stage.attribute(path.clone());
        let at = |time: f64| self.known(attribute.get_at::<Value>(TimeCode::new(time)), path.as_str()).flatten();
        let value = match self.time {
            Some(time) => self.between_samples(path, time).or_else(|| at(time)),
            None => match self.known(attribute.get::<Value>(), path.as_str()).flatten() {
                Some(value) => Some(value),
                None => {
                    let times = self.known(attribute.time_sample_times(), path.as_str())?;
                    times.first().and_then(|&first| at(first))
                }
            },
        };
        value.filter(|value| !matches!(value, Value::None | Value::ValueBlock))
    }

    /// Linear interpolation of scalar samples. openusd 0.6.0 takes a sample
    /// written `10` for an integer, whatever the attribute's type, and holds
    /// integers instead of interpolating them.
    fn between_samples(&self, path: &sdf::Path, time: f64) -> Option<Value> {
        let attribute = self.stage.attribute(path.clone());
        let (lower, upper) = self.known(attribute.bracketing_time_samples(time), path.as_str()).flatten()?;
        let kind = self.known(attribute.type_name(), path.as_str()).flatten()?;
        if upper <= lower || !matches!(kind.as_str(), "half" | "float" | "double") {
            return None;
        }
        let sample = |time: f64| {
            let value = self.known(attribute.get_at::<Value>(TimeCode::new(time)), path.as_str()).flatten();
            value.as_ref().and_then(number)
        };
        let (before, after) = (sample(lower)?, sample(upper)?);
        Some(Value::Double(before + (after - before) * (time - lower) / (upper - lower)))
    }

    /// The value of a prim's attribute.
    pub fn attribute(&self, prim: &sdf::Path, name: &str) -> Option<Value> {
        self.value(&property(prim, name)?)
    }

    /// A finite number; another type or a NaN is a message and `None`.
    pub fn number(&self, prim: &sdf::Path, name: &str) -> Option<f64> {
        self.converted(prim, name, "a number", number)
    }

    /// A list of `N` finite numbers.
    pub fn vector<const N: usize>(&self, prim: &sdf::Path, name: &str) -> Option<[f64; N]> {
        self.converted(prim, name, "a tuple of numbers", |value| vector(value)?.try_into().ok())
    }

    /// A token or string.
    pub fn text(&self, prim: &sdf::Path, name: &str) -> Option<String> {
        self.converted(prim, name, "a token", text)
    }

    /// A bool; 0 and 1 count.
    pub fn flag(&self, prim: &sdf::Path, name: &str) -> Option<bool> {
        self.converted(prim, name, "a bool", |value| match value {
            Value::Bool(value) => Some(*value),
            other => number(other).map(|value| value != 0.0),
        })
    }

    fn converted<T>(
        &self,
        prim: &sdf::Path,
        name: &str,
        expected: &str,
        convert: impl Fn(&Value) -> Option<T>,
    ) -> Option<T> {
        let path = property(prim, name)?;
        let value = self.value(&path)?;
        let converted = convert(&value);
        if converted.is_none() {
            let diagnostic = Diagnostic::error("value-type", "value has the wrong type or is not finite");
            let kind: &'static str = (&value).into();
            self.say(diagnostic.with_detail(format!("expected {expected}, found {kind}")), path.as_str());
        }
        converted
    }

    /// An attribute as a parameter. Types that have no parameter value are a
    /// warning and `None`.
    pub fn param(&self, path: &sdf::Path) -> Option<Authored<ParamValue>> {
        let value = self.value(path)?;
        let kind: &'static str = (&value).into();
        let converted = match value {
            Value::Bool(value) => Some(ParamValue::Bool(value)),
            Value::AssetPath(asset) => Some(ParamValue::Asset(AssetRef {
                authored: asset.asset_path().to_owned(),
                anchor: self.authoring_layer(path),
            })),
            other => integer(&other)
                .map(ParamValue::Int)
                .or_else(|| number(&other).map(ParamValue::Float))
                .or_else(|| vector(&other).map(ParamValue::Vector))
                .or_else(|| text(&other).map(ParamValue::Text)),
        };
        if converted.is_none() {
            // A number that is none (nan, inf) is a mistake; a type that has no use here is not.
            let is_number = ["Half", "Float", "Double", "Vec"].iter().any(|name| kind.starts_with(name));
            let severity = if is_number { Severity::Error } else { Severity::Warning };
            let diagnostic = Diagnostic::new(severity, "input-type-unsupported", "value can't be used");
            let detail = match is_number {
                true => format!("found {kind} that is not finite, or of more than 4 numbers"),
                false => format!("found {kind}; known are bool, int, float, tuples of 2 to 4, token, string, asset"),
            };
            self.say(diagnostic.with_detail(detail), path.as_str());
        }
        Some(Authored { value: converted?, path: path.as_str().to_owned() })
    }

    /// Identifier of the layer with the strongest value of an attribute.
    fn authoring_layer(&self, path: &sdf::Path) -> String {
        let stack = self.known(self.stage.attribute(path.clone()).property_stack(), path.as_str()).unwrap_or_default();
        let has_value = |(layer, spec): &&(String, sdf::Path)| {
            self.stage.layer(layer).is_some_and(|layer| {
                [sdf::FieldKey::Default, sdf::FieldKey::TimeSamples]
                    .iter()
                    .any(|field| layer.data().has_field(spec, field.as_str()))
            })
        };
        let strongest = stack.iter().find(has_value).or(stack.first());
        strongest.map_or_else(|| self.root_layer.clone(), |(layer, _)| layer.clone())
    }
}

/// What the author wrote, not the nearest double of its single-precision form:
/// 0.1 stays 0.1, so that a value equals the range limit it was copied from.
fn decimal(value: f32) -> f64 {
    value.to_string().parse().unwrap_or(f64::from(value))
}

fn integer(value: &Value) -> Option<i64> {
    match value {
        Value::Uchar(v) => Some(i64::from(*v)),
        Value::Int(v) => Some(i64::from(*v)),
        Value::Uint(v) => Some(i64::from(*v)),
        Value::Int64(v) => Some(*v),
        Value::Uint64(v) => i64::try_from(*v).ok(),
        _ => None,
    }
}

/// A finite number of any numeric type.
pub(crate) fn number(value: &Value) -> Option<f64> {
    let number = match value {
        Value::Half(v) => f64::from(v.to_f32()),
        Value::Float(v) => decimal(*v),
        Value::Double(v) => *v,
        Value::TimeCode(v) => v.0,
        other => integer(other)? as f64,
    };
    number.is_finite().then_some(number)
}

/// Two to four finite numbers.
pub(crate) fn vector(value: &Value) -> Option<Vec<f64>> {
    let numbers: Vec<f64> = match value {
        Value::Vec2h(v) => <[_; 2]>::from(*v).map(|c| f64::from(c.to_f32())).to_vec(),
        Value::Vec3h(v) => <[_; 3]>::from(*v).map(|c| f64::from(c.to_f32())).to_vec(),
        Value::Vec4h(v) => <[_; 4]>::from(*v).map(|c| f64::from(c.to_f32())).to_vec(),
        Value::Vec2f(v) => <[f32; 2]>::from(*v).map(decimal).to_vec(),
        Value::Vec3f(v) => <[f32; 3]>::from(*v).map(decimal).to_vec(),
        Value::Vec4f(v) => <[f32; 4]>::from(*v).map(decimal).to_vec(),
        Value::Vec2d(v) => <[f64; 2]>::from(*v).to_vec(),
        Value::Vec3d(v) => <[f64; 3]>::from(*v).to_vec(),
        Value::Vec4d(v) => <[f64; 4]>::from(*v).to_vec(),
        Value::Vec2i(v) => <[i32; 2]>::from(*v).map(f64::from).to_vec(),
        Value::Vec3i(v) => <[i32; 3]>::from(*v).map(f64::from).to_vec(),
        Value::Vec4i(v) => <[i32; 4]>::from(*v).map(f64::from).to_vec(),
        _ => return None,
    };
    numbers.iter().all(|number| number.is_finite()).then_some(numbers)
}

/// A token or string.
pub(crate) fn text(value: &Value) -> Option<String> {
    match value {
        Value::Token(token) => Some(token.as_str().to_owned()),
        Value::String(string) => Some(string.clone()),
        _ => None,
    }
}

/// A list of tokens or strings.
pub(crate) fn texts(value: &Value) -> Option<Vec<String>> {
    match value {
        Value::TokenVec(tokens) => Some(tokens.iter().map(|token| token.as_str().to_owned()).collect()),
        Value::StringVec(strings) => Some(strings.clone()),
        _ => None,
    }
}

/// A finite matrix, as it acts on column vectors: USD stores the rows of a
/// matrix that acts on row vectors, which are the columns of this one.
pub(crate) fn matrix(value: &Value) -> Option<DMat4> {
    match value {
        Value::Matrix4d(rows) => Some(DMat4::from_cols_array(&rows.0)).filter(|matrix| matrix.is_finite()),
        _ => None,
    }
}

/// A rotation; a zero quaternion is none.
pub(crate) fn rotation(value: &Value) -> Option<DQuat> {
    let [w, x, y, z] = match value {
        Value::Quath(q) => [q.w, q.x, q.y, q.z].map(|c| f64::from(c.to_f32())),
        Value::Quatf(q) => [q.w, q.x, q.y, q.z].map(f64::from),
        Value::Quatd(q) => [q.w, q.x, q.y, q.z],
        _ => return None,
    };
    let quaternion = DQuat::from_xyzw(x, y, z, w);
    let usable = quaternion.is_finite() && quaternion.length_squared() > 0.0;
    usable.then(|| quaternion.normalize())
}
