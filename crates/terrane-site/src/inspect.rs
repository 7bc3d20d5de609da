//! `terrane inspect`: what a stage holds.

use crate::dems::{DemHeights, DemSource};
use crate::ground::Ground;
use crate::raster_layers::{RasterLayerReport, RasterLayerSource};
use crate::{Failure, OpenSite};
use serde::Serialize;
use std::path::PathBuf;
use terrane_core::{Diagnostic, ParamValue, Progress, Severity};
use terrane_look::Param;
use terrane_surface::{Modifier, Shape, SiteRect};

/// What a stage holds.
#[derive(Debug, Clone, Serialize)]
pub struct InspectReport {
    /// The stage.
    pub stage: PathBuf,
    /// Layers that took part.
    pub layers: Vec<String>,
    /// Up axis as authored.
    pub up_axis: String,
    /// Metres per unit as authored.
    pub meters_per_unit: f64,
    /// Prims that count.
    pub prim_count: usize,
    /// The ground, when it could be read.
    pub ground: Option<GroundReport>,
    /// Raster layers over the ground.
    pub layers_over_ground: Vec<RasterLayerReport>,
    /// Looks with a shader source.
    pub looks: Vec<LookReport>,
    /// Cameras.
    pub cameras: Vec<CameraReport>,
    /// Lights.
    pub lights: Vec<LightReport>,
    /// Everything that there is to say, errors included.
    pub diagnostics: Vec<Diagnostic>,
}

/// The ground of the site.
#[derive(Debug, Clone, Serialize)]
pub struct GroundReport {
    /// Prim path of the terrain.
    pub terrain: String,
    /// Body and its radius at the origin, metres.
    pub body: String,
    /// Radius of curvature in force, metres.
    pub curvature_radius_m: Option<f64>,
    /// Largest drop below the tangent plane at a DEM's corner, metres.
    pub largest_curvature_drop_m: f64,
    /// Name of the map frame's CRS.
    pub crs: String,
    /// Its authority code, when declared.
    pub crs_authority: Option<String>,
    /// Site origin: longitude and latitude, degrees.
    pub origin_lon_lat_deg: (f64, f64),
    /// Site origin: easting, northing, height above the datum, metres.
    pub origin_map_m: (f64, f64, f64),
    /// DEMs, finest first.
    pub dems: Vec<DemReport>,
    /// The level base of a terrain without a DEM.
    pub level_base: Option<LevelBaseReport>,
    /// What shapes the ground beyond them, in the order in which it is folded.
    pub modifiers: Vec<ModifierReport>,
    /// Distance between the finest posts, metres: what modifiers needed, or the
    /// finest DEM's.
    pub finest_posting_m: f64,
    /// How far they disagree along their borders: finer minus coarser.
    pub disagreements: Vec<terrane_surface::Disagreement>,
    /// Width of the band outside a finer DEM over which a coarser one is bent
    /// to meet it, in the coarser one's postings.
    pub blend_postings: f64,
}

/// A base that nobody has measured.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct LevelBaseReport {
    /// Columns and rows.
    pub posts: (usize, usize),
    /// Distance between posts, metres.
    pub posting_m: f64,
    /// Its place.
    pub extent: SiteRect,
    /// Height above the datum, metres.
    pub height_m: f64,
}

/// A layer that shapes the ground.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ModifierReport {
    /// Prim path.
    pub prim: String,
    /// What it does.
    pub shape: Shape,
    /// Where it changes anything.
    pub bounds: SiteRect,
}

/// One DEM.
#[derive(Debug, Clone, Serialize)]
pub struct DemReport {
    /// Prim path of its layer.
    pub prim: String,
    /// The file.
    pub file: PathBuf,
    /// GDAL's driver and pixel type.
    pub format: String,
    /// Columns and rows.
    pub posts: (usize, usize),
    /// Distance between posts, metres.
    pub posting_m: f64,
    /// Site x and z of the first and of the last post, metres.
    pub extent_site_m: [[f64; 2]; 2],
    /// Map easting of west and east, northing of south and north, metres.
    pub extent_map_m: [f64; 4],
    /// Lowest and highest height above the datum, metres.
    pub heights_m: Option<(f64, f64)>,
    /// Share of posts without data; `None` when the DEM is so large that only
    /// a sample was read.
    pub nodata_share: Option<f64>,
    /// Why the posts are not the file's own, when they are not.
    pub why_resampled: Option<String>,
    /// Surface that the heights are above, when it is declared.
    pub vertical_datum: Option<String>,
    /// True when heights were converted from that surface.
    pub vertical_datum_applied: bool,
    /// Body-fixed frame of the coordinates, when it is declared.
    pub body_frame: Option<String>,
    /// Unit of the stored heights, when declared.
    pub unit: String,
    /// Added to every height to meet the finer DEMs, metres.
    pub shift_m: f64,
    /// Declared nodata value.
    pub nodata: Option<f64>,
    /// Scale and offset in force.
    pub scale_offset: (f64, f64),
    /// `AREA_OR_POINT`.
    pub area_or_point: Option<String>,
}

