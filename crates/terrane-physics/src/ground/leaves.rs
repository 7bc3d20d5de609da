//! The leaves that meet a rectangle of the site.

use terrane_surface::{Lattice, SiteRect, TileKey};

/// The leaves with ground that meet a rectangle, in the order of their keys.
/// At most `most` and one more, so that a hopeless rectangle ends soon.
pub(crate) fn leaves_in(lattice: &Lattice, bounds: &SiteRect, most: usize) -> Vec<TileKey> {
    let mut leaves = Vec::new();
    let mut open = vec![lattice.root()];
    while let Some(tile) = open.pop() {
        if leaves.len() > most || !lattice.has_ground(tile) || !lattice.tile_rect(tile).meets(bounds) {
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
