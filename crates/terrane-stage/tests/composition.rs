//! Composition, transforms and units as the stage's author sees them.

mod common;

use common::{Folder, codes, read, said, stage};
use glam::{DMat4, DVec3};
use terrane_core::Severity;
use terrane_core::camera::Projection;
use terrane_stage::{ReadRequest, StageError, read_in_process};

fn close(found: DVec3, wanted: [f64; 3]) {
    assert!((found - DVec3::from_array(wanted)).length() < 1e-6, "{found}, expected {wanted:?}");
}

#[test]
fn every_composition_arc_contributes() {
    let folder = Folder::new(&[
        (
            "site.usda",
            r#"#usda 1.0
(
    metersPerUnit = 1
    upAxis = "Y"
    subLayers = [@sub.usda@]
)
class "_Small" { float focalLength = 11 }
def "Referenced" ( references = @parts/part.usda@ ) {}
def "Loaded" ( payload = @parts/part.usda@</Part> ) {}
def Camera "Inherits" ( inherits = </_Small> ) {}
def "Chosen" (
    variantSets = "size"
    variants = { string size = "big" }
) {
    variantSet "size" = {
        "small" { def Camera "C" { float focalLength = 1 } }
        "big" { def Camera "C" { float focalLength = 99 } }
    }
}
"#,
        ),
        ("sub.usda", &stage("def Camera \"FromSublayer\" { float focalLength = 22 }")),
        (
            "parts/part.usda",
            "#usda 1.0\n( defaultPrim = \"Part\" )\ndef Xform \"Part\" { def Camera \"C\" { float focalLength = 33 } }\n",
        ),
    ]);
    let spec = folder.read("site.usda");
    let mut found: Vec<_> = spec.cameras.iter().map(|c| (c.prim.as_str(), c.lens.focal_length)).collect();
    found.sort_by(|a, b| a.0.cmp(b.0));
    let expected = [
        ("/Chosen/C", 99.0),
        ("/FromSublayer", 22.0),
        ("/Inherits", 11.0),
        ("/Loaded/C", 33.0),
        ("/Referenced/C", 33.0),
    ];
    assert_eq!(found, expected);
    assert_eq!(spec.layers.len(), 3);
    assert_eq!(codes(&spec), Vec::<&str>::new());
}

#[test]
fn inactive_over_and_class_prims_do_not_count() {
    let spec = read(
        r#"
def Camera "Seen" {}
def Camera "Inactive" ( active = false ) {}
over Camera "Over" { def Camera "Below" {} }
class Camera "Class" { def Camera "Below" {} }
def Xform "Parent" ( active = false ) { def Camera "Below" {} }
"#,
    );
    assert_eq!(spec.prim_count, 1);
    assert_eq!(spec.cameras[0].prim, "/Seen");
}

#[test]
fn a_z_up_stage_in_centimetres_leaves_in_metres_with_y_up() {
    let folder = Folder::new(&[(
        "site.usda",
        r#"#usda 1.0
(
    metersPerUnit = 0.01
    upAxis = "Z"
)
def Camera "Eye" {
    float2 clippingRange = (10, 1000)
    double3 xformOp:translate = (100, 200, 300)
    float xformOp:rotateX = 90
    uniform token[] xformOpOrder = ["xformOp:translate", "xformOp:rotateX"]
}
def PhysicsScene "Physics" { float physics:gravityMagnitude = 162 }
def Xform "Terrain" {
    uniform token lunco:assetMode = "layered"
    double3 xformOp:translate = (100, 0, 50)
    uniform token[] xformOpOrder = ["xformOp:translate"]
}
"#,
    )]);
    let spec = folder.read("site.usda");
    let eye = &spec.cameras[0];
    close(eye.pose.position_m, [1.0, 3.0, -2.0]);
    // Turned up by 90 degrees it looks along the stage's +Y, which is north, site -Z.
    close(eye.pose.rotation * DVec3::NEG_Z, [0.0, 0.0, -1.0]);
    assert_eq!((eye.lens.near_m, eye.lens.far_m), (0.1, 10.0));
    assert!((spec.gravity_m_s2.unwrap() - 1.62).abs() < 1e-12);
    close(spec.terrains[0].world_from_terrain.transform_point3(DVec3::ZERO), [1.0, 0.5, 0.0]);
    close(spec.terrains[0].world_from_terrain.transform_point3(DVec3::X), [2.0, 0.5, 0.0]);
    assert_eq!((spec.up_axis.as_str(), spec.meters_per_unit), ("Z", 0.01));
}

