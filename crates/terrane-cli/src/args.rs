//! What can be typed.

use clap::{Args, Parser, Subcommand, ValueEnum};
use std::path::PathBuf;
use terrane_core::camera::ApertureFit;
use terrane_core::{ParamValue, RasterSettings};

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

/// Edits of the ground.
#[derive(Debug, Subcommand)]
pub enum EditKind {
    /// Raise (or lower) the ground by an amount in the middle, fading to nothing.
    #[command(allow_negative_numbers = true)]
    Brush {
        #[command(flatten)]
        disc: Disc,
        /// Metres up in the middle; negative is down.
        #[arg(long, value_name = "METRES")]
        amount: f64,
    },
    /// Level the ground to the height found in the middle; flat in the inner half.
    #[command(allow_negative_numbers = true)]
    Flatten {
        #[command(flatten)]
        disc: Disc,
        /// Metres above the height found in the middle.
        #[arg(long, default_value = "0", value_name = "METRES")]
        offset: f64,
    },
    /// Dig a fresh crater; the radius is that of its rim.
    #[command(allow_negative_numbers = true)]
    Crater {
        #[command(flatten)]
        disc: Disc,
        /// From rim crest to floor, metres, the rim in proportion; as published for its size when left out.
        #[arg(long, value_name = "METRES", value_parser = positive)]
        depth: Option<f64>,
    },
    /// Blend the ground towards its mean.
    #[command(allow_negative_numbers = true)]
    Smooth {
        #[command(flatten)]
        disc: Disc,
        /// Metres over which heights are averaged; a quarter of the radius when left out.
        #[arg(long, value_name = "METRES", value_parser = positive)]
        length: Option<f64>,
    },
    /// Take the ground away.
    #[command(allow_negative_numbers = true)]
    Hole {
        #[command(flatten)]
        disc: Disc,
    },
    /// Set the class of the ground; `terrane export --layer class` writes classes.
    #[command(allow_negative_numbers = true)]
    Paint {
        #[command(flatten)]
        disc: Disc,
        /// The class, 0 to 255.
        #[arg(long, value_name = "CLASS")]
        class: u8,
    },
    /// Take an edit back, of the session or of the stage, by its prim path or last name.
    Remove {
        /// The edit.
        edit: String,
    },
    /// Take the last command back.
    Undo,
    /// Give the last command that was taken back again.
    Redo,
    /// Do all commands of a log, or none.
    Replay {
        /// The log, one command a line, as JSON.
        log: PathBuf,
    },
}

