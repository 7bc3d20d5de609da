//! Contacts of a ball with a height field.
//!
//! parry finds them triangle by triangle, bends each normal into the
//! triangle's own cone and then casts a ray to see how far the ground is that
//! way. Such rays miss on posts and edges, and a ball that rests just there
//! falls through; and in `f32` the normals of level ground lean by 1e-5. So
//! balls, and with them wheels, are treated here, in `f64`:
//!
//! - The nearest point of each triangle near the ball is found, and the
//!   feature that it lies on: the face, an edge, a post.
//! - A face is a contact, its normal the triangle's own.
//! - An edge or a post is a contact where no other triangle that shares it is
//!   nearer: only there is it a ridge to the ball. Elsewhere the other
//!   triangle is what the ball meets, and a contact with the edge would be a
//!   step that is not there (the internal-edge problem).

use super::build::FIELD_CELLS;
use crate::engine::rapier::parry::bounding_volume::Aabb;
use crate::engine::rapier::parry::query::{ContactManifold, TrackedContact};
use crate::engine::rapier::parry::shape::{Ball, HeightField, PackedFeatureId, Triangle};
use crate::engine::{Pose, Real, Vector, f64_of, from_engine, to_engine};
use glam::DVec3;

/// Distances that differ by less are the same: rounding of `f64`.
const SAME_M: f64 = 1e-9;

/// A triangle near the ball.
struct Near {
    /// Row (along z), column (along x), and which half of the cell.
    place: Place,
    /// From the ball's centre to the nearest point; negative when the centre
    /// lies behind the face.
    distance: f64,
    /// From the ground to the centre, of unit length.
    normal: DVec3,
    /// Posts of the feature that the nearest point lies on; none for a face.
    posts: Vec<(usize, usize)>,
}

type Place = (usize, usize, bool);

/// Posts of a triangle, counterclockwise from above, as (row, column).
fn posts_of((i, j, is_left): Place) -> [(usize, usize); 3] {
    if is_left { [(i, j), (i + 1, j), (i, j + 1)] } else { [(i + 1, j), (i + 1, j + 1), (i, j + 1)] }
}

/// The engine's number of a triangle.
fn number_of((i, j, is_left): Place) -> u32 {
    let cells = FIELD_CELLS * FIELD_CELLS;
    (j * FIELD_CELLS + i + if is_left { 0 } else { cells }) as u32
}

/// Contacts of `ball`, whose pose in the field's frame is `pose`, one manifold
/// a triangle, in the order of the field's cells. `is_flipped` when the ball is
/// the pair's first shape.
pub(super) fn contacts<M, C>(
    pose: &Pose,
    field: &HeightField,
    ball: &Ball,
    prediction: Real,
    manifolds: &mut Vec<ContactManifold<M, C>>,
    is_flipped: bool,
) where
    M: Default + Clone,
    C: Default + Copy,
{
    let centre = from_engine(pose.translation);
    let reach = f64_of(ball.radius + prediction);
    let window = Window::around(field, centre, reach);
    let mut before = std::mem::take(manifolds);
    for found in window.near.iter().flatten() {
        if is_apron(found.place) || found.distance > reach || window.is_behind_another(found) {
            continue;
        }
        let number = number_of(found.place);
        // The impulses of the step before are where the solver starts.
        let same = before.iter().position(|old| if is_flipped { old.subshape2 } else { old.subshape1 } == number);
        let mut manifold = same.map(|k| before.swap_remove(k)).unwrap_or_else(|| {
            let (first, second) = if is_flipped { (0, number) } else { (number, 0) };
            ContactManifold::with_data(first, second, M::default())
        });
        let on_ground = to_engine(centre - found.normal * found.distance);
        let normal = to_engine(found.normal);
        let ball_normal = pose.rotation.inverse() * -normal;
        let contact = TrackedContact::flipped(
            on_ground,
            ball_normal * ball.radius,
            PackedFeatureId::face(0),
            PackedFeatureId::face(0),
            (found.distance - f64_of(ball.radius)) as Real,
            is_flipped,
        );
        match manifold.points.as_mut_slice() {
            [point] => point.copy_geometry_from(contact),
            _ => {
                manifold.clear();
                manifold.points.push(contact);
            }
        }
        (manifold.local_n1, manifold.local_n2) = if is_flipped { (ball_normal, normal) } else { (normal, ball_normal) };
        manifolds.push(manifold);
    }
}

