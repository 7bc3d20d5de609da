//! From measured rasters to archives: every post where the source has it,
//! every hole a hole, every border shared, whatever the file.

#![allow(missing_docs, clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod common;

use common::{Raster, Scene, shared};
use std::path::{Path, PathBuf};
use terrane_core::{PostWindow, Quiet, RasterSettings};
use terrane_geo::{DemFile, OpenOptions};
use terrane_site::export::{ExportRequest, export};
use terrane_site::ground::Ground;
use terrane_surface::TileKey;
use terrane_tiles::{Archive, verify};

/// Every file under the data's DEM folders.
fn files() -> Vec<PathBuf> {
    let Some(root) = shared("dem") else { return vec![] };
    let folders = std::fs::read_dir(root).unwrap().map(|entry| entry.unwrap().path()).filter(|path| path.is_dir());
    let mut files: Vec<PathBuf> =
        folders.flat_map(|folder| std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path())).collect();
    files.sort();
    files
}

/// The DEMs among them. What can't be placed, or is a picture, is another
/// test's matter.
fn dems() -> Vec<PathBuf> {
    let is_dem = |path: &PathBuf| {
        let options = OpenOptions::default();
        DemFile::open(&path.as_path().into(), &RasterSettings::default(), &options, &Quiet)
            .is_ok_and(|file| file.info.pixel_type != "Byte" && file.info.columns > 1)
    };
    files().into_iter().filter(is_dem).collect()
}

/// Bakes a stage over one file.
fn baked(file: &Path) -> (Scene, Ground, Archive) {
    let scene = Scene::new().dem(file);
    let site = scene.open();
    let ground = site.ground(&Quiet).unwrap();
    let report = terrane_site::bake::bake(&site, &Quiet).unwrap_or_else(|failure| panic!("{failure}"));
    let archive = Archive::open(&report.archive, Some(&ground.key)).unwrap();
    (scene, ground, archive)
}

/// Repeatable numbers below a bound.
struct Seeded(u64);

impl Seeded {
    fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((self.0 >> 33) % bound as u64) as usize
    }
}

/// Height of a level-0 post of the archive, site y. A post on a border is in
/// either tile, and the last one in the tile before it alone.
fn archived_m(archive: &Archive, i: u64, j: u64) -> f64 {
    let tiles = |place: u64| [(place / 64, place % 64), ((place / 64).saturating_sub(1), place % 64 + 64)];
    for (z, v) in tiles(j).into_iter().filter(|(_, v)| *v <= 64) {
        for (x, u) in tiles(i).into_iter().filter(|(_, u)| *u <= 64) {
            if let Some(tile) = archive.tile(TileKey { level: 0, x: x as u32, z: z as u32 }).unwrap() {
                return tile.height_m(u as i32, v as i32) + archive.reference_m;
            }
        }
    }
    f64::NAN
}

#[test]
fn heights_at_a_thousand_posts_of_each_dem_are_the_sources_through_the_archive_and_back() {
    for path in dems() {
        let (_scene, ground, archive) = baked(&path);
        let source = &ground.dems[0];
        let posts = source.file.posts(&ground.crs, source.grid).unwrap();
        let stated_m = archive.heights.error_m();
        assert!(stated_m <= 1e-3, "{}", path.display());
        let (mut seeded, mut compared, mut worst_m) = (Seeded(7), 0, 0.0_f64);
        let dem = &ground.surface.spec().dems[0];
        for _ in 0..1000 {
            let (column, row) = (seeded.below(source.grid.columns), seeded.below(source.grid.rows));
            let mut height_m = [0.0];
            posts.read(PostWindow { column, row, columns: 1, rows: 1 }, &mut height_m).unwrap();
            let (x_m, z_m) = (dem.x0_m + column as f64 * dem.posting_m, dem.z0_m + row as f64 * dem.posting_m);
            let lattice = &archive.lattice;
            let (i, j) = ((x_m - lattice.x0_m) / lattice.posting_m, (z_m - lattice.z0_m) / lattice.posting_m);
            let site_m = archived_m(&archive, i.round() as u64, j.round() as u64);
            let back_m = site_m + ground.surface.curvature_drop_m(x_m, z_m) + ground.frame.origin_height_m;
            assert_eq!(back_m.is_nan(), height_m[0].is_nan(), "{}: {column} {row}", path.display());
            if !back_m.is_nan() {
                worst_m = worst_m.max((back_m - f64::from(height_m[0])).abs());
                compared += 1;
            }
        }
        println!("{}: {compared} posts within {worst_m:.6} m, stated {stated_m:.6} m", path.display());
        assert!(worst_m <= stated_m + 1e-9, "{}: {worst_m}", path.display());
        assert!(compared > 50, "{}", path.display());
    }
}

