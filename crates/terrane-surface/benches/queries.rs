//! How fast the ground answers: 16 km at 5 m, with three modifiers and some
//! hundred craters around the region that is asked about.
//!
//!     cargo bench --profile dev -p terrane-surface --bench queries

#![allow(missing_docs, clippy::unwrap_used, clippy::expect_used)]

use divan::Bencher;
use divan::counter::ItemsCount;
use glam::DVec3;
use std::sync::LazyLock;
use terrane_core::Quiet;
use terrane_surface::{
    CraterSpec, DemGrid, EditKind, EditSpec, ModifierSpec, PopulationSpec, Ray, RayCaster, Shape, SiteRect, SizeLaw,
    Surface, SurfaceSpec, TileBounds,
};
use terrane_synth::noise::{Noise, Octave, uniform};

const HALF_M: f64 = 8190.0;
const POSTING_M: f64 = 5.0;
const PLACES: usize = 100_000;

fn base() -> Surface {
    let noise = Noise::new();
    let octaves: Vec<Octave> =
        (0..10).map(|k| Octave::new(1, k, 4000.0 / f64::from(1 << k), 300.0 / f64::from(1 << k))).collect();
    let posts = (2.0 * HALF_M / POSTING_M) as usize + 1;
    let place = |k: usize| -HALF_M + k as f64 * POSTING_M;
    let height =
        |k: usize| octaves.iter().map(|o| o.at(&noise, place(k % posts), place(k / posts))).sum::<f64>() as f32;
    let heights_m = (0..posts * posts).map(height).collect();
    let dem = DemGrid::in_memory("bench", (-HALF_M, -HALF_M), POSTING_M, (posts, posts), heights_m);
    let spec = SurfaceSpec { dems: vec![dem], curvature_radius_m: Some(1_737_400.0), ..SurfaceSpec::default() };
    Surface::new(spec).unwrap()
}

static BASE: LazyLock<Surface> = LazyLock::new(base);

/// A hundred craters in the region, a single one, and an edit.
static SHAPED: LazyLock<Surface> = LazyLock::new(|| {
    let craters = PopulationSpec {
        seed: 2,
        density_per_km2: 100.0,
        diameter_m: [20.0, 120.0],
        law: SizeLaw::Equilibrium,
        depth_ratio: None,
        rim_ratio: None,
        relief_scale: 1.0,
        region: SiteRect::around(0.0, 0.0, 500.0),
    };
    let edit = EditSpec { kind: EditKind::Flatten, x_m: 50.0, z_m: 80.0, radius_m: 60.0, amount: 0.0 };
    let shapes = [Shape::Craters(craters), Shape::Crater(CraterSpec::fresh(-120.0, 60.0, 200.0)), Shape::Edit(edit)];
    let modifiers = shapes.into_iter().map(|shape| ModifierSpec { name: "bench".into(), shape }).collect();
    BASE.revised(modifiers).unwrap()
});

fn places(half_m: f64) -> Vec<(f64, f64)> {
    (0..PLACES as u64)
        .map(|k| (half_m * (2.0 * uniform(3, k, 0) - 1.0), half_m * (2.0 * uniform(3, k, 1) - 1.0)))
        .collect()
}

#[divan::bench]
fn height_at_one_by_one(bencher: Bencher) {
    let places = places(500.0);
    let ask = || places.iter().filter_map(|(x_m, z_m)| SHAPED.height_at(*x_m, *z_m)).sum::<f64>();
    ask();
    bencher.counter(ItemsCount::new(PLACES)).bench_local(ask);
}

#[divan::bench]
fn height_at_batched(bencher: Bencher) {
    let places = places(500.0);
    SHAPED.height_at_each(&places);
    bencher.counter(ItemsCount::new(PLACES)).bench_local(|| SHAPED.height_at_each(&places));
}

#[divan::bench]
fn height_at_along_a_way(bencher: Bencher) {
    let places: Vec<(f64, f64)> =
        (0..PLACES).map(|k| (-500.0 + k as f64 * 0.01, 0.3 * (k as f64 * 0.001).sin())).collect();
    let ask = || places.iter().filter_map(|(x_m, z_m)| SHAPED.height_at(*x_m, *z_m)).sum::<f64>();
    ask();
    bencher.counter(ItemsCount::new(PLACES)).bench_local(ask);
}