/// True when the cell belongs to a neighbour (see `build.rs`).
fn is_apron((i, j, _): Place) -> bool {
    let is_border = |k: usize| k == 0 || k == FIELD_CELLS - 1;
    is_border(i) || is_border(j)
}

/// The triangles near a ball, found by their places.
struct Window {
    first_row: usize,
    first_column: usize,
    rows: usize,
    columns: usize,
    /// Two for each cell, column by column.
    near: Vec<Option<Near>>,
}

impl Window {
    fn around(field: &HeightField, centre: DVec3, reach: f64) -> Self {
        let (middle, reach_vector) = (to_engine(centre), Vector::splat(reach as Real));
        let bounds = Aabb::new(middle - reach_vector, middle + reach_vector);
        let (rows, columns) = field.unclamped_elements_range_in_local_aabb(&bounds);
        let clamp = |k: isize| k.clamp(0, FIELD_CELLS as isize) as usize;
        let (rows, columns) = (clamp(rows.start)..clamp(rows.end), clamp(columns.start)..clamp(columns.end));
        let mut near = Vec::with_capacity(2 * rows.len() * columns.len());
        for j in columns.clone() {
            for i in rows.clone() {
                let (left, right) = field.triangles_at(i, j);
                for (triangle, is_left) in [(left, true), (right, false)] {
                    near.push(triangle.and_then(|triangle| nearest((i, j, is_left), &triangle, centre, reach)));
                }
            }
        }
        let (first_row, first_column) = (rows.start, columns.start);
        Self { first_row, first_column, rows: rows.len(), columns: columns.len(), near }
    }

    fn at(&self, i: usize, j: usize, half: usize) -> Option<&Near> {
        let (i, j) = (i.checked_sub(self.first_row)?, j.checked_sub(self.first_column)?);
        (i < self.rows && j < self.columns).then(|| self.near[2 * (j * self.rows + i) + half].as_ref()).flatten()
    }

    /// True when another triangle around the same edge or post is nearer.
    fn is_behind_another(&self, found: &Near) -> bool {
        let Some(&(row, column)) = found.posts.first() else { return false };
        // Only the cells around a post have it.
        let cells = [(1, 1), (1, 0), (0, 1), (0, 0)];
        let around = cells.into_iter().filter_map(|(di, dj)| Some((row.checked_sub(di)?, column.checked_sub(dj)?)));
        around.flat_map(|(i, j)| [self.at(i, j, 0), self.at(i, j, 1)]).flatten().any(|other| {
            other.distance.abs() < found.distance.abs() - SAME_M
                && found.posts.iter().all(|post| posts_of(other.place).contains(post))
        })
    }
}

/// The nearest point of a triangle, a little farther than the reach too, so
/// that what shares a feature is known. `None` far away, and from behind
/// unless the face itself is nearest.
fn nearest(place: Place, triangle: &Triangle, centre: DVec3, reach: f64) -> Option<Near> {
    let corners = [triangle.a, triangle.b, triangle.c].map(from_engine);
    let [a, b, c] = corners;
    let face = (b - a).cross(c - a).normalize();
    let height = (centre - a).dot(face);
    if height.abs() > reach || !face.is_finite() {
        return None;
    }
    let posts = posts_of(place);
    let (point, on) = super::nearest::nearest_on(centre, corners);
    if on.is_empty() {
        return Some(Near { place, distance: height, normal: face, posts: vec![] });
    }
    let away = centre - point;
    let distance = away.length();
    // On an edge within rounding of the face, or on the edge itself.
    let normal = if distance < SAME_M { face } else { away / distance };
    (height >= 0.0).then(|| Near { place, distance, normal, posts: on.iter().map(|k| posts[*k]).collect() })
}