/// One look.
#[derive(Debug, Clone, Serialize)]
pub struct LookReport {
    /// Prim path of the Material.
    pub material: String,
    /// Its shader source.
    pub shader: String,
    /// True when it is the terrain's.
    pub is_bound: bool,
    /// Parameters with their effective value and the attribute it comes from.
    pub params: Vec<ParamReport>,
    /// Maps that the shader binds, and what is authored for them.
    pub maps: Vec<MapReport>,
}

/// One map of a look.
#[derive(Debug, Clone, Serialize)]
pub struct MapReport {
    /// Name, as in `inputs:<name>`.
    pub name: String,
    /// Asset path as authored.
    pub authored: Option<String>,
}

/// One parameter of a look.
#[derive(Debug, Clone, Serialize)]
pub struct ParamReport {
    /// As the shader declares it.
    #[serde(flatten)]
    pub declared: Param,
    /// Authored value.
    pub authored: Option<ParamValue>,
    /// Attribute that authors it.
    pub authored_at: Option<String>,
}

/// One camera.
#[derive(Debug, Clone, Serialize)]
pub struct CameraReport {
    /// Prim path.
    pub prim: String,
    /// Position in the site frame, metres.
    pub position_m: [f64; 3],
    /// Horizontal field of view, degrees (pinhole).
    pub horizontal_fov_deg: Option<f64>,
    /// Height above the ground below it, metres.
    pub above_ground_m: Option<f64>,
}

/// One light.
#[derive(Debug, Clone, Serialize)]
pub struct LightReport {
    /// Prim path.
    pub prim: String,
    /// Kind.
    pub kind: String,
    /// Intensity with exposure.
    pub intensity: f64,
    /// Degrees clockwise from grid north (distant lights).
    pub grid_azimuth_deg: Option<f64>,
    /// Degrees above the horizontal (distant lights).
    pub elevation_deg: Option<f64>,
}

/// Says what a stage holds. Problems with its parts are diagnostics of the
/// report, not failures.
pub fn inspect(site: &OpenSite, progress: &dyn Progress) -> InspectReport {
    let spec = &site.spec;
    let mut diagnostics = spec.diagnostics.clone();
    let mut keep = |failure: Failure| diagnostics.extend(failure.diagnostics);
    let terrain = spec.terrains.iter().find(|terrain| terrain.visible);
    let ground = match site.ground(progress) {
        Ok(ground) => Some(ground),
        Err(failure) => {
            keep(failure);
            None
        }
    };
    let site_from_world =
        terrain.and_then(|terrain| site.site_from_world(terrain).ok()).unwrap_or(terrane_core::Pose::IDENTITY);
    let bound = terrain.and_then(|terrain| terrain.material.as_ref());
    let mut looks = Vec::new();
    for (material, look) in &spec.looks {
        let is_bound = bound == Some(material);
        let (params, textures) = match terrane_look::compile(&look.shader, &site.roots) {
            Ok(program) => {
                keep(Failure { diagnostics: program.check(look, &site.stage.display().to_string()) });
                (program.params, program.textures)
            }
            Err(error) => {
                let mut error = site.at_attribute(*error, &look.shader.path);
                if !is_bound {
                    // Nothing is drawn with it.
                    error.severity = Severity::Warning;
                }
                keep(error.into());
                (vec![], vec![])
            }
        };
        let params = params.into_iter().map(|declared| {
            let input = look.inputs.get(&declared.name);
            ParamReport {
                authored: input.map(|input| input.value.clone()),
                authored_at: input.map(|input| input.path.clone()),
                declared,
            }
        });
        let maps = textures.into_iter().map(|slot| MapReport {
            authored: look.inputs.get(&slot.name).and_then(|input| match &input.value {
                ParamValue::Asset(asset) => Some(asset.authored.clone()),
                _ => None,
            }),
            name: slot.name,
        });
        looks.push(LookReport {
            maps: maps.collect(),
            material: material.clone(),
            shader: look.shader.asset.authored.clone(),
            is_bound,
            params: params.collect(),
        });
    }
    match site.lighting(&site_from_world) {
        Ok((_, warnings)) => keep(Failure { diagnostics: warnings }),
        Err(failure) => keep(failure),
    }
    let cameras = spec.cameras.iter().map(|camera| {
        let position_m = site_from_world.transform_point(camera.pose.position_m);
        let lens = &camera.lens;
        let pinhole = lens.projection == terrane_core::camera::Projection::Perspective;
        let below = ground.as_ref().and_then(|ground| ground.surface.ground_at(position_m.x, position_m.z));
        CameraReport {
            prim: camera.prim.clone(),
            position_m: position_m.to_array(),
            horizontal_fov_deg: pinhole
                .then(|| 2.0 * (0.5 * lens.horizontal_aperture / lens.focal_length).atan().to_degrees()),
            above_ground_m: below.map(|below| position_m.y - below.height_m),
        }
    });
    let lights = spec.lights.iter().map(|light| {
        let to_light = site_from_world.rotation * (light.pose.rotation * glam::DVec3::Z);
        let is_distant = light.kind == terrane_stage::spec::LightKind::Distant;
        LightReport {
            prim: light.prim.clone(),
            kind: format!("{:?}", light.kind).to_lowercase(),
            intensity: light.intensity,
            grid_azimuth_deg: is_distant.then(|| to_light.x.atan2(-to_light.z).to_degrees().rem_euclid(360.0)),
            elevation_deg: is_distant.then(|| to_light.y.clamp(-1.0, 1.0).asin().to_degrees()),
        }
    });
    let (cameras, lights) = (cameras.collect(), lights.collect());
    let (mut report, mut layers_over_ground) = (None, Vec::new());
    if let (Some(ground), Some(terrain)) = (&ground, terrain) {
        diagnostics.extend(ground.diagnostics.iter().cloned());
        match site.raster_layers(ground, progress) {
            Ok(layers) => layers_over_ground = layers.iter().map(RasterLayerSource::report).collect(),
            Err(failure) => diagnostics.extend(failure.diagnostics),
        }
        match ground_report(ground, &terrain.prim, progress).and_then(|report| ground.check_read().map(|()| report)) {
            Ok(found) => report = Some(found),
            Err(failure) => diagnostics.extend(failure.diagnostics),
        }
    }
    diagnostics.dedup();
    InspectReport {
        stage: site.stage.clone(),
        layers: spec.layers.clone(),
        up_axis: spec.up_axis.clone(),
        meters_per_unit: spec.meters_per_unit,
        prim_count: spec.prim_count,
        ground: report,
        layers_over_ground,
        looks,
        cameras,
        lights,
        diagnostics,
    }
}

