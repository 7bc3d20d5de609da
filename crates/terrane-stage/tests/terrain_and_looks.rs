//! Terrains, their layers, and the Materials that draw them.

mod common;

use common::{Folder, codes, read, said, stage};
use terrane_core::Severity;
use terrane_core::look::{ParamValue, ShaderLanguage};

const TERRAIN: &str = r#"
def Xform "Site" {
    double lunco:anchor:lat = -26.1
    double lunco:anchor:lon = 3.6
    double lunco:anchor:height = -1900
    double lunco:time:epochJd = 2460000.5
    def Xform "Terrain" ( prepend apiSchemas = ["MaterialBindingAPI"] ) {
        uniform token lunco:assetMode = "layered"
        bool lunco:terrain:horizonShadows = true
        rel material:binding = </Looks/Ground>
        def "Dem" {
            uniform token lunco:layer = "dem"
            asset lunco:layer:demSource = @dem/site.tif@
            float lunco:layer:windowM = 2000
        }
        def "Off" {
            uniform token lunco:layer = "craters"
            bool lunco:layer:enabled = false
            int lunco:layer:seed = 7
        }
        def "Pad" {
            uniform token lunco:layer = "edit"
            token lunco:edit:kind = "flatten"
            double2 lunco:edit:center = (10.5, -20)
            double lunco:edit:radius = 0.1
        }
        def Xform "NotALayer" {}
    }
}
def Scope "Looks" {
    def Material "Ground" {
        token outputs:surface.connect = </Looks/Ground/Shader.outputs:surface>
        float inputs:roughness = 0.9
        def Shader "Shader" {
            uniform token info:implementationSource = "sourceAsset"
            uniform asset info:wesl:sourceAsset = @lunco://shaders/terrain_layered.wesl@
            uniform asset info:wesl:vertexAsset = @geomorph.wesl@
            uniform token info:wesl:interface = "terrane.test.v1"
            float inputs:weight_albedo = 0.1
            color3f inputs:tint = (0.1, 0.2, 0.3)
            bool inputs:lit = 1
            float inputs:roughness.connect = </Looks/Ground.inputs:roughness>
            asset inputs:albedo_map.connect = </Looks/Ground/Albedo.outputs:rgb>
            token outputs:surface
        }
        def Shader "Albedo" {
            uniform token info:id = "UsdUVTexture"
            asset inputs:file = @maps/albedo.png@
            color3f outputs:rgb
        }
    }
}
"#;

#[test]
fn a_layered_terrain_is_read_in_prim_order() {
    let spec = read(TERRAIN);
    assert_eq!(codes(&spec), Vec::<&str>::new());
    let terrain = &spec.terrains[0];
    let kinds: Vec<_> = terrain.layers.iter().map(|layer| (layer.kind.as_str(), layer.enabled)).collect();
    assert_eq!(kinds, [("dem", true), ("craters", false), ("edit", true)]);
    assert_eq!(terrain.layers[0].number("layer:windowM"), Some(2000.0));
    assert_eq!(terrain.layers[1].number("layer:seed"), Some(7.0));
    assert_eq!(terrain.layers[2].params["edit:center"].value, ParamValue::Vector(vec![10.5, -20.0]));
    assert_eq!(terrain.layers[2].number("edit:radius"), Some(0.1));
    assert_eq!(terrain.params["horizonShadows"].value, ParamValue::Bool(true));
    assert_eq!(terrain.material.as_deref(), Some("/Looks/Ground"));
    let (asset, path) = terrain.layers[0].asset("layer:demSource").unwrap();
    assert_eq!((asset.authored.as_str(), path), ("dem/site.tif", "/Site/Terrain/Dem.lunco:layer:demSource"));
    assert!(asset.anchor.ends_with("/site.usda"), "{}", asset.anchor);
    let anchor = spec.anchor.unwrap();
    assert_eq!((anchor.body, anchor.lat_deg, anchor.lon_deg, anchor.height_m), (301, -26.1, 3.6, -1900.0));
    assert_eq!(spec.epoch_jd, Some(2_460_000.5));
}

