//! Files that other people wrote, against what OpenUSD says about them.

// Helpers outside #[test] may fail a test.
#![allow(clippy::unwrap_used)]

mod common;

use common::{confined, shared_usd};
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::Path;
use terrane_stage::{ReadRequest, SiteSpec};

fn expectations(folder: &Path, section: &str) -> BTreeMap<String, Value> {
    let text = std::fs::read_to_string(folder.join("expected.json")).unwrap();
    let all: BTreeMap<String, Value> = serde_json::from_str(&text).unwrap();
    serde_json::from_value(all[section].clone()).unwrap()
}

fn vec3(value: &Value) -> glam::DVec3 {
    glam::DVec3::from_array(serde_json::from_value(value.clone()).unwrap())
}

/// Turns a direction or point of the stage to metres with +Y up.
fn turned(spec: &SiteSpec, v: glam::DVec3) -> glam::DVec3 {
    if spec.up_axis == "Z" { glam::DVec3::new(v.x, v.z, -v.y) } else { v }
}

/// Differences between what was read and what OpenUSD found.
fn differences(spec: &SiteSpec, expected: &Value) -> Vec<String> {
    let mut out = Vec::new();
    let count = |name: &str| expected[name].as_u64().unwrap() as usize;
    for (name, found) in [
        ("camera_count", spec.cameras.len()),
        ("light_count", spec.lights.len()),
        ("prims_active_defined_loaded", spec.prim_count),
    ] {
        if found != count(name) {
            out.push(format!("{name} is {found}, expected {}", count(name)));
        }
    }
    let layers = [
        "layer-missing",
        "layer-parse",
        "reference-cycle",
        "reference-prim-missing",
        "default-prim-missing",
        "composition",
    ];
    let found = spec.diagnostics.iter().filter(|d| layers.contains(&d.code.as_str())).count();
    if found != count("composition_errors") {
        out.push(format!("composition_errors is {found}, expected {}", count("composition_errors")));
    }
    let metres = expected["metersPerUnit"].as_f64().unwrap();
    if (metres - spec.meters_per_unit).abs() > 1e-12 {
        out.push(format!("metersPerUnit is {}, expected {metres}", spec.meters_per_unit));
    }
    for light in expected["lights"].as_array().unwrap() {
        let path = light["path"].as_str().unwrap();
        let Some(found) = spec.lights.iter().find(|light| light.prim == path) else { continue };
        let shines = found.pose.rotation * glam::DVec3::NEG_Z;
        let wanted = turned(spec, vec3(&light["emit_dir_world"]));
        if (shines - wanted).length() > 1e-4 {
            out.push(format!("{path} shines along {shines}, expected {wanted}"));
        }
    }
    for material in expected["materials"].as_array().unwrap() {
        let source = &material["sourceAssets"]["info:wgsl:sourceAsset"];
        if let (Some(path), Some(source)) = (material["path"].as_str(), source.as_str()) {
            let found = spec.looks.get(path).map(|look| look.shader.asset.authored.as_str());
            if found != Some(source) {
                out.push(format!("{path} has shader {found:?}, expected {source}"));
            }
        }
    }
    out
}

fn camera_differences(spec: &SiteSpec, path: &str, values: &Value) -> Vec<String> {
    let mut out = Vec::new();
    let Some(camera) = spec.cameras.iter().find(|camera| camera.prim == path) else {
        return vec![format!("no {path}")];
    };
    let metres = spec.meters_per_unit;
    let wanted = turned(spec, vec3(&values["pos"])) * metres;
    if (camera.pose.position_m - wanted).length() > 1e-5 * wanted.length().max(1.0) {
        out.push(format!("{path} is at {}, expected {wanted}", camera.pose.position_m));
    }
    let looks = camera.pose.rotation * glam::DVec3::NEG_Z;
    let wanted = turned(spec, vec3(&values["fwd"]));
    if (looks - wanted).length() > 1e-4 {
        out.push(format!("{path} looks along {looks}, expected {wanted}"));
    }
    let number = |name: &str| values[name].as_f64().unwrap();
    let clip: [f64; 2] = serde_json::from_value(values["clip"].clone()).unwrap();
    for (name, found, wanted) in [
        ("focal", camera.lens.focal_length, number("focal")),
        ("hap", camera.lens.horizontal_aperture, number("hap")),
        ("vap", camera.lens.vertical_aperture, number("vap")),
        ("hoff", camera.lens.horizontal_aperture_offset, number("hoff")),
        ("voff", camera.lens.vertical_aperture_offset, number("voff")),
        ("near", camera.lens.near_m, clip[0] * metres),
        ("far", camera.lens.far_m, clip[1] * metres),
    ] {
        if (found - wanted).abs() > 2e-5 * wanted.abs().max(1e-3) {
            out.push(format!("{path}: {name} is {found}, expected {wanted}"));
        }
    }
    out
}

