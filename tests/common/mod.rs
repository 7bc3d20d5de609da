//! What the whole-system tests share: rasters made from functions, stages made
//! from a few words, pictures taken of them.
// Each test binary uses a part of it; helpers outside #[test] may fail a test.
#![allow(dead_code, clippy::unwrap_used, clippy::expect_used, clippy::panic)]

pub mod ground;
pub mod stats;

use glam::{DQuat, DVec3};
use std::fmt::Write;
use std::path::{Path, PathBuf};
use terrane_core::camera::{ApertureFit, Intrinsics, Lens, Projection};
use terrane_core::{Pose, Quiet, RasterSettings};
use terrane_feed::CameraDescription;
use terrane_geo::{Crs, GeotiffValues, PostGrid, write_geotiff};
use terrane_render::Frame;
use terrane_site::render::{RenderOptions, Studio};
use terrane_site::{OpenSite, ReaderMode, SiteOptions};

/// Equirectangular map of the Moon; its origin is at 0 E, 0 N.
pub const MOON: &str = "IAU_2015:30110";
/// Radius of the Moon's sphere there, metres.
pub const MOON_RADIUS_M: f64 = 1_737_400.0;

/// Lux of the sun that tests shine with.
pub const SUN_LUX: f64 = 100_000.0;

/// Heights on a grid, to be written as a GeoTIFF.
#[derive(Clone)]
pub struct Raster {
    pub crs: Crs,
    pub grid: PostGrid,
    pub heights_m: Vec<f32>,
}

impl Raster {
    /// `posts` x `posts` around a place of a map, from a function of the metres
    /// east (x) and south (z) of that place, as the site frame has them.
    pub fn new(
        crs: &str,
        centre_m: (f64, f64),
        posts: usize,
        posting_m: f64,
        height: impl Fn(f64, f64) -> f64,
    ) -> Self {
        let half_m = 0.5 * (posts - 1) as f64 * posting_m;
        let grid = PostGrid {
            easting_m: centre_m.0 - half_m,
            northing_m: centre_m.1 + half_m,
            posting_m,
            columns: posts,
            rows: posts,
        };
        let place = |k: usize| k as f64 * posting_m - half_m;
        let heights_m = (0..posts * posts).map(|k| height(place(k % posts), place(k / posts)) as f32).collect();
        Self { crs: Crs::parse(crs).unwrap(), grid, heights_m }
    }

    /// The posts of a file, as a site reads them.
    pub fn read(file: &Path) -> Self {
        let options = terrane_geo::OpenOptions::default();
        let dem = terrane_geo::DemFile::open(&file.into(), &RasterSettings::default(), &options, &Quiet).unwrap();
        let (crs, grid) = dem.natural_frame().unwrap();
        let mut heights_m = vec![0.0; grid.columns * grid.rows];
        let window = terrane_core::PostWindow { column: 0, row: 0, columns: grid.columns, rows: grid.rows };
        dem.posts(&crs, grid).unwrap().read(window, &mut heights_m).unwrap();
        Self { crs, grid, heights_m }
    }

    /// On the Moon's equator at longitude 0.
    pub fn moon(posts: usize, posting_m: f64, height: impl Fn(f64, f64) -> f64) -> Self {
        Self::new(MOON, (0.0, 0.0), posts, posting_m, height)
    }

    /// Site x and z of the first post, with the site's origin in the middle.
    pub fn corner_m(&self) -> f64 {
        -0.5 * (self.grid.columns - 1) as f64 * self.grid.posting_m
    }

    /// The post nearest to a site place.
    pub fn post_at(&mut self, x_m: f64, z_m: f64) -> &mut f32 {
        let index = |place_m: f64| ((place_m - self.corner_m()) / self.grid.posting_m).round() as usize;
        let k = index(z_m) * self.grid.columns + index(x_m);
        &mut self.heights_m[k]
    }

    pub fn write(&self, path: &Path, point: bool) {
        write_geotiff(path, &self.crs, &self.grid, GeotiffValues::Float(&self.heights_m), point).unwrap();
    }
}

