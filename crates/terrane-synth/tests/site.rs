//! What a synthetic site promises, measured on the default recipe.

#![allow(clippy::unwrap_used, reason = "helpers of tests are tests")]

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

use terrane_core::{Cancelled, Progress, Quiet};
use terrane_synth::{GridSpec, Landscape, Recipe};

/// The default site, built once for all tests.
fn site() -> &'static Landscape {
    static SITE: OnceLock<Landscape> = OnceLock::new();
    SITE.get_or_init(|| Landscape::new(&Recipe::default(), 10_000.0).unwrap())
}

/// The middle kilometre at one metre.
fn middle_kilometre() -> (&'static [f32], GridSpec) {
    static HEIGHTS: OnceLock<Vec<f32>> = OnceLock::new();
    let grid = GridSpec::centred(1.0, 1025);
    (HEIGHTS.get_or_init(|| site().heights(&grid, &Quiet).unwrap()), grid)
}

fn relief(heights: &[f32]) -> f32 {
    let (low, high) = heights.iter().fold((f32::MAX, f32::MIN), |(l, h), v| (l.min(*v), h.max(*v)));
    high - low
}

/// Slopes in degrees over two postings, ascending.
fn slopes(heights: &[f32], grid: &GridSpec, keep: impl Fn([f64; 2]) -> bool) -> Vec<f64> {
    let at = |column: usize, row: usize| f64::from(heights[row * grid.columns + column]);
    let mut slopes = Vec::new();
    for row in 1..grid.rows - 1 {
        for column in 1..grid.columns - 1 {
            if keep(grid.place(column, row)) {
                let east = at(column + 1, row) - at(column - 1, row);
                let north = at(column, row - 1) - at(column, row + 1);
                slopes.push((east.hypot(north) / (2.0 * grid.posting_m)).atan().to_degrees());
            }
        }
    }
    slopes.sort_by(f64::total_cmp);
    slopes
}

#[test]
fn the_middle_kilometre_is_gentle() {
    let (heights, grid) = middle_kilometre();
    let slopes = slopes(heights, &grid, |_| true);
    let at = |share: f64| slopes[(share * (slopes.len() - 1) as f64) as usize];
    assert!((5.0..9.0).contains(&at(0.5)), "median slope {}", at(0.5));
    assert!(at(0.999) < 30.0, "99.9 percentile {}", at(0.999));
    assert!((30.0..90.0).contains(&relief(heights)), "relief {}", relief(heights));
}

#[test]
fn twenty_kilometres_have_the_relief_of_highlands() {
    let heights = site().heights(&GridSpec::centred(80.0, 257), &Quiet).unwrap();
    assert!((400.0..1500.0).contains(&relief(&heights)), "{}", relief(&heights));
}

#[test]
fn a_rover_can_stand_at_the_origin() {
    let grid = GridSpec::centred(0.5, 61);
    let heights = site().heights(&grid, &Quiet).unwrap();
    let slopes = slopes(&heights, &grid, |[east, north]| east.hypot(north) < 10.0);
    assert!(slopes[slopes.len() / 2] < 4.0, "median {}", slopes[slopes.len() / 2]);
    assert!(slopes[slopes.len() - 1] < 16.0, "steepest {}", slopes[slopes.len() - 1]);
}

#[test]
fn every_value_is_finite_and_albedo_is_lunar() {
    let (heights, _) = middle_kilometre();
    assert!(heights.iter().all(|h| h.is_finite()));
    let albedo = site().albedo(&GridSpec::centred(4.0, 257), &Quiet).unwrap();
    assert!(albedo.iter().all(|a| (0.09..0.25).contains(a)));
}

#[test]
fn one_thread_and_two_threads_give_the_same_bits() {
    let recipe = Recipe { seed: 3, ..Recipe::default() };
    let grid = GridSpec { x0_m: -71.5, y0_m: 99.25, posting_m: 1.5, columns: 131, rows: 97 };
    let build = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| {
            let landscape = Landscape::new(&recipe, 300.0).unwrap();
            let heights = landscape.heights(&grid, &Quiet).unwrap();
            (heights, landscape.albedo(&grid, &Quiet).unwrap())
        })
    };
    let bits = |values: &[f32]| values.iter().map(|v| v.to_bits()).collect::<Vec<_>>();
    let (one, two) = (build(1), build(2));
    assert_eq!(bits(&one.0), bits(&two.0));
    assert_eq!(bits(&one.1), bits(&two.1));
}

