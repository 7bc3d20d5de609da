//! Maps of ground whose answer is known.

use super::*;

/// Heights of a function of site x (east) and z (south), the window's first
/// post at (`column`, `row`) of the whole.
fn sampled(
    (column, row): (usize, usize),
    (columns, rows): (usize, usize),
    margin: usize,
    posting_m: f64,
    height_m: impl Fn(f64, f64) -> f64,
) -> HeightWindow {
    let place = |index: usize, first: usize| (index as f64 + first as f64 - margin as f64) * posting_m;
    let padded = |count: usize| 0..count + 2 * margin;
    let heights_m = padded(rows)
        .flat_map(|r| padded(columns).map(move |c| (r, c)))
        .map(|(r, c)| height_m(place(c, column), place(r, row)))
        .collect();
    HeightWindow { columns, rows, margin, posting_m, heights_m }
}

fn values(map: DerivedMap, window: &HeightWindow) -> Vec<f32> {
    map.evaluate(window, &DerivedOptions::default()).unwrap()
}

fn bits(values: &[f32]) -> Vec<u32> {
    values.iter().map(|value| value.to_bits()).collect()
}

/// Rough ground with holes, a function of place alone.
fn rough(x: f64, z: f64) -> f64 {
    let hash = ((x * 12.9898 + z * 78.233).sin() * 43758.5453).fract();
    if hash.abs() > 0.93 { f64::NAN } else { 1200.0 + 9.0 * (x * 0.31).sin() * (z * 0.17).cos() + hash }
}

#[test]
fn the_catalogue_is_in_the_order_of_the_enum_and_every_name_is_read_back() {
    for (index, map) in DerivedMap::all().enumerate() {
        assert_eq!(map as usize, index, "{map}");
        assert_eq!(map.name().parse(), Ok(map));
        assert!(!map.description().is_empty() && !map.unit().is_empty() && !map.band_names().is_empty());
    }
    let error = "slop".parse::<DerivedMap>().unwrap_err();
    assert!(error.to_string().contains("`slop`; there are slope, aspect"), "{error}");
}

#[test]
fn a_plane_has_one_slope_aspect_and_normal_everywhere() {
    // Rises 3 to 4: slope atan 0.75. Each faces away from where it rises to.
    let faces = [((0.75, 0.0), 270.0), ((-0.75, 0.0), 90.0), ((0.0, 0.75), 0.0), ((0.0, -0.75), 180.0)];
    for ((east, south), aspect_deg) in faces {
        let plane = sampled((0, 0), (5, 4), 1, 2.0, |x, z| 100.0 + east * x + south * z);
        for slope in values(DerivedMap::Slope, &plane) {
            assert_eq!(slope, 0.75_f64.atan().to_degrees() as f32);
        }
        assert_eq!(values(DerivedMap::Aspect, &plane), [aspect_deg; 20]);
        let normals = values(DerivedMap::Normal, &plane);
        for (band, part) in normals.chunks(20).zip([-east / 1.25, 0.8, -south / 1.25]) {
            assert_eq!(band, [part as f32; 20]);
        }
    }
    let south_west = sampled((0, 0), (2, 2), 1, 2.0, |x, z| x - z);
    assert_eq!(values(DerivedMap::Aspect, &south_west), [225.0; 4]);
}

#[test]
fn level_ground_faces_nowhere_and_up() {
    let level = sampled((0, 0), (3, 3), 1, 1.0, |_, _| -7.5);
    assert!(values(DerivedMap::Aspect, &level).iter().all(|aspect| aspect.is_nan()));
    assert_eq!(values(DerivedMap::Slope, &level), [0.0; 9]);
    let up = [[0.0_f32; 9], [1.0; 9], [0.0; 9]].concat();
    assert_eq!(bits(&values(DerivedMap::Normal, &level)), bits(&up));
    assert_eq!(values(DerivedMap::Hillshade, &level), [std::f64::consts::FRAC_1_SQRT_2 as f32; 9]);
    assert!(values(DerivedMap::ProfileCurvature, &level).iter().all(|curvature| curvature.is_nan()));
    assert_eq!(values(DerivedMap::MeanCurvature, &level), [0.0; 9]);
}

#[test]
fn ground_that_faces_the_sun_is_brightest() {
    // 45 degrees, facing north-west, where the sun stands 45 degrees high.
    let rise = std::f64::consts::FRAC_1_SQRT_2;
    let facing = sampled((0, 0), (1, 1), 1, 1.0, |x, z| rise * (x + z));
    let away = sampled((0, 0), (1, 1), 1, 1.0, |x, z| -rise * (x + z));
    assert_eq!(values(DerivedMap::Hillshade, &facing), [1.0]);
    assert!(values(DerivedMap::Hillshade, &away)[0] < 1e-7);
}

