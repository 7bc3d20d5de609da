//! Coordinate reference systems and the bodies that they lie on.

use crate::GeoError;
use gdal::spatial_ref::{AxisMappingStrategy, CoordTransform, SpatialRef};
use serde::{Deserialize, Serialize};

/// A celestial body, told by its ellipsoid.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Body {
    /// Name, or `unknown` for a radius that fits none of the known bodies.
    pub name: String,
    /// NAIF id, when known.
    pub naif_id: Option<i64>,
    /// Equatorial radius of the CRS's ellipsoid, metres.
    pub semi_major_m: f64,
    /// Polar radius of the CRS's ellipsoid, metres.
    pub semi_minor_m: f64,
}

/// Bodies by the range of semi-major axes that their CRSs use, metres.
const BODIES: &[(&str, i64, f64, f64)] = &[
    ("Moon", 301, 1_734_000.0, 1_740_000.0),
    ("Mars", 499, 3_370_000.0, 3_400_000.0),
    ("Earth", 399, 6_350_000.0, 6_380_000.0),
    ("Mercury", 199, 2_438_000.0, 2_442_000.0),
    ("Venus", 299, 6_050_000.0, 6_053_000.0),
    ("Vesta", 2_000_004, 250_000.0, 290_000.0),
    ("Europa", 502, 1_559_000.0, 1_563_000.0),
    ("Titan", 606, 2_574_000.0, 2_577_000.0),
];

impl Body {
    fn from_axes(semi_major_m: f64, semi_minor_m: f64) -> Self {
        let known = BODIES.iter().find(|(_, _, low, high)| (*low..=*high).contains(&semi_major_m));
        Self {
            name: known.map_or("unknown", |(name, ..)| name).to_owned(),
            naif_id: known.map(|(_, id, ..)| *id),
            semi_major_m,
            semi_minor_m,
        }
    }

    /// The radius of the sphere that fits the ellipsoid best at a latitude:
    /// the Gaussian radius of curvature, sqrt(M N), metres
    /// (Torge, Geodesy, 3rd ed., eq. 4.19).
    pub fn curvature_radius_m(&self, lat_deg: f64) -> f64 {
        let (a, b) = (self.semi_major_m, self.semi_minor_m);
        let e2 = 1.0 - (b * b) / (a * a);
        let s = lat_deg.to_radians().sin();
        a * (1.0 - e2).sqrt() / (1.0 - e2 * s * s)
    }
}

/// A CRS as plain data. Axis order is always longitude, latitude (or easting,
/// northing), whatever its authority says.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Crs {
    wkt: String,
    /// Name as the definition gives it.
    pub name: String,
    /// `AUTHORITY:CODE`, when declared.
    pub authority: Option<String>,
    /// The body.
    pub body: Body,
    /// True when coordinates are lengths, false when they are angles.
    pub projected: bool,
    /// Metres per map unit (projected CRSs).
    pub metres_per_unit: f64,
}

fn reference(wkt: &str) -> Result<SpatialRef, gdal::errors::GdalError> {
    let mut reference = SpatialRef::from_wkt(wkt)?;
    reference.set_axis_mapping_strategy(AxisMappingStrategy::TraditionalGisOrder);
    Ok(reference)
}

fn transform_error(error: gdal::errors::GdalError) -> GeoError {
    GeoError::Transform { message: error.to_string() }
}

impl Crs {
    /// Any definition that PROJ reads: `IAU_2015:30135`, WKT, a PROJ string.
    pub fn parse(definition: &str) -> Result<Self, GeoError> {
        crate::info::set_up_gdal();
        let bad = |error: gdal::errors::GdalError| GeoError::BadCrs {
            definition: definition.chars().take(120).collect(),
            message: error.to_string(),
        };
        Self::from_reference(&SpatialRef::from_definition(definition).map_err(bad)?).map_err(bad)
    }

    pub(crate) fn from_reference(reference: &SpatialRef) -> Result<Self, gdal::errors::GdalError> {
        Ok(Self {
            wkt: reference.to_wkt()?,
            name: reference.name().unwrap_or_else(|| "unnamed".to_owned()),
            authority: reference.authority().ok(),
            body: Body::from_axes(reference.semi_major()?, reference.semi_minor()?),
            projected: reference.is_projected(),
            metres_per_unit: if reference.is_projected() { reference.linear_units() } else { 1.0 },
        })
    }

    /// The definition as WKT.
    pub fn wkt(&self) -> &str {
        &self.wkt
    }

    /// Map coordinates to planetocentric longitude and latitude on the CRS's
    /// own body, degrees east and north.
    pub fn lon_lat(&self, easting: f64, northing: f64) -> Result<(f64, f64), GeoError> {
        let (mut x, mut y) = ([easting], [northing]);
        self.to_geographic()?.transform_coords(&mut x, &mut y, &mut []).map_err(transform_error)?;
        Ok((x[0], y[0]))
    }

