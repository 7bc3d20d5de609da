//! What `terrane query` takes.

use clap::Subcommand;
use std::path::PathBuf;

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
