//! `terrane query`: what the ground is at a place, along a line, under a rover.

use crate::ground::Ground;
use crate::{Failure, OpenSite};
use glam::DVec3;
use serde::Serialize;
use terrane_core::{Diagnostic, Progress};
use terrane_surface::{LineOfSight, MOST_PROFILE_POINTS, Ray, RayCaster, RayHit, Source, TileBounds};
use terrane_tiles::Archive;

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
    /// Height above the DEM's datum, metres: between posts, as their triangle
    /// goes over a flat datum.
    pub datum_height_m: f64,
    /// How far the body curves away here, metres; already in `y_m`.
    pub curvature_drop_m: f64,
    /// Upward unit normal, site axes.
    pub normal: [f64; 3],
    /// Slope, degrees.
    pub slope_deg: f64,
    /// Prim path of the DEM layer that the height comes from; of the terrain
    /// when it stands on a level base.
    pub source: String,
    /// What the height is: measured, filled in, synthesised or edited.
    pub origin: Source,
    /// Prim paths of the layers that changed it, in the order in which they
    /// did.
    pub shaped_by: Vec<String>,
    /// Class that edits have painted, 0 where none has.
    pub class: u8,
    /// Distance between the posts around, metres.
    pub posting_m: f64,
}

/// A place as a person gives it: site x, z in metres, or longitude and
/// latitude on the body in degrees.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Place {
    /// Site x and z, metres.
    Site(f64, f64),
    /// Longitude and latitude, degrees.
    LonLat(f64, f64),
}

impl Place {
    /// Site x and z, metres.
    pub fn xz_m(self, ground: &Ground) -> Result<(f64, f64), Failure> {
        match self {
            Self::Site(x_m, z_m) => Ok((x_m, z_m)),
            Self::LonLat(lon_deg, lat_deg) => {
                let (easting_m, northing_m) = ground.crs.from_lon_lat(lon_deg, lat_deg)?;
                let site_m = ground.frame.site_from_map(easting_m, northing_m, 0.0);
                Ok((site_m.x, site_m.z))
            }
        }
    }
}

/// What a ray met.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct RayAnswer {
    /// The ray, of unit direction.
    pub ray: Ray,
    /// The first hit, or `None`.
    pub hit: Option<RayHit>,
}

/// The answer to a line of sight.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SightAnswer {
    /// True when one end sees the other.
    pub is_clear: bool,
    /// The line and what blocks it.
    #[serde(flatten)]
    pub sight: LineOfSight,
}

/// One place of a profile.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ProfileRow {
    /// Along the line in plan, metres.
    pub distance_m: f64,
    /// Site x, metres.
    pub x_m: f64,
    /// Site z, metres.
    pub z_m: f64,
    /// The ground, or `None` in a hole or outside the data.
    pub ground: Option<GroundAnswer>,
}

/// How four wheels stand.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct FootprintAnswer {
    /// Wheel contacts: front left, front right, rear left, rear right; site x,
    /// y, z, metres.
    pub wheels_m: [[f64; 3]; 4],
    /// Site y of the plane under them at the centre, metres.
    pub y_m: f64,
    /// Its upward unit normal, site axes.
    pub normal: [f64; 3],
    /// Nose up is positive, degrees.
    pub pitch_deg: f64,
    /// Left side up is positive, degrees.
    pub roll_deg: f64,
    /// Angle between the normal and straight up, degrees.
    pub slope_deg: f64,
    /// Largest vertical distance between a wheel's contact and the plane,
    /// metres.
    pub unevenness_m: f64,
}

/// Ground at one of many places.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PlaceRow {
    /// Site x, metres.
    pub x_m: f64,
    /// Site z, metres.
    pub z_m: f64,
    /// The ground, or `None` in a hole or outside the data.
    pub ground: Option<GroundAnswer>,
}

/// Answers rays on a site's ground: with the bounds of its archive when it is
/// baked, else with bounds measured now.
pub fn ray_caster(site: &OpenSite, ground: &Ground, progress: &dyn Progress) -> Result<RayCaster, Failure> {
    let (unedited, key) = ground.baked();
    let path = site.cache_folder().join(format!("{}.pyramid", key.short()));
    let bounds = match Archive::open(&path, Some(key)) {
        Ok(archive) => {
            // Heights in an archive are rounded.
            let margin_m = |height_m: f64| archive.heights.error_m() + 1e-6 * height_m.abs();
            let widened = archive.nodes.iter().map(|(tile, node)| {
                let (low_m, high_m) =
                    (archive.reference_m + f64::from(node.min_m), archive.reference_m + f64::from(node.max_m));
                let bounds_m = [low_m - margin_m(low_m), high_m + margin_m(high_m)];
                (*tile, [(bounds_m[0] as f32).next_down(), (bounds_m[1] as f32).next_up()])
            });
            TileBounds::new(widened)
        }
        Err(error) if error.is_mended_by_baking() => TileBounds::measure(unedited, progress)?,
        Err(error) => return Err(error.into()),
    };
    ground.check_read()?;
    let caster = RayCaster::new(unedited.clone(), bounds);
    match ground.is_edited() {
        false => Ok(caster),
        true => Ok(caster.revised(&ground.surface, &ground.surface.changed_tiles(unedited))),
    }
}

fn refused(title: &str, detail: &str) -> Failure {
    Diagnostic::error("query", title).with_detail(detail).into()
}

