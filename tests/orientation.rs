//! Orientation: what lies north, east, south and west of a place lies there in
//! the site frame, in longitude and latitude, and in the picture, at middle
//! latitudes and around both poles.

// Helpers outside #[test] may fail a test.
#![allow(clippy::unwrap_used, clippy::panic)]

mod common;

use Way::{East, North, South, West};
use common::{Booth, Raster, Scene, parallel, pinhole};
use terrane_core::Quiet;
use terrane_site::query::{HeightAnswer, query_height};
use terrane_site::render::RenderOptions;

/// Name, site x (east), site z (south), height of the four hills, metres.
const HILLS: [(&str, f64, f64, f64); 4] = [
    ("north", 0.0, -200.0, 10.0),
    ("east", 200.0, 0.0, 20.0),
    ("south", 0.0, 200.0, 30.0),
    ("west", -200.0, 0.0, 40.0),
];

fn hills(crs: &str, centre_m: (f64, f64)) -> Raster {
    Raster::new(crs, centre_m, 129, 5.0, |x, z| {
        let hill = |(_, hx, hz, height): (&str, f64, f64, f64)| {
            height * (-((x - hx).powi(2) + (z - hz).powi(2)) / (2.0 * 25.0 * 25.0)).exp()
        };
        HILLS.map(hill).iter().sum()
    })
}

/// Longitude and latitude of a map place, degrees, worked out here.
type LonLat = fn(f64, f64) -> (f64, f64);

const MOON_M: f64 = 1_737_400.0;
const MARS_M: f64 = 3_396_190.0;

fn mars_equirectangular(x: f64, y: f64) -> (f64, f64) {
    ((x / MARS_M).to_degrees(), (y / MARS_M).to_degrees())
}

/// Snyder 1987, Map Projections, eqs. 20-16 and 21-14 for a sphere: longitude 0
/// runs up the map from the south pole.
fn moon_south(x: f64, y: f64) -> (f64, f64) {
    let colatitude = 2.0 * (x.hypot(y) / (2.0 * MOON_M)).atan();
    (x.atan2(y).to_degrees(), colatitude.to_degrees() - 90.0)
}

/// The same from the north pole, where longitude 0 runs down the map.
fn moon_north(x: f64, y: f64) -> (f64, f64) {
    let colatitude = 2.0 * (x.hypot(y) / (2.0 * MOON_M)).atan();
    (x.atan2(-y).to_degrees(), 90.0 - colatitude.to_degrees())
}

/// How a hill lies to the site's middle on the body.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Way {
    North,
    East,
    South,
    West,
}

/// The way from the middle to a hill, by the larger of both differences on the
/// ground.
fn way(middle: &HeightAnswer, hill: &HeightAnswer) -> Way {
    let turn = (hill.lon_deg - middle.lon_deg + 540.0).rem_euclid(360.0) - 180.0;
    let (east, north) = (turn * middle.lat_deg.to_radians().cos(), hill.lat_deg - middle.lat_deg);
    match (east.abs() > north.abs(), east > 0.0, north > 0.0) {
        (true, true, _) => East,
        (true, false, _) => West,
        (false, _, true) => North,
        (false, _, false) => South,
    }
}

/// Checks queries and pictures; `ways` are those of the hills at grid north,
/// east, south and west.
fn hills_are_where_they_belong(name: &str, crs: &str, centre_m: (f64, f64), lon_lat: Option<LonLat>, ways: [Way; 4]) {
    let raster = hills(crs, centre_m);
    let lens = pinhole(90.0);
    let mut scene = Scene::over(&raster)
        .plain(0.2)
        .sun(315.0, 30.0, 0.53)
        // Straight down, as a person writes it: north is up.
        .turned_camera("Plan", [0.0, 500.0, 0.0], [-90.0, 0.0, 0.0], &parallel(640.0, 640.0))
        .turned_camera("NavNorth", [0.0, 60.0, 310.0], [-8.0, 0.0, 0.0], &pinhole(80.0));
    for (hill, turn_deg) in [("north", 0.0), ("east", -90.0), ("south", 180.0), ("west", 90.0)] {
        scene = scene.turned_camera(hill, [0.0, 5.0, 0.0], [0.0, turn_deg, 0.0], &lens);
    }
    // A pixel of the plan is 4 m; heights are compared more closely than that.
    let options =
        RenderOptions { size: (160, 160), pixel_error: 0.05, samples_per_side: 1, ..RenderOptions::default() };
    let mut booth = scene.booth_with(options);
    queries_agree(name, &booth, centre_m, lon_lat, ways);
    plan_agrees(name, &mut booth);
    nav_agrees(name, &mut booth);
    for (hill, _, _, height_m) in HILLS {
        let shot = booth.shoot(hill);
        let middle = (0..160).flat_map(|row| (76..84).map(move |column| (column, row)));
        let highest =
            middle.filter_map(|(column, row)| shot.point(column, row)).map(|point| point.y).fold(f64::MIN, f64::max);
        // A pixel is 2.5 m high there.
        assert!((highest - height_m).abs() < 3.0, "{name}: looking {hill}, the hill ahead is {highest} m high");
    }
}

