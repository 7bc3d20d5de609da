//! What can be typed.

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
    /// Say what a stage holds and what is wrong with it.
    Inspect {
        /// The USD stage.
        stage: PathBuf,
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
        /// As JSON.
        #[arg(long, global = true)]
        json: bool,
    },
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
        /// Metres per stored unit of the first DEM, if its file does not say.
        #[arg(long, allow_negative_numbers = true)]
        scale: Option<f64>,
        /// Metres added to the first DEM after scaling, if its file does not say.
        #[arg(long, allow_negative_numbers = true)]
        offset: Option<f64>,
        /// Nodata value of the first DEM, if its file does not say.
        #[arg(long, allow_negative_numbers = true)]
        nodata: Option<f64>,
        /// CRS of the first DEM, if its file does not say.
        #[arg(long)]
        crs: Option<String>,
        /// Copy the data into the twin instead of naming it where it is.
        #[arg(long)]
        copy: bool,
    },
}

/// Questions.
#[derive(Debug, Subcommand)]
pub enum QueryKind {
    /// Height, normal, slope and coordinates at a place.
    Height {
        /// Site x (grid east), metres.
        #[arg(allow_negative_numbers = true)]
        x: f64,
        /// Site z (grid south), metres.
        #[arg(allow_negative_numbers = true)]
        z: f64,
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
