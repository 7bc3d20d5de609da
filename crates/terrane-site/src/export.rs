//! `terrane export`: heights, maps derived from them and raster layers as
//! GeoTIFFs, of any size.

use crate::fields::{Layer, layer_names, values};
use crate::ground::Ground;
use crate::{Failure, OpenSite};
use serde::Serialize;
use std::path::{Path, PathBuf};
use terrane_core::{Diagnostic, Place, PostWindow, Progress};
use terrane_geo::{Crs, GeotiffBand, GeotiffOptions, GeotiffWriter, PostGrid, reproject_geotiff};
use terrane_surface::SiteRect;
use terrane_surface::derived::DerivedOptions;

/// What is exported.
#[derive(Debug, Clone, PartialEq)]
pub struct ExportRequest {
    /// `height`, `source`, a derived map's name, or a raster layer's prim.
    pub layer: String,
    /// The GeoTIFF to write.
    pub output: PathBuf,
    /// CRS to write in; the site's map frame when left out.
    pub crs: Option<String>,
    /// Distance between posts, metres; the DEM's own when left out.
    pub posting_m: Option<f64>,
    /// Prim of the DEM whose footprint is exported; the finest when left out.
    pub dem: Option<String>,
    /// What of it is exported, site x and z; all when left out.
    pub region: Option<SiteRect>,
    /// Lay the file out as a Cloud Optimized GeoTIFF.
    pub cloud_optimized: bool,
    /// What some derived maps need to know.
    pub options: DerivedOptions,
}

/// What was written.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ExportReport {
    /// The file.
    pub file: PathBuf,
    /// The layer.
    pub layer: String,
    /// Its unit.
    pub unit: String,
    /// What it is and by which rule.
    pub description: String,
    /// CRS of the file.
    pub crs: String,
    /// Columns of the file.
    pub columns: usize,
    /// Rows of the file.
    pub rows: usize,
    /// Posts of the map-frame grid that it was computed on: the file's own
    /// unless another CRS was asked for.
    pub computed_on: PostGrid,
}

/// Rows computed at once, and columns: windows that fit in memory with any
/// margin.
const ROWS: usize = 256;
const COLUMNS: usize = 1024;

/// Computes a layer band by band and writes it; the file appears under its
/// name only when it is whole.
pub fn export(site: &OpenSite, request: &ExportRequest, progress: &dyn Progress) -> Result<ExportReport, Failure> {
    check_output(&request.output)?;
    request
        .options
        .check()
        .map_err(|error| Diagnostic::error("derived-map", "map can't be derived").with_detail(error.to_string()))?;
    let ground = site.ground(progress)?;
    let Some(layer) = Layer::named(&request.layer) else { return export_raster(site, &ground, request, progress) };
    let crs = request.crs.as_deref().map(Crs::parse).transpose()?;
    let grid = grid(&ground, request)?;
    let options = match layer {
        Layer::Source => GeotiffOptions::bytes(layer.bands(), Some(0)),
        Layer::Class => GeotiffOptions::bytes(layer.bands(), None),
        _ => GeotiffOptions::floats(layer.bands()),
    };
    let options = GeotiffOptions { metadata: metadata(&ground), cloud_optimized: request.cloud_optimized, ..options };
    let fill = |first_row: usize, rows: usize| band_rows(&ground, &layer, &grid, request, first_row, rows);
    let (columns, rows) = write(&ground, request, crs.as_ref(), &grid, options, layer.wants_nearest(), fill, progress)?;
    Ok(ExportReport {
        file: request.output.clone(),
        layer: request.layer.clone(),
        unit: layer.unit().to_owned(),
        description: layer.description().to_owned(),
        crs: crs.map_or_else(|| ground.crs.name.clone(), |crs| crs.name),
        columns,
        rows,
        computed_on: grid,
    })
}

/// Metadata item of every export: the key of the ground that it shows.
const GROUND_ITEM: &str = "TERRANE_GROUND";

fn metadata(ground: &Ground) -> Vec<(String, String)> {
    vec![(GROUND_ITEM.to_owned(), ground.key.to_string())]
}

/// Refuses an output that would take the place of something else: only an
/// earlier export is replaced.
fn check_output(output: &Path) -> Result<(), Failure> {
    let refused = |detail: &str| -> Result<(), Failure> {
        Err(Diagnostic::error("export-output", "output can't be written")
            .with_place(Place::file(output.display().to_string()))
            .with_detail(detail)
            .with_help("name another file, ending in .tif")
            .into())
    };
    let ends = |ending: &str| output.extension().is_some_and(|own| own.eq_ignore_ascii_case(ending));
    if !(ends("tif") || ends("tiff")) || output.to_string_lossy().starts_with("/vsi") {
        return refused("an export is a GeoTIFF on disk, and its name ends in .tif or .tiff");
    }
    match std::fs::metadata(output) {
        Err(_) => Ok(()),
        Ok(found) if !found.is_file() => refused("it exists, and is no file"),
        Ok(_) if terrane_geo::geotiff_metadata(output, GROUND_ITEM).is_none() => {
            refused("it exists, and was not written by `terrane export`; it is left alone")
        }
        Ok(_) => Ok(()),
    }
}

