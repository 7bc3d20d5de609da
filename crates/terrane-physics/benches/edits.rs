//! From an edit to a collider that has it: 16 km at 1 m, an edit of 5 m, a
//! rover that stands there.
//!
//!     cargo bench --profile dev -p terrane-physics --bench edits

#![allow(missing_docs, clippy::unwrap_used, clippy::expect_used)]

use divan::Bencher;
use glam::DVec3;
use std::sync::LazyLock;
use terrane_physics::{BallSpec, World, WorldSpec};
use terrane_surface::{DemGrid, EditKind, EditSpec, ModifierSpec, Shape, Surface, SurfaceSpec};

const SIDE: usize = 16_385;
const PLACE_M: (f64, f64) = (1234.5, -3210.25);

static SITE: LazyLock<Surface> = LazyLock::new(|| {
    let place = |k: usize| k as f64 - 8192.0;
    let height = |k: usize| {
        let (x, z) = (place(k % SIDE), place(k / SIDE));
        (40.0 * (0.003 * x).sin() + 30.0 * (0.004 * z).cos() + 0.2 * (0.7 * x + 0.4 * z).sin()) as f32
    };
    let dem = DemGrid::in_memory("site", (-8192.0, -8192.0), 1.0, (SIDE, SIDE), (0..SIDE * SIDE).map(height).collect());
    Surface::new(SurfaceSpec { dems: vec![dem], curvature_radius_m: Some(1_737_400.0), ..SurfaceSpec::default() })
        .unwrap()
});

fn edited(kind: EditKind) -> Vec<ModifierSpec> {
    let edit = EditSpec { kind, x_m: PLACE_M.0, z_m: PLACE_M.1, radius_m: 5.0, amount: 0.5 };
    vec![ModifierSpec { name: "edit".into(), shape: Shape::Edit(edit) }]
}

/// A world whose ball has settled beside the place.
fn world() -> World {
    let mut world = World::new(SITE.clone(), WorldSpec::default()).unwrap();
    let (x_m, z_m) = (PLACE_M.0 + 3.0, PLACE_M.1);
    let y_m = SITE.height_at(x_m, z_m).unwrap() + 0.3;
    world.add_ball(&BallSpec { radius_m: 0.3, position_m: DVec3::new(x_m, y_m, z_m), ..BallSpec::default() }).unwrap();
    (0..10).for_each(|_| world.step().unwrap());
    world
}

/// The revised surface, its colliders swapped in, and one step on them.
#[divan::bench(args = [EditKind::Brush, EditKind::Crater], sample_count = 40, sample_size = 1)]
fn edit_until_it_is_touched(bencher: Bencher, kind: EditKind) {
    let world = std::cell::RefCell::new(world());
    let first = SITE.revised(edited(kind)).unwrap();
    println!("{}: {} tiles of all levels change", kind.name(), first.changed_tiles(&SITE).len());
    bencher
        .with_inputs(|| {
            world.borrow_mut().replace_surface(SITE.clone(), &first.changed_rects(&SITE)).unwrap();
            edited(kind)
        })
        .bench_local_values(|modifiers| {
            let surface = SITE.revised(modifiers).unwrap();
            let rects = surface.changed_rects(&SITE);
            let mut world = world.borrow_mut();
            let swap = world.replace_surface(surface, &rects).unwrap();
            world.step().unwrap();
            swap.put_in.len()
        });
}

/// The revised surface and its height at the place.
#[divan::bench(args = [EditKind::Brush, EditKind::Crater], sample_count = 40, sample_size = 1)]
fn edit_until_it_is_answered(bencher: Bencher, kind: EditKind) {
    LazyLock::force(&SITE);
    bencher
        .with_inputs(|| edited(kind))
        .bench_local_values(|modifiers| SITE.revised(modifiers).unwrap().height_at(PLACE_M.0, PLACE_M.1));
}

fn main() {
    divan::main();
}