#[test]
fn borders_bounds_and_errors_of_every_dem_are_right_after_warping_too() {
    let mut warped = 0;
    for path in dems() {
        let (_scene, ground, archive) = baked(&path);
        let found = verify(&archive, &Quiet).unwrap();
        assert_eq!(found.faults, vec![], "{}", path.display());
        warped += usize::from(ground.dems[0].why_resampled.is_some());
        println!("{}: {} tiles, {} borders", path.display(), found.tiles, found.borders);
    }
    assert!(warped >= 6 || files().is_empty(), "{warped}");
}

/// Largest distance of a tile's triangles to the finest posts under it, by the
/// rule in its plainest form.
fn brute_force_m(archive: &Archive, key: TileKey) -> f64 {
    let above = archive.tile(key).unwrap().unwrap();
    let step = 1_u64 << key.level;
    let (first_i, first_j) = key.first_post();
    let mut worst = 0.0_f64;
    for z in 0..step {
        for x in 0..step {
            let leaf = TileKey { level: 0, x: key.x * step as u32 + x as u32, z: key.z * step as u32 + z as u32 };
            let Some(tile) = archive.tile(leaf).unwrap() else { continue };
            let (leaf_i, leaf_j) = leaf.first_post();
            for v in 0..65 {
                for u in 0..65 {
                    let (i, j) = (leaf_i + u - first_i, leaf_j + v - first_j);
                    let (cu, cv) = ((i / step).min(63), (j / step).min(63));
                    let (s, t) = ((i - cu * step) as f64 / step as f64, (j - cv * step) as f64 / step as f64);
                    let at = |du: i32, dv: i32| above.height_m(cu as i32 + du, cv as i32 + dv);
                    let parts = if s + t <= 1.0 {
                        [(1.0 - s - t, at(0, 0)), (s, at(1, 0)), (t, at(0, 1))]
                    } else {
                        [(s + t - 1.0, at(1, 1)), (1.0 - s, at(0, 1)), (1.0 - t, at(1, 0))]
                    };
                    let drawn: f64 = parts.iter().filter(|part| part.0 != 0.0).map(|part| part.0 * part.1).sum();
                    let distance = (drawn - tile.height_m(u as i32, v as i32)).abs();
                    worst = if distance > worst { distance } else { worst };
                }
            }
        }
    }
    worst
}

#[test]
fn error_tables_of_three_real_dems_are_brute_force_maxima() {
    for name in [
        "dem/mars-gale/gale_hirise_dtm_1m.tif",
        "dem/moon-south-pole/LRO_LOLA_resize_spole_296m.tif",
        "dem/earth-vestfold-antarctica/vestfold.tif",
    ] {
        let Some(path) = shared(name) else { continue };
        let (_scene, _ground, archive) = baked(&path);
        let (mut compared, mut raised) = (0, 0);
        for (key, node) in &archive.nodes {
            let brute = brute_force_m(&archive, *key);
            let children = key.children().into_iter().flatten().filter_map(|child| archive.nodes.get(&child));
            let below = children.map(|child| f64::from(child.error_m)).fold(0.0, f64::max);
            let stored = f64::from(node.error_m);
            // A parent is never smaller than a child, though its own distance may be.
            let expected = brute.max(below);
            assert!(stored >= brute && stored >= below, "{name} {key:?}: {stored} {brute} {below}");
            assert!(stored <= 1.01 * expected + 1e-9, "{name} {key:?}: {stored} {expected}");
            compared += 1;
            raised += usize::from(below > brute);
        }
        println!("{name}: {compared} tiles, of which {raised} have a child with a larger error");
    }
}

