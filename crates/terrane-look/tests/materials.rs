//! Materials compile, reflect, and say what is wrong with them.
#![allow(clippy::unwrap_used, clippy::panic)]

use std::collections::BTreeMap;
use std::path::Path;
use terrane_assets::{AssetRoots, library_files};
use terrane_core::look::{AssetRef, Authored, ShaderLanguage, ShaderSource};
use terrane_core::{Diagnostic, ParamValue, ShaderLook};
use terrane_look::{ParamType, Program, compile};

fn source(authored: &str, anchor: &str) -> ShaderSource {
    ShaderSource {
        language: if authored.ends_with(".wgsl") { ShaderLanguage::Wgsl } else { ShaderLanguage::Wesl },
        asset: AssetRef { authored: authored.into(), anchor: anchor.into() },
        path: "/Looks/Ground/Shader.info:wesl:sourceAsset".into(),
    }
}

fn canonical() -> Program {
    compile(&source("lunco://shaders/terrain_layered.wesl", ""), &AssetRoots::default()).unwrap()
}

fn look(inputs: &[(&str, ParamValue)]) -> ShaderLook {
    let inputs = inputs.iter().map(|(name, value)| {
        let path = format!("/Looks/Ground/Shader.inputs:{name}");
        ((*name).to_owned(), Authored { value: value.clone(), path })
    });
    ShaderLook {
        material: "/Looks/Ground".into(),
        shader_prim: "/Looks/Ground/Shader".into(),
        shader: source("lunco://shaders/terrain_layered.wesl", ""),
        vertex_shader: None,
        interface: None,
        inputs: inputs.collect::<BTreeMap<_, _>>(),
    }
}

/// A copy of the canonical material with one text replaced, beside it on disk.
fn changed(folder: &Path, name: &str, from: &str, to: &str) -> Result<Program, Box<Diagnostic>> {
    let files = library_files();
    let (_, bytes) = files.iter().find(|(address, _)| address == "lunco://shaders/terrain_layered.wesl").unwrap();
    let text = String::from_utf8(bytes.to_vec()).unwrap();
    assert!(text.contains(from), "the canonical material no longer holds `{from}`");
    std::fs::write(folder.join(name), text.replacen(from, to, 1)).unwrap();
    compile(&source(name, &folder.join("stage.usda").display().to_string()), &AssetRoots::default())
}

#[test]
fn every_material_of_the_library_compiles_and_validates() {
    let materials: Vec<String> = library_files()
        .into_iter()
        .filter(|(address, bytes)| {
            address.starts_with("lunco://shaders/") && String::from_utf8_lossy(bytes).contains("@fragment")
        })
        .map(|(address, _)| address)
        .collect();
    assert!(!materials.is_empty());
    for address in materials {
        let program = compile(&source(&address, ""), &AssetRoots::default()).unwrap_or_else(|error| panic!("{error}"));
        let mut validator =
            naga::valid::Validator::new(naga::valid::ValidationFlags::all(), naga::valid::Capabilities::all());
        for module in [&program.vertex, &program.fragment, &program.fragment_holes] {
            validator.validate(module).unwrap_or_else(|error| panic!("{address}: {error}"));
        }
    }
}

#[test]
fn parameters_are_reflected_with_their_annotations() {
    let program = canonical();
    let find = |name: &str| program.params.iter().find(|param| param.name == name).unwrap();
    assert_eq!((find("weight_albedo").range, find("weight_albedo").default.clone()), (Some([0.0, 1.0]), vec![1.0]));
    assert_eq!((find("base_albedo").kind, find("base_albedo").offset % 16), (ParamType::Vector(3), 0));
    assert_eq!(find("opposition_width").unit.as_deref(), Some("rad"));
    assert!(find("albedo_placement").engine.is_some());
    assert!(program.params.iter().all(|param| !param.description.is_empty()), "every parameter says what it does");
}

