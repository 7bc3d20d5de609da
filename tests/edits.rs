//! The ground shaped by a stage and edited by a person, as they type it.

#![allow(missing_docs, clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod refusals_support;

use refusals_support::{Run, Stage, Twin};
use serde_json::Value;
use std::fmt::Write;

const STAGE: &str = "site/site.usda";

fn json(run: Run) -> Value {
    serde_json::from_str(&run.succeeds().stdout).unwrap()
}

fn height(twin: &Twin, x: &str, z: &str) -> Value {
    json(twin.run(&["query", STAGE, "--json", "height", x, z]))["ground"].clone()
}

fn y_m(ground: &Value) -> f64 {
    ground["y_m"].as_f64().unwrap_or_else(|| panic!("no ground: {ground}"))
}

fn edit(twin: &Twin, args: &[&str]) -> Value {
    json(twin.run(&[&["edit", STAGE, "--json"], args].concat()))
}

fn edits(twin: &Twin, args: &[&str]) -> Value {
    json(twin.run(&[&["edits", STAGE, "--json"], args].concat()))
}

/// The good twin's stage with more layers under its terrain.
fn with_layers(twin: &Twin, layers: &str) {
    let text = Stage::default().text();
    let place = text.find("uniform token lunco:assetMode").unwrap();
    let end_of_line = place + text[place..].find('\n').unwrap() + 1;
    twin.put("site.usda", &format!("{}{layers}{}", &text[..end_of_line], &text[end_of_line..]));
}

#[test]
fn an_edit_is_seen_at_once_and_undone_to_the_ground_it_was() {
    let twin = Twin::good();
    let stage_files = || {
        let mut files = twin.contents();
        files.retain(|path, _| !path.components().any(|part| part.as_os_str() == ".terrane"));
        files
    };
    let before = stage_files();
    let (plain, key) = (height(&twin, "3", "-4"), edits(&twin, &[])["key"].clone());
    let brushed = edit(&twin, &["brush", "3", "-4", "--radius", "6", "--amount", "2.5"]);
    assert_eq!(brushed["prim"], "/World/Terrain/Edit_000001", "{brushed}");
    assert_ne!(brushed["key"], key);
    let after = height(&twin, "3", "-4");
    assert!((y_m(&after) - y_m(&plain) - 2.5).abs() < 0.05, "{after} {plain}");
    assert_eq!((after["origin"].as_str(), after["shaped_by"][0].as_str()), (Some("edited"), brushed["prim"].as_str()));
    // The stage's files are as they were, and the session can be left out.
    assert!(stage_files() == before);
    let without = json(twin.run(&["query", STAGE, "--json", "--no-session", "height", "3", "-4"]));
    assert_eq!(without["ground"], plain);
    edit(&twin, &["hole", "10", "8", "--radius", "5"]);
    assert_eq!(height(&twin, "10", "8"), Value::Null);
    edit(&twin, &["undo"]);
    assert_ne!(height(&twin, "10", "8"), Value::Null);
    let undone = edit(&twin, &["undo"]);
    assert_eq!((&undone["key"], &height(&twin, "3", "-4")), (&key, &plain));
    edit(&twin, &["redo"]);
    assert_eq!(height(&twin, "3", "-4"), after);
    edits(&twin, &["--clear"]);
    assert_eq!((edits(&twin, &[])["key"].clone(), height(&twin, "3", "-4")), (key, plain));
}

#[test]
fn a_saved_layer_is_the_same_ground_as_its_session() {
    let twin = Twin::good();
    with_layers(
        &twin,
        "def Scope \"Pit\"\n{\nuniform token lunco:layer = \"edit\"\ntoken lunco:edit:kind = \"crater\"\n\
         double2 lunco:edit:center = (0, 0)\ndouble lunco:edit:radius = 4\n}\n",
    );
    edit(&twin, &["remove", "Pit"]);
    edit(&twin, &["flatten", "-5", "5", "--radius", "9", "--offset", "0.5"]);
    edit(&twin, &["crater", "-5", "5", "--radius", "2"]);
    edit(&twin, &["smooth", "12", "-9", "--radius", "8"]);
    let paint = edit(&twin, &["paint", "12", "-9", "--radius", "3", "--class", "5"]);
    let listing = edits(&twin, &["--save", "site/edits.usda"]);
    assert_eq!((listing["saved"]["edits"].as_u64(), listing["saved"]["removed"].as_u64()), (Some(4), Some(1)));
    let places = [("-5", "5"), ("-3.1", "5.2"), ("12", "-9"), ("0", "0")];
    let session: Vec<Value> = places.iter().map(|(x, z)| height(&twin, x, z)).collect();
    assert_eq!(session[2]["class"].as_u64(), Some(5));
    edits(&twin, &["--clear"]);
    assert_ne!(height(&twin, "-5", "5"), session[0]);
    // Taken into the stage, it is the same ground.
    let text = std::fs::read_to_string(twin.stage()).unwrap();
    twin.put("site.usda", &text.replacen("(\n", "(\n    subLayers = [@./edits.usda@]\n", 1));
    let saved: Vec<Value> = places.iter().map(|(x, z)| height(&twin, x, z)).collect();
    for (saved, session) in saved.iter().zip(&session) {
        assert_eq!(saved, session);
    }
    assert_eq!(edits(&twin, &[])["in_force"].as_array().unwrap().len(), 4);
    // The next session goes on after the saved one.
    let next = edit(&twin, &["brush", "0", "0", "--radius", "5", "--amount", "1"]);
    assert!(next["prim"].as_str() > paint["prim"].as_str(), "{next} {paint}");
    // A file that is something else is left alone.
    let refused = twin.run(&["edits", STAGE, "--save", STAGE]);
    assert!(refused.code == Some(1) && refused.stderr.contains("left alone"), "{}", refused.stderr);
}

