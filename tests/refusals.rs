//! Bad input: a message that says what, where and what to do; exit code 1;
//! nothing written.

#![allow(missing_docs, clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod refusals_support;

use refusals_support::{Run, Stage, Tiff, Twin};

/// Spoils a good twin, renders it, and checks the refusal.
#[track_caller]
fn refused(spoil: impl FnOnce(&Twin), says: &[&str]) {
    refused_with(spoil, &[], says);
}

#[track_caller]
fn refused_with(spoil: impl FnOnce(&Twin), args: &[&str], says: &[&str]) {
    let twin = Twin::good();
    spoil(&twin);
    let before = twin.contents();
    let run = twin.render(args);
    check(&run, says);
    assert_unchanged(&twin, &before);
}

#[track_caller]
fn assert_unchanged(twin: &Twin, before: &std::collections::BTreeMap<std::path::PathBuf, Vec<u8>>) {
    let after = twin.contents();
    let names =
        |files: &std::collections::BTreeMap<std::path::PathBuf, Vec<u8>>| files.keys().cloned().collect::<Vec<_>>();
    assert_eq!(names(before), names(&after), "files came or went");
    assert!(*before == after, "a file's bytes changed");
}

#[track_caller]
fn check(run: &Run, says: &[&str]) {
    let said = &run.stderr;
    assert_eq!(run.code, Some(1), "exit code\n{}\n{said}", run.stdout);
    assert!(run.stdout.is_empty(), "a refusal goes to stderr alone: {}", run.stdout);
    assert!(!said.contains("panicked"), "{said}");
    assert!(said.starts_with("error: "), "{said}");
    for part in says {
        assert!(said.contains(part), "`{part}` is not said in\n{said}");
    }
}

fn stage(twin: &Twin, change: impl FnOnce(&mut Stage)) {
    let mut stage = Stage::default();
    change(&mut stage);
    twin.put("site.usda", &stage.text());
}

fn dem(twin: &Twin, change: impl FnOnce(&mut Tiff)) {
    let mut tiff = Tiff::hills(40, 30, 2.0);
    change(&mut tiff);
    tiff.write(&twin.root().join("data/dem.tif"));
}

/// One-based line of the first line that holds `text`.
fn line_of(source: &str, text: &str) -> usize {
    1 + source.lines().position(|line| line.contains(text)).unwrap()
}

#[test]
fn the_twin_that_the_refusals_spoil_is_in_order() {
    let twin = Twin::good();
    let run = twin.render(&["--camera", "/World/Cameras/Nav"]).succeeds();
    assert_eq!(run.stderr, "", "a good twin has nothing to be told about");
    assert_eq!(std::fs::read_dir(twin.outside().join("out")).unwrap().count(), 8);
}

// Rasters.

#[test]
fn a_missing_dem() {
    refused(
        |twin| stage(twin, |s| s.dem = "twin://data/dme.tif".into()),
        &["not found", "data/dme.tif", "/World/Terrain/Dem.lunco:layer:demSource"],
    );
}

#[test]
fn a_missing_file_behind_an_entry_of_the_manifest() {
    let manifest = "name = \"site\"\nstage = \"site.usda\"\n[data]\n\"data/dem.tif\" = \"../elsewhere/dem.tif\"\n";
    refused(|twin| twin.put("twin.toml", manifest), &["not found", "elsewhere/dem.tif", "twin.toml"]);
}

#[test]
fn a_dem_without_crs() {
    refused(|twin| dem(twin, |tiff| tiff.crs = None), &["no CRS", "data/dem.tif", "twin.toml"]);
}

#[test]
fn a_dem_without_geotransform() {
    refused(|twin| dem(twin, |tiff| tiff.geotransform = None), &["no geotransform", "data/dem.tif", "gdal_translate"]);
}

#[test]
fn a_dem_that_is_all_nodata() {
    let spoil = |tiff: &mut Tiff| {
        tiff.nodata = Some("-9999");
        tiff.values.fill(-9999.0);
    };
    refused(|twin| dem(twin, spoil), &["no data", "data/dem.tif", "-9999", "1200"]);
}

#[test]
fn a_truncated_dem() {
    // With its directory whole and half of its pixels, then within its directory.
    let whole = Tiff::hills(40, 30, 2.0).bytes();
    for length in [whole.len() - 2400, 100] {
        let spoil = |twin: &Twin| std::fs::write(twin.root().join("data/dem.tif"), &whole[..length]).unwrap();
        refused(spoil, &["can't be read", "data/dem.tif"]);
    }
}

#[test]
fn a_dem_whose_grid_has_no_area() {
    let flat = |tiff: &mut Tiff| tiff.geotransform = Some([500_000.0, 2.0, 2.0, 3_900_000.0, 1.0, 1.0]);
    refused(|twin| dem(twin, flat), &["pixels have no area", "data/dem.tif"]);
}

