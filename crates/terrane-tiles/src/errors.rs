//! The error table: for every tile, how far its triangles are from the finest
//! ground under it. Exact, not a bound: every finest post is compared with the
//! triangles of every tile above it.

use crate::code::HOLE;
use crate::tile::{Tile, stored};
use multiversion::multiversion;
use std::collections::BTreeMap;
use std::sync::Arc;
use terrane_surface::{Lattice, TILE_CELLS, TILE_POSTS, TileKey};

const POSTS: usize = TILE_POSTS as usize;
const CELLS: usize = TILE_CELLS as usize;
/// Levels above a tile of which a cell is no wider than the tile.
pub(crate) const OWN_LEVELS: u32 = TILE_CELLS.ilog2();

/// Errors of one tile.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(crate) struct TileErrors {
    /// Largest vertical distance to the finest surface, metres, not rounded.
    pub(crate) height_m: f64,
    /// Posting of the coarsest triangles that end elsewhere than the finest
    /// ground does, metres; 0 when their outlines agree.
    pub(crate) cover_m: f64,
}

impl TileErrors {
    pub(crate) fn include(&mut self, other: Self) {
        self.height_m = self.height_m.max(other.height_m);
        self.cover_m = self.cover_m.max(other.cover_m);
    }
}

/// The finest ground of one leaf: its posts, or `None` where the lattice has
/// no ground at all.
pub(crate) struct Finest {
    key: TileKey,
    posts_m: Option<Vec<f64>>,
    pub(crate) has_holes: bool,
}

/// A distance to the triangles of a tile, metres, or a bound of it, with the
/// triangles, from which a bound for the next coarser ones follows. `None`
/// beside holes, where there is no such bound.
pub(crate) type Bound = Option<(Patch, f64)>;

/// Compares the finest ground of one leaf with the tiles above it, finest
/// first. `known` says the error that is known of a tile so far, and `found`
/// takes a larger one.
///
/// The distance to a tile is at most the distance to the tile below it plus the
/// distance between those two, which takes few posts to find. Where that bound
/// can't raise what is known, the posts need not be compared, nor read with
/// `finest`: mostly so, high up.
pub(crate) fn compare_upwards<E>(
    mut below: Bound,
    above: impl Iterator<Item = Result<(TileKey, Patch), E>>,
    lattice: &Lattice,
    finest: impl Fn() -> Result<Arc<Finest>, E>,
    known: impl Fn(TileKey) -> f64,
    mut found: impl FnMut(TileKey, TileErrors),
) -> Result<Bound, E> {
    // More than rounding can take from a sum: what is left out is never above
    // what is known, in whatever order leaves come.
    const ROUNDING: f64 = 1.0 + 1e-9;
    for next in above {
        let (key, patch) = next?;
        let bound = match &below {
            Some((below, bound)) if !patch.has_holes && below.level + 1 == patch.level => {
                (bound + below.largest_distance_m(&patch)) * ROUNDING
            }
            _ => f64::INFINITY,
        };
        if bound <= known(key) {
            below = Some((patch, bound));
            continue;
        }
        let finest = finest()?;
        let errors = finest.against(&patch, lattice);
        found(key, errors);
        let is_chain = !finest.has_holes && !patch.has_holes;
        below = is_chain.then_some((patch, errors.height_m));
    }
    Ok(below)
}

impl Finest {
    pub(crate) fn new(key: TileKey, tile: Option<&Tile>) -> Self {
        let posts_m = tile.map(Tile::exact_m);
        let has_holes = posts_m.as_ref().is_none_or(|posts| posts.iter().any(|height| height.is_nan()));
        Self { key, posts_m, has_holes }
    }

