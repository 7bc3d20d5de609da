//! What a planner asks along a way: what is seen from where, how the ground
//! runs under a line, how a rover stands.

use crate::rays::{Ray, RayCaster, RayHit};
use crate::{Ground, Surface};
use glam::DVec3;
use rayon::prelude::*;
use serde::Serialize;

/// Whether one place sees another.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct LineOfSight {
    /// One end, site frame.
    pub from_m: DVec3,
    /// The other end, site frame.
    pub to_m: DVec3,
    /// Between both, metres.
    pub distance_m: f64,
    /// Where the line first meets the ground; `None` when it is clear.
    pub blocked: Option<RayHit>,
}

/// Ground at one place of a profile.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct ProfilePoint {
    /// Along the polyline in plan, from its beginning, metres.
    pub distance_m: f64,
    /// Site x, metres.
    pub x_m: f64,
    /// Site z, metres.
    pub z_m: f64,
    /// The ground; `None` in a hole or outside.
    pub ground: Option<Ground>,
}

/// The plane on which four wheels stand.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Footprint {
    /// Wheel contacts: front left, front right, rear left, rear right; site
    /// frame, metres.
    pub wheels_m: [DVec3; 4],
    /// Site y of the plane at the centre, metres.
    pub height_m: f64,
    /// Upward unit normal of the plane, site frame.
    pub normal: DVec3,
    /// Nose up is positive, radians.
    pub pitch_rad: f64,
    /// Left side up is positive, radians.
    pub roll_rad: f64,
    /// Angle between the normal and straight up, radians.
    pub slope_rad: f64,
    /// Largest vertical distance between a wheel's contact and the plane,
    /// metres: four points seldom lie in one.
    pub unevenness_m: f64,
}

/// How close to its ends a line of sight may touch the ground, relative to its
/// length: an end that stands on the ground does not block itself.
const END: f64 = 1e-9;
/// Profiles hold at most so many places.
pub const MOST_PROFILE_POINTS: usize = 10_000_000;

impl RayCaster {
    /// Whether one place sees another, both given in the site frame.
    pub fn line_of_sight(&self, from_m: DVec3, to_m: DVec3) -> Option<LineOfSight> {
        let whole = Ray::between(from_m, to_m)?;
        let margin_m = END * whole.most_m;
        let ray = Ray { origin_m: whole.at_m(margin_m), most_m: whole.most_m - 2.0 * margin_m, ..whole };
        let blocked = self.cast(&ray).map(|hit| RayHit { distance_m: hit.distance_m + margin_m, ..hit });
        Some(LineOfSight { from_m, to_m, distance_m: whole.most_m, blocked })
    }

    /// Whether a place above the ground sees another one, each by site x, z and
    /// height over the ground, metres. `None` when an end has no ground or both
    /// are the same.
    pub fn line_of_sight_over_ground(&self, from: [f64; 3], to: [f64; 3]) -> Option<LineOfSight> {
        let place = |[x_m, z_m, over_m]: [f64; 3]| {
            let ground = self.surface().ground_at(x_m, z_m)?;
            Some(DVec3::new(x_m, ground.height_m + over_m, z_m))
        };
        self.line_of_sight(place(from)?, place(to)?)
    }
}

impl Surface {
    /// Ground along a polyline of site x, z: at its corners and, between them,
    /// at even steps of at most `step_m`. `None` when that would be more than
    /// [`MOST_PROFILE_POINTS`], or the step is not above 0.
    pub fn profile(&self, corners_xz_m: &[(f64, f64)], step_m: f64) -> Option<Vec<ProfilePoint>> {
        let mut places = Vec::new();
        let mut begun_m = 0.0;
        for pair in corners_xz_m.windows(2) {
            let [(x0, z0), (x1, z1)] = [pair[0], pair[1]];
            let length_m = (x1 - x0).hypot(z1 - z0);
            let steps = (length_m / step_m).ceil().max(1.0);
            let is_sane = step_m > 0.0 && steps.is_finite();
            if !is_sane || places.len() as f64 + steps > MOST_PROFILE_POINTS as f64 {
                return None;
            }
            places.extend((0..steps as usize).map(|k| {
                let t = k as f64 / steps;
                (begun_m + t * length_m, x0 + t * (x1 - x0), z0 + t * (z1 - z0))
            }));
            begun_m += length_m;
        }
        places.extend(corners_xz_m.last().map(|(x, z)| (begun_m, *x, *z)));
        let point = |&(distance_m, x_m, z_m): &(f64, f64, f64)| ProfilePoint {
            distance_m,
            x_m,
            z_m,
            ground: self.ground_at(x_m, z_m),
        };
        Some(places.par_iter().map(point).collect())
    }

