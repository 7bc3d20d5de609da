//! UsdGeomCamera.
//!
//! Fallbacks are the schema's; sources:
//! <https://openusd.org/release/api/class_usd_geom_camera.html>.

use crate::spec::CameraSpec;
use crate::tree::Node;
use crate::values::Reading;
use crate::xform::World;
use terrane_core::Diagnostic;
use terrane_core::camera::{Lens, Projection};

/// Every camera, in traversal order.
pub(crate) fn read(reading: &Reading<'_>, world: &World<'_>, nodes: &[Node]) -> Vec<CameraSpec> {
    nodes.iter().filter(|node| node.type_name == "Camera").filter_map(|node| camera(reading, world, node)).collect()
}

fn camera(reading: &Reading<'_>, world: &World<'_>, node: &Node) -> Option<CameraSpec> {
    let pose = world.camera_pose(&node.path)?;
    let metres = world.axes().meters_per_unit;
    let fallback = Lens::default();
    let number = |name: &str, fallback: f64| {
        if node.has(name) { reading.number(&node.path, name).unwrap_or(fallback) } else { fallback }
    };
    let [near, far] = node
        .has("clippingRange")
        .then(|| reading.vector::<2>(&node.path, "clippingRange"))
        .flatten()
        .unwrap_or([fallback.near_m, fallback.far_m]);
    let lens = Lens {
        projection: projection(reading, node),
        focal_length: number("focalLength", fallback.focal_length),
        horizontal_aperture: number("horizontalAperture", fallback.horizontal_aperture),
        vertical_aperture: number("verticalAperture", fallback.vertical_aperture),
        horizontal_aperture_offset: number("horizontalApertureOffset", 0.0),
        vertical_aperture_offset: number("verticalApertureOffset", 0.0),
        near_m: near * metres,
        far_m: far * metres,
        meters_per_unit: metres,
    };
    let exposure_stops = exposure(reading, node, number);
    Some(CameraSpec { prim: node.path.as_str().to_owned(), pose, lens, exposure_stops })
}

fn projection(reading: &Reading<'_>, node: &Node) -> Projection {
    match node.has("projection").then(|| reading.text(&node.path, "projection")).flatten().as_deref() {
        Some("orthographic") => Projection::Orthographic,
        Some("perspective") | None => Projection::Perspective,
        Some(other) => {
            let diagnostic = Diagnostic::error("camera-projection", format!("`{other}` is not a projection"))
                .with_detail("expected `perspective` or `orthographic`; read as perspective");
            reading.say(diagnostic, &format!("{}.projection", node.path.as_str()));
            Projection::Perspective
        }
    }
}

/// Base-2 logarithm of UsdGeomCamera's linear exposure scale,
/// `2^exposure * time * iso * responsivity / (100 * fStop^2)`.
fn exposure(reading: &Reading<'_>, node: &Node, number: impl Fn(&str, f64) -> f64) -> Option<f64> {
    let authored = |name: &str| node.has(name) && reading.attribute(&node.path, name).is_some();
    let model = ["exposure:time", "exposure:iso", "exposure:fStop", "exposure:responsivity"];
    let uses_model = model.iter().any(|name| authored(name));
    if !uses_model && !authored("exposure") {
        return None;
    }
    let stops = number("exposure", 0.0);
    if !uses_model {
        return Some(stops);
    }
    let scale = number("exposure:time", 1.0) * number("exposure:iso", 100.0) * number("exposure:responsivity", 1.0)
        / (100.0 * number("exposure:fStop", 1.0).powi(2));
    if scale.is_finite() && scale > 0.0 {
        return Some(stops + scale.log2());
    }
    let diagnostic = Diagnostic::error("camera-exposure", "exposure attributes give no positive exposure")
        .with_detail("exposure:time, exposure:iso, exposure:responsivity and exposure:fStop have to be positive");
    reading.say(diagnostic, node.path.as_str());
    Some(stops)
}
