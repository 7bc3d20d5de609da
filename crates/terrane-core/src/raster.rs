//! What a raster's own file leaves out.

use serde::{Deserialize, Serialize};

/// Facts about a raster that its file does not declare. A setting replaces
/// what the file says, and `terrane inspect` shows that it did.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RasterSettings {
    /// Metres per stored unit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scale: Option<f64>,
    /// Metres added after scaling.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub offset: Option<f64>,
    /// Stored value that means "no data".
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub nodata: Option<f64>,
    /// CRS, in any form that PROJ reads.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub crs: Option<String>,
    /// Unit of the stored heights (`m`, `km`, `ft`, `us-ft`), when the file
    /// declares none or a wrong one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unit: Option<String>,
    /// Lowest and highest value that can be a height, metres; what lies
    /// outside is a hole.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub valid_range_m: Option<[f64; 2]>,
    /// Body-fixed frame of the coordinates, such as `MOON_ME` or `MOON_PA`: a
    /// fact that is carried and shown, never assumed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub body_frame: Option<String>,
    /// Surface that heights are above, such as `areoid` or `EGM2008`, when the
    /// file does not say: carried and shown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub vertical_datum: Option<String>,
    /// Fill holes from data within this distance, metres. Filled posts stay
    /// marked as such; wider holes stay holes. By default nothing is filled.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fill_within_m: Option<f64>,
}
