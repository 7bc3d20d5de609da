//! What a few hundred blocks of a raster say about all of it.

use crate::source::FilePosts;
use crate::values::HeightRule;
use gdal::{Dataset, Metadata};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};
use terrane_core::{ContentKey, KeyBuilder, PostReadError, PostWindow, Progress};

/// Blocks that are read.
const BLOCKS: usize = 256;
/// Posts read of one block at most.
const BLOCK_POSTS: usize = 1 << 18;
/// A raster of this many posts at most is read whole.
const WHOLE_POSTS: usize = 1 << 22;

/// Lowest and highest value of the sample.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
pub(crate) struct Sample {
    /// Lowest and highest value when values are heights, metres.
    heights_m: Option<(f64, f64)>,
    /// Lowest and highest height when values are radii, metres.
    radii_m: Option<(f64, f64)>,
    /// Lowest value of all, metres.
    lowest_m: Option<f64>,
    /// Mean column and row of the posts that hold data, and their number.
    middle: Option<(f64, f64)>,
    posts: f64,
    /// True when every post was read.
    pub whole: bool,
    /// Key of the values read, when it was asked for.
    #[serde(skip)]
    pub digest: Option<ContentKey>,
}

impl Sample {
    /// True when the lowest value can only be a distance from the body's
    /// centre, so that a single spike makes no radii of the rest.
    pub fn is_radius(&self, body_radius_m: f64) -> bool {
        self.lowest_m.is_some_and(|lowest| lowest > 0.5 * body_radius_m && lowest < 2.0 * body_radius_m)
    }

    /// Mean column and row of the posts that hold data.
    pub fn middle(&self) -> Option<(f64, f64)> {
        self.middle
    }

    /// Lowest and highest height, metres.
    pub fn range_m(&self, body_radius_m: f64) -> Option<(f64, f64)> {
        if self.is_radius(body_radius_m) { self.radii_m } else { self.heights_m }
    }
}

/// Reads the sample: the same blocks of the same file every time, spread
/// evenly over those that hold data.
pub(crate) fn sample(
    source: &FilePosts,
    driver: &str,
    body_radius_m: f64,
    with_digest: bool,
    progress: &dyn Progress,
) -> Result<Sample, crate::GeoError> {
    let windows = source.with_dataset(|dataset| Ok(windows(dataset, driver)))?;
    let whole = windows.iter().map(PostWindow::len).sum::<usize>() == source.columns * source.rows;
    progress.begin("sampling heights", windows.len() as u64);
    let parts = windows.into_par_iter().map(|window| {
        progress.check()?;
        let part = sample_window(source, window, body_radius_m, with_digest)?;
        progress.advance(1);
        Ok(part)
    });
    let parts = parts.collect::<Result<Vec<Sample>, crate::GeoError>>()?;
    let mut digests = KeyBuilder::new("sample", 1);
    let mut found = Sample { whole, ..Sample::default() };
    for part in parts {
        if let Some(digest) = &part.digest {
            digests = digests.key("window", digest);
        }
        found.heights_m = joined(found.heights_m, part.heights_m);
        found.radii_m = joined(found.radii_m, part.radii_m);
        if let Some(middle) = part.middle {
            let share = part.posts / (found.posts + part.posts);
            let before = found.middle.unwrap_or(middle);
            found.middle = Some((before.0 + share * (middle.0 - before.0), before.1 + share * (middle.1 - before.1)));
            found.posts += part.posts;
        }
        found.lowest_m = [found.lowest_m, part.lowest_m].into_iter().flatten().reduce(f64::min);
    }
    found.digest = with_digest.then(|| digests.finish());
    Ok(found)
}

/// A range that holds both.
fn joined(a: Option<(f64, f64)>, b: Option<(f64, f64)>) -> Option<(f64, f64)> {
    [a, b].into_iter().flatten().reduce(|a, b| (a.0.min(b.0), a.1.max(b.1)))
}