#[test]
fn a_look_keeps_every_input_and_where_it_came_from() {
    let spec = read(TERRAIN);
    let look = &spec.looks["/Looks/Ground"];
    assert_eq!(look.shader.language, ShaderLanguage::Wesl);
    assert_eq!(look.shader.asset.authored, "lunco://shaders/terrain_layered.wesl");
    assert_eq!(look.vertex_shader.as_ref().unwrap().asset.authored, "geomorph.wesl");
    assert_eq!(look.interface.as_ref().unwrap().value, "terrane.test.v1");
    let input = |name: &str| (&look.inputs[name].value, look.inputs[name].path.as_str());
    // 0.1 as written, not the nearest single-precision number.
    assert_eq!(input("weight_albedo").0, &ParamValue::Float(0.1));
    assert_eq!(input("tint").0, &ParamValue::Vector(vec![0.1, 0.2, 0.3]));
    assert_eq!(input("lit").0, &ParamValue::Bool(true));
    assert_eq!(input("roughness"), (&ParamValue::Float(0.9), "/Looks/Ground.inputs:roughness"));
    let (map, path) = input("albedo_map");
    assert_eq!(path, "/Looks/Ground/Albedo.inputs:file");
    assert!(matches!(map, ParamValue::Asset(asset) if asset.authored == "maps/albedo.png"), "{map:?}");
    assert_eq!(look.inputs.len(), 5);
}

#[test]
fn an_asset_is_anchored_to_the_layer_that_wrote_it() {
    let part = "#usda 1.0\n( defaultPrim = \"T\" )\ndef Xform \"T\" {\n uniform token lunco:assetMode = \"layered\"\n def \"Dem\" { uniform token lunco:layer = \"dem\"\n asset lunco:layer:demSource = @dem.tif@\n asset lunco:layer:demSource (doc = \"x\") } }\n";
    let part = part.replace(" asset lunco:layer:demSource (doc = \"x\")", "");
    // The stronger layer says something about the attribute, but no value.
    let root = stage(
        "def \"Site\" ( references = @deep/part.usda@ ) { over \"Dem\" { asset lunco:layer:demSource ( doc = \"height\" ) } }",
    );
    let folder = Folder::new(&[("site.usda", &root), ("deep/part.usda", &part)]);
    let spec = folder.read("site.usda");
    let (asset, _) = spec.terrains[0].layers[0].asset("layer:demSource").unwrap();
    assert!(asset.anchor.ends_with("deep/part.usda"), "{}", asset.anchor);
}

#[test]
fn a_typo_in_a_layer_names_the_nearest_attribute() {
    let spec = read(
        r#"
def Xform "T" {
    uniform token lunco:assetMode = "layered"
    float lunco:terrain:lodFrosen = 1
    def "Dem" {
        uniform token lunco:layer = "dme"
        float lunco:layer:windwM = 1
        matrix4d lunco:layer:amplitude = ( (1,0,0,0), (0,1,0,0), (0,0,1,0), (0,0,0,1) )
    }
    def "Lost" { float lunco:layer:seed = 1 }
}
"#,
    );
    let helps: Vec<_> = spec.diagnostics.iter().map(|d| (d.code.as_str(), d.help.as_str())).collect();
    let expected = [
        ("unknown-attribute", "did you mean `lunco:terrain:lodFrozen`?"),
        ("input-type-unsupported", ""),
        ("unknown-layer-kind", "did you mean `dem`?"),
        ("unknown-attribute", "did you mean `lunco:layer:windowM`?"),
        ("layer-kind-missing", ""),
    ];
    for pair in expected {
        assert!(helps.contains(&pair), "{pair:?} in {helps:?}");
    }
    assert_eq!(helps.len(), expected.len(), "{helps:?}");
    assert!(spec.diagnostics.iter().all(|d| d.severity == Severity::Warning));
}

#[test]
fn a_shader_without_a_source_is_an_error_and_preview_surfaces_are_not_looks() {
    let spec = read(
        r#"
def Xform "T" ( prepend apiSchemas = ["MaterialBindingAPI"] ) {
    uniform token lunco:assetMode = "layered"
    rel material:binding = </M/Preview>
}
def Scope "M" {
    def Material "Preview" {
        token outputs:surface.connect = </M/Preview/S.outputs:surface>
        def Shader "S" { uniform token info:id = "UsdPreviewSurface"
            token outputs:surface
        }
    }
    def Material "Empty" {
        token outputs:surface.connect = </M/Empty/S.outputs:surface>
        def Shader "S" { uniform token info:implementationSource = "sourceAsset"
            token outputs:surface
        }
    }
}
"#,
    );
    assert!(spec.looks.is_empty());
    assert_eq!(said(&spec, "shader-source-missing").place.prim.as_deref(), Some("/M/Empty/S"));
    assert_eq!(said(&spec, "look-unsupported").severity, Severity::Warning);
    assert_eq!(spec.terrains[0].material.as_deref(), Some("/M/Preview"));
}

