//! Hostile and damaged files: a clear error, nothing hung, this process alive.

// Helpers outside #[test] may fail a test.
#![allow(clippy::unwrap_used)]

mod common;

use common::{Folder, confined, said, shared_usd, stage, tight};
use std::fmt::Write;
use std::time::{Duration, Instant};
use terrane_stage::{ConfinedReader, Limits, ReadRequest, ReaderLimit, StageError};

#[test]
fn the_child_reads_what_this_process_reads() {
    let body = "def Camera \"Eye\" { float focalLength = 24 }\ndef Xform \"A\" ( references = @lunco://base/lunar_surface.usda@ ) {}";
    let folder = Folder::new(&[("site.usda", &stage(body))]);
    let spec = confined().read(&folder.request("site.usda")).unwrap();
    assert_eq!(spec, folder.read("site.usda"));
}

#[test]
fn a_parse_error_crosses_the_door_with_its_place() {
    let folder = Folder::new(&[("site.usda", "#usda 1.0\ndef Xform \"A\" {\n  float x = = 1\n}\n")]);
    let diagnostic = confined().read(&folder.request("site.usda")).unwrap_err().diagnostic();
    assert_eq!((diagnostic.code.as_str(), diagnostic.place.line), ("stage-parse", Some(3)));
    assert!(diagnostic.place.file.unwrap().ends_with("site.usda"));
}

#[test]
fn nesting_of_twenty_thousand_is_refused_before_parsing() {
    for text in ["def \"a\" {\n".repeat(20_000), format!("def \"a\" {{ float[] x = {} }}", "[".repeat(20_000))] {
        let folder = Folder::new(&[("site.usda", &format!("#usda 1.0\n{text}"))]);
        let error = confined().read(&folder.request("site.usda")).unwrap_err();
        assert!(error.diagnostic().detail.contains("deeper than 128"), "{}", error.diagnostic());
    }
}

#[test]
fn a_prim_without_a_name_does_not_loop() {
    for name in ["\"\"", "\n\"\""] {
        let folder = Folder::new(&[("site.usda", &format!("#usda 1.0\ndef Xform {name} {{}}\n"))]);
        let error = confined().with_limits(tight()).read(&folder.request("site.usda")).unwrap_err();
        assert!(error.diagnostic().detail.contains("not a legal prim name"), "{}", error.diagnostic());
    }
}

#[test]
fn namespace_deeper_than_the_cap_is_cut_with_a_message() {
    // Each layer adds 100 levels below the last prim of the one before it.
    let chain = |next: Option<&str>| {
        let mut text = "#usda 1.0\n( defaultPrim = \"p\" )\n".to_owned();
        let mut open = 0;
        for level in 0..100 {
            let reference = if level == 99 { next.map(|next| format!("( references = @{next}@ )")) } else { None };
            writeln!(text, "def Xform \"p\" {} {{", reference.unwrap_or_default()).unwrap();
            open += 1;
        }
        text + &"}\n".repeat(open)
    };
    let (a, b, c) = (chain(Some("b.usda")), chain(Some("c.usda")), chain(None));
    let folder = Folder::new(&[("a.usda", &a), ("b.usda", &b), ("c.usda", &c)]);
    let spec = confined().read(&folder.request("a.usda")).unwrap();
    assert_eq!(spec.prim_count, 256);
    assert!(said(&spec, "stage-too-deep").title.contains("256"));
}

/// A fan of references: each layer references the next one many times.
fn fan_out() -> Folder {
    let mut files = Vec::new();
    for level in 0..12 {
        let mut text = "#usda 1.0\n( defaultPrim = \"p\" )\ndef Xform \"p\" {\n".to_owned();
        for child in 0..4 {
            writeln!(text, "def Xform \"c{child}\" ( references = @{}.usda@ ) {{}}", level + 1).unwrap();
        }
        files.push((format!("{level}.usda"), text + "}\n"));
    }
    files.push(("12.usda".into(), "#usda 1.0\n( defaultPrim = \"p\" )\ndef Xform \"p\" {}\n".into()));
    let files: Vec<_> = files.iter().map(|(name, text)| (name.as_str(), text.as_str())).collect();
    Folder::new(&files)
}

#[test]
fn a_stage_that_takes_too_long_stops_at_the_limit_it_reaches_first() {
    let folder = fan_out();
    let request = folder.request("0.usda");
    let started = Instant::now();
    let wall = Limits { wall: Duration::from_millis(700), ..tight() };
    match confined().with_limits(wall).read(&request) {
        Err(StageError::Limit { limit: ReaderLimit::Wall(_), .. }) => {}
        other => panic!("{other:?}"),
    }
    let cpu = Limits { cpu_s: 1, ..tight() };
    match confined().with_limits(cpu).read(&request) {
        Err(error @ StageError::Limit { limit: ReaderLimit::Cpu(1), .. }) => {
            assert!(error.to_string().contains("processor time limit of 1 s while reading"), "{error}");
        }
        other => panic!("{other:?}"),
    }
    assert!(started.elapsed() < Duration::from_secs(9), "{:?}", started.elapsed());
}

