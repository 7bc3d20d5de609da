//! Ambient occlusion: how much of the sky the relief leaves visible.

use super::{DerivedOptions, HeightWindow};
use std::f64::consts::TAU;

/// Posts that are worked on together, so that the rows around them stay in
/// the cache.
const STRIP: usize = 256;

/// Where a ray crosses a grid line: two neighbouring posts, as columns and
/// rows from where it begins, the share of the second, and how far it is.
struct Crossing {
    posts: [(isize, isize); 2],
    share: f64,
    distance_posts: f64,
}

/// Share of a level receiver's sky, weighted by the cosine from the zenith:
///
/// (1 / pi) integral over azimuth and over elevation e above the horizon h of
/// sin e cos e = 1 - mean over azimuths of sin^2 h.
///
/// The horizon is the largest elevation at which a ray's crossings of grid
/// lines are seen, linear between the two posts beside it, out to
/// `sky_radius_posts`; it is never below the horizontal, and a crossing beside
/// a hole is passed over. Heights are taken as they are: a body's curvature
/// counts when they hold it.
pub(super) fn sky_view_row(window: &HeightWindow, options: &DerivedOptions, row: usize, bands: &mut [&mut [f32]]) {
    let (reach, azimuths) = (options.sky_radius_posts, options.sky_azimuths);
    let heights_m = window.line_m(row, 0, 0);
    let mut hidden = vec![0.0; window.columns];
    let mut tangents = [0.0; STRIP];
    let rays: Vec<Vec<Crossing>> =
        (0..azimuths).map(|azimuth| crossings(azimuth as f64 / azimuths as f64 * TAU, reach)).collect();
    for first in (0..window.columns).step_by(STRIP) {
        let last = window.columns.min(first + STRIP);
        let (from_m, hidden) = (&heights_m[first..last], &mut hidden[first..last]);
        let tangents = &mut tangents[..last - first];
        for ray in &rays {
            tangents.fill(0.0);
            for crossing in ray {
                let [near_m, far_m] = crossing.posts.map(|(column, below)| {
                    let line = window.line_m(row, below, reach);
                    &line[(first + reach).wrapping_add_signed(column)..][..last - first]
                });
                let per_m = 1.0 / (crossing.distance_posts * window.posting_m);
                let share = crossing.share;
                for (((tangent, from_m), near_m), far_m) in tangents.iter_mut().zip(from_m).zip(near_m).zip(far_m) {
                    let seen = (near_m + (far_m - near_m) * share - from_m) * per_m;
                    // Not `max`: a comparison with NaN, which is a hole, is false.
                    *tangent = if seen > *tangent { seen } else { *tangent };
                }
            }
            hidden.iter_mut().zip(&*tangents).for_each(|(sum, t)| *sum += t * t / (1.0 + t * t));
        }
    }
    for ((out, hidden), height_m) in bands[0].iter_mut().zip(&hidden).zip(heights_m) {
        if !height_m.is_nan() {
            *out = (1.0 - hidden / azimuths as f64) as f32;
        }
    }
}

/// A ray's crossings of the grid lines that it meets most steeply, out to a
/// radius; `azimuth` clockwise from north.
fn crossings(azimuth: f64, radius_posts: usize) -> Vec<Crossing> {
    let (east, south) = (azimuth.sin(), -azimuth.cos());
    let major = east.abs().max(south.abs());
    let mut crossings = Vec::new();
    for step in 1..=radius_posts {
        let distance_posts = step as f64 / major;
        // A diagonal's last crossing may be counted out by rounding only.
        if distance_posts > radius_posts as f64 * (1.0 + 1e-12) {
            break;
        }
        // A crossing within a billionth of a post is on it, so that axes and
        // diagonals read posts alone.
        let on_axis = |part: f64| {
            let place = part * distance_posts;
            if (place - place.round()).abs() < 1e-9 { place.round() } else { place }
        };
        let (column, below) = (on_axis(east), on_axis(south));
        let (c, r) = (column.floor(), below.floor());
        let (u, v) = (column - c, below - r);
        let near = (c as isize, r as isize);
        let far = (column.ceil() as isize, below.ceil() as isize);
        crossings.push(Crossing { posts: [near, far], share: u.max(v), distance_posts });
    }
    crossings
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rays_stay_within_the_radius_and_on_grid_lines() {
        for azimuth in (0..360).map(|degree| f64::from(degree).to_radians()) {
            let ray = crossings(azimuth, 20);
            assert!(ray.len() >= 14 && ray.len() <= 20);
            for Crossing { posts: [near, far], share, distance_posts } in ray {
                let place = |near: isize, far: isize| near as f64 + (far - near) as f64 * share;
                let (column, below) = (place(near.0, far.0), place(near.1, far.1));
                assert!((far.0 - near.0) + (far.1 - near.1) <= 1);
                assert!((column - azimuth.sin() * distance_posts).abs() < 1e-8);
                assert!((below + azimuth.cos() * distance_posts).abs() < 1e-8);
                assert!(far.0.abs().max(far.1.abs()).max(near.0.abs()).max(near.1.abs()) <= 20);
            }
        }
    }
}