    /// Longitude and latitude, degrees, to map coordinates.
    pub fn from_lon_lat(&self, lon_deg: f64, lat_deg: f64) -> Result<(f64, f64), GeoError> {
        let map = reference(&self.wkt).map_err(transform_error)?;
        let geographic = geographic(&map).map_err(transform_error)?;
        let transform = CoordTransform::new(&geographic, &map).map_err(transform_error)?;
        let (mut x, mut y) = ([lon_deg], [lat_deg]);
        transform.transform_coords(&mut x, &mut y, &mut []).map_err(transform_error)?;
        if x[0].is_finite() && y[0].is_finite() {
            Ok((x[0], y[0]))
        } else {
            Err(GeoError::Transform { message: format!("{lon_deg} E, {lat_deg} N lies outside {}", self.name) })
        }
    }

    /// Converts points of this CRS to another one's, in place; a point that
    /// has no place in the other becomes NaN. CRSs of different bodies are an
    /// error.
    pub fn transform_to(&self, other: &Self, x: &mut [f64], y: &mut [f64]) -> Result<(), GeoError> {
        if self.wkt == other.wkt {
            return Ok(());
        }
        let ratio = self.body.semi_major_m / other.body.semi_major_m;
        if (ratio - 1.0).abs() > 0.005 {
            return Err(GeoError::Transform {
                message: format!("{} is on {}, {} is on {}", self.name, self.body.name, other.name, other.body.name),
            });
        }
        let (from, to) =
            (reference(&self.wkt).map_err(transform_error)?, reference(&other.wkt).map_err(transform_error)?);
        let transform = CoordTransform::new(&from, &to).map_err(transform_error)?;
        // OCTTransform reports failure when any point fails; those are then
        // infinite, and the rest is right.
        let _ = transform.transform_coords(x, y, &mut []);
        for (x, y) in x.iter_mut().zip(y) {
            if !(x.is_finite() && y.is_finite()) {
                (*x, *y) = (f64::NAN, f64::NAN);
            }
        }
        Ok(())
    }

    fn to_geographic(&self) -> Result<CoordTransform, GeoError> {
        let map = reference(&self.wkt).map_err(transform_error)?;
        let geographic = geographic(&map).map_err(transform_error)?;
        CoordTransform::new(&map, &geographic).map_err(transform_error)
    }

    /// [`Crs::lon_lat`] for many points, in place.
    pub fn lon_lat_many(&self, x: &mut [f64], y: &mut [f64]) -> Result<(), GeoError> {
        self.to_geographic()?.transform_coords(x, y, &mut []).map_err(transform_error)
    }
}

fn geographic(map: &SpatialRef) -> Result<SpatialRef, gdal::errors::GdalError> {
    let mut geographic = map.geog_cs()?;
    geographic.set_axis_mapping_strategy(AxisMappingStrategy::TraditionalGisOrder);
    Ok(geographic)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn polar_grids_turn_the_right_way() {
        // South: longitude 0 points up the map. North: longitude 0 points down.
        let south = Crs::parse("IAU_2015:30135").unwrap();
        let north = Crs::parse("IAU_2015:30130").unwrap();
        assert!(south.lon_lat(0.0, 1000.0).unwrap().0.abs() < 1e-9);
        assert!((south.lon_lat(1000.0, 0.0).unwrap().0 - 90.0).abs() < 1e-9);
        assert!(north.lon_lat(0.0, -1000.0).unwrap().0.abs() < 1e-9);
        assert!((north.lon_lat(1000.0, 0.0).unwrap().0 - 90.0).abs() < 1e-9);
    }

    #[test]
    fn lon_lat_and_map_coordinates_are_inverse() {
        for code in ["IAU_2015:30135", "IAU_2015:49910", "EPSG:32611"] {
            let crs = Crs::parse(code).unwrap();
            let (lon, lat) = crs.lon_lat(420_000.0, 300_000.0).unwrap();
            let (x, y) = crs.from_lon_lat(lon, lat).unwrap();
            assert!((x - 420_000.0).abs() < 1e-4 && (y - 300_000.0).abs() < 1e-4, "{code}: {x} {y}");
        }
    }

    #[test]
    fn bodies_are_told_apart_and_never_mixed() {
        let moon = Crs::parse("IAU_2015:30135").unwrap();
        let mars = Crs::parse("IAU_2015:49910").unwrap();
        assert_eq!((moon.body.naif_id, mars.body.naif_id), (Some(301), Some(499)));
        assert!(moon.transform_to(&mars, &mut [0.0], &mut [0.0]).is_err());
        assert_eq!(moon.body.curvature_radius_m(-89.0), 1_737_400.0);
    }

    #[test]
    fn an_unknown_crs_is_named() {
        let error = Crs::parse("IAU_2015:30101").unwrap_err();
        assert!(error.to_string().contains("IAU_2015:30101"), "{error}");
    }
}
