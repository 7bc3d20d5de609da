//! `terrane query` and `terrane export` as a person types them.

#![allow(missing_docs, clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod refusals_support;

use refusals_support::Twin;
use serde_json::Value;

fn ask(twin: &Twin, question: &[&str]) -> Value {
    let args: Vec<&str> = ["query", "site/site.usda", "--json"].iter().chain(question).copied().collect();
    serde_json::from_str(&twin.run(&args).succeeds().stdout).unwrap()
}

fn number(value: &Value, path: &str) -> f64 {
    value.pointer(path).and_then(Value::as_f64).unwrap_or_else(|| panic!("{path} of {value}"))
}

#[test]
fn a_ray_straight_down_meets_the_height_before_and_after_the_bake() {
    let twin = Twin::good();
    let y_m = number(&ask(&twin, &["height", "3.25", "-4.5"]), "/ground/y_m");
    let down = ["raycast", "3.25", "500", "-4.5", "0", "-1", "0"];
    let before = ask(&twin, &down);
    assert!((number(&before, "/hit/position_m/1") - y_m).abs() < 1e-9, "{before}");
    twin.run(&["bake", "site/site.usda"]).succeeds();
    assert_eq!(ask(&twin, &down), before, "bounds of the archive give another hit");
    assert_eq!(ask(&twin, &["raycast", "1e7", "500", "0", "0", "-1", "0"])["hit"], Value::Null);
}

#[test]
fn places_by_longitude_and_latitude_are_the_same_places() {
    let twin = Twin::good();
    let here = ask(&twin, &["height", "12.5", "7.75"]);
    let (lon, lat) = (number(&here, "/lon_deg").to_string(), number(&here, "/lat_deg").to_string());
    let again = ask(&twin, &["--lon-lat", "height", &lon, &lat]);
    assert!((number(&again, "/x_m") - 12.5).abs() < 1e-3 && (number(&again, "/z_m") - 7.75).abs() < 1e-3, "{again}");
    assert!((number(&again, "/ground/y_m") - number(&here, "/ground/y_m")).abs() < 1e-3);
}

#[test]
fn sights_profiles_and_footprints_are_answered_and_nonsense_is_refused() {
    let twin = Twin::good();
    let sight = ask(&twin, &["line-of-sight", "0", "0", "2000", "10", "5", "2000"]);
    assert_eq!(sight["is_clear"], Value::Bool(true), "{sight}");
    let sight = ask(&twin, &["line-of-sight", "0", "0", "-5", "10", "5", "5"]);
    assert_eq!(sight["is_clear"], Value::Bool(false), "the eye is below the ground");
    let profile = ask(&twin, &["profile", "0", "0", "8", "6", "--step", "2.5"]);
    assert_eq!(profile.as_array().map(Vec::len), Some(5));
    assert_eq!(profile[4]["ground"], ask(&twin, &["height", "8", "6"])["ground"]);
    let stand = ask(&twin, &["footprint", "3", "4", "30"]);
    assert!(number(&stand, "/slope_deg") >= 0.0 && number(&stand, "/unevenness_m") < 1.0, "{stand}");
    let csv = twin.run(&["query", "site/site.usda", "profile", "0", "0", "8", "6"]).succeeds().stdout;
    assert!(csv.starts_with("distance_m,x_m,z_m,y_m,") && csv.lines().count() == 12, "{csv}");
    for nonsense in [
        &["raycast", "0", "0", "0", "0", "0", "0"][..],
        &["raycast", "nan", "0", "0", "0", "1", "0"],
        &["profile", "0", "0", "8"],
        &["profile", "0", "0", "8", "6", "7"],
        &["profile", "0", "0", "8", "6", "--step", "0"],
        &["profile", "0", "0", "8", "6", "--step", "1e-12"],
        &["footprint", "3", "4", "30", "--track", "-1"],
        &["line-of-sight", "0", "0", "2", "1e9", "0", "2"],
        &["--lon-lat", "raycast", "0", "0", "0", "0", "1", "0"],
    ] {
        let args: Vec<&str> = ["query", "site/site.usda"].iter().chain(nonsense).copied().collect();
        let run = twin.run(&args);
        assert!(run.code != Some(0) && !run.stderr.contains("panicked"), "{nonsense:?}: {}", run.stderr);
    }
}

#[test]
fn an_export_takes_the_place_of_nothing_but_an_export() {
    let twin = Twin::good();
    let dem = twin.root().join("data/dem.tif");
    let kept = [dem.clone(), twin.stage(), twin.root().join("twin.toml")];
    let before = kept.clone().map(|file| std::fs::read(file).unwrap());
    let folder = twin.outside().join("folder.tif");
    std::fs::create_dir(&folder).unwrap();
    let outputs = [dem.as_path(), &twin.stage(), &twin.root().join("twin.toml"), &folder, "/vsimem/x.tif".as_ref()];
    for output in outputs {
        let run = twin.run(&["export", "site/site.usda", "--layer", "height", "-o", output.to_str().unwrap()]);
        assert_eq!(run.code, Some(1), "{}: {}", output.display(), run.stderr);
    }
    assert!(kept.map(|file| std::fs::read(file).unwrap()) == before, "a file of the twin was changed");
    for _ in 0..2 {
        twin.run(&["export", "site/site.usda", "--layer", "height", "-o", "height.tif"]).succeeds();
    }
    for wrong in [&["--sky-radius", "100000"][..], &["--sun", "10", "95"]] {
        let layer = if wrong[0] == "--sun" { "hillshade" } else { "ambient-occlusion" };
        let args: Vec<&str> =
            ["export", "site/site.usda", "-o", "s.tif", "--layer", layer].iter().chain(wrong).copied().collect();
        let run = twin.run(&args);
        assert!(run.code == Some(1) && !twin.outside().join("s.tif").exists(), "{wrong:?}: {}", run.stderr);
    }
}