/// The first hit of a ray in the site frame, metres.
pub fn query_ray(caster: &RayCaster, origin_m: DVec3, direction: DVec3, most_m: f64) -> Result<RayAnswer, Failure> {
    let ray = Ray::new(origin_m, direction, most_m)
        .ok_or_else(|| refused("no such ray", "a ray needs numbers, a direction that is not zero and a length"))?;
    let hit = caster.cast(&ray);
    checked(caster)?;
    Ok(RayAnswer { ray, hit })
}

/// Whether one place sees another; heights are over the ground, metres.
pub fn query_sight(caster: &RayCaster, from: ((f64, f64), f64), to: ((f64, f64), f64)) -> Result<SightAnswer, Failure> {
    let end = |((x_m, z_m), over_m): ((f64, f64), f64)| [x_m, z_m, over_m];
    let sight = caster.line_of_sight_over_ground(end(from), end(to));
    checked(caster)?;
    let sight =
        sight.ok_or_else(|| refused("no line of sight", "an end has no ground under it, or both ends are the same"))?;
    Ok(SightAnswer { is_clear: sight.blocked.is_none(), sight })
}

/// Heights could be read, so that "no ground" means it.
fn checked(caster: &RayCaster) -> Result<(), Failure> {
    caster.surface().read_failure().map_or(Ok(()), |error| Err(Failure::unread(&error)))
}

/// Ground along a line of site x, z (metres), at most `step_m` apart.
pub fn query_profile(ground: &Ground, corners_xz_m: &[(f64, f64)], step_m: f64) -> Result<Vec<ProfileRow>, Failure> {
    let profile = ground.surface.profile(corners_xz_m, step_m).ok_or_else(|| {
        refused("no such profile", &format!("--step has to be above 0, and give at most {MOST_PROFILE_POINTS} places"))
    })?;
    ground.check_read()?;
    let row = |point: terrane_surface::ProfilePoint| ProfileRow {
        distance_m: point.distance_m,
        x_m: point.x_m,
        z_m: point.z_m,
        ground: point.ground.map(|found| answer(ground, point.x_m, point.z_m, &found)),
    };
    Ok(profile.into_iter().map(row).collect())
}

/// Ground at many places (site x and z, metres), on all cores, in order.
pub fn query_places(ground: &Ground, places_xz_m: &[(f64, f64)]) -> Result<Vec<PlaceRow>, Failure> {
    let found = ground.surface.ground_at_each(places_xz_m);
    ground.check_read()?;
    let row = |(&(x_m, z_m), found): (&(f64, f64), Option<terrane_surface::Ground>)| PlaceRow {
        x_m,
        z_m,
        ground: found.map(|found| answer(ground, x_m, z_m, &found)),
    };
    Ok(places_xz_m.iter().zip(found).map(row).collect())
}

/// How four wheels stand; `None` when one has no ground. Heading in degrees
/// clockwise from grid north.
pub fn query_footprint(
    ground: &Ground,
    (x_m, z_m): (f64, f64),
    heading_deg: f64,
    wheelbase_m: f64,
    track_m: f64,
) -> Result<Option<FootprintAnswer>, Failure> {
    if !(heading_deg.is_finite() && wheelbase_m > 0.0 && track_m > 0.0) {
        return Err(refused("no such rover", "heading, wheelbase and track have to be numbers, the latter above 0"));
    }
    let footprint = ground.surface.footprint(x_m, z_m, heading_deg.to_radians(), wheelbase_m, track_m);
    ground.check_read()?;
    Ok(footprint.map(|found| FootprintAnswer {
        wheels_m: found.wheels_m.map(|wheel| wheel.to_array()),
        y_m: found.height_m,
        normal: found.normal.to_array(),
        pitch_deg: found.pitch_rad.to_degrees(),
        roll_deg: found.roll_rad.to_degrees(),
        slope_deg: found.slope_rad.to_degrees(),
        unevenness_m: found.unevenness_m,
    }))
}

fn answer(ground: &Ground, x_m: f64, z_m: f64, found: &terrane_surface::Ground) -> GroundAnswer {
    let drop = ground.surface.curvature_drop_m(x_m, z_m);
    GroundAnswer {
        y_m: found.height_m,
        datum_height_m: found.datum_height_m,
        curvature_drop_m: drop,
        normal: found.normal.to_array(),
        slope_deg: found.slope_rad.to_degrees(),
        source: ground.surface.spec().dems[found.dem].name.clone(),
        origin: found.source,
        shaped_by: ground.surface.shaped_by(x_m, z_m).into_iter().map(str::to_owned).collect(),
        class: found.class,
        posting_m: found.posting_m,
    }
}

/// Height, normal, slope and coordinates at site x, z (metres).
pub fn query_height(ground: &Ground, x_m: f64, z_m: f64) -> Result<HeightAnswer, Failure> {
    let (easting_m, northing_m) = ground.frame.map_from_site(x_m, z_m);
    let (lon_deg, lat_deg) = ground.crs.lon_lat(easting_m, northing_m)?;
    let answer = ground.surface.ground_at(x_m, z_m).map(|found| answer(ground, x_m, z_m, &found));
    ground.check_read()?;
    Ok(HeightAnswer { x_m, z_m, easting_m, northing_m, lon_deg, lat_deg, ground: answer })
}
