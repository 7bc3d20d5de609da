// How much of the sun's disc the ground leaves visible: a march over the
// height maps, led by their maxima (Tevs, Ihrke and Seidel 2008, "Maximum
// mipmaps for fast, accurate, and scalable dynamic height field rendering").
#define_import_path terrane::sun

#import terrane::view::view
#import terrane::maps::{maps, ceilings, map_around, map_holds, place_in_map, height_in_map, NO_GROUND_M}

const PI: f32 = 3.14159265358979;
// Cells over which a surface does not shade itself; its normal does that.
const FIRST_CELLS: f32 = 1.5;
// A march that takes longer than this ends with what it has seen.
const MAX_STEPS: i32 = 384;

// Part of a disc above a straight horizon that lies `height` radii above the
// disc's lowest point minus one: -1 all hidden, 1 all visible. Area of a
// circular segment.
fn disc_fraction(height: f32) -> f32 {
    let x = clamp(height, -1.0, 1.0);
    return clamp(0.5 + (x * sqrt(max(1.0 - x * x, 0.0)) + asin(x)) / PI, 0.0, 1.0);
}

// Tangent of the skyline's elevation towards the sun as seen from the ground
// at a place, no lower than `floor_tangent`; a march that reaches
// `enough_tangent` stops there.
fn skyline_tangent(rel_xz_m: vec2<f32>, direction: vec2<f32>, floor_tangent: f32, enough_tangent: f32) -> f32 {
    var map = map_around(rel_xz_m, 0);
    if map >= view.map_count {
        return floor_tangent;
    }
    let eye_height_m = height_in_map(map, place_in_map(map, rel_xz_m));
    var tangent = floor_tangent;
    var distance_m = FIRST_CELLS * maps[map].posting_m;
    var level = 0;
    for (var step = 0; step < MAX_STEPS; step++) {
        let here_m = rel_xz_m + direction * distance_m;
        var place = place_in_map(map, here_m);
        if !map_holds(map, place) {
            map = map_around(here_m, map + 1);
            if map >= view.map_count {
                break;
            }
            place = place_in_map(map, here_m);
            level = 0;
        }
        let posting_m = maps[map].posting_m;
        let width = f32(1 << u32(level));
        let cell = floor(place / width);
        // To the border of the cell, in the direction of travel.
        let border = (cell + select(vec2<f32>(0.0, 0.0), vec2<f32>(1.0, 1.0), direction > vec2<f32>(0.0, 0.0))) * width;
        let reach = select((border - place) / direction, vec2<f32>(1.0e9, 1.0e9), abs(direction) < vec2<f32>(1.0e-6, 1.0e-6));
        let leave_m = distance_m + max(min(reach.x, reach.y), 0.0) * posting_m;

        let ceiling_m = textureLoad(ceilings, vec2<i32>(cell), map, level).r;
        if ceiling_m <= eye_height_m + tangent * distance_m {
            // Nothing here rises above what has been seen.
            distance_m = leave_m + 1.0e-3 * posting_m;
            level = min(level + 1, maps[map].levels - 1);
        } else if level > 0 {
            level -= 1;
        } else {
            let height_m = height_in_map(map, place_in_map(map, rel_xz_m + direction * leave_m));
            if height_m > 0.5 * NO_GROUND_M {
                tangent = max(tangent, (height_m - eye_height_m) / leave_m);
            }
            if tangent >= enough_tangent {
                break;
            }
            distance_m = leave_m + 1.0e-3 * posting_m;
        }
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
