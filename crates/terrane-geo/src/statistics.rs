//! A full pass over a raster.

use crate::{DemFile, GeoError};
use serde::{Deserialize, Serialize};
use std::sync::Mutex;
use std::sync::PoisonError;
use std::sync::atomic::{AtomicUsize, Ordering};
use terrane_core::{PostSource, PostWindow, Progress};

/// Threads of a pass at most: what reads is mostly the disk.
const MOST_THREADS: usize = 8;

/// What every post of a raster says together.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct DemStatistics {
    /// How many posts there are.
    pub posts: u64,
    /// How many of them hold a height.
    pub valid: u64,
    /// Lowest and highest height, metres.
    pub range_m: Option<(f32, f32)>,
}

impl DemStatistics {
    fn add(&mut self, heights_m: &[f32]) {
        for &height in heights_m.iter().filter(|height| !height.is_nan()) {
            self.valid += 1;
            self.range_m =
                Some(self.range_m.map_or((height, height), |(low, high)| (low.min(height), high.max(height))));
        }
    }
}

impl DemFile {
    /// Reads the whole file: counts its posts that hold a height and finds the
    /// lowest and highest.
    pub fn statistics(&self, progress: &dyn Progress) -> Result<DemStatistics, GeoError> {
        statistics(self.raw_posts().as_ref(), progress)
    }
}

/// [`DemFile::statistics`] of any heights.
pub fn statistics(posts: &dyn PostSource, progress: &dyn Progress) -> Result<DemStatistics, GeoError> {
    let (columns, rows) = posts.size();
    let (wide, high) = posts.block_size();
    let (wide, high) = (wide.clamp(1, columns.max(1)), high.clamp(1, rows.max(1)));
    let (across, down) = (columns.div_ceil(wide), rows.div_ceil(high));
    let nothing = DemStatistics { posts: columns as u64 * rows as u64, valid: 0, range_m: None };
    progress.begin("reading all heights", (across * down) as u64);
    let (next, total) = (AtomicUsize::new(0), Mutex::new(nothing));
    let work = || -> Result<(), GeoError> {
        let (mut own, mut heights_m) = (nothing, Vec::new());
        loop {
            progress.check()?;
            let block = next.fetch_add(1, Ordering::Relaxed);
            if block >= across * down {
                break;
            }
            let (column, row) = (block % across * wide, block / across * high);
            let window = PostWindow { column, row, columns: wide.min(columns - column), rows: high.min(rows - row) };
            heights_m.resize(window.len(), 0.0);
            // One thread's failure ends the others.
            posts.read(window, &mut heights_m).inspect_err(|_| next.store(usize::MAX / 2, Ordering::Relaxed))?;
            own.add(&heights_m);
            progress.advance(1);
        }
        let mut total = total.lock().unwrap_or_else(PoisonError::into_inner);
        total.valid += own.valid;
        if let Some((low, high)) = own.range_m {
            let range = total.range_m.unwrap_or((low, high));
            total.range_m = Some((range.0.min(low), range.1.max(high)));
        }
        Ok(())
    };
    let threads = std::thread::available_parallelism().map_or(1, usize::from).clamp(1, MOST_THREADS).min(across * down);
    std::thread::scope(|scope| {
        let running: Vec<_> = (1..threads).map(|_| scope.spawn(work)).collect();
        let own = work();
        running
            .into_iter()
            .map(|thread| thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
            .fold(own, Result::and)
    })?;
    Ok(total.into_inner().unwrap_or_else(PoisonError::into_inner))
}
