//! What an archive promises: heights, bounds, errors, borders, holes.
// Helpers outside #[test] may fail a test.
#![allow(clippy::unwrap_used)]

use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use terrane_core::{ContentKey, Progress, Quiet};
use terrane_surface::{DemGrid, Surface, SurfaceSpec, TILE_CELLS, TileKey};
use terrane_tiles::{Archive, ArchiveError, BakeOptions, HeightCode, bake, verify};

const OPTIONS: BakeOptions = BakeOptions { heights: HeightCode::Steps(1.0 / 512.0), reference_m: 3.0 };

fn rough(k: usize) -> f32 {
    let (x, z) = ((k % 300) as f32, (k / 300) as f32);
    12.0 * (x * 0.11).sin() + 7.0 * (z * 0.07).cos() + ((k * 7919) % 101) as f32 * 0.01
}

fn dem(name: &str, at: (f64, f64), posting_m: f64, size: (usize, usize), holes: &[usize]) -> DemGrid {
    let mut heights_m: Vec<f32> = (0..size.0 * size.1).map(rough).collect();
    holes.iter().for_each(|k| heights_m[*k] = f32::NAN);
    DemGrid::in_memory(name, at, posting_m, size, heights_m)
}

fn surface(dems: Vec<DemGrid>) -> Surface {
    Surface::new(SurfaceSpec { dems, curvature_radius_m: Some(1_737_400.0), ..SurfaceSpec::default() }).unwrap()
}

/// One DEM with single-post holes, a block of them, and a ragged edge.
fn holed() -> Surface {
    let block = (0..400).map(|k| (60 + k / 20) * 257 + 100 + k % 20);
    let holes: Vec<usize> = block.chain([777, 12_345, 30_002]).chain((0..90).map(|k| k * 257 + 256)).collect();
    surface(vec![dem("holed", (-128.0, -100.0), 1.0, (257, 200), &holes)])
}

/// A fine DEM inside a coarse one whose posts are not its own.
fn nested() -> Surface {
    let fine = dem("fine", (-70.0, -64.0), 1.0, (150, 141), &[9000]);
    surface(vec![fine, dem("wide", (-1500.3, -1400.7), 17.0, (190, 170), &[4000])])
}

fn key() -> ContentKey {
    ContentKey::of_bytes(b"test")
}

fn baked(surface: &Surface, folder: &Path) -> Archive {
    bake(surface, &folder.join("a.pyramid"), &key(), &OPTIONS, &Quiet).unwrap()
}

/// Height of a tile's triangles at a place in finest posts; posts with zero
/// weight may be holes.
fn drawn_m(archive: &Archive, key: TileKey, tile: &terrane_tiles::Tile, i: u64, j: u64) -> f64 {
    assert!(archive.nodes.contains_key(&key));
    let (first_i, first_j) = key.first_post();
    let step = 1_u64 << key.level;
    let (u, v) = ((i - first_i) as f64 / step as f64, (j - first_j) as f64 / step as f64);
    let (cu, cv) = (u.floor().min(63.0), v.floor().min(63.0));
    let (s, t) = (u - cu, v - cv);
    let at = |du: i32, dv: i32| tile.height_m(cu as i32 + du, cv as i32 + dv);
    let parts = if s + t <= 1.0 {
        [(1.0 - s - t, at(0, 0)), (s, at(1, 0)), (t, at(0, 1))]
    } else {
        [(s + t - 1.0, at(1, 1)), (1.0 - s, at(0, 1)), (1.0 - t, at(1, 0))]
    };
    parts.iter().filter(|(weight, _)| *weight != 0.0).map(|(weight, height)| weight * height).sum()
}

