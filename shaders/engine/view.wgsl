// The camera and the lights of a picture. Filled by the renderer, read by all.
#define_import_path terrane::view

struct View {
    // Clip space from site axes, metres, relative to the eye.
    clip_from_rel: mat4x4<f32>,
    // Unit optical axis, site axes.
    forward: vec3<f32>,
    // 1 for a parallel projection, 0 for a pinhole.
    parallel: f32,
    // Where the eye is: whole blocks of BLOCK_M metres (x, z), metres inside.
    eye_block: vec2<i32>,
    eye_in_block_m: vec2<f32>,
    // The eye inside the lattice cell around it (x, z), metres.
    eye_in_cell_m: vec2<f32>,
    // Height of the eye above the pyramid's reference, in two parts, metres.
    eye_high_m: f32,
    eye_low_m: f32,
    // Distance between the finest posts, metres.
    posting_m: f32,
    // What the stored radiance is multiplied by, so that it fits 16-bit floats.
    pre_exposure: f32,
    // How many site maps there are.
    map_count: i32,
    // Angular radius of the sun's disc, radians.
    sun_radius: f32,
    // Unit vector to the sun, site axes.
    sun_direction: vec3<f32>,
    reserved: f32,
    // Sun on a surface that faces it, lux, linear colour.
    sun_illuminance: vec3<f32>,
    reserved_a: f32,
    // Luminance of the sky dome, cd/m2, linear colour.
    sky_luminance: vec3<f32>,
    reserved_b: f32,
}

@group(0) @binding(0) var<uniform> view: View;

// Noise is laid out in blocks of this many metres, so that it is stable far
// from the origin; a power of two, and so are the wavelengths in it.
const BLOCK_M: f32 = 1024.0;
