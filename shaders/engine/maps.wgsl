// Heights and gradients of the ground on each DEM's own grid, finest first.
// Shading reads these and not the drawn mesh, so it does not depend on LOD.
#define_import_path terrane::maps

#import terrane::view::view

struct SiteMap {
    // First post relative to the eye (x, z), metres.
    first_post_rel_m: vec2<f32>,
    // Distance between posts, metres.
    posting_m: f32,
    // Levels of `ceilings` that hold data.
    levels: i32,
    // Posts (columns, rows).
    posts: vec2<i32>,
    reserved: vec2<i32>,
}

const MAX_MAPS: u32 = 8u;
// Stored where there is no ground.
const NO_GROUND_M: f32 = -1.0e30;

@group(0) @binding(1) var<uniform> maps: array<SiteMap, MAX_MAPS>;
// Heights of posts above the pyramid's reference, metres.
@group(0) @binding(2) var post_heights: texture_2d_array<f32>;
// Level k, texel (i, j): the highest post of the 2^k x 2^k cells there.
@group(0) @binding(3) var ceilings: texture_2d_array<f32>;
// Gradients (dy/dx, dy/dz) at posts, averaged in the coarser levels.
@group(0) @binding(4) var gradients: texture_2d_array<f32>;
@group(0) @binding(5) var gradient_sampler: sampler;

// A place in a map's own posts (column, row).
fn place_in_map(map: i32, rel_xz_m: vec2<f32>) -> vec2<f32> {
    return (rel_xz_m - maps[map].first_post_rel_m) / maps[map].posting_m;
}

fn map_holds(map: i32, place: vec2<f32>) -> bool {
    let last = vec2<f32>(maps[map].posts - vec2<i32>(1, 1));
    return all(place >= vec2<f32>(0.0, 0.0)) && all(place <= last);
}

// The finest map around a place, at or after `from`; map_count when none is.
fn map_around(rel_xz_m: vec2<f32>, from_map: i32) -> i32 {
    var map = from_map;
    while map < view.map_count {
        if map_holds(map, place_in_map(map, rel_xz_m)) {
            return map;
        }
        map += 1;
    }
    return map;
}

fn post_height(map: i32, post: vec2<i32>) -> f32 {
    let inside = clamp(post, vec2<i32>(0, 0), maps[map].posts - vec2<i32>(1, 1));
    return textureLoad(post_heights, inside, map, 0).r;
}

// Bilinear height between posts; beside a hole, of the posts that are there.
// NO_GROUND_M where none is.
fn height_in_map(map: i32, place: vec2<f32>) -> f32 {
    let cell = vec2<i32>(floor(place));
    let f = place - vec2<f32>(cell);
    let posts = vec4<f32>(
        post_height(map, cell),
        post_height(map, cell + vec2<i32>(1, 0)),
        post_height(map, cell + vec2<i32>(0, 1)),
        post_height(map, cell + vec2<i32>(1, 1)),
    );
    let is_there = posts > vec4<f32>(0.5 * NO_GROUND_M);
    if all(is_there) {
        return mix(mix(posts.x, posts.y, f.x), mix(posts.z, posts.w, f.x), f.y);
    }
    let share = vec4<f32>((1.0 - f.x) * (1.0 - f.y), f.x * (1.0 - f.y), (1.0 - f.x) * f.y, f.x * f.y);
    let weights = select(vec4<f32>(0.0), share, is_there);
    let total = dot(weights, vec4<f32>(1.0));
    if total <= 0.0 {
        return NO_GROUND_M;
    }
    return dot(weights, select(vec4<f32>(0.0), posts, is_there)) / total;
}

// Gradient of the ground, averaged over a footprint of the given width.
fn gradient_in_map(map: i32, rel_xz_m: vec2<f32>, footprint_m: f32) -> vec2<f32> {
    let size = vec2<f32>(textureDimensions(gradients));
    let uv = (place_in_map(map, rel_xz_m) + vec2<f32>(0.5, 0.5)) / size;
    let level = log2(max(footprint_m / maps[map].posting_m, 1.0));
    return textureSampleLevel(gradients, gradient_sampler, uv, map, level).rg;
}
