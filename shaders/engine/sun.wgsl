// How much of the sun's disc the ground leaves visible: a march over the
// height maps, led by their maxima (Tevs, Ihrke and Seidel 2008, "Maximum
// mipmaps for fast, accurate, and scalable dynamic height field rendering").
#define_import_path terrane::sun

#import terrane::view::view
#import terrane::maps::{maps, ceilings, map_around, place_in_map, height_in_map, NO_GROUND_M}

const PI: f32 = 3.14159265358979;
// Cells over which a surface does not shade itself; its normal does that.
const FIRST_CELLS: f32 = 1.5;
// Past a cell's border by this much, cells.
const NUDGE: f32 = 1.0e-3;
// A march that takes longer than this ends with what it has seen.
const MAX_STEPS: i32 = 384;

// Part of a disc above a straight horizon that lies `height` radii above the
// disc's lowest point minus one: -1 all hidden, 1 all visible. Area of a
// circular segment.
fn disc_fraction(height: f32) -> f32 {
    let x = clamp(height, -1.0, 1.0);
    return clamp(0.5 + (x * sqrt(max(1.0 - x * x, 0.0)) + asin(x)) / PI, 0.0, 1.0);
}

// How far along a direction the nearer of two borders (x, z) is.
fn reach_of(place: vec2<f32>, border: vec2<f32>, direction: vec2<f32>) -> f32 {
    let is_still = abs(direction) < vec2<f32>(1.0e-6, 1.0e-6);
    let reach = select((border - place) / direction, vec2<f32>(1.0e9, 1.0e9), is_still);
    return max(min(reach.x, reach.y), 0.0);
}

// Tangent of the skyline's elevation towards the sun as seen from the ground
// at a place, no lower than `floor_tangent`; a march that reaches
// `enough_tangent` stops there.
fn skyline_tangent(rel_xz_m: vec2<f32>, direction: vec2<f32>, floor_tangent: f32, enough_tangent: f32) -> f32 {
    var tangent = floor_tangent;
    var map = map_around(rel_xz_m, 0);
    if map >= view.map_count {
        return tangent;
    }
    let eye_height_m = height_in_map(map, place_in_map(map, rel_xz_m));
    if eye_height_m <= 0.5 * NO_GROUND_M {
        // A map too coarse to know the ground here can't shade it.
        return tangent;
    }
    let is_forward = direction > vec2<f32>(0.0, 0.0);
    var distance_m = FIRST_CELLS * maps[map].posting_m;
    var steps = 0;
    while map < view.map_count && steps < MAX_STEPS {
        // In this map's cells from here on, until the march leaves it.
        let posting_m = maps[map].posting_m;
        let top = maps[map].levels - 1;
        let first = place_in_map(map, rel_xz_m);
        let last_post = vec2<f32>(maps[map].posts - vec2<i32>(1, 1));
        let start = distance_m / posting_m;
        let inside = clamp(first + direction * start, vec2<f32>(0.0, 0.0), last_post);
        let end = start + reach_of(inside, select(vec2<f32>(0.0, 0.0), last_post, is_forward), direction);
        var along = start;
        var level = 0;
        while along < end - NUDGE && steps < MAX_STEPS {
            steps += 1;
            let place = first + direction * along;
            let width = exp2(f32(level));
            let cell = floor(place / width);
            let border = (cell + select(vec2<f32>(0.0, 0.0), vec2<f32>(1.0, 1.0), is_forward)) * width;
            let leave = along + reach_of(place, border, direction);
            let ceiling_m = textureLoad(ceilings, vec2<i32>(cell), map, level).r;
            if ceiling_m <= eye_height_m + tangent * posting_m * along {
                // Nothing here rises above what has been seen. The cell around
                // was too high already, unless this leaves it.
                along = leave + NUDGE;
                let next = floor((first + direction * along) / (2.0 * width));
                level = min(level + select(0, 1, any(next != floor(cell * 0.5))), top);
            } else if level > 0 {
                level -= 1;
            } else {
                let height_m = height_in_map(map, first + direction * leave);
                if height_m > 0.5 * NO_GROUND_M {
                    tangent = max(tangent, (height_m - eye_height_m) / (leave * posting_m));
                }
                if tangent >= enough_tangent {
                    return tangent;
                }
                along = leave + NUDGE;
            }
        }
        distance_m = max(along, end) * posting_m + NUDGE * posting_m;
        map = map_around(rel_xz_m + direction * distance_m, map + 1);
    }
    return tangent;
}

// Visible part of the sun's disc, 0 to 1, from the ground at a place.
fn sun_visibility(rel_xz_m: vec2<f32>) -> f32 {
    let flat_length = length(view.sun_direction.xz);
    let elevation = atan2(view.sun_direction.y, flat_length);
    let radius = max(view.sun_radius, 1.0e-5);
    if flat_length < 1.0e-4 {
        return select(0.0, 1.0, elevation > 0.0);
    }
    if elevation + radius <= -1.3 {
        return 0.0;
    }
    let direction = view.sun_direction.xz / flat_length;
    let tangent = skyline_tangent(rel_xz_m, direction, tan(elevation - radius), tan(min(elevation + radius, 1.57)));
    return disc_fraction((elevation - atan(tangent)) / radius);
}
