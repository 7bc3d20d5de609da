//! One step: the ground first, then the engine.

use super::World;
use super::origin::travel_m;
use crate::PhysicsError;
use crate::engine::rapier::prelude::{ActiveHooks, ColliderBuilder};
use crate::engine::{Real, from_engine, to_engine};
use crate::ground::{GroundHooks, Swap};
use glam::DVec3;
use terrane_surface::{SiteRect, Surface, TileKey};

/// Ground is in for this much more than a body can reach in a step, metres.
const MARGIN_M: f64 = 1.0;
/// A body so far below any ground has fallen out of the world, metres.
const FALL_M: f64 = 1000.0;

impl World {
    /// One step. Before the engine moves anything, the colliders of every leaf
    /// that a body can reach in the step are in.
    ///
    /// # Errors
    /// [`PhysicsError::Unread`] when heights could not be read, and
    /// [`PhysicsError::TooManyTiles`] when bodies are spread too far; then
    /// nothing has moved.
    pub fn step(&mut self) -> Result<(), PhysicsError> {
        self.settle_ground()?;
        self.rebase();
        self.engine.step_with_events(&GroundHooks, &());
        self.steps += 1;
        self.retire_fallen();
        Ok(())
    }

    /// Takes another surface between two steps: what it changed, and what it
    /// splits or merges, is swapped, all at once, and bodies on it wake.
    /// `changed` are rectangles of the site where heights differ.
    ///
    /// # Errors
    /// As [`World::step`]; then the old surface is still in.
    pub fn replace_surface(&mut self, surface: Surface, changed: &[SiteRect]) -> Result<Swap, PhysicsError> {
        let swap = self.ground.replace_surface(surface, changed)?;
        let mut swapped: Vec<SiteRect> = swap.put_in.iter().map(|tile| self.bounds_of(*tile)).collect();
        swapped.extend(swap.taken_out.iter().map(|tile| self.bounds_of(*tile)));
        self.apply(&swap);
        for body in &self.bodies {
            let Some(rigid) = self.engine.bodies.get(body.handle) else { continue };
            let place_m = from_engine(rigid.translation()) + self.origin_m;
            let reach = SiteRect::around(place_m.x, place_m.z, body.reach_m + MARGIN_M);
            if !body.has_fallen && swapped.iter().any(|bounds| bounds.meets(&reach)) {
                self.engine.islands.wake_up(&mut self.engine.bodies, body.handle, true);
            }
        }
        Ok(swap)
    }

    fn bounds_of(&self, tile: TileKey) -> SiteRect {
        self.ground.surface().tile_rect(tile)
    }

    /// Every leaf that a body can reach in the next step is in.
    fn settle_ground(&mut self) -> Result<(), PhysicsError> {
        let reaches: Vec<SiteRect> = self
            .bodies
            .iter()
            .filter(|body| !body.has_fallen)
            .filter_map(|body| {
                let rigid = self.engine.bodies.get(body.handle)?;
                let place_m = from_engine(rigid.translation()) + self.origin_m;
                let travel_m = travel_m(from_engine(rigid.linvel()), self.spec.gravity_m_s2, self.spec.step_s);
                Some(SiteRect::around(place_m.x, place_m.z, body.reach_m + travel_m + MARGIN_M))
            })
            .collect();
        let swap = self.ground.follow(&reaches)?;
        self.apply(&swap);
        Ok(())
    }

    /// Brings the engine's colliders in line: all of a swap, old ones out
    /// after the new ones are in.
    fn apply(&mut self, swap: &Swap) {
        for key in &swap.put_in {
            let Some(tile) = self.ground.tile(*key) else { continue };
            self.lowest_m = tile.low_high_m().map_or(self.lowest_m, |[low, _]| self.lowest_m.min(low));
            let place = to_engine(tile.origin_m() - self.origin_m);
            match (self.handles.get(key).copied(), tile.shape()) {
                (Some(handle), Some(shape)) => {
                    if let Some(collider) = self.engine.colliders.get_mut(handle) {
                        collider.set_shape(shape);
                        collider.set_translation(place);
                    }
                }
                (Some(handle), None) => {
                    self.handles.remove(key);
                    self.engine.remove_collider(handle);
                }
                (None, Some(shape)) => {
                    let friction = self.spec.friction as Real;
                    let collider = ColliderBuilder::new(shape)
                        .translation(place)
                        .friction(friction)
                        .restitution(0.0)
                        .active_hooks(ActiveHooks::MODIFY_SOLVER_CONTACTS);
                    self.handles.insert(*key, self.engine.insert_collider(collider, None));
                }
                (None, None) => {}
            }
        }
        for key in &swap.taken_out {
            if let Some(handle) = self.handles.remove(key) {
                self.engine.remove_collider(handle);
            }
        }
    }

    /// Bodies far below the ground are no longer simulated.
    fn retire_fallen(&mut self) {
        let floor_m = self.lowest_m - FALL_M;
        for body in self.bodies.iter_mut().filter(|body| !body.has_fallen) {
            let Some(rigid) = self.engine.bodies.get_mut(body.handle) else { continue };
            let place_m = from_engine(rigid.translation()) + self.origin_m;
            if place_m.y < floor_m || !place_m.is_finite() {
                body.has_fallen = true;
                rigid.set_linvel(to_engine(DVec3::ZERO), false);
                rigid.set_enabled(false);
            }
        }
    }
}
