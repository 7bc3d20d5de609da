//! Contacts with the ground: balls by `ball.rs`, other shapes by the engine,
//! without the aprons.
//!
//! A height field that ends at its tile's border has edges there, and a wheel
//! that comes from the next tile trips over them. So each field goes on for
//! one cell into its neighbours (see `build.rs`), which gives its border edges
//! their true slopes, and what touches these cells is dropped here: the
//! neighbour itself is touched instead.

use super::ball;
use super::build::FIELD_CELLS;
use crate::engine::rapier::parry::query::details::ShapeCastOptions;
use crate::engine::rapier::parry::query::{
    ClosestPoints, Contact, ContactManifold, ContactManifoldsWorkspace, DefaultQueryDispatcher, NonlinearRigidMotion,
    PersistentQueryDispatcher, QueryDispatcher, ShapeCastHit, ShapeDistance, ShapeIntersection, Unsupported,
    details::NormalConstraints,
};
use crate::engine::rapier::parry::shape::Shape;
use crate::engine::rapier::prelude::{Collider, ContactModificationContext, PhysicsHooks};
use crate::engine::{Pose, Real, Vector};

/// Mends what a contact loses on its way through a tile's frame.
///
/// A tile's frame is up to half a tile away from its middle, where `f32`
/// rounds to micrometres: enough to set a ball that rolls for a minute
/// spinning. A contact's place on the ground follows from the ball's side and
/// the distance, both of which are known better.
pub(crate) struct GroundHooks;

impl PhysicsHooks for GroundHooks {
    fn modify_solver_contacts(&self, context: &mut ContactModificationContext<'_>) {
        let is_ground = |handle| {
            let collider: Option<&Collider> = context.colliders.get(handle);
            collider.is_some_and(|collider| collider.shape().as_heightfield().is_some())
        };
        let (is_first, is_second) = (is_ground(context.collider1), is_ground(context.collider2));
        let Some(manifold) = context.rigid_mut() else { return };
        let normal = *manifold.normal;
        for contact in manifold.solver_contacts.iter_mut() {
            if is_first {
                contact.anchor1 = contact.anchor2 - normal * contact.dist;
            } else if is_second {
                contact.anchor2 = contact.anchor1 + normal * contact.dist;
            }
        }
    }
}

/// The engine's dispatcher, with our balls and without contacts on aprons.
pub(crate) struct GroundDispatcher;

impl<M, C> PersistentQueryDispatcher<M, C> for GroundDispatcher
where
    M: Default + Clone + Send + Sync,
    C: Default + Copy + Send + Sync,
{
    fn contact_manifolds(
        &self,
        pos12: &Pose,
        g1: &dyn Shape,
        g2: &dyn Shape,
        prediction: Real,
        manifolds: &mut Vec<ContactManifold<M, C>>,
        workspace: &mut Option<ContactManifoldsWorkspace>,
    ) -> Result<(), Unsupported> {
        if let (Some(field), Some(ball)) = (g1.as_heightfield(), g2.as_ball()) {
            ball::contacts(pos12, field, ball, prediction, manifolds, false);
            return Ok(());
        }
        if let (Some(ball), Some(field)) = (g1.as_ball(), g2.as_heightfield()) {
            ball::contacts(&pos12.inverse(), field, ball, prediction, manifolds, true);
            return Ok(());
        }
        DefaultQueryDispatcher.contact_manifolds(pos12, g1, g2, prediction, manifolds, workspace)?;
        let is_first = g1.as_heightfield().is_some();
        if is_first || g2.as_heightfield().is_some() {
            for manifold in manifolds {
                if is_on_apron(if is_first { manifold.subshape1 } else { manifold.subshape2 }) {
                    manifold.clear();
                }
            }
        }
        Ok(())
    }

    fn contact_manifold_convex_convex(
        &self,
        pos12: &Pose,
        g1: &dyn Shape,
        g2: &dyn Shape,
        normal_constraints1: Option<&dyn NormalConstraints>,
        normal_constraints2: Option<&dyn NormalConstraints>,
        prediction: Real,
        manifold: &mut ContactManifold<M, C>,
    ) -> Result<(), Unsupported> {
        DefaultQueryDispatcher.contact_manifold_convex_convex(
            pos12,
            g1,
            g2,
            normal_constraints1,
            normal_constraints2,
            prediction,
            manifold,
        )
    }
}

/// True when a triangle of a height field belongs to its apron. parry counts
/// triangles column by column, all north-west ones first.
fn is_on_apron(triangle: u32) -> bool {
    let cell = triangle as usize % (FIELD_CELLS * FIELD_CELLS);
    let is_border = |k: usize| k == 0 || k == FIELD_CELLS - 1;
    is_border(cell / FIELD_CELLS) || is_border(cell % FIELD_CELLS)
}

impl QueryDispatcher for GroundDispatcher {
    fn intersection_test(
        &self,
        pos12: &Pose,
        g1: &dyn Shape,
        g2: &dyn Shape,
    ) -> Result<ShapeIntersection, Unsupported> {
        DefaultQueryDispatcher.intersection_test(pos12, g1, g2)
    }

    fn distance(&self, pos12: &Pose, g1: &dyn Shape, g2: &dyn Shape) -> Result<ShapeDistance, Unsupported> {
        DefaultQueryDispatcher.distance(pos12, g1, g2)
    }

    fn contact(
        &self,
        pos12: &Pose,
        g1: &dyn Shape,
        g2: &dyn Shape,
        prediction: Real,
    ) -> Result<Option<Contact>, Unsupported> {
        DefaultQueryDispatcher.contact(pos12, g1, g2, prediction)
    }

    fn closest_points(
        &self,
        pos12: &Pose,
        g1: &dyn Shape,
        g2: &dyn Shape,
        max_dist: Real,
    ) -> Result<ClosestPoints, Unsupported> {
        DefaultQueryDispatcher.closest_points(pos12, g1, g2, max_dist)
    }

    fn cast_shapes(
        &self,
        pos12: &Pose,
        local_vel12: Vector,
        g1: &dyn Shape,
        g2: &dyn Shape,
        options: ShapeCastOptions,
    ) -> Result<Option<ShapeCastHit>, Unsupported> {
        DefaultQueryDispatcher.cast_shapes(pos12, local_vel12, g1, g2, options)
    }

    fn cast_shapes_nonlinear(
        &self,
        motion1: &NonlinearRigidMotion,
        g1: &dyn Shape,
        motion2: &NonlinearRigidMotion,
        g2: &dyn Shape,
        start_time: Real,
        end_time: Real,
        stop_at_penetration: bool,
    ) -> Result<Option<ShapeCastHit>, Unsupported> {
        DefaultQueryDispatcher.cast_shapes_nonlinear(
            motion1,
            g1,
            motion2,
            g2,
            start_time,
            end_time,
            stop_at_penetration,
        )
    }
}
