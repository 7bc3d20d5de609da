//! Bakes that are killed, interrupted, out of disk or out of luck: nothing that
//! was there is lost, and what comes after is what would have been.

#![allow(missing_docs, clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod refusals_support;

use refusals_support::{Tiff, Twin};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// A site whose bake takes a few steps and about a second.
fn twin() -> Twin {
    let twin = Twin::good();
    Tiff::hills(2500, 2500, 2.0).write(&twin.root().join("data/dem.tif"));
    twin
}

fn bake(twin: &Twin, cache: &str) -> Child {
    Command::new(env!("CARGO_BIN_EXE_terrane"))
        .current_dir(twin.outside())
        .args(["bake", "site/site.usda", "--quiet", "--cache", cache])
        .env("XDG_RUNTIME_DIR", std::env::temp_dir())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap()
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let Ok(entries) = std::fs::read_dir(folder) else { return vec![] };
    let mut files: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    files.retain(|file| file.file_name().unwrap() != "sources.json");
    files.sort();
    files
}

fn the_archive(folder: &Path) -> Vec<u8> {
    let files = files(folder);
    assert_eq!(files.len(), 1, "{files:?}");
    std::fs::read(&files[0]).unwrap()
}

#[test]
fn ten_bakes_killed_at_any_moment_go_on_to_the_same_bytes() {
    let twin = twin();
    let start = Instant::now();
    assert!(bake(&twin, "whole").wait().unwrap().success());
    let whole_s = start.elapsed().as_secs_f64();
    let whole = the_archive(&twin.outside().join("whole"));
    let mut left_behind = 0;
    for k in 0..10_u32 {
        let cache = format!("killed{k}");
        // Spread over the whole bake, in no order.
        let moment = whole_s * f64::from(k * 7 % 10 + 1) / 11.0;
        let mut child = bake(&twin, &cache);
        std::thread::sleep(Duration::from_secs_f64(moment));
        child.kill().unwrap();
        child.wait().unwrap();
        let folder = twin.outside().join(&cache);
        left_behind += usize::from(files(&folder).len() > 1);
        assert!(bake(&twin, &cache).wait().unwrap().success());
        assert!(the_archive(&folder) == whole, "killed after {moment:.2} s of {whole_s:.2} s");
    }
    println!("{left_behind} of ten bakes were killed between their first step and their last");
    assert!(left_behind >= 2, "{left_behind}");
}

#[test]
fn an_interrupted_bake_leaves_nothing_behind() {
    let twin = twin();
    let child = bake(&twin, "cache");
    std::thread::sleep(Duration::from_millis(400));
    Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
    let output = child.wait_with_output().unwrap();
    // It may have been done already; then its archive is whole.
    if output.status.success() {
        println!("the bake was done before it was interrupted");
        the_archive(&twin.outside().join("cache"));
    } else {
        assert!(String::from_utf8_lossy(&output.stderr).contains("cancelled"));
        assert_eq!(files(&twin.outside().join("cache")), Vec::<PathBuf>::new());
    }
}

#[test]
fn two_bakes_at_once_make_one_archive() {
    let twin = twin();
    let (mut one, mut two) = (bake(&twin, "cache"), bake(&twin, "cache"));
    assert!(one.wait().unwrap().success() && two.wait().unwrap().success());
    let both = the_archive(&twin.outside().join("cache"));
    assert!(bake(&twin, "alone").wait().unwrap().success());
    assert!(both == the_archive(&twin.outside().join("alone")));
}

/// A file system of a few megabytes, or `None` and a printed reason.
struct SmallDisk(PathBuf);

impl SmallDisk {
    fn mount(folder: PathBuf, megabytes: u32) -> Option<Self> {
        std::fs::create_dir_all(&folder).unwrap();
        let size = format!("size={megabytes}m");
        let mount = Command::new("mount").args(["-t", "tmpfs", "-o", &size, "tmpfs"]).arg(&folder).output();
        if !mount.is_ok_and(|output| output.status.success()) {
            println!("skipped: this user may not mount a tmpfs");
            return None;
        }
        Some(Self(folder))
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg(&self.0).status();
    }
}

#[test]
fn a_full_disk_is_said_and_the_archive_before_stays() {
    let twin = Twin::good();
    let Some(disk) = SmallDisk::mount(twin.outside().join("disk"), 3) else { return };
    let cache = disk.0.display().to_string();
    assert!(bake(&twin, &cache).wait().unwrap().success());
    let before = the_archive(&disk.0);
    // The same site with more data than the disk holds.
    Tiff::hills(2500, 2500, 2.0).write(&twin.root().join("data/dem.tif"));
    let output = bake(&twin, &cache).wait_with_output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(said.contains("No space left") && said.contains("--cache"), "{said}");
    assert!(the_archive(&disk.0) == before, "what was there stays, and nothing else");
    let export = twin.run(&["export", "site/site.usda", "--layer", "height", "-o", "disk/height.tif"]);
    assert_eq!(export.code, Some(1), "{}", export.stdout);
    assert!(export.stderr.contains("height.tif") && export.stderr.contains("full"), "{}", export.stderr);
    assert_eq!(files(&disk.0).len(), 1, "{:?}", files(&disk.0));
}

#[test]
fn a_damaged_tile_is_found_told_and_mended() {
    let twin = Twin::good();
    twin.run(&["bake", "site/site.usda"]).succeeds();
    let archive = files(&twin.root().join(".terrane")).remove(0);
    let whole = std::fs::read(&archive).unwrap();
    let mut bytes = whole.clone();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 0x10;
    std::fs::write(&archive, &bytes).unwrap();
    let name = archive.display().to_string();
    let verify = twin.run(&["verify", &name]);
    assert_eq!(verify.code, Some(1), "{}", verify.stdout);
    assert!(verify.stderr.contains("checksum") && verify.stderr.contains("terrane bake"), "{}", verify.stderr);
    twin.run(&["bake", "site/site.usda"]).succeeds();
    assert!(std::fs::read(&archive).unwrap() == whole);
    twin.run(&["verify", &name]).succeeds();
    // Drawing mends it, too.
    std::fs::write(&archive, &bytes).unwrap();
    twin.render(&[]).succeeds();
    assert!(std::fs::read(&archive).unwrap() == whole);
}