#[test]
fn sentinels_and_single_holes_leave_no_trace_in_any_level_map_or_export() {
    let (low, high) = (100.0, 200.0);
    for sentinel in [-3.402_823e38_f32, 9999.0, -32_767.0, f32::NAN] {
        let mut raster = Raster::moon(200, 5.0, |x, z| 150.0 + 49.0 * (x * 0.01).sin() * (z * 0.013).cos());
        let holes: Vec<usize> = (0..90).map(|k| (k * 7919) % 40_000).chain((0..30).map(|k| 20_000 + k)).collect();
        holes.iter().for_each(|k| raster.heights_m[*k] = sentinel);
        let scene = Scene::new();
        let file = scene.path("data/dem.tif");
        std::fs::create_dir_all(scene.path("data")).unwrap();
        raster.write(&file, true);
        // What the file leaves out, the twin says.
        let nodata = if sentinel.is_nan() { String::new() } else { format!("nodata = {:?}\n", f64::from(sentinel)) };
        let manifest = format!("name = \"t\"\nstage = \"scene.usda\"\n[rasters.\"data/dem.tif\"]\n{nodata}");
        std::fs::write(scene.path("twin.toml"), manifest).unwrap();
        let scene = scene.dem(Path::new("./data/dem.tif"));
        let site = scene.open();
        let ground = site.ground(&Quiet).unwrap();
        let archive = Archive::open(&terrane_site::bake::bake(&site, &Quiet).unwrap().archive, None).unwrap();
        let datum_m = |site_m: f64| site_m + ground.frame.origin_height_m;
        let mut by_level = vec![0_usize; usize::from(archive.lattice.root_level) + 1];
        for (key, node) in &archive.nodes {
            // Down to the sphere below the tangent plane, a few millimetres here.
            assert!(datum_m(f64::from(node.min_m) + archive.reference_m) > low - 0.2, "{sentinel}");
            assert!(datum_m(f64::from(node.max_m) + archive.reference_m) < high + 0.2, "{sentinel}");
            let tile = archive.tile(*key).unwrap().unwrap();
            let inside = |u: i32, v: i32| {
                let (i, j) = key.first_post();
                i + ((u as u64) << key.level) < 200 && j + ((v as u64) << key.level) < 200
            };
            let places = (0..64).flat_map(|v| (0..64).map(move |u| (u, v)));
            by_level[usize::from(key.level)] +=
                places.filter(|&(u, v)| inside(u, v) && tile.height_m(u, v).is_nan()).count();
            assert!(tile.gradients(5.0 * f64::from(1 << key.level)).iter().flatten().all(|grade| grade.abs() < 2.0));
        }
        let distinct: std::collections::BTreeSet<usize> = holes.iter().copied().collect();
        assert_eq!(by_level[0], distinct.len(), "{sentinel}");
        // A level's hole posts are posts of the finer level: none is added.
        assert!(by_level.is_sorted_by(|finer, coarser| finer >= coarser), "{by_level:?}");
        for map in archive.maps().unwrap() {
            let heights = map.heights_m.iter().filter(|height| !height.is_nan());
            assert!(heights.into_iter().all(|height| {
                let height = datum_m(f64::from(*height) + archive.reference_m);
                height > low - 0.2 && height < high + 0.2
            }));
            assert!(map.gradients.iter().flatten().all(|grade| grade.abs() < 1.0));
        }
        for layer in ["height", "slope", "roughness", "normal", "ambient-occlusion", "profile-curvature"] {
            let output = scene.path(&format!("{layer}.tif"));
            let request = ExportRequest {
                layer: layer.into(),
                output: output.clone(),
                crs: None,
                posting_m: None,
                dem: None,
                region: None,
                cloud_optimized: false,
                options: Default::default(),
            };
            export(&site, &request, &Quiet).unwrap();
            let found = Raster::read(&output);
            let limits = match layer {
                "height" => (low, high),
                "slope" => (0.0, 35.0),
                "roughness" => (0.0, 20.0),
                _ => (-1.0, 1.0),
            };
            let values: Vec<f32> = found.heights_m.iter().copied().filter(|value| !value.is_nan()).collect();
            let nodata = found.heights_m.len() - values.len();
            // A curvature needs all nine posts, and a slope to lie along.
            let is_partial = layer == "profile-curvature";
            assert!(nodata == distinct.len() || is_partial && nodata > distinct.len(), "{layer} {sentinel}: {nodata}");
            assert!(values.iter().all(|v| (limits.0..=limits.1).contains(&f64::from(*v))), "{layer} {sentinel}");
        }
    }
}