/// Largest distance between a tile and the leaves under it, post by post.
fn brute_force_m(archive: &Archive, key: TileKey) -> f64 {
    let mut worst = 0.0_f64;
    let above = archive.tile(key).unwrap().unwrap();
    let leaves = archive.nodes.keys().filter(|leaf| !archive.lattice.is_split(**leaf));
    for leaf in leaves {
        let shift = key.level.checked_sub(leaf.level);
        if shift.is_none_or(|shift| (leaf.x >> shift, leaf.z >> shift) != (key.x, key.z)) {
            continue;
        }
        let tile = archive.tile(*leaf).unwrap().unwrap();
        let (first_i, first_j) = leaf.first_post();
        for v in 0..=TILE_CELLS {
            for u in 0..=TILE_CELLS {
                let finest = tile.height_m(u as i32, v as i32);
                let (i, j) = (first_i + (u64::from(u) << leaf.level), first_j + (u64::from(v) << leaf.level));
                let distance = (drawn_m(archive, key, &above, i, j) - finest).abs();
                worst = if distance > worst { distance } else { worst };
            }
        }
    }
    worst
}

#[test]
fn stored_errors_are_the_brute_force_maxima_of_a_tile_and_what_is_below_it() {
    let folder = tempfile::tempdir().unwrap();
    for (index, surface) in [holed(), nested()].iter().enumerate() {
        let archive = baked(surface, &folder.path().join(index.to_string()));
        let own: std::collections::BTreeMap<TileKey, f64> =
            archive.nodes.keys().map(|key| (*key, brute_force_m(&archive, *key))).collect();
        for (tile, node) in &archive.nodes {
            let below = own.iter().filter(|(key, _)| {
                let shift = tile.level.checked_sub(key.level);
                shift.is_some_and(|shift| (key.x >> shift, key.z >> shift) == (tile.x, tile.z))
            });
            let brute = below.map(|(_, error)| *error).fold(0.0, f64::max);
            let stored = f64::from(node.error_m);
            assert!(stored >= brute && stored <= brute * 1.000_001 + 1e-9, "{tile:?}: {stored} {brute}");
        }
        assert!(archive.nodes[&archive.lattice.root()].error_m > 1.0);
    }
}

#[test]
fn everything_that_verify_looks_at_is_right_also_with_leaves_of_several_levels() {
    let folder = tempfile::tempdir().unwrap();
    for (index, surface) in [holed(), nested()].iter().enumerate() {
        let archive = baked(surface, &folder.path().join(index.to_string()));
        let found = verify(&archive, &Quiet).unwrap();
        assert_eq!(found.faults, vec![]);
        assert!(found.borders > 20 && found.compared_posts > 100_000, "{found:?}");
        for (tile, node) in &archive.nodes {
            if let Some(parent) = archive.nodes.get(&tile.parent()) {
                assert!(parent.error_m >= node.error_m && parent.cover_error_m >= node.cover_error_m);
                assert!(parent.min_m <= node.min_m && parent.max_m >= node.max_m);
            }
        }
    }
}

#[test]
fn leaves_hold_the_surface_within_the_stated_error_and_holes_stay_holes_at_every_level() {
    let folder = tempfile::tempdir().unwrap();
    let surface = holed();
    let archive = baked(&surface, folder.path());
    let mut holes = vec![0_usize; 4];
    for (key, node) in &archive.nodes {
        let tile = archive.tile(*key).unwrap().unwrap();
        let (i, j) = key.first_post();
        for v in 0..=TILE_CELLS {
            for u in 0..=TILE_CELLS {
                let stored = tile.height_m(u as i32, v as i32);
                let truth = surface.post_m(i + (u64::from(u) << key.level), j + (u64::from(v) << key.level));
                assert_eq!(truth.is_none(), stored.is_nan(), "{key:?} {u} {v}");
                if let Some(truth) = truth {
                    assert!((stored + archive.reference_m - truth).abs() <= archive.heights.error_m());
                    assert!((node.min_m..=node.max_m).contains(&(stored as f32)));
                }
                let inside = u < TILE_CELLS && v < TILE_CELLS;
                let (i, j) = (i + (u64::from(u) << key.level), j + (u64::from(v) << key.level));
                holes[key.level as usize] += usize::from(inside && stored.is_nan() && i < 257 && j < 200);
            }
        }
        for (k, gradient) in tile.gradients(1.0).iter().enumerate() {
            let (u, v) = ((k % 65) as i32, (k / 65) as i32);
            assert!(gradient.iter().all(|g| g.is_finite() && g.abs() < 60.0));
            assert!(!tile.height_m(u, v).is_nan() || *gradient == [0.0; 2]);
        }
    }
    // Each level keeps every fourth post: a hole never grows by more posts than that.
    println!("holes by level: {holes:?}");
    assert_eq!(holes[0], 403);
    assert!(holes[1] <= holes[0] / 2 && holes[2] <= holes[1] / 2, "{holes:?}");
}

