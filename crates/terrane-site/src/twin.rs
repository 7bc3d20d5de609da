//! `terrane twin new`: a folder for a new site.

use crate::{Failure, OpenSite, SiteOptions};
use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::{Path, PathBuf};
use terrane_assets::{MANIFEST_NAME, TwinManifest};
use terrane_core::{Diagnostic, Place, Progress, RasterSettings};
use terrane_geo::{DemFile, OpenOptions, RasterName, raster_info};

/// What a new twin is made from.
#[derive(Debug, Clone, PartialEq)]
pub struct NewTwin {
    /// Folder to make; its last part names the twin.
    pub folder: PathBuf,
    /// DEMs of the site, in any order.
    pub dems: Vec<PathBuf>,
    /// A picture to drape.
    pub albedo: Option<PathBuf>,
    /// What the first DEM's file leaves out.
    pub settings: RasterSettings,
    /// Copy data into the twin instead of naming it where it is.
    pub copy: bool,
}

/// What was made.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct NewTwinReport {
    /// The twin's folder.
    pub folder: PathBuf,
    /// Its stage.
    pub stage: PathBuf,
    /// Cameras in it.
    pub cameras: Vec<String>,
}

/// Makes a twin: `twin.toml`, a stage with the DEMs, a look, a sun and four
/// cameras that fit the ground. The folder appears whole or not at all.
pub fn new_twin(new: &NewTwin, progress: &dyn Progress) -> Result<NewTwinReport, Failure> {
    let name = new.folder.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let at = |path: &Path| Place::file(path.display().to_string());
    if !is_identifier(&name) {
        return Err(Diagnostic::error("twin-name", "twin's name can't be used")
            .with_detail(format!("`{name}`: use letters, digits and underscores, and begin with a letter"))
            .into());
    }
    if new.folder.exists() {
        return Err(Diagnostic::error("twin-exists", "twin exists already").with_place(at(&new.folder)).into());
    }
    let failed = |path: &Path, error: std::io::Error| Failure::unwritten(path, &error);
    let parent = match new.folder.parent() {
        Some(parent) if parent != Path::new("") => parent.to_owned(),
        _ => PathBuf::from("."),
    };
    // Look at every raster before anything is written.
    let overrides = |index: usize| if index == 0 { new.settings.clone() } else { RasterSettings::default() };
    for (index, dem) in new.dems.iter().enumerate() {
        let options = OpenOptions { key_memory: None, allowed: Some(&|_| true) };
        DemFile::open(&RasterName::from(dem.as_path()), &overrides(index), &options, progress)?.natural_frame()?;
    }
    if let Some(albedo) = &new.albedo {
        raster_info(albedo, &RasterSettings::default())?;
    }
    std::fs::create_dir_all(&parent).map_err(|error| failed(&parent, error))?;
    let aside =
        tempfile::Builder::new().prefix(".partial-").tempdir_in(&parent).map_err(|error| failed(&parent, error))?;
    let root = aside.path().join(&name);
    std::fs::create_dir_all(root.join("data")).map_err(|error| failed(&root, error))?;

    let mut manifest = TwinManifest { name: name.clone(), stage: format!("{name}.usda"), ..TwinManifest::default() };
    let mut taken = Vec::new();
    let mut addresses = Vec::new();
    for (index, dem) in new.dems.iter().enumerate() {
        let address = address_for(dem, &mut taken);
        bring(dem, &address, &root, new.copy, &mut manifest.data)?;
        if index == 0 && new.settings != RasterSettings::default() {
            manifest.rasters.insert(address.clone(), new.settings.clone());
        }
        addresses.push(address);
    }
    let albedo = match &new.albedo {
        Some(albedo) => {
            let address = address_for(albedo, &mut taken);
            bring(albedo, &address, &root, new.copy, &mut manifest.data)?;
            Some(address)
        }
        None => None,
    };
    let text = toml::to_string_pretty(&manifest).map_err(|error| {
        Diagnostic::error("twin-manifest", "manifest can't be written").with_detail(error.to_string())
    })?;
    write(&root.join(MANIFEST_NAME), &text)?;
    write(&root.join(".gitignore"), ".terrane/\n")?;

    // A first stage without cameras places the ground; the second knows where
    // to put them.
    let stage = root.join(&manifest.stage);
    write(&stage, &stage_text(&addresses, albedo.as_deref(), None))?;
    let site = OpenSite::open(&stage, SiteOptions::default(), progress)?;
    let view = Viewpoints::over(&site, progress)?;
    write(&stage, &stage_text(&addresses, albedo.as_deref(), Some(&view)))?;
    std::fs::rename(&root, &new.folder).map_err(|error| failed(&new.folder, error))?;
    Ok(NewTwinReport {
        stage: new.folder.join(&manifest.stage),
        folder: new.folder.clone(),
        cameras: ["Nav", "Mast", "Overview", "Plan"].map(|camera| format!("/World/Cameras/{camera}")).into(),
    })
}