#[test]
fn an_export_lies_where_the_source_does_in_the_sites_crs_and_in_another() {
    let Some(path) = shared("dem/moon-south-pole/Shoemaker_final_adj_5mpp_surf_1k.tif") else { return };
    let scene = Scene::new().dem(&path);
    let site = scene.open();
    let source = Raster::read(&path);
    let request = |layer: &str, crs: Option<&str>, file: &str| ExportRequest {
        layer: layer.into(),
        output: scene.path(file),
        crs: crs.map(str::to_owned),
        posting_m: None,
        dem: None,
        region: None,
        cloud_optimized: false,
        options: Default::default(),
    };
    export(&site, &request("height", None, "own.tif"), &Quiet).unwrap();
    let own = Raster::read(&scene.path("own.tif"));
    assert_eq!(own.grid, source.grid);
    assert!(own.heights_m.iter().zip(&source.heights_m).all(|(a, b)| a.to_bits() == b.to_bits()));

    // The same pole's map, turned by 30 degrees.
    let turned = "+proj=stere +lat_0=-90 +lon_0=30 +R=1737400 +units=m +no_defs";
    export(&site, &request("height", Some(turned), "other.tif"), &Quiet).unwrap();
    let other = DemFile::open(
        &scene.path("other.tif").as_path().into(),
        &RasterSettings::default(),
        &OpenOptions::default(),
        &Quiet,
    )
    .unwrap();
    let grid = source.grid;
    let inner = terrane_geo::PostGrid {
        easting_m: grid.easting_m + 40.0 * grid.posting_m,
        northing_m: grid.northing_m - 40.0 * grid.posting_m,
        columns: grid.columns - 80,
        rows: grid.rows - 80,
        ..grid
    };
    let mut back_m = vec![0.0; inner.columns * inner.rows];
    let window = PostWindow { column: 0, row: 0, columns: inner.columns, rows: inner.rows };
    other.posts(&source.crs, inner).unwrap().read(window, &mut back_m).unwrap();
    let mut off_m: Vec<f64> = (0..back_m.len())
        .map(|k| {
            let (column, row) = (k % inner.columns + 40, k / inner.columns + 40);
            f64::from((back_m[k] - source.heights_m[row * grid.columns + column]).abs())
        })
        .collect();
    off_m.sort_by(f64::total_cmp);
    println!("there and back: median {:.4} m, 99 % {:.4} m", off_m[off_m.len() / 2], off_m[off_m.len() * 99 / 100]);
    // Half a post of displacement would be about 0.4 m on these slopes.
    assert!(off_m[off_m.len() / 2] < 0.05, "{}", off_m[off_m.len() / 2]);
}