#[test]
fn a_dem_that_is_no_raster() {
    refused(|twin| twin.put("data/dem.tif", "not a raster"), &["can't be read", "data/dem.tif"]);
    refused(|twin| twin.put("data/dem.tif", ""), &["can't be read", "data/dem.tif"]);
}

#[test]
fn a_picture_that_lies_elsewhere() {
    let spoil = |twin: &Twin| {
        Tiff::hills(40, 30, 2.0).moved(50_000.0).write(&twin.root().join("data/far.tif"));
        stage(twin, |s| s.inputs = "asset inputs:albedo_map = @twin://data/far.tif@".into());
    };
    refused(spoil, &["does not overlap", "data/far.tif", "inputs:albedo_map"]);
}

#[test]
fn a_missing_picture() {
    let spoil = |twin: &Twin| stage(twin, |s| s.inputs = "asset inputs:albedo_map = @twin://data/none.tif@".into());
    refused(spoil, &["not found", "data/none.tif", "inputs:albedo_map"]);
}

// Looks.

#[test]
fn a_missing_shader() {
    refused(
        |twin| stage(twin, |s| s.shader = "twin://looks/none.wesl".into()),
        &["not found", "looks/none.wesl", "/World/Looks/Ground/Shader"],
    );
    refused(
        |twin| stage(twin, |s| s.shader = "lunco://shaders/terrain_layred.wesl".into()),
        &["not found", "terrain_layred.wesl", "terrane library"],
    );
}

const SHADER: &str = include_str!("../shaders/terrain_layered.wesl");

#[track_caller]
fn shader_refused(source: &str, says: &[&str]) {
    let spoil = |twin: &Twin| {
        twin.put("looks/own.wesl", source);
        stage(twin, |s| s.shader = "twin://looks/own.wesl".into());
    };
    refused(spoil, says);
}

#[test]
fn a_shader_with_a_syntax_error_names_the_authors_line() {
    let mark = "let broken = = 1.0;";
    let source = SHADER
        .replacen("fn fragment", &format!("fn spoiled() {{\n    {mark}\n}}\n@fragment fn fragment"), 1)
        .replacen("@fragment\nfn spoiled", "fn spoiled", 1);
    let place = format!("looks/own.wesl:{}", line_of(&source, mark));
    shader_refused(&source, &["does not compile", &place]);
}

#[test]
fn a_shader_with_a_wrong_type_names_the_authors_line() {
    let mark = "let wrong: vec3<f32> = 1.0 + vec2<f32>(2.0);";
    let start = SHADER.find("@fragment").unwrap();
    let body = start + SHADER[start..].find('{').unwrap() + 1;
    let source = format!("{}\n    {mark}\n{}", &SHADER[..body], &SHADER[body..]);
    let place = format!("looks/own.wesl:{}", line_of(&source, mark));
    shader_refused(&source, &["does not compile", &place]);
}

#[test]
fn a_shader_that_uses_an_unknown_name_names_the_authors_line() {
    let mark = "let unknown = no_such_function(1.0);";
    let start = SHADER.find("@fragment").unwrap();
    let body = start + SHADER[start..].find('{').unwrap() + 1;
    let source = format!("{}\n    {mark}\n{}", &SHADER[..body], &SHADER[body..]);
    let place = format!("looks/own.wesl:{}", line_of(&source, mark));
    shader_refused(&source, &["does not compile", &place, "no_such_function"]);
}

#[test]
fn a_shader_without_an_entry() {
    shader_refused("fn nothing() -> f32 { return 1.0; }\n", &["no fragment entry", "looks/own.wesl", "@fragment"]);
}

#[test]
fn an_unknown_shader_input_with_the_nearest_name() {
    let spoil = |twin: &Twin| stage(twin, |s| s.inputs = "float inputs:weight_albdo = 1".into());
    refused(
        spoil,
        &[
            "shader input not found",
            "site.usda",
            "/World/Looks/Ground/Shader.inputs:weight_albdo",
            "terrain_layered.wesl",
            "`weight_albedo`",
        ],
    );
}

#[test]
fn a_shader_input_of_another_type_or_out_of_range() {
    let spoil = |twin: &Twin| stage(twin, |s| s.inputs = "color3f inputs:weight_albedo = (1, 1, 1)".into());
    refused(spoil, &["wrong type", "inputs:weight_albedo", "float"]);
    let spoil = |twin: &Twin| stage(twin, |s| s.inputs = "float inputs:weight_albedo = 7".into());
    refused(spoil, &["out of range", "inputs:weight_albedo", "from 0 to 1"]);
}

// Stages.

#[test]
fn a_missing_stage() {
    let twin = Twin::good();
    let run = twin.run(&["render", "site/none.usda", "-o", "out"]);
    check(&run, &["not found", "site/none.usda"]);
}

