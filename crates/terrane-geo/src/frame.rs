//! Map frames and grids that fit a raster.

use crate::place::Placement;
use crate::{Crs, GeoError, PostGrid};
use std::path::Path;

/// Beyond this latitude a polar frame fits better than any other, degrees.
const POLAR_DEG: f64 = 60.0;
/// Rasters of Earth wider than this get no transverse Mercator frame, degrees.
const TRANSVERSE_DEG: f64 = 6.0;
/// A raster's own projected CRS is kept when its scale at the raster's middle
/// is this close to true in every direction.
const TRUE_SCALE: f64 = 0.01;
/// Where a map stretches the ground more than this it is not covered: a polar
/// map of a whole globe would be endless.
const MOST_STRETCH: f64 = 4.0;
/// More posts a side than this are refused.
const MOST_SIDE: f64 = 4.0e6;

/// Points along each side and across a raster: enough for curved edges and
/// for a pole inside.
const EDGE: usize = 256;
const INSIDE: usize = 48;

/// A CRS that fits the raster's middle: polar stereographic, true at the pole;
/// transverse Mercator for a narrow raster of Earth; else equirectangular, true
/// at the raster's middle. It stands on the raster's own geographic CRS.
pub(crate) fn fitted_crs(placement: &Placement, path: &Path) -> Result<Crs, GeoError> {
    let (lon, lat, span) = middle(placement, path)?;
    let lon = (lon * 1e4).round() / 1e4;
    let lat = (lat * 1e4).round() / 1e4;
    let geographic = placement.crs.geographic_wkt()?;
    let body = &placement.crs.body.name;
    let (name, projection, parameters) = if lat.abs() >= POLAR_DEG {
        let (pole, lat) = if lat > 0.0 { ("north", 90.0) } else { ("south", -90.0) };
        let parameters = vec![("latitude_of_origin", lat), ("central_meridian", 0.0), ("scale_factor", 1.0)];
        (format!("{body}, {pole} polar stereographic"), "Polar_Stereographic", parameters)
    } else if body == "Earth" && span <= TRANSVERSE_DEG {
        let parameters = vec![("latitude_of_origin", lat), ("central_meridian", lon), ("scale_factor", 1.0)];
        (format!("{body}, transverse Mercator at {lon} E {lat} N"), "Transverse_Mercator", parameters)
    } else {
        let parameters = vec![("latitude_of_origin", 0.0), ("central_meridian", lon), ("standard_parallel_1", lat)];
        (format!("{body}, equirectangular at {lon} E {lat} N"), "Equirectangular", parameters)
    };
    let parameters: String = parameters.iter().map(|(key, value)| format!("PARAMETER[\"{key}\",{value}],")).collect();
    Crs::parse(&format!(
        "PROJCS[\"{name}\",{geographic},PROJECTION[\"{projection}\"],{parameters}PARAMETER[\"false_easting\",0],PARAMETER[\"false_northing\",0],UNIT[\"metre\",1]]"
    ))
}

/// Longitude and latitude of the raster's middle and its width in longitude,
/// degrees.
fn middle(placement: &Placement, path: &Path) -> Result<(f64, f64, f64), GeoError> {
    let (wide, high) = (placement.columns as f64 - 1.0, placement.rows as f64 - 1.0);
    let across: Vec<(f64, f64)> = [0.5, 0.0, 1.0].iter().map(|t| (t * wide, 0.5 * high)).collect();
    let found = placement.lon_lat(&across)?;
    let (lon, lat) = found[0];
    if !(lon.is_finite() && lat.is_finite()) {
        let what = "its middle has no longitude and latitude; check its CRS and geotransform".to_owned();
        return Err(GeoError::UnfitGrid { path: path.to_owned(), what });
    }
    let turn = |lon: f64| lon - 360.0 * (lon / 360.0).round();
    // Both halves apart, since a span across the globe would turn to nothing.
    let half = |side: (f64, f64)| if side.0.is_finite() { turn(side.0 - lon).abs() } else { 180.0 };
    Ok((turn(lon), lat, half(found[1]) + half(found[2])))
}