fn is_identifier(name: &str) -> bool {
    name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}

fn address_for(file: &Path, taken: &mut Vec<String>) -> String {
    // Only what is plain in USD, TOML and every file system.
    let plain = |c: char| if c.is_ascii_alphanumeric() || "._-".contains(c) { c } else { '_' };
    let name: String =
        file.file_name().map(|name| name.to_string_lossy().chars().map(plain).collect()).unwrap_or_default();
    let mut address = format!("data/{name}");
    let mut count = 1;
    while taken.contains(&address) {
        count += 1;
        address = format!("data/{count}_{name}");
    }
    taken.push(address.clone());
    address
}

/// Copies a file in, or names it where it is.
fn bring(
    file: &Path,
    address: &str,
    root: &Path,
    copy: bool,
    data: &mut BTreeMap<String, String>,
) -> Result<(), Failure> {
    let failed = |error: std::io::Error| {
        let place = Place::file(file.display().to_string());
        Failure::from(
            Diagnostic::error("data-unreadable", "data can't be brought in")
                .with_place(place)
                .with_detail(error.to_string()),
        )
    };
    if file.to_string_lossy().starts_with("/vsi") {
        // One of GDAL's own names stays as it is.
        data.insert(address.to_owned(), file.display().to_string());
    } else if copy {
        std::fs::copy(file, root.join(address)).map_err(failed)?;
    } else {
        let whole = file.canonicalize().map_err(failed)?;
        data.insert(address.to_owned(), whole.display().to_string());
    }
    Ok(())
}

fn write(path: &Path, text: &str) -> Result<(), Failure> {
    std::fs::write(path, text).map_err(|error| Failure::unwritten(path, &error))
}

/// Where cameras stand over a ground, in the site frame.
struct Viewpoints {
    /// Anchor: body, longitude, latitude, height.
    anchor: Option<(i64, f64, f64, f64)>,
    /// Ground height below the nav camera, above the anchor.
    nav: [f64; 3],
    mast: [f64; 3],
    overview: [f64; 3],
    overview_pitch_deg: f64,
    plan_height_m: f64,
    plan_extent_m: f64,
    plan_middle: [f64; 2],
    sun_elevation_deg: f64,
}

/// Eye heights of a standing rover's cameras, metres.
const NAV_HEIGHT_M: f64 = 1.6;
const MAST_HEIGHT_M: f64 = 2.2;
/// How high a new site's sun stands where it can; near a pole it stands lower.
const SUN_ELEVATION_DEG: f64 = 35.0;

