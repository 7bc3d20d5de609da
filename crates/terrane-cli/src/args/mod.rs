//! What can be typed.

mod drive;
mod edit;
mod query;
mod raster;

pub use drive::DriveArgs;
pub use edit::{Disc, EditKind};
pub use query::QueryKind;
pub use raster::RasterArgs;

use clap::{Parser, Subcommand, ValueEnum};
use std::path::PathBuf;
use terrane_core::ParamValue;
use terrane_core::camera::ApertureFit;

/// Terrain for robot and mission simulation: measured ground, seen, queried
/// and touched as one surface.
#[derive(Debug, Parser)]
#[command(version, arg_required_else_help = true)]
pub struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
    /// Worker threads; all cores by default. Results do not depend on it.
    #[arg(long, global = true, value_name = "N", value_parser = threads)]
    pub threads: Option<usize>,
    /// A folder whose files replace the built-in lunco:// library's.
    #[arg(long, global = true, value_name = "FOLDER", env = "TERRANE_LIBRARY")]
    pub library: Option<PathBuf>,
    /// Where baked data is kept; .terrane inside the twin by default.
    #[arg(long, global = true, value_name = "FOLDER", env = "TERRANE_CACHE")]
    pub cache: Option<PathBuf>,
    /// Time code at which animated values are read.
    #[arg(long, global = true, value_name = "TIME")]
    pub time_code: Option<f64>,
    /// Leave out the edits of the stage's session.
    #[arg(long, global = true)]
    pub no_session: bool,
    /// No progress.
    #[arg(long, short, global = true)]
    pub quiet: bool,
}

/// The commands.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Make a folder for a site.
    Twin {
        /// What to do with twins.
        #[command(subcommand)]
        command: TwinCommand,
    },
    /// Say what a stage, a raster or a baked archive holds and what is wrong with it.
    Inspect {
        /// A USD stage; a raster, by its path or one of GDAL's names (/vsicurl/...); or a
        /// .pyramid archive, by its path or http:// address.
        target: PathBuf,
        /// What a raster's file leaves out.
        #[command(flatten)]
        raster: RasterArgs,
        /// Count all posts of a raster, however large.
        #[arg(long)]
        statistics: bool,
        /// As JSON.
        #[arg(long)]
        json: bool,
    },
    /// Bake the tile pyramid and the derived maps, once.
    Bake {
        /// The USD stage.
        stage: PathBuf,
        /// As JSON.
        #[arg(long)]
        json: bool,
    },
    /// Check a baked archive: checksums, bounds, errors and shared borders of every tile.
    Verify {
        /// The .pyramid archive, by its path or http:// address.
        archive: PathBuf,
        /// As JSON.
        #[arg(long)]
        json: bool,
    },
    /// Write heights, a map derived from them or a raster layer as a GeoTIFF.
    Export {
        /// The USD stage.
        stage: PathBuf,
        /// height, source, class, slope, aspect, normal, hillshade, roughness, tri, profile-curvature,
        /// plan-curvature, mean-curvature, ambient-occlusion, or the prim path of a raster layer.
        #[arg(long, value_name = "NAME")]
        layer: String,
        /// The file to write.
        #[arg(long, short, value_name = "FILE")]
        output: PathBuf,
        /// CRS to write in; the site's map frame when left out.
        #[arg(long)]
        crs: Option<String>,
        /// Distance between posts, metres (of a geographic CRS, along a meridian); the DEM's own when
        /// left out.
        #[arg(long, value_name = "METRES", value_parser = positive)]
        posting: Option<f64>,
        /// Prim path of the DEM whose footprint is exported; the finest when left out.
        #[arg(long, value_name = "PRIM")]
        dem: Option<String>,
        /// Site x and z of the part to export: west, north, east, south, metres; all when left out.
        #[arg(long, num_args = 4, value_names = ["WEST", "NORTH", "EAST", "SOUTH"], allow_negative_numbers = true)]
        region: Option<Vec<f64>>,
        /// Lay the file out as a Cloud Optimized GeoTIFF, with overviews.
        #[arg(long)]
        cog: bool,
        /// Sun of a hillshade: azimuth (clockwise from grid north) and elevation, degrees; 315 and
        /// 45 when left out.
        #[arg(long, num_args = 2, value_names = ["AZIMUTH", "ELEVATION"], allow_negative_numbers = true)]
        sun: Option<Vec<f64>>,
        /// Ambient occlusion: how far the horizon is sought, posts.
        #[arg(long, default_value = "64", value_name = "POSTS")]
        sky_radius: usize,
        /// As JSON.
        #[arg(long)]
        json: bool,
    },
    /// Draw cameras: RGB, depth, range, normals, labels, and their description.
    Render {
        /// The USD stage.
        stage: PathBuf,
        /// Prim path of a camera; all cameras, a folder each, when left out.
        #[arg(long)]
        camera: Vec<String>,
        /// Image size.
        #[arg(long, default_value = "1280x720", value_name = "WxH", value_parser = size)]
        size: (u32, u32),
        /// Folder to write into.
        #[arg(long, short, default_value = "out", value_name = "FOLDER")]
        output: PathBuf,
        /// Colour samples along each side of a pixel: 1, 3, 5, 7 or 9.
        #[arg(long, default_value = "3", value_name = "N", value_parser = odd)]
        samples: u32,
        /// Largest projected error of the drawn ground, pixels.
        #[arg(long, default_value = "1", value_name = "PIXELS", value_parser = positive)]
        pixel_error: f64,
        /// How the film back fills the image.
        #[arg(long, default_value = "horizontal")]
        fit: Fit,
        /// Replace a shader input, e.g. --set photometry=0 for the unlit colour layer.
        #[arg(long, value_name = "NAME=VALUE", value_parser = assignment)]
        set: Vec<(String, ParamValue)>,
        /// As JSON.
        #[arg(long)]
        json: bool,
    },
    /// Ask what the ground is, e.g. `terrane query site.usda height 12.5 -40.25`.
    Query {
        /// The USD stage.
        stage: PathBuf,
        /// What to ask.
        #[command(subcommand)]
        kind: QueryKind,
        /// Places are longitude and latitude in degrees, and not site x and z.
        #[arg(long, global = true)]
        lon_lat: bool,
        /// As JSON.
        #[arg(long, global = true)]
        json: bool,
    },
    /// Change the ground by hand. Edits go into a session over the stage, which every command
    /// sees and no file of the stage.
    Edit {
        /// The USD stage.
        stage: PathBuf,
        /// What to do.
        #[command(subcommand)]
        kind: EditKind,
        /// Places are longitude and latitude in degrees, and not site x and z.
        #[arg(long, global = true)]
        lon_lat: bool,
        /// As JSON.
        #[arg(long, global = true)]
        json: bool,
    },
    /// List the edits in force; save them as a layer, write their log, or end the session.
    Edits {
        /// The USD stage.
        stage: PathBuf,
        /// Write the session as a USD layer, to be added to the stage's subLayers.
        #[arg(long, value_name = "FILE.usda")]
        save: Option<PathBuf>,
        /// Write the commands that were given, for `terrane edit <stage> replay`.
        #[arg(long, value_name = "FILE.jsonl")]
        log: Option<PathBuf>,
        /// End the session: forget its edits (after saving, when that is asked for, too).
        #[arg(long)]
        clear: bool,
        /// As JSON.
        #[arg(long)]
        json: bool,
    },
    /// Drive a rover or a ball along a path over the ground, and write its trace.
    Drive(DriveArgs),
    /// Time baking and drawing of a stage, here and now.
    Bench {
        /// The USD stage.
        stage: PathBuf,
        /// Image size.
        #[arg(long, default_value = "640x480", value_name = "WxH", value_parser = size)]
        size: (u32, u32),
        /// Frames a camera.
        #[arg(long, default_value = "9", value_name = "N")]
        frames: usize,
        /// As JSON.
        #[arg(long)]
        json: bool,
    },
    /// List the built-in shaders and stages, or print one.
    Library {
        /// A lunco:// address.
        address: Option<String>,
    },
}

