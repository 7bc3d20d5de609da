//! From a terrain prim to its surface: DEMs read, placed, joined.

use crate::{Failure, OpenSite};
use std::path::{Path, PathBuf};
use terrane_core::{ContentKey, Diagnostic, KeyBuilder, Progress, SiteFrame};
use terrane_geo::{Crs, Dem, PostGrid, read_dem, resample_dem};
use terrane_stage::spec::{TerrainLayer, TerrainSpec};
use terrane_surface::{DemGrid, Surface, SurfaceSpec};

/// A DEM and where it came from.
#[derive(Debug, Clone)]
pub struct DemSource {
    /// Prim path of the layer.
    pub prim: String,
    /// The file.
    pub file: PathBuf,
    /// What was read, in the site's CRS, cropped and thinned as authored.
    pub dem: Dem,
}

/// The ground of a site.
#[derive(Debug, Clone)]
pub struct Ground {
    /// The height function.
    pub surface: Surface,
    /// The map frame.
    pub crs: Crs,
    /// Places the site frame in the map frame.
    pub frame: SiteFrame,
    /// Longitude and latitude of the site origin, degrees.
    pub origin_lon_lat_deg: (f64, f64),
    /// DEMs, finest first.
    pub dems: Vec<DemSource>,
    /// Key of everything that shapes the surface.
    pub key: ContentKey,
    /// What is worth saying.
    pub diagnostics: Vec<Diagnostic>,
}

/// Layer kinds that this version draws. Others are named in a warning.
const DRAWN_KINDS: &[&str] = &["dem", "shader"];

impl OpenSite {
    /// Reads the terrain's DEMs and composes its surface.
    pub fn ground(&self, progress: &dyn Progress) -> Result<Ground, Failure> {
        let terrain = self.terrain()?;
        let mut diagnostics = self.layer_warnings(terrain);
        let layers: Vec<&TerrainLayer> =
            terrain.layers.iter().filter(|layer| layer.kind == "dem" && layer.enabled).collect();
        let mut read = Vec::new();
        for layer in layers {
            read.push(self.read_layer(layer, progress)?);
        }
        read.sort_by(|a, b| a.dem.grid.posting_m.total_cmp(&b.dem.grid.posting_m));
        let Some(finest) = read.first() else {
            let mut error =
                self.error("terrain-no-dem", "terrain has no DEM", "it has no enabled layer of kind `dem`".into());
            error.place.prim = Some(terrain.prim.clone());
            return Err(error.with_help("add a child with lunco:layer = \"dem\" and lunco:layer:demSource").into());
        };
        let crs = finest.dem.crs.clone();
        let (frame, warnings) = self.site_frame(&crs, &read)?;
        diagnostics.extend(warnings);
        let origin_lon_lat_deg = crs.lon_lat(frame.origin_easting_m, frame.origin_northing_m)?;

        let mut dems = Vec::new();
        for (source, layer) in read.into_iter().map(|source| (source.prim.clone(), source)).map(|(prim, source)| {
            let layer = terrain.layers.iter().find(|layer| layer.prim == prim);
            (source, layer)
        }) {
            dems.push(fit(source, layer, &crs, &frame, progress)?);
        }
        dems.sort_by(|a, b| a.dem.grid.posting_m.total_cmp(&b.dem.grid.posting_m));
        for source in &dems {
            diagnostics.extend(source.dem.notes.iter().cloned());
        }
        let curvature_radius_m = Some(crs.body.curvature_radius_m(origin_lon_lat_deg.1));
        let spec = SurfaceSpec {
            dems: dems.iter().map(|source| dem_grid(source, &frame)).collect(),
            curvature_radius_m,
            origin_height_m: frame.origin_height_m,
            ..SurfaceSpec::default()
        };
        let key = surface_key(&dems, &frame, &spec);
        let surface =
            Surface::new(spec).map_err(|error| self.error("surface", "the DEMs make no surface", error.to_string()))?;
        Ok(Ground { surface, crs, frame, origin_lon_lat_deg, dems, key, diagnostics })
    }

    fn layer_warnings(&self, terrain: &TerrainSpec) -> Vec<Diagnostic> {
        let unused = self.roots.twin.iter().flat_map(|twin| twin.unused_raster_settings());
        let settings = unused.map(|address| {
            Diagnostic::warning("raster-settings-unused", "raster settings have no effect")
                .with_place(terrane_core::Place::file(terrane_assets::MANIFEST_NAME))
                .with_detail(format!("[rasters.\"{address}\"] names no file of the twin"))
        });
        let mut warnings: Vec<Diagnostic> = settings.collect();
        let ignored =
            terrain.layers.iter().filter(|layer| layer.enabled && !DRAWN_KINDS.contains(&layer.kind.as_str()));
        warnings.extend(ignored.map(|layer| {
            let mut warning = self.error("layer-not-drawn", "layer has no effect yet", String::new());
            warning.severity = terrane_core::Severity::Warning;
            warning.place.prim = Some(layer.prim.clone());
            warning.with_detail(format!("layers of kind `{}` are not drawn by this version", layer.kind))
        }));
        for other in self.spec.terrains.iter().filter(|other| other.visible && other.prim != terrain.prim) {
            let mut warning = self.error("terrain-not-drawn", "terrain has no effect yet", String::new());
            warning.severity = terrane_core::Severity::Warning;
            warning.place.prim = Some(other.prim.clone());
            warnings.push(warning.with_detail(format!("a site has one terrain; it is {}", terrain.prim)));
        }
        warnings
    }

