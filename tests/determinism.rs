//! The same command gives the same bytes, whatever the thread count.

#![allow(missing_docs, clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod refusals_support;

use refusals_support::Twin;
use std::collections::BTreeMap;
use std::path::Path;

const CAMERAS: [&str; 2] = ["World.Cameras.Nav", "World.Cameras.Plan"];
const FILES: [&str; 8] =
    ["camera.json", "depth.exr", "labels.json", "labels.png", "normal.exr", "range.exr", "rgb.exr", "rgb.png"];

/// Both cameras' files, by folder and name.
fn pictures(folder: &Path) -> BTreeMap<(String, String), Vec<u8>> {
    let mut found = BTreeMap::new();
    for camera in CAMERAS {
        for entry in std::fs::read_dir(folder.join(camera)).unwrap() {
            let path = entry.unwrap().path();
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            found.insert((camera.to_owned(), name), std::fs::read(path).unwrap());
        }
    }
    let expected =
        CAMERAS.iter().flat_map(|camera| FILES.iter().map(|file| ((*camera).to_owned(), (*file).to_owned())));
    assert!(found.keys().cloned().eq(expected), "{:?}", found.keys());
    found
}

fn archives(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let files = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    files.map(|path| (path.file_name().unwrap().to_string_lossy().into_owned(), std::fs::read(path).unwrap())).collect()
}

#[track_caller]
fn assert_same(a: &BTreeMap<(String, String), Vec<u8>>, b: &BTreeMap<(String, String), Vec<u8>>) {
    let different: Vec<_> = a.keys().filter(|key| a[*key] != b[*key]).collect();
    assert!(different.is_empty(), "{different:?} differ");
}

fn render(twin: &Twin, out: &str, cache: &str, threads: Option<&str>) {
    let mut args = vec!["render", "site/site.usda", "--size", "160x120", "--samples", "3", "-o", out, "--cache", cache];
    args.extend(threads.iter().flat_map(|threads| ["--threads", threads]));
    twin.run(&args).succeeds();
}

#[test]
fn the_same_command_twice_gives_the_same_bytes() {
    let twin = Twin::good();
    // The first bakes, the second reads what the first baked.
    render(&twin, "first", "cache", None);
    render(&twin, "second", "cache", None);
    assert_same(&pictures(&twin.outside().join("first")), &pictures(&twin.outside().join("second")));
}

#[test]
fn one_thread_and_two_give_the_same_bytes() {
    let twin = Twin::good();
    render(&twin, "one", "cache1", Some("1"));
    render(&twin, "two", "cache2", Some("2"));
    let of = |name: &str| twin.outside().join(name);
    let (one, two) = (archives(&of("cache1")), archives(&of("cache2")));
    assert_eq!(one.len(), 1, "one archive and nothing else: {:?}", one.keys());
    assert!(one.keys().all(|name| name.ends_with(".pyramid")), "{:?}", one.keys());
    assert!(one == two, "archives differ");
    assert_same(&pictures(&of("one")), &pictures(&of("two")));
}

#[test]
fn the_second_bake_does_nothing() {
    let twin = Twin::good();
    let archive = || {
        let folder = twin.root().join(".terrane");
        let files: Vec<_> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
        assert_eq!(files.len(), 1, "{files:?}");
        (files[0].clone(), std::fs::metadata(&files[0]).unwrap().modified().unwrap())
    };
    let first = twin.run(&["bake", "site/site.usda"]).succeeds();
    assert!(first.stdout.starts_with("baked "), "{}", first.stdout);
    let made = archive();
    std::thread::sleep(std::time::Duration::from_millis(20));
    let second = twin.run(&["bake", "site/site.usda"]).succeeds();
    assert!(second.stdout.starts_with("up to date: "), "{}", second.stdout);
    assert_eq!(archive(), made, "the archive was written again");
}

#[test]
fn a_damaged_archive_is_baked_again_to_the_same_bytes() {
    let twin = Twin::good();
    twin.run(&["bake", "site/site.usda"]).succeeds();
    let folder = twin.root().join(".terrane");
    let whole = archives(&folder);
    let (name, bytes) = whole.iter().next().unwrap();
    let path = folder.join(name);
    let mut spoiled: Vec<(&str, Vec<u8>)> = vec![("empty", vec![]), ("cut", bytes[..bytes.len() / 2].to_vec())];
    for (what, place) in [("header", 9), ("index", 200)] {
        let mut flipped = bytes.clone();
        flipped[place] ^= 0x40;
        spoiled.push((what, flipped));
    }
    // The front is less than half of the file; some of these blocks are drawn.
    let mut flipped = bytes.clone();
    flipped[bytes.len() / 2..].iter_mut().step_by(512).for_each(|byte| *byte ^= 0x40);
    spoiled.push(("blocks", flipped));
    for (what, bytes) in spoiled {
        println!("{what}");
        std::fs::write(&path, bytes).unwrap();
        let out = format!("out_{what}");
        let run = twin.run(&["render", "site/site.usda", "--size", "32x24", "--samples", "1", "-o", &out]).succeeds();
        assert!(!run.stderr.contains("panicked"), "{}", run.stderr);
        assert!(archives(&folder) == whole, "{what}: not mended");
    }
}