#[test]
fn roughness_and_ruggedness_of_a_step() {
    let step = sampled((0, 0), (1, 1), 1, 1.0, |x, _| if x > 0.0 { 3.0 } else { 1.0 });
    assert_eq!(values(DerivedMap::Roughness, &step), [2.0]);
    // Three neighbours differ by 2: sqrt(3 * 4).
    assert_eq!(values(DerivedMap::Tri, &step), [12.0_f64.sqrt() as f32]);
}

#[test]
fn a_quadratic_has_its_analytic_curvatures() {
    // The fit is exact on any quadratic. At (x, z) of y = -(a x^2 + b z^2) / 2:
    let (a, b, posting_m) = (0.02, 0.005, 0.5);
    let dome = sampled((3, 5), (4, 4), 1, posting_m, |x, z| 50.0 - 0.5 * (a * x * x + b * z * z));
    for (map, expected) in [
        (
            DerivedMap::ProfileCurvature,
            (|p, px, pz, a, b| (px * px * a + pz * pz * b) / (p * (1.0 + p).powf(1.5)))
                as fn(f64, f64, f64, f64, f64) -> f64,
        ),
        (DerivedMap::PlanCurvature, |p, px, pz, a, b| (pz * pz * a + px * px * b) / p.powf(1.5)),
        (DerivedMap::MeanCurvature, |p, px, pz, a, b| {
            ((1.0 + pz * pz) * a + (1.0 + px * px) * b) / (2.0 * (1.0 + p).powf(1.5))
        }),
    ] {
        for (post, value) in values(map, &dome).into_iter().enumerate() {
            let (x, z) = ((3 + post % 4) as f64 * posting_m, (5 + post / 4) as f64 * posting_m);
            let (px, pz) = (a * x, b * z);
            let expected = expected(px * px + pz * pz, px, pz, a, b);
            assert!((f64::from(value) / expected - 1.0).abs() < 1e-6, "{map} {post}: {value}, not {expected}");
        }
    }
}

#[test]
fn a_dome_is_convex_a_bowl_concave_and_a_cone_has_the_contour_of_a_circle() {
    let top = |sign: f64| sampled((0, 0), (1, 1), 1, 0.1, move |x, z| sign * (400.0 - x * x - z * z).sqrt());
    assert!((values(DerivedMap::MeanCurvature, &top(1.0))[0] - 0.05).abs() < 1e-5);
    assert!((values(DerivedMap::MeanCurvature, &top(-1.0))[0] + 0.05).abs() < 1e-5);
    let cone = sampled((100, 0), (1, 1), 1, 1.0, |x, z| 90.0 - 0.5 * x.hypot(z));
    assert!((values(DerivedMap::PlanCurvature, &cone)[0] - 0.01).abs() < 1e-5);
    assert!(values(DerivedMap::ProfileCurvature, &cone)[0].abs() < 1e-6);
}

#[test]
fn the_foot_of_a_wall_sees_half_the_sky_and_less_of_a_lower_wall_is_hidden() {
    // A wall of height h at distance d, endless both ways, hides
    // (1 - 1 / sqrt(1 + (h / d)^2)) / 2 of the sky.
    let options = DerivedOptions { sky_azimuths: 64, ..DerivedOptions::default() };
    for (height_m, distance_posts, tolerance) in [(1e6, 1, 0.02), (10.0, 10, 0.01), (20.0, 10, 0.02), (5.0, 10, 0.01)] {
        let wall = sampled((0, 0), (1, 1), 64, 1.0, |x, _| if x >= f64::from(distance_posts) { height_m } else { 0.0 });
        let seen = f64::from(DerivedMap::AmbientOcclusion.evaluate(&wall, &options).unwrap()[0]);
        let ratio: f64 = height_m / f64::from(distance_posts);
        let expected = 0.5 * (1.0 + 1.0 / ratio.hypot(1.0));
        assert!((seen - expected).abs() < tolerance, "{height_m} m: {seen}, not {expected}");
    }
}

#[test]
fn the_middle_of_a_funnel_sees_what_its_slope_leaves() {
    // The horizon stands at the wall's slope all around: cos^2 45 = 1 / 2.
    // A level floor keeps the grid's chords off the tip, where they are far
    // above a cone.
    let cone = |x: f64, z: f64| if x.hypot(z) < 30.0 { 0.0 } else { x.hypot(z) };
    let funnel = sampled((0, 0), (1, 1), 64, 3.0, cone);
    let seen = values(DerivedMap::AmbientOcclusion, &funnel)[0];
    assert!((seen - 0.5).abs() < 1e-3, "{seen}");
    let peak = sampled((0, 0), (1, 1), 64, 3.0, |x, z| -x.hypot(z));
    assert_eq!(values(DerivedMap::AmbientOcclusion, &peak), [1.0]);
}

