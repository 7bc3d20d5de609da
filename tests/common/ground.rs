//! Where a ray meets the ground, in f64, without anything of the renderer.

use super::{MOON_RADIUS_M, Raster};
use glam::DVec3;

/// How far the Moon's sphere lies below its tangent plane at the site origin.
pub fn moon_drop_m(x_m: f64, z_m: f64) -> f64 {
    MOON_RADIUS_M - (MOON_RADIUS_M * MOON_RADIUS_M - x_m * x_m - z_m * z_m).sqrt()
}

/// Ray parameter at which a ray meets y = height(x, z), found by Newton's
/// method; for heights that are nearly planes. `None` when it rises away from
/// it, or meets it behind its origin or beyond `half_m` of the middle.
pub fn meet_function(height: impl Fn(f64, f64) -> f64, half_m: f64, origin: DVec3, direction: DVec3) -> Option<f64> {
    let above = |t: f64| {
        let p = origin + direction * t;
        p.y - height(p.x, p.z)
    };
    let mut t = 0.0;
    for _ in 0..30 {
        let step = 1e-3;
        let slope = (above(t + step) - above(t - step)) / (2.0 * step);
        let next = t - above(t) / slope;
        if !next.is_finite() || next.abs() > 1e7 {
            return None;
        }
        t = next;
    }
    let p = origin + direction * t;
    (t > 0.0 && p.x.abs() <= half_m && p.z.abs() <= half_m).then_some(t)
}

/// Posts joined by triangles; the diagonal joins (-x, +z) and (+x, -z).
pub struct Triangles {
    corner_m: f64,
    posting_m: f64,
    posts: usize,
    y_m: Vec<f64>,
}

impl Triangles {
    /// A raster on the Moon, curved as the Moon is.
    pub fn on_moon(raster: &Raster) -> Self {
        let (corner_m, posting_m, posts) = (raster.corner_m(), raster.grid.posting_m, raster.grid.columns);
        let place = |k: usize| corner_m + k as f64 * posting_m;
        let heights = raster.heights_m.iter().enumerate();
        let y_m = heights.map(|(k, h)| f64::from(*h) - moon_drop_m(place(k % posts), place(k / posts))).collect();
        Self { corner_m, posting_m, posts, y_m }
    }

    pub fn post(&self, column: usize, row: usize) -> DVec3 {
        let place = |k: usize| self.corner_m + k as f64 * self.posting_m;
        DVec3::new(place(column), self.y_m[row * self.posts + column], place(row))
    }

    /// Bilinear height, as the light sees the ground; no ground outside.
    pub fn bilinear_m(&self, x_m: f64, z_m: f64) -> Option<f64> {
        let place = |m: f64| (m - self.corner_m) / self.posting_m;
        let (u, v) = (place(x_m), place(z_m));
        let last = (self.posts - 1) as f64;
        if !(u >= 0.0 && v >= 0.0 && u <= last && v <= last) {
            return None;
        }
        let (c, r) = ((u.floor().min(last - 1.0)) as usize, (v.floor().min(last - 1.0)) as usize);
        let (s, t) = (u - c as f64, v - r as f64);
        let y = |dc: usize, dr: usize| self.y_m[(r + dr) * self.posts + c + dc];
        let north = y(0, 0) * (1.0 - s) + y(1, 0) * s;
        let south = y(0, 1) * (1.0 - s) + y(1, 1) * s;
        Some(north * (1.0 - t) + south * t)
    }

    /// The smallest positive ray parameter at which a ray meets a triangle.
    pub fn meet(&self, origin: DVec3, direction: DVec3) -> Option<f64> {
        let last_cell = self.posts as i64 - 2;
        let far_m = -self.corner_m;
        // The part of the ray over the grid.
        let (mut enter, mut leave) = (0.0_f64, 1.0e7_f64);
        for (o, d) in [(origin.x, direction.x), (origin.z, direction.z)] {
            if d.abs() < 1e-12 {
                if o < self.corner_m || o > far_m {
                    return None;
                }
                continue;
            }
            let (a, b) = ((self.corner_m - o) / d, (far_m - o) / d);
            enter = enter.max(a.min(b));
            leave = leave.min(a.max(b));
        }
        if enter > leave {
            return None;
        }
        let cell_at = |t: f64| {
            let p = origin + direction * t;
            let cell = |m: f64| (((m - self.corner_m) / self.posting_m).floor() as i64).clamp(0, last_cell);
            (cell(p.x), cell(p.z))
        };
        let mut t = enter;
        let step = 1e-9 * (1.0 + leave.abs());
        loop {
            let (column, row) = cell_at(t + step);
            // To the border of the cell, in the direction of travel.
            let border = |o: f64, d: f64, cell: i64| {
                if d.abs() < 1e-12 {
                    return f64::INFINITY;
                }
                let side = cell + i64::from(d > 0.0);
                (self.corner_m + side as f64 * self.posting_m - o) / d
            };
            let next = border(origin.x, direction.x, column).min(border(origin.z, direction.z, row)).max(t + step);
            let lowest_m = origin.y + direction.y * if direction.y < 0.0 { next } else { t };
            let (column, row) = (column as usize, row as usize);
            // A ray above all four posts passes; a hole hides nothing.
            if lowest_m <= self.ceiling_m(column, row) + 1e-6
                && let Some(hit) = self.meet_cell(column, row, origin, direction)
            {
                return Some(hit);
            }
            t = next;
            if t >= leave {
                return None;
            }
        }
    }

    fn ceiling_m(&self, column: usize, row: usize) -> f64 {
        let k = row * self.posts + column;
        let (north, south) =
            (self.y_m[k].max(self.y_m[k + 1]), self.y_m[k + self.posts].max(self.y_m[k + self.posts + 1]));
        north.max(south)
    }

    fn meet_cell(&self, column: usize, row: usize, origin: DVec3, direction: DVec3) -> Option<f64> {
        let [nw, ne, sw, se] = [(0, 0), (1, 0), (0, 1), (1, 1)].map(|(dc, dr)| self.post(column + dc, row + dr));
        let hits = [[nw, sw, ne], [ne, sw, se]].map(|triangle| meet_triangle(triangle, origin, direction));
        hits.into_iter().flatten().min_by(f64::total_cmp)
    }
}

/// Möller and Trumbore 1997, "Fast, minimum storage ray-triangle intersection".
/// A triangle with a hole for a corner is not there.
fn meet_triangle([a, b, c]: [DVec3; 3], origin: DVec3, direction: DVec3) -> Option<f64> {
    let (e1, e2) = (b - a, c - a);
    let p = direction.cross(e2);
    let determinant = e1.dot(p);
    let s = (origin - a) / determinant;
    let u = s.dot(p);
    let q = s.cross(e1);
    let v = direction.dot(q);
    let t = e2.dot(q);
    let slack = -1e-9;
    (determinant != 0.0 && u >= slack && v >= slack && u + v <= 1.0 - slack && t > 0.0).then_some(t)
}
