//! `terrane bake`: the pyramid and the site maps, once.

use crate::ground::Ground;
use crate::{Failure, OpenSite};
use serde::Serialize;
use std::path::PathBuf;
use std::time::Instant;
use terrane_core::Progress;
use terrane_tiles::{Archive, build};

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
    /// Measured posts of all DEMs.
    pub posts: usize,
    /// Seconds that baking took.
    pub seconds: f64,
}

/// Bakes a site's ground unless that is done already.
pub fn bake(site: &OpenSite, progress: &dyn Progress) -> Result<BakeReport, Failure> {
    let ground = site.ground(progress)?;
    let start = Instant::now();
    let (archive, path, up_to_date) = ensure_baked(site, &ground, progress)?;
    Ok(BakeReport {
        up_to_date,
        key: archive.key.to_string(),
        tiles: archive.nodes.len(),
        levels: archive.lattice.root_level + 1,
        bytes: std::fs::metadata(&path).map_or(0, |file| file.len()),
        posts: ground.dems.iter().map(|source| source.dem.valid).sum(),
        archive: path,
        seconds: start.elapsed().as_secs_f64(),
    })
}

/// The site's archive, baked now if it is missing, stale or damaged. Says
/// whether it was there.
pub(crate) fn ensure_baked(
    site: &OpenSite,
    ground: &Ground,
    progress: &dyn Progress,
) -> Result<(Archive, PathBuf, bool), Failure> {
    let path = site.cache_folder().join(format!("{}.pyramid", ground.key.short()));
    match Archive::open(&path, Some(&ground.key)).and_then(|archive| archive.verify().map(|()| archive)) {
        Ok(archive) => return Ok((archive, path, true)),
        Err(error) if error.is_mended_by_baking() => {}
        Err(error) => return Err(error.into()),
    }
    let pyramid = build(&ground.surface, progress)?;
    Archive::write(&path, &ground.key, &pyramid, progress)?;
    Ok((Archive::open(&path, Some(&ground.key))?, path, false))
}
