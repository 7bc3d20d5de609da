// The static vertex path: posts where they are. On a side that meets a coarser
// tile, posts that it lacks move to their neighbour, so that both sides have
// the same edges. Where the ground itself changes its posting no post moves: its
// posts lie on the coarser edges, and a skirt a posting deep closes what rounding
// leaves open.
#import terrane::view::view
#import terrane::maps::NO_GROUND_M
#import terrane::tile::{tiles, tile_heights, TileVaryings, TILE_CELLS, TILE_POSTS}

@vertex
fn vertex(@builtin(vertex_index) vertex: u32, @builtin(instance_index) instance: u32) -> TileVaryings {
    let tile = tiles[instance];
    var post = vec2<u32>(vertex % TILE_POSTS, vertex / TILE_POSTS);
    var skirt_m = 0.0;
    if vertex >= TILE_POSTS * TILE_POSTS {
        // West, east, north, south.
        let side = (vertex - TILE_POSTS * TILE_POSTS) / TILE_POSTS;
        let along = (vertex - TILE_POSTS * TILE_POSTS) % TILE_POSTS;
        let across = select(0u, TILE_CELLS, (side & 1u) != 0u);
        post = select(vec2<u32>(across, along), vec2<u32>(along, across), side >= 2u);
        let is_joined = (tile.joined_sides & (1u << side)) != 0u;
        skirt_m = select(0.0, view.posting_m * f32(tile.stride), is_joined);
    }
    let on_side = vec4<bool>(post.x == 0u, post.x == TILE_CELLS, post.y == 0u, post.y == TILE_CELLS);
    let is_coarser = (vec4<u32>(tile.coarser_sides) & vec4<u32>(1u, 2u, 4u, 8u)) != vec4<u32>(0u);
    let moves = on_side & is_coarser;
    post -= select(vec2<u32>(0u, 0u), post % vec2<u32>(2u, 2u), vec2<bool>(moves.z || moves.w, moves.x || moves.y));

    let height_m = textureLoad(tile_heights, vec2<i32>(post), tile.layer, 0).r;
    let is_ground = height_m > 0.5 * NO_GROUND_M;
    let xz_m = vec2<f32>(tile.first_post + vec2<i32>(post) * tile.stride) * view.posting_m - view.eye_in_cell_m;
    let y_m = select(0.0, height_m, is_ground) - skirt_m - view.eye_high_m - view.eye_low_m;

    var out: TileVaryings;
    out.rel_m = vec3<f32>(xz_m.x, y_m, xz_m.y);
    out.clip = view.clip_from_rel * vec4<f32>(out.rel_m, 1.0);
    out.presence = select(0.0, 1.0, is_ground);
    out.label = tile.label;
    return out;
}
