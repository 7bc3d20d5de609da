// What a tile is drawn from, and what its vertex stage hands to a material.
#define_import_path terrane::tile

struct Tile {
    // First post relative to the post under the eye (x, z), finest cells.
    first_post: vec2<i32>,
    // Finest cells between the tile's posts.
    stride: i32,
    // Layer of `tile_heights`.
    layer: i32,
    // Sides that meet a coarser tile: 1 west, 2 east, 4 north, 8 south.
    coarser_sides: u32,
    label: u32,
    // Sides on which a skirt hangs, by the same bits.
    joined_sides: u32,
    reserved: u32,
}

@group(1) @binding(0) var<storage, read> tiles: array<Tile>;
// Heights above the pyramid's reference, metres.
@group(1) @binding(1) var tile_heights: texture_2d_array<f32>;

const TILE_CELLS: u32 = 64u;
const TILE_POSTS: u32 = 65u;

struct TileVaryings {
    @builtin(position) clip: vec4<f32>,
    // Relative to the eye, site axes, metres.
    @location(0) rel_m: vec3<f32>,
    // 1 where there is ground; less towards a post that has none.
    @location(1) presence: f32,
    @location(2) @interpolate(flat) label: u32,
}
