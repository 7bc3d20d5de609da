//! The engine's origin goes with the bodies.
//!
//! In `f32` a position of 1 km is rounded to 0.06 mm, and every step of a slow
//! body to whole multiples of it: a ball at 0.5 m/s then gains or loses a
//! tenth of its speed. So the origin stays within metres of the bodies. It
//! moves by whole metres, which `f32` subtracts from a body's position without
//! rounding.

use super::World;
use crate::engine::{from_engine, to_engine};
use glam::DVec3;

/// The origin moves when the bodies' middle is farther than this from it, in
/// x, y or z, metres.
const LEASH_M: f64 = 2.0;
/// A body so far below any ground falls for ever, metres.
const FALLING_M: f64 = 50.0;

impl World {
    /// Puts the origin at the first body.
    pub(super) fn start_at(&mut self, position_m: DVec3) {
        if self.bodies.is_empty() {
            self.origin_m = position_m.round();
            self.lowest_m = self.lowest_m.min(position_m.y);
        }
    }

    /// Moves the origin when the bodies have left it.
    pub(super) fn rebase(&mut self) {
        // Bodies that rest or fall for ever need no precision.
        let floor_m = self.lowest_m - FALLING_M - self.origin_m.y;
        let places = self.bodies.iter().filter(|body| !body.has_fallen).filter_map(|body| {
            let rigid = self.engine.bodies.get(body.handle)?;
            let place = from_engine(rigid.translation());
            (!rigid.is_sleeping() && place.y > floor_m).then_some(place)
        });
        let range = places.fold(None, |range: Option<(DVec3, DVec3)>, place| {
            Some(range.map_or((place, place), |(low, high)| (low.min(place), high.max(place))))
        });
        let Some((low, high)) = range else { return };
        let shift_m = (0.5 * (low + high)).round();
        if !shift_m.is_finite() || shift_m.abs().max_element() <= LEASH_M {
            return;
        }
        self.origin_m += shift_m;
        let shift = to_engine(shift_m);
        for body in &self.bodies {
            if let Some(rigid) = self.engine.bodies.get_mut(body.handle) {
                let moved = rigid.translation() - shift;
                rigid.set_translation(moved, false);
            }
        }
        for (tile, handle) in &self.handles {
            let Some(tile) = self.ground.tile(*tile) else { continue };
            if let Some(collider) = self.engine.colliders.get_mut(*handle) {
                collider.set_translation(to_engine(tile.origin_m() - self.origin_m));
            }
        }
    }
}

/// The step that a body of this speed takes, metres.
pub(super) fn travel_m(velocity: DVec3, gravity_m_s2: f64, step_s: f64) -> f64 {
    (velocity.length() + gravity_m_s2 * step_s) * step_s
}
