//! Coordinate reference systems and the bodies that they lie on.

use crate::GeoError;
use gdal::spatial_ref::{AxisMappingStrategy, CoordTransform, SpatialRef};
use serde::{Deserialize, Serialize};
use std::cell::RefCell;
use std::rc::Rc;

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
    /// Any definition that PROJ reads: `IAU_2015:30135`, WKT, a PROJ string. Of
    /// a compound or three-dimensional CRS the horizontal part is taken.
    pub fn parse(definition: &str) -> Result<Self, GeoError> {
        Self::parse_with_vertical(definition).map(|(crs, _)| crs)
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

    /// Map coordinates, metres, to longitude and latitude on the CRS's own
    /// body, degrees east and north. Of a geographic CRS, map coordinates are
    /// degrees.
    pub fn lon_lat(&self, easting_m: f64, northing_m: f64) -> Result<(f64, f64), GeoError> {
        let (mut x, mut y) = ([easting_m], [northing_m]);
        self.lon_lat_many(&mut x, &mut y)?;
        Ok((x[0], y[0]))
    }

    /// [`Crs::lon_lat`] for many points, in place; a point that has no place
    /// on the body is an error.
    pub fn lon_lat_many(&self, x: &mut [f64], y: &mut [f64]) -> Result<(), GeoError> {
        self.scale(1.0 / self.metres_per_unit, x, y);
        with_transform(&self.wkt, GEOGRAPHIC, |transform| {
            transform.transform_coords(x, y, &mut []).map_err(transform_error)
        })
    }

    /// Longitude and latitude, degrees, to map coordinates, metres.
    pub fn from_lon_lat(&self, lon_deg: f64, lat_deg: f64) -> Result<(f64, f64), GeoError> {
        let (mut x, mut y) = ([lon_deg], [lat_deg]);
        self.from_lon_lat_many(&mut x, &mut y)?;
        if x[0].is_finite() && y[0].is_finite() {
            Ok((x[0], y[0]))
        } else {
            Err(GeoError::Transform { message: format!("{lon_deg} E, {lat_deg} N lies outside {}", self.name) })
        }
    }

    /// [`Crs::from_lon_lat`] for many points, in place; a point that has no
    /// place becomes NaN.
    pub fn from_lon_lat_many(&self, x: &mut [f64], y: &mut [f64]) -> Result<(), GeoError> {
        with_transform(GEOGRAPHIC, &self.wkt, |transform| {
            transform_or_nan(transform, x, y);
            Ok(())
        })?;
        self.scale(self.metres_per_unit, x, y);
        Ok(())
    }

    /// Like [`Crs::lon_lat_many`], but a point without a place becomes NaN.
    pub(crate) fn lon_lat_or_nan(&self, x: &mut [f64], y: &mut [f64]) -> Result<(), GeoError> {
        self.scale(1.0 / self.metres_per_unit, x, y);
        with_transform(&self.wkt, GEOGRAPHIC, |transform| {
            transform_or_nan(transform, x, y);
            Ok(())
        })
    }

    /// Converts points of this CRS to another one's, in place (metres, or
    /// degrees of a geographic CRS); a point that has no place in the other
    /// becomes NaN. CRSs of different bodies are an error.
    pub fn transform_to(&self, other: &Self, x: &mut [f64], y: &mut [f64]) -> Result<(), GeoError> {
        if self.wkt == other.wkt {
            return Ok(());
        }
        self.same_body(other)?;
        self.scale(1.0 / self.metres_per_unit, x, y);
        with_transform(&self.wkt, &other.wkt, |transform| {
            transform_or_nan(transform, x, y);
            Ok(())
        })?;
        other.scale(other.metres_per_unit, x, y);
        Ok(())
    }

    /// An error when the other CRS is of another body.
    pub fn same_body(&self, other: &Self) -> Result<(), GeoError> {
        let ratio = self.body.semi_major_m / other.body.semi_major_m;
        if (ratio - 1.0).abs() > 0.005 {
            return Err(GeoError::Transform {
                message: format!("{} is on {}, {} is on {}", self.name, self.body.name, other.name, other.body.name),
            });
        }
        Ok(())
    }

    fn scale(&self, factor: f64, x: &mut [f64], y: &mut [f64]) {
        if factor != 1.0 {
            x.iter_mut().chain(y).for_each(|value| *value *= factor);
        }
    }

    /// The geographic CRS that this one is built on, as WKT.
    pub(crate) fn geographic_wkt(&self) -> Result<String, GeoError> {
        let map = reference(&self.wkt).map_err(transform_error)?;
        geographic(&map).and_then(|geographic| geographic.to_wkt()).map_err(transform_error)
    }

    pub(crate) fn parse_with_vertical(definition: &str) -> Result<(Self, Option<Vertical>), GeoError> {
        crate::open::set_up_gdal();
        let bad = |error: gdal::errors::GdalError| GeoError::BadCrs {
            definition: definition.chars().take(120).collect(),
            message: error.to_string(),
        };
        Self::with_vertical(&SpatialRef::from_definition(definition).map_err(bad)?).map_err(bad)
    }

    /// The horizontal part of a CRS, and its vertical part when it has one:
    /// that of a compound CRS, or the height axis of a three-dimensional one.
    pub(crate) fn with_vertical(reference: &SpatialRef) -> Result<(Self, Option<Vertical>), gdal::errors::GdalError> {
        if !reference.is_compound() && reference.axes_count() < 3 {
            return Ok((Self::from_reference(reference)?, None));
        }
        let json: serde_json::Value = serde_json::from_str(&reference.to_projjson()?).unwrap_or_default();
        let (mut horizontal, vertical) = match json["components"].as_array().map(Vec::as_slice) {
            Some([horizontal, vertical, ..]) => {
                let axis = &vertical["coordinate_system"]["axis"][0]["unit"];
                let unit = axis.as_str().or(axis["name"].as_str()).map(str::to_owned);
                let name = vertical["name"].as_str().unwrap_or("unnamed").to_owned();
                (horizontal.clone(), Vertical { name, unit })
            }
            _ => (json, Vertical { name: "ellipsoidal height".to_owned(), unit: None }),
        };
        flatten(&mut horizontal);
        let horizontal = SpatialRef::from_definition(&horizontal.to_string())?;
        Ok((Self::from_reference(&horizontal)?, Some(vertical)))
    }
}

