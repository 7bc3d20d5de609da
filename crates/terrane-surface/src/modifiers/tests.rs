use super::*;
use crate::{DemGrid, Source, SurfaceSpec};
use terrane_synth::noise::uniform;

fn rough(x: f64, z: f64) -> f64 {
    3.0 * (0.05 * x).sin() + 2.0 * (0.07 * z).cos() + 0.3 * (0.9 * x + 0.4 * z).sin()
}

fn dem(name: &str, half_m: f64, posting_m: f64, height: impl Fn(f64, f64) -> f64) -> DemGrid {
    let posts = (2.0 * half_m / posting_m) as usize + 1;
    let place = |k: usize| -half_m + k as f64 * posting_m;
    let heights_m = (0..posts * posts).map(|k| height(place(k % posts), place(k / posts)) as f32).collect();
    DemGrid::in_memory(name, (-half_m, -half_m), posting_m, (posts, posts), heights_m)
}

fn named(name: &str, shape: Shape) -> ModifierSpec {
    ModifierSpec { name: name.to_owned(), shape }
}

fn edit(kind: EditKind, x_m: f64, z_m: f64, radius_m: f64, amount: f64) -> ModifierSpec {
    named(kind.name(), Shape::Edit(EditSpec { kind, x_m, z_m, radius_m, amount }))
}

fn craters(density_per_km2: f64, half_m: f64) -> ModifierSpec {
    let spec = PopulationSpec {
        seed: 3,
        density_per_km2,
        diameter_m: [8.0, 60.0],
        law: SizeLaw::Equilibrium,
        depth_ratio: None,
        rim_ratio: None,
        relief_scale: 1.0,
        region: SiteRect::around(0.0, 0.0, half_m),
    };
    named("/Craters", Shape::Craters(spec))
}

fn overzoom(amplitude_m: f64, half_m: f64) -> ModifierSpec {
    let region = SiteRect::around(0.0, 0.0, half_m);
    let spec = OverzoomSpec { seed: 4, amplitude_m, min_feature_m: 0.5, max_feature_m: 4.0, region };
    named("/Overzoom", Shape::Overzoom(spec))
}

fn surface(dems: Vec<DemGrid>, modifiers: Vec<ModifierSpec>) -> Surface {
    let curvature_radius_m = Some(1_737_400.0);
    Surface::new(SurfaceSpec { dems, curvature_radius_m, modifiers, ..SurfaceSpec::default() }).unwrap()
}

fn every_kind() -> Vec<ModifierSpec> {
    vec![
        craters(2000.0, 150.0),
        named("/Crater", Shape::Crater(CraterSpec::fresh(30.0, -20.0, 40.0))),
        overzoom(0.2, 60.0),
        edit(EditKind::Brush, 10.0, 12.0, 9.0, 2.0),
        edit(EditKind::Flatten, 14.0, 12.0, 9.0, 0.5),
        edit(EditKind::Smooth, -20.0, 5.0, 15.0, 0.0),
        edit(EditKind::Crater, -25.0, 25.0, 4.0, 0.0),
        edit(EditKind::Hole, 40.0, 40.0, 3.0, 0.0),
        edit(EditKind::Paint, 0.0, 0.0, 8.0, 7.0),
    ]
}

fn nested() -> Surface {
    surface(vec![dem("fine", 100.0, 2.0, rough), dem("wide", 1000.0, 20.0, rough)], every_kind())
}

#[test]
fn whole_grids_equal_place_by_place_with_every_modifier() {
    let surface = nested();
    let xs_m: Vec<f64> = (0..180).map(|k| -130.0 + 1.37 * f64::from(k)).chain([10.0, 12.0, 14.0]).collect();
    let zs_m: Vec<f64> = (0..90).map(|k| -60.0 + 1.61 * f64::from(k)).chain([20.0, 12.0]).collect();
    let grid = surface.heights_m(&xs_m, &zs_m);
    for (row, z_m) in zs_m.iter().enumerate() {
        for (column, x_m) in xs_m.iter().enumerate() {
            let (got, single) = (grid[row * xs_m.len() + column], surface.height_m(*x_m, *z_m).unwrap_or(f64::NAN));
            assert_eq!(got.to_bits(), single.to_bits(), "{x_m} {z_m}: {got} {single}");
        }
    }
}