    /// How four wheels stand around site x, z. `heading_rad` is clockwise from
    /// grid north (-z); the wheelbase runs along it, the track across, metres.
    /// The plane is the one nearest to the four contacts in height (least
    /// squares). `None` when a wheel has no ground.
    pub fn footprint(&self, x_m: f64, z_m: f64, heading_rad: f64, wheelbase_m: f64, track_m: f64) -> Option<Footprint> {
        let forward = DVec3::new(heading_rad.sin(), 0.0, -heading_rad.cos());
        let right = DVec3::new(heading_rad.cos(), 0.0, heading_rad.sin());
        let (ahead, aside) = (0.5 * wheelbase_m, 0.5 * track_m);
        if !(ahead > 0.0 && aside > 0.0) {
            return None;
        }
        let mut wheels_m = [DVec3::ZERO; 4];
        for (wheel, (f, r)) in wheels_m.iter_mut().zip([(1.0, -1.0), (1.0, 1.0), (-1.0, -1.0), (-1.0, 1.0)]) {
            let place = DVec3::new(x_m, 0.0, z_m) + f * ahead * forward + r * aside * right;
            *wheel = place.with_y(self.ground_at(place.x, place.z)?.height_m);
        }
        // Least squares over a rectangle: the means of its sides.
        let [front_left, front_right, rear_left, rear_right] = wheels_m.map(|wheel| wheel.y);
        let height_m = 0.25 * (front_left + front_right + rear_left + rear_right);
        let forward_grade = 0.5 * ((front_left + front_right) - (rear_left + rear_right)) / wheelbase_m;
        let right_grade = 0.5 * ((front_right + rear_right) - (front_left + rear_left)) / track_m;
        let normal = (DVec3::Y - forward_grade * forward - right_grade * right).normalize();
        let plane_m = |f: f64, r: f64| height_m + f * ahead * forward_grade + r * aside * right_grade;
        Some(Footprint {
            wheels_m,
            height_m,
            normal,
            pitch_rad: forward_grade.atan(),
            // About the rover's own forward axis, which is pitched.
            roll_rad: (-right_grade / forward_grade.hypot(1.0)).atan(),
            slope_rad: normal.y.clamp(-1.0, 1.0).acos(),
            unevenness_m: (front_left - plane_m(1.0, -1.0)).abs(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{DemGrid, SurfaceSpec, TileBounds};
    use terrane_core::Quiet;

    fn surface(height: impl Fn(f64, f64) -> f64) -> Surface {
        let place = |k: usize| k as f64 - 100.0;
        let heights = (0..201 * 201).map(|k| height(place(k % 201), place(k / 201)) as f32);
        let dem = DemGrid::in_memory("t", (-100.0, -100.0), 1.0, (201, 201), heights.collect());
        Surface::new(SurfaceSpec { dems: vec![dem], ..SurfaceSpec::default() }).unwrap()
    }

    #[test]
    fn a_wall_hides_what_is_behind_it_and_a_mast_sees_over_it() {
        let surface = surface(|x, _| if x == 10.0 { 5.0 } else { 0.0 });
        let bounds = TileBounds::measure(&surface, &Quiet).unwrap();
        let caster = RayCaster::new(surface, bounds);
        let sight =
            |over_m: f64| caster.line_of_sight_over_ground([-20.0, 3.25, over_m], [40.0, 3.25, over_m]).unwrap();
        let blocked = sight(2.0).blocked.unwrap();
        assert!((blocked.position_m - DVec3::new(9.4, 2.0, 3.25)).length() < 1e-9, "{blocked:?}");
        assert!((blocked.distance_m - 29.4).abs() < 1e-9);
        assert!(sight(5.001).blocked.is_none() && sight(4.999).blocked.is_some());
        // Both ways alike, and ends on the ground block nothing.
        assert!(caster.line_of_sight_over_ground([40.0, 3.25, 2.0], [-20.0, 3.25, 2.0]).unwrap().blocked.is_some());
        assert!(caster.line_of_sight_over_ground([-20.0, 0.0, 0.0], [-30.0, 7.0, 1.0]).unwrap().blocked.is_none());
        assert!(caster.line_of_sight_over_ground([-20.0, 0.0, 0.0], [-300.0, 7.0, 1.0]).is_none());
    }

    #[test]
    fn a_profile_has_its_corners_and_says_where_there_is_no_ground() {
        let surface = surface(|x, z| x + 2.0 * z);
        let profile = surface.profile(&[(0.0, 0.0), (30.0, 40.0), (130.0, 40.0)], 7.0).unwrap();
        assert_eq!(profile.len(), 8 + 15 + 1);
        assert_eq!((profile[8].distance_m, profile[8].x_m, profile[8].z_m), (50.0, 30.0, 40.0));
        assert_eq!(profile.last().map(|last| last.distance_m), Some(150.0));
        for point in &profile {
            let expected = (point.x_m <= 100.0).then_some(point.x_m + 2.0 * point.z_m);
            match (point.ground, expected) {
                (Some(ground), Some(height_m)) => assert!((ground.height_m - height_m).abs() < 1e-9),
                (None, None) => {}
                other => panic!("{other:?}"),
            }
        }
        for step_m in [0.0, -1.0, f64::NAN, 1e-9] {
            assert!(surface.profile(&[(0.0, 0.0), (30.0, 40.0)], step_m).is_none(), "{step_m}");
        }
    }

    #[test]
    fn a_rover_on_a_ramp_has_the_ramps_pitch_and_roll() {
        // 30 degrees up towards the east.
        let grade = 30.0_f64.to_radians().tan();
        let ramp = surface(|x, _| x * grade);
        let stand = |heading_deg: f64| ramp.footprint(3.3, -8.1, heading_deg.to_radians(), 1.6, 1.2).unwrap();
        let east = stand(90.0);
        assert!((east.pitch_rad.to_degrees() - 30.0).abs() < 1e-4 && east.roll_rad.abs() < 1e-6, "{east:?}");
        // Facing north, the right side is up.
        let north = stand(0.0);
        assert!((north.roll_rad.to_degrees() + 30.0).abs() < 1e-4 && north.pitch_rad.abs() < 1e-6, "{north:?}");
        let north_east = stand(45.0);
        assert!((north_east.slope_rad.to_degrees() - 30.0).abs() < 1e-4 && north_east.unevenness_m < 1e-6);
        // Pitch and roll, in that order, make the normal.
        let (pitch, roll) = (north_east.pitch_rad, north_east.roll_rad);
        assert!((pitch.cos() * roll.cos() - north_east.normal.y).abs() < 1e-9);
        // One wheel on a step of 0.2 m: a quarter of it is unevenness.
        let step = surface(|x, z| if x > 0.0 && z > 0.0 { 0.2 } else { 0.0 });
        let uneven = step.footprint(0.0, 0.0, 0.0, 8.0, 8.0).unwrap();
        assert!((uneven.unevenness_m - 0.05).abs() < 1e-6 && (uneven.height_m - 0.05).abs() < 1e-6, "{uneven:?}");
        assert!(step.footprint(99.9, 0.0, 0.0, 1.6, 1.2).is_none());
        assert!(
            step.footprint(0.0, 0.0, f64::NAN, 1.6, 1.2).is_none() && step.footprint(0.0, 0.0, 0.0, 0.0, 1.0).is_none()
        );
    }
}