    /// The triangles of the tiles next above, finest first, up to
    /// [`OWN_LEVELS`]: a coarser tile keeps every second post, so that they
    /// are known from this tile's own posts. None for a place without ground.
    pub(crate) fn own_patches(&self, root_level: u8) -> impl Iterator<Item = (TileKey, Patch)> + '_ {
        let above = ancestors(self.key, root_level).take(OWN_LEVELS as usize);
        let posts_m = self.posts_m.as_deref();
        above.zip(1..).map_while(move |(above, shift)| Some((above, Patch::of_own(above.level, shift, posts_m?))))
    }

    /// How far the triangles of a patch lie from these posts.
    pub(crate) fn against(&self, patch: &Patch, lattice: &Lattice) -> TileErrors {
        let mut errors = TileErrors::default();
        if !self.has_holes && !patch.has_holes {
            let posts_m = self.posts_m.as_deref().unwrap_or_default();
            return TileErrors { height_m: distance_of_whole(patch, posts_m), ..errors };
        }
        let (cells, shift, step) = (patch.cells, patch.shift, 1_usize << patch.shift);
        for v in 0..POSTS {
            for u in 0..POSTS {
                let finest = self.posts_m.as_ref().map_or(f64::NAN, |posts| posts[v * POSTS + u]);
                let (u, v) = (u + patch.offset.0, v + patch.offset.1);
                let (cu, cv) = ((u >> shift).min(cells - 1), (v >> shift).min(cells - 1));
                let within = |place: usize, cell: usize| (place - cell * step) as f64 / step as f64;
                let drawn = patch.at_place(cu, cv, within(u, cu), within(v, cv));
                match (drawn.is_nan(), finest.is_nan()) {
                    (true, true) => {}
                    (false, false) => errors.height_m = errors.height_m.max((drawn - finest).abs()),
                    _ => errors.cover_m = lattice.posting_at_m(patch.level),
                }
            }
        }
        errors
    }
}

/// Largest distance between a patch and a tile's posts, both without holes.
/// Wide registers where the processor has them: the same bits.
#[multiversion(targets("x86_64+avx+avx2"))]
fn distance_of_whole(patch: &Patch, posts_m: &[f64]) -> f64 {
    let mut finer = None;
    // Halving cells is quicker than going through wide ones post by post.
    while let patch = finer.as_ref().unwrap_or(patch)
        && patch.shift > 1
        && patch.cells << patch.shift == CELLS
    {
        finer = Some(patch.with_halved_cells());
    }
    let patch = finer.as_ref().unwrap_or(patch);
    let rows = posts_m.chunks_exact(POSTS).enumerate();
    rows.fold(0.0, |most: f64, (v, row)| most.max(largest_distance(&patch.line(v), row)))
}

/// [`Patch::line`] where a cell is two finest ones wide: every second post is
/// the middle of an edge or of a diagonal.
#[inline(always)]
fn fill_line_of_halves(line: &mut [f64], north: &[f64], south: &[f64], t: f64) {
    let last = north.len() - 1;
    if t == 0.5 {
        for (k, pair) in line.chunks_exact_mut(2).enumerate() {
            pair[0] = 0.5 * (north[k] + south[k]);
            pair[1] = 0.5 * (north[k + 1] + south[k]);
        }
        line[2 * last] = 0.5 * (north[last] + south[last]);
    } else {
        let posts = if t == 0.0 { north } else { south };
        for (k, pair) in line.chunks_exact_mut(2).enumerate() {
            pair[0] = posts[k];
            pair[1] = 0.5 * (posts[k] + posts[k + 1]);
        }
        line[2 * last] = posts[last];
    }
}

/// Largest distance of two rows without holes.
#[inline(always)]
fn largest_distance(a: &[f64], b: &[f64]) -> f64 {
    // Eight at a time, so that the compiler can use wide registers.
    let mut lanes = [0.0_f64; 8];
    let (eights, others) = (a.chunks_exact(8).zip(b.chunks_exact(8)), a.len() / 8 * 8);
    for (a, b) in eights {
        for (lane, (a, b)) in lanes.iter_mut().zip(a.iter().zip(b)) {
            let distance = (a - b).abs();
            *lane = if distance > *lane { distance } else { *lane };
        }
    }
    let mut most = lanes.into_iter().fold(0.0, f64::max);
    for (a, b) in a[others..].iter().zip(&b[others..]) {
        most = most.max((a - b).abs());
    }
    most
}

/// The posts of a coarser tile around a finer one.
pub(crate) struct Patch {
    level: u8,
    /// Levels between both tiles.
    shift: u32,
    /// Cells along its side.
    cells: usize,
    /// `(cells + 1)^2` heights, metres.
    posts_m: Vec<f64>,
    has_holes: bool,
    /// Where the finer tile begins inside the patch, in its own posts: not 0
    /// only when the patch is a single cell, wider than the tile.
    offset: (usize, usize),
}