#[test]
fn floats_are_kept_losslessly_when_asked() {
    let folder = tempfile::tempdir().unwrap();
    let surface = surface(vec![dem("t", (0.0, 0.0), 1.0, (130, 70), &[5])]);
    let options = BakeOptions { heights: HeightCode::Float, reference_m: 0.0 };
    let archive = bake(&surface, &folder.path().join("f.pyramid"), &key(), &options, &Quiet).unwrap();
    assert_eq!(verify(&archive, &Quiet).unwrap().faults, vec![]);
    let tile = archive.tile(TileKey { level: 0, x: 1, z: 0 }).unwrap().unwrap();
    for (k, height) in tile.heights_m().iter().enumerate() {
        let truth = surface.post_m(64 + (k % 65) as u64, (k / 65) as u64);
        assert_eq!(height.to_bits(), truth.map_or(f32::NAN, |truth| truth as f32).to_bits());
    }
}

#[test]
fn one_thread_and_two_bake_the_same_bytes() {
    let folder = tempfile::tempdir().unwrap();
    let bytes = [1, 2].map(|threads| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        let archive = pool.install(|| baked(&nested(), &folder.path().join(threads.to_string())));
        std::fs::read(archive.path()).unwrap()
    });
    assert!(bytes[0] == bytes[1]);
}

/// Ends the process's work after some units: by cancelling, or as a kill
/// would, by panicking with everything left as it is.
struct StopAfter {
    units: AtomicU64,
    kill: bool,
}

impl StopAfter {
    fn new(units: u64, kill: bool) -> Self {
        Self { units: AtomicU64::new(units), kill }
    }
}

impl Progress for StopAfter {
    fn begin(&self, _what: &str, _total: u64) {}

    fn advance(&self, units: u64) {
        let before =
            self.units.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |left| Some(left.saturating_sub(units)));
        assert!(!(self.kill && before.unwrap() <= units), "killed");
    }

    fn is_cancelled(&self) -> bool {
        !self.kill && self.units.load(Ordering::SeqCst) == 0
    }
}

fn files(folder: &Path) -> usize {
    std::fs::read_dir(folder).map_or(0, Iterator::count)
}

#[test]
fn a_cancelled_bake_leaves_nothing_and_a_killed_one_goes_on_to_the_same_bytes() {
    let folder = tempfile::tempdir().unwrap();
    // Wide enough for several steps.
    let surface = surface(vec![dem("t", (0.0, 0.0), 1.0, (2500, 2500), &[])]);
    let whole = std::fs::read(baked(&surface, &folder.path().join("whole")).path()).unwrap();
    for units in [1, 900, 1100, 2100, 2800] {
        let place = folder.path().join(units.to_string());
        let path = place.join("a.pyramid");
        let cancelled = bake(&surface, &path, &key(), &OPTIONS, &StopAfter::new(units, false));
        assert!(matches!(cancelled, Err(ArchiveError::Cancelled(_))));
        assert_eq!(files(&place), 0, "nothing is left behind");

        let stop = StopAfter::new(units, true);
        let run = std::panic::AssertUnwindSafe(|| bake(&surface, &path, &key(), &OPTIONS, &stop));
        let killed = std::panic::catch_unwind(run);
        assert!(killed.is_err());
        assert_eq!(files(&place), 2, "a part and its journal");
        if units == 2100 {
            // What power loss does: the end of the file never reached the disk.
            let part = place.join(".partial-a.pyramid");
            let file = std::fs::OpenOptions::new().write(true).open(&part).unwrap();
            file.set_len(file.metadata().unwrap().len() - 5000).unwrap();
        }
        let again = bake(&surface, &path, &key(), &OPTIONS, &Quiet).unwrap();
        assert!(std::fs::read(again.path()).unwrap() == whole, "{units}");
        assert_eq!(files(&place), 1);
    }
}

