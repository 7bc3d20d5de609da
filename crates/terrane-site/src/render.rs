//! `terrane render`: pictures from the stage's cameras.

use crate::bake::{bake_anew, drawn, ensure_baked};
use crate::ground::Ground;
use crate::{Failure, OpenSite};
use serde::Serialize;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use terrane_core::camera::{ApertureFit, Intrinsics};
use terrane_core::look::Authored;
use terrane_core::{Diagnostic, ParamValue, Place, Pose, Progress, ShaderLook};
use terrane_feed::{
    CameraDescription, ContentKeys, DISTORTION_NONE, DepthConvention, Exposure, ExposureDescription, Images, Label,
    SunDescription, write_images,
};
use terrane_geo::read_image;
use terrane_render::{
    Camera, Frame, FrameRequest, FrameStats, Gpu, GroundRenderer, GroundSource, Lighting, RasterLayer,
};
use terrane_stage::spec::CameraSpec;

/// How pictures are made.
#[derive(Debug, Clone, PartialEq)]
pub struct RenderOptions {
    /// Image size, pixels.
    pub size: (u32, u32),
    /// How the film back fills the image.
    pub fit: ApertureFit,
    /// Largest projected error of the drawn ground, pixels.
    pub pixel_error: f64,
    /// Samples of the colour along each side of a pixel (1, 3, 5...).
    pub samples_per_side: u32,
    /// Values that replace the look's inputs, as `name=value` pairs.
    pub set: Vec<(String, ParamValue)>,
}

impl Default for RenderOptions {
    fn default() -> Self {
        Self { size: (1280, 720), fit: ApertureFit::Horizontal, pixel_error: 1.0, samples_per_side: 3, set: vec![] }
    }
}

/// One written picture.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct RenderReport {
    /// Prim path of the camera.
    pub camera: String,
    /// Files written.
    pub files: Vec<PathBuf>,
    /// Share of pixels that show ground.
    pub ground_share: f64,
    /// Tiles drawn.
    pub drawn_tiles: usize,
    /// Triangles drawn.
    pub triangles: usize,
    /// The pixel error in force.
    pub pixel_error: f64,
}

/// Exposures beyond this are slips of the pen: 2^64 times darker or brighter.
const MAX_STOPS: f64 = 64.0;
/// The ground's label id.
const TERRAIN_LABEL: u16 = 1;
/// Pictures larger than this are averaged down while they are read.
const MAX_LAYER_SIDE: usize = 8192;
/// The role that this version drapes.
const ALBEDO_MAP: &str = "albedo_map";

/// A site ready to be drawn.
#[derive(Debug)]
pub struct Studio {
    gpu: Gpu,
    renderer: GroundRenderer,
    lighting: Lighting,
    site_from_world: Pose,
    keys: ContentKeys,
    terrain: String,
    options: RenderOptions,
    /// What is worth saying.
    pub diagnostics: Vec<Diagnostic>,
}

impl OpenSite {
    /// The cameras to draw: those named, or all of them.
    pub fn cameras(&self, names: &[String]) -> Result<Vec<&CameraSpec>, Failure> {
        Failure::if_any(&self.spec.diagnostics)?;
        let known = || self.spec.cameras.iter().map(|camera| camera.prim.as_str()).collect::<Vec<_>>().join("\n");
        if self.spec.cameras.is_empty() {
            return Err(self.error("stage-no-camera", "stage has no camera", String::new()).into());
        }
        if names.is_empty() {
            return Ok(self.spec.cameras.iter().collect());
        }
        let find = |name: &String| {
            self.spec.cameras.iter().find(|camera| camera.prim == *name).ok_or_else(|| {
                let detail = format!("`{name}` is no camera; the stage has\n{}", known());
                Failure::from(self.error("camera-unknown", "camera not found", detail))
            })
        };
        names.iter().map(find).collect()
    }

    /// The look of the terrain, with replaced inputs.
    fn look(&self, set: &[(String, ParamValue)]) -> Result<ShaderLook, Failure> {
        let terrain = self.terrain()?;
        let look = terrain.material.as_ref().and_then(|material| self.spec.looks.get(material));
        let mut look = look.cloned().ok_or_else(|| {
            let found = match &terrain.material {
                Some(material) => format!("its material {material} names no shader source that terrane reads"),
                None => "no material is bound to it".to_owned(),
            };
            let mut error = self.error("terrain-no-look", "terrain has no look", found);
            error.place.prim = Some(terrain.prim.clone());
            error.with_help("bind a Material with info:wesl:sourceAsset = @lunco://shaders/terrain_layered.wesl@")
        })?;
        for (name, value) in set {
            look.inputs.insert(name.clone(), Authored { value: value.clone(), path: format!("--set {name}") });
        }
        Ok(look)
    }