#[test]
fn values_land_at_their_reflected_offsets() {
    let program = canonical();
    let look = look(&[("weight_normal", ParamValue::Float(0.25)), ("photometry", ParamValue::Int(1))]);
    let bytes = program.uniform(&look, |_| [7.0, 8.0, 9.0, 1.0]);
    let word = |name: &str, k: usize| -> [u8; 4] {
        let offset = program.params.iter().find(|param| param.name == name).unwrap().offset as usize + 4 * k;
        bytes[offset..offset + 4].try_into().unwrap()
    };
    assert_eq!(f32::from_le_bytes(word("weight_normal", 0)), 0.25);
    assert_eq!(f32::from_le_bytes(word("weight_albedo", 0)), 1.0);
    assert_eq!(u32::from_le_bytes(word("photometry", 0)), 1);
    assert_eq!(f32::from_le_bytes(word("albedo_placement", 1)), 8.0);
}

#[test]
fn a_wrong_input_is_named_with_the_nearest_right_one() {
    let program = canonical();
    let said = |name: &str, value: ParamValue| {
        let found = program.check(&look(&[(name, value)]), "stages/site.usda");
        found.first().map(ToString::to_string).unwrap_or_default()
    };
    let message = said("weight_albdo", ParamValue::Float(1.0));
    assert_eq!(
        message,
        "error: shader input not found\n  stages/site.usda: /Looks/Ground/Shader.inputs:weight_albdo\n  \
         terrain_layered.wesl has no parameter `weight_albdo`; did you mean `weight_albedo`?"
    );
    assert!(said("weight_albedo", ParamValue::Float(1.5)).contains("it goes from 0 to 1"));
    assert!(said("weight_albedo", ParamValue::Vector(vec![1.0, 2.0])).contains("is float, found float2"));
    assert!(said("albedo_map", ParamValue::Float(1.0)).contains("expected asset"));
    assert!(said("height", ParamValue::Float(1.0)).contains("belongs to the engine"));
    assert!(said("albedo_placement", ParamValue::Vector(vec![0.0; 4])).contains("filled by the engine"));
    assert_eq!(said("weight_albedo", ParamValue::Float(0.5)), "");
}

#[test]
fn errors_name_the_authors_file_and_line() {
    let folder = tempfile::tempdir().unwrap();
    let line_of = |from: &str| {
        let files = library_files();
        let (_, bytes) = files.iter().find(|(address, _)| address == "lunco://shaders/terrain_layered.wesl").unwrap();
        let text = std::str::from_utf8(bytes).unwrap().to_owned();
        text[..text.find(from).unwrap()].matches('\n').count() as u32 + 1
    };
    let cases = [
        (
            "type.wesl",
            "let albedo = albedo_at(point, relief.mottle);",
            "let albedo = albedo_at(point, point.normal_x);",
            "normal_x",
        ),
        ("name.wesl", "direct *= view.sun_illuminance", "direct *= nowhere.sun_illuminance", "nowhere"),
        ("syntax.wesl", "if mu_sun > 0.0 {", "if mu_sun > > 0.0 {", ""),
    ];
    for (name, from, to, says) in cases {
        let error = changed(folder.path(), name, from, to).unwrap_err();
        assert!(error.place.file.as_deref().unwrap().ends_with(name), "{error}");
        assert_eq!(error.place.line, Some(line_of(from)), "{error}");
        assert!(error.detail.contains(says), "{error}");
    }
}

