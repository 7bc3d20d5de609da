//! `terrane query`: what the ground is at a place.

use crate::Failure;
use crate::ground::Ground;
use serde::Serialize;

/// The answer to a height query.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct HeightAnswer {
    /// Site x, metres.
    pub x_m: f64,
    /// Site z, metres.
    pub z_m: f64,
    /// Map easting, metres.
    pub easting_m: f64,
    /// Map northing, metres.
    pub northing_m: f64,
    /// Longitude on the body, degrees east.
    pub lon_deg: f64,
    /// Latitude on the body, degrees north.
    pub lat_deg: f64,
    /// The ground, or `None` in a hole or outside the data.
    pub ground: Option<GroundAnswer>,
}

/// Ground under a place.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct GroundAnswer {
    /// Site y, metres.
    pub y_m: f64,
    /// Height above the DEM's datum, metres.
    pub datum_height_m: f64,
    /// How far the body curves away here, metres; already in `y_m`.
    pub curvature_drop_m: f64,
    /// Upward unit normal, site axes.
    pub normal: [f64; 3],
    /// Slope, degrees.
    pub slope_deg: f64,
    /// Prim path of the DEM layer that the height comes from.
    pub source: String,
    /// True when the nearest post was filled in and not measured.
    pub is_filled: bool,
    /// Distance between the posts around, metres.
    pub posting_m: f64,
}

/// Height, normal, slope and coordinates at site x, z (metres).
pub fn query_height(ground: &Ground, x_m: f64, z_m: f64) -> Result<HeightAnswer, Failure> {
    let (easting_m, northing_m) = ground.frame.map_from_site(x_m, z_m);
    let (lon_deg, lat_deg) = ground.crs.lon_lat(easting_m, northing_m)?;
    let answer = ground.surface.ground_at(x_m, z_m).map(|found| {
        let drop = ground.surface.curvature_drop_m(x_m, z_m);
        GroundAnswer {
            y_m: found.height_m,
            datum_height_m: found.height_m + drop + ground.frame.origin_height_m,
            curvature_drop_m: drop,
            normal: found.normal.to_array(),
            slope_deg: found.slope_rad.to_degrees(),
            source: ground.dems[found.dem].prim.clone(),
            is_filled: found.is_filled,
            posting_m: found.posting_m,
        }
    });
    ground.check_read()?;
    Ok(HeightAnswer { x_m, z_m, easting_m, northing_m, lon_deg, lat_deg, ground: answer })
}