/// A stage in a folder of its own.
pub struct Scene {
    folder: tempfile::TempDir,
    layers: String,
    inputs: String,
    lights: String,
    cameras: String,
}

impl Scene {
    pub fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        Self { folder, layers: String::new(), inputs: String::new(), lights: String::new(), cameras: String::new() }
    }

    /// A stage over one raster, written pixel-is-point.
    pub fn over(raster: &Raster) -> Self {
        let scene = Self::new();
        let file = scene.path("dem.tif");
        raster.write(&file, true);
        scene.dem(&file)
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub fn dem(mut self, file: &Path) -> Self {
        let count = self.layers.matches("def Scope").count();
        let source = format!("uniform token lunco:layer = \"dem\"\nasset lunco:layer:demSource = @{}@", file.display());
        writeln!(self.layers, "def Scope \"Dem{count}\"\n{{\n{source}\n}}").unwrap();
        self
    }

    /// Any other layer of the terrain, its attributes typed as USD has them.
    pub fn layer(mut self, name: &str, kind: &str, attributes: &str) -> Self {
        writeln!(self.layers, "def Scope \"{name}\"\n{{\nuniform token lunco:layer = \"{kind}\"\n{attributes}\n}}")
            .unwrap();
        self
    }

    /// An input of the look, typed as USD has it: `float weight_albedo = 0`.
    pub fn input(mut self, declaration: &str) -> Self {
        let (kind, rest) = declaration.split_once(' ').unwrap();
        writeln!(self.inputs, "{kind} inputs:{rest}").unwrap();
        self
    }

    pub fn albedo(self, file: &Path) -> Self {
        self.input(&format!("asset albedo_map = @{}@", file.display()))
    }

    /// A grey ground without anything procedural on it.
    pub fn plain(self, albedo: f64) -> Self {
        let grey = format!("color3f base_albedo = ({albedo}, {albedo}, {albedo})");
        self.input(&grey).input("float detail_strength = 0").input("float mottle = 0")
    }

    /// A sun of [`SUN_LUX`], aimed as the library's stages say.
    pub fn sun(mut self, azimuth_deg: f64, elevation_deg: f64, disc_deg: f64) -> Self {
        let turn = format!("({}, {}, 0)", -elevation_deg, 180.0 - azimuth_deg);
        write!(
            self.lights,
            "def DistantLight \"Sun\"\n{{\nfloat inputs:intensity = {SUN_LUX}\nfloat inputs:angle = {disc_deg}\n\
             double3 xformOp:rotateXYZ = {turn}\nuniform token[] xformOpOrder = [\"xformOp:rotateXYZ\"]\n}}\n"
        )
        .unwrap();
        self
    }

    /// A camera at `/World/Cameras/<name>`.
    pub fn camera(mut self, name: &str, pose: &Pose, lens: &Lens) -> Self {
        let row = |v: DVec3, w: u8| format!("({:?}, {:?}, {:?}, {w})", v.x, v.y, v.z);
        let axes = [DVec3::X, DVec3::Y, DVec3::Z].map(|axis| row(pose.rotation * axis, 0));
        let rows = format!("({}, {}, {}, {})", axes[0], axes[1], axes[2], row(pose.position_m, 1));
        let ops =
            format!("matrix4d xformOp:transform = {rows}\nuniform token[] xformOpOrder = [\"xformOp:transform\"]");
        self.cameras += &camera_text(name, &ops, lens);
        self
    }

    /// A camera turned by `xformOp:rotateXYZ` alone, as a person writes it.
    pub fn turned_camera(mut self, name: &str, place: [f64; 3], rotate_deg: [f64; 3], lens: &Lens) -> Self {
        let ops = format!(
            "double3 xformOp:translate = ({}, {}, {})\ndouble3 xformOp:rotateXYZ = ({}, {}, {})\n\
             uniform token[] xformOpOrder = [\"xformOp:translate\", \"xformOp:rotateXYZ\"]",
            place[0], place[1], place[2], rotate_deg[0], rotate_deg[1], rotate_deg[2]
        );
        self.cameras += &camera_text(name, &ops, lens);
        self
    }

    /// Writes the stage and returns its path.
    pub fn stage(&self) -> PathBuf {
        let Self { layers, inputs, lights, cameras, .. } = self;
        let text = format!(
            r#"#usda 1.0
(
    defaultPrim = "World"
    metersPerUnit = 1
    upAxis = "Y"
)
def Xform "World"
{{
def Xform "Terrain" (
    prepend apiSchemas = ["MaterialBindingAPI"]
)
{{
uniform token lunco:assetMode = "layered"
rel material:binding = </World/Looks/Ground>
{layers}}}
def Scope "Looks"
{{
def Material "Ground"
{{
token outputs:surface.connect = </World/Looks/Ground/Shader.outputs:surface>
def Shader "Shader"
{{
uniform token info:implementationSource = "sourceAsset"
uniform asset info:wesl:sourceAsset = @lunco://shaders/terrain_layered.wesl@
{inputs}token outputs:surface
}}
}}
}}
{lights}def Scope "Cameras"
{{
{cameras}}}
}}
"#
        );
        let path = self.path("scene.usda");
        std::fs::write(&path, text).unwrap();
        path
    }

    pub fn open(&self) -> OpenSite {
        let cache = Some(self.path("cache"));
        let options = SiteOptions { cache, reader: ReaderMode::InProcess, ..SiteOptions::default() };
        OpenSite::open(&self.stage(), options, &Quiet).unwrap_or_else(|failure| panic!("{failure}"))
    }

    /// Opens the site and makes it ready to draw, one sample a pixel.
    pub fn booth(&self, width: u32, height: u32) -> Booth {
        self.booth_with(RenderOptions { size: (width, height), samples_per_side: 1, ..RenderOptions::default() })
    }

    pub fn booth_with(&self, options: RenderOptions) -> Booth {
        let site = self.open();
        let studio = site.studio(options, &Quiet).unwrap_or_else(|failure| panic!("{failure}"));
        Booth { site, studio }
    }
}

