//! Raster layers over a site: pictures, scalars, classes.

use crate::warp::Kernel;
use crate::{Crs, DemFile, GeoError, OpenOptions, PostGrid, RasterName};
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use terrane_core::{PostReadError, PostSource, PostWindow, Progress, RasterSettings};

/// What a layer's values are, which decides how they are resampled.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum LayerKind {
    /// A picture: bilinear, averaged where it is thinned.
    Colour,
    /// A quantity: the same.
    Scalar,
    /// Classes: the pixel that covers the place, never mixed.
    Classes,
}

/// An opened raster layer; it holds no pixels.
#[derive(Debug, Clone)]
pub struct LayerFile {
    /// The raster: what its file says, its CRS, its key. Its "heights" are the
    /// layer's values, scaled and offset.
    pub file: DemFile,
    /// What its values are.
    pub kind: LayerKind,
    /// Its bands, without an alpha band.
    pub bands: usize,
    /// Colour of each class, when the file has a table: red, green, blue,
    /// alpha.
    pub palette: Vec<[u8; 4]>,
}

/// How a layer and a site's grid lie to each other.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Footprint {
    /// Share of the grid's posts that the layer covers with data.
    pub covered_share: f64,
    /// Share of the layer's own pixels that lie on the grid.
    pub inside_share: f64,
    /// Bounds of the layer in the site's map frame: west, east, south, north,
    /// metres.
    pub layer_map_m: [f64; 4],
    /// Bounds of the grid there.
    pub grid_map_m: [f64; 4],
}

/// Places a side that footprints are compared at.
const COMPARED: usize = 128;

impl LayerFile {
    /// Opens a layer. Its kind, when it is not given: classes when the first
    /// band has a colour table, a picture when it has bytes in three bands or
    /// more or grey bytes with alpha, a scalar otherwise.
    pub fn open(
        name: &RasterName,
        settings: &RasterSettings,
        kind: Option<LayerKind>,
        options: &OpenOptions<'_>,
        progress: &dyn Progress,
    ) -> Result<Self, GeoError> {
        let file = DemFile::open_as(name, settings, options, false, progress)?;
        let palette = file.source().with_dataset(|dataset| {
            let band = dataset.rasterband(1)?;
            let Some(table) = band.color_table() else { return Ok(vec![]) };
            let entry = |index: usize| {
                let byte = |value: i16| value.clamp(0, 255) as u8;
                table.entry_as_rgb(index).map_or([0; 4], |c| [byte(c.r), byte(c.g), byte(c.b), byte(c.a)])
            };
            Ok((0..table.entry_count()).map(entry).collect())
        })?;
        let info = &file.info;
        let has_alpha = [2, 4].contains(&info.bands) && file.source().rule.masked;
        let bands = info.bands - usize::from(has_alpha);
        let bytes = info.pixel_type == "Byte" || info.pixel_type == "UInt8";
        let found = match (palette.is_empty(), bytes && (bands >= 3 || has_alpha)) {
            (false, _) => LayerKind::Classes,
            (true, true) => LayerKind::Colour,
            (true, false) => LayerKind::Scalar,
        };
        Ok(Self { kind: kind.unwrap_or(found), file, bands, palette })
    }

    /// A band's values (from 1) on a grid of `crs`; NaN where the layer does
    /// not cover. A value does not depend on the window that it is read with.
    pub fn band(&self, band: usize, crs: &Crs, grid: PostGrid) -> Result<Arc<dyn PostSource>, GeoError> {
        let kernel = if self.kind == LayerKind::Classes { Kernel::Classes } else { Kernel::Quantities };
        self.file.band_on(band.clamp(1, self.bands.max(1)), crs, grid, kernel)
    }

    /// How the layer and a grid lie to each other. No overlap is an error that
    /// shows both.
    pub fn footprint(&self, crs: &Crs, grid: PostGrid) -> Result<Footprint, GeoError> {
        self.file.crs.same_body(crs)?;
        let covered_share = self.covered_share(crs, grid)?;
        let placement = self.file.placement();
        let (columns, rows) = (placement.columns as f64 - 1.0, placement.rows as f64 - 1.0);
        let share = |k: usize| k as f64 / (COMPARED - 1) as f64;
        let places = (0..COMPARED * COMPARED).map(|k| (share(k % COMPARED) * columns, share(k / COMPARED) * rows));
        let (mut x, mut y): (Vec<f64>, Vec<f64>) = places.map(|(c, r)| placement.map(c, r)).unzip();
        self.file.crs.transform_to(crs, &mut x, &mut y)?;
        let inside = x.iter().zip(&y).filter(|(x, y)| {
            let (column, row) = grid.column_row(**x, **y);
            (-0.5..grid.columns as f64 - 0.5).contains(&column) && (-0.5..grid.rows as f64 - 0.5).contains(&row)
        });
        let bounds = |values: &[f64]| {
            let finite = values.iter().copied().filter(|value| value.is_finite());
            finite.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), v| (low.min(v), high.max(v)))
        };
        let ((west, east), (south, north)) = (bounds(&x), bounds(&y));
        let found = Footprint {
            covered_share,
            inside_share: inside.count() as f64 / x.len() as f64,
            layer_map_m: [west, east, south, north],
            grid_map_m: [
                grid.easting_m,
                grid.easting_m + (grid.columns - 1) as f64 * grid.posting_m,
                grid.northing_m - (grid.rows - 1) as f64 * grid.posting_m,
                grid.northing_m,
            ],
        };
        if covered_share > 0.0 || found.inside_share > 0.0 {
            return Ok(found);
        }
        let text = |[west, east, south, north]: [f64; 4]| -> Result<String, GeoError> {
            let (mut lon, mut lat) = ([west, east], [south, north]);
            crs.lon_lat_many(&mut lon, &mut lat)?;
            Ok(format!(
                "map E {west:.1} to {east:.1} m, N {south:.1} to {north:.1} m (from {:.4} E, {:.4} N to {:.4} E, {:.4} N)",
                lon[0], lat[0], lon[1], lat[1]
            ))
        };
        Err(GeoError::NoOverlap {
            path: self.file.name.as_path().to_owned(),
            layer: text(found.layer_map_m)?,
            site: text(found.grid_map_m)?,
        })
    }

    /// Share of a grid's posts that have data, of at most 128 a side.
    fn covered_share(&self, crs: &Crs, grid: PostGrid) -> Result<f64, GeoError> {
        let stride = grid.columns.max(grid.rows).div_ceil(COMPARED).max(1);
        let thin = PostGrid {
            posting_m: grid.posting_m * stride as f64,
            columns: (grid.columns - 1) / stride + 1,
            rows: (grid.rows - 1) / stride + 1,
            ..grid
        };
        // The pixel under each place, whatever the kind: a mean would smear
        // the edges.
        let posts = self.file.band_on(1, crs, thin, Kernel::Classes)?;
        let window = PostWindow { column: 0, row: 0, columns: thin.columns, rows: thin.rows };
        let mut values = vec![f32::NAN; window.len()];
        posts.read(window, &mut values).map_err(|error: PostReadError| GeoError::Read(error))?;
        Ok(values.iter().filter(|value| !value.is_nan()).count() as f64 / values.len() as f64)
    }
}