fn queries_agree(name: &str, booth: &Booth, centre_m: (f64, f64), lon_lat: Option<LonLat>, ways: [Way; 4]) {
    let ground = booth.site.ground(&Quiet).unwrap();
    let ask = |x: f64, z: f64| query_height(&ground, x, z).unwrap();
    let middle = ask(0.0, 0.0);
    for ((hill, x, z, height_m), expected) in HILLS.into_iter().zip(ways) {
        let answer = ask(x, z);
        let found = answer.ground.as_ref().unwrap();
        assert!(
            (found.datum_height_m - height_m).abs() < 0.01,
            "{name}: the {hill} hill is {} m",
            found.datum_height_m
        );
        assert_eq!((answer.easting_m, answer.northing_m), (centre_m.0 + x, centre_m.1 - z), "{name}: {hill}");
        println!("{name:<24} {hill:<5} hill at {:.6} E, {:.6} N", answer.lon_deg, answer.lat_deg);
        assert_eq!(way(&middle, &answer), expected, "{name}: way to the hill at grid {hill}");
        if let Some(lon_lat) = lon_lat {
            let (lon, lat) = lon_lat(answer.easting_m, answer.northing_m);
            let turn = (answer.lon_deg - lon + 540.0).rem_euclid(360.0) - 180.0;
            assert!(
                turn.abs() < 1e-6 && (answer.lat_deg - lat).abs() < 1e-6,
                "{name}, {hill}: expected {lon} E, {lat} N"
            );
        }
    }
}

/// North is up and east is right: a pixel is 4 m, a hill 50 pixels from the
/// middle.
fn plan_agrees(name: &str, booth: &mut Booth) {
    let shot = booth.shoot("Plan");
    for (hill, column, row, height_m) in
        [("north", 80, 30, 10.0), ("east", 130, 80, 20.0), ("south", 80, 130, 30.0), ("west", 30, 80, 40.0)]
    {
        let depth_m = f64::from(shot.frame.depth_m[row * 160 + column]);
        assert!((500.0 - depth_m - height_m).abs() < 1.0, "{name}: {hill} of the plan is {} m high", 500.0 - depth_m);
    }
    // Light from the north-west: the side of each hill that faces it is bright.
    for (column, row) in [(80, 30), (130, 80), (80, 130), (30, 80)] {
        let at = |dc: i32, dr: i32| shot.frame.radiance[((row + dr) * 160 + column + dc) as usize][0];
        assert!(at(-5, -5) > 1.05 * at(5, 5), "{name}: the hill at ({column}, {row}) is bright on the wrong side");
    }
}

/// From the south, looking grid north: west is left, east is right, and the
/// south hill stands before the north one.
fn nav_agrees(name: &str, booth: &mut Booth) {
    let shot = booth.shoot("NavNorth");
    let highest = |columns: std::ops::Range<u32>| {
        let points = (0..160).flat_map(|row| columns.clone().map(move |column| (column, row)));
        let points = points.filter_map(|(column, row)| shot.point(column, row));
        points.max_by(|a, b| a.y.total_cmp(&b.y)).unwrap()
    };
    for (columns, (hill, x, z, height_m)) in [(0..60, HILLS[3]), (100..160, HILLS[1]), (70..90, HILLS[2])] {
        let top = highest(columns);
        let away = (top.x - x).hypot(top.z - z);
        assert!(away < 15.0 && (top.y - height_m).abs() < 3.0, "{name}: in place of the {hill} hill there is {top}");
    }
}

#[test]
fn hills_on_mars_at_a_middle_latitude_lie_where_they_belong() {
    let centre_m = (4_000_000.0, 2_000_000.0);
    hills_are_where_they_belong(
        "mars",
        "IAU_2015:49910",
        centre_m,
        Some(mars_equirectangular),
        [North, East, South, West],
    );
}

#[test]
fn hills_on_earth_in_utm_lie_where_they_belong() {
    hills_are_where_they_belong("utm 11", "EPSG:32611", (600_000.0, 4_000_000.0), None, [North, East, South, West]);
}

#[test]
fn hills_around_the_moons_south_pole_lie_where_they_belong() {
    // Longitude 0 points up the map: there grid north leads away from the pole,
    // on the other side towards it; on longitude 90 it leads west.
    for (name, centre_m, ways) in [
        ("south pole, lon 0", (0.0, 20_000.0), [North, East, South, West]),
        ("south pole, lon 180", (0.0, -20_000.0), [South, West, North, East]),
        ("south pole, lon 90", (20_000.0, 0.0), [West, North, East, South]),
    ] {
        hills_are_where_they_belong(name, "IAU_2015:30135", centre_m, Some(moon_south), ways);
    }
}

#[test]
fn hills_around_the_moons_north_pole_lie_where_they_belong() {
    // Longitude 0 points down the map: there grid north leads to the pole.
    for (name, centre_m, ways) in [
        ("north pole, lon 0", (0.0, -20_000.0), [North, East, South, West]),
        ("north pole, lon 180", (0.0, 20_000.0), [South, West, North, East]),
        ("north pole, lon 90", (20_000.0, 0.0), [East, South, West, North]),
    ] {
        hills_are_where_they_belong(name, "IAU_2015:30130", centre_m, Some(moon_north), ways);
    }
}
