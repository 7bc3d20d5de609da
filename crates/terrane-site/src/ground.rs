//! From a terrain prim to its surface: DEMs read, placed, joined.

use crate::dems::{self, DemSource};
use crate::modifiers::Scale;
use crate::{Failure, OpenSite};
use terrane_assets::BakeSettings;
use terrane_core::{ContentKey, Diagnostic, KeyBuilder, Progress, SiteFrame};
use terrane_geo::{Crs, DemFile, PostGrid};
use terrane_stage::spec::{TerrainLayer, TerrainSpec};
use terrane_surface::{DemGrid, Disagreement, ModifierSpec, SiteRect, Surface, SurfaceError, SurfaceSpec};
use terrane_tiles::{BakeOptions, HeightCode};

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
    /// DEMs, finest first; none over a level base.
    pub dems: Vec<DemSource>,
    /// How far DEMs disagree along their borders, after any levelling.
    pub disagreements: Vec<Disagreement>,
    /// How the surface is baked.
    pub bake: BakeOptions,
    /// Key of everything that shapes the surface and what is baked of it.
    pub key: ContentKey,
    /// The surface without its edits: what is baked. Edits are laid over it
    /// when it is drawn.
    pub unedited: Surface,
    /// Its key.
    pub unedited_key: ContentKey,
    /// Key of the DEMs alone.
    base_key: ContentKey,
    /// What is worth saying.
    pub diagnostics: Vec<Diagnostic>,
}

/// No ground lies farther from its datum, metres.
const MOST_ORIGIN_HEIGHT_M: f64 = 1e6;

/// Layer kinds that this version draws. Others are named in a warning.
const DRAWN_KINDS: &[&str] = &["dem", "shader", "craters", "overzoom", "edit"];

impl Ground {
    /// Posts of the DEM number `dem`, finest first, or of the level base, in
    /// the map frame.
    pub fn grid(&self, dem: usize) -> PostGrid {
        self.dems.get(dem).map_or_else(|| self.grid_of(&self.surface.spec().dems[0]), |source| source.grid)
    }

    fn grid_of(&self, dem: &DemGrid) -> PostGrid {
        let (easting_m, northing_m) = self.frame.map_from_site(dem.x0_m, dem.z0_m);
        PostGrid { easting_m, northing_m, posting_m: dem.posting_m, columns: dem.columns, rows: dem.rows }
    }

    /// The same ground under other modifiers. What is baked stays while just
    /// edits differ.
    pub fn with_modifiers(&self, modifiers: Vec<ModifierSpec>) -> Result<Self, SurfaceError> {
        let surface = self.surface.revised(modifiers)?;
        let shapes = |surface: &Surface| {
            surface.spec().modifiers.iter().filter(|modifier| !modifier.is_edit()).cloned().collect::<Vec<_>>()
        };
        let (unedited, unedited_key) = match shapes(&surface) == shapes(&self.unedited) {
            true => (self.unedited.clone(), self.unedited_key),
            false => {
                let unedited = surface.without_edits()?;
                let key = shaped_key(&self.base_key, &unedited);
                (unedited, key)
            }
        };
        let key = shaped_key(&self.base_key, &surface);
        Ok(Self { surface, key, unedited, unedited_key, ..self.clone() })
    }

    /// True when edits change the ground.
    pub fn is_edited(&self) -> bool {
        self.surface.spec().modifiers.len() != self.unedited.spec().modifiers.len()
    }

    /// The surface to bake and its key.
    pub(crate) fn baked(&self) -> (&Surface, &ContentKey) {
        (&self.unedited, &self.unedited_key)
    }

    /// An error when heights could not be read since the site was opened: then
    /// what was answered as "no ground" may be ground.
    pub fn check_read(&self) -> Result<(), Failure> {
        self.surface.read_failure().map_or(Ok(()), |error| Err(Failure::unread(&error)))
    }
}

