//! What the tests of this crate share.
// Each test binary uses a part of it; helpers outside #[test] may fail a test.
#![allow(dead_code, clippy::unwrap_used, clippy::panic)]

use std::path::{Path, PathBuf};
use std::time::Duration;
use terrane_stage::{ConfinedReader, Limits, ReadRequest, SiteSpec, read_in_process};

/// A reader whose child is this crate's small reader program.
pub fn confined() -> ConfinedReader {
    ConfinedReader::new(env!("CARGO_BIN_EXE_terrane-stage-reader").into())
}

/// Limits that a test can wait for.
pub fn tight() -> Limits {
    Limits { address_space_bytes: 1 << 30, cpu_s: 5, wall: Duration::from_secs(10), ..Limits::default() }
}

/// A folder of stage files.
pub struct Folder(tempfile::TempDir);

impl Folder {
    pub fn new(files: &[(&str, &str)]) -> Self {
        let folder = Self(tempfile::tempdir().unwrap());
        for (name, text) in files {
            let path = folder.path(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }
        folder
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    pub fn request(&self, name: &str) -> ReadRequest {
        ReadRequest::new(self.path(name))
    }

    pub fn read(&self, name: &str) -> SiteSpec {
        read_in_process(&self.request(name)).unwrap_or_else(|error| panic!("{}", error.diagnostic()))
    }
}

/// A Y-up stage in metres.
pub fn stage(body: &str) -> String {
    format!("#usda 1.0\n(\n    metersPerUnit = 1\n    upAxis = \"Y\"\n)\n{body}\n")
}

/// Reads a Y-up stage in metres that needs no other file.
pub fn read(body: &str) -> SiteSpec {
    Folder::new(&[("site.usda", &stage(body))]).read("site.usda")
}

/// The codes of a stage's messages.
pub fn codes(spec: &SiteSpec) -> Vec<&str> {
    spec.diagnostics.iter().map(|diagnostic| diagnostic.code.as_str()).collect()
}

/// The message with a code.
pub fn said<'a>(spec: &'a SiteSpec, code: &str) -> &'a terrane_core::Diagnostic {
    spec.diagnostics
        .iter()
        .find(|diagnostic| diagnostic.code == code)
        .unwrap_or_else(|| panic!("no {code} in {:#?}", spec.diagnostics))
}

/// The folder of files that other people wrote, if it is here.
pub fn shared_usd() -> Option<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data/usd");
    let found = folder.join("expected.json").is_file();
    if !found {
        println!("skipped: no shared/data/usd beside the checkout");
    }
    found.then_some(folder)
}