#[test]
fn a_hole_is_nodata_and_a_plane_beside_it_stays_a_plane() {
    let mut plane = sampled((0, 0), (7, 7), 64, 2.0, |x, z| 30.0 + 0.5 * x - 0.25 * z);
    let hole = (64 + 3) * plane.padded_columns() + 64 + 3;
    let whole = plane.clone();
    plane.heights_m[hole] = f64::NAN;
    for map in DerivedMap::all() {
        let (values, whole) = (values(map, &plane), values(map, &whole));
        for (post, (value, whole)) in values.iter().zip(&whole).enumerate() {
            let (column, row) = ((post % 49) % 7, (post % 49) / 7);
            let beside = column.abs_diff(3) <= 1 && row.abs_diff(3) <= 1;
            match map {
                _ if (column, row) == (3, 3) => assert!(value.is_nan(), "{map}"),
                DerivedMap::ProfileCurvature | DerivedMap::PlanCurvature | DerivedMap::MeanCurvature if beside => {
                    assert!(value.is_nan(), "{map}");
                }
                // The hole was one of the nine that these are counted over.
                DerivedMap::Roughness | DerivedMap::Tri if beside => assert!((0.0..4.0).contains(value), "{map}"),
                _ => assert_eq!(value, whole, "{map} {post}"),
            }
        }
    }
}

#[test]
fn a_lonely_post_is_level_and_ground_outside_is_no_ground() {
    let lonely = sampled((0, 0), (1, 1), 64, 1.0, |x, z| if x == 0.0 && z == 0.0 { 5.0 } else { f64::NAN });
    assert_eq!(values(DerivedMap::Slope, &lonely), [0.0]);
    assert_eq!(values(DerivedMap::Roughness, &lonely), [0.0]);
    assert_eq!(values(DerivedMap::Tri, &lonely), [0.0]);
    assert_eq!(values(DerivedMap::AmbientOcclusion, &lonely), [1.0]);
    assert!(values(DerivedMap::MeanCurvature, &lonely)[0].is_nan());
}

#[test]
fn a_value_depends_neither_on_its_window_nor_on_the_number_of_threads() {
    let whole = sampled((0, 0), (300, 40), 70, 1.5, rough);
    let one_thread = rayon::ThreadPoolBuilder::new().num_threads(1).build().unwrap();
    for map in DerivedMap::all() {
        let expected = values(map, &whole);
        assert_eq!(bits(&one_thread.install(|| values(map, &whole))), bits(&expected), "{map}: threads");
        let margin = map.margin_posts(&DerivedOptions::default());
        let part = values(map, &sampled((37, 11), (201, 7), margin, 1.5, rough));
        for (band, expected) in part.chunks(201 * 7).zip(expected.chunks(300 * 40)) {
            for (row, values) in band.chunks(201).enumerate() {
                let first = (row + 11) * 300 + 37;
                assert_eq!(bits(values), bits(&expected[first..first + 201]), "{map}: row {row}");
            }
        }
    }
}

#[test]
fn every_value_lies_in_the_range_of_its_map() {
    let ground = sampled((0, 0), (80, 60), 64, 0.7, rough);
    for map in DerivedMap::all() {
        let (low, high) = map.valid_range();
        let values = values(map, &ground);
        assert!(values.iter().any(|value| !value.is_nan()));
        let inside = |value: &&f32| value.is_nan() || (low..=high).contains(&f64::from(**value));
        assert_eq!(values.iter().find(|value| !inside(value)), None, "{map}");
    }
}

#[test]
fn a_window_that_does_not_fit_is_refused() {
    let mut window = sampled((0, 0), (4, 4), 1, 1.0, |x, _| x);
    let refused =
        |map: DerivedMap, window: &HeightWindow| map.evaluate(window, &DerivedOptions::default()).unwrap_err();
    assert_eq!(refused(DerivedMap::AmbientOcclusion, &window), DerivedError::Margin { needed: 64, given: 1 });
    let options = DerivedOptions { sky_azimuths: 0, ..DerivedOptions::default() };
    assert!(matches!(DerivedMap::Slope.evaluate(&window, &options), Err(DerivedError::Option { .. })));
    window.heights_m.pop();
    assert_eq!(refused(DerivedMap::Slope, &window), DerivedError::HeightCount { expected: 36, given: 35 });
    window.posting_m = 0.0;
    window.heights_m.push(0.0);
    assert_eq!(refused(DerivedMap::Slope, &window), DerivedError::Posting { posting_m: 0.0 });
    let none = HeightWindow { columns: 0, rows: 3, margin: 1, posting_m: 1.0, heights_m: vec![0.0; 10] };
    assert_eq!(values(DerivedMap::Normal, &none), []);
}