#[divan::bench]
fn height_at_over_the_whole_site(bencher: Bencher) {
    let places = places(HALF_M);
    let ask = || places.iter().filter_map(|(x_m, z_m)| SHAPED.height_at(*x_m, *z_m)).sum::<f64>();
    ask();
    bencher.counter(ItemsCount::new(PLACES)).bench_local(ask);
}

#[divan::bench]
fn normal_at_one_by_one(bencher: Bencher) {
    let places = places(500.0);
    let ask = || places.iter().filter_map(|(x_m, z_m)| SHAPED.normal_at(*x_m, *z_m)).map(|n| n.y).sum::<f64>();
    ask();
    bencher.counter(ItemsCount::new(PLACES)).bench_local(ask);
}

#[divan::bench]
fn ground_at_with_its_source(bencher: Bencher) {
    let places = &places(500.0)[..10_000];
    let ask = || places.iter().filter_map(|(x_m, z_m)| SHAPED.ground_at(*x_m, *z_m)).count();
    ask();
    bencher.counter(ItemsCount::new(places.len())).bench_local(ask);
}

static CASTER: LazyLock<RayCaster> =
    LazyLock::new(|| RayCaster::new(SHAPED.clone(), TileBounds::measure(&SHAPED, &Quiet).unwrap()));

/// From 2 m over the ground to anywhere on the site, nearly level, up to 16 km.
fn rays(count: u64) -> Vec<Ray> {
    let place = |k: u64, draw: u64| 0.98 * HALF_M * (2.0 * uniform(4, k, draw) - 1.0);
    let ray = |k: u64| {
        let (x_m, z_m) = (place(k, 0), place(k, 1));
        let y_m = SHAPED.height_at(x_m, z_m)? + 2.0;
        let direction = DVec3::new(place(k, 2) - x_m, 300.0 * (uniform(4, k, 4) - 0.5), place(k, 3) - z_m);
        Ray::new(DVec3::new(x_m, y_m, z_m), direction, 16_000.0)
    };
    (0..count).filter_map(ray).collect()
}

/// One ray a sample, so that the median is that of rays.
#[divan::bench(sample_size = 1, sample_count = 20_000)]
fn raycast_over_sixteen_kilometres(bencher: Bencher) {
    let rays = rays(20_000);
    rays.iter().for_each(|ray| {
        CASTER.cast(ray);
    });
    let mut next = rays.iter().cycle();
    bencher.with_inputs(|| *next.next().unwrap()).bench_local_values(|ray| CASTER.cast(&ray));
}

/// The same, high over the ground: no hit before the border.
#[divan::bench(sample_size = 1, sample_count = 20_000)]
fn raycast_that_misses(bencher: Bencher) {
    let mut rays = rays(20_000);
    rays.iter_mut().for_each(|ray| ray.origin_m.y = 900.0);
    let mut next = rays.iter().cycle();
    bencher.with_inputs(|| *next.next().unwrap()).bench_local_values(|ray| CASTER.cast(&ray));
}

/// An edit of 5 m in the site: the revised surface and the first answer.
#[divan::bench(sample_size = 1, sample_count = 200)]
fn edit_until_it_is_seen(bencher: Bencher) {
    let brush = EditSpec { kind: EditKind::Brush, x_m: 210.0, z_m: -333.0, radius_m: 5.0, amount: 1.0 };
    let mut modifiers = SHAPED.spec().modifiers.clone();
    modifiers.push(ModifierSpec { name: "brush".into(), shape: Shape::Edit(brush) });
    bencher.with_inputs(|| modifiers.clone()).bench_local_values(|modifiers| {
        let edited = SHAPED.revised(modifiers).unwrap();
        (edited.changed_tiles(&SHAPED).len(), edited.height_at(210.0, -333.0))
    });
}

fn main() {
    divan::main();
}