/// Reads every file of a section and returns what differs, by file.
fn compare(folder: &Path, section: &str, library: Option<&str>) -> BTreeMap<String, Vec<String>> {
    let reader = confined();
    let mut all = BTreeMap::new();
    for (name, expected) in expectations(folder, section) {
        let mut request = ReadRequest::new(folder.join(&name));
        request.library_override = library.map(|library| folder.join(library));
        let opens = expected.get("prims_all").is_some();
        let mut out = Vec::new();
        match reader.read(&request) {
            Ok(spec) if opens => {
                out.extend(differences(&spec, &expected));
                for camera in expected["cameras"].as_array().unwrap() {
                    let path = camera["path"].as_str().unwrap();
                    for values in camera["values"].as_array().unwrap() {
                        let sampled = camera["samples"] != 0;
                        let timed = match values["t"].as_f64() {
                            // Without a default, OpenUSD says "fallback" and terrane the first sample.
                            None if sampled => continue,
                            None => None,
                            Some(time) => Some(ReadRequest { time_code: Some(time), ..request.clone() }),
                        };
                        let timed = timed.map(|request| reader.read(&request).unwrap());
                        out.extend(camera_differences(timed.as_ref().unwrap_or(&spec), path, values));
                    }
                }
            }
            Ok(_) => {}
            Err(error) if opens => out.push(format!("does not open: {}", error.diagnostic())),
            Err(_) => {}
        }
        if !out.is_empty() {
            all.insert(name, out);
        }
    }
    all
}

/// Takes away the differences that have a reason.
fn without_known(mut found: BTreeMap<String, Vec<String>>, known: &[(&str, &str)]) -> BTreeMap<String, Vec<String>> {
    for (file, reason) in known {
        assert!(found.remove(*file).is_some(), "{file} agrees now; it differed because {reason}");
    }
    found
}

#[test]
fn every_file_agrees_with_openusd() {
    let Some(folder) = shared_usd() else { return };
    let library = "OpenUSD had no lunco:// library, terrane's holds the Sun and the lunar base";
    let known = [
        ("luncosim/assets/scenes/base/lunar_surface.usda", library),
        ("luncosim/assets/scenes/luncosim/sandbox_scene.usda", library),
        ("luncosim/assets/scenes/terrain_only.usda", library),
        ("luncosim/assets/scenes/tests/lint_selftest.usda", library),
        (
            "openusd/pxr/usd/usd/testenv/testUsdUsdzFileFormat/search_refs_sub.usdz",
            "openusd 0.6.0 does not resolve search paths inside a package, so one reference is missing",
        ),
        (
            "openusd/pxr/usd/usd/testenv/testUsdUsdzFileFormat/nested_anchored_refs.usdz",
            "openusd 0.6.0 does not open a package whose first entry is a package",
        ),
    ];
    let found = without_known(compare(&folder, "plain", None), &known);
    assert!(found.is_empty(), "{found:#?}");
}

#[test]
fn platform_scenes_agree_with_openusd_when_the_library_is_theirs() {
    let Some(folder) = shared_usd() else { return };
    let known = [
        ("luncosim/assets/scenes/luncosim/lander_cinematic.usda", "its sublayer lander_ops.usda is not in the folder"),
        ("luncosim/assets/scenes/luncosim/sandbox_scene.usda", "celestial/solar_system.usda is not in the folder"),
    ];
    let found = without_known(compare(&folder, "luncosim_mapped", Some("luncosim/assets")), &known);
    assert!(found.is_empty(), "{found:#?}");
}

#[test]
fn a_stage_without_a_time_scale_is_harmless() {
    let Some(folder) = shared_usd() else { return };
    let file = "usd-wg/test_assets/foundation/stage_configuration/timeCodesPerSecond/timeCodesPerSecond_0.usda";
    for time_code in [None, Some(0.0), Some(10.0)] {
        let request = ReadRequest { time_code, ..ReadRequest::new(folder.join(file)) };
        assert!(confined().read(&request).unwrap().prim_count > 0);
    }
}