#[test]
fn transform_ops_compose_in_their_order_with_inverses_and_resets() {
    let spec = read(
        r#"
def Xform "A" {
    double3 xformOp:translate = (10, 0, 0)
    uniform token[] xformOpOrder = ["xformOp:translate"]
    def Camera "Pivoted" {
        float3 xformOp:translate:pivot = (1, 0, 0)
        half xformOp:rotateY:turn = 90
        double3 xformOp:scale = (2, 2, 2)
        uniform token[] xformOpOrder = ["xformOp:translate:pivot", "xformOp:rotateY:turn", "xformOp:scale", "!invert!xformOp:translate:pivot"]
    }
    def Camera "Reset" {
        quatf xformOp:orient = (0.70710678, 0, 0.70710678, 0)
        uniform token[] xformOpOrder = ["!resetXformStack!", "xformOp:orient"]
    }
    def Scope "Scope" {
        def Camera "Matrix" {
            matrix4d xformOp:transform = ( (1, 0, 0, 0), (0, 1, 0, 0), (0, 0, 1, 0), (1, 2, 3, 1) )
            uniform token[] xformOpOrder = ["xformOp:transform"]
        }
    }
}
"#,
    );
    let pose = |prim: &str| spec.cameras.iter().find(|camera| camera.prim == prim).unwrap().pose;
    // The origin lies at -1 from the pivot: scaled to -2, turned to +2 z, moved back.
    close(pose("/A/Pivoted").position_m, [11.0, 0.0, 2.0]);
    close(pose("/A/Pivoted").rotation * DVec3::NEG_Z, [-1.0, 0.0, 0.0]);
    close(pose("/A/Reset").position_m, [0.0, 0.0, 0.0]);
    close(pose("/A/Reset").rotation * DVec3::NEG_Z, [-1.0, 0.0, 0.0]);
    close(pose("/A/Scope/Matrix").position_m, [11.0, 2.0, 3.0]);
}

#[test]
fn a_time_code_picks_the_sample_and_without_one_the_first_counts() {
    let body = r#"
def Camera "Eye" {
    float focalLength.timeSamples = { 0: 10, 10: 30 }
    double3 xformOp:translate.timeSamples = { 0: (0, 0, 0), 10: (10, 0, 0) }
    uniform token[] xformOpOrder = ["xformOp:translate"]
}
"#;
    let folder = Folder::new(&[("site.usda", &stage(body))]);
    let at = |time_code| {
        let spec = read_in_process(&ReadRequest { time_code, ..folder.request("site.usda") }).unwrap();
        (spec.cameras[0].lens.focal_length, spec.cameras[0].pose.position_m.x)
    };
    assert_eq!(at(None), (10.0, 0.0));
    assert_eq!(at(Some(5.0)), (20.0, 5.0));
    assert_eq!(at(Some(99.0)), (30.0, 10.0));
}

#[test]
fn cameras_keep_their_lens_and_exposure() {
    let spec = read(
        r#"
def Camera "Plain" { token projection = "orthographic" }
def Camera "Stops" { float exposure = 2 }
def Camera "Photographic" {
    float exposure = 1
    float exposure:time = 0.01
    float exposure:fStop = 2
    float exposure:iso = 400
}
def Camera "Odd" { token projection = "fisheye" }
"#,
    );
    let exposures: Vec<_> = spec.cameras.iter().map(|camera| camera.exposure_stops).collect();
    assert_eq!(exposures[..2], [None, Some(2.0)]);
    // 2^1 * 0.01 s * ISO 400 / (100 * 2^2) = 0.02.
    assert!((exposures[2].unwrap() - 0.02_f64.log2()).abs() < 1e-12);
    assert_eq!(spec.cameras[0].lens.projection, Projection::Orthographic);
    assert_eq!(said(&spec, "camera-projection").place.prim.as_deref(), Some("/Odd.projection"));
}