impl Patch {
    /// The patch `shift` levels above a tile with these posts, 1 to
    /// [`OWN_LEVELS`].
    fn of_own(level: u8, shift: u32, posts_m: &[f64]) -> Self {
        let step = 1_usize << shift;
        let cells = CELLS >> shift;
        let mut kept_m: Vec<f64> = Vec::with_capacity((cells + 1) * (cells + 1));
        for row in posts_m.chunks_exact(POSTS).step_by(step) {
            kept_m.extend(row.iter().step_by(step));
        }
        let has_holes = kept_m.iter().any(|height| height.is_nan());
        Self { level, shift, cells, posts_m: kept_m, has_holes, offset: (0, 0) }
    }

    /// The part of a coarser tile around a finer one.
    pub(crate) fn under(key: TileKey, above_key: TileKey, above: &Tile) -> Self {
        let shift = u32::from(above_key.level - key.level);
        let cells = (CELLS >> shift.min(31)).max(1);
        // Place of the finer tile inside the coarser one, in finer posts.
        let within =
            |place: u32, above: u32| (u64::from(place) * CELLS as u64) - ((u64::from(above) * CELLS as u64) << shift);
        let (i, j) = (within(key.x, above_key.x), within(key.z, above_key.z));
        let (first_u, first_v) = (i >> shift, j >> shift);
        let offset = ((i - (first_u << shift)) as usize, (j - (first_v << shift)) as usize);
        let mut posts_m = Vec::with_capacity((cells + 1) * (cells + 1));
        let mut has_holes = false;
        for v in 0..=cells {
            let first = stored(first_u as i32, (first_v as usize + v) as i32);
            for word in &above.words[first..=first + cells] {
                has_holes |= *word == HOLE;
                posts_m.push(above.code.decode(*word));
            }
        }
        Self { level: above_key.level, shift, cells, posts_m, has_holes, offset }
    }

    /// The same triangles, each cut into four. No holes.
    #[inline(always)]
    fn with_halved_cells(&self) -> Self {
        let (width, cells) = (self.cells + 1, 2 * self.cells);
        let mut posts_m = vec![0.0; (cells + 1) * (cells + 1)];
        for (row, line) in posts_m.chunks_exact_mut(cells + 1).enumerate() {
            let north = &self.posts_m[row / 2 * width..][..width];
            let south = &self.posts_m[row.div_ceil(2) * width..][..width];
            fill_line_of_halves(line, north, south, 0.5 * (row % 2) as f64);
        }
        Self { cells, shift: self.shift - 1, posts_m, ..*self }
    }

    /// Largest distance to the patch one level coarser. Both triangulations
    /// are nested, so that it lies at one of these posts. No holes.
    fn largest_distance_m(&self, above: &Self) -> f64 {
        let width = self.cells + 1;
        if self.cells == 2 * above.cells {
            let rows = self.posts_m.chunks_exact(width).enumerate().map(|(row, posts)| {
                let north = &above.posts_m[row / 2 * (above.cells + 1)..];
                let south = &above.posts_m[row.div_ceil(2) * (above.cells + 1)..];
                let t = 0.5 * (row % 2) as f64;
                let mut line = [0.0; POSTS];
                fill_line_of_halves(&mut line[..width], &north[..=above.cells], &south[..=above.cells], t);
                largest_distance(&line[..width], posts)
            });
            return rows.fold(0.0, f64::max);
        }
        // A single cell in one quarter of the single cell above.
        let half = |above: usize, own: usize| if above > own { 0.5 } else { 0.0 };
        let (s0, t0) = (half(above.offset.0, self.offset.0), half(above.offset.1, self.offset.1));
        let corners = [(0, 0), (1, 0), (0, 1), (1, 1)];
        let distances = corners.map(|(u, v)| {
            (self.posts_m[v * width + u] - above.at_place(0, 0, s0 + 0.5 * u as f64, t0 + 0.5 * v as f64)).abs()
        });
        distances.into_iter().fold(0.0, f64::max)
    }

