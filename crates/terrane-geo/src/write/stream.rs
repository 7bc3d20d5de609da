//! A GeoTIFF that is written row by row, larger than memory.

use super::template::template;
use super::{Compression, GeotiffOptions, PixelType};
use crate::open::{set_up_gdal, words};
use crate::{Crs, GeoError, PostGrid};
use gdal::cpl::CslStringList;
use gdal::errors::GdalError;
use gdal::raster::Buffer;
use gdal::{Dataset, DatasetOptions, DriverManager, GdalOpenFlags};
use std::hash::{DefaultHasher, Hasher};
use std::path::{Path, PathBuf};
use tempfile::TempDir;
use terrane_core::Progress;

/// Rows that are written at once: one row of the file's blocks.
const BLOCK_ROWS: usize = 256;

/// A GeoTIFF in the making.
///
/// It grows in a folder `.partial-...` beside its target and takes the
/// target's name when it is finished and reads back as it was written. Dropped
/// before that, it leaves nothing behind. Each band's rows come in order from
/// the north; the bands may take turns as they like. It holds at most 256 rows
/// of each band.
#[derive(Debug)]
pub struct GeotiffWriter {
    path: PathBuf,
    // Before the folder, so that it is closed before its file is deleted.
    dataset: Dataset,
    folder: TempDir,
    columns: usize,
    rows: usize,
    options: GeotiffOptions,
    bands: Vec<BandState>,
}

/// How far a band has come.
#[derive(Debug, Default)]
struct BandState {
    /// Rows that are written.
    written: usize,
    /// Rows that wait for their block to be whole.
    waiting: Vec<f32>,
    /// Of each row of blocks, in order.
    checksums: Vec<u64>,
}

impl GeotiffWriter {
    /// Begins a file. Nothing appears under `path` before
    /// [`GeotiffWriter::finish`].
    pub fn create(path: &Path, crs: &Crs, grid: &PostGrid, options: GeotiffOptions) -> Result<Self, GeoError> {
        set_up_gdal();
        let failed = |message: String| GeoError::Write { path: path.to_owned(), message };
        if options.bands.is_empty() || grid.columns == 0 || grid.rows == 0 {
            return Err(failed("a raster needs at least one band, one column and one row".into()));
        }
        let fits = options.nodata.is_none_or(|nodata| match options.pixels {
            PixelType::Float32 => nodata.is_nan() || f64::from(nodata as f32) == nodata,
            PixelType::Byte => byte(nodata as f32).is_some(),
        });
        if !fits {
            return Err(failed(format!("nodata {:?} is no value of its pixel type", options.nodata)));
        }
        let beside = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let folder = tempfile::Builder::new().prefix(".partial-").tempdir_in(beside);
        let folder = folder.map_err(|error| failed(error.to_string()))?;
        let dataset = start(&folder.path().join("rows.tif"), &template(crs, grid, &options), &options)
            .map_err(|error| failed(words(error)))?;
        let bands = options.bands.iter().map(|_| BandState::default()).collect();
        Ok(Self { path: path.to_owned(), dataset, folder, columns: grid.columns, rows: grid.rows, options, bands })
    }

    /// Adds whole rows to a band (counted from 0): `first_row` is the row that
    /// comes next. NaN becomes the nodata value.
    pub fn write_rows(&mut self, band: usize, first_row: usize, values: &[f32]) -> Result<(), GeoError> {
        let Some(state) = self.bands.get(band) else {
            return Err(self.failed(format!("there is no band {band}, counted from 0")));
        };
        let next = state.written + state.waiting.len() / self.columns;
        let rows = values.len() / self.columns;
        if first_row != next || rows * self.columns != values.len() || next + rows > self.rows {
            let name = &self.options.bands[band].name;
            return Err(self.failed(format!(
                "band `{name}`: {} values from row {first_row} do not continue {next} of {} rows of {}",
                values.len(),
                self.rows,
                self.columns
            )));
        }
        let mut rest = values;
        while !rest.is_empty() {
            let state = &mut self.bands[band];
            let whole = BLOCK_ROWS.min(self.rows - state.written) * self.columns;
            let (now, later) = rest.split_at(rest.len().min(whole - state.waiting.len()));
            state.waiting.extend_from_slice(now);
            rest = later;
            if state.waiting.len() == whole {
                self.write_waiting(band)?;
            }
        }
        Ok(())
    }

