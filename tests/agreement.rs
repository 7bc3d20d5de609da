//! One surface: what a camera measures, what a query answers, what a ray meets
//! and what a wheel touches are the same ground.

// Helpers outside #[test] may fail a test.
#![allow(clippy::unwrap_used, clippy::panic)]

mod common;

use common::{Raster, Scene, down_from, parallel, pinhole, shared};
use glam::DVec3;
use terrane_core::{Pose, Quiet};
use terrane_physics::{GroundShape, TileCollider};
use terrane_site::query::ray_caster;
use terrane_site::render::RenderOptions;
use terrane_surface::{Ray, RayCaster, Surface, TILE_CELLS, TileKey};

/// Every level-0 tile is drawn: nothing is coarse enough to be let pass.
const PIXEL_ERROR: f64 = 1e-12;

/// What the pieces may differ by at a range, metres.
fn tolerance_m(range_m: f64) -> f64 {
    1e-3 + 1e-6 * range_m
}

fn options(size: (u32, u32)) -> RenderOptions {
    RenderOptions { size, samples_per_side: 1, pixel_error: PIXEL_ERROR, ..RenderOptions::default() }
}

/// A leaf near a place that is all ground.
fn whole_leaf(surface: &Surface, x_m: f64, z_m: f64) -> TileKey {
    let tile = surface.ground_at(x_m, z_m).unwrap().tile;
    assert!(surface.leaf_heights_m(tile, 0).iter().all(|height| !height.is_nan()), "{tile:?} has holes");
    tile
}

/// Posts and the middles of all edges of a tile: west to east, north to south,
/// and along diagonals.
fn posts_and_mid_edges(surface: &Surface, tile: TileKey) -> Vec<(f64, f64)> {
    let ([x0, x1], [z0, z1]) = surface.lattice().tile_bounds_m(tile);
    let halves = 2 * TILE_CELLS;
    let along = |low: f64, high: f64, k: u32| low + (high - low) * f64::from(k) / f64::from(halves);
    (0..=halves).flat_map(|j| (0..=halves).map(move |i| (along(x0, x1, i), along(z0, z1, j)))).collect()
}

/// Height, straight rays down and up, and slanted rays agree at a place.
fn rays_agree(caster: &RayCaster, x_m: f64, z_m: f64) {
    let height_m = caster.surface().height_at(x_m, z_m).unwrap_or_else(|| panic!("no ground at {x_m}, {z_m}"));
    let ground = caster.surface().ground_at(x_m, z_m).unwrap();
    assert_eq!(ground.height_m, height_m);
    let place = DVec3::new(x_m, height_m, z_m);
    for from in [DVec3::new(0.0, 40.0, 0.0), DVec3::new(3.0, 40.0, -2.0), DVec3::new(0.0, -40.0, 0.0)] {
        let ray = Ray::new(place + from, -from, 100.0).unwrap();
        let hit = caster.cast(&ray).unwrap_or_else(|| panic!("a ray to {x_m}, {z_m} slips through"));
        // A slanted ray may meet a steeper place before.
        let is_straight = from.x == 0.0;
        let off_m = (hit.position_m - place).length();
        assert!(
            off_m < tolerance_m(40.0) || (!is_straight && hit.distance_m < from.length()),
            "{off_m} at {x_m}, {z_m}"
        );
    }
}

/// The colliders of a tile, of both kinds, have the heights that queries give.
fn colliders_agree(surface: &Surface, tile: TileKey) {
    let ([x0, x1], [z0, z1]) = surface.lattice().tile_bounds_m(tile);
    let random = |k: u64, draw| terrane_synth::noise::uniform(13, k, draw);
    let mut places = posts_and_mid_edges(surface, tile);
    places.extend((0..10_000).map(|k| (x0 + (x1 - x0) * random(k, 0), z0 + (z1 - z0) * random(k, 1))));
    let mut worst_m = 0.0_f64;
    for shape in [GroundShape::HeightField, GroundShape::TriangleMesh] {
        let collider = TileCollider::build(surface, tile, shape).unwrap();
        for (x_m, z_m) in &places {
            let (touched, asked) = (collider.height_m(*x_m, *z_m), surface.height_at(*x_m, *z_m));
            let off_m = touched.zip(asked).map(|(touched, asked)| (touched - asked).abs());
            assert!(off_m.is_some_and(|off_m| off_m <= 1e-3), "{shape:?} at {x_m}, {z_m}: {touched:?} {asked:?}");
            worst_m = worst_m.max(off_m.unwrap_or(0.0));
        }
    }
    println!("{:>10} collider at {} places, at most {:.4} mm off", "", places.len(), 1e3 * worst_m);
}

