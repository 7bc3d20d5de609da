//! From a tile's posts to a shape of the engine.

use super::tile::TileCollider;
use crate::engine::rapier::parry::shape::{
    HeightField, HeightFieldCellStatus, HeightFieldFlags, SharedShape, TriMesh, TriMeshFlags, Triangle,
};
use crate::engine::rapier::parry::utils::Array2;
use crate::engine::{Real, Vector, to_engine};
use std::sync::Arc;
use terrane_surface::{Surface, TILE_CELLS, TILE_POSTS};

/// Cells of a height field beside each border of its tile. They belong to the
/// neighbours and are never touched (see `dispatch.rs`): the engine reads from
/// them how the slope goes on.
pub(super) const APRON: u32 = 1;
/// Cells along a side of a height field, its apron included.
pub(super) const FIELD_CELLS: usize = (TILE_CELLS + 2 * APRON) as usize;

/// A shape and how to find its triangles.
#[derive(Clone)]
pub(super) struct Built {
    pub shape: SharedShape,
    triangles: Triangles,
}

#[derive(Clone)]
enum Triangles {
    Field(Arc<HeightField>),
    /// For each cell and half the triangle's index in the mesh.
    Mesh(Arc<TriMesh>, Vec<Option<u32>>),
}

impl Built {
    /// A triangle as the engine has it, in the tile's own frame.
    pub fn triangle(&self, (u, v): (u32, u32), is_north_west: bool) -> Option<Triangle> {
        match &self.triangles {
            Triangles::Field(field) => {
                let (left, right) = field.triangles_at((v + APRON) as usize, (u + APRON) as usize);
                if is_north_west { left } else { right }
            }
            Triangles::Mesh(mesh, places) => {
                let index = (*places.get(half_index(u, v, is_north_west))?)?;
                Some(mesh.triangle(index))
            }
        }
    }
}

fn half_index(u: u32, v: u32, is_north_west: bool) -> usize {
    2 * (v * TILE_CELLS + u) as usize + usize::from(!is_north_west)
}

/// The height field: the leaf's posts, and a ring of the neighbours' ground
/// around them.
///
/// parry keeps heights column by column with rows along z, and joins
/// (-x, +z) with (+x, -z) in every cell, as the surface does.
pub(super) fn height_field(surface: &Surface, tile: &TileCollider) -> Built {
    let side = FIELD_CELLS + 1;
    let (origin_m, posting_m) = (tile.origin_m(), tile.posting_m());
    let apron_m = |u: i64, v: i64| {
        let x_m = tile.bounds().x_m[0] + u as f64 * posting_m;
        let z_m = tile.bounds().z_m[0] + v as f64 * posting_m;
        surface.ground_at(x_m, z_m).map(|ground| ground.height_m)
    };
    let post_m = |u: i64, v: i64| {
        let inside = 0..i64::from(TILE_POSTS);
        if inside.contains(&u) && inside.contains(&v) { tile.post_m(u as u32, v as u32) } else { apron_m(u, v) }
    };
    let places = (0..side as i64).flat_map(|j| (0..side as i64).map(move |i| (j, i)));
    let posts: Vec<Option<f64>> = places
        .map(|(j, i)| post_m(j - i64::from(APRON), i - i64::from(APRON)).filter(|post| post.is_finite()))
        .collect();
    // What stands for a hole's post is never part of a triangle.
    let heights = posts.iter().map(|post| post.map_or(0.0, |post| (post - origin_m.y) as Real)).collect();
    let width = (FIELD_CELLS as f64 * posting_m) as Real;
    let scale = Vector::new(width, 1.0, width);
    let mut field =
        HeightField::with_flags(Array2::new(side, side, heights), scale, HeightFieldFlags::FIX_INTERNAL_EDGES);
    let has = |i: usize, j: usize| posts[j * side + i].is_some();
    for j in 0..FIELD_CELLS {
        for i in 0..FIELD_CELLS {
            let diagonal = has(i + 1, j) && has(i, j + 1);
            let mut status = HeightFieldCellStatus::empty();
            if !(diagonal && has(i, j)) {
                status |= HeightFieldCellStatus::LEFT_TRIANGLE_REMOVED;
            }
            if !(diagonal && has(i + 1, j + 1)) {
                status |= HeightFieldCellStatus::RIGHT_TRIANGLE_REMOVED;
            }
            field.set_cell_status(i, j, status);
        }
    }
    let field = Arc::new(field);
    Built { shape: SharedShape(field.clone()), triangles: Triangles::Field(field) }
}

/// The mesh of the tile's own triangles; `None` when there is none.
pub(super) fn triangle_mesh(tile: &TileCollider) -> Option<Built> {
    let origin_m = tile.origin_m();
    let mut vertices: Vec<Vector> = Vec::new();
    let mut of_post = vec![None; (TILE_POSTS * TILE_POSTS) as usize];
    let mut indices = Vec::new();
    let mut places = vec![None; (2 * TILE_CELLS * TILE_CELLS) as usize];
    for v in 0..TILE_CELLS {
        for u in 0..TILE_CELLS {
            for is_north_west in [true, false] {
                let Some(corners_m) = tile.corners_m(u, v, is_north_west) else { continue };
                let posts = if is_north_west { [(0, 0), (0, 1), (1, 0)] } else { [(0, 1), (1, 1), (1, 0)] };
                let corners = [0, 1, 2].map(|k| {
                    let (du, dv) = posts[k];
                    *of_post[((v + dv) * TILE_POSTS + u + du) as usize].get_or_insert_with(|| {
                        vertices.push(to_engine(corners_m[k] - origin_m));
                        vertices.len() as u32 - 1
                    })
                });
                places[half_index(u, v, is_north_west)] = Some(indices.len() as u32);
                indices.push(corners);
            }
        }
    }
    let mesh = TriMesh::with_flags(vertices, indices, TriMeshFlags::FIX_INTERNAL_EDGES).ok()?;
    let mesh = Arc::new(mesh);
    Some(Built { shape: SharedShape(mesh.clone()), triangles: Triangles::Mesh(mesh, places) })
}