#[test]
fn a_thousand_edits_replayed_give_the_same_key() {
    let twin = Twin::good();
    let mut log = String::new();
    for k in 0..1000_i32 {
        let (x, z) = (f64::from((k * 37) % 61) - 30.0, f64::from((k * 53) % 43) - 21.0);
        let command = match k % 5 {
            0 => format!(r#"{{"command":"BrushTerrain","x_m":{x},"z_m":{z},"radius_m":5.0,"amount_m":0.25}}"#),
            1 => format!(r#"{{"command":"FlattenTerrain","x_m":{x},"z_m":{z},"radius_m":4.0}}"#),
            2 => format!(r#"{{"command":"PlaceCrater","x_m":{x},"z_m":{z},"radius_m":1.5,"depth_m":0.5}}"#),
            3 if k % 20 == 3 => r#"{"command":"Undo"}"#.to_owned(),
            3 => format!(r#"{{"command":"SmoothTerrain","x_m":{x},"z_m":{z},"radius_m":3.0}}"#),
            _ if k % 100 == 99 => {
                r#"{"command":"RemoveTerrainEdit","edit":"Edit_000002"}"#.replace("000002", &format!("{:06}", k / 2))
            }
            _ => format!(r#"{{"command":"PaintTerrain","x_m":{x},"z_m":{z},"radius_m":2.0,"class":3}}"#),
        };
        writeln!(log, "{command}").unwrap();
    }
    twin.put("log.jsonl", &log);
    let original = edits(&twin, &[])["key"].clone();
    edit(&twin, &["replay", "site/log.jsonl"]);
    let first = edits(&twin, &["--log", "again.jsonl"]);
    assert_eq!(first["commands"].as_u64(), Some(1000));
    edits(&twin, &["--clear"]);
    assert_eq!(edits(&twin, &[])["key"], original);
    edit(&twin, &["replay", "again.jsonl"]);
    let again = edits(&twin, &[]);
    assert_eq!((&again["key"], &again["in_force"]), (&first["key"], &first["in_force"]));
    // All of them taken back: the original key.
    let undo: String = (0..again["commands"].as_u64().unwrap()).map(|_| "{\"command\":\"Undo\"}\n").collect();
    let depth = edit(&twin, &["undo"])["undo"].as_u64().unwrap() as usize;
    twin.put("undo.jsonl", &undo.lines().take(depth).map(|line| format!("{line}\n")).collect::<String>());
    edit(&twin, &["replay", "site/undo.jsonl"]);
    assert_eq!(edits(&twin, &[])["key"], original);
}

#[test]
fn what_cannot_be_done_changes_nothing_and_says_why() {
    let twin = Twin::good();
    edit(&twin, &["brush", "0", "0", "--radius", "5", "--amount", "1"]);
    let before = edits(&twin, &[]);
    twin.put("bad.jsonl", "{\"command\":\"Undo\"}\n{\"command\":\"Dig\"}\n");
    twin.put("late.jsonl", "{\"command\":\"CarveHole\",\"x_m\":1,\"z_m\":1,\"radius_m\":1}\n{\"command\":\"Redo\"}\n");
    for (args, says) in [
        (&["remove", "Edit_9"][..], "no edit in force"),
        (&["redo"], "nothing to redo"),
        (&["replay", "site/bad.jsonl"], "bad.jsonl:2"),
        (&["replay", "site/late.jsonl"], "nothing to redo"),
        (&["replay", "site/none.jsonl"], "none.jsonl"),
        (&["brush", "nan", "0", "--radius", "5", "--amount", "1"], "place"),
        (&["brush", "0", "0", "--radius", "1e-9", "--amount", "1"], "finer"),
    ] {
        let run = twin.run(&[&["edit", STAGE], args].concat());
        assert!(run.code == Some(1) && run.stderr.contains(says), "{args:?}: {}", run.stderr);
    }
    assert_eq!(edits(&twin, &[]), before);
}

#[test]
fn layers_that_cannot_be_read_are_named() {
    let layer = |kind: &str, attributes: &str| {
        format!("def Scope \"Odd\"\n{{\nuniform token lunco:layer = \"{kind}\"\n{attributes}\n}}\n")
    };
    for (kind, attributes, says) in [
        ("craters", "", "Odd.lunco:layer:size"),
        ("craters", "double lunco:layer:size = -3", "not above 0"),
        ("craters", "float lunco:layer:density = 5", "Odd.lunco:layer:sizeMin"),
        (
            "craters",
            "float lunco:layer:density = 5\nfloat lunco:layer:sizeMin = 5\nfloat lunco:layer:sizeMax = 9\ntoken lunco:layer:sizeMode = \"odd\"",
            "`odd` is none of equilibrium",
        ),
        (
            "craters",
            "float lunco:layer:density = 1e12\nfloat lunco:layer:sizeMin = 5\nfloat lunco:layer:sizeMax = 9",
            "lower the density or the region",
        ),
        (
            "craters",
            "float lunco:layer:density = 5\nfloat lunco:layer:sizeMin = 9\nfloat lunco:layer:sizeMax = 5",
            "sizes",
        ),
        ("overzoom", "float lunco:layer:minFeature = 0.00001", "regionM"),
        ("overzoom", "float lunco:layer:minFeature = 0", "not above 0"),
        ("edit", "token lunco:edit:kind = \"dig\"", "`dig` is none of brush"),
        ("edit", "token lunco:edit:kind = \"hole\"\ndouble2 lunco:edit:center = (0, 0)", "Odd.lunco:edit:radius"),
        ("edit", "token lunco:edit:kind = \"hole\"\ndouble lunco:edit:radius = 3", "Odd.lunco:edit:center"),
    ] {
        let twin = Twin::good();
        with_layers(&twin, &layer(kind, attributes));
        let run = twin.run(&["query", STAGE, "height", "0", "0"]);
        assert!(run.code == Some(1) && run.stderr.contains(says), "{kind} {attributes}: {}", run.stderr);
        assert!(run.stderr.contains("/World/Terrain/Odd"), "{}", run.stderr);
    }
}

#[test]
fn a_terrain_without_a_dem_is_a_level_base_that_is_drawn_and_queried() {
    let twin = Twin::good();
    let text = Stage { dem_layer: false, ..Stage::default() }.text();
    let place = text.find("uniform token lunco:assetMode").unwrap();
    let end = place + text[place..].find('\n').unwrap() + 1;
    let crater = "def Scope \"C\"\n{\nuniform token lunco:layer = \"craters\"\ndouble lunco:layer:size = 60\n}\n";
    twin.put("site.usda", &format!("{}{crater}{}", &text[..end], &text[end..]));
    let (floor, rim, far) = (height(&twin, "0", "0"), height(&twin, "30", "0"), height(&twin, "450", "-450"));
    assert!(y_m(&rim) - y_m(&floor) > 7.0 && y_m(&far).abs() < 0.2, "{floor} {rim} {far}");
    assert_eq!((far["origin"].as_str(), rim["shaped_by"][0].as_str()), (Some("synthesised"), Some("/World/Terrain/C")));
    assert_eq!(height(&twin, "5000", "0"), Value::Null);
    twin.render(&[]).succeeds();
    let export = ["export", STAGE, "--layer", "height", "-o", "h.tif", "--region", "-40", "-40", "40", "40", "--json"];
    let report = json(twin.run(&export));
    assert_eq!((report["columns"].as_u64(), report["rows"].as_u64()), (Some(81), Some(81)), "{report}");
}

#[test]
fn a_shaped_ground_bakes_to_the_same_bytes_on_any_number_of_threads() {
    let twin = Twin::good();
    with_layers(
        &twin,
        "def Scope \"Craters\"\n{\nuniform token lunco:layer = \"craters\"\nfloat lunco:layer:density = 20000\n\
         float lunco:layer:sizeMin = 2\nfloat lunco:layer:sizeMax = 20\nfloat lunco:layer:regionM = 60\n}\n\
         def Scope \"Detail\"\n{\nuniform token lunco:layer = \"overzoom\"\nfloat lunco:layer:regionM = 30\n}\n",
    );
    let baked = ["1", "2"].map(|threads| {
        let cache = format!("cache{threads}");
        let report = json(twin.run(&["bake", STAGE, "--json", "--threads", threads, "--cache", &cache]));
        (report["key"].clone(), std::fs::read(twin.outside().join(report["archive"].as_str().unwrap())).unwrap())
    });
    assert!(baked[0] == baked[1] && baked[0].1.len() > 100_000);
}

#[test]
fn a_session_may_be_kept_outside_of_the_twin() {
    let twin = Twin::good();
    let run = |args: &[&str]| json(twin.run(&[args, &["--json", "--cache", "elsewhere"]].concat()));
    run(&["edit", STAGE, "hole", "4", "4", "--radius", "3"]);
    assert_eq!(run(&["query", STAGE, "height", "4", "4"])["ground"], Value::Null);
    assert_ne!(height(&twin, "4", "4"), Value::Null);
}

#[test]
fn a_layer_that_a_stage_took_in_counts_once_and_is_not_lost() {
    let twin = Twin::good();
    edit(&twin, &["brush", "3", "-4", "--radius", "6", "--amount", "2.5"]);
    edit(&twin, &["hole", "10", "8", "--radius", "3"]);
    edits(&twin, &["--save", "site/edits.usda"]);
    let (before, key) = (height(&twin, "3", "-4"), edits(&twin, &[])["key"].clone());
    let text = std::fs::read_to_string(twin.stage()).unwrap();
    twin.put("site.usda", &text.replacen("(\n", "(\n    subLayers = [@./edits.usda@]\n", 1));
    // With the session still there, and without it.
    assert_eq!((height(&twin, "3", "-4"), edits(&twin, &[])["key"].clone()), (before.clone(), key.clone()));
    assert_eq!(edits(&twin, &[])["in_force"].as_array().unwrap().len(), 2);
    edits(&twin, &["--clear"]);
    assert_eq!((height(&twin, "3", "-4"), edits(&twin, &[])["key"].clone()), (before, key));
    // Another session can't take the place of what was saved.
    edit(&twin, &["brush", "0", "0", "--radius", "5", "--amount", "1"]);
    let saved = std::fs::read(twin.root().join("edits.usda")).unwrap();
    let refused = twin.run(&["edits", STAGE, "--save", "site/edits.usda"]);
    assert!(refused.code == Some(1) && refused.stderr.contains("Edit_000001, Edit_000002"), "{}", refused.stderr);
    assert_eq!(std::fs::read(twin.root().join("edits.usda")).unwrap(), saved);
}

#[test]
fn a_session_that_cannot_be_read_says_so_and_can_be_ended() {
    let twin = Twin::good();
    let plain = height(&twin, "0", "0");
    edit(&twin, &["brush", "0", "0", "--radius", "5", "--amount", "1"]);
    let folder = twin.root().join(".terrane/sessions");
    let file = |ending: &str| {
        let found = std::fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path());
        found.into_iter().find(|path| path.extension().is_some_and(|own| own == ending)).unwrap()
    };
    // The layer beside the log is for others: what is in force is the log's.
    let brushed = height(&twin, "0", "0");
    std::fs::write(file("usda"), "garbage").unwrap();
    assert_eq!(height(&twin, "0", "0"), brushed);
    let log = file("jsonl");
    let mut text = std::fs::read_to_string(&log).unwrap();
    text.push_str("garbage\n");
    std::fs::write(&log, &text).unwrap();
    for args in [&["query", STAGE, "height", "0", "0"][..], &["edit", STAGE, "undo"], &["edits", STAGE]] {
        let run = twin.run(args);
        assert!(
            run.code == Some(1) && run.stderr.contains(".jsonl:3") && run.stderr.contains("--clear"),
            "{}",
            run.stderr
        );
    }
    let without = json(twin.run(&["query", STAGE, "--json", "--no-session", "height", "0", "0"]));
    assert_eq!(without["ground"], plain);
    twin.run(&["edits", STAGE, "--clear"]).succeeds();
    assert_eq!(height(&twin, "0", "0"), plain);
}

#[test]
fn layers_that_can_have_no_effect_are_named() {
    let edit = |name: &str, center: &str| {
        format!(
            "def Scope \"{name}\"\n{{\nuniform token lunco:layer = \"edit\"\ntoken lunco:edit:kind = \"hole\"\n\
             double2 lunco:edit:center = {center}\ndouble lunco:edit:radius = 2\n}}\n"
        )
    };
    let twin = Twin::good();
    with_layers(
        &twin,
        &(edit("Far", "(5000, 0)") + &format!("def Scope \"Group\"\n{{\n{}}}\n", edit("Deep", "(0, 0)"))),
    );
    let said = twin.run(&["inspect", STAGE]).stderr;
    assert!(said.contains("/World/Terrain/Far") && said.contains("no ground"), "{said}");
    assert!(said.contains("/World/Terrain/Group/Deep") && said.contains("no child of its terrain"), "{said}");
}