    /// Reads the albedo layer that a look names and places it on the ground.
    fn layers(&self, look: &ShaderLook, ground: &Ground, progress: &dyn Progress) -> Result<Layers, Failure> {
        let mut layers = Layers::default();
        let Some(Authored { value: ParamValue::Asset(asset), path }) = look.inputs.get(ALBEDO_MAP) else {
            return Ok(layers);
        };
        let (file, overrides) = self.raster(asset, path)?;
        let image = read_image(&file, &overrides, &ground.crs, MAX_LAYER_SIDE, progress)
            .map_err(|error| self.at_attribute(error.diagnostic(), path))?;
        let finest = &ground.surface.spec().dems[0];
        let (x0_m, z0_m, pixel_m) = match &image.grid {
            Some(grid) => {
                let first = ground.frame.site_from_map(grid.easting_m, grid.northing_m, 0.0);
                (first.x, first.z, grid.posting_m)
            }
            None => planar(finest, image.columns, image.rows)
                .ok_or_else(|| {
                    let detail = format!(
                        "it has no georeferencing, so it would cover the finest DEM edge to edge; but it has {} x {} pixels, the DEM {} x {} posts",
                        image.columns, image.rows, finest.columns, finest.rows
                    );
                    let error = Diagnostic::error("layer-shape", "layer has another shape than the DEM");
                    self.at_attribute(error.with_place(Place::file(file.display().to_string())).with_detail(detail), path)
                })?,
        };
        let right_m = x0_m + image.columns as f64 * pixel_m;
        let bottom_m = z0_m + image.rows as f64 * pixel_m;
        let widest = ground.surface.spec().dems.iter();
        if !widest
            .clone()
            .any(|dem| x0_m < dem.x1_m() && right_m > dem.x0_m && z0_m < dem.z1_m() && bottom_m > dem.z0_m)
        {
            let detail = format!(
                "in site metres (x, z) the layer covers {x0_m:.1} to {right_m:.1}, {z0_m:.1} to {bottom_m:.1}; the finest DEM covers {:.1} to {:.1}, {:.1} to {:.1}",
                finest.x0_m,
                finest.x1_m(),
                finest.z0_m,
                finest.z1_m()
            );
            let error = Diagnostic::error("layer-elsewhere", "layer does not overlap the DEM");
            let error = error.with_place(Place::file(file.display().to_string())).with_detail(detail);
            return Err(self.at_attribute(error, path).into());
        }
        let (columns, rows) = (image.columns as u32, image.rows as u32);
        layers.keys.insert(ALBEDO_MAP.to_owned(), image.key.to_string());
        layers
            .rasters
            .insert(ALBEDO_MAP.to_owned(), RasterLayer { x0_m, z0_m, pixel_m, columns, rows, rgba: image.rgba });
        Ok(layers)
    }

    /// Bakes if needed, compiles the material and opens the GPU.
    pub fn studio(&self, options: RenderOptions, progress: &dyn Progress) -> Result<Studio, Failure> {
        let terrain = self.terrain()?;
        let look = self.look(&options.set)?;
        let program = terrane_look::compile(&look.shader, &self.roots)
            .map_err(|error| self.at_attribute(*error, &look.shader.path))?;
        let wrong = program.check(&look, &self.stage.display().to_string());
        Failure::if_any(&wrong)?;
        let site_from_world = self.site_from_world(terrain)?;
        let (lighting, mut diagnostics) = self.lighting(&site_from_world)?;
        diagnostics.extend(look_notes(&look, &self.stage));
        let ground = self.ground(progress)?;
        diagnostics.extend(ground.diagnostics.iter().cloned());
        let layers = self.layers(&look, &ground, progress)?;
        let archive = drawn(self, &ground, progress)?;

        let keys = ContentKeys {
            ground: archive.key.to_string(),
            shader: program.key.to_string(),
            look: look.sharing_key().to_string(),
            layers: layers.keys,
        };
        let gpu = Gpu::new()?;
        let source = GroundSource { archive, program, look, layers: layers.rasters, label: TERRAIN_LABEL.into() };
        let renderer = GroundRenderer::new(&gpu, source)?;
        let terrain = terrain.prim.clone();
        Ok(Studio { gpu, renderer, lighting, site_from_world, keys, terrain, options, diagnostics })
    }
}