/// Draws the ground from above and aslant and compares every pixel's depth with
/// a ray through it. Returns how many were compared.
fn pictures_agree(name: &str, scene: Scene, (x_m, z_m): (f64, f64), tiles_across: f64) {
    let site = scene.open();
    let ground = site.ground(&Quiet).unwrap();
    let surface = &ground.surface;
    let middle = whole_leaf(surface, x_m, z_m);
    let ([x0, x1], [z0, z1]) = surface.lattice().tile_bounds_m(middle);
    let (cx, cz, side_m) = (0.5 * (x0 + x1), 0.5 * (z0 + z1), x1 - x0);
    let highest_m = surface.leaf_heights_m(middle, 0).into_iter().fold(f64::MIN, f64::max);
    let seen_m = tiles_across * side_m;
    let eye = DVec3::new(cx - 0.3 * seen_m, highest_m + 0.7 * seen_m, cz + 0.4 * seen_m);
    // Pixels of the plan lie on the posts and mid-edges of the tile.
    let halves = 2 * TILE_CELLS + 1;
    let plan_m = f64::from(halves) * side_m / f64::from(2 * TILE_CELLS);
    let scene = scene
        .camera("Down", &down_from(cx, highest_m + 0.8 * seen_m, cz), &pinhole(45.0))
        .camera("Aslant", &Pose::look_at(eye, DVec3::new(cx, highest_m, cz)), &pinhole(40.0))
        .camera("Plan", &down_from(cx, highest_m + 50.0, cz), &parallel(plan_m, plan_m));
    let mut compared = 0;
    for (camera, size) in [("Down", (160, 120)), ("Aslant", (160, 120)), ("Plan", (halves, halves))] {
        let mut booth = scene.booth_with(options(size));
        let caster = ray_caster(&booth.site, &ground, &Quiet).unwrap();
        let shot = booth.shoot(camera);
        let (mut worst_m, mut seen, mut beside) = (0.0_f64, 0, 0);
        for row in 0..size.1 {
            for column in 0..size.0 {
                let depth_m = f64::from(shot.frame.depth_m[(row * size.0 + column) as usize]);
                let (origin, direction) = shot.ray(column.into(), row.into());
                let per_depth = direction.length();
                let hit = Ray::new(origin, direction, 1e5).and_then(|ray| caster.cast(&ray));
                let Some(hit) = hit.filter(|_| depth_m.is_finite()) else { continue };
                // A ray that grazes runs along the ground: there, the distance
                // from the triangle counts.
                let incidence = direction.dot(hit.normal).abs() / per_depth;
                let off_m =
                    (hit.distance_m - depth_m * per_depth).abs() * if incidence < 0.2 { incidence } else { 1.0 };
                // A rasteriser moves vertices to a 256th of a pixel: beside an
                // edge, a pixel may be on the triangle next to it.
                beside += u32::from(off_m > tolerance_m(hit.distance_m));
                let pixel_m = hit.distance_m / f64::from(size.1);
                assert!(
                    off_m <= tolerance_m(hit.distance_m) + pixel_m / 128.0,
                    "{name} {camera} pixel {column}, {row}: {off_m} m off at {} m",
                    hit.distance_m
                );
                (worst_m, seen) = (worst_m.max(off_m), seen + 1);
            }
        }
        println!(
            "{name:>10} {camera:<7} {seen} pixels, at most {:.3} mm from their rays, {beside} over an edge",
            1e3 * worst_m
        );
        assert!(f64::from(seen) > 0.9 * f64::from(size.0 * size.1), "{name} {camera}: {seen} pixels");
        assert!(f64::from(beside) <= 1e-3 * f64::from(seen), "{name} {camera}: {beside} of {seen} pixels");
        compared += seen;
        if camera == "Plan" {
            let places = posts_and_mid_edges(surface, middle);
            colliders_agree(surface, middle);
            places.iter().for_each(|(x_m, z_m)| rays_agree(&caster, *x_m, *z_m));
            let ([wx0, wx1], [wz0, wz1]) = ([x0 - side_m, x1 + side_m], [z0 - side_m, z1 + side_m]);
            let random = |k: u64, draw| terrane_synth::noise::uniform(11, k, draw);
            for k in 0..10_000 {
                let (x_m, z_m) = (wx0 + (wx1 - wx0) * random(k, 0), wz0 + (wz1 - wz0) * random(k, 1));
                if surface.height_at(x_m, z_m).is_some() {
                    rays_agree(&caster, x_m, z_m);
                }
            }
        }
    }
    assert!(compared > 10_000);
}

