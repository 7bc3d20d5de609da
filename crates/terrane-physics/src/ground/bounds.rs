//! Rectangles of the site, and the leaves that meet them.

use serde::{Deserialize, Serialize};
use terrane_surface::{Lattice, TileKey};

/// A rectangle of the site, metres, its sides along x and z.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Bounds {
    /// Least and greatest site x, metres.
    pub x_m: [f64; 2],
    /// Least and greatest site z, metres.
    pub z_m: [f64; 2],
}

impl Bounds {
    /// The square of half side `reach_m` around a place.
    pub fn around(x_m: f64, z_m: f64, reach_m: f64) -> Self {
        Self { x_m: [x_m - reach_m, x_m + reach_m], z_m: [z_m - reach_m, z_m + reach_m] }
    }

    /// A tile's own rectangle.
    pub fn of_tile(lattice: &Lattice, tile: TileKey) -> Self {
        let (x_m, z_m) = lattice.tile_bounds_m(tile);
        Self { x_m, z_m }
    }

    /// This rectangle with a margin on every side; a negative one shrinks it.
    pub fn widened(self, margin_m: f64) -> Self {
        let wider = |[low, high]: [f64; 2]| [low - margin_m, high + margin_m];
        Self { x_m: wider(self.x_m), z_m: wider(self.z_m) }
    }

    /// True when both share a place, be it one on their borders.
    pub fn meets(&self, other: &Self) -> bool {
        let meets = |a: [f64; 2], b: [f64; 2]| a[0] <= b[1] && a[1] >= b[0];
        meets(self.x_m, other.x_m) && meets(self.z_m, other.z_m)
    }

    /// True when the place lies inside or on the border.
    pub fn holds(&self, x_m: f64, z_m: f64) -> bool {
        (self.x_m[0]..=self.x_m[1]).contains(&x_m) && (self.z_m[0]..=self.z_m[1]).contains(&z_m)
    }

    pub(crate) fn is_finite(&self) -> bool {
        self.x_m.iter().chain(&self.z_m).all(|side| side.is_finite())
    }

    pub(crate) fn middle_m(&self) -> (f64, f64) {
        (0.5 * (self.x_m[0] + self.x_m[1]), 0.5 * (self.z_m[0] + self.z_m[1]))
    }
}

/// The leaves with ground that meet a rectangle, in the order of their keys.
/// At most `most` and one more, so that a hopeless rectangle ends soon.
pub(crate) fn leaves_in(lattice: &Lattice, bounds: &Bounds, most: usize) -> Vec<TileKey> {
    let mut leaves = Vec::new();
    let mut open = vec![lattice.root()];
    while let Some(tile) = open.pop() {
        if leaves.len() > most || !lattice.has_ground(tile) || !Bounds::of_tile(lattice, tile).meets(bounds) {
            continue;
        }
        match tile.children().filter(|_| lattice.is_split(tile)) {
            Some(children) => open.extend(children),
            None => leaves.push(tile),
        }
    }
    leaves.sort_unstable();
    leaves
}

/// The leaf under a place.
pub(crate) fn leaf_under(lattice: &Lattice, x_m: f64, z_m: f64) -> Option<TileKey> {
    let place = |m: f64, first_m: f64| (m - first_m) / lattice.posting_m;
    lattice.leaf_at(place(x_m, lattice.x0_m), place(z_m, lattice.z0_m)).map(|(tile, ..)| tile)
}
