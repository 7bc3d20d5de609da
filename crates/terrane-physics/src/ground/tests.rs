use super::*;
use crate::testing::{Seeded, dem, rough, surface};
use terrane_surface::{SiteRect, Surface, TileKey};

/// A random DEM that ends within its tiles, with holes: 100 by 77 posts.
fn ragged(x0_m: f64, posting_m: f64) -> Surface {
    let mut seeded = Seeded(11);
    let heights: Vec<f64> = (0..100 * 77).map(|_| seeded.between(-3.0, 3.0)).collect();
    let is_hole = |k: usize| k.is_multiple_of(97) || (2000..2007).contains(&k);
    let (x0, z0) = (x0_m, x0_m + 5.0);
    surface(vec![dem((x0, z0), posting_m, (100, 77), |x, z| {
        let k = ((z - z0) / posting_m).round() as usize * 100 + ((x - x0) / posting_m).round() as usize;
        if is_hole(k) { f64::NAN } else { 1500.0 + heights[k] }
    })])
}

fn nested() -> Surface {
    let hole = |x: f64, z: f64| if (x - 5.0).hypot(z - 9.0) < 12.0 { f64::NAN } else { crate::testing::rough_m(x, z) };
    surface(vec![dem((-75.0, -75.0), 1.0, (151, 151), hole), dem((-490.0, -490.0), 7.0, (141, 141), hole)])
}

fn leaves(surface: &Surface) -> Vec<TileKey> {
    let lattice = surface.lattice();
    lattice.tiles().into_iter().filter(|tile| !lattice.is_split(*tile)).collect()
}

/// What `f32` can tell apart in heights and in places of a tile, with slopes.
fn tolerance_m(collider: &TileCollider) -> f64 {
    let half_m = 0.5 * (collider.bounds().x_m[1] - collider.bounds().x_m[0]);
    1e-6 + 4.0 * f64::from(f32::EPSILON) * (half_m * 6.0 / collider.posting_m() + 10.0)
}

fn agree(surface: &Surface, shape: GroundShape) {
    let mut seeded = Seeded(5);
    let mut met = 0;
    let all = leaves(surface);
    let leaves: Vec<_> = all.iter().step_by(all.len().div_ceil(24)).collect();
    let mut worst_m = 0.0_f64;
    for tile in &leaves {
        let collider = TileCollider::build(surface, **tile, shape).unwrap();
        let ([x0, x1], [z0, z1]) = (collider.bounds().x_m, collider.bounds().z_m);
        let mut places = Vec::new();
        for _ in 0..10_000_usize.div_ceil(leaves.len()) {
            places.push((seeded.between(x0, x1), seeded.between(z0, z1)));
        }
        // Every post, and the middle of every edge, diagonals included.
        for j in 0..129 {
            for i in 0..129 {
                let half_m = 0.5 * collider.posting_m();
                places.push((x0 + f64::from(i) * half_m, z0 + f64::from(j) * half_m));
            }
        }
        for (x_m, z_m) in places {
            let is_inside = x_m > x0 && x_m < x1 && z_m > z0 && z_m < z1;
            match (collider.height_m(x_m, z_m), surface.ground_at(x_m, z_m)) {
                (Some(height_m), Some(ground)) => {
                    worst_m = worst_m.max((height_m - ground.height_m).abs());
                    assert!((height_m - ground.height_m).abs() < tolerance_m(&collider), "{tile:?} {x_m} {z_m}");
                    met += 1;
                }
                (None, None) => {}
                // On a border the neighbour may have ground where this tile has a hole.
                (None, Some(_)) | (Some(_), None) if !is_inside => {}
                other => panic!("{tile:?} {x_m} {z_m}: {other:?}"),
            }
        }
    }
    assert!(met > 20_000, "{met}");
    println!("{shape:?}: {met} places agree within {worst_m:.2e} m");
}

#[test]
fn a_collider_has_the_height_that_queries_give_at_posts_edges_and_between() {
    for shape in [GroundShape::HeightField, GroundShape::TriangleMesh] {
        agree(&ragged(-30.0, 1.0), shape);
        agree(&ragged(21_000.3, 5.0), shape);
        agree(&nested(), shape);
        agree(&rough(), shape);
    }
}

#[test]
fn a_triangle_is_there_when_its_three_posts_are() {
    let surface = ragged(-30.0, 1.0);
    let tile = TileKey { level: 0, x: 0, z: 0 };
    for shape in [GroundShape::HeightField, GroundShape::TriangleMesh] {
        let collider = TileCollider::build(&surface, tile, shape).unwrap();
        // Post (0, 0) is a hole: its cell keeps the south-east half.
        assert_eq!((collider.post_m(0, 0), collider.post_m(97, 0)), (None, None));
        assert!(!collider.has_triangle(0, 0, true) && collider.has_triangle(0, 0, false));
        assert_eq!(collider.height_m(-30.0 + 0.3, -25.0 + 0.3), None);
        assert!(collider.height_m(-30.0 + 0.7, -25.0 + 0.7).is_some());
    }
    let at_the_edge =
        TileCollider::build(&surface, TileKey { level: 0, x: 1, z: 1 }, GroundShape::HeightField).unwrap();
    assert_eq!(at_the_edge.triangle_count(), at_the_edge.triangles_m().count());
    // 35 columns by 12 rows of cells, less what holes take.
    assert!((700..840).contains(&at_the_edge.triangle_count()), "{}", at_the_edge.triangle_count());
}