#[test]
fn lights_have_their_schema_fallbacks() {
    let spec = read(
        r#"
def DistantLight "Sun" { token visibility = "invisible" }
def DomeLight "Sky" { float inputs:exposure = 3 }
def SphereLight "Bulb" {}
def DistantLight "Warm" {
    color3f inputs:color = (0.5, 0.5, 0.5)
    bool inputs:enableColorTemperature = true
    float inputs:colorTemperature = 3000
}
"#,
    );
    let [sun, sky, _, warm] = spec.lights.as_slice() else { panic!("{:?}", spec.lights) };
    assert_eq!((sun.intensity, sun.angle_deg, sun.color, sun.visible), (50_000.0, 0.53, [1.0; 3], false));
    assert_eq!((sky.intensity, sky.visible), (8.0, true));
    assert!(warm.color[0] > 0.5 && warm.color[2] < 0.5);
    assert_eq!(said(&spec, "light-unsupported").severity, Severity::Note);
}

#[test]
fn a_wrong_unit_or_axis_is_said_and_not_guessed() {
    for (metadata, code) in [
        ("metersPerUnit = 0", "meters-per-unit-invalid"),
        ("metersPerUnit = nan", "meters-per-unit-invalid"),
        ("upAxis = \"X\"", "up-axis-invalid"),
    ] {
        let folder =
            Folder::new(&[("site.usda", &format!("#usda 1.0\n(\n    {metadata}\n)\ndef Camera \"C\" {{}}\n"))]);
        let spec = folder.read("site.usda");
        assert_eq!(said(&spec, code).severity, Severity::Error);
        assert_eq!(spec.cameras.len(), 1);
    }
}

#[test]
fn a_referenced_layer_in_other_units_is_reported_with_both() {
    let part = "#usda 1.0\n( defaultPrim = \"P\"\n metersPerUnit = 0.01\n upAxis = \"Z\" )\ndef Xform \"P\" {}\n";
    let folder =
        Folder::new(&[("site.usda", &stage("def \"A\" ( references = @part.usda@ ) {}")), ("part.usda", part)]);
    let spec = folder.read("site.usda");
    let detail = &said(&spec, "units-differ").detail;
    assert!(detail.contains("0.01") && detail.contains("is 1") && detail.contains("upAxis is Z"), "{detail}");
}