fn camera_text(name: &str, ops: &str, lens: &Lens) -> String {
    let projection = match lens.projection {
        Projection::Perspective => "perspective",
        Projection::Orthographic => "orthographic",
    };
    format!(
        "def Camera \"{name}\"\n{{\ntoken projection = \"{projection}\"\nfloat focalLength = {}\nfloat horizontalAperture = {}\n\
         float verticalAperture = {}\nfloat horizontalApertureOffset = {}\nfloat verticalApertureOffset = {}\n\
         float2 clippingRange = ({}, {})\nfloat exposure = 0\n{ops}\n}}\n",
        lens.focal_length,
        lens.horizontal_aperture,
        lens.vertical_aperture,
        lens.horizontal_aperture_offset,
        lens.vertical_aperture_offset,
        lens.near_m,
        lens.far_m
    )
}

/// A pinhole of a horizontal field of view, square pixels.
pub fn pinhole(fov_deg: f64) -> Lens {
    let focal_length = 12.0 / (0.5 * fov_deg).to_radians().tan();
    let lens = Lens { focal_length, horizontal_aperture: 24.0, vertical_aperture: 18.0, ..Lens::default() };
    Lens { near_m: 0.05, far_m: 1.0e6, ..lens }
}

/// A parallel projection of a width, metres in a stage of metres.
pub fn parallel(width_m: f64, height_m: f64) -> Lens {
    let (horizontal_aperture, vertical_aperture) = (10.0 * width_m, 10.0 * height_m);
    let projection = Projection::Orthographic;
    Lens { projection, horizontal_aperture, vertical_aperture, near_m: 0.5, far_m: 1.0e5, ..Lens::default() }
}

/// Straight down, north up.
pub fn down_from(x_m: f64, y_m: f64, z_m: f64) -> Pose {
    Pose { position_m: DVec3::new(x_m, y_m, z_m), rotation: DQuat::from_rotation_x(-std::f64::consts::FRAC_PI_2) }
}