impl Viewpoints {
    fn over(site: &OpenSite, progress: &dyn Progress) -> Result<Self, Failure> {
        let ground = site.ground(progress)?;
        let dem = &ground.surface.spec().dems[0];
        let (half_x, half_z) = (0.5 * (dem.x1_m() - dem.x0_m), 0.5 * (dem.z1_m() - dem.z0_m));
        let (mid_x, mid_z) = (dem.x0_m + half_x, dem.z0_m + half_z);
        // The nearest ground to the middle, or to the middle of what is
        // measured, on a spiral of posts.
        let source = &ground.dems[0];
        let measured = source.file.sample_middle_m(&ground.crs, &source.grid).map(|(easting_m, northing_m)| {
            let site = ground.frame.site_from_map(easting_m, northing_m, 0.0);
            (site.x, site.z)
        });
        let stand = [Some((mid_x, mid_z)), measured].into_iter().flatten().flat_map(|(x, z)| {
            (0..20_000).map(move |k| {
                let (radius, angle) = (0.5 * dem.posting_m * f64::from(k).sqrt(), f64::from(k) * 2.399_963);
                (x + radius * angle.cos(), z + radius * angle.sin())
            })
        });
        let stand = stand.filter_map(|(x, z)| Some((x, z, ground.surface.ground_at(x, z)?.height_m))).next();
        let (x, z, y) = stand.ok_or_else(|| {
            Diagnostic::error("twin-no-ground", "no ground near the DEM's middle")
                .with_detail("every post there is a hole")
        })?;
        let datum_m = (y + ground.frame.origin_height_m).round();
        let (lon, lat) = ground.origin_lon_lat_deg;
        let anchor = ground.crs.body.naif_id.map(|body| (body, lon, lat, datum_m));
        // Heights are written relative to the anchor that this stage will have.
        let shift = if anchor.is_some() { datum_m - ground.frame.origin_height_m } else { 0.0 };
        let extent = half_x.max(half_z);
        let highest_m = ground.dems[0].heights(&ground.crs, progress)?.range_m.map_or(datum_m, |(_, high)| high);
        let top = highest_m - ground.frame.origin_height_m - shift;
        let overview_height = (y - shift) + 0.55 * extent;
        Ok(Self {
            anchor,
            nav: [x, y - shift + NAV_HEIGHT_M, z],
            mast: [x, y - shift + MAST_HEIGHT_M, z],
            overview: [mid_x, overview_height.max(top + 0.1 * extent), mid_z + 1.25 * half_z.max(0.6 * half_x)],
            overview_pitch_deg: -27.0,
            plan_height_m: top + extent + 10.0,
            plan_extent_m: 2.0 * extent + dem.posting_m,
            plan_middle: [mid_x, mid_z],
            sun_elevation_deg: (91.0 - lat.abs()).clamp(5.0, SUN_ELEVATION_DEG).round(),
        })
    }
}

/// Semi-major axes of the bodies' ways around the sun (with their planets),
/// astronomical units, by NAIF id.
fn distance_au(body: i64) -> f64 {
    match body {
        199 => 0.387,
        299 => 0.723,
        499 => 1.524,
        2_000_004 => 2.362,
        502 => 5.203,
        606 => 9.58,
        _ => 1.0,
    }
}

fn camera_text(text: &mut String, name: &str, place: [f64; 3], rotate: [f64; 3], lens: &str) {
    let [x, y, z] = place;
    let [rx, ry, rz] = rotate;
    let _ = write!(
        text,
        "        def Camera \"{name}\"\n        {{\n{lens}\
         \x20           double3 xformOp:translate = ({x:.3}, {y:.3}, {z:.3})\n\
         \x20           float3 xformOp:rotateXYZ = ({rx}, {ry}, {rz})\n\
         \x20           uniform token[] xformOpOrder = [\"xformOp:translate\", \"xformOp:rotateXYZ\"]\n        }}\n"
    );
}