    fn write_waiting(&mut self, band: usize) -> Result<(), GeoError> {
        let state = &mut self.bands[band];
        let values = std::mem::take(&mut state.waiting);
        let rows = values.len() / self.columns;
        let (place, size) = ((0, state.written as isize), (self.columns, rows));
        state.written += rows;
        let nodata = self.options.nodata.map(|nodata| nodata as f32);
        let stored = |value: f32| if value.is_nan() { nodata.unwrap_or(value) } else { value };
        let (checksum, outcome) = match self.options.pixels {
            PixelType::Float32 => {
                let values: Vec<f32> = values.into_iter().map(stored).collect();
                (float_checksum(&values), self.put(band, place, Buffer::new(size, values)))
            }
            PixelType::Byte => {
                let bytes: Option<Vec<u8>> = values.iter().map(|value| byte(stored(*value))).collect();
                let Some(bytes) = bytes else {
                    let strange = values.iter().find(|value| byte(stored(**value)).is_none()).copied();
                    let name = &self.options.bands[band].name;
                    return Err(self.failed(format!("band `{name}`: {strange:?} is no byte")));
                };
                (byte_checksum(&bytes), self.put(band, place, Buffer::new(size, bytes)))
            }
        };
        self.bands[band].checksums.push(checksum);
        outcome.map_err(|error| self.failed(format!("{}; is the disk full?", words(error))))
    }

    fn put<T: gdal::raster::GdalType + Copy>(
        &self,
        band: usize,
        place: (isize, isize),
        mut buffer: Buffer<T>,
    ) -> Result<(), GdalError> {
        let size = buffer.shape();
        self.dataset.rasterband(band + 1)?.write(place, size, &mut buffer)
    }

    /// Closes the file, reads it back and gives it its name. GDAL does not
    /// report every failed write, so what can't be read back as it was written
    /// is an error.
    pub fn finish(self, progress: &dyn Progress) -> Result<(), GeoError> {
        let missing = self.bands.iter().zip(&self.options.bands).find(|(state, _)| state.written < self.rows);
        if let Some((state, band)) = missing {
            let rows = state.written + state.waiting.len() / self.columns;
            return Err(self.failed(format!("band `{}` has {rows} of {} rows", band.name, self.rows)));
        }
        let Self { path, dataset, folder, columns, rows, options, bands } = self;
        let failed = |message: String| GeoError::Write { path: path.clone(), message };
        let full = |error: GdalError| failed(format!("{}; is the disk full?", words(error)));
        progress.check()?;
        dataset.close().map_err(full)?;
        let mut file = folder.path().join("rows.tif");
        if options.cloud_optimized {
            let optimized = folder.path().join("cloud.tif");
            lay_out_for_cloud(&file, &optimized, &options).map_err(full)?;
            file = optimized;
        }
        let read = open_with(&file, "GTiff", GdalOpenFlags::GDAL_OF_READONLY).map_err(full)?;
        progress.begin("reading back", (rows * bands.len()) as u64);
        for (index, state) in bands.iter().enumerate() {
            for (block, expected) in state.checksums.iter().enumerate() {
                progress.check()?;
                let first = block * BLOCK_ROWS;
                let size = (columns, BLOCK_ROWS.min(rows - first));
                let found = read_checksum(&read, index + 1, first, size, options.pixels).map_err(full)?;
                if found != *expected {
                    let name = &options.bands[index].name;
                    return Err(failed(format!(
                        "band `{name}`, row {first} and after: what was written does not read back; is the disk full?"
                    )));
                }
                progress.advance(size.1 as u64);
            }
        }
        read.close().map_err(full)?;
        // A full disk may show only when the last bytes leave the cache.
        let synced = std::fs::File::open(&file).and_then(|file| file.sync_all());
        synced.and_then(|()| std::fs::rename(&file, &path)).map_err(|error| failed(error.to_string()))
    }