#[test]
fn mistakes_in_a_short_material_have_a_line_too() {
    let folder = tempfile::tempdir().unwrap();
    let sample = "import terrane::tile::TileVaryings;\n\
        import terrane::frame::{SurfaceOutput, FragmentOutput, surface_point, frame_output, normal_of};\n\
        struct Material {\n    gain: f32,\n}\n@group(2) @binding(0) var<uniform> material: Material;\n\
        @fragment\nfn fragment(in: TileVaryings) -> FragmentOutput {\n    let point = surface_point(in);\n\
        var surface: SurfaceOutput;\n    surface.radiance = vec3<f32>(material.gain);\n\
        surface.normal = normal_of(point.gradient);\n    return frame_output(in, surface);\n}\n";
    let cases = [
        ("normal_of(point", "normal_off(point", 12),
        ("material.gain", "material.gainn", 11),
        ("surface_point(in)", "surface_pointt(in)", 9),
        ("vec3<f32>(material.gain)", "vec3<f32>(nothing)", 11),
    ];
    for (from, to, line) in cases {
        std::fs::write(folder.path().join("short.wesl"), sample.replacen(from, to, 1)).unwrap();
        let anchor = folder.path().join("stage.usda").display().to_string();
        let error = compile(&source("short.wesl", &anchor), &AssetRoots::default()).unwrap_err();
        assert_eq!((error.code.as_str(), error.place.line), ("shader-invalid", Some(line)), "{to}: {error}");
    }
}

#[test]
fn hostile_sources_end_in_one_message() {
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str, text: String| {
        std::fs::write(folder.path().join(name), text).unwrap();
        compile(&source(name, &folder.path().join("stage.usda").display().to_string()), &AssetRoots::default())
            .unwrap_err()
    };
    let nothing = compile(&source("lunco://shaders/none.wesl", ""), &AssetRoots::default()).unwrap_err();
    assert!(nothing.to_string().contains("none.wesl"), "{nothing}");
    assert_eq!(file("deep.wesl", format!("fn f() {{ {} }}", "{".repeat(20_000))).code, "shader-too-deep");
    assert_eq!(file("large.wesl", "// x\n".repeat(200_000)).code, "shader-too-large");
    assert_eq!(file("empty.wesl", String::new()).code, "shader-no-entry");
    let import = file("import.wesl", "import lunco::nothing::f;\n@fragment fn fragment() { f(); }".into());
    assert!(import.to_string().contains("nothing.wesl"), "{import}");
    std::fs::write(folder.path().join("b.wesl"), "import package::a::fa;\nfn fb() { fa(); }").unwrap();
    let cycle = file("a.wesl", "import package::b::fb;\nfn fa() { fb(); }\n@fragment fn fragment() { fa(); }".into());
    assert!(!cycle.to_string().is_empty());
    let engine = file("engine.wesl", "import terrane::nothing::x;\n@fragment fn fragment() { x(); }".into());
    assert!(engine.to_string().contains("nothing"), "{engine}");
}

#[test]
fn a_material_of_a_twin_imports_the_libraries() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::create_dir_all(folder.path().join("shaders")).unwrap();
    std::fs::write(folder.path().join("twin.toml"), "name = \"t\"\nstage = \"t.usda\"\n").unwrap();
    std::fs::write(folder.path().join("t.usda"), "#usda 1.0\n").unwrap();
    std::fs::write(
        folder.path().join("shaders/own.wesl"),
        "fn tint() -> vec3<f32> { return vec3<f32>(0.5, 0.25, 0.125); }\n",
    )
    .unwrap();
    std::fs::write(
        folder.path().join("shaders/my_look.wesl"),
        "import terrane::tile::TileVaryings;\n\
         import terrane::frame::{SurfaceOutput, FragmentOutput, surface_point, frame_output, normal_of};\n\
         import lunco::lunar_brdf::lambert;\nimport package::own::tint;\n\
         struct Material {\n    // How bright.\n    //!@default 1\n    gain: f32,\n}\n\
         @group(2) @binding(0) var<uniform> material: Material;\n\
         @fragment fn fragment(in: TileVaryings) -> FragmentOutput {\n    let point = surface_point(in);\n    var out: SurfaceOutput;\n\
         out.radiance = lambert(tint() * material.gain, 1.0);\n    out.normal = normal_of(point.gradient);\n    return frame_output(in, out);\n}\n",
    )
    .unwrap();
    let roots = AssetRoots::for_stage(&folder.path().join("t.usda"), None).unwrap();
    let program = compile(&source("twin://shaders/my_look.wesl", ""), &roots).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(program.params[0].name, "gain");
    assert!(program.textures.is_empty());
}