    fn read_layer(&self, layer: &TerrainLayer, progress: &dyn Progress) -> Result<DemSource, Failure> {
        let Some((asset, attribute)) = layer.asset("layer:demSource") else {
            let mut error = self.error(
                "dem-no-source",
                "DEM layer names no raster",
                "lunco:layer:demSource is not authored".into(),
            );
            error.place.prim = Some(layer.prim.clone());
            return Err(error.into());
        };
        let (file, overrides) = self.raster(asset, attribute)?;
        let dem =
            read_dem(&file, &overrides, progress).map_err(|error| self.at_attribute(error.diagnostic(), attribute))?;
        Ok(DemSource { prim: layer.prim.clone(), file, dem })
    }

    /// The frame at the anchor, or at the finest DEM's centre and height 0.
    fn site_frame(&self, crs: &Crs, dems: &[DemSource]) -> Result<(SiteFrame, Vec<Diagnostic>), Failure> {
        let grid = dems[0].dem.grid;
        let Some(anchor) = &self.spec.anchor else {
            let (origin_easting_m, origin_northing_m) = grid.centre_m();
            return Ok((SiteFrame { origin_easting_m, origin_northing_m, origin_height_m: 0.0 }, vec![]));
        };
        let at_anchor = |mut diagnostic: Diagnostic| {
            diagnostic.place.prim = Some(anchor.prim.clone());
            diagnostic
        };
        if crs.body.naif_id.is_some_and(|id| id != anchor.body) {
            let detail = format!(
                "lunco:anchor:body is {}, the DEM lies on {} ({:?})",
                anchor.body, crs.body.name, crs.body.naif_id
            );
            return Err(at_anchor(self.error("anchor-body", "anchor and DEM are on different bodies", detail)).into());
        }
        let (easting_m, northing_m) = crs.from_lon_lat(anchor.lon_deg, anchor.lat_deg)?;
        let covers = |grid: &PostGrid| {
            let (column, row) = grid.column_row(easting_m, northing_m);
            (-0.5..grid.columns as f64 - 0.5).contains(&column) && (-0.5..grid.rows as f64 - 0.5).contains(&row)
        };
        let mut warnings = Vec::new();
        if !covers(&grid) {
            let (x, y) = grid.centre_m();
            let (lon, lat) = crs.lon_lat(x, y)?;
            let mut warning = self.error("anchor-outside-dem", "anchor lies outside the finest DEM", String::new());
            warning.severity = terrane_core::Severity::Warning;
            warnings.push(at_anchor(warning.with_detail(format!(
                "the anchor is at {:.6} E, {:.6} N (map {easting_m:.1}, {northing_m:.1}); the DEM's centre is at {lon:.6} E, {lat:.6} N (map {x:.1}, {y:.1})",
                anchor.lon_deg, anchor.lat_deg
            ))));
        }
        let frame =
            SiteFrame { origin_easting_m: easting_m, origin_northing_m: northing_m, origin_height_m: anchor.height_m };
        Ok((frame, warnings))
    }
}

/// Crops, thins and reprojects a DEM as its layer and the site's CRS ask.
fn fit(
    source: DemSource,
    layer: Option<&TerrainLayer>,
    crs: &Crs,
    frame: &SiteFrame,
    progress: &dyn Progress,
) -> Result<DemSource, Failure> {
    let number = |name: &str| layer.and_then(|layer| layer.number(name)).filter(|value| *value > 0.0);
    let DemSource { prim, file, mut dem } = source;
    let target_m = number("layer:targetRes").filter(|target| *target > dem.grid.posting_m * 1.001);
    let window_m = number("layer:windowM");
    let outline = outline_in(&dem, crs).map_err(|mut failure| {
        failure.diagnostics.iter_mut().for_each(|d| d.place = terrane_core::Place::file(file.display().to_string()));
        failure
    })?;
    let moved = outline.1 > 0.01 * dem.grid.posting_m;
    if moved || target_m.is_some() {
        let posting_m = target_m.unwrap_or(dem.grid.posting_m);
        let grid = grid_over(outline.0, posting_m);
        dem = resample_dem(&dem, crs, grid, &file, progress)?;
    }
    if let Some(window_m) = window_m {
        dem = crop(dem, frame, window_m, crs, &file, progress)?;
    }
    Ok(DemSource { prim, file, dem })
}