#[test]
fn a_stage_that_does_not_parse_names_its_line() {
    let spoiled = Stage::default().text().replacen("def DistantLight \"Sun\"", "def DistantLight \"Sun", 1);
    let place = format!("site.usda:{}", line_of(&spoiled, "def DistantLight"));
    refused(|twin| twin.put("site.usda", &spoiled), &["does not parse", &place]);
}

#[test]
fn a_sublayer_that_does_not_parse_names_its_line() {
    let spoil = |twin: &Twin| {
        twin.put("looks/part.usda", "#usda 1.0\n\ndef Scope \"Part\"\n{\n    double a = = 1\n}\n");
        stage(twin, |s| s.world = "references = @looks/part.usda@</Part>".into());
    };
    refused(spoil, &["looks/part.usda:5"]);
}

#[test]
fn a_cycle_of_references() {
    let spoil = |twin: &Twin| {
        twin.put("a.usda", "#usda 1.0\ndef Scope \"A\" (references = @b.usda@</B>)\n{\n}\n");
        twin.put("b.usda", "#usda 1.0\ndef Scope \"B\" (references = @a.usda@</A>)\n{\n}\n");
        stage(twin, |s| s.world = "references = @a.usda@</A>".into());
    };
    refused(spoil, &["circle", "/World", "a.usda", "b.usda"]);
}

#[test]
fn a_missing_reference() {
    refused(|twin| stage(twin, |s| s.world = "references = @none.usda@</A>".into()), &["none.usda", "/World"]);
}

#[test]
fn a_stage_without_a_terrain() {
    refused(|twin| stage(twin, |s| s.terrain = false), &["no terrain", "site.usda", "lunco:assetMode"]);
}

#[test]
fn a_terrain_without_a_dem_layer() {
    refused(|twin| stage(twin, |s| s.dem_layer = false), &["no DEM", "/World/Terrain", "lunco:layer = \"dem\""]);
}

#[test]
fn a_terrain_without_a_material() {
    refused(|twin| stage(twin, |s| s.binding = false), &["no look", "/World/Terrain", "terrain_layered.wesl"]);
}

#[test]
fn a_camera_that_does_not_exist_and_those_that_do() {
    let says = ["camera not found", "site.usda", "/World/Cameras/Nva", "/World/Cameras/Nav", "/World/Cameras/Plan"];
    refused_with(|_| {}, &["--camera", "/World/Cameras/Nva"], &says);
}

#[test]
fn a_camera_that_makes_no_image_spoils_no_other_cameras_folder() {
    let spoil = |twin: &Twin| {
        let text = Stage::default().text().replacen("token projection = \"orthographic\"", "float focalLength = 0", 1);
        twin.put("site.usda", &text);
    };
    refused(spoil, &["focalLength is 0", "/World/Cameras/Plan"]);
}

// Paths that climb out of the twin.