impl OpenSite {
    /// Opens the terrain's DEMs and composes its surface.
    pub fn ground(&self, progress: &dyn Progress) -> Result<Ground, Failure> {
        let terrain = self.terrain()?;
        // A scaled terrain has no metres: nothing is answered on one.
        self.site_from_world(terrain)?;
        let mut diagnostics = self.layer_warnings(terrain);
        let layers: Vec<&TerrainLayer> =
            terrain.layers.iter().filter(|layer| layer.kind == "dem" && layer.enabled).collect();
        let mut opened = Vec::new();
        for layer in layers {
            let file = self.open_dem(layer, progress)?;
            let (crs, grid) = file.natural_frame().map_err(|error| self.at_layer(error.diagnostic(), layer))?;
            opened.push((layer, file, crs, grid));
        }
        opened.sort_by(|a, b| a.3.posting_m.total_cmp(&b.3.posting_m));
        let (crs, frame) = match opened.first() {
            Some((_, finest, crs, grid)) => {
                let (frame, warnings) = self.site_frame(finest, crs, grid)?;
                diagnostics.extend(warnings);
                (crs.clone(), frame)
            }
            None => {
                let (crs, frame, notes) = self.frame_without_dem(terrain)?;
                diagnostics.extend(notes);
                (crs, frame)
            }
        };
        if frame.origin_height_m.abs() > MOST_ORIGIN_HEIGHT_M {
            let detail =
                format!("lunco:anchor:height is {} m; it goes to {MOST_ORIGIN_HEIGHT_M} m", frame.origin_height_m);
            let mut error = self.error("anchor-height", "anchor's height is out of range", detail);
            error.place.prim = self.spec.anchor.as_ref().map(|anchor| anchor.prim.clone());
            return Err(error.into());
        }
        let origin_lon_lat_deg = crs.lon_lat(frame.origin_easting_m, frame.origin_northing_m)?;

        let mut dems = Vec::new();
        for (layer, file, ..) in opened {
            diagnostics.extend(file.notes.iter().cloned());
            dems.push(dems::place(layer.prim.clone(), file, layer, &crs, &frame).map_err(|mut failure| {
                failure.diagnostics = failure.diagnostics.into_iter().map(|d| self.at_layer(d, layer)).collect();
                failure
            })?);
        }
        let cropped = dems.iter().filter_map(|source| source.cropped_to_m.map(|side_m| (source, side_m)));
        diagnostics.extend(cropped.map(|(source, side_m)| {
            let mut warning = self.error("dem-cropped", "DEM reaches beyond the site", String::new());
            warning.severity = terrane_core::Severity::Warning;
            warning.place.prim = Some(source.prim.clone());
            warning
                .with_detail(format!(
                    "a site is drawn over the plane that touches the body at its origin; {:.0} km to each side of it are kept of {}",
                    0.5 * side_m / 1000.0,
                    source.file.name
                ))
                .with_help("author lunco:layer:windowM, the side of a square around the origin in metres, to say how much is wanted")
        }));
        dems.sort_by(|a, b| a.grid.posting_m.total_cmp(&b.grid.posting_m));
        let (mosaic, bake) = match &self.roots.twin {
            Some(twin) => (twin.manifest().mosaic.clone(), twin.manifest().bake.clone()),
            None => Default::default(),
        };
        let mut grids = Vec::new();
        for source in &dems {
            grids.push(source.grid_in_site(&crs, &frame, progress)?);
        }
        if mosaic.level {
            terrane_surface::level(&mut grids);
        }
        let modifiers = match grids.iter().map(DemGrid::rect).reduce(SiteRect::joined) {
            Some(whole) => self.modifiers(terrain, &Scale { posting_m: grids[0].posting_m, whole })?,
            None => {
                let (base, modifiers) = self.level_base(terrain, &crs, &frame)?;
                grids.push(base);
                modifiers
            }
        };
        let spec = SurfaceSpec {
            modifiers: vec![],
            dems: grids,
            curvature_radius_m: Some(crs.body.curvature_radius_m(origin_lon_lat_deg.1)),
            origin_height_m: frame.origin_height_m,
            blend_postings: mosaic
                .blend_postings
                .filter(|postings| postings.is_finite() && *postings >= 0.0)
                .unwrap_or(SurfaceSpec::default().blend_postings),
        };
        let settings = bake;
        let bake = bake_options(&dems, &frame, &settings, spec.dems[0].posting_m, highest_m(&spec));
        let base_key = surface_key(&crs, &dems, &frame, &spec, &bake);
        let bare = Surface::new(spec).map_err(|error| self.surface_error(error))?;
        let disagreements = bare.disagreements();
        let surface = bare.revised(modifiers).map_err(|error| self.surface_error(error))?;
        let unedited = surface.without_edits().map_err(|error| self.surface_error(error))?;
        // Finer posts need finer heights; those of a hundredth of a millimetre do for any.
        let bake = match unedited.modifiers().is_empty() {
            true => bake,
            false => {
                let posting_m = unedited.lattice().posting_m.max(0.02);
                bake_options(&dems, &frame, &settings, posting_m, highest_m(unedited.spec()))
            }
        };
        let ground_rects: Vec<SiteRect> = surface.spec().dems.iter().map(DemGrid::rect).collect();
        for modifier in surface.modifiers() {
            if ground_rects.iter().all(|rect| !rect.meets(&modifier.bounds())) {
                let mut warning = self.error("layer-off-ground", "layer lies where there is no ground", String::new());
                warning.severity = terrane_core::Severity::Warning;
                warning.place.prim = Some(modifier.spec().name.clone());
                let ([x0, x1], [z0, z1]) = (modifier.bounds().x_m, modifier.bounds().z_m);
                diagnostics.push(warning.with_detail(format!(
                    "it reaches from x {x0:.1} to {x1:.1} m, z {z0:.1} to {z1:.1} m, beyond all ground"
                )));
            }
        }
        let ground = Ground {
            key: shaped_key(&base_key, &surface),
            unedited_key: shaped_key(&base_key, &unedited),
            base_key,
            surface,
            unedited,
            crs,
            frame,
            origin_lon_lat_deg,
            dems,
            disagreements,
            bake,
            diagnostics,
        };
        ground.check_read()?;
        Ok(ground)
    }