/// The vertical part of a CRS.
pub(crate) struct Vertical {
    pub name: String,
    pub unit: Option<String>,
}

/// Drops the height axis of a three-dimensional CRS and of the CRS that it is
/// built on. Its authority's code goes with it: that names the CRS with height.
fn flatten(json: &mut serde_json::Value) {
    let axes = json.pointer_mut("/coordinate_system/axis").and_then(|axes| axes.as_array_mut());
    if axes.is_some_and(|axes| {
        axes.len() > 2 && {
            axes.truncate(2);
            true
        }
    }) && let Some(fields) = json.as_object_mut()
    {
        fields.remove("id");
    }
    for inner in ["base_crs", "source_crs"] {
        if let Some(inner) = json.get_mut(inner) {
            flatten(inner);
        }
    }
}

/// Stands for the geographic CRS of the other side of a transformation.
const GEOGRAPHIC: &str = "";

thread_local! {
    /// The transformations of late: making one takes PROJ milliseconds.
    static TRANSFORMS: RefCell<Vec<(String, String, Rc<CoordTransform>)>> = const { RefCell::new(Vec::new()) };
}

fn with_transform<T>(
    from: &str,
    to: &str,
    work: impl FnOnce(&CoordTransform) -> Result<T, GeoError>,
) -> Result<T, GeoError> {
    let known = TRANSFORMS.with_borrow(|known| {
        known.iter().find(|(a, b, _)| a == from && b == to).map(|(.., transform)| Rc::clone(transform))
    });
    if let Some(transform) = known {
        return work(&transform);
    }
    let make = || {
        let side = |wkt: &str, other: &str| match wkt {
            GEOGRAPHIC => geographic(&reference(other)?),
            wkt => reference(wkt),
        };
        CoordTransform::new(&side(from, to)?, &side(to, from)?)
    };
    let transform = Rc::new(make().map_err(transform_error)?);
    TRANSFORMS.with_borrow_mut(|known| {
        if known.len() >= 12 {
            known.remove(0);
        }
        known.push((from.to_owned(), to.to_owned(), Rc::clone(&transform)));
    });
    work(&transform)
}

fn transform_or_nan(transform: &CoordTransform, x: &mut [f64], y: &mut [f64]) {
    // OCTTransform reports failure when any point fails; those are then
    // infinite, and the rest is right.
    let _ = transform.transform_coords(x, y, &mut []);
    for (x, y) in x.iter_mut().zip(y) {
        if !(x.is_finite() && y.is_finite()) {
            (*x, *y) = (f64::NAN, f64::NAN);
        }
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
