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
}