#[test]
fn a_post_does_not_depend_on_the_grid_around_it() {
    let whole = GridSpec::centred(1.0, 129);
    let part = GridSpec { x0_m: -20.0, y0_m: 13.0, posting_m: 1.0, columns: 10, rows: 5 };
    let whole_heights = site().heights(&whole, &Quiet).unwrap();
    let part_heights = site().heights(&part, &Quiet).unwrap();
    for row in 0..5 {
        for column in 0..10 {
            assert_eq!(part_heights[row * 10 + column], whole_heights[(row + 51) * 129 + column + 44]);
        }
    }
}

#[test]
fn grids_agree_exactly_about_what_both_can_show() {
    let mut recipe = Recipe::default();
    // Nothing smaller than six postings of the coarse grid.
    recipe.craters.detail_below_m = 120.0;
    recipe.craters.smallest_m = 120.0;
    recipe.relief.shortest_m = 120.0;
    recipe.relief.regolith_m = 0.0;
    recipe.pad.radius_m = 0.0;
    recipe.features.clear();
    let landscape = Landscape::new(&recipe, 1000.0).unwrap();
    let coarse = landscape.heights(&GridSpec::centred(20.0, 51), &Quiet).unwrap();
    let fine = landscape.heights(&GridSpec::centred(5.0, 201), &Quiet).unwrap();
    for row in 0..51 {
        for column in 0..51 {
            assert_eq!(coarse[row * 51 + column], fine[4 * row * 201 + 4 * column]);
        }
    }
}

#[test]
fn a_coarse_grid_differs_from_a_fine_one_by_small_craters_only() {
    let (fine, _) = middle_kilometre();
    // Every 16th post, 16 m apart.
    let coarse = site().heights(&GridSpec::centred(16.0, 65), &Quiet).unwrap();
    let difference =
        |row: usize, column: usize| f64::from(coarse[row * 65 + column] - fine[16 * row * 1025 + 16 * column]);
    let squares = (0..65 * 65).map(|i| difference(i / 65, i % 65).powi(2)).sum::<f64>();
    let rms = (squares / (65.0 * 65.0)).sqrt();
    // A half-faded crater of 72 m is up to 5 m deep; most posts see none.
    assert!(rms < 1.5, "{rms}");
}

/// Asks to stop after a number of rows.
struct StopAfter {
    rows: u64,
    done: AtomicU64,
}

impl Progress for StopAfter {
    fn begin(&self, _what: &str, _total: u64) {}

    fn advance(&self, units: u64) {
        self.done.fetch_add(units, Ordering::Relaxed);
    }

    fn is_cancelled(&self) -> bool {
        self.done.load(Ordering::Relaxed) >= self.rows
    }
}

#[test]
fn work_stops_when_asked_and_reports_every_row_otherwise() {
    let grid = GridSpec::centred(8.0, 200);
    let stop = StopAfter { rows: 32, done: AtomicU64::new(0) };
    assert_eq!(site().heights(&grid, &stop), Err(Cancelled));
    assert!(stop.done.into_inner() < 200);
    let whole = StopAfter { rows: u64::MAX, done: AtomicU64::new(0) };
    assert!(site().albedo(&grid, &whole).is_ok());
    assert_eq!(whole.done.into_inner(), 200);
}

#[test]
fn the_authored_crater_is_where_the_recipe_says() {
    let landmark = site().craters().iter().find(|c| c.east_m == 84.0 && c.north_m == 88.0).unwrap();
    assert_eq!(landmark.diameter_m, 74.0);
    let grid = |east: f64| GridSpec { x0_m: east, y0_m: 88.0, posting_m: 1.0, columns: 1, rows: 1 };
    let at = |east: f64| site().heights(&grid(east), &Quiet).unwrap()[0];
    let rim = 0.5 * (at(84.0 - 37.0) + at(84.0 + 37.0));
    let depth = rim - at(84.0);
    assert!((6.0..14.0).contains(&depth), "{depth}");
}

#[test]
fn an_empty_grid_is_no_error() {
    let grid = GridSpec { x0_m: 0.0, y0_m: 0.0, posting_m: 1.0, columns: 0, rows: 3 };
    assert!(site().heights(&grid, &Quiet).unwrap().is_empty());
}

#[test]
fn a_recipe_that_would_place_too_many_craters_is_refused() {
    let mut recipe = Recipe::default();
    recipe.craters.slope = 4.0;
    recipe.craters.smallest_m = 0.5;
    let error = Landscape::new(&recipe, 1000.0).unwrap_err();
    assert_eq!(error.field, "craters");
    assert!(error.to_string().contains("at most 2000000 craters"), "{error}");
}

#[test]
fn an_extent_that_makes_no_sense_is_named() {
    let error = Landscape::new(&Recipe::default(), f64::NAN).unwrap_err();
    assert_eq!(error.field, "half_extent_m");
}