#[test]
fn a_render_context_output_comes_before_the_universal_one() {
    let shader = |name: &str| {
        format!(
            "def Shader \"{name}\" {{ uniform token info:implementationSource = \"sourceAsset\"\n uniform asset info:wgsl:sourceAsset = @{name}.wgsl@\n token outputs:surface }}\n"
        )
    };
    let spec = read(&format!(
        "def Material \"M\" {{\n token outputs:surface.connect = </M/A.outputs:surface>\n token outputs:wgsl:surface.connect = </M/G.outputs:out>\n {}\n def NodeGraph \"G\" {{ token outputs:out.connect = </M/G/B.outputs:surface>\n {} }}\n }}",
        shader("A"),
        shader("B")
    ));
    assert_eq!(spec.looks["/M"].shader.asset.authored, "B.wgsl");
    assert_eq!(spec.looks["/M"].shader_prim, "/M/G/B");
}

fn bound(outer: &str, inner: &str, more: &str) -> (Option<String>, Vec<String>) {
    let spec = read(&format!(
        "def Xform \"World\" {{\n {outer}\n def Xform \"T\" {{\n uniform token lunco:assetMode = \"layered\"\n {inner}\n }}\n }}\n{more}\ndef Material \"A\" {{}}\ndef Material \"B\" {{}}\ndef Material \"Off\" ( active = false ) {{}}\n"
    ));
    let codes = spec.diagnostics.iter().map(|d| d.code.clone()).filter(|code| code != "look-unsupported").collect();
    (spec.terrains[0].material.clone(), codes)
}

#[test]
fn the_nearest_binding_wins_unless_an_ancestor_is_stronger() {
    let a = "rel material:binding = </A>";
    let strong_a = "rel material:binding = </A> ( bindMaterialAs = \"strongerThanDescendants\" )";
    let b = "rel material:binding = </B>";
    assert_eq!(bound(a, "", ""), (Some("/A".into()), vec![]));
    assert_eq!(bound(a, b, ""), (Some("/B".into()), vec![]));
    assert_eq!(bound(strong_a, b, ""), (Some("/A".into()), vec![]));
    assert_eq!(bound("rel material:binding:full = </A>", b, ""), (Some("/A".into()), vec![]));
    assert_eq!(bound("rel material:binding:preview = </A>", "", ""), (None, vec![]));
}

#[test]
fn a_collection_binds_its_members() {
    let collection = "uniform token collection:ground:expansionRule = \"expandPrims\"\n rel collection:ground:includes = </World/T>\n rel material:binding:collection:ground = [</World.collection:ground>, </A>]\n rel material:binding = </B>";
    assert_eq!(bound(collection, "", ""), (Some("/A".into()), vec![]));
}

#[test]
fn a_binding_that_leads_nowhere_is_said_and_not_replaced() {
    for target in ["/Off", "/Gone", "/World"] {
        let inner = format!("rel material:binding = <{target}>");
        let found = bound("rel material:binding = </A>", &inner, "");
        assert_eq!(found, (None, vec!["material-missing".to_owned()]), "{target}");
    }
}

#[test]
fn a_second_anchor_and_an_impossible_one_are_said() {
    let anchor = |name: &str, lat: f64| {
        format!("def \"{name}\" {{ double lunco:anchor:lat = {lat}\n double lunco:anchor:lon = 0 }}\n")
    };
    let spec = read(&(anchor("A", 1.0) + &anchor("B", 2.0)));
    assert_eq!(spec.anchor.as_ref().unwrap().lat_deg, 1.0);
    assert_eq!(said(&spec, "anchor-repeated").place.prim.as_deref(), Some("/B"));
    assert_eq!(codes(&read(&anchor("A", 91.0))), ["anchor-invalid"]);
    assert_eq!(codes(&read("def \"A\" { double lunco:anchor:lat = 1 }")), ["anchor-incomplete"]);
}

#[test]
fn infinite_values_never_leave() {
    let spec = read("def Camera \"C\" { float focalLength = inf\n float2 clippingRange = (1, nan) }");
    assert_eq!(codes(&spec), ["value-type", "value-type"]);
    assert_eq!((spec.cameras[0].lens.focal_length, spec.cameras[0].lens.far_m), (50.0, 1.0e6));
}