#[test]
fn the_refined_ground_has_no_crack_and_answers_alike_cold_and_warm() {
    let surface = nested();
    let lattice = surface.lattice();
    let leaves: Vec<_> = lattice.tiles().into_iter().filter(|tile| !lattice.is_split(*tile)).collect();
    assert!(leaves.iter().map(|tile| tile.level).collect::<std::collections::BTreeSet<_>>().len() >= 5);
    for tile in leaves.iter().step_by(7) {
        let ([x0, x1], [z0, z1]) = lattice.tile_bounds_m(*tile);
        for k in 1..16 {
            let t = f64::from(k) / 16.0;
            for (x, z) in [(x0, z0 + t * (z1 - z0)), (x0 + t * (x1 - x0), z0)] {
                let sides = [surface.height_at(x - 1e-7, z - 1e-7), surface.height_at(x + 1e-7, z + 1e-7)];
                if let [Some(a), Some(b)] = sides {
                    assert!((a - b).abs() < 1e-5, "{tile:?} {x} {z}: {a} {b}");
                }
            }
        }
    }
    // Asked often enough, a leaf is kept; the answer stays the same.
    let cold = Surface::new(surface.spec().clone()).unwrap();
    let place = |k: u64| (40.0 * uniform(1, k, 0) - 20.0, 40.0 * uniform(1, k, 1) - 20.0);
    let first: Vec<_> = (0..40).map(|k| cold.height_at(place(k).0, place(k).1)).collect();
    for _ in 0..4 {
        let again: Vec<_> = (0..40).map(|k| cold.height_at(place(k).0, place(k).1)).collect();
        assert_eq!(first, again);
    }
    let grounds: Vec<_> = (0..40).map(|k| cold.ground_at(place(k).0, place(k).1).map(|g| g.height_m)).collect();
    assert_eq!(first, grounds);
    assert_eq!(first, cold.height_at_each(&(0..40).map(place).collect::<Vec<_>>()));
}

#[test]
fn modifiers_fold_in_order() {
    let dems = || vec![dem("flat", 64.0, 1.0, |_, _| 5.0)];
    let crater = || named("/C", Shape::Crater(CraterSpec::fresh(0.0, 0.0, 20.0)));
    let flatten = || edit(EditKind::Flatten, 0.0, 0.0, 12.0, 0.0);
    let floor_m = CraterSpec::fresh(0.0, 0.0, 20.0).relief_m(0.0, 0.0);
    // Levelled to the floor of what was there before, or dug into the level.
    let after = surface(dems(), vec![crater(), flatten()]);
    let before = surface(dems(), vec![flatten(), crater()]);
    assert!((after.datum_height_m(5.0, 0.0).unwrap().0 - (5.0 + floor_m)).abs() < 1e-9);
    assert!((before.datum_height_m(0.0, 0.0).unwrap().0 - (5.0 + floor_m)).abs() < 1e-9);
    assert!(before.datum_height_m(10.0, 0.0).unwrap().0 > 5.5);
    assert_ne!(after.modifiers()[1].key(), before.modifiers()[0].key());
}

#[test]
fn a_hole_is_no_ground_and_paint_is_a_class() {
    let surface = surface(vec![dem("flat", 64.0, 1.0, rough)], every_kind());
    assert!(surface.ground_at(40.0, 40.0).is_none() && surface.height_m(40.0, 40.0).is_none());
    assert!(surface.ground_at(44.0, 40.0).is_some());
    let painted = surface.ground_at(1.0, 1.0).unwrap();
    assert_eq!((painted.class, surface.ground_at(9.0, 0.0).unwrap().class), (7, 0));
    assert_eq!(surface.shaped_by(40.0, 40.0).last(), Some(&"hole"));
    let brushed = surface.ground_at(10.0, 12.0).unwrap();
    assert_eq!(brushed.source, Source::Edited);
    assert!(surface.shaped_by(10.0, 12.0).contains(&"brush"));
}

#[test]
fn synthesised_detail_vanishes_on_posts_stays_in_its_bounds_and_has_no_step() {
    let dems = || vec![dem("fine", 40.0, 2.0, rough), dem("wide", 400.0, 20.0, rough)];
    let (plain, detailed) = (surface(dems(), vec![]), surface(dems(), vec![overzoom(0.2, 300.0)]));
    let relief = |x: f64, z: f64| detailed.datum_height_m(x, z).unwrap().0 - plain.datum_height_m(x, z).unwrap().0;
    for k in 0..=40 {
        let on_fine = -40.0 + 2.0 * f64::from(k);
        assert_eq!(relief(on_fine, 6.0), 0.0);
        assert_eq!(relief(-400.0 + 20.0 * f64::from(k), 180.0), 0.0);
    }
    let (mut least, mut most) = (f64::MAX, f64::MIN);
    for k in 0..20_000 {
        let (x, z) = (600.0 * uniform(5, k, 0) - 300.0, 600.0 * uniform(5, k, 1) - 300.0);
        let here = relief(x, z);
        (least, most) = (least.min(here), most.max(here));
        assert!((relief(x + 1e-6, z) - here).abs() < 1e-5, "{x} {z}");
    }
    assert!(least > -0.2 && most < 0.2 && most - least > 0.05, "{least} {most}");
    // No step where one DEM takes over from the other.
    for k in 0..200 {
        let z = -39.9 + 0.4 * f64::from(k);
        let across = [39.999_999, 40.000_001].map(|x| relief(x, z.min(39.9)));
        assert!((across[0] - across[1]).abs() < 1e-5, "{z}: {across:?}");
    }
    // The lattice shows it, and agrees with the DEM where posts are shared.
    assert!(detailed.lattice().posting_m <= 0.125);
    let shared = detailed.ground_at(6.0, -4.0).unwrap();
    assert_eq!(Some(shared.height_m), plain.height_m(6.0, -4.0));
    assert!(shared.posting_m <= 0.125 && plain.ground_at(6.0, -4.0).unwrap().posting_m == 2.0);
}

