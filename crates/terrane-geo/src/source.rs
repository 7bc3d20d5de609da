//! The file's own posts, read window by window.

use crate::open::{reopen, words};
use crate::values::HeightRule;
use gdal::Dataset;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use terrane_core::{PostReadError, PostSource, PostWindow};

/// Posts that a striped file is read in at once (16 MiB of heights).
const STRIPE_POSTS: usize = 4 << 20;
/// Posts that a tiled file is read in at once (4 MiB of heights).
const TILE_POSTS: usize = 1 << 20;
/// Stored 64-bit values converted at once.
const CHUNK_POSTS: usize = 1 << 18;

/// A raster's band 1 as heights on its own rows and columns. Datasets are
/// opened as threads need them, each used by one thread at a time.
pub(crate) struct FilePosts {
    pub name: String,
    target: PathBuf,
    vrt: bool,
    pub columns: usize,
    pub rows: usize,
    /// The file's own block.
    block: (usize, usize),
    pub rule: HeightRule,
    /// The band that is read, from 1.
    pub band: usize,
    idle: Mutex<Vec<Dataset>>,
}

impl std::fmt::Debug for FilePosts {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("FilePosts")
            .field("name", &self.name)
            .field("size", &(self.columns, self.rows))
            .finish_non_exhaustive()
    }
}

impl FilePosts {
    pub fn new(name: String, target: PathBuf, vrt: bool, dataset: Dataset, rule: HeightRule) -> Self {
        let (columns, rows) = dataset.raster_size();
        let block = dataset.rasterband(1).map_or((columns, 1), |band| band.block_size());
        Self { name, target, vrt, columns, rows, block, rule, band: 1, idle: Mutex::new(vec![dataset]) }
    }

    /// The same file's other band.
    pub fn with_band(&self, band: usize) -> Self {
        Self {
            name: self.name.clone(),
            target: self.target.clone(),
            vrt: self.vrt,
            columns: self.columns,
            rows: self.rows,
            block: self.block,
            rule: self.rule.clone(),
            band,
            idle: Mutex::default(),
        }
    }

    /// True when a block is whole rows.
    pub fn striped(&self) -> bool {
        self.block.0 >= self.columns
    }

    fn failed(&self, message: String) -> PostReadError {
        PostReadError { source_name: self.name.clone(), message }
    }

    /// Lends a dataset to this thread.
    pub fn with_dataset<T>(
        &self,
        work: impl FnOnce(&Dataset) -> Result<T, gdal::errors::GdalError>,
    ) -> Result<T, PostReadError> {
        let idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner).pop();
        let dataset = match idle {
            Some(dataset) => dataset,
            None => reopen(&self.target, self.vrt).map_err(|error| self.failed(words(error)))?,
        };
        if dataset.raster_size() != (self.columns, self.rows) {
            return Err(self.failed("the file was replaced while it was in use".into()));
        }
        let done = work(&dataset).map_err(|error| self.failed(words(error)));
        self.idle.lock().unwrap_or_else(PoisonError::into_inner).push(dataset);
        done
    }

    /// Calls `each` for every stored value of a window with its place; posts
    /// that a mask hides come as NaN.
    pub fn stored(&self, window: PostWindow, mut each: impl FnMut(usize, f64)) -> Result<(), PostReadError> {
        if window.is_empty() {
            return Ok(());
        }
        let at_once = (CHUNK_POSTS / window.columns).max(1);
        self.with_dataset(|dataset| {
            let band = dataset.rasterband(self.band)?;
            let mask_band = if self.rule.masked { Some(band.open_mask_band()?) } else { None };
            let mut buffer = Vec::new();
            let mut mask = Vec::new();
            for first in (0..window.rows).step_by(at_once) {
                let size = (window.columns, at_once.min(window.rows - first));
                let corner = (window.column as isize, (window.row + first) as isize);
                buffer.resize(size.0 * size.1, 0.0_f64);
                band.read_into_slice(corner, size, size, &mut buffer, None)?;
                if let Some(band) = &mask_band {
                    mask.resize(size.0 * size.1, 0_u8);
                    band.read_into_slice(corner, size, size, &mut mask, None)?;
                    buffer
                        .iter_mut()
                        .zip(&mask)
                        .filter(|(_, mask)| **mask == 0)
                        .for_each(|(value, _)| *value = f64::NAN);
                }
                let place = first * window.columns;
                buffer.iter().enumerate().for_each(|(i, value)| each(place + i, *value));
            }
            Ok(())
        })
    }

    /// Reads single-precision values in place, without a 64-bit copy.
    fn read_f32(&self, window: PostWindow, heights_m: &mut [f32]) -> Result<(), PostReadError> {
        let (corner, size) = ((window.column as isize, window.row as isize), (window.columns, window.rows));
        self.with_dataset(|dataset| {
            dataset.rasterband(self.band)?.read_into_slice(corner, size, size, heights_m, None)
        })?;
        self.rule.heights(heights_m);
        Ok(())
    }
}

impl PostSource for FilePosts {
    fn size(&self) -> (usize, usize) {
        (self.columns, self.rows)
    }

    fn block_size(&self) -> (usize, usize) {
        let (columns, rows) = (self.block.0.max(1), self.block.1.max(1));
        if self.striped() {
            // A strip is decoded whole whatever part of it is read.
            let high = (STRIPE_POSTS / self.columns.max(1)).max(1);
            return (self.columns, (high / rows).max(1).saturating_mul(rows).min(self.rows));
        }
        let (mut wide, mut high) = (columns * 256_usize.div_ceil(columns), rows * 256_usize.div_ceil(rows));
        while wide.min(high) < 1024 && wide * high * 4 <= TILE_POSTS {
            (wide, high) = (wide * 2, high * 2);
        }
        (wide.min(self.columns), high.min(self.rows))
    }

    fn read(&self, window: PostWindow, heights_m: &mut [f32]) -> Result<(), PostReadError> {
        let inside = window.column + window.columns <= self.columns && window.row + window.rows <= self.rows;
        if !inside || heights_m.len() != window.len() {
            return Err(self.failed(format!("{window:?} does not lie inside {} x {}", self.columns, self.rows)));
        }
        if window.is_empty() {
            return Ok(());
        }
        if self.rule.fits_f32 && !self.rule.masked {
            return self.read_f32(window, heights_m);
        }
        self.stored(window, |place, value| heights_m[place] = self.rule.height(value))
    }
}

/// A crop of the file's own posts.
#[derive(Debug)]
pub(crate) struct CropPosts {
    pub source: Arc<FilePosts>,
    pub crop: PostWindow,
}

impl PostSource for CropPosts {
    fn size(&self) -> (usize, usize) {
        (self.crop.columns, self.crop.rows)
    }

    fn block_size(&self) -> (usize, usize) {
        let (columns, rows) = self.source.block_size();
        (columns.min(self.crop.columns), rows.min(self.crop.rows))
    }

    fn read(&self, window: PostWindow, heights_m: &mut [f32]) -> Result<(), PostReadError> {
        let moved = PostWindow { column: window.column + self.crop.column, row: window.row + self.crop.row, ..window };
        self.source.read(moved, heights_m)
    }
}
