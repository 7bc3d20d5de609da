//! Where to drive.

use crate::PhysicsError;
use serde::{Deserialize, Serialize};
use terrane_surface::Surface;

/// Waypoints on a surface: site x and z, metres.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct DrivePath {
    waypoints_xz_m: Vec<(f64, f64)>,
}

/// Legs of a seeded path, metres.
const LEG_M: [f64; 2] = [6.0, 15.0];
/// The most that a leg of a seeded path turns from the one before, radians.
const TURN_RAD: f64 = 0.9;
/// The steepest ground that a seeded path crosses, radians.
const STEEP_RAD: f64 = 0.35;
/// How far a seeded path stays from where there is no ground, metres.
const BESIDE_M: f64 = 2.0;
/// Legs that are tried from one place before the last one is taken back.
const TRIES: u32 = 24;
/// The most legs that are tried in all.
const MOST_TRIES: u32 = 100_000;

impl DrivePath {
    /// A path through these places, in order.
    ///
    /// # Errors
    /// [`PhysicsError::NoPath`] when there are fewer than two, when one is not
    /// a number, or when they are less than a metre long in all.
    pub fn new(waypoints_xz_m: Vec<(f64, f64)>) -> Result<Self, PhysicsError> {
        let path = Self { waypoints_xz_m };
        let is_finite = path.waypoints_xz_m.iter().all(|(x, z)| x.is_finite() && z.is_finite());
        if path.waypoints_xz_m.len() < 2 || !is_finite || path.length_m() < 1.0 {
            return Err(PhysicsError::NoPath);
        }
        Ok(path)
    }

    /// A random path of at least `distance_m` metres from `start_xz_m`: legs of 6 to 15 m
    /// that turn by up to 52 degrees, over ground that is nowhere
    /// steeper than 20 degrees and not beside a hole. The same seed on the same
    /// surface gives the same path.
    ///
    /// # Errors
    /// [`PhysicsError::NoGround`] when there is none at the start;
    /// [`PhysicsError::NoWay`] when no way is found.
    pub fn seeded(surface: &Surface, seed: u64, start_xz_m: (f64, f64), distance_m: f64) -> Result<Self, PhysicsError> {
        let (x_m, z_m) = start_xz_m;
        if surface.ground_at(x_m, z_m).is_none() {
            return Err(PhysicsError::NoGround { x_m, z_m });
        }
        let no_way = PhysicsError::NoWay { seed, distance_m };
        if !(distance_m.is_finite() && distance_m >= 1.0) {
            return Err(no_way);
        }
        let mut random = SplitMix(seed);
        // Each place with the heading that led there and the tries left from it.
        let mut legs = vec![(start_xz_m, random.between(0.0, std::f64::consts::TAU), 4 * TRIES)];
        let mut gone_m = vec![0.0];
        for _ in 0..MOST_TRIES {
            let Some((from, heading_rad, tries)) = legs.last_mut() else { break };
            if *tries == 0 {
                legs.pop();
                gone_m.pop();
                continue;
            }
            *tries -= 1;
            let is_first = gone_m.len() == 1;
            let most_rad = if is_first { std::f64::consts::PI } else { TURN_RAD };
            let heading_rad = *heading_rad + random.between(-most_rad, most_rad);
            let so_far_m = gone_m.last().copied().unwrap_or(0.0);
            let leg_m = random.between(LEG_M[0], LEG_M[1]).min((distance_m - so_far_m).max(2.0));
            let to = (from.0 + leg_m * heading_rad.sin(), from.1 - leg_m * heading_rad.cos());
            if is_passable(surface, *from, to) {
                legs.push((to, heading_rad, TRIES));
                gone_m.push(so_far_m + leg_m);
                if so_far_m + leg_m >= distance_m - 1e-9 {
                    return Self::new(legs.into_iter().map(|(place, ..)| place).collect());
                }
            }
        }
        Err(no_way)
    }

    /// The waypoints, site x and z, metres.
    pub fn waypoints_xz_m(&self) -> &[(f64, f64)] {
        &self.waypoints_xz_m
    }

    /// Its length in plan, metres.
    pub fn length_m(&self) -> f64 {
        self.waypoints_xz_m.windows(2).map(|pair| (pair[1].0 - pair[0].0).hypot(pair[1].1 - pair[0].1)).sum()
    }
}

/// True when a rover can go straight from one place to another: the ground on
/// the line and beside it is there and not steep.
fn is_passable(surface: &Surface, from: (f64, f64), to: (f64, f64)) -> bool {
    let (dx, dz) = (to.0 - from.0, to.1 - from.1);
    let length_m = dx.hypot(dz);
    let (ux, uz) = (dx / length_m, dz / length_m);
    let steps = (length_m + BESIDE_M).ceil() as i32;
    (0..=steps).all(|k| {
        let along_m = f64::from(k);
        [-BESIDE_M, -0.7, 0.0, 0.7, BESIDE_M].into_iter().all(|across_m| {
            let (x_m, z_m) = (from.0 + ux * along_m - uz * across_m, from.1 + uz * along_m + ux * across_m);
            surface.ground_at(x_m, z_m).is_some_and(|ground| ground.slope_rad < STEEP_RAD)
        })
    })
}

/// Steele, Lea, Flood: Fast splittable pseudorandom number generators, 2014.
struct SplitMix(u64);

impl SplitMix {
    fn between(&mut self, low: f64, high: f64) -> f64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^= z >> 31;
        low + (high - low) * (z >> 11) as f64 / (1_u64 << 53) as f64
    }
}
