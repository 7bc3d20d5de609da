//! The site frame: +X grid east, +Y up, +Z grid south, metres.

use glam::DVec3;
use serde::{Deserialize, Serialize};

/// Places the site frame in its map frame (a projected CRS in metres).
///
/// The site origin is the anchor when one is authored, else the centre of the
/// finest DEM at height 0. Both conversions are exact translations and flips,
/// so they round-trip to the last few bits.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct SiteFrame {
    /// Map easting of the site origin, metres.
    pub origin_easting_m: f64,
    /// Map northing of the site origin, metres.
    pub origin_northing_m: f64,
    /// Height of the site origin above the DEM's vertical datum, metres.
    pub origin_height_m: f64,
}

impl SiteFrame {
    /// Map coordinates and datum height to a site position, metres.
    pub fn site_from_map(&self, easting_m: f64, northing_m: f64, height_m: f64) -> DVec3 {
        DVec3::new(
            easting_m - self.origin_easting_m,
            height_m - self.origin_height_m,
            self.origin_northing_m - northing_m,
        )
    }

    /// Site x and z to map easting and northing, metres.
    pub fn map_from_site(&self, x_m: f64, z_m: f64) -> (f64, f64) {
        (self.origin_easting_m + x_m, self.origin_northing_m - z_m)
    }
}