/// True when the CRS is projected and true to scale at the raster's middle, so
/// that the raster's own CRS fits as well as any other.
pub(crate) fn own_crs_fits(placement: &Placement) -> bool {
    let crs = &placement.crs;
    let at = || -> Option<bool> {
        let (lon, lat) = *placement.lon_lat(&[centre(placement)]).ok()?.first()?;
        let step = 1e-3;
        let (x, y) = crs.from_lon_lat(lon, lat).ok()?;
        let (ex, ey) = crs.from_lon_lat(lon + step, lat).ok()?;
        let (nx, ny) = crs.from_lon_lat(lon, lat + step.copysign(-lat)).ok()?;
        let (n_m, m_m) = radii_m(crs, lat);
        let (east, north) = ((ex - x, ey - y), (nx - x, ny - y));
        let true_east = east.0.hypot(east.1) / (n_m * lat.to_radians().cos() * step.to_radians());
        let true_north = north.0.hypot(north.1) / (m_m * step.to_radians());
        let cross = (east.0 * north.0 + east.1 * north.1) / (east.0.hypot(east.1) * north.0.hypot(north.1));
        Some((true_east - 1.0).abs() < TRUE_SCALE && (true_north - 1.0).abs() < TRUE_SCALE && cross.abs() < TRUE_SCALE)
    };
    crs.projected && at().unwrap_or(false)
}

/// Radii of curvature across and along the meridian, metres.
fn radii_m(crs: &Crs, lat_deg: f64) -> (f64, f64) {
    let (a, b) = (crs.body.semi_major_m, crs.body.semi_minor_m);
    let e2 = 1.0 - (b / a) * (b / a);
    let w2 = 1.0 - e2 * lat_deg.to_radians().sin().powi(2);
    (a / w2.sqrt(), a * (1.0 - e2) / w2.powf(1.5))
}

fn centre(placement: &Placement) -> (f64, f64) {
    (0.5 * (placement.columns as f64 - 1.0), 0.5 * (placement.rows as f64 - 1.0))
}

/// The grid of `crs` that covers a raster, at `posting_m` or at the geometric
/// mean of its own two postings there, taken at its middle.
pub(crate) fn grid_in(
    placement: &Placement,
    crs: &Crs,
    posting_m: Option<f64>,
    path: &Path,
) -> Result<PostGrid, GeoError> {
    let unfit = |what: String| GeoError::UnfitGrid { path: path.to_owned(), what };
    if !crs.projected {
        return Err(unfit(format!("a grid in metres needs a projected CRS; {} is geographic", crs.name)));
    }
    placement.crs.same_body(crs)?;
    let posts = spread(placement);
    let (mut x, mut y): (Vec<f64>, Vec<f64>) = posts.iter().map(|&(column, row)| placement.map(column, row)).unzip();
    placement.crs.transform_to(crs, &mut x, &mut y)?;
    if placement.crs.wkt() != crs.wkt() {
        drop_stretched(placement, crs, &posts, &mut x, &mut y)?;
    }
    let bounds = |values: &[f64]| {
        let finite = values.iter().filter(|value| value.is_finite());
        finite.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), &value| (low.min(value), high.max(value)))
    };
    let ((west, east), (south, north)) = (bounds(&x), bounds(&y));
    if !(west < east && south < north) {
        return Err(unfit(format!("it has no place in {}", crs.name)));
    }
    let posting_m = match posting_m {
        Some(posting_m) if posting_m.is_finite() && posting_m > 0.0 => posting_m,
        Some(posting_m) => return Err(unfit(format!("{posting_m} m is no distance between posts"))),
        None => resolution_m(placement, crs, (&posts, &x))?
            .ok_or_else(|| unfit(format!("its posts have no distance in {}", crs.name)))?,
    };
    let count = |length: f64| (length / posting_m - 1e-3).ceil().max(1.0);
    let (columns, rows) = (count(east - west), count(north - south));
    if columns.max(rows) > MOST_SIDE {
        return Err(unfit(format!("it would take {columns} x {rows} posts in {}; choose a coarser posting", crs.name)));
    }
    Ok(PostGrid {
        easting_m: west + 0.5 * posting_m,
        northing_m: north - 0.5 * posting_m,
        posting_m,
        columns: columns as usize,
        rows: rows as usize,
    })
}