/// An open site and what draws it.
pub struct Booth {
    pub site: OpenSite,
    pub studio: Studio,
}

/// A picture, and where it was taken from.
pub struct Shot {
    pub k: Intrinsics,
    /// Site from camera, optical axes.
    pub optical: Pose,
    pub frame: Frame,
}

impl Booth {
    fn spec(&self, camera: &str) -> terrane_stage::spec::CameraSpec {
        self.site.cameras(&[format!("/World/Cameras/{camera}")]).unwrap()[0].clone()
    }

    /// Draws a camera into memory.
    pub fn shoot(&mut self, camera: &str) -> Shot {
        let spec = self.spec(camera);
        let request = self.studio.request(&self.site, &spec).unwrap();
        let frame = self.studio.frame(&request).unwrap();
        Shot { k: request.camera.intrinsics, optical: request.camera.pose.optical_from_usd_camera(), frame }
    }

    /// Draws a camera into files and reads them as a stranger would.
    pub fn publish(&mut self, camera: &str, folder: &Path) -> Published {
        let spec = self.spec(camera);
        self.studio.render_to(&self.site, &spec, folder).unwrap();
        Published::read(folder)
    }
}

impl Shot {
    /// Origin and direction (with planar depth 1) of a pixel's ray, site frame.
    pub fn ray(&self, u: f64, v: f64) -> (DVec3, DVec3) {
        let (origin, direction) = self.k.ray(u, v);
        (self.optical.transform_point(origin), self.optical.rotation * direction)
    }

    /// The ground that a pixel shows, site frame.
    pub fn point(&self, column: u32, row: u32) -> Option<DVec3> {
        let depth_m = f64::from(self.frame.depth_m[(row * self.k.width + column) as usize]);
        let (origin, direction) = self.ray(column.into(), row.into());
        depth_m.is_finite().then(|| origin + direction * depth_m)
    }

    /// Pixel of a site point.
    pub fn pixel(&self, point_m: DVec3) -> Option<glam::DVec2> {
        self.k.project(self.optical.inverse_transform_point(point_m))
    }

    /// The first channel of the radiance, cd/m2.
    pub fn red(&self) -> Vec<f64> {
        self.frame.radiance.iter().map(|rgb| f64::from(rgb[0])).collect()
    }
}

/// The files of one picture.
pub struct Published {
    pub description: CameraDescription,
    pub depth_m: Vec<f32>,
    pub range_m: Vec<f32>,
    pub normal: Vec<[f32; 3]>,
    pub labels: Vec<u16>,
}

impl Published {
    pub fn read(folder: &Path) -> Self {
        let text = std::fs::read_to_string(folder.join("camera.json")).unwrap();
        let normal = [0, 1, 2].map(|channel| exr_channel(&folder.join("normal.exr"), channel));
        Self {
            description: serde_json::from_str(&text).unwrap(),
            depth_m: exr_channel(&folder.join("depth.exr"), 0),
            range_m: exr_channel(&folder.join("range.exr"), 0),
            normal: (0..normal[0].len()).map(|k| [normal[0][k], normal[1][k], normal[2][k]]).collect(),
            labels: image::open(folder.join("labels.png")).unwrap().into_luma16().into_raw(),
        }
    }
}

/// A channel in alphabetical order.
pub fn exr_channel(path: &Path, channel: usize) -> Vec<f32> {
    let image = exr::prelude::read_first_flat_layer_from_file(path).unwrap();
    image.layer_data.channel_data.list[channel].sample_data.values_as_f32().collect()
}

/// Both ways to fill an image with a film back.
pub const FITS: [ApertureFit; 2] = [ApertureFit::Horizontal, ApertureFit::Both];

/// Data that is not part of the repository, or `None` and a printed reason.
pub fn shared(path: &str) -> Option<PathBuf> {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data").join(path);
    let found = file.canonicalize().ok();
    if found.is_none() {
        println!("skipped: {} is not here", file.display());
    }
    found
}