fn stage_text(dems: &[String], albedo: Option<&str>, view: Option<&Viewpoints>) -> String {
    let mut text =
        String::from("#usda 1.0\n(\n    defaultPrim = \"World\"\n    metersPerUnit = 1\n    upAxis = \"Y\"\n)\n\n");
    text += "def Xform \"World\"\n{\n";
    if let Some((body, lon, lat, height)) = view.and_then(|view| view.anchor) {
        let _ = write!(
            text,
            "    # The site origin: centre of the finest DEM, within a metre of its ground.\n    int lunco:anchor:body = {body}\n    \
             double lunco:anchor:lat = {lat:.12}\n    double lunco:anchor:lon = {lon:.12}\n    double lunco:anchor:height = {height}\n\n"
        );
    }
    text += "    def Xform \"Terrain\" (\n        prepend apiSchemas = [\"MaterialBindingAPI\"]\n    )\n    {\n";
    text +=
        "        uniform token lunco:assetMode = \"layered\"\n        rel material:binding = </World/Looks/Ground>\n";
    for (index, address) in dems.iter().enumerate() {
        let _ = write!(
            text,
            "\n        def Scope \"Dem{}\"\n        {{\n            uniform token lunco:layer = \"dem\"\n            \
             asset lunco:layer:demSource = @twin://{address}@\n        }}\n",
            if index == 0 { String::new() } else { (index + 1).to_string() }
        );
    }
    text += "    }\n\n    def Scope \"Looks\"\n    {\n        def Material \"Ground\"\n        {\n";
    text += "            token outputs:surface.connect = </World/Looks/Ground/Shader.outputs:surface>\n\n";
    text += "            def Shader \"Shader\"\n            {\n                uniform token info:implementationSource = \"sourceAsset\"\n";
    text += "                uniform asset info:wesl:sourceAsset = @lunco://shaders/terrain_layered.wesl@\n";
    if let Some(albedo) = albedo {
        let _ = writeln!(text, "                asset inputs:albedo_map = @twin://{albedo}@");
    }
    text += "                float inputs:weight_albedo = 1.0\n                float inputs:weight_normal = 1.0\n";
    text += "                token outputs:surface\n            }\n        }\n    }\n\n";
    let elevation = view.map_or(SUN_ELEVATION_DEG, |view| view.sun_elevation_deg);
    let _ = writeln!(
        text,
        "    # From the north-west, {elevation} degrees high. To aim it: rotateXYZ = (-elevation,\n    # 180 - azimuth, 0), azimuth clockwise from grid north."
    );
    let au = view.and_then(|view| view.anchor).map_or(1.0, |(body, ..)| distance_au(body));
    text += "    def DistantLight \"Sun\" (\n        prepend references = @lunco://lighting/sun.usda@</Sun>\n    )\n    {\n";
    if au != 1.0 {
        // As the built-in sun, seen from farther away or nearer.
        let (lux, angle_deg) = (128_000.0 / (au * au), 0.533 / au);
        let _ =
            write!(text, "        float inputs:intensity = {lux:.0}\n        float inputs:angle = {angle_deg:.3}\n");
    }
    let _ = write!(text, "        double3 xformOp:rotateXYZ = (-{elevation}, -135, 0)\n    }}\n");
    if let Some(view) = view {
        text += "\n    def Scope \"Cameras\"\n    {\n";
        let pinhole = "            float focalLength = 20\n            float horizontalAperture = 24\n            float verticalAperture = 13.5\n            float2 clippingRange = (0.05, 1000000)\n";
        let _ = writeln!(text, "        # The eyes of a standing rover, looking north and north-east.");
        camera_text(&mut text, "Nav", view.nav, [-8.0, 0.0, 0.0], pinhole);
        camera_text(&mut text, "Mast", view.mast, [-4.0, -45.0, 0.0], pinhole);
        camera_text(&mut text, "Overview", view.overview, [view.overview_pitch_deg, 0.0, 0.0], pinhole);
        let side = 10.0 * view.plan_extent_m;
        let plan = format!(
            "            token projection = \"orthographic\"\n            float horizontalAperture = {side:.1}\n            float verticalAperture = {side:.1}\n            float2 clippingRange = (1, 1000000)\n"
        );
        let _ = writeln!(text, "        # A map view: straight down, north up.");
        camera_text(
            &mut text,
            "Plan",
            [view.plan_middle[0], view.plan_height_m, view.plan_middle[1]],
            [-90.0, 0.0, 0.0],
            &plan,
        );
        text += "    }\n";
    }
    text + "}\n"
}
