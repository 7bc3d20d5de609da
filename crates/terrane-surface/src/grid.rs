//! The function on whole grids of places: what bakes read, bit for bit what
//! [`Surface::height_m`] gives place by place, and a hundred times faster.

use crate::{DemGrid, SiteRect, Surface, TILE_CELLS, TileKey};
use multiversion::multiversion;
use terrane_core::{PostWindow, snap_to_post};

/// Posts of one DEM around a grid of places.
struct Local<'a> {
    dem: &'a DemGrid,
    window: PostWindow,
    heights_m: Vec<f32>,
    /// Fractional columns of the places' x and rows of their z.
    columns: Vec<f64>,
    rows: Vec<f64>,
    /// The same as indices into the window, when every one is a post;
    /// [`OUTSIDE`] for posts that the DEM does not have.
    on_posts: Option<(Vec<usize>, Vec<usize>)>,
}

/// A window with more posts than this is not copied; its posts are then read
/// one by one.
const MAX_LOCAL_POSTS: usize = 1 << 23;
/// Index of a post outside of the window.
const OUTSIDE: usize = usize::MAX;

impl<'a> Local<'a> {
    /// `None` when the DEM reaches no place of the grid.
    fn around(dem: &'a DemGrid, xs_m: &[f64], zs_m: &[f64]) -> Option<Self> {
        let columns: Vec<f64> = xs_m.iter().map(|x| snap_to_post((x - dem.x0_m) / dem.posting_m)).collect();
        let rows: Vec<f64> = zs_m.iter().map(|z| snap_to_post((z - dem.z0_m) / dem.posting_m)).collect();
        // Two posts more on each side, for the spline.
        let span = |places: &[f64], count: usize| {
            let (low, high) = places.iter().fold((f64::MAX, f64::MIN), |(a, b), p| (a.min(*p), b.max(*p)));
            let first = (low.floor() - 2.0).clamp(0.0, count as f64);
            let end = (high.ceil() + 3.0).clamp(0.0, count as f64);
            (end > first && high >= 0.0 && low <= (count - 1) as f64)
                .then_some((first as usize, (end - first) as usize))
        };
        let ((column, width), (row, height)) = (span(&columns, dem.columns)?, span(&rows, dem.rows)?);
        let window = PostWindow { column, row, columns: width, rows: height };
        let mut local = Self { dem, window, heights_m: vec![], columns, rows, on_posts: None };
        if window.len() <= MAX_LOCAL_POSTS {
            local.heights_m = vec![0.0; window.len()];
            dem.posts.window(window, &mut local.heights_m);
            let index = |places: &[f64], first: usize, count: usize| -> Option<Vec<usize>> {
                let one = |place: &f64| {
                    let is_inside = *place >= first as f64 && *place < (first + count) as f64;
                    (place.fract() == 0.0).then(|| if is_inside { *place as usize - first } else { OUTSIDE })
                };
                places.iter().map(one).collect()
            };
            local.on_posts = index(&local.columns, column, width).zip(index(&local.rows, row, height));
        }
        Some(local)
    }

    fn at(&self, column: i64, row: i64) -> Option<f64> {
        let (c, r) = (column.wrapping_sub(self.window.column as i64), row.wrapping_sub(self.window.row as i64));
        if !self.heights_m.is_empty()
            && (0..self.window.columns as i64).contains(&c)
            && (0..self.window.rows as i64).contains(&r)
        {
            let height = self.heights_m[r as usize * self.window.columns + c as usize];
            return (!height.is_nan()).then_some(f64::from(height));
        }
        self.dem.posts.at(column, row)
    }
}

/// Filled posts of one DEM around a grid of places.
struct FilledMask<'a> {
    dem: &'a DemGrid,
    window: PostWindow,
    filled: Vec<bool>,
}

impl<'a> FilledMask<'a> {
    fn around(dem: &'a DemGrid, xs_m: &[f64], zs_m: &[f64]) -> Option<Self> {
        let window = Local::around(dem, xs_m, zs_m)?.window;
        let filled = dem.posts.filled(window).filter(|_| window.len() <= MAX_LOCAL_POSTS)?;
        Some(Self { dem, window, filled })
    }

