//! UsdLux lights.
//!
//! Fallbacks are the schemas'; source:
//! <https://openusd.org/release/api/usd_lux_page_front.html>.

use crate::blackbody;
use crate::spec::{LightKind, LightSpec};
use crate::tree::Node;
use crate::values::Reading;
use crate::xform::World;
use terrane_core::{Diagnostic, Pose};

/// Light types other than the distant and the dome light.
const OTHER_TYPES: [&str; 7] =
    ["SphereLight", "RectLight", "DiskLight", "CylinderLight", "GeometryLight", "PortalLight", "PluginLight"];

/// API schemas that make a light of a prim of any type.
const LIGHT_APIS: [&str; 3] = ["LightAPI", "MeshLightAPI", "VolumeLightAPI"];

/// Every light, in traversal order.
pub(crate) fn read(reading: &Reading<'_>, world: &World<'_>, nodes: &[Node]) -> Vec<LightSpec> {
    nodes.iter().filter_map(|node| light(reading, world, node, kind(reading, node)?)).collect()
}

fn kind(reading: &Reading<'_>, node: &Node) -> Option<LightKind> {
    match node.type_name.as_str() {
        "DistantLight" => Some(LightKind::Distant),
        "DomeLight" | "DomeLight_1" => Some(LightKind::Dome),
        other if OTHER_TYPES.contains(&other) => Some(LightKind::Other),
        // Asking every prim for its schemas would cost more than all the rest.
        _ if node.properties.iter().any(|name| name.starts_with("inputs:intensity")) => {
            let schemas = reading.known(reading.stage.prim(node.path.clone()).api_schemas(), node.path.as_str())?;
            schemas.iter().any(|schema| LIGHT_APIS.contains(&schema.as_str())).then_some(LightKind::Other)
        }
        _ => None,
    }
}

fn light(reading: &Reading<'_>, world: &World<'_>, node: &Node, kind: LightKind) -> Option<LightSpec> {
    let number = |name: &str, fallback: f64| {
        if node.has(name) { reading.number(&node.path, name).unwrap_or(fallback) } else { fallback }
    };
    let pose = match kind {
        LightKind::Dome => world.light_pose(&node.path).unwrap_or(Pose::IDENTITY),
        _ => world.light_pose(&node.path)?,
    };
    let bright = if kind == LightKind::Distant { 50_000.0 } else { 1.0 };
    let mut intensity = number("inputs:intensity", bright) * number("inputs:exposure", 0.0).exp2();
    if !intensity.is_finite() {
        reading
            .say(Diagnostic::error("light-intensity", "light is infinitely bright; read as dark"), node.path.as_str());
        intensity = 0.0;
    }
    if kind == LightKind::Other {
        let title =
            format!("a {} does not light terrain", if node.type_name.is_empty() { "light" } else { &node.type_name });
        let diagnostic =
            Diagnostic::note("light-unsupported", title).with_detail("terrane uses DistantLight and DomeLight");
        reading.say(diagnostic, node.path.as_str());
    }
    Some(LightSpec {
        prim: node.path.as_str().to_owned(),
        kind,
        visible: world.visible(&node.path),
        pose,
        intensity,
        color: color(reading, node),
        angle_deg: number("inputs:angle", 0.53),
    })
}

fn color(reading: &Reading<'_>, node: &Node) -> [f64; 3] {
    let authored = node.has("inputs:color").then(|| reading.vector::<3>(&node.path, "inputs:color")).flatten();
    let color = authored.unwrap_or([1.0; 3]);
    let by_temperature = node.has("inputs:enableColorTemperature")
        && reading.flag(&node.path, "inputs:enableColorTemperature").unwrap_or(false);
    if !by_temperature {
        return color;
    }
    let kelvins = node.has("inputs:colorTemperature").then(|| reading.number(&node.path, "inputs:colorTemperature"));
    let tint = blackbody::linear_rgb(kelvins.flatten().unwrap_or(6500.0));
    std::array::from_fn(|i| color[i] * tint[i])
}
