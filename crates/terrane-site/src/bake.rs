//! `terrane bake`: the pyramid and the site maps, once.

use crate::ground::Ground;
use crate::{Failure, OpenSite};
use serde::Serialize;
use std::path::PathBuf;
use std::time::Instant;
use terrane_core::Progress;
use terrane_tiles::Archive;

/// What a bake did.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct BakeReport {
    /// The archive.
    pub archive: PathBuf,
    /// True when it was there already and nothing was done.
    pub up_to_date: bool,
    /// Content key.
    pub key: String,
    /// Tiles in it.
    pub tiles: usize,
    /// Levels, the root's included.
    pub levels: u8,
    /// Size, bytes.
    pub bytes: u64,
    /// Posts of all DEMs.
    pub posts: usize,
    /// Largest distance between a height and what is kept of it, metres; 0
    /// when 32-bit floats are kept as they are.
    pub height_error_m: f64,
    /// Largest distance between the root tile's triangles and the finest
    /// surface, metres.
    pub root_error_m: f32,
    /// Seconds that it took, opening included.
    pub seconds: f64,
}

/// Bakes a site's ground unless that is done already.
pub fn bake(site: &OpenSite, progress: &dyn Progress) -> Result<BakeReport, Failure> {
    let start = Instant::now();
    let ground = site.ground(progress)?;
    let (mut archive, mut up_to_date) = ensure_baked(site, &ground, progress)?;
    match if up_to_date { archive.check_blocks(progress) } else { Ok(()) } {
        Ok(()) => {}
        Err(error) if error.is_mended_by_baking() => {
            (archive, up_to_date) = (bake_anew(&ground, &archive, progress)?, false);
        }
        Err(error) => return Err(error.into()),
    }
    Ok(BakeReport {
        up_to_date,
        key: archive.key.to_string(),
        tiles: archive.nodes.len(),
        levels: archive.lattice.root_level + 1,
        bytes: archive.file_bytes,
        posts: ground.surface.spec().dems.iter().map(|dem| dem.columns * dem.rows).sum(),
        height_error_m: archive.heights.error_m(),
        root_error_m: archive.nodes.get(&archive.lattice.root()).map_or(0.0, |node| node.error_m),
        archive: archive.path().to_owned(),
        seconds: start.elapsed().as_secs_f64(),
    })
}

/// The site's archive, baked now if it is missing, stale or damaged in front.
/// Says whether it was there.
pub(crate) fn ensure_baked(
    site: &OpenSite,
    ground: &Ground,
    progress: &dyn Progress,
) -> Result<(Archive, bool), Failure> {
    let (surface, key) = ground.baked();
    let path = site.cache_folder().join(format!("{}.pyramid", key.short()));
    match Archive::open(&path, Some(key)) {
        Ok(archive) => return Ok((archive, true)),
        Err(error) if error.is_mended_by_baking() => {}
        Err(error) => return Err(error.into()),
    }
    let archive = terrane_tiles::bake(surface, &path, key, &ground.bake, progress)?;
    Ok((archive, false))
}

/// The archive of a site with its edits laid over what is baked.
pub(crate) fn drawn(site: &OpenSite, ground: &Ground, progress: &dyn Progress) -> Result<Archive, Failure> {
    let (archive, _) = ensure_baked(site, ground, progress)?;
    if !ground.is_edited() {
        return Ok(archive);
    }
    let (baked, _) = ground.baked();
    Ok(archive.with_edits(baked, &ground.surface, &ground.bake, &ground.key, progress)?.0)
}

/// Bakes again what was found damaged.
pub(crate) fn bake_anew(ground: &Ground, archive: &Archive, progress: &dyn Progress) -> Result<Archive, Failure> {
    let (surface, key) = ground.baked();
    std::fs::remove_file(archive.path()).map_err(|error| Failure::unwritten(archive.path(), &error))?;
    Ok(terrane_tiles::bake(surface, archive.path(), key, &ground.bake, progress)?)
}