#[derive(Debug, Default)]
struct Layers {
    rasters: BTreeMap<String, RasterLayer>,
    keys: BTreeMap<String, String>,
}

/// A picture without georeferencing covers the finest DEM's pixels edge to
/// edge (planar UV), if its pixels are then square.
fn planar(dem: &terrane_surface::DemGrid, columns: usize, rows: usize) -> Option<(f64, f64, f64)> {
    let (width_m, height_m) = (dem.columns as f64 * dem.posting_m, dem.rows as f64 * dem.posting_m);
    let pixel_m = width_m / columns as f64;
    let corner = |first_m: f64| first_m - 0.5 * dem.posting_m + 0.5 * pixel_m;
    let fits = (height_m / rows as f64 - pixel_m).abs() * rows as f64 <= pixel_m;
    fits.then(|| (corner(dem.x0_m), corner(dem.z0_m), pixel_m))
}

/// Parts of a look that are read but not used yet.
fn look_notes(look: &ShaderLook, stage: &Path) -> Vec<Diagnostic> {
    let note = |path: &str, title: &str, detail: &str| {
        let place = Place { file: Some(stage.display().to_string()), prim: Some(path.to_owned()), ..Place::default() };
        Diagnostic::note("look-partly-used", title).with_place(place).with_detail(detail)
    };
    let vertex = look.vertex_shader.iter().map(|source| {
        note(
            &source.path,
            "vertex stage not used yet",
            "the ground is drawn by the static path: same appearance, no geomorph",
        )
    });
    let interface = look.interface.iter().map(|interface| {
        note(&interface.path, "interface not used yet", "nothing is drawn beyond the edge of the data")
    });
    vertex.chain(interface).collect()
}

impl Studio {
    /// The GPU's name.
    pub fn gpu_name(&self) -> &str {
        self.gpu.name()
    }

    /// The request that draws a camera.
    pub fn request(&self, site: &OpenSite, camera: &CameraSpec) -> Result<FrameRequest, Failure> {
        let (width, height) = self.options.size;
        let intrinsics = camera.lens.intrinsics(width, height, self.options.fit).map_err(|error| {
            let mut diagnostic = site.error("camera-lens", "camera makes no image", error.to_string());
            diagnostic.place.prim = Some(camera.prim.clone());
            diagnostic
        })?;
        if let Some(stops) = camera.exposure_stops.filter(|stops| stops.abs() > MAX_STOPS) {
            let detail = format!("{stops} stops; they go from -{MAX_STOPS} to {MAX_STOPS}");
            let mut error = site.error("camera-exposure", "camera's exposure is out of range", detail);
            error.place.prim = Some(camera.prim.clone());
            return Err(error.into());
        }
        let pose = Pose {
            position_m: self.site_from_world.transform_point(camera.pose.position_m),
            rotation: (self.site_from_world.rotation * camera.pose.rotation).normalize(),
        };
        Ok(FrameRequest {
            camera: Camera { pose, intrinsics, near_m: camera.lens.near_m, far_m: camera.lens.far_m },
            lighting: self.lighting,
            pixel_error: self.options.pixel_error,
            samples_per_side: self.options.samples_per_side,
        })
    }

    /// Draws a camera.
    pub fn frame(&mut self, request: &FrameRequest) -> Result<Frame, Failure> {
        Ok(self.renderer.render(&self.gpu, request)?)
    }

    /// Draws a camera without reading back, for timing.
    pub fn draw_only(&mut self, request: &FrameRequest) -> Result<FrameStats, Failure> {
        Ok(self.renderer.draw_only(&self.gpu, request)?)
    }