#[test]
fn stale_and_damaged_files_are_refused_and_told_apart() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.pyramid");
    assert!(matches!(Archive::open(&path, None), Err(ArchiveError::Missing { .. })));
    let archive = baked(&holed(), folder.path());
    let other = ContentKey::of_bytes(b"other");
    assert!(matches!(Archive::open(&path, Some(&other)), Err(ArchiveError::Stale { .. })));
    let whole = std::fs::read(&path).unwrap();
    let front = whole.len() as u64 - archive.file_bytes;
    drop(archive);
    assert_eq!(front, 0);

    for (at, what) in [(0, "magic"), (20, "sizes"), (100, "checksum"), (200, "description"), (4300, "index")] {
        let mut bytes = whole.clone();
        bytes[at] ^= 0x55;
        std::fs::write(&path, &bytes).unwrap();
        assert!(matches!(Archive::open(&path, None), Err(ArchiveError::Damaged { .. })), "{what}");
    }
    for length in [0, 50, 128, 3000, whole.len() - 1] {
        std::fs::write(&path, &whole[..length]).unwrap();
        assert!(matches!(Archive::open(&path, None), Err(ArchiveError::Damaged { .. })), "{length}");
    }
    let mut bytes = whole.clone();
    bytes[8] += 1;
    std::fs::write(&path, &bytes).unwrap();
    assert!(matches!(Archive::open(&path, None), Err(ArchiveError::Stale { .. })));

    let mut bytes = whole.clone();
    let middle = whole.len() / 2;
    bytes[middle] ^= 1;
    std::fs::write(&path, &bytes).unwrap();
    let found = verify(&Archive::open(&path, None).unwrap(), &Quiet).unwrap();
    assert!(!found.faults.is_empty() && found.faults[0].what.contains("checksum"), "{found:?}");
    // Baking mends it.
    std::fs::remove_file(&path).unwrap();
    drop(baked(&holed(), folder.path()));
    assert!(std::fs::read(&path).unwrap() == whole);
}

/// A web server for one file that answers byte ranges and counts what it sends.
fn serve(bytes: Vec<u8>) -> (String, std::sync::Arc<AtomicU64>) {
    use std::io::{BufRead, BufReader, Write};
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("http://{}/a.pyramid", listener.local_addr().unwrap());
    let sent = std::sync::Arc::new(AtomicU64::new(0));
    let count = sent.clone();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let mut lines = BufReader::new(stream.try_clone().unwrap()).lines();
            let request = lines.next().unwrap().unwrap();
            let headers: Vec<String> = lines.map_while(Result::ok).take_while(|line| !line.is_empty()).collect();
            let range =
                headers.iter().find_map(|line| line.to_lowercase().strip_prefix("range: bytes=").map(str::to_owned));
            let (status, body) = match range {
                Some(range) => {
                    let (from, to) = range.split_once('-').unwrap();
                    ("206 Partial Content", &bytes[from.parse().unwrap()..=to.parse::<usize>().unwrap()])
                }
                None => ("200 OK", &bytes[..]),
            };
            let head = format!("HTTP/1.1 {status}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n", body.len());
            stream.write_all(head.as_bytes()).unwrap();
            if !request.starts_with("HEAD") {
                count.fetch_add(body.len() as u64, Ordering::SeqCst);
                stream.write_all(body).unwrap();
            }
        }
    });
    (address, sent)
}

#[test]
fn an_archive_is_read_by_byte_range_from_a_web_server() {
    let folder = tempfile::tempdir().unwrap();
    let local = baked(&surface(vec![dem("t", (0.0, 0.0), 1.0, (1500, 1500), &[7])]), folder.path());
    let (address, sent) = serve(std::fs::read(local.path()).unwrap());
    let remote = Archive::open(Path::new(&address), Some(&key())).unwrap();
    assert_eq!(remote.nodes, local.nodes);
    let tile = TileKey { level: 1, x: 3, z: 2 };
    assert_eq!(remote.tile(tile).unwrap(), local.tile(tile).unwrap());
    let sent = sent.load(Ordering::SeqCst);
    assert!(sent < local.file_bytes / 10, "{sent} of {} bytes", local.file_bytes);
}