fn sample_window(
    source: &FilePosts,
    window: PostWindow,
    body_radius_m: f64,
    with_digest: bool,
) -> Result<Sample, PostReadError> {
    let rule: &HeightRule = &source.rule;
    const NONE: (f64, f64) = (f64::INFINITY, f64::NEG_INFINITY);
    let (mut lowest_m, mut heights_m, mut radii_m) = (f64::INFINITY, NONE, NONE);
    let mut hasher = blake3::Hasher::new();
    let (mut columns, mut rows, mut posts) = (0.0, 0.0, 0.0);
    source.stored(window, |place, stored| {
        if with_digest {
            hasher.update(&stored.to_bits().to_le_bytes());
        }
        let Some(metres) = rule.metres(stored) else { return };
        lowest_m = lowest_m.min(metres);
        columns += (window.column + place % window.columns) as f64;
        rows += (window.row + place / window.columns) as f64;
        posts += 1.0;
        for (range, radius_m) in [(&mut heights_m, 0.0), (&mut radii_m, body_radius_m)] {
            if let Some(height_m) = rule.above_datum(metres, radius_m) {
                *range = (range.0.min(height_m), range.1.max(height_m));
            }
        }
    })?;
    let some = |range: (f64, f64)| (range.0 <= range.1).then_some(range);
    let mut found = Sample { heights_m: some(heights_m), radii_m: some(radii_m), ..Sample::default() };
    found.lowest_m = (lowest_m < f64::INFINITY).then_some(lowest_m);
    (found.middle, found.posts) = ((posts > 0.0).then(|| (columns / posts, rows / posts)), posts);
    found.digest = with_digest.then(|| ContentKey::from_raw(*hasher.finalize().as_bytes()));
    Ok(found)
}

fn windows(dataset: &Dataset, driver: &str) -> Vec<PostWindow> {
    let (columns, rows) = dataset.raster_size();
    let Ok(band) = dataset.rasterband(1) else { return Vec::new() };
    if columns.saturating_mul(rows) <= WHOLE_POSTS {
        return vec![PostWindow { column: 0, row: 0, columns, rows }];
    }
    let (wide, high) = band.block_size();
    let (wide, high) = (wide.clamp(1, columns), high.clamp(1, rows));
    let (across, down) = (columns.div_ceil(wide), rows.div_ceil(high));
    // A GeoTIFF says which blocks were never written.
    let sparse = driver == "GTiff" || driver == "COG";
    let holds = |block: usize| {
        let key = format!("BLOCK_OFFSET_{}_{}", block % across, block / across);
        band.metadata_item(&key, "TIFF").is_some_and(|offset| offset != "0")
    };
    let count = across.saturating_mul(down);
    // The table of a GeoTIFF's blocks is in the file; other formats promise
    // what they like, so that their blocks are not listed.
    let written: Option<Vec<usize>> = sparse.then(|| (0..count).filter(|block| holds(*block)).collect());
    let count = written.as_ref().map_or(count, Vec::len);
    let nth = |i: usize| written.as_ref().map_or(i, |written| written[i]);
    let spread = |i: usize| ((2 * i as u128 + 1) * count as u128 / (2 * BLOCKS as u128)) as usize;
    let blocks: Vec<usize> =
        if count > BLOCKS { (0..BLOCKS).map(|i| nth(spread(i))).collect() } else { (0..count).map(nth).collect() };
    let window = |block: usize| {
        let (column, row) = (block % across * wide, block / across * high);
        let (columns, rows) = (wide.min(columns - column), high.min(rows - row));
        // The middle of a block that is larger than a sample needs.
        let kept_columns = columns.min(BLOCK_POSTS);
        let kept_rows = rows.min((BLOCK_POSTS / kept_columns).max(1));
        let (column, row) = (column + (columns - kept_columns) / 2, row + (rows - kept_rows) / 2);
        PostWindow { column, row, columns: kept_columns, rows: kept_rows }
    };
    blocks.into_iter().map(window).collect()
}