/// Points on the pixels' outline and inside of it, as posts.
fn spread(placement: &Placement) -> Vec<(f64, f64)> {
    // A hair inside, so that no edge falls on the far side of a map's seam;
    // less than what counts as being on a post.
    const HAIR: f64 = 2e-7;
    let along = |count: usize, length: usize, i: usize| {
        (i as f64 / count as f64 * length as f64).clamp(HAIR, length as f64 - HAIR) - 0.5
    };
    let (columns, rows) = (placement.columns, placement.rows);
    let mut posts = Vec::with_capacity(4 * EDGE + INSIDE * INSIDE + 8);
    for i in 0..=EDGE {
        let (column, row) = (along(EDGE, columns, i), along(EDGE, rows, i));
        posts.extend([(column, along(1, rows, 0)), (column, along(1, rows, 1))]);
        posts.extend([(along(1, columns, 0), row), (along(1, columns, 1), row)]);
    }
    for i in 1..INSIDE {
        posts.extend((1..INSIDE).map(|j| (along(INSIDE, columns, i), along(INSIDE, rows, j))));
    }
    posts
}

/// Removes points where the map stretches the ground too much.
fn drop_stretched(
    placement: &Placement,
    crs: &Crs,
    posts: &[(f64, f64)],
    x: &mut [f64],
    y: &mut [f64],
) -> Result<(), GeoError> {
    let step = 1e-3_f64;
    let ground = placement.lon_lat(posts)?;
    let (mut nx, mut ny): (Vec<f64>, Vec<f64>) =
        ground.iter().map(|&(lon, lat)| (lon, lat + step.copysign(-lat))).unzip();
    let (mut lx, mut ly): (Vec<f64>, Vec<f64>) = ground.iter().copied().unzip();
    // Both by longitude and latitude, so that a shift of datum cancels.
    crs.from_lon_lat_many(&mut nx, &mut ny)?;
    crs.from_lon_lat_many(&mut lx, &mut ly)?;
    for i in 0..posts.len() {
        let (_, m_m) = radii_m(crs, ground[i].1);
        let stretch = (nx[i] - lx[i]).hypot(ny[i] - ly[i]) / (m_m * step.to_radians());
        if stretch.is_nan() || stretch > MOST_STRETCH {
            (x[i], y[i]) = (f64::NAN, f64::NAN);
        }
    }
    Ok(())
}

/// The root of the area of a post in the map: at the raster's middle, or at
/// the first point that has a place there.
fn resolution_m(placement: &Placement, crs: &Crs, known: (&[(f64, f64)], &[f64])) -> Result<Option<f64>, GeoError> {
    let placed = known.0.iter().zip(known.1).filter(|(_, x)| x.is_finite()).map(|(post, _)| *post);
    for (column, row) in std::iter::once(centre(placement)).chain(placed.take(64)) {
        let around = [(-0.25, 0.0), (0.25, 0.0), (0.0, -0.25), (0.0, 0.25)];
        let (mut x, mut y): (Vec<f64>, Vec<f64>) =
            around.iter().map(|(dc, dr)| placement.map(column + dc, row + dr)).unzip();
        placement.crs.transform_to(crs, &mut x, &mut y)?;
        let area = 4.0 * ((x[1] - x[0]) * (y[3] - y[2]) - (x[3] - x[2]) * (y[1] - y[0])).abs();
        if area.is_finite() && area > 0.0 {
            return Ok(Some(area.sqrt()));
        }
    }
    Ok(None)
}