/// A twin with a good copy of every kind of file outside of it.
fn with_outsiders(twin: &Twin) -> [(&'static str, String); 4] {
    let out = twin.outside().join("outside");
    std::fs::create_dir_all(&out).unwrap();
    Tiff::hills(40, 30, 2.0).write(&out.join("dem.tif"));
    std::fs::write(out.join("own.wesl"), SHADER).unwrap();
    std::fs::write(out.join("part.usda"), "#usda 1.0\ndef Scope \"Part\"\n{\n}\n").unwrap();
    std::os::unix::fs::symlink(&out, twin.root().join("link")).unwrap();
    std::os::unix::fs::symlink(out.join("dem.tif"), twin.root().join("link.tif")).unwrap();
    let absolute = out.canonicalize().unwrap().display().to_string();
    [
        ("dots", "../outside/".into()),
        ("twin dots", "twin://data/../../outside/".into()),
        ("absolute", format!("{absolute}/")),
        ("link", "link/".into()),
    ]
}

#[track_caller]
fn climbing_refused(change: impl Fn(&mut Stage, &str), where_said: &[&str]) {
    let folders = with_outsiders(&Twin::good()).map(|(name, _)| name);
    for (index, name) in folders.into_iter().enumerate() {
        println!("by {name}");
        let spoil = |twin: &Twin| {
            let prefix = with_outsiders(twin)[index].1.clone();
            stage(twin, |s| change(s, &prefix));
        };
        refused(
            spoil,
            &[&["out of the twin", "outside"], where_said]
                .concat()
                .iter()
                .filter(|part| name != "link" || **part != "outside")
                .copied()
                .collect::<Vec<_>>(),
        );
    }
}

#[test]
fn a_dem_outside_the_twin() {
    climbing_refused(
        |stage, prefix| stage.dem = format!("{prefix}dem.tif"),
        &["dem.tif", "/World/Terrain/Dem.lunco:layer:demSource"],
    );
}

#[test]
fn a_link_to_a_dem_outside_the_twin() {
    let spoil = |twin: &Twin| {
        with_outsiders(twin);
        stage(twin, |s| s.dem = "twin://link.tif".into());
    };
    refused(spoil, &["out of the twin", "link.tif"]);
}

#[test]
fn a_picture_outside_the_twin() {
    let change =
        |stage: &mut Stage, prefix: &str| stage.inputs = format!("asset inputs:albedo_map = @{prefix}dem.tif@");
    climbing_refused(change, &["dem.tif", "inputs:albedo_map"]);
}

#[test]
fn a_shader_outside_the_twin() {
    climbing_refused(
        |stage, prefix| stage.shader = format!("{prefix}own.wesl"),
        &["own.wesl", "/World/Looks/Ground/Shader"],
    );
}

#[test]
fn a_layer_outside_the_twin() {
    climbing_refused(
        |stage, prefix| stage.world = format!("references = @{prefix}part.usda@</Part>"),
        &["part.usda", "/World"],
    );
}

// The manifest.

#[test]
fn a_manifest_that_does_not_parse_names_its_line() {
    let spoil = |twin: &Twin| twin.put("twin.toml", "name = \"site\"\nstage = \"site.usda\"\n[data\n");
    refused(spoil, &["does not parse", "twin.toml:3"]);
}

#[test]
fn a_manifest_with_an_unknown_key_names_it() {
    let spoil = |twin: &Twin| twin.put("twin.toml", "name = \"site\"\nstage = \"site.usda\"\nbdoy = \"Moon\"\n");
    refused(spoil, &["twin.toml:3", "`bdoy`"]);
}

// The command line.

#[test]
fn an_image_that_is_too_large() {
    let twin = Twin::good();
    let before = twin.contents();
    let run = twin.run(&["render", "site/site.usda", "--size", "100000x100000", "-o", "out"]);
    check(&run, &["100000 x 100000", "image size"]);
    assert_unchanged(&twin, &before);
}

/// What clap refuses ends with 2, as usage errors do everywhere.
#[test]
fn an_image_without_pixels_is_a_usage_error() {
    let twin = Twin::good();
    let before = twin.contents();
    for size in ["0x0", "0x10", "640", "axb", "-1x5", "99999999999x1"] {
        let run = twin.run(&["render", "site/site.usda", &format!("--size={size}"), "-o", "out"]);
        assert_eq!(run.code, Some(2), "{size}: {}", run.stderr);
        assert!(run.stderr.contains("expected a width and a height"), "{size}: {}", run.stderr);
    }
    assert_unchanged(&twin, &before);
}

#[test]
fn a_set_value_for_an_unknown_input() {
    refused_with(|_| {}, &["--set", "photometri=1"], &["shader input not found", "--set photometri", "`photometry`"]);
}

// New twins.

#[track_caller]
fn new_refused(twin: &Twin, args: &[&str], says: &[&str]) {
    let before = twin.contents();
    check(&twin.run(&[&["twin", "new"], args].concat()), says);
    assert_unchanged(twin, &before);
}

#[test]
fn a_new_twin_where_there_is_one() {
    new_refused(&Twin::good(), &["./site", "--dem", "site/data/dem.tif"], &["exists", "site"]);
}

#[test]
fn a_new_twin_whose_name_is_no_identifier() {
    for name in ["1site", "a-b", "a b", "./a.b"] {
        new_refused(&Twin::good(), &[name, "--dem", "site/data/dem.tif"], &["name", "letters"]);
    }
}

#[test]
fn a_new_twin_of_a_dem_that_is_missing_or_can_not_be_placed() {
    let twin = Twin::good();
    new_refused(&twin, &["gale", "--dem", "none.tif"], &["not found", "none.tif"]);
    let mut tiff = Tiff::hills(20, 20, 2.0);
    tiff.crs = None;
    tiff.write(&twin.outside().join("no_crs.tif"));
    new_refused(&twin, &["gale", "--dem", "no_crs.tif"], &["no CRS", "no_crs.tif"]);
    new_refused(&twin, &["gale", "--dem", "site/data/dem.tif", "--dem", "no_crs.tif"], &["no CRS", "no_crs.tif"]);
    new_refused(&twin, &["gale", "--dem", "site/data/dem.tif", "--albedo", "none.tif"], &["not found", "none.tif"]);
}

#[test]
fn a_new_twin_of_a_dem_without_data_leaves_nothing_behind() {
    let twin = Twin::good();
    let mut tiff = Tiff::hills(20, 20, 2.0);
    tiff.values.fill(f32::NAN);
    tiff.write(&twin.outside().join("empty.tif"));
    new_refused(&twin, &["./gale", "--dem", "empty.tif"], &["no data", "empty.tif"]);
}