    /// Heights of the triangles along row `v` of the finer tile. No holes.
    #[inline(always)]
    fn line(&self, v: usize) -> [f64; POSTS] {
        let step = 1_usize << self.shift;
        let v = v + self.offset.1;
        let cv = (v >> self.shift).min(self.cells - 1);
        let t = (v - cv * step) as f64 / step as f64;
        let width = self.cells + 1;
        let (north, south) = (&self.posts_m[cv * width..], &self.posts_m[(cv + 1) * width..]);
        let mut line = [0.0; POSTS];
        if self.shift == 1 {
            fill_line_of_halves(&mut line, &north[..width], &south[..width], t);
            return line;
        }
        let first = self.offset.0;
        for cu in 0..self.cells {
            let (nw, ne, sw, se) = (north[cu], north[cu + 1], south[cu], south[cu + 1]);
            // Finest posts of this cell inside the tile, counted in the cell.
            let from = if cu == 0 { first } else { 0 };
            let to = (first + POSTS - 1 - cu * step).min(step);
            let bend = step - (t * step as f64) as usize;
            let (scale, west) = (1.0 / step as f64, nw + t * (sw - nw));
            let out = &mut line[cu * step + from - first..=cu * step + to - first];
            let (upper, lower) = out.split_at_mut((bend + 1).saturating_sub(from).min(to + 1 - from));
            let east_grade = (ne - nw) * scale;
            for (k, height) in upper.iter_mut().enumerate() {
                *height = west + (from + k) as f64 * east_grade;
            }
            let begun = from + upper.len();
            let (west_grade, east) = ((se - sw) * scale, se - (1.0 - t) * (se - ne));
            for (k, height) in lower.iter_mut().enumerate() {
                *height = east - (step - begun - k) as f64 * west_grade;
            }
        }
        line
    }

    /// Height of the triangles at (`s`, `t`) of a cell; NaN where none is
    /// drawn. Posts with zero weight may be holes.
    fn at_place(&self, cu: usize, cv: usize, s: f64, t: f64) -> f64 {
        let width = self.cells + 1;
        let at = |du: usize, dv: usize| self.posts_m[(cv + dv) * width + cu + du];
        let mix = |parts: [(f64, f64); 3]| {
            parts.iter().filter(|(weight, _)| *weight != 0.0).map(|(weight, height)| weight * height).sum::<f64>()
        };
        if s + t <= 1.0 {
            mix([(1.0 - s - t, at(0, 0)), (s, at(1, 0)), (t, at(0, 1))])
        } else {
            mix([(s + t - 1.0, at(1, 1)), (1.0 - s, at(0, 1)), (1.0 - t, at(1, 0))])
        }
    }
}

/// Leaves of a lattice by row, and places where a split tile has no child.
pub(crate) fn finest_rows(lattice: &Lattice, tiles: &[TileKey]) -> Vec<Vec<(TileKey, bool)>> {
    let mut rows: BTreeMap<(u64, u8), Vec<(TileKey, bool)>> = BTreeMap::new();
    let mut push = |key: TileKey, is_ground: bool| {
        rows.entry((key.first_post().1, key.level)).or_default().push((key, is_ground));
    };
    for &tile in tiles {
        match tile.children().filter(|_| lattice.is_split(tile)) {
            None => push(tile, true),
            Some(children) => {
                children.into_iter().filter(|child| !lattice.has_ground(*child)).for_each(|child| push(child, false));
            }
        }
    }
    rows.into_values().collect()
}

/// Tiles above one, up to the root.
pub(crate) fn ancestors(key: TileKey, root_level: u8) -> impl Iterator<Item = TileKey> {
    std::iter::successors(Some(key), move |tile| (tile.level < root_level).then(|| tile.parent())).skip(1)
}

/// To `f32`, never below.
pub(crate) fn round_up(value: f64) -> f32 {
    let near = value as f32;
    if f64::from(near) < value { near.next_up() } else { near }
}

