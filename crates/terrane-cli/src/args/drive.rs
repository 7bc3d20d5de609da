//! What `terrane drive` takes.

use super::positive;
use clap::{Args, ValueEnum};
use std::path::PathBuf;

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
