// The door between the renderer and a material: what a material is told of a
// point of ground, what it answers, and how the answer becomes a pixel.
#define_import_path terrane::frame

#import terrane::view::{view, BLOCK_M}
#import terrane::maps::{maps, map_around, gradient_in_map}
#import terrane::tile::TileVaryings

struct SurfacePoint {
    // Relative to the eye, site axes, metres.
    rel_m: vec3<f32>,
    // Unit vector to the eye.
    to_eye: vec3<f32>,
    // Gradient of the measured ground (dy/dx, dy/dz), averaged over the pixel.
    gradient: vec2<f32>,
    // Width of the pixel on the ground: across and along the view, metres.
    footprint_m: vec2<f32>,
    // Posting of the data here, metres.
    posting_m: f32,
    // Place for procedural detail: whole blocks, metres inside (x, z).
    block: vec2<i32>,
    in_block_m: vec2<f32>,
}

struct SurfaceOutput {
    // Towards the eye, cd/m2, linear colour.
    radiance: vec3<f32>,
    // Unit normal of the measured ground, site axes.
    normal: vec3<f32>,
}

struct FragmentOutput {
    @location(0) radiance: vec4<f32>,
    // Distance along the optical axis, metres.
    @location(1) depth_m: f32,
    @location(2) normal: vec4<f32>,
    @location(3) label: u32,
}

fn normal_of(gradient: vec2<f32>) -> vec3<f32> {
    return normalize(vec3<f32>(-gradient.x, 1.0, -gradient.y));
}

// Call at the top of a fragment entry, before any branch: it takes
// derivatives, and discards where there is no ground.
fn surface_point(in: TileVaryings) -> SurfacePoint {
    var point: SurfacePoint;
    point.rel_m = in.rel_m;
    let across = dpdx(in.rel_m);
    let along = dpdy(in.rel_m);
#ifdef HOLES
    if in.presence < 0.9999 {
        discard;
    }
#endif
    let widths = vec2<f32>(length(across.xz), length(along.xz));
    point.footprint_m = vec2<f32>(min(widths.x, widths.y), max(widths.x, widths.y));
    point.to_eye = normalize(select(-in.rel_m, -view.forward, view.parallel > 0.5));

    let map = min(map_around(in.rel_m.xz, 0), view.map_count - 1);
    point.posting_m = maps[map].posting_m;
    let averaged_m = max(point.footprint_m.x, 0.25 * point.footprint_m.y);
    point.gradient = gradient_in_map(map, in.rel_m.xz, averaged_m);

    let from_block_m = view.eye_in_block_m + in.rel_m.xz;
    let blocks = floor(from_block_m / BLOCK_M);
    point.block = view.eye_block + vec2<i32>(blocks);
    point.in_block_m = from_block_m - blocks * BLOCK_M;
    return point;
}

fn frame_output(in: TileVaryings, surface: SurfaceOutput) -> FragmentOutput {
    var out: FragmentOutput;
    out.radiance = vec4<f32>(surface.radiance * view.pre_exposure, 1.0);
    out.depth_m = dot(in.rel_m, view.forward);
    out.normal = vec4<f32>(surface.normal, 1.0);
    out.label = in.label;
    return out;
}
