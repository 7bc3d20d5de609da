//! Facts about the whole stage: units, anchor, time, gravity.

use crate::spec::AnchorSpec;
use crate::tree::Node;
use crate::values::{Reading, number, text};
use crate::xform::Axes;
use openusd::sdf::{Path, Value};
use terrane_core::{Diagnostic, Place};

/// UsdGeom's fallback: centimetres.
const FALLBACK_METERS_PER_UNIT: f64 = 0.01;

/// `upAxis` and `metersPerUnit` of the root layer, with USD's fallbacks.
pub(crate) fn axes(reading: &Reading<'_>) -> Axes {
    let say = |diagnostic: Diagnostic| {
        reading.diagnostics.borrow_mut().push(diagnostic.with_place(Place::file(reading.file.clone())));
    };
    let metadata = |name: &str| reading.known(reading.stage.stage_metadata(name), "/").flatten();
    let z_up = match metadata("upAxis").as_ref().and_then(text).as_deref() {
        Some("Z") => true,
        Some("Y") | None => false,
        Some(other) => {
            say(Diagnostic::error("up-axis-invalid", format!("`{other}` is not an up axis"))
                .with_detail("upAxis has to be \"Y\" or \"Z\"; the stage was read as Y-up"));
            false
        }
    };
    let authored = metadata("metersPerUnit");
    let meters_per_unit = match authored.as_ref().map(number) {
        None => FALLBACK_METERS_PER_UNIT,
        Some(Some(metres)) if metres > 0.0 => metres,
        Some(_) => {
            say(Diagnostic::error("meters-per-unit-invalid", "metersPerUnit has to be a positive number")
                .with_detail(format!("found {}; the stage was read in centimetres, USD's fallback", shown(&authored))));
            FALLBACK_METERS_PER_UNIT
        }
    };
    Axes { meters_per_unit, z_up }
}

fn shown(value: &Option<Value>) -> String {
    match value {
        Some(Value::Double(v)) => v.to_string(),
        Some(Value::Float(v)) => v.to_string(),
        Some(other) => format!("{other:?}"),
        None => "nothing".into(),
    }
}

/// Warns once for each layer whose units or up axis differ from the root's:
/// USD does not convert what is referenced, and neither does terrane.
pub(crate) fn check_layers(reading: &Reading<'_>, axes: Axes, layers: &[String]) {
    let root = Path::abs_root();
    for identifier in layers.iter().filter(|identifier| **identifier != reading.root_layer) {
        let Some(layer) = reading.stage.layer(identifier) else { continue };
        let field = |name: &str| layer.data().try_field(&root, name).ok().flatten().map(|value| value.into_owned());
        let own_up = if axes.z_up { "Z" } else { "Y" };
        let mut differences = Vec::new();
        if let Some(metres) = field("metersPerUnit").as_ref().and_then(number)
            && (metres - axes.meters_per_unit).abs() > 1e-9 * axes.meters_per_unit
        {
            differences.push(format!("its metersPerUnit is {metres}, the stage's is {}", axes.meters_per_unit));
        }
        if let Some(up) = field("upAxis").as_ref().and_then(text)
            && up != own_up
        {
            differences.push(format!("its upAxis is {up}, the stage's is {own_up}"));
        }
        if !differences.is_empty() {
            let diagnostic =
                Diagnostic::warning("units-differ", "layer has other units or another up axis than the stage")
                    .with_place(Place::file(identifier.clone()))
                    .with_detail(differences.join("\n"))
                    .with_help("USD does not convert referenced layers: scale or turn the prim that references it");
            reading.diagnostics.borrow_mut().push(diagnostic);
        }
    }
}

/// The first prim with `lunco:anchor:lat` or `lon`.
pub(crate) fn anchor(reading: &Reading<'_>, nodes: &[Node]) -> Option<AnchorSpec> {
    let mut anchors = nodes.iter().filter(|node| node.has("lunco:anchor:lat") || node.has("lunco:anchor:lon"));
    let first = anchors.next()?;
    for other in anchors {
        let diagnostic = Diagnostic::warning("anchor-repeated", "a second site anchor has no effect")
            .with_detail(format!("{} already has one", first.path.as_str()));
        reading.say(diagnostic, other.path.as_str());
    }
    let number = |name: &str| first.has(name).then(|| reading.number(&first.path, name)).flatten();
    let (Some(lat_deg), Some(lon_deg)) = (number("lunco:anchor:lat"), number("lunco:anchor:lon")) else {
        let diagnostic =
            Diagnostic::error("anchor-incomplete", "site anchor needs both lunco:anchor:lat and lunco:anchor:lon");
        reading.say(diagnostic, first.path.as_str());
        return None;
    };
    if lat_deg.abs() > 90.0 || lon_deg.abs() > 360.0 {
        let diagnostic = Diagnostic::error("anchor-invalid", "site anchor is not on the body").with_detail(format!(
            "latitude {lat_deg}, longitude {lon_deg}; expected -90 to 90 and -360 to 360 degrees"
        ));
        reading.say(diagnostic, first.path.as_str());
        return None;
    }
    Some(AnchorSpec {
        prim: first.path.as_str().to_owned(),
        body: number("lunco:anchor:body").unwrap_or(301.0) as i64,
        lat_deg,
        lon_deg,
        height_m: number("lunco:anchor:height").unwrap_or(0.0),
    })
}

/// The first `lunco:time:epochJd`.
pub(crate) fn epoch_jd(reading: &Reading<'_>, nodes: &[Node]) -> Option<f64> {
    let mut epochs = nodes.iter().filter(|node| node.has("lunco:time:epochJd"));
    let first = epochs.next()?;
    for other in epochs {
        let diagnostic = Diagnostic::warning("epoch-repeated", "a second lunco:time:epochJd has no effect")
            .with_detail(format!("{} already has one", first.path.as_str()));
        reading.say(diagnostic, other.path.as_str());
    }
    reading.number(&first.path, "lunco:time:epochJd")
}

/// `physics:gravityMagnitude` of the first PhysicsScene, m/s2. Negative values
/// mean "the engine's default" in UsdPhysics and count as not authored.
pub(crate) fn gravity_m_s2(reading: &Reading<'_>, nodes: &[Node], axes: Axes) -> Option<f64> {
    let scene = nodes.iter().find(|node| node.type_name == "PhysicsScene")?;
    if !scene.has("physics:gravityMagnitude") {
        return None;
    }
    let value = reading.attribute(&scene.path, "physics:gravityMagnitude")?;
    number(&value).filter(|magnitude| *magnitude >= 0.0).map(|magnitude| magnitude * axes.meters_per_unit)
}