#[test]
fn a_small_crater_in_a_coarse_dem_gets_the_posts_it_needs() {
    let crater = CraterSpec::fresh(3.0, 4.0, 6.0);
    let surface = surface(vec![dem("wide", 2560.0, 10.0, |_, _| 0.0)], vec![named("/C", Shape::Crater(crater))]);
    let rim = surface.ground_at(6.0, 4.0).unwrap();
    assert!(rim.posting_m <= 6.0 / 16.0 && surface.ground_at(2500.0, 2500.0).unwrap().posting_m == 10.0);
    let floor = surface.ground_at(3.0, 4.0).unwrap();
    assert!((rim.datum_height_m - floor.datum_height_m - crater.depth_ratio * 6.0).abs() < 0.06);
    assert_eq!(floor.source, Source::Synthesised);
}

#[test]
fn smoothing_takes_roughness_and_leaves_slopes() {
    let wavy = |x: f64, z: f64| 0.1 * x + 0.3 * ((1.7 * x).sin() + (2.1 * z).cos());
    let plain = surface(vec![dem("wavy", 50.0, 0.5, wavy)], vec![]);
    let smooth = plain.revised(vec![edit(EditKind::Smooth, 0.0, 0.0, 20.0, 4.0)]).unwrap();
    for k in 0..100 {
        let (x, z) = (14.0 * uniform(6, k, 0) - 7.0, 14.0 * uniform(6, k, 1) - 7.0);
        let left = smooth.datum_height_m(x, z).unwrap().0 - 0.1 * x;
        assert!(left.abs() < 0.02, "{x} {z}: {left}");
    }
    assert_eq!(smooth.datum_height_m(21.0, 0.0), plain.datum_height_m(21.0, 0.0));
}

#[test]
fn a_revised_surface_is_the_one_that_is_made_anew() {
    let base = surface(vec![dem("fine", 100.0, 2.0, rough)], vec![craters(500.0, 90.0)]);
    let mut edits = base.spec().modifiers.clone();
    let kinds = EditKind::NAMED.map(|(_, kind)| kind);
    let mut live = base.clone();
    for k in 0..60 {
        let place = |draw| 160.0 * uniform(8, k, draw) - 80.0;
        let kind = kinds[k as usize % kinds.len()];
        let amount = if kind == EditKind::Paint { 3.0 } else { 1.5 * uniform(8, k, 2) };
        edits.push(edit(kind, place(0), place(1), 3.0 + 8.0 * uniform(8, k, 3), amount));
        live = live.revised(edits.clone()).unwrap();
    }
    let undone = live.revised(edits[..31].to_vec()).unwrap();
    for (revised, list) in [(&live, &edits[..]), (&undone, &edits[..31])] {
        let anew = Surface::new(SurfaceSpec { modifiers: list.to_vec(), ..base.spec().clone() }).unwrap();
        assert_eq!(revised.lattice(), anew.lattice());
        let keys = |surface: &Surface| surface.modifiers().iter().map(|m| *m.key()).collect::<Vec<_>>();
        assert_eq!(keys(revised), keys(&anew));
        for k in 0..3000 {
            let (x, z) = (200.0 * uniform(9, k, 0) - 100.0, 200.0 * uniform(9, k, 1) - 100.0);
            assert_eq!(revised.height_at(x, z), anew.height_at(x, z), "{x} {z}");
        }
    }
    let back = live.revised(base.spec().modifiers.clone()).unwrap();
    assert_eq!(back.lattice(), base.lattice());
}