#[test]
fn a_stage_that_takes_too_much_memory_stops_at_the_limit() {
    let folder =
        Folder::new(&[("site.usda", &stage(&format!("def \"A\" {{ double[] x = [{}] }}", "1,".repeat(8_000_000))))]);
    let limits = Limits { address_space_bytes: 320 << 20, ..tight() };
    match confined().with_limits(limits).read(&folder.request("site.usda")) {
        Err(error @ StageError::Limit { limit: ReaderLimit::Memory(_), .. }) => {
            assert!(error.to_string().contains("memory limit of 320 MiB while reading"), "{error}");
        }
        other => panic!("{:?}", other.map(|spec| spec.prim_count)),
    }
}

#[test]
fn an_answer_that_is_too_large_stops_at_the_limit() {
    let cameras: String = (0..200).map(|i| format!("def Camera \"C{i}\" {{}}\n")).collect();
    let folder = Folder::new(&[("site.usda", &stage(&cameras))]);
    let limits = Limits { output_bytes: 10_000, ..tight() };
    match confined().with_limits(limits).read(&folder.request("site.usda")) {
        Err(StageError::Limit { limit: ReaderLimit::Output(10_000), .. }) => {}
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_program_that_is_no_reader_is_a_clear_error() {
    let folder = Folder::new(&[("site.usda", &stage(""))]);
    for (program, sign) in [("/bin/echo", "no usable answer"), ("/bin/false", "exit status 1")] {
        let error = ConfinedReader::new(program.into()).read(&folder.request("site.usda")).unwrap_err();
        assert!(error.to_string().contains(sign), "{error}");
    }
    // A program that waits for ever is stopped and reaped.
    let script = folder.path("waits");
    std::fs::write(&script, "#!/bin/sh\nexec sleep 600\n").unwrap();
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(&script, mode).unwrap();
    let limits = Limits { wall: Duration::from_millis(300), ..tight() };
    let error = ConfinedReader::new(script).with_limits(limits).read(&folder.request("site.usda")).unwrap_err();
    assert!(matches!(error, StageError::Limit { limit: ReaderLimit::Wall(_), .. }), "{error}");
}

/// A small crate file that somebody wrote.
fn crate_file() -> Option<Vec<u8>> {
    let file = shared_usd()?.join("openusd/pxr/usd/bin/usdchecker/testenv/testUsdChecker/bad/badMaterialBinding.usdc");
    Some(std::fs::read(file).unwrap())
}

fn read_bytes(bytes: &[u8]) -> Result<usize, StageError> {
    let folder = Folder::new(&[]);
    std::fs::write(folder.path("site.usdc"), bytes).unwrap();
    confined().with_limits(tight()).read(&folder.request("site.usdc")).map(|spec| spec.prim_count)
}

#[test]
fn a_crate_file_cut_anywhere_is_an_error_and_not_a_crash_of_ours() {
    let Some(bytes) = crate_file() else { return };
    assert!(read_bytes(&bytes).is_ok());
    for place in 0..20 {
        let error = read_bytes(&bytes[..bytes.len() * place / 20]).unwrap_err();
        assert!(!error.diagnostic().title.is_empty());
    }
}

#[test]
fn sizes_that_a_crate_file_only_announces_are_an_error() {
    let Some(bytes) = crate_file() else { return };
    // The table of contents' address, then each of its sections' sizes.
    let toc = u64::from_le_bytes(bytes[16..24].try_into().unwrap()) as usize;
    let sections = u64::from_le_bytes(bytes[toc..toc + 8].try_into().unwrap()) as usize;
    let mut places: Vec<usize> = (0..sections).map(|i| toc + 8 + i * 32 + 24).collect();
    // The first number of each section is a count.
    places.extend((0..sections).map(|i| {
        let start = toc + 8 + i * 32 + 16;
        u64::from_le_bytes(bytes[start..start + 8].try_into().unwrap()) as usize
    }));
    places.push(toc);
    for place in places {
        for huge in [u64::MAX, 1 << 62, 1 << 40, 1 << 33] {
            let mut damaged = bytes.clone();
            damaged[place..place + 8].copy_from_slice(&huge.to_le_bytes());
            if let Err(error) = read_bytes(&damaged) {
                assert!(!matches!(error, StageError::BadAnswer { .. }), "{error}");
            }
        }
    }
}

#[test]
fn a_package_that_is_no_archive_is_an_error() {
    let folder = Folder::new(&[("site.usdz", "not an archive"), ("site.usda", ""), ("none.txt", "text")]);
    for name in ["site.usdz", "site.usda", "none.txt"] {
        let error = confined().read(&ReadRequest::new(folder.path(name))).unwrap_err();
        assert_eq!(error.diagnostic().code, "stage-parse", "{error}");
    }
}