#[test]
fn nested_dems_disagree_by_what_is_reported_and_levelling_removes_it() {
    let (Some(fine), Some(wide)) = (
        shared("dem/mars-gale/gale_hirise_dtm_1m.tif"),
        shared("dem/mars-gale/B01_009861_1753_XI_04S222W__B06_011984_1754_XN_04S222W-DEM-geoid-adj.tif"),
    ) else {
        return;
    };
    let scene = Scene::new().dem(&fine).dem(&wide);
    let ground = scene.open().ground(&Quiet).unwrap();
    let found = ground.disagreements[0];
    println!("{found:?}");
    // The data's description: 4.2 to 16.7 m near the corners, 9.5 m at the centre.
    assert!((-13.0..-5.0).contains(&found.median_m) && found.min_m > -20.0 && found.max_m < 2.0);
    assert!(ground.dems[1].why_resampled.is_none(), "its map is the site's under another name");

    let manifest = format!(
        "name = \"t\"\nstage = \"scene.usda\"\n[mosaic]\nlevel = true\n[data]\n\"a.tif\" = \"{}\"\n\"b.tif\" = \"{}\"\n",
        fine.display(),
        wide.display()
    );
    std::fs::write(scene.path("twin.toml"), manifest).unwrap();
    let levelled = scene.open().ground(&Quiet).unwrap();
    assert!((levelled.surface.spec().dems[1].shift_m - found.median_m).abs() < 1e-9);
    assert!(levelled.disagreements[0].median_m.abs() < 1e-9);
    assert_ne!(levelled.key, ground.key);
}

#[test]
fn derived_maps_are_gdaldems_on_three_real_dems() {
    for name in [
        "dem/mars-gale/gale_hirise_dtm_1m.tif",
        "dem/moon-south-pole/Shoemaker_final_adj_5mpp_surf_1k.tif",
        "dem/earth-bigtujunga/bigtujunga.tif",
    ] {
        let Some(path) = shared(name) else { continue };
        let scene = Scene::new().dem(&path);
        let site = scene.open();
        for layer in ["slope", "aspect", "roughness"] {
            let (ours, theirs) = (scene.path(&format!("{layer}.tif")), scene.path(&format!("gdal_{layer}.tif")));
            let request = ExportRequest {
                layer: layer.into(),
                output: ours.clone(),
                crs: None,
                posting_m: None,
                dem: None,
                region: None,
                cloud_optimized: false,
                options: Default::default(),
            };
            export(&site, &request, &Quiet).unwrap();
            let run = std::process::Command::new("gdaldem").args([layer, "-q"]).arg(&path).arg(&theirs).output();
            if !run.as_ref().is_ok_and(|output| output.status.success()) {
                println!("skipped: gdaldem is not here: {run:?}");
                continue;
            }
            let (ours, theirs) = (Raster::read(&ours), Raster::read(&theirs));
            assert_eq!(ours.grid, theirs.grid);
            let columns = ours.grid.columns;
            let mut off: Vec<f64> = Vec::new();
            for (k, (a, b)) in ours.heights_m.iter().zip(&theirs.heights_m).enumerate() {
                let (c, r) = (k % columns, k / columns);
                let inside = c > 0 && r > 0 && c + 1 < columns && r + 1 < ours.grid.rows;
                // gdaldem leaves out what lies beside a hole, and level ground.
                if !inside || b.is_nan() || *b < -9000.0 || a.is_nan() {
                    continue;
                }
                let difference = f64::from((a - b).abs());
                off.push(if layer == "aspect" { difference.min(360.0 - difference) } else { difference });
            }
            assert!(off.len() > ours.heights_m.len() / 2, "{layer}: {}", off.len());
            let worst = off.iter().copied().fold(0.0, f64::max);
            println!("{name}: {layer} within {worst:.6} of gdaldem at {} posts", off.len());
            // gdaldem sums 32-bit floats: at 4,400 m below the datum that is a
            // slope of 0.03 degrees, and any aspect on nearly level ground.
            off.sort_by(f64::total_cmp);
            let (allowed, quantile) = match layer {
                "slope" => (0.05, worst),
                "aspect" => (0.5, off[off.len() * 95 / 100]),
                _ => (1e-3, worst),
            };
            assert!(quantile <= allowed, "{layer}: {quantile}");
        }
    }
}