#[test]
fn only_leaves_are_colliders() {
    let surface = nested();
    let root = surface.lattice().root();
    assert!(matches!(
        TileCollider::build(&surface, root, GroundShape::HeightField),
        Err(crate::PhysicsError::NotALeaf(tile)) if tile == root
    ));
}

#[test]
fn triangles_are_counterclockwise_from_above_and_exactly_the_ground() {
    let surface = nested();
    for tile in leaves(&surface).into_iter().step_by(5) {
        let collider = TileCollider::build(&surface, tile, GroundShape::HeightField).unwrap();
        for corners_m in collider.triangles_m().step_by(37) {
            let [a, b, c] = corners_m;
            assert!((b - a).cross(c - a).y > 0.0);
            let middle_m = (a + b + c) / 3.0;
            let ground = surface.ground_at(middle_m.x, middle_m.z).unwrap();
            assert!((ground.height_m - middle_m.y).abs() < 1e-9);
            let nearest = collider.nearest(middle_m + 0.01 * ground.normal, 1.0).unwrap();
            assert!(nearest.distance_m <= 0.01 + 1e-9 && nearest.distance_m > 0.0);
            assert!(collider.nearest(middle_m - 0.01 * ground.normal, 1.0).unwrap().distance_m < 0.0);
        }
    }
}

#[test]
fn the_tiles_kept_are_those_around_and_the_same_on_any_number_of_threads() {
    let run = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| {
            let mut colliders = Colliders::new(nested(), GroundShape::HeightField, 1);
            let mut swaps = vec![];
            for k in 0..60 {
                let x_m = -100.0 + 4.0 * f64::from(k);
                swaps.push(colliders.follow(&[SiteRect::around(x_m, 3.0, 1.5)]).unwrap());
                let under = colliders.tiles().find(|tile| tile.bounds().contains(x_m, 3.0)).unwrap();
                assert!(under.bounds().grown(1e-9).contains(x_m, 3.0));
            }
            (swaps, colliders.counts())
        })
    };
    let (swaps, counts) = run(1);
    assert_eq!((swaps, counts), run(2));
    assert!(counts.built < 60 && counts.dropped > 3, "{counts:?}");
    assert_eq!(counts.built, counts.dropped + counts.kept as u64);
}

#[test]
fn an_edit_builds_only_what_it_changed() {
    let before = rough();
    let mut colliders = Colliders::new(before.clone(), GroundShape::HeightField, 1);
    colliders.follow(&[SiteRect::around(10.0, 10.0, 1.0)]).unwrap();
    assert_eq!(colliders.counts(), Counts { built: 9, kept: 9, dropped: 0 });
    let after = surface(vec![dem((-128.0, -128.0), 1.0, (257, 257), |x, z| {
        crate::testing::rough_m(x, z) + if (x - 20.0).hypot(z - 20.0) < 3.0 { 1.0 } else { 0.0 }
    })]);
    let swap = colliders.replace_surface(after, &[SiteRect::around(20.0, 20.0, 4.0)]).unwrap();
    assert_eq!((swap.put_in.len(), swap.taken_out.len()), (1, 0));
    assert_eq!(colliders.counts(), Counts { built: 10, kept: 9, dropped: 1 });
    let height_m = colliders.tile(swap.put_in[0]).unwrap().height_m(20.0, 20.0).unwrap();
    assert!((height_m - 1.0 - before.ground_at(20.0, 20.0).unwrap().height_m).abs() < 1e-5, "{height_m}");
}

#[test]
fn a_leaf_that_splits_is_replaced_by_its_children_at_once() {
    let coarse = || dem((-512.0, -512.0), 4.0, (257, 257), crate::testing::rough_m);
    let mut colliders = Colliders::new(surface(vec![coarse()]), GroundShape::HeightField, 1);
    colliders.follow(&[SiteRect::around(10.0, 10.0, 1.0)]).unwrap();
    // The lattice of the finer surface starts at the same corner; its leaves
    // around the anchor are four times smaller.
    let fine = dem((-32.0, -32.0), 1.0, (65, 65), crate::testing::rough_m);
    let finer = surface(vec![fine, coarse()]);
    let swap = colliders.replace_surface(finer, &[SiteRect::around(0.0, 0.0, 32.0)]).unwrap();
    assert!(swap.put_in.len() > swap.taken_out.len() && !swap.is_empty());
    let covered = |x_m: f64, z_m: f64| colliders.tiles().filter(|tile| tile.bounds().contains(x_m, z_m)).count();
    let mut seeded = Seeded(3);
    for _ in 0..1000 {
        assert_eq!(covered(seeded.between(-255.0, 255.0), seeded.between(-255.0, 255.0)), 1);
    }
    let leaf = colliders.tiles().find(|tile| tile.bounds().contains(0.5, 0.5)).unwrap();
    assert_eq!(leaf.posting_m(), 1.0);
}
