//! `terrane drive` as a person types it.

#![allow(missing_docs, clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod refusals_support;

use refusals_support::{Stage, Twin};
use serde_json::Value;

const STAGE: &str = "site/site.usda";

fn number(value: &Value, path: &str) -> f64 {
    value.pointer(path).and_then(Value::as_f64).unwrap_or_else(|| panic!("{path} of {value}"))
}

fn drive(twin: &Twin, more: &[&str]) -> Value {
    let args: Vec<&str> = ["drive", STAGE, "--json"].iter().chain(more).copied().collect();
    serde_json::from_str(&twin.run(&args).succeeds().stdout).unwrap()
}

#[test]
fn a_path_is_driven_and_its_trace_lies_on_the_ground() {
    let twin = Twin::good();
    std::fs::write(twin.outside().join("path.csv"), "name,x_m,z_m\nstart,0,0\n# on we go\nend, 5.0 ,-3.5\n").unwrap();
    let report = drive(&twin, &["--path", "path.csv", "-o", "out/trace.csv", "--vehicle", "ball"]);
    assert_eq!((&report["outcome"], &report["waypoints"]), (&Value::from("reached"), &Value::from(2)), "{report}");
    assert!(number(&report, "/worst_penetration_m") < 1e-3 && number(&report, "/distance_m") > 5.4, "{report}");
    let trace = std::fs::read_to_string(twin.outside().join("out/trace.csv")).unwrap();
    assert!(trace.starts_with("t_s,x_m,y_m,z_m,heading_deg,pitch_deg,roll_deg,speed_m_s,ball_clearance_m,ball_slip\n"));
    let row: Vec<&str> = trace.lines().last().unwrap().split(',').collect();
    let ground = twin.run(&["query", STAGE, "--json", "height", row[1], row[3]]).succeeds().stdout;
    let ground: Value = serde_json::from_str(&ground).unwrap();
    let over_m = row[2].parse::<f64>().unwrap() - number(&ground, "/ground/y_m");
    let upright = number(&ground, "/ground/normal/1");
    assert!((over_m - 0.25 / upright).abs() < 0.05, "{over_m} over ground of {upright}");
    // Again, over the trace of before, to the bit, with another number of threads.
    let again = drive(&twin, &["--path", "path.csv", "-o", "out/trace.csv", "--vehicle", "ball", "--threads", "1"]);
    assert_eq!(again, report);
    assert_eq!(std::fs::read_to_string(twin.outside().join("out/trace.csv")).unwrap(), trace);
}

#[test]
fn gravity_is_the_stages_or_the_bodys_or_as_asked_and_is_said() {
    let twin = Twin::good();
    let drive = |more: &[&str]| {
        let args = [&["--seed", "4", "--distance", "4", "--vehicle", "ball", "-o", "t.csv"], more].concat();
        drive(&twin, &args)
    };
    let report = drive(&[]);
    assert_eq!((number(&report, "/gravity_m_s2"), &report["gravity_from"]["body"]), (9.81, &Value::from("Earth")));
    let report = drive(&["--gravity", "3.71"]);
    assert_eq!((number(&report, "/gravity_m_s2"), &report["gravity_from"]), (3.71, &Value::from("asked")));
    let scene = "def PhysicsScene \"Physics\" { float physics:gravityMagnitude = 1.62 }\n    def Scope \"Cameras\"";
    twin.put("site.usda", &Stage::default().text().replace("def Scope \"Cameras\"", scene));
    let report = drive(&[]);
    assert_eq!((number(&report, "/gravity_m_s2"), &report["gravity_from"]), (1.62, &Value::from("stage")));
}

#[test]
fn what_can_not_be_driven_says_where_and_why_and_leaves_files_alone() {
    let twin = Twin::good();
    let refuses = |path: &str, expected: &[&str]| {
        std::fs::write(twin.outside().join("path.csv"), path).unwrap();
        let refused = twin.run(&["drive", STAGE, "--path", "path.csv", "-o", "t.csv"]);
        assert!(refused.code == Some(1), "{path}");
        for text in expected {
            assert!(refused.stderr.contains(text), "{path}: {text}: {}", refused.stderr);
        }
        assert!(!twin.outside().join("t.csv").exists());
    };
    refuses("x_m,z_m\n0,0\n4,oops\n", &["path.csv:3", "expected a number in z_m; found `oops`"]);
    refuses("x_m,z_m\n0,0\n4\n", &["path.csv:3", "expected a number in z_m; it is missing"]);
    refuses("x,z\n0,0\n", &["path.csv:1", "expected columns x_m,z_m; found x,z"]);
    refuses("lon_deg,lat_deg\n0,0\n", &["longitude and latitude take --lon-lat"]);
    refuses("x_m,z_m\n0,0\n", &["a path needs at least two places"]);
    refuses("x_m,z_m\n1e6,0\n1e6,9\n", &["no ground to start on"]);
    refuses("", &["expected columns x_m,z_m"]);
    std::fs::write(twin.outside().join("mine.csv"), "x_m,z_m\n0,0\n5,0\n").unwrap();
    let kept = twin.run(&["drive", STAGE, "--path", "mine.csv", "-o", "mine.csv"]);
    assert!(kept.code == Some(1) && kept.stderr.contains("it is left alone"), "{}", kept.stderr);
    assert_eq!(std::fs::read_to_string(twin.outside().join("mine.csv")).unwrap(), "x_m,z_m\n0,0\n5,0\n");
    let aimless = twin.run(&["drive", STAGE]);
    assert!(aimless.code == Some(1) && aimless.stderr.contains("--seed"), "{}", aimless.stderr);
    let early = twin.run(&["drive", STAGE, "--path", "mine.csv", "-o", "t.csv", "--limit", "1"]);
    assert!(early.code == Some(1) && early.stderr.contains("vehicle ran out of time"), "{}", early.stderr);
    assert!(twin.outside().join("t.csv").exists());
}
