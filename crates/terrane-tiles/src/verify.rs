//! Every claim of an archive, checked against its own tiles.

use crate::archive::name;
use crate::error_table::ErrorTable;
use crate::errors::round_up;
use crate::tile::{APRON, Tile};
use crate::{Archive, ArchiveError};
use rayon::prelude::*;
use serde::Serialize;
use terrane_core::Progress;
use terrane_surface::{TILE_CELLS, TileKey};

/// Something in an archive that is not as it says.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Fault {
    /// The tile or map.
    pub place: String,
    /// What is wrong with it.
    pub what: String,
}

/// What [`verify`] found.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Verified {
    /// Tiles read.
    pub tiles: usize,
    /// Borders between neighbours compared post by post, aprons included.
    pub borders: usize,
    /// Posts compared with the triangles above them, all levels together.
    pub compared_posts: u64,
    /// What is wrong, if anything.
    pub faults: Vec<Fault>,
}

/// Reads everything: each block's checksum, each tile's bounds and errors
/// (measured again at every finest post), and the posts that neighbours and
/// levels share. Faults are findings; only what stops the work is an error.
pub fn verify(archive: &Archive, progress: &dyn Progress) -> Result<Verified, ArchiveError> {
    let keys: Vec<TileKey> = archive.nodes.keys().copied().collect();
    progress.begin("tiles", keys.len() as u64);
    let checked = keys.par_iter().map(|&key| {
        progress.check()?;
        progress.advance(1);
        let mut faults = Vec::new();
        let borders = check_tile(archive, key, &mut faults)?;
        Ok((borders, faults))
    });
    let checked = checked.collect::<Result<Vec<_>, ArchiveError>>()?;
    let borders = checked.iter().map(|(borders, _)| borders).sum();
    let mut faults: Vec<Fault> = checked.into_iter().flat_map(|(_, faults)| faults).collect();
    if let Err(error) = archive.maps() {
        faults.push(Fault { place: "site maps".into(), what: finding(error)? });
    }
    let mut compared_posts = 0;
    // Errors can only be measured when every tile can be read.
    if faults.is_empty() {
        let tiles = archive.lattice.tiles();
        let errors = ErrorTable::new(&archive.lattice, &tiles).finish(|key| archive.tile(key), progress)?;
        for (key, node) in &archive.nodes {
            let Some(measured) = errors.get(key) else { continue };
            let found = (round_up(measured.height_m), round_up(measured.cover_m));
            if found != (node.error_m, node.cover_error_m) {
                let what = format!(
                    "says its errors are {} m and {} m; they are {} m and {} m",
                    node.error_m, node.cover_error_m, found.0, found.1
                );
                faults.push(Fault { place: name(*key), what });
            }
            if !archive.lattice.is_split(*key) {
                let levels = u64::from(archive.lattice.root_level - key.level);
                compared_posts += levels * u64::from(TILE_CELLS + 1).pow(2);
            }
        }
    }
    Ok(Verified { tiles: keys.len(), borders, compared_posts, faults })
}

/// A damaged block is a finding; anything else stops the work.
fn finding(error: ArchiveError) -> Result<String, ArchiveError> {
    match error {
        ArchiveError::Damaged { why, .. } => Ok(why),
        other => Err(other),
    }
}

fn check_tile(archive: &Archive, key: TileKey, faults: &mut Vec<Fault>) -> Result<usize, ArchiveError> {
    let mut fault = |what: String| faults.push(Fault { place: name(key), what });
    let read = |key: TileKey| match archive.tile(key) {
        Ok(tile) => Ok(tile),
        // The neighbour reports itself.
        Err(ArchiveError::Damaged { .. }) => Ok(None),
        Err(other) => Err(other),
    };
    let tile = match archive.tile(key) {
        Ok(Some(tile)) => tile,
        Ok(None) => return Ok(0),
        Err(error) => {
            fault(finding(error)?);
            return Ok(0);
        }
    };
    let Some(node) = archive.nodes.get(&key) else { return Ok(0) };
    let (mut low, mut high, mut has_holes) = (f64::INFINITY, f64::NEG_INFINITY, false);
    for height in tile.exact_m() {
        has_holes |= height.is_nan();
        (low, high) = (low.min(height), high.max(height));
    }
    let (mut low, mut high) = (round_down(low), round_up(high));
    for child in key.children().into_iter().flatten() {
        if let Some(child) = archive.nodes.get(&child).filter(|_| archive.lattice.is_split(key)) {
            (low, high, has_holes) = (low.min(child.min_m), high.max(child.max_m), has_holes || child.has_holes);
            if child.error_m > node.error_m || child.cover_error_m > node.cover_error_m {
                fault(format!("its error, {} m, is smaller than a child's, {} m", node.error_m, child.error_m));
            }
        }
    }
    if (low, high, has_holes) != (node.min_m, node.max_m, node.has_holes) {
        let (min_m, max_m) = (node.min_m, node.max_m);
        fault(format!("says it spans {min_m} to {max_m} m; it spans {low} to {high} m (holes: {has_holes})"));
    }

    let mut borders = 0;
    for (dx, dz, side) in [(1, 0, "east"), (0, 1, "south")] {
        let Some(beside) = key.neighbour(dx, dz) else { continue };
        let leaf_or_split = archive.lattice.is_split(beside) == archive.lattice.is_split(key);
        if let Some(beside) = read(beside)?.filter(|_| leaf_or_split) {
            borders += 1;
            let wrong = differing_border_posts(&tile, &beside, dx, dz);
            if wrong > 0 {
                fault(format!("differs from its {side} neighbour at {wrong} shared posts"));
            }
        }
    }
    for (index, child) in key.children().into_iter().flatten().enumerate().filter(|_| archive.lattice.is_split(key)) {
        let Some(child) = read(child)? else { continue };
        let (u0, v0) = ((index % 2) as i32 * 32, (index / 2) as i32 * 32);
        let places = (0..=32).flat_map(|v| (0..=32).map(move |u| (u, v)));
        let wrong =
            places.filter(|&(u, v)| tile.height_m(u0 + u, v0 + v).to_bits() != child.height_m(2 * u, 2 * v).to_bits());
        let wrong = wrong.count();
        if wrong > 0 {
            fault(format!("differs from its child {index} at {wrong} shared posts"));
        }
    }
    Ok(borders)
}

/// Posts on the border, bit for bit; and, on both sides, the first posts
/// inside against the other's apron. A post that a leaf has moved onto the
/// line of a coarser one lies on no common border.
fn differing_border_posts(tile: &Tile, beside: &Tile, dx: i32, dz: i32) -> usize {
    let (last, ring) = (TILE_CELLS as i32, APRON as i32);
    let differs = |a: f64, b: f64| a.to_bits() != b.to_bits();
    let place = |across: i32, along: i32| if dx == 1 { (across, along) } else { (along, across) };
    debug_assert!(dx + dz == 1);
    // Corners may belong to the borders with others; each pair checks its own.
    let pairs = [(last, 0, 0..=last), (last + ring, ring, 1..=last - 1), (last - ring, -ring, 1..=last - 1)];
    pairs
        .into_iter()
        .flat_map(|(here, there, range)| range.map(move |along| (here, there, along)))
        .filter(|&(here, there, along)| {
            let ((u, v), (bu, bv)) = (place(here, along), place(there, along));
            differs(tile.height_m(u, v), beside.height_m(bu, bv))
        })
        .count()
}

/// To `f32`, never above.
pub(crate) fn round_down(value: f64) -> f32 {
    -round_up(-value)
}