/// Makes no parent smaller than its children. `tiles` runs from coarse to
/// fine, as [`Lattice::tiles`] does.
pub(crate) fn make_monotone(errors: &mut BTreeMap<TileKey, TileErrors>, tiles: &[TileKey]) {
    for tile in tiles.iter().rev() {
        if let (Some(own), Some(parent)) = (errors.get(tile).copied(), errors.get_mut(&tile.parent())) {
            parent.include(own);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::code::HeightCode;
    use crate::tile::STORED;
    use terrane_surface::DemGrid;

    fn tile(height: impl Fn(i32, i32) -> f64) -> Tile {
        let code = HeightCode::Steps(1.0 / 512.0);
        let heights: Vec<f64> = (0..STORED as i32).map(|k| height(k % 67 - 1, k / 67 - 1)).collect();
        Tile { code, words: code.encode(&heights, 0.0), filled: None }
    }

    /// The rule in its plainest form.
    fn plain(above: &Tile, i: usize, j: usize, shift: u32) -> f64 {
        let step = 1_usize << shift;
        let (cu, cv) = ((i / step).min(63), (j / step).min(63));
        let (s, t) = ((i - cu * step) as f64 / step as f64, (j - cv * step) as f64 / step as f64);
        let at = |du: i32, dv: i32| above.height_m(cu as i32 + du, cv as i32 + dv);
        if s + t <= 1.0 {
            at(0, 0) + s * (at(1, 0) - at(0, 0)) + t * (at(0, 1) - at(0, 0))
        } else {
            at(1, 1) + (1.0 - s) * (at(0, 1) - at(1, 1)) + (1.0 - t) * (at(1, 0) - at(1, 1))
        }
    }

    #[test]
    fn the_fast_rows_are_the_plain_rule_at_every_distance_between_levels() {
        let dem = DemGrid::in_memory("t", (0.0, 0.0), 1.0, (2, 2), vec![0.0; 4]);
        let lattice = Lattice::under(&[dem]).unwrap();
        let above = tile(|u, v| 30.0 * (f64::from(u) * 0.7).sin() + 20.0 * (f64::from(v) * 0.9).cos());
        for shift in 1..10_u32 {
            let above_key = TileKey { level: shift as u8, x: 3, z: 5 };
            for (dx, dz) in [(0, 0), (1, 0), (1, 1), ((1 << shift) - 1, (1 << shift) - 2)] {
                let key = TileKey { level: 0, x: (3 << shift) + dx, z: (5 << shift) + dz };
                let fine = tile(|u, v| f64::from((u * 37 + v * 101) % 53));
                let mut worst = 0.0_f64;
                for v in 0..65 {
                    for u in 0..65 {
                        let (i, j) = ((dx * 64) as usize + u, (dz * 64) as usize + v);
                        worst = worst.max((plain(&above, i, j, shift) - fine.height_m(u as i32, v as i32)).abs());
                    }
                }
                let patch = Patch::under(key, above_key, &above);
                let finest = Finest::new(key, Some(&fine));
                let found = finest.against(&patch, &lattice);
                assert!((found.height_m - worst).abs() < 1e-9, "{shift} {dx} {dz}: {} {worst}", found.height_m);
                // And the careful path, which holes take.
                let mut holed = fine.clone();
                holed.words[stored(64, 64)] = HOLE;
                let careful = Finest::new(key, Some(&holed)).against(&patch, &lattice);
                assert!(careful.height_m <= worst + 1e-9 && careful.cover_m == lattice.posting_at_m(shift as u8));
            }
        }
    }

    #[test]
    fn a_tile_knows_the_triangles_above_it_from_its_own_posts() {
        let key = TileKey { level: 0, x: 5, z: 2 };
        let height = |i: i64, j: i64| if (i, j) == (352, 160) { f64::NAN } else { ((i * 37 + j * 101) % 53) as f64 };
        let fine = tile(|u, v| height(5 * 64 + i64::from(u), 2 * 64 + i64::from(v)));
        let mut count = 0;
        for (above_key, own) in Finest::new(key, Some(&fine)).own_patches(9) {
            let step = 1_i64 << above_key.level;
            let (i, j) = above_key.first_post();
            let above = tile(|u, v| height(i as i64 + i64::from(u) * step, j as i64 + i64::from(v) * step));
            let read = Patch::under(key, above_key, &above);
            assert_eq!(
                (own.level, own.shift, own.cells, own.offset),
                (read.level, read.shift, read.cells, read.offset)
            );
            let bits = |posts_m: &[f64]| posts_m.iter().map(|post| post.to_bits()).collect::<Vec<_>>();
            assert_eq!(bits(&own.posts_m), bits(&read.posts_m));
            assert_eq!((own.has_holes, read.has_holes), (above_key.level <= 5, above_key.level <= 5));
            count += 1;
        }
        assert_eq!(count, OWN_LEVELS);
    }
}