/// Commands on twins.
#[derive(Debug, Subcommand)]
pub enum TwinCommand {
    /// Make a twin from measured data: manifest, stage, look, sun and cameras.
    New {
        /// A name (made below twins/) or a folder.
        name: PathBuf,
        /// A DEM; the finest of several wins where they overlap.
        #[arg(long, required = true, value_name = "RASTER")]
        dem: Vec<PathBuf>,
        /// A picture to drape.
        #[arg(long, value_name = "RASTER")]
        albedo: Option<PathBuf>,
        /// What the first DEM's file leaves out.
        #[command(flatten)]
        raster: RasterArgs,
        /// Copy the data into the twin instead of naming it where it is.
        #[arg(long)]
        copy: bool,
    },
}

/// How the film back fills the image.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Fit {
    /// Square pixels; the vertical aperture follows the image's shape.
    Horizontal,
    /// Both apertures as authored; pixels need not be square.
    Both,
}

impl From<Fit> for ApertureFit {
    fn from(fit: Fit) -> Self {
        match fit {
            Fit::Horizontal => Self::Horizontal,
            Fit::Both => Self::Both,
        }
    }
}

fn threads(text: &str) -> Result<usize, String> {
    let parsed = text.parse().ok().filter(|n| (1..=256).contains(n));
    parsed.ok_or_else(|| "expected 1 to 256".to_owned())
}

fn size(text: &str) -> Result<(u32, u32), String> {
    let parsed = text.split_once('x').and_then(|(w, h)| Some((w.parse().ok()?, h.parse().ok()?)));
    parsed.filter(|(w, h)| *w > 0 && *h > 0).ok_or_else(|| "expected a width and a height, like 1280x720".to_owned())
}

fn odd(text: &str) -> Result<u32, String> {
    let parsed = text.parse().ok().filter(|n| [1, 3, 5, 7, 9].contains(n));
    parsed.ok_or_else(|| "expected 1, 3, 5, 7 or 9, so that one sample is the pixel's centre".to_owned())
}

fn positive(text: &str) -> Result<f64, String> {
    let parsed = text.parse().ok().filter(|n: &f64| n.is_finite() && *n > 0.0);
    parsed.ok_or_else(|| "expected a positive number".to_owned())
}

fn assignment(text: &str) -> Result<(String, ParamValue), String> {
    let (name, value) = text.split_once('=').ok_or("expected NAME=VALUE")?;
    let numbers: Result<Vec<f64>, _> = value.split(',').map(|part| part.trim().parse()).collect();
    let value = match (value, numbers) {
        ("true", _) => ParamValue::Bool(true),
        ("false", _) => ParamValue::Bool(false),
        (_, Ok(numbers)) if numbers.len() > 1 => ParamValue::Vector(numbers),
        (whole, Ok(numbers)) => match whole.trim().parse() {
            Ok(integer) => ParamValue::Int(integer),
            Err(_) => ParamValue::Float(numbers[0]),
        },
        (text, Err(_)) => return Err(format!("`{text}` is not a number, a list of numbers (1,2,3), true or false")),
    };
    Ok((name.to_owned(), value))
}