/// The grid over a DEM's footprint: its own posts, or others from the same
/// corner.
fn grid(ground: &Ground, request: &ExportRequest) -> Result<PostGrid, Failure> {
    let dem = match &request.dem {
        None => 0,
        Some(prim) => ground.dems.iter().position(|source| source.prim == *prim).ok_or_else(|| {
            let known: Vec<&str> = ground.dems.iter().map(|source| source.prim.as_str()).collect();
            Diagnostic::error("dem-unknown", "DEM not found")
                .with_detail(format!("`{prim}` is no DEM of the site; there are {}", known.join(", ")))
        })?,
    };
    let own = ground.grid(dem);
    let posting_m = request.posting_m.unwrap_or(own.posting_m);
    let count = |posts: usize| ((posts - 1) as f64 * own.posting_m / posting_m + 1e-6).floor() as usize + 1;
    let mut grid = PostGrid { posting_m, columns: count(own.columns), rows: count(own.rows), ..own };
    if let Some(region) = &request.region {
        let corner = ground.frame.site_from_map(grid.easting_m, grid.northing_m, 0.0);
        // Its own posts within the region; none is moved.
        let range = |[low_m, high_m]: [f64; 2], first_m: f64, count: usize| {
            let place = |border_m: f64| (border_m - first_m) / posting_m;
            let first = (place(low_m) - 1e-6).ceil().clamp(0.0, count as f64);
            let end = (place(high_m) + 1e-6).floor().clamp(-1.0, count as f64 - 1.0) + 1.0;
            (first as usize, (end - first).max(0.0) as usize)
        };
        let (columns, rows) = (range(region.x_m, corner.x, grid.columns), range(region.z_m, corner.z, grid.rows));
        grid = PostGrid {
            easting_m: grid.easting_m + columns.0 as f64 * posting_m,
            northing_m: grid.northing_m - rows.0 as f64 * posting_m,
            columns: columns.1,
            rows: rows.1,
            ..grid
        };
    }
    if grid.columns < 2 || grid.rows < 2 || grid.columns.max(grid.rows) > 1 << 24 {
        let mut error = Diagnostic::error("export-grid", "export's grid can't be used")
            .with_detail(format!("{posting_m} m between posts makes {} x {} posts", grid.columns, grid.rows));
        if request.region.is_some() {
            let corner = ground.frame.site_from_map(own.easting_m, own.northing_m, 0.0);
            let end = |first_m: f64, count: usize| first_m + (count - 1) as f64 * own.posting_m;
            error = error.with_help(format!(
                "--region takes west, north, east, south in site metres; the ground has x {:.1} to {:.1}, z {:.1} to {:.1}",
                corner.x,
                end(corner.x, own.columns),
                corner.z,
                end(corner.z, own.rows)
            ));
        }
        return Err(error.into());
    }
    Ok(grid)
}

/// All bands of some rows, one after another.
fn band_rows(
    ground: &Ground,
    layer: &Layer,
    grid: &PostGrid,
    request: &ExportRequest,
    first_row: usize,
    rows: usize,
) -> Result<Vec<f32>, Failure> {
    let bands = layer.bands().len();
    let mut out = vec![f32::NAN; bands * rows * grid.columns];
    for first in (0..grid.columns).step_by(COLUMNS) {
        let columns = COLUMNS.min(grid.columns - first);
        let values = window(ground, layer, grid, request, (first, columns), (first_row, rows))?;
        for (line, values) in values.chunks_exact(columns).enumerate() {
            out[line * grid.columns + first..][..columns].copy_from_slice(values);
        }
    }
    ground.check_read()?;
    Ok(out)
}

fn window(
    ground: &Ground,
    layer: &Layer,
    grid: &PostGrid,
    request: &ExportRequest,
    (first_column, columns): (usize, usize),
    (first_row, rows): (usize, usize),
) -> Result<Vec<f32>, Failure> {
    let corner = ground.frame.site_from_map(grid.easting_m, grid.northing_m, 0.0);
    let margin = if let Layer::Derived(map) = layer { map.margin_posts(&request.options) } else { 0 };
    let places = |start_m: f64, first: usize, count: usize| -> Vec<f64> {
        let place = |k: usize| start_m + ((first + k) as f64 - margin as f64) * grid.posting_m;
        (0..count + 2 * margin).map(place).collect()
    };
    let (xs_m, zs_m) = (places(corner.x, first_column, columns), places(corner.z, first_row, rows));
    values(ground, layer, &request.options, (&xs_m, &zs_m), (columns, rows), margin, grid.posting_m)
}