    /// True when the nearest post was filled.
    fn at(&self, x_m: f64, z_m: f64) -> bool {
        let (column, row) = self.dem.column_row(x_m, z_m);
        let (c, r) = (column.round() as usize, row.round() as usize);
        let (c, r) = (c.wrapping_sub(self.window.column), r.wrapping_sub(self.window.row));
        c < self.window.columns && r < self.window.rows && self.filled[r * self.window.columns + c]
    }
}

impl Surface {
    /// Heights at every place (x, z) of `xs_m` by `zs_m`, row by row: site y in
    /// metres, NaN where there is no ground. The same as
    /// [`Surface::height_m`], bit for bit.
    pub fn heights_m(&self, xs_m: &[f64], zs_m: &[f64]) -> Vec<f64> {
        let mut heights_m = self.datum_heights_m(xs_m, zs_m);
        for (out, z_m) in heights_m.chunks_exact_mut(xs_m.len().max(1)).zip(zs_m) {
            self.lower_row(out, xs_m, *z_m);
        }
        heights_m
    }

    /// Heights above the datum at every place (x, z) of `xs_m` by `zs_m`, row
    /// by row, metres; NaN where there is no ground. The same as
    /// [`Surface::datum_height_m`], bit for bit.
    pub fn datum_heights_m(&self, xs_m: &[f64], zs_m: &[f64]) -> Vec<f64> {
        let dems = &self.spec().dems;
        let locals: Vec<Option<Local<'_>>> = dems.iter().map(|dem| Local::around(dem, xs_m, zs_m)).collect();
        let mut heights_m = vec![f64::NAN; xs_m.len() * zs_m.len()];
        if xs_m.is_empty() || locals.iter().all(Option::is_none) {
            return heights_m;
        }
        let reaching =
            if self.modifiers().is_empty() { Default::default() } else { self.reaching(&around(xs_m, zs_m)) };
        // The finest DEM's own posts need no spline and no joining.
        let mut missing = true;
        if let Some(local) = &locals[0]
            && let Some((columns, rows)) = &local.on_posts
        {
            missing = false;
            // Places beside the DEM come before or behind those in it.
            let before = columns.iter().take_while(|column| **column == OUTSIDE).count();
            let inside = columns[before..].split(|column| *column == OUTSIDE).next().unwrap_or_default();
            let is_adjacent = inside.windows(2).all(|pair| pair[1] == pair[0] + 1);
            missing |= inside.len() < columns.len();
            for (out, &row) in heights_m.chunks_exact_mut(xs_m.len()).zip(rows) {
                if row == OUTSIDE || inside.is_empty() {
                    missing = true;
                    continue;
                }
                let out = &mut out[before..before + inside.len()];
                let posts = &local.heights_m[row * local.window.columns..][..local.window.columns];
                if is_adjacent {
                    let posts = &posts[inside[0]..inside[0] + inside.len()];
                    out.iter_mut().zip(posts).for_each(|(out, post)| *out = f64::from(*post) + local.dem.shift_m);
                } else {
                    let gather = out.iter_mut().zip(inside);
                    gather.for_each(|(out, column)| *out = f64::from(posts[*column]) + local.dem.shift_m);
                }
                missing |= out.iter().any(|height| height.is_nan());
            }
            missing &= dems.len() > 1;
        }
        // Which DEM gives a height, where that matters.
        let mut sources = vec![0; if reaching.needs_dem() && dems.len() > 1 { heights_m.len() } else { 0 }];
        if missing {
            let at = |dem: usize, column: i64, row: i64| match &locals[dem] {
                Some(local) => local.at(column, row),
                None => dems[dem].posts.at(column, row),
            };
            for (row, (out, z_m)) in heights_m.chunks_exact_mut(xs_m.len()).zip(zs_m).enumerate() {
                for (column, (out, x_m)) in out.iter_mut().zip(xs_m).enumerate().filter(|(_, (out, _))| out.is_nan()) {
                    let Some((height_m, dem)) = self.base_height_from(at, *x_m, *z_m) else { continue };
                    *out = height_m;
                    if let Some(source) = sources.get_mut(row * xs_m.len() + column) {
                        *source = dem;
                    }
                }
            }
        }
        if !reaching.is_empty() {
            for (row, (out, z_m)) in heights_m.chunks_exact_mut(xs_m.len()).zip(zs_m).enumerate() {
                for (column, (out, x_m)) in out.iter_mut().zip(xs_m).enumerate().filter(|(_, (out, _))| !out.is_nan()) {
                    let dem = sources.get(row * xs_m.len() + column).copied().unwrap_or(0);
                    *out = reaching.apply(dems, dem, *x_m, *z_m, *out).unwrap_or(f64::NAN);
                }
            }
        }
        heights_m
    }

