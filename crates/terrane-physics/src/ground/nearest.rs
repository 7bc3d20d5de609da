//! How near a point is to the ground, in `f64` on the drawn triangles: what
//! contacts are judged by. It knows nothing of the engine.

use super::tile::TileCollider;
use glam::DVec3;
use serde::Serialize;
use terrane_surface::{SiteRect, TILE_CELLS};

/// The nearest place of the ground.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Nearest {
    /// Distance from the asked point, metres, negative when the point lies
    /// below the ground.
    pub distance_m: f64,
    /// The place, site frame, metres.
    pub place_m: DVec3,
    /// Upward unit normal of its triangle, site frame.
    pub normal: DVec3,
}

impl TileCollider {
    /// The nearest place of this tile within `reach_m` of a point.
    pub fn nearest(&self, point_m: DVec3, reach_m: f64) -> Option<Nearest> {
        let window = SiteRect::around(point_m.x, point_m.z, reach_m);
        let cells = |[low, high]: [f64; 2], first_m: f64| {
            let cell = |m: f64| ((m - first_m) / self.posting_m()).floor();
            let last = f64::from(TILE_CELLS) - 1.0;
            // Empty when the window passes the tile by.
            (cell(high) >= 0.0 && cell(low) <= last).then(|| cell(low).max(0.0) as u32..=cell(high).min(last) as u32)
        };
        let (us, vs) = (cells(window.x_m, self.bounds().x_m[0])?, cells(window.z_m, self.bounds().z_m[0])?);
        let mut nearest: Option<Nearest> = None;
        let mut is_below = false;
        for (u, v) in vs.flat_map(|v| us.clone().map(move |u| (u, v))) {
            for is_north_west in [true, false] {
                let Some(corners_m) = self.corners_m(u, v, is_north_west) else { continue };
                let (place_m, _) = nearest_on(point_m, corners_m);
                let distance_m = point_m.distance(place_m);
                let [a, b, c] = corners_m;
                let normal = (b - a).cross(c - a).normalize();
                is_below |= is_under(point_m, corners_m) && (point_m - a).dot(normal) < 0.0;
                if distance_m <= reach_m && nearest.is_none_or(|found| distance_m < found.distance_m) {
                    nearest = Some(Nearest { distance_m, place_m, normal });
                }
            }
        }
        nearest
            .map(|found| Nearest { distance_m: if is_below { -found.distance_m } else { found.distance_m }, ..found })
    }
}

/// True when the plumb line through the point meets the triangle.
fn is_under(point: DVec3, [a, b, c]: [DVec3; 3]) -> bool {
    let side = |from: DVec3, to: DVec3| (to.z - from.z) * (point.x - from.x) - (to.x - from.x) * (point.z - from.z);
    side(a, b) >= 0.0 && side(b, c) >= 0.0 && side(c, a) >= 0.0
}

/// The nearest point of a triangle, and the corners of the feature that it
/// lies on: none inside of the face, two on an edge, one at a corner (Ericson,
/// Real-Time Collision Detection, 2005, 5.1.5).
pub(super) fn nearest_on(p: DVec3, [a, b, c]: [DVec3; 3]) -> (DVec3, &'static [usize]) {
    let (ab, ac, ap) = (b - a, c - a, p - a);
    let (d1, d2) = (ab.dot(ap), ac.dot(ap));
    if d1 <= 0.0 && d2 <= 0.0 {
        return (a, &[0]);
    }
    let bp = p - b;
    let (d3, d4) = (ab.dot(bp), ac.dot(bp));
    if d3 >= 0.0 && d4 <= d3 {
        return (b, &[1]);
    }
    let vc = d1 * d4 - d3 * d2;
    if vc <= 0.0 && d1 >= 0.0 && d3 <= 0.0 {
        return (a + ab * (d1 / (d1 - d3)), &[0, 1]);
    }
    let cp = p - c;
    let (d5, d6) = (ab.dot(cp), ac.dot(cp));
    if d6 >= 0.0 && d5 <= d6 {
        return (c, &[2]);
    }
    let vb = d5 * d2 - d1 * d6;
    if vb <= 0.0 && d2 >= 0.0 && d6 <= 0.0 {
        return (a + ac * (d2 / (d2 - d6)), &[0, 2]);
    }
    let va = d3 * d6 - d5 * d4;
    if va <= 0.0 && d4 - d3 >= 0.0 && d5 - d6 >= 0.0 {
        return (b + (c - b) * ((d4 - d3) / ((d4 - d3) + (d5 - d6))), &[1, 2]);
    }
    let total = va + vb + vc;
    (a + ab * (vb / total) + ac * (vc / total), &[])
}