/// The DEM's bounds in the site's CRS (west, east, south, north), and how far
/// the change of CRS moves its outline, metres.
fn outline_in(dem: &Dem, crs: &Crs) -> Result<([f64; 4], f64), Failure> {
    let grid = &dem.grid;
    let (w, h) = ((grid.columns - 1) as f64, (grid.rows - 1) as f64);
    let edge = (0..=64).map(|k| f64::from(k) / 64.0);
    let places = edge.flat_map(|t| [(t * w, 0.0), (t * w, h), (0.0, t * h), (w, t * h)]);
    let own: Vec<(f64, f64)> =
        places.map(|(c, r)| (grid.easting_m + c * grid.posting_m, grid.northing_m - r * grid.posting_m)).collect();
    let (mut x, mut y): (Vec<f64>, Vec<f64>) = own.iter().copied().unzip();
    dem.crs.transform_to(crs, &mut x, &mut y)?;
    let mut bounds = [f64::INFINITY, f64::NEG_INFINITY, f64::INFINITY, f64::NEG_INFINITY];
    let mut moved = 0.0_f64;
    for ((x, y), (own_x, own_y)) in x.iter().zip(&y).zip(own) {
        moved = moved.max((x - own_x).abs().max((y - own_y).abs()));
        if x.is_nan() {
            moved = f64::INFINITY;
            continue;
        }
        bounds = [bounds[0].min(*x), bounds[1].max(*x), bounds[2].min(*y), bounds[3].max(*y)];
    }
    Ok((bounds, moved))
}

fn grid_over([west, east, south, north]: [f64; 4], posting_m: f64) -> PostGrid {
    let posts = |length_m: f64| (length_m / posting_m + 1e-6).floor().max(1.0) as usize + 1;
    PostGrid { easting_m: west, northing_m: north, posting_m, columns: posts(east - west), rows: posts(north - south) }
}

/// The posts within a square of `window_m` around the site origin.
fn crop(
    dem: Dem,
    frame: &SiteFrame,
    window_m: f64,
    crs: &Crs,
    file: &Path,
    progress: &dyn Progress,
) -> Result<Dem, Failure> {
    let grid = dem.grid;
    let (column, row) = grid.column_row(frame.origin_easting_m, frame.origin_northing_m);
    let reach = 0.5 * window_m / grid.posting_m;
    let range = |middle: f64, count: usize| {
        let first = (middle - reach).ceil().clamp(0.0, count as f64 - 1.0);
        let last = (middle + reach).floor().clamp(0.0, count as f64 - 1.0);
        (first as usize, last as usize)
    };
    let ((c0, c1), (r0, r1)) = (range(column, grid.columns), range(row, grid.rows));
    if c1 <= c0 || r1 <= r0 {
        let detail = format!(
            "lunco:layer:windowM is {window_m} m around the site origin; fewer than two posts a side lie in it"
        );
        let place = terrane_core::Place::file(file.display().to_string());
        return Err(Diagnostic::error("dem-window", "DEM's window holds no ground")
            .with_place(place)
            .with_detail(detail)
            .into());
    }
    let cropped = PostGrid {
        easting_m: grid.easting_m + c0 as f64 * grid.posting_m,
        northing_m: grid.northing_m - r0 as f64 * grid.posting_m,
        columns: c1 - c0 + 1,
        rows: r1 - r0 + 1,
        ..grid
    };
    Ok(resample_dem(&dem, crs, cropped, file, progress)?)
}

fn dem_grid(source: &DemSource, frame: &SiteFrame) -> DemGrid {
    let grid = &source.dem.grid;
    let first = frame.site_from_map(grid.easting_m, grid.northing_m, 0.0);
    DemGrid {
        name: source.prim.clone(),
        x0_m: first.x,
        z0_m: first.z,
        posting_m: grid.posting_m,
        columns: grid.columns,
        rows: grid.rows,
        heights_m: source.dem.heights_m.clone(),
    }
}

fn surface_key(dems: &[DemSource], frame: &SiteFrame, spec: &SurfaceSpec) -> ContentKey {
    let frame = [frame.origin_easting_m, frame.origin_northing_m, frame.origin_height_m];
    let rules = [spec.curvature_radius_m.unwrap_or(0.0), spec.blend_postings];
    let key = KeyBuilder::new("surface", terrane_tiles::RULE_VERSION).numbers("frame", &frame).numbers("rules", &rules);
    dems.iter().fold(key, |key, source| key.bytes("prim", source.prim.as_bytes()).key("dem", &source.dem.key)).finish()
}
