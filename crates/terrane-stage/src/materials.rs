//! Materials whose surface Shader names a source asset.
//!
//! Source: <https://openusd.org/release/api/usd_shade_page_front.html> and
//! <https://openusd.org/release/api/class_usd_shade_node_def_a_p_i.html>.

use crate::tree::{Node, property};
use crate::values::Reading;
use openusd::sdf::Path;
use std::collections::BTreeMap;
use terrane_core::look::{Authored, ParamValue, ShaderLanguage, ShaderLook, ShaderSource};
use terrane_core::{Diagnostic, Place};

/// Surface outputs, the first that is connected counts: one for a language
/// terrane runs before the one for every renderer.
const SURFACES: [&str; 3] = ["outputs:wesl:surface", "outputs:wgsl:surface", "outputs:surface"];

/// Connections in a row; more is a cycle.
const MAX_HOPS: usize = 32;

/// Every Material that terrane can draw, by prim path.
pub(crate) fn read(reading: &Reading<'_>, nodes: &[Node]) -> BTreeMap<String, ShaderLook> {
    let materials = nodes.iter().filter(|node| node.type_name == "Material");
    let looks = materials.filter_map(|node| {
        let shader = surface_shader(reading, node)?;
        let shader = nodes.iter().find(|node| node.path == shader && node.type_name == "Shader")?;
        Some((node.path.as_str().to_owned(), look(reading, node, shader)?))
    });
    looks.collect()
}

/// The prim that the Material's surface comes from, through node graphs.
fn surface_shader(reading: &Reading<'_>, material: &Node) -> Option<Path> {
    let outputs = SURFACES.iter().filter(|name| material.has(name)).filter_map(|name| property(&material.path, name));
    let first = outputs.filter_map(|output| source_of(reading, &output)).next()?;
    let mut source = first;
    for _ in 0..MAX_HOPS {
        match source_of(reading, &source) {
            Some(next) => source = next,
            None => return Some(source.prim_path()),
        }
    }
    cycle(reading, &source);
    None
}

fn cycle(reading: &Reading<'_>, attribute: &Path) {
    let diagnostic = Diagnostic::error("connection-cycle", "connections lead in a circle");
    reading.say(diagnostic, attribute.as_str());
}

/// The first connection of an attribute.
fn source_of(reading: &Reading<'_>, attribute: &Path) -> Option<Path> {
    let connections = reading.stage.attribute(attribute.clone()).connections();
    reading.known(connections, attribute.as_str())?.into_iter().next()
}

fn look(reading: &Reading<'_>, material: &Node, shader: &Node) -> Option<ShaderLook> {
    let text = |name: &str| shader.has(name).then(|| reading.text(&shader.path, name)).flatten();
    if text("info:implementationSource").as_deref() != Some("sourceAsset") {
        return None;
    }
    let source = |role: &str| {
        [(ShaderLanguage::Wesl, "wesl"), (ShaderLanguage::Wgsl, "wgsl")]
            .iter()
            .find_map(|(language, name)| asset(reading, shader, *language, &format!("info:{name}:{role}")))
    };
    let Some(fragment) = source("sourceAsset") else {
        let diagnostic = Diagnostic::error("shader-source-missing", "shader names no source")
            .with_detail("info:implementationSource is `sourceAsset`, so info:wesl:sourceAsset (or info:wgsl:sourceAsset) has to be authored");
        reading.say(diagnostic, shader.path.as_str());
        return None;
    };
    let interface = ["info:wesl:interface", "info:wgsl:interface"].iter().find_map(|name| {
        let path = property(&shader.path, name)?;
        Some(Authored { value: text(name)?, path: path.as_str().to_owned() })
    });
    let names = shader.properties.iter().filter_map(|name| Some((name, name.strip_prefix("inputs:")?)));
    let inputs =
        names.filter_map(|(name, short)| Some((short.to_owned(), input(reading, &property(&shader.path, name)?)?)));
    Some(ShaderLook {
        material: material.path.as_str().to_owned(),
        shader_prim: shader.path.as_str().to_owned(),
        shader: fragment,
        vertex_shader: source("vertexAsset"),
        interface,
        inputs: inputs.collect(),
    })
}

fn asset(reading: &Reading<'_>, shader: &Node, language: ShaderLanguage, name: &str) -> Option<ShaderSource> {
    if !shader.has(name) {
        return None;
    }
    let path = property(&shader.path, name)?;
    match reading.param(&path)?.value {
        ParamValue::Asset(asset) if asset.authored.is_empty() => None,
        ParamValue::Asset(asset) => Some(ShaderSource { language, asset, path: path.as_str().to_owned() }),
        other => {
            let diagnostic = Diagnostic::error("value-type", "value has the wrong type");
            let detail = format!("expected an asset, found {}", other.type_name());
            reading.say(diagnostic.with_detail(detail), path.as_str());
            None
        }
    }
}

/// The value of an input: through connections to the interface of a Material
/// or NodeGraph, and to the file of a UsdUVTexture.
fn input(reading: &Reading<'_>, attribute: &Path) -> Option<Authored<ParamValue>> {
    let mut current = attribute.clone();
    for _ in 0..MAX_HOPS {
        let Some(source) = source_of(reading, &current) else { return reading.param(&current) };
        let next =
            if source.as_str().contains(".outputs:") { behind_output(reading, &source) } else { Some(source.clone()) };
        let exists = next.as_ref().is_some_and(|next| {
            let has = reading.stage.attribute(next.clone()).property_stack();
            reading.known(has, next.as_str()).is_some_and(|stack| !stack.is_empty())
        });
        match next {
            Some(next) if exists => current = next,
            _ => {
                let diagnostic = Diagnostic::warning(
                    "connection-unsupported",
                    "input is connected to nothing that has a value",
                )
                .with_detail(format!(
                    "{} is not an interface input nor the output of a UsdUVTexture; the input's own value counts",
                    source.as_str()
                ));
                let place = Place {
                    file: Some(reading.file.clone()),
                    prim: Some(current.as_str().to_owned()),
                    ..Place::default()
                };
                reading.diagnostics.borrow_mut().push(diagnostic.with_place(place));
                return reading.param(&current);
            }
        }
    }
    cycle(reading, attribute);
    None
}

/// What stands behind an output: the file of a texture node, or what a node
/// graph's output is connected to.
fn behind_output(reading: &Reading<'_>, output: &Path) -> Option<Path> {
    let prim = output.prim_path();
    match reading.text(&prim, "info:id").as_deref() {
        Some("UsdUVTexture") => property(&prim, "inputs:file"),
        Some(_) => None,
        None => source_of(reading, output).map(|_| output.clone()),
    }
}