/// Writes rows as they are computed, and gives the file's columns and rows; with another CRS, into a file aside that
/// is then warped.
#[allow(clippy::too_many_arguments)]
fn write(
    ground: &Ground,
    request: &ExportRequest,
    crs: Option<&Crs>,
    grid: &PostGrid,
    options: GeotiffOptions,
    wants_nearest: bool,
    rows_of: impl Fn(usize, usize) -> Result<Vec<f32>, Failure>,
    progress: &dyn Progress,
) -> Result<(usize, usize), Failure> {
    let output = &request.output;
    let folder = output.parent().filter(|folder| *folder != Path::new("")).unwrap_or(Path::new("."));
    std::fs::create_dir_all(folder).map_err(|error| Failure::unwritten(folder, &error))?;
    let aside = crs
        .map(|_| tempfile::Builder::new().prefix(".partial-").tempdir_in(folder))
        .transpose()
        .map_err(|error| Failure::unwritten(folder, &error))?;
    let first = aside.as_ref().map_or(output.clone(), |aside| aside.path().join("site.tif"));
    let bands = options.bands.len();
    let mut writer = GeotiffWriter::create(&first, &ground.crs, grid, options)?;
    progress.begin("exporting rows", grid.rows as u64);
    for row in (0..grid.rows).step_by(ROWS) {
        progress.check()?;
        let rows = ROWS.min(grid.rows - row);
        let values = rows_of(row, rows)?;
        for (band, values) in values.chunks_exact(rows * grid.columns).take(bands).enumerate() {
            writer.write_rows(band, row, values)?;
        }
        progress.advance(rows as u64);
    }
    writer.finish(progress)?;
    match crs {
        Some(crs) => Ok(reproject_geotiff(&first, output, crs, request.posting_m, wants_nearest, progress)?),
        None => Ok((grid.columns, grid.rows)),
    }
}

/// A raster layer of the stage, on the site's grid.
fn export_raster(
    site: &OpenSite,
    ground: &Ground,
    request: &ExportRequest,
    progress: &dyn Progress,
) -> Result<ExportReport, Failure> {
    let layers = site.raster_layers(ground, progress)?;
    let Some(source) = layers.iter().find(|layer| layer.prim == request.layer) else {
        let prims = layers.iter().map(|layer| layer.prim.as_str());
        let known: Vec<&str> = layer_names().into_iter().chain(prims).collect();
        return Err(Diagnostic::error("layer-unknown", "layer not found")
            .with_place(Place::file(site.stage.display().to_string()))
            .with_detail(format!("`{}` is none of {}", request.layer, known.join(", ")))
            .into());
    };
    let crs = request.crs.as_deref().map(Crs::parse).transpose()?;
    let grid = grid(ground, request)?;
    let layer = &source.layer;
    let bands = (1..=layer.bands).map(|band| layer.band(band, &ground.crs, grid)).collect::<Result<Vec<_>, _>>()?;
    let band = |index: usize| GeotiffBand {
        name: format!("{}_{}", source.prim.rsplit('/').next().unwrap_or("band"), index + 1),
        description: format!("from {}", layer.file.name),
        unit: layer.file.info.unit.clone(),
    };
    let options = GeotiffOptions {
        metadata: metadata(ground),
        cloud_optimized: request.cloud_optimized,
        ..GeotiffOptions::floats((0..bands.len()).map(band).collect())
    };
    let is_classes = layer.kind == terrane_geo::LayerKind::Classes;
    let fill = |row: usize, rows: usize| {
        let window = PostWindow { column: 0, row, columns: grid.columns, rows };
        let mut values = vec![f32::NAN; window.len() * bands.len()];
        for (band, values) in bands.iter().zip(values.chunks_exact_mut(window.len())) {
            band.read(window, values).map_err(|error| Failure::unread(&error))?;
        }
        Ok(values)
    };
    let (columns, rows) = write(ground, request, crs.as_ref(), &grid, options, is_classes, fill, progress)?;
    Ok(ExportReport {
        file: request.output.clone(),
        layer: request.layer.clone(),
        unit: layer.file.info.unit.clone(),
        description: format!("{} layer from {}", format!("{:?}", layer.kind).to_lowercase(), layer.file.name),
        crs: crs.map_or_else(|| ground.crs.name.clone(), |crs| crs.name),
        columns,
        rows,
        computed_on: grid,
    })
}