/// A place and how far from it.
#[derive(Debug, Clone, Copy, clap::Args)]
pub struct Disc {
    /// Site x, metres; longitude with --lon-lat.
    pub x: f64,
    /// Site z, metres; latitude with --lon-lat.
    pub z: f64,
    /// How far it reaches, metres; of a crater, its rim (ejecta reach four times as far).
    #[arg(long, value_name = "METRES", value_parser = positive, allow_negative_numbers = true)]
    pub radius: f64,
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

/// What a raster's file leaves out, or has wrong.
#[derive(Debug, Clone, clap::Args)]
pub struct RasterArgs {
    /// Metres per stored unit.
    #[arg(long, allow_negative_numbers = true)]
    pub scale: Option<f64>,
    /// Metres added after scaling.
    #[arg(long, allow_negative_numbers = true)]
    pub offset: Option<f64>,
    /// Stored value that means "no data".
    #[arg(long, allow_negative_numbers = true)]
    pub nodata: Option<f64>,
    /// CRS, such as IAU_2015:30135 or EPSG:32611.
    #[arg(long)]
    pub crs: Option<String>,
    /// Unit of the stored heights: m, km, ft or us-ft.
    #[arg(long)]
    pub unit: Option<String>,
    /// Lowest and highest value that can be a height, metres: what lies outside is a hole.
    #[arg(long, num_args = 2, value_names = ["LOW", "HIGH"], allow_negative_numbers = true)]
    pub valid_range: Option<Vec<f64>>,
    /// Fill holes from data within this distance, metres; filled posts stay marked.
    #[arg(long, value_name = "METRES", value_parser = positive)]
    pub fill_within: Option<f64>,
    /// Body-fixed frame of the coordinates, such as MOON_ME: carried and shown.
    #[arg(long)]
    pub body_frame: Option<String>,
    /// Surface that heights are above: carried and shown.
    #[arg(long)]
    pub vertical_datum: Option<String>,
}

impl From<&RasterArgs> for RasterSettings {
    fn from(args: &RasterArgs) -> Self {
        Self {
            scale: args.scale,
            offset: args.offset,
            nodata: args.nodata,
            crs: args.crs.clone(),
            unit: args.unit.clone(),
            valid_range_m: args.valid_range.as_ref().and_then(|range| range.as_slice().try_into().ok()),
            fill_within_m: args.fill_within,
            body_frame: args.body_frame.clone(),
            vertical_datum: args.vertical_datum.clone(),
        }
    }
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
    /// Height, slope and source at all places of a CSV file, on all cores, as CSV.
    Places {
        /// Its first line names columns x_m and z_m, or lon_deg and lat_deg with --lon-lat.
        file: PathBuf,
    },
    /// Where a ray first meets the ground, from either side.
    Raycast {
        /// Origin x, y, z and direction x, y, z, site frame, metres.
        #[arg(allow_negative_numbers = true, num_args = 6, value_names = ["X", "Y", "Z", "DX", "DY", "DZ"], required = true)]
        ray: Vec<f64>,
        /// How far it goes, metres.
        #[arg(long, default_value_t = 1e6)]
        far: f64,
    },
    /// Whether one place sees another.
    LineOfSight {
        /// Site x, z and height over the ground of both ends, metres.
        #[arg(allow_negative_numbers = true, num_args = 6, value_names = ["X", "Z", "OVER", "X", "Z", "OVER"], required = true)]
        ends: Vec<f64>,
    },
    /// Heights and slopes along a line.
    Profile {
        /// Site x and z of its corners, metres.
        #[arg(allow_negative_numbers = true, num_args = 4.., value_names = ["X", "Z"], required = true)]
        corners: Vec<f64>,
        /// Between places, metres at most; corners are always among them.
        #[arg(long, default_value_t = 1.0)]
        step: f64,
    },
    /// How four wheels stand: height, pitch, roll, unevenness.
    Footprint {
        /// Site x, metres.
        #[arg(allow_negative_numbers = true)]
        x: f64,
        /// Site z, metres.
        #[arg(allow_negative_numbers = true)]
        z: f64,
        /// Clockwise from grid north, degrees.
        #[arg(allow_negative_numbers = true)]
        heading: f64,
        /// Between front and rear wheels, metres.
        #[arg(long, default_value_t = 1.6)]
        wheelbase: f64,
        /// Between left and right wheels, metres.
        #[arg(long, default_value_t = 1.2)]
        track: f64,
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

/// What `terrane drive` takes.
#[derive(Debug, Args)]
pub struct DriveArgs {
    /// The USD stage.
    pub stage: PathBuf,
    /// Waypoints: a CSV file whose first line names the columns x_m and z_m.
    #[arg(long, value_name = "FILE", conflicts_with = "seed")]
    pub path: Option<PathBuf>,
    /// A random path over passable ground in place of a file.
    #[arg(long, value_name = "N")]
    pub seed: Option<u64>,
    /// Length of the random path, metres.
    #[arg(long, default_value = "60", value_name = "METRES", value_parser = positive, requires = "seed")]
    pub distance: f64,
    /// Where the random path starts, site x and z in metres; at the site's origin when left out.
    #[arg(long, num_args = 2, value_names = ["X", "Z"], allow_negative_numbers = true, requires = "seed")]
    pub start: Option<Vec<f64>>,
    /// The trace to write, a CSV file.
    #[arg(long, short, default_value = "trace.csv", value_name = "FILE")]
    pub output: PathBuf,
    /// What drives.
    #[arg(long, default_value = "rover")]
    pub vehicle: VehicleName,
    /// Speed to aim at, m/s.
    #[arg(long, default_value = "1", value_name = "M/S", value_parser = positive, allow_negative_numbers = true)]
    pub speed: f64,
    /// Gravity, m/s2; the stage's PhysicsScene's, else the body's, when left out.
    #[arg(long, value_name = "M/S2", value_parser = positive, allow_negative_numbers = true)]
    pub gravity: Option<f64>,
    /// Time step, seconds; 1/480 when left out. Contacts are true to a millimetre up to there.
    #[arg(long, value_name = "SECONDS", value_parser = positive, allow_negative_numbers = true)]
    pub step: Option<f64>,
    /// Simulated time after which the drive ends, seconds; thrice what the path takes, and a
    /// minute, when left out.
    #[arg(long, value_name = "SECONDS", value_parser = positive, allow_negative_numbers = true)]
    pub limit: Option<f64>,
    /// Places are longitude and latitude in degrees (columns lon_deg and lat_deg).
    #[arg(long)]
    pub lon_lat: bool,
    /// As JSON.
    #[arg(long)]
    pub json: bool,
}

/// What drives.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum VehicleName {
    /// A four-wheeled rover.
    Rover,
    /// A ball that is turned from inside.
    Ball,
}

impl From<VehicleName> for terrane_site::drive::VehicleKind {
    fn from(vehicle: VehicleName) -> Self {
        match vehicle {
            VehicleName::Rover => Self::Rover,
            VehicleName::Ball => Self::Ball,
        }
    }
}