#[test]
fn only_tiles_that_differ_are_named() {
    let base = surface(vec![dem("wide", 2048.0, 4.0, rough)], vec![craters(2.0, 1000.0)]);
    let mut edits = base.spec().modifiers.clone();
    edits.push(edit(EditKind::Brush, 100.0, -300.0, 20.0, 2.0));
    let brushed = base.revised(edits.clone()).unwrap();
    edits.push(edit(EditKind::Crater, -777.0, 333.0, 3.0, 0.0));
    let dug = brushed.revised(edits.clone()).unwrap();
    edits.remove(1);
    let unbrushed = dug.revised(edits).unwrap();
    for (before, after) in [(&base, &brushed), (&brushed, &dug), (&dug, &unbrushed), (&dug, &base)] {
        let changed: std::collections::BTreeSet<_> = after.changed_tiles(before).into_iter().collect();
        let lattice = after.lattice();
        let levels = (before.lattice().posting_m / lattice.posting_m).log2().round() as i32;
        for tile in lattice.tiles().into_iter().filter(|tile| !lattice.is_split(*tile) && !changed.contains(tile)) {
            let was = crate::TileKey { level: (i32::from(tile.level) - levels) as u8, ..tile };
            assert!(!before.lattice().is_split(was), "{tile:?}");
            let bits = |heights: Vec<f64>| heights.into_iter().map(f64::to_bits).collect::<Vec<_>>();
            assert!(bits(after.leaf_heights_m(tile, 1)) == bits(before.leaf_heights_m(was, 1)), "{tile:?}");
        }
    }
    // Without finer posts, just the tiles that the edit's bounds meet.
    let rect = brushed.modifiers().last().unwrap().bounds();
    let meets = |tile: &crate::TileKey| {
        let of_tile = brushed.tile_rect(*tile);
        of_tile.grown(of_tile.size_m().0 / 64.0).meets(&rect)
    };
    let expected = brushed.lattice().tiles().into_iter().filter(meets).count();
    assert_eq!(brushed.changed_tiles(&base).len(), expected);
    assert!(expected < 30, "{expected}");
}

#[test]
fn a_level_base_with_nothing_but_modifiers_is_ground() {
    let base = DemGrid::level("/Terrain", 12.0, 1.0, (257, 257));
    let surface = surface(vec![base], vec![named("/C", Shape::Crater(CraterSpec::fresh(0.0, 0.0, 30.0)))]);
    let beside = surface.ground_at(100.0, 100.0).unwrap();
    assert!((beside.datum_height_m - 12.0).abs() < 1e-9 && beside.source == Source::Synthesised);
    assert!(surface.ground_at(0.0, 0.0).unwrap().datum_height_m < 9.0);
    assert!(surface.ground_at(129.0, 0.0).is_none());
}

#[test]
fn nonsense_is_refused_by_name() {
    let base = surface(vec![dem("flat", 64.0, 1.0, |_, _| 0.0)], vec![]);
    let refused = |shape: Shape| match base.revised(vec![named("/Bad", shape)]) {
        Err(SurfaceError::BadModifier { name, what }) => {
            assert_eq!(name, "/Bad");
            what
        }
        other => panic!("{other:?}"),
    };
    let hole = EditSpec { kind: EditKind::Hole, x_m: 0.0, z_m: 0.0, radius_m: 0.0, amount: 0.0 };
    assert!(refused(Shape::Edit(hole)).contains("radius"));
    assert!(refused(Shape::Edit(EditSpec { x_m: f64::NAN, radius_m: 1.0, ..hole })).contains("place"));
    let paint = EditSpec { kind: EditKind::Paint, radius_m: 1.0, amount: 3.5, ..hole };
    assert!(refused(Shape::Edit(paint)).contains("class"));
    let pit = EditSpec { kind: EditKind::Crater, radius_m: 3.0, amount: -1.0, ..hole };
    assert!(refused(Shape::Edit(pit)).contains("depth"));
    assert!(
        refused(Shape::Edit(EditSpec { kind: EditKind::Brush, amount: 1e300, radius_m: 3.0, ..hole }))
            .contains("amount")
    );
    assert!(refused(Shape::Edit(EditSpec { radius_m: 1e9, ..hole })).contains("1000000"));
    let Shape::Craters(population) = craters(1e12, 100.0).shape else { panic!() };
    assert!(refused(Shape::Craters(population)).contains("craters"));
    assert!(refused(Shape::Craters(PopulationSpec { diameter_m: [5.0, 5.0], ..population })).contains("larger"));
    assert!(refused(Shape::Crater(CraterSpec::fresh(0.0, 0.0, -3.0))).contains("diameter"));
    let Shape::Overzoom(detail) = overzoom(0.1, 60.0).shape else { panic!() };
    assert!(refused(Shape::Overzoom(OverzoomSpec { min_feature_m: 0.0, ..detail })).contains("feature"));
    let too_fine = Shape::Overzoom(OverzoomSpec { min_feature_m: 1e-5, ..detail });
    let expected = SurfaceError::TooFine { name: "/Fine".into() };
    assert_eq!(base.revised(vec![named("/Fine", too_fine)]).unwrap_err(), expected);
}