    /// Datum heights of a row to site y.
    fn lower_row(&self, heights_m: &mut [f64], xs_m: &[f64], z_m: f64) {
        let origin_m = self.spec().origin_height_m;
        match self.spec().curvature_radius_m {
            None => heights_m.iter_mut().for_each(|height| *height = *height - origin_m - 0.0),
            Some(radius_m) => lower_by_curvature(heights_m, xs_m, z_m, origin_m, radius_m),
        }
    }

    /// Heights of a leaf tile's posts with `ring` posts more on every side,
    /// row by row from the north-west; NaN is a hole. The inner posts are
    /// those of [`Surface::leaf_post_m`], bit for bit; the ring is the
    /// function itself.
    pub fn leaf_heights_m(&self, tile: TileKey, ring: u32) -> Vec<f64> {
        let (xs_m, zs_m) = self.tile_places_m(tile, ring);
        let mut heights_m = self.heights_m(&xs_m, &zs_m);
        let (width, ring) = (xs_m.len(), ring as usize);
        let cells = TILE_CELLS as usize;
        let mut join = |index: usize, step: usize| {
            heights_m[index] = 0.5 * (heights_m[index - step] + heights_m[index + step]);
        };
        for (dx, side) in [(-1, 0), (1, cells)] {
            if self.touches_coarser(tile, dx, 0) {
                (1..cells).step_by(2).for_each(|v| join((v + ring) * width + side + ring, width));
            }
        }
        for (dz, side) in [(-1, 0), (1, cells)] {
            if self.touches_coarser(tile, 0, dz) {
                (1..cells).step_by(2).for_each(|u| join((side + ring) * width + u + ring, 1));
            }
        }
        heights_m
    }

    /// Which posts of a tile, with `ring` more on every side, hold filled
    /// heights and not measured ones; `None` when none does.
    pub fn tile_filled(&self, tile: TileKey, ring: u32) -> Option<Vec<bool>> {
        if self.spec().dems.iter().all(|dem| dem.posts.is_all_measured()) {
            return None;
        }
        let (xs_m, zs_m) = self.tile_places_m(tile, ring);
        let masks: Vec<_> = self.spec().dems.iter().map(|dem| FilledMask::around(dem, &xs_m, &zs_m)).collect();
        if !masks.iter().flatten().any(|mask| mask.filled.contains(&true)) {
            return None;
        }
        let places = zs_m.iter().flat_map(|z| xs_m.iter().map(move |x| (*x, *z)));
        let filled = places.map(|(x_m, z_m)| {
            let source = self.datum_height_m(x_m, z_m).and_then(|(_, dem)| masks[dem].as_ref());
            source.is_some_and(|mask| mask.at(x_m, z_m))
        });
        Some(filled.collect::<Vec<_>>()).filter(|filled| filled.contains(&true))
    }

    /// Site x and z of a tile's posts with `ring` posts more on every side.
    pub fn tile_places_m(&self, tile: TileKey, ring: u32) -> (Vec<f64>, Vec<f64>) {
        let lattice = self.lattice();
        let (i, j) = tile.first_post();
        let place =
            |first: u64, k: u32| first as f64 + ((f64::from(k) - f64::from(ring)) * (1_u64 << tile.level) as f64);
        let count = TILE_CELLS + 1 + 2 * ring;
        (
            (0..count).map(|k| lattice.x0_m + place(i, k) * lattice.posting_m).collect(),
            (0..count).map(|k| lattice.z0_m + place(j, k) * lattice.posting_m).collect(),
        )
    }
}