fn ground_report(ground: &Ground, terrain: &str, progress: &dyn Progress) -> Result<GroundReport, Failure> {
    let spec = ground.surface.spec();
    let corners = spec.dems.iter().flat_map(|dem| {
        [(dem.x0_m, dem.z0_m), (dem.x1_m(), dem.z0_m), (dem.x0_m, dem.z1_m()), (dem.x1_m(), dem.z1_m())]
    });
    let frame = &ground.frame;
    let dems = ground
        .dems
        .iter()
        .zip(&spec.dems)
        .map(|(source, grid)| Ok(dem_report(source, grid, source.heights(&ground.crs, progress)?)));
    Ok(GroundReport {
        terrain: terrain.to_owned(),
        body: ground.crs.body.name.clone(),
        curvature_radius_m: spec.curvature_radius_m,
        largest_curvature_drop_m: corners.map(|(x, z)| ground.surface.curvature_drop_m(x, z)).fold(0.0, f64::max),
        crs: ground.crs.name.clone(),
        crs_authority: ground.crs.authority.clone(),
        origin_lon_lat_deg: ground.origin_lon_lat_deg,
        origin_map_m: (frame.origin_easting_m, frame.origin_northing_m, frame.origin_height_m),
        dems: dems.collect::<Result<_, Failure>>()?,
        level_base: ground.dems.is_empty().then(|| spec.dems.first()).flatten().map(|base| LevelBaseReport {
            posts: (base.columns, base.rows),
            posting_m: base.posting_m,
            extent: base.rect(),
            height_m: base.posts.at(0, 0).unwrap_or_default(),
        }),
        modifiers: ground.surface.modifiers().iter().map(|modifier| modifier_report(modifier)).collect(),
        finest_posting_m: ground.surface.lattice().posting_m,
        disagreements: ground.disagreements.clone(),
        blend_postings: spec.blend_postings,
    })
}

fn modifier_report(modifier: &Modifier) -> ModifierReport {
    let spec = modifier.spec();
    ModifierReport { prim: spec.name.clone(), shape: spec.shape, bounds: modifier.bounds() }
}

fn dem_report(source: &DemSource, grid: &terrane_surface::DemGrid, heights: DemHeights) -> DemReport {
    let (info, posts) = (&source.file.info, &source.grid);
    let east = posts.easting_m + (posts.columns - 1) as f64 * posts.posting_m;
    let south = posts.northing_m - (posts.rows - 1) as f64 * posts.posting_m;
    DemReport {
        prim: source.prim.clone(),
        file: source.file.name.as_path().to_owned(),
        format: format!("{} {}", info.driver, info.pixel_type),
        posts: (grid.columns, grid.rows),
        posting_m: grid.posting_m,
        extent_site_m: [[grid.x0_m, grid.z0_m], [grid.x1_m(), grid.z1_m()]],
        extent_map_m: [posts.easting_m, east, south, posts.northing_m],
        heights_m: heights.range_m,
        nodata_share: heights.nodata_share,
        why_resampled: source.why_resampled.clone(),
        vertical_datum: info.vertical_datum.clone(),
        vertical_datum_applied: info.vertical_datum_applied,
        body_frame: info.body_frame.clone(),
        unit: info.unit.clone(),
        shift_m: grid.shift_m,
        nodata: info.nodata,
        scale_offset: (info.scale, info.offset),
        area_or_point: info.area_or_point.clone(),
    }
}