    pub(crate) fn surface_error(&self, error: SurfaceError) -> Failure {
        let mut diagnostic = self.error("surface", "the layers make no surface", error.to_string());
        match &error {
            SurfaceError::BadModifier { name, what } => {
                diagnostic = self.error("layer-value", "layer can't be used", what.clone());
                diagnostic.place.prim = Some(name.clone());
            }
            SurfaceError::TooFine { name } => {
                diagnostic = self.error("layer-too-fine", "layer asks for too many posts", error.to_string());
                diagnostic.place.prim = Some(name.clone());
                diagnostic = diagnostic.with_help(
                    "author a smaller lunco:layer:regionM or a larger sizeMin or minFeature; for a single crater or an edit, a larger size",
                );
            }
            _ => {}
        }
        diagnostic.into()
    }

    /// Adds the layer's prim to a message that has none.
    fn at_layer(&self, mut diagnostic: Diagnostic, layer: &TerrainLayer) -> Diagnostic {
        if diagnostic.place.prim.is_none() {
            diagnostic.place.prim = Some(layer.prim.clone());
        }
        diagnostic
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

    /// The frame at the anchor. Without one, at height 0 in the middle of the
    /// finest DEM; where that reaches farther than a site can, in the middle
    /// of what it has measured.
    fn site_frame(
        &self,
        finest: &DemFile,
        crs: &Crs,
        grid: &PostGrid,
    ) -> Result<(SiteFrame, Vec<Diagnostic>), Failure> {
        let Some(anchor) = &self.spec.anchor else {
            let (origin_easting_m, origin_northing_m) = grid.centre_m();
            let centred = SiteFrame { origin_easting_m, origin_northing_m, origin_height_m: 0.0 };
            if !dems::reaches_too_far(grid, crs, &centred) {
                return Ok((centred, vec![]));
            }
            let measured = finest.sample_middle_m(crs, grid);
            let (origin_easting_m, origin_northing_m) = measured.unwrap_or(grid.centre_m());
            return Ok((SiteFrame { origin_easting_m, origin_northing_m, ..centred }, vec![]));
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
        let (mut easting_m, northing_m) = crs.from_lon_lat(anchor.lon_deg, anchor.lat_deg)?;
        let covers = |easting_m: f64| {
            let (column, row) = grid.column_row(easting_m, northing_m);
            (-0.5..grid.columns as f64 - 0.5).contains(&column) && (-0.5..grid.rows as f64 - 0.5).contains(&row)
        };
        let mut warnings = Vec::new();
        if !covers(easting_m) {
            // Maps that run on past their own seam have the place a turn away.
            let turned = turns_m(crs, anchor.lon_deg, anchor.lat_deg);
            easting_m =
                turned.into_iter().map(|turn_m| easting_m + turn_m).find(|east| covers(*east)).unwrap_or(easting_m);
        }
        if !covers(easting_m) {
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

/// A turn of longitude to the east and to the west, metres, on a map that goes
/// on past its seam; none on others.
fn turns_m(crs: &Crs, lon_deg: f64, lat_deg: f64) -> Vec<f64> {
    let (Ok(here), Ok(beside)) = (crs.from_lon_lat(lon_deg, lat_deg), crs.from_lon_lat(lon_deg + 0.5, lat_deg)) else {
        return vec![];
    };
    let turn_m = 720.0 * (beside.0 - here.0);
    let is_same_place = |easting_m: f64| {
        let off_deg = |lon: f64| (lon - lon_deg + 540.0).rem_euclid(360.0) - 180.0;
        crs.lon_lat(easting_m, here.1).is_ok_and(|(lon, lat)| off_deg(lon).abs() < 1e-9 && (lat - lat_deg).abs() < 1e-9)
    };
    [turn_m, -turn_m].into_iter().filter(|turn_m| turn_m.is_finite() && is_same_place(here.0 + turn_m)).collect()
}

/// Heights are kept to a fifth of a millimetre, to a tenth of the source's own
/// step, and to a five-thousandth of the posting, whichever is the smallest,
/// unless the twin says otherwise: a picture agrees with a query within a
/// millimetre also where it looks along the ground.
///
/// A site that reaches far over the body's curve has heights that take larger
/// steps: `highest_m` is the farthest from the reference that they go.
fn bake_options(
    dems: &[DemSource],
    frame: &SiteFrame,
    settings: &BakeSettings,
    posting_m: f64,
    highest_m: f64,
) -> BakeOptions {
    // A height is a whole number of steps, of 31 bits and a sign; half of that is left to spare.
    let least_m = highest_m / f64::from(1 << 30);
    let quanta = dems.iter().filter_map(|source| source.file.height_quantum_m).map(|quantum_m| 0.1 * quantum_m);
    let error_m = quanta.chain([posting_m / 5000.0]).filter(|error_m| *error_m > 0.0).fold(2e-4, f64::min).max(least_m);
    let heights = match settings {
        BakeSettings { lossless: true, .. } => HeightCode::Float,
        BakeSettings { height_error_m: Some(asked_m), .. } => HeightCode::within(asked_m.max(least_m)),
        _ => HeightCode::within(error_m),
    };
    if dems.is_empty() {
        return BakeOptions { heights, reference_m: 0.0 };
    }
    let middle =
        dems.iter().find_map(|source| source.file.sample_range_m).map_or(0.0, |(low, high)| 0.5 * (low + high));
    BakeOptions { heights, reference_m: (middle - frame.origin_height_m).round() }
}

/// The farthest that ground may lie from the tangent plane, metres: relief, and
/// the drop at the farthest corner.
fn highest_m(spec: &SurfaceSpec) -> f64 {
    const RELIEF_M: f64 = 30_000.0;
    let corners = spec.dems.iter().map(DemGrid::rect).flat_map(|rect| {
        let [x, z] = [rect.x_m, rect.z_m].map(|side| side[0].abs().max(side[1].abs()));
        spec.curvature_radius_m.map(|radius_m| terrane_surface::curvature_drop_m(radius_m, x, z))
    });
    corners.fold(0.0, f64::max) + RELIEF_M
}

fn surface_key(crs: &Crs, dems: &[DemSource], frame: &SiteFrame, spec: &SurfaceSpec, bake: &BakeOptions) -> ContentKey {
    let frame = [frame.origin_easting_m, frame.origin_northing_m, frame.origin_height_m];
    let rules = [spec.curvature_radius_m.unwrap_or(0.0), spec.blend_postings, bake.heights.error_m(), bake.reference_m];
    let key = KeyBuilder::new("surface", terrane_tiles::RULE_VERSION)
        .bytes("crs", crs.wkt().as_bytes())
        .numbers("frame", &frame)
        .numbers("rules", &rules);
    let level_base = dems.is_empty().then(|| spec.dems.first()).flatten();
    let key = level_base.into_iter().fold(key, |key, base| {
        let height_m = base.posts.at(0, 0).unwrap_or_default();
        key.numbers(
            "level base",
            &[base.x0_m, base.z0_m, base.posting_m, base.columns as f64, base.rows as f64, height_m],
        )
    });
    let add = |key: KeyBuilder, (source, dem): (&DemSource, &DemGrid)| {
        let PostGrid { easting_m, northing_m, posting_m, columns, rows } = source.grid;
        key.bytes("prim", source.prim.as_bytes())
            .key("dem", &source.file.key)
            .numbers("grid", &[easting_m, northing_m, posting_m, columns as f64, rows as f64, dem.shift_m])
    };
    dems.iter().zip(&spec.dems).fold(key, add).finish()
}

/// The key of a base under modifiers; without any, the base's own.
pub(crate) fn shaped_key(base: &ContentKey, surface: &Surface) -> ContentKey {
    let modifiers = surface.modifiers();
    if modifiers.is_empty() {
        return *base;
    }
    let key = KeyBuilder::new("shaped surface", terrane_tiles::RULE_VERSION).key("base", base);
    modifiers.iter().fold(key, |key, modifier| key.key("modifier", modifier.key())).finish()
}