/// The rectangle around some places.
fn around(xs_m: &[f64], zs_m: &[f64]) -> SiteRect {
    let range =
        |places: &[f64]| places.iter().fold([f64::MAX, f64::MIN], |[a, b], place| [a.min(*place), b.max(*place)]);
    SiteRect { x_m: range(xs_m), z_m: range(zs_m) }
}

/// Wide registers where the processor has them: the same bits.
#[multiversion(targets("x86_64+avx+avx2"))]
fn lower_by_curvature(heights_m: &mut [f64], xs_m: &[f64], z_m: f64, origin_m: f64, radius_m: f64) {
    for (height, x_m) in heights_m.iter_mut().zip(xs_m) {
        *height = *height - origin_m - curvature_drop_m(radius_m, *x_m, z_m);
    }
}

/// How far a sphere lies below its tangent plane at the origin, metres:
/// R - sqrt(R^2 - d^2) at distance d, without cancellation; past the limb it
/// stays finite.
#[inline(always)]
pub fn curvature_drop_m(radius_m: f64, x_m: f64, z_m: f64) -> f64 {
    let d2 = x_m * x_m + z_m * z_m;
    d2 / (radius_m + (radius_m * radius_m - d2).max(0.0).sqrt())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::SurfaceSpec;

    fn surface(curved: bool) -> Surface {
        let dem = |name: &str, x0_m: f64, posting_m: f64, posts: usize, hole: Option<usize>| {
            let mut heights_m: Vec<f32> =
                (0..posts * posts).map(|k| ((k * 2_654_435_761) % 997) as f32 * 0.013).collect();
            if let Some(hole) = hole {
                heights_m[hole] = f32::NAN;
            }
            DemGrid::in_memory(name, (x0_m, x0_m + 3.0), posting_m, (posts, posts), heights_m)
        };
        let dems = vec![dem("fine", -40.0, 1.0, 131, Some(5000)), dem("coarse", -900.3, 20.0, 101, Some(4321))];
        let curvature_radius_m = curved.then_some(1_737_400.0);
        Surface::new(SurfaceSpec { dems, curvature_radius_m, origin_height_m: 2.5, ..SurfaceSpec::default() }).unwrap()
    }

    #[test]
    fn grids_are_the_function_place_by_place_bit_for_bit() {
        for curved in [false, true] {
            let surface = surface(curved);
            for (x0, step) in [(-60.0, 1.0), (-60.25, 0.5), (-950.0, 37.7), (-900.3, 20.0), (200.0, 3.0)] {
                let xs: Vec<f64> = (0..70).map(|k| x0 + f64::from(k) * step).collect();
                let zs: Vec<f64> = (0..50).map(|k| x0 + 3.0 + f64::from(k) * step).collect();
                let heights_m = surface.heights_m(&xs, &zs);
                for (k, height) in heights_m.iter().enumerate() {
                    let expected = surface.height_m(xs[k % 70], zs[k / 70]).unwrap_or(f64::NAN);
                    assert_eq!(height.to_bits(), expected.to_bits(), "{} {}", xs[k % 70], zs[k / 70]);
                }
            }
        }
    }

    #[test]
    fn leaf_tiles_are_the_posts_that_queries_use_bit_for_bit() {
        let surface = surface(true);
        let lattice = surface.lattice();
        for tile in lattice.tiles().into_iter().filter(|tile| !lattice.is_split(*tile)) {
            let heights_m = surface.leaf_heights_m(tile, 1);
            for v in 0..65_u32 {
                for u in 0..65_u32 {
                    let expected = surface.leaf_post_m(tile, u, v).unwrap_or(f64::NAN);
                    let found = heights_m[(v as usize + 1) * 67 + u as usize + 1];
                    assert_eq!(found.to_bits(), expected.to_bits(), "{tile:?} {u} {v}");
                }
            }
        }
    }
}
