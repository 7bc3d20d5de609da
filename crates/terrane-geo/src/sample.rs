//! What a few hundred blocks of a raster say about all of it.

use crate::source::FilePosts;
use crate::values::HeightRule;
use gdal::{Dataset, Metadata};
use serde::{Deserialize, Serialize};
use terrane_core::{ContentKey, PostReadError, PostWindow, Progress};

/// Blocks that are read.
const BLOCKS: usize = 256;
/// Posts read of one block at most.
const BLOCK_POSTS: usize = 1 << 18;
/// A raster of this many posts at most is read whole.
const WHOLE_POSTS: usize = 1 << 22;

/// Lowest and highest value of the sample.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub(crate) struct Sample {
    /// Lowest and highest value when values are heights, metres.
    heights_m: Option<(f64, f64)>,
    /// Lowest and highest height when values are radii, metres.
    radii_m: Option<(f64, f64)>,
    /// Lowest value of all, metres.
    lowest_m: Option<f64>,
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
    let rule: &HeightRule = &source.rule;
    let mut found = Sample { heights_m: None, radii_m: None, lowest_m: None, whole, digest: None };
    let widen = |range: &mut Option<(f64, f64)>, value: f64| {
        *range = Some(range.map_or((value, value), |(low, high)| (low.min(value), high.max(value))));
    };
    let mut hasher = blake3::Hasher::new();
    for window in windows {
        progress.check()?;
        let read: Result<(), PostReadError> = source.stored(window, |_, stored| {
            if with_digest {
                hasher.update(&stored.to_bits().to_le_bytes());
            }
            let Some(metres) = rule.metres(stored) else { return };
            found.lowest_m = Some(found.lowest_m.map_or(metres, |lowest| lowest.min(metres)));
            if let Some(height) = rule.above_datum(metres, 0.0) {
                widen(&mut found.heights_m, height);
            }
            if let Some(height) = rule.above_datum(metres, body_radius_m) {
                widen(&mut found.radii_m, height);
            }
        });
        read?;
        progress.advance(1);
    }
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
    let mut blocks: Vec<usize> = (0..across * down).filter(|block| !sparse || holds(*block)).collect();
    if blocks.len() > BLOCKS {
        let count = blocks.len();
        blocks = (0..BLOCKS).map(|i| blocks[(2 * i + 1) * count / (2 * BLOCKS)]).collect();
    }
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