#[test]
fn a_saddle_field_is_one_surface() {
    let raster = Raster::moon(257, 1.0, |x, z| 0.004 * (x * x - z * z) + 0.8 * (0.9 * x).sin() * (0.8 * z).cos());
    pictures_agree("saddles", Scene::over(&raster), (5.0, -7.0), 1.0);
}

#[test]
fn gale_is_one_surface() {
    let Some(file) = shared("dem/mars-gale/gale_hirise_dtm_1m.tif") else { return };
    pictures_agree("Gale", Scene::new().dem(&file), (3.0, 4.0), 1.0);
}

#[test]
fn the_south_pole_is_one_surface() {
    let Some(file) = shared("dem/moon-south-pole/Shoemaker_final_adj_5mpp_surf_1k.tif") else { return };
    pictures_agree("south pole", Scene::new().dem(&file), (10.0, 20.0), 1.0);
}

#[test]
fn shaped_ground_is_one_surface() {
    let raster = Raster::moon(257, 2.0, |x, z| 3.0 * (0.03 * x).sin() + 2.0 * (0.05 * z).cos());
    let scene = Scene::over(&raster)
        .layer(
            "Craters",
            "craters",
            "float lunco:layer:density = 4000\nfloat lunco:layer:sizeMin = 4\nfloat lunco:layer:sizeMax = 40",
        )
        .layer("Detail", "overzoom", "float lunco:layer:regionM = 120\nfloat lunco:layer:amplitude = 0.2")
        .layer(
            "Pit",
            "edit",
            "token lunco:edit:kind = \"crater\"\ndouble2 lunco:edit:center = (6, -5)\ndouble lunco:edit:radius = 3",
        )
        .layer(
            "Pad",
            "edit",
            "token lunco:edit:kind = \"flatten\"\ndouble2 lunco:edit:center = (1, 2)\ndouble lunco:edit:radius = 6",
        );
    pictures_agree("shaped", scene, (4.0, -2.0), 1.0);
}

#[test]
fn ground_that_is_finer_in_places_is_one_surface_across_the_borders_of_postings() {
    let raster =
        Raster::moon(257, 4.0, |x, z| 6.0 * (0.05 * x).sin() * (0.04 * z).cos() + 0.8 * (0.7 * x + 0.9 * z).sin());
    let crater = |x: f64, z: f64, size: f64| {
        format!("double lunco:layer:x = {x}\ndouble lunco:layer:z = {z}\ndouble lunco:layer:size = {size}")
    };
    let scene = Scene::over(&raster).layer("Small", "craters", &crater(20.0, -10.0, 6.0)).layer(
        "Middle",
        "craters",
        &crater(-70.0, 40.0, 20.0),
    );
    pictures_agree("patched", scene, (20.0, -10.0), 12.0);
}
