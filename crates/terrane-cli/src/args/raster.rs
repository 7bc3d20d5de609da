//! What a raster's file leaves out, as it is typed.

use super::positive;
use terrane_core::RasterSettings;

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