    /// Draws a camera and writes its files into a folder.
    pub fn render_to(&mut self, site: &OpenSite, camera: &CameraSpec, folder: &Path) -> Result<RenderReport, Failure> {
        let request = self.request(site, camera)?;
        let frame = self.frame(&request)?;
        let exposure = match camera.exposure_stops {
            Some(stops) => Exposure::authored(stops),
            None => Exposure::automatic(&frame.radiance, |pixel| frame.depth_m[pixel].is_finite()),
        };
        let description = self.description(site, camera, &request, &exposure);
        let images =
            Images { radiance: &frame.radiance, depth_m: &frame.depth_m, normal: &frame.normal, labels: &frame.labels };
        let labels = [
            Label { id: 0, class: "background".into(), prim: None },
            Label { id: TERRAIN_LABEL, class: "terrain".into(), prim: Some(self.terrain.clone()) },
        ];
        let files = write_images(folder, &images, &description, &exposure, &labels)?;
        let hits = frame.labels.iter().filter(|label| **label != terrane_render::NO_HIT_LABEL).count();
        Ok(RenderReport {
            camera: camera.prim.clone(),
            files,
            ground_share: hits as f64 / frame.labels.len().max(1) as f64,
            drawn_tiles: frame.stats.drawn_tiles,
            triangles: frame.stats.triangles,
            pixel_error: frame.stats.pixel_error,
        })
    }

    fn description(
        &self,
        site: &OpenSite,
        camera: &CameraSpec,
        request: &FrameRequest,
        exposure: &Exposure,
    ) -> CameraDescription {
        let Intrinsics { width, height, projection, .. } = request.camera.intrinsics;
        let light = &request.lighting;
        let is_lit = light.sun_illuminance_lux.iter().any(|lux| *lux > 0.0);
        CameraDescription {
            version: 1,
            camera: camera.prim.clone(),
            width,
            height,
            projection,
            k: request.camera.intrinsics.k(),
            distortion_model: DISTORTION_NONE.0.into(),
            distortion_coefficients: DISTORTION_NONE.1.into(),
            pose_usd: request.camera.pose.into(),
            pose_optical: request.camera.pose.optical_from_usd_camera().into(),
            near_m: request.camera.near_m,
            far_m: request.camera.far_m,
            time_jd: site.spec.epoch_jd,
            sun: is_lit.then(|| SunDescription {
                direction: light.to_sun.to_array(),
                grid_azimuth_deg: light.to_sun.x.atan2(-light.to_sun.z).to_degrees().rem_euclid(360.0),
                elevation_deg: light.to_sun.y.clamp(-1.0, 1.0).asin().to_degrees(),
                angular_diameter_deg: 2.0 * light.sun_radius_rad.to_degrees(),
                illuminance_lux: light.sun_illuminance_lux,
            }),
            exposure: ExposureDescription {
                linear_per_cd_m2: exposure.linear_per_cd_m2,
                stops: exposure.linear_per_cd_m2.log2(),
                source: if exposure.is_authored { "authored" } else { "automatic" }.into(),
                tone_curve: "clipped to 0..1, then the sRGB transfer function".into(),
            },
            depth: DepthConvention::default(),
            keys: self.keys.clone(),
        }
    }
}

/// Draws cameras into a folder: straight into it when one is named, else one
/// folder below it for each.
pub fn render(
    site: &OpenSite,
    cameras: &[String],
    folder: &Path,
    options: RenderOptions,
    progress: &dyn Progress,
) -> Result<(Vec<RenderReport>, Vec<Diagnostic>), Failure> {
    match draw(site, cameras, folder, &options, progress) {
        // A block that is damaged is found when it is read.
        Err(failure) if failure.is_damaged_archive() => {
            let ground = site.ground(progress)?;
            let (archive, _) = ensure_baked(site, &ground, progress)?;
            bake_anew(&ground, &archive, progress)?;
            draw(site, cameras, folder, &options, progress)
        }
        result => result,
    }
}

fn draw(
    site: &OpenSite,
    cameras: &[String],
    folder: &Path,
    options: &RenderOptions,
    progress: &dyn Progress,
) -> Result<(Vec<RenderReport>, Vec<Diagnostic>), Failure> {
    let specs = site.cameras(cameras)?;
    let mut studio = site.studio(options.clone(), progress)?;
    // A camera that makes no image is found before any picture is written.
    for camera in &specs {
        studio.request(site, camera)?;
    }
    progress.begin("cameras", specs.len() as u64);
    let mut reports = Vec::new();
    for camera in specs {
        progress.check()?;
        let target = if cameras.len() == 1 { folder.to_owned() } else { folder.join(folder_name(&camera.prim)) };
        reports.push(studio.render_to(site, camera, &target)?);
        progress.advance(1);
    }
    Ok((reports, studio.diagnostics))
}

/// `/World/Cameras/Nav` to `World.Cameras.Nav`: no two prims share one, since
/// a prim's name holds no dot.
fn folder_name(prim: &str) -> String {
    prim.trim_start_matches('/').replace('/', ".")
}