#[test]
fn a_missing_layer_is_said_where_and_the_rest_still_reads() {
    let body = r#"
def "A" ( references = @gone.usda@</X> ) {}
def "B" ( payload = @lunco://gone.usda@ ) {}
def "C" ( references = @twin://gone.usda@ ) {}
def Camera "Eye" {}
"#;
    let folder = Folder::new(&[("site.usda", &stage(body))]);
    let spec = folder.read("site.usda");
    assert_eq!(spec.cameras.len(), 1);
    let missing: Vec<_> = spec.diagnostics.iter().filter(|d| d.code == "layer-missing").collect();
    let prims: Vec<_> = missing.iter().map(|d| d.place.prim.as_deref().unwrap()).collect();
    assert_eq!(prims, ["/A", "/B", "/C"]);
    assert!(missing.iter().all(|d| d.severity == Severity::Error), "{missing:#?}");
    assert!(missing[0].title.contains("@gone.usda@"), "{}", missing[0].title);
    assert!(missing[1].detail.contains("library"), "{}", missing[1].detail);
    assert!(missing[2].detail.contains("twin"), "{}", missing[2].detail);
}

#[test]
fn a_reference_to_a_prim_that_is_not_there_is_said() {
    let body = r#"
def "A" ( references = @part.usda@</Gone> ) {}
def "B" ( payload = @part.usda@</P/Gone> ) {}
def "C" ( references = </Gone> ) {}
def "Fine" ( references = @part.usda@</P/Composed> ) {}
def "Parent" ( references = @part.usda@</P> ) {}
"#;
    let part = "#usda 1.0\ndef \"P\" ( references = </Q> ) {}\nclass \"Q\" { def Xform \"Composed\" { def Camera \"Eye\" {} } }\n";
    let spec = Folder::new(&[("site.usda", &stage(body)), ("part.usda", part)]).read("site.usda");
    let prims: Vec<_> = spec.diagnostics.iter().map(|d| (d.code.as_str(), d.place.prim.as_deref().unwrap())).collect();
    let code = "reference-prim-missing";
    assert_eq!(prims, [(code, "/A"), (code, "/B"), (code, "/C")]);
    let cameras: Vec<_> = spec.cameras.iter().map(|camera| camera.prim.as_str()).collect();
    assert_eq!(cameras, ["/Fine/Eye", "/Parent/Composed/Eye"]);
}

#[test]
fn a_missing_sublayer_is_said() {
    let text = "#usda 1.0\n( subLayers = [@gone.usda@] )\ndef Camera \"Eye\" {}\n";
    let spec = Folder::new(&[("site.usda", text)]).read("site.usda");
    assert_eq!(spec.cameras.len(), 1);
    assert!(said(&spec, "layer-missing").title.contains("@gone.usda@"));
}

#[test]
fn a_reference_out_of_the_twin_is_refused() {
    let site = stage("def \"A\" ( references = @../secret.usda@ ) {}\ndef \"B\" ( references = @parts/ok.usda@ ) {}");
    let folder = Folder::new(&[
        ("twin/twin.toml", "name = \"T\"\nstage = \"site.usda\"\n"),
        ("twin/site.usda", &site),
        ("twin/parts/ok.usda", "#usda 1.0\n( defaultPrim = \"P\" )\ndef Camera \"P\" { }\n"),
        ("secret.usda", "#usda 1.0\n( defaultPrim = \"P\" )\ndef Camera \"P\" { }\n"),
    ]);
    let spec = folder.read("twin/site.usda");
    let cameras: Vec<_> = spec.cameras.iter().map(|camera| camera.prim.as_str()).collect();
    assert_eq!(cameras, ["/B"]);
    let refused = said(&spec, "asset-outside-twin");
    assert_eq!(refused.place.prim.as_deref(), Some("/A"));
    assert!(refused.title.contains("@../secret.usda@"), "{}", refused.title);
}

#[test]
fn the_built_in_lunar_base_is_there_under_both_addresses() {
    for address in ["lunco://scenes/base/lunar_surface.usda", "lunco://base/lunar_surface.usda"] {
        let spec = read(&format!("def Xform \"Site\" ( references = @{address}@ ) {{}}"));
        assert_eq!(codes(&spec), Vec::<&str>::new());
        assert_eq!(spec.gravity_m_s2, Some(1.62));
        assert_eq!((spec.lights[0].prim.as_str(), spec.lights[0].intensity), ("/Site/Sun", 128_000.0));
        assert!(spec.layers.iter().any(|layer| layer == address), "{:?}", spec.layers);
    }
}

#[test]
fn every_stage_of_the_built_in_library_reads_without_a_message() {
    for (address, _) in terrane_assets::library_files() {
        let has_own_sublayer_of_openusd = address.ends_with("schema/schema.usda");
        if address.ends_with(".usda") && !has_own_sublayer_of_openusd {
            let text = format!("#usda 1.0\n( metersPerUnit = 1\n upAxis = \"Y\"\n subLayers = [@{address}@] )\n");
            let spec = Folder::new(&[("site.usda", &text)]).read("site.usda");
            assert_eq!(codes(&spec), Vec::<&str>::new(), "{address}");
        }
    }
}

#[test]
fn an_overridden_library_layer_finds_its_neighbours_in_a_twin_too() {
    let folder = Folder::new(&[
        ("library/scenes/a.usda", "#usda 1.0\n( defaultPrim = \"P\" )\ndef \"P\" ( references = @parts/b.usda@ ) {}\n"),
        ("library/scenes/parts/b.usda", "#usda 1.0\n( defaultPrim = \"P\" )\ndef Camera \"P\" { }\n"),
        ("twin/twin.toml", "name = \"T\"\nstage = \"site.usda\"\n"),
        ("twin/site.usda", &stage("def \"A\" ( references = @lunco://scenes/a.usda@ ) {}")),
    ]);
    let request = ReadRequest { library_override: Some(folder.path("library")), ..folder.request("twin/site.usda") };
    let spec = read_in_process(&request).unwrap();
    assert_eq!(codes(&spec), Vec::<&str>::new());
    assert_eq!(spec.cameras[0].prim, "/A");
}

#[test]
fn references_in_a_circle_are_an_error_that_names_them() {
    let folder = Folder::new(&[
        (
            "a.usda",
            "#usda 1.0\n( defaultPrim = \"A\" )\ndef \"A\" ( references = @b.usda@ ) {}\ndef Camera \"Eye\" {}\n",
        ),
        ("b.usda", "#usda 1.0\n( defaultPrim = \"B\" )\ndef \"B\" ( references = @a.usda@ ) {}\n"),
        ("c.usda", "#usda 1.0\n( subLayers = [@d.usda@] )\n"),
        ("d.usda", "#usda 1.0\n( subLayers = [@c.usda@] )\n"),
        ("e.usda", "#usda 1.0\ndef \"A\" ( references = </B> ) {}\ndef \"B\" ( references = </A> ) {}\n"),
    ]);
    let spec = folder.read("a.usda");
    let cycle = said(&spec, "reference-cycle");
    assert_eq!(cycle.severity, Severity::Error);
    assert!(cycle.detail.contains("a.usda") && cycle.detail.contains("b.usda"), "{cycle}");
    assert_eq!(spec.cameras.len(), 1);
    for name in ["c.usda", "e.usda"] {
        assert_eq!(said(&folder.read(name), "reference-cycle").severity, Severity::Error);
    }
}

#[test]
fn a_parse_error_has_file_line_and_column() {
    let folder = Folder::new(&[
        ("bad.usda", "#usda 1.0\ndef Xform \"A\"\n{\n    float x = = 1\n}\n"),
        ("site.usda", &stage("def \"A\" ( references = @bad.usda@</A> ) {}\ndef Camera \"Eye\" {}")),
        ("over.usda", "#usda 1.0\n( subLayers = [@bad.usda@] )\ndef Camera \"Eye\" {}\n"),
    ]);
    match read_in_process(&folder.request("bad.usda")) {
        Err(error @ StageError::Parse { line: Some(4), column: Some(_), .. }) => {
            assert!(error.diagnostic().to_string().contains("bad.usda:4:"), "{}", error.diagnostic());
        }
        other => panic!("{other:?}"),
    }
    for name in ["site.usda", "over.usda"] {
        let spec = folder.read(name);
        let place = &said(&spec, "layer-parse").place;
        assert!(place.file.as_deref().unwrap().ends_with("bad.usda") && place.line == Some(4), "{place}");
        assert_eq!(spec.cameras.len(), 1);
    }
}

#[test]
fn a_stage_that_is_not_there_is_a_clear_error() {
    let folder = Folder::new(&[]);
    for name in ["gone.usda", "."] {
        let error = read_in_process(&folder.request(name)).unwrap_err();
        assert_eq!(error.diagnostic().code, "stage-unreadable");
    }
}

#[test]
fn a_transform_that_gives_no_pose_is_said() {
    let spec = read(
        r#"
def Camera "Flat" { double3 xformOp:scale = (1, 0, 1)
    uniform token[] xformOpOrder = ["xformOp:scale"]
}
def Camera "Stray" { uniform token[] xformOpOrder = ["xformOp:translate"] }
"#,
    );
    assert_eq!(said(&spec, "transform-not-rigid").place.prim.as_deref(), Some("/Flat"));
    assert_eq!(said(&spec, "transform-op").place.prim.as_deref(), Some("/Stray.xformOp:translate"));
    assert_eq!(spec.cameras[0].pose.matrix(), DMat4::IDENTITY);
}

#[test]
fn a_light_below_a_mirrored_parent_still_shines() {
    let spec = read(
        r#"
def Xform "Mirrored" { double3 xformOp:scale = (1, 1, -1)
    uniform token[] xformOpOrder = ["xformOp:scale"]
    def DistantLight "Sun" {}
}
"#,
    );
    close(spec.lights[0].pose.rotation * DVec3::NEG_Z, [0.0, 0.0, 1.0]);
}