    fn failed(&self, message: String) -> GeoError {
        GeoError::Write { path: self.path.clone(), message }
    }
}

/// The whole number that a byte can hold.
fn byte(value: f32) -> Option<u8> {
    ((0.0..=255.0).contains(&value) && value.fract() == 0.0).then_some(value as u8)
}

/// A file with its header and without pixels.
fn start(file: &Path, template: &str, options: &GeotiffOptions) -> Result<Dataset, GdalError> {
    let template = open_with(Path::new(template), "VRT", GdalOpenFlags::GDAL_OF_READONLY)?;
    let mut creation = CslStringList::new();
    for (name, value) in [
        ("TILED", "YES"),
        ("BLOCKXSIZE", "256"),
        ("BLOCKYSIZE", "256"),
        ("INTERLEAVE", "BAND"),
        ("COMPRESS", options.compression.gdal_name()),
        ("PREDICTOR", options.predictor()),
        ("BIGTIFF", "IF_SAFER"),
        // Blocks that nobody wrote yet take no room.
        ("SPARSE_OK", "TRUE"),
    ] {
        if name != "PREDICTOR" || options.compression != Compression::None {
            creation.set_name_value(name, value)?;
        }
    }
    template.create_copy(&DriverManager::get_driver_by_name("GTiff")?, file, &creation)?.close()?;
    // Opened anew, GDAL writes blocks of nothing but nodata like any other:
    // not every reader takes a missing block for nodata.
    open_with(file, "GTiff", GdalOpenFlags::GDAL_OF_UPDATE)
}

/// Opens a file, or a VRT's own text.
pub(super) fn open_with(name: &Path, driver: &str, access: GdalOpenFlags) -> Result<Dataset, GdalError> {
    let open_flags = GdalOpenFlags::GDAL_OF_RASTER | access | GdalOpenFlags::GDAL_OF_VERBOSE_ERROR;
    Dataset::open_ex(name, DatasetOptions { open_flags, allowed_drivers: Some(&[driver]), ..DatasetOptions::default() })
}

fn lay_out_for_cloud(file: &Path, optimized: &Path, options: &GeotiffOptions) -> Result<(), GdalError> {
    let mut creation = CslStringList::new();
    let resampling = if options.pixels == PixelType::Byte { "NEAREST" } else { "AVERAGE" };
    for (name, value) in [
        ("BLOCKSIZE", "256"),
        ("COMPRESS", options.compression.gdal_name()),
        ("PREDICTOR", "YES"),
        ("OVERVIEW_RESAMPLING", resampling),
        ("BIGTIFF", "IF_SAFER"),
    ] {
        creation.set_name_value(name, value)?;
    }
    let source = open_with(file, "GTiff", GdalOpenFlags::GDAL_OF_READONLY)?;
    source.create_copy(&DriverManager::get_driver_by_name("COG")?, optimized, &creation)?.close()
}

fn read_checksum(
    dataset: &Dataset,
    band: usize,
    first_row: usize,
    size: (usize, usize),
    pixels: PixelType,
) -> Result<u64, GdalError> {
    let (band, place) = (dataset.rasterband(band)?, (0, first_row as isize));
    Ok(match pixels {
        PixelType::Float32 => float_checksum(band.read_as::<f32>(place, size, size, None)?.data()),
        PixelType::Byte => byte_checksum(band.read_as::<u8>(place, size, size, None)?.data()),
    })
}

fn float_checksum(values: &[f32]) -> u64 {
    let mut hasher = DefaultHasher::new();
    values.iter().for_each(|value| hasher.write_u32(value.to_bits()));
    hasher.finish()
}

fn byte_checksum(values: &[u8]) -> u64 {
    let mut hasher = DefaultHasher::new();
    hasher.write(values);
    hasher.finish()
}
