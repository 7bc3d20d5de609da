//! `terrane inspect` and `terrane verify` on an archive.

use crate::Failure;
use serde::Serialize;
use std::path::Path;
use terrane_core::{Diagnostic, Place, Progress};
use terrane_tiles::{Archive, ArchiveError, Fault, SiteMap, Verified};

/// What an archive holds.
#[derive(Debug, Clone, Serialize)]
pub struct ArchiveReport {
    /// The file or address.
    pub archive: String,
    /// Its size, bytes.
    pub bytes: u64,
    /// Content key of what it was baked from.
    pub key: String,
    /// Largest distance between a height and what is kept of it, metres; 0
    /// when 32-bit floats are kept as they are.
    pub height_error_m: f64,
    /// Site y of stored height 0, metres.
    pub reference_m: f64,
    /// Distance between the finest posts, metres.
    pub posting_m: f64,
    /// Site x and z of the lattice's corner, metres.
    pub corner_m: [f64; 2],
    /// Levels, finest first.
    pub levels: Vec<LevelReport>,
    /// Site maps, finest first.
    pub maps: Vec<SiteMap>,
}

/// One level.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct LevelReport {
    /// Level, 0 is the finest.
    pub level: u8,
    /// Distance between its posts, metres.
    pub posting_m: f64,
    /// Tiles with ground.
    pub tiles: usize,
    /// Largest vertical distance to the finest surface, metres.
    pub error_m: f32,
    /// Lowest and highest height, site y, metres.
    pub heights_m: (f64, f64),
    /// Tiles with holes.
    pub with_holes: usize,
}

fn open(path: &Path) -> Result<Archive, Failure> {
    Archive::open(path, None).map_err(|error| refused(path, &error).into())
}

fn refused(path: &Path, error: &ArchiveError) -> Diagnostic {
    let (code, title) = match error {
        ArchiveError::Missing { .. } => ("archive-missing", "archive not found"),
        ArchiveError::Stale { .. } => ("archive-stale", "archive is stale"),
        _ => (terrane_tiles::DAMAGED, "archive can't be used"),
    };
    let text = error.to_string();
    let detail = text.trim_start_matches(&format!("{}: ", path.display())).to_owned();
    let refused =
        Diagnostic::error(code, title).with_place(Place::file(path.display().to_string())).with_detail(detail);
    // What a server says is not mended here.
    let is_remote = path.to_string_lossy().starts_with("http");
    if is_remote { refused } else { refused.with_help("`terrane bake <stage>` makes it anew") }
}

/// Says what an archive holds; only its front is read.
pub fn inspect_archive(path: &Path) -> Result<ArchiveReport, Failure> {
    let archive = open(path)?;
    let lattice = &archive.lattice;
    let level = |level: u8| {
        let nodes: Vec<_> = archive.nodes.iter().filter(|(key, _)| key.level == level).map(|(_, node)| node).collect();
        let low = nodes.iter().map(|node| f64::from(node.min_m)).fold(f64::INFINITY, f64::min);
        let high = nodes.iter().map(|node| f64::from(node.max_m)).fold(f64::NEG_INFINITY, f64::max);
        LevelReport {
            level,
            posting_m: lattice.posting_at_m(level),
            tiles: nodes.len(),
            error_m: nodes.iter().map(|node| node.error_m).fold(0.0, f32::max),
            heights_m: (low + archive.reference_m, high + archive.reference_m),
            with_holes: nodes.iter().filter(|node| node.has_holes).count(),
        }
    };
    Ok(ArchiveReport {
        archive: path.display().to_string(),
        bytes: archive.file_bytes,
        key: archive.key.to_string(),
        height_error_m: archive.heights.error_m(),
        reference_m: archive.reference_m,
        posting_m: lattice.posting_m,
        corner_m: [lattice.x0_m, lattice.z0_m],
        levels: (0..=lattice.root_level).map(level).filter(|level| level.tiles > 0).collect(),
        maps: archive.map_grids().cloned().collect(),
    })
}

/// Checks everything that an archive says against its own tiles.
pub fn verify_archive(path: &Path, progress: &dyn Progress) -> Result<Verified, Failure> {
    let archive = open(path)?;
    terrane_tiles::verify(&archive, progress).map_err(|error| match error {
        ArchiveError::Cancelled(cancelled) => cancelled.into(),
        other => refused(path, &other).into(),
    })
}

/// Faults as diagnostics, the first few in full.
pub fn fault_diagnostics(path: &Path, faults: &[Fault]) -> Vec<Diagnostic> {
    const SHOWN: usize = 20;
    let shown = faults.iter().take(SHOWN).map(|fault| {
        Diagnostic::error(terrane_tiles::DAMAGED, "archive is damaged")
            .with_place(Place::file(path.display().to_string()))
            .with_detail(format!("{}: {}", fault.place, fault.what))
    });
    let more = faults.len().saturating_sub(SHOWN);
    let rest = (more > 0).then(|| {
        Diagnostic::error(terrane_tiles::DAMAGED, "archive is damaged")
            .with_place(Place::file(path.display().to_string()))
            .with_detail(format!("and {more} faults more"))
    });
    let mut all: Vec<Diagnostic> = shown.chain(rest).collect();
    if let Some(last) = all.pop() {
        all.push(last.with_help("`terrane bake <stage>` makes it anew"));
    }
    all
}
