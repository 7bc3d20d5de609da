//! Layered terrains: `lunco:assetMode = "layered"` and its layer prims.

use crate::binding;
use crate::spec::{TerrainLayer, TerrainSpec};
use crate::tree::{Node, property};
use crate::values::Reading;
use crate::vocabulary::{LAYER_ATTRIBUTES, LAYER_KINDS, ROOT_ATTRIBUTES, nearest};
use crate::xform::World;
use std::collections::{BTreeMap, BTreeSet};
use terrane_core::Diagnostic;
use terrane_core::look::{Authored, ParamValue};

/// Every terrain, in traversal order. `looks` are the Materials that terrane
/// can draw.
pub(crate) fn read(
    reading: &Reading<'_>,
    world: &World<'_>,
    nodes: &[Node],
    looks: &BTreeSet<String>,
) -> Vec<TerrainSpec> {
    let roots = nodes.iter().filter(|node| node.has("lunco:assetMode") && is_layered(reading, node));
    roots.map(|node| terrain(reading, world, nodes, looks, node)).collect()
}

fn is_layered(reading: &Reading<'_>, node: &Node) -> bool {
    match reading.text(&node.path, "lunco:assetMode") {
        Some(mode) if mode == "layered" => true,
        Some(mode) if nearest(&mode, ["layered"]).is_some() => {
            let diagnostic = Diagnostic::warning("unknown-asset-mode", format!("`{mode}` is not an asset mode"));
            let path = format!("{}.lunco:assetMode", node.path.as_str());
            reading.say(diagnostic.with_help("did you mean `layered`?"), &path);
            false
        }
        _ => false,
    }
}

fn terrain(
    reading: &Reading<'_>,
    world: &World<'_>,
    nodes: &[Node],
    looks: &BTreeSet<String>,
    node: &Node,
) -> TerrainSpec {
    let below = nodes.iter().filter(|child| child.path.parent().as_ref() == Some(&node.path));
    let layers = below.filter_map(|child| layer(reading, child)).collect();
    for deeper in nodes.iter().filter(|other| other.has("lunco:layer") && is_deeper(other, node)) {
        let diagnostic = Diagnostic::warning("layer-too-deep", "terrain layer is no child of its terrain")
            .with_detail(format!("only children of {} are its layers, so it has no effect", node.path.as_str()));
        reading.say(diagnostic, deeper.path.as_str());
    }
    let material = binding::bound_material(reading, &node.path);
    if let Some(material) = &material
        && !looks.contains(material)
    {
        let diagnostic = Diagnostic::warning("look-unsupported", "bound material has no shader that terrane can run")
            .with_detail(format!("{material} is bound to {}", node.path.as_str()))
            .with_help("give its surface Shader info:implementationSource = \"sourceAsset\" and info:wesl:sourceAsset");
        reading.say(diagnostic, material);
    }
    TerrainSpec {
        prim: node.path.as_str().to_owned(),
        visible: world.visible(&node.path),
        world_from_terrain: world.site_from_local(&node.path),
        layers,
        material,
        params: params(reading, node, &["lunco:terrain:", "lunco:layer:", "lunco:edit:"], &ROOT_ATTRIBUTES)
            .into_iter()
            .filter_map(|(name, value)| Some((name.strip_prefix("lunco:terrain:")?.to_owned(), value)))
            .collect(),
    }
}

/// True for a prim below another one that is not its child.
fn is_deeper(node: &Node, above: &Node) -> bool {
    let is_below = node.path.as_str().strip_prefix(above.path.as_str()).is_some_and(|rest| rest.starts_with('/'));
    is_below && node.path.parent().as_ref() != Some(&above.path)
}

fn layer(reading: &Reading<'_>, node: &Node) -> Option<TerrainLayer> {
    if !node.has("lunco:layer") {
        if let Some(stray) =
            node.properties.iter().find(|name| name.starts_with("lunco:layer:") || name.starts_with("lunco:edit:"))
        {
            let diagnostic = Diagnostic::warning("layer-kind-missing", "terrain layer does not say what it is")
                .with_detail(format!("it has `{stray}` but no `uniform token lunco:layer`, so it has no effect"));
            reading.say(diagnostic, node.path.as_str());
        }
        return None;
    }
    let kind = reading.text(&node.path, "lunco:layer")?;
    if !LAYER_KINDS.contains(&kind.as_str()) {
        let mut diagnostic =
            Diagnostic::warning("unknown-layer-kind", format!("`{kind}` is not a kind of terrain layer"))
                .with_detail(format!("known are {}", LAYER_KINDS.join(", ")));
        if let Some(near) = nearest(&kind, LAYER_KINDS) {
            diagnostic = diagnostic.with_help(format!("did you mean `{near}`?"));
        }
        reading.say(diagnostic, &format!("{}.lunco:layer", node.path.as_str()));
    }
    let params = params(reading, node, &["lunco:"], &LAYER_ATTRIBUTES);
    Some(TerrainLayer {
        prim: node.path.as_str().to_owned(),
        kind,
        enabled: !node.has("lunco:layer:enabled") || reading.flag(&node.path, "lunco:layer:enabled").unwrap_or(true),
        params: params
            .into_iter()
            .filter(|(name, _)| name.starts_with("lunco:layer:") || name.starts_with("lunco:edit:"))
            .filter(|(name, _)| name != "lunco:layer:enabled")
            .filter_map(|(name, value)| Some((name.strip_prefix("lunco:")?.to_owned(), value)))
            .collect(),
    })
}

/// Authored attributes whose name begins with one of `prefixes`, by full name.
/// Names that are not `known` are a warning, and read all the same.
fn params(
    reading: &Reading<'_>,
    node: &Node,
    prefixes: &[&str],
    known: &[&str],
) -> BTreeMap<String, Authored<ParamValue>> {
    let mut out = BTreeMap::new();
    for name in &node.properties {
        if !prefixes.iter().any(|prefix| name.starts_with(prefix)) || name == "lunco:layer" {
            continue;
        }
        let Some(path) = property(&node.path, name) else { continue };
        if !known.contains(&name.as_str()) && !ROOT_ATTRIBUTES.contains(&name.as_str()) {
            let mut diagnostic = Diagnostic::warning("unknown-attribute", format!("no attribute is named `{name}`"))
                .with_detail("it has no effect");
            if let Some(near) = nearest(name, known.iter().copied()) {
                diagnostic = diagnostic.with_help(format!("did you mean `{near}`?"));
            }
            reading.say(diagnostic, path.as_str());
        }
        if let Some(value) = reading.param(&path) {
            out.insert(name.clone(), value);
        }
    }
    out
}
