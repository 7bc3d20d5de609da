//! Ingest against `gdaladdo`, side by side: a float GeoTIFF to an archive with
//! errors and normals, and the same file to overviews. Prints wall time and
//! peak memory of both.
//!
//!     cargo bench --workspace --profile dev --bench ingest -- [posts a side]

#![allow(missing_docs, clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};
use terrane_core::Quiet;
use terrane_geo::{Compression, Crs, GeotiffBand, GeotiffOptions, GeotiffWriter, PostGrid};

/// Octaves of value noise, and a little of none.
fn height_m(column: usize, row: usize) -> f32 {
    let hash = |x: i64, z: i64| {
        let k = (x as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ (z as u64).wrapping_mul(0xC2B2_AE3D_27D4_EB4F);
        let k = (k ^ (k >> 29)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        (k >> 40) as f32 / (1 << 24) as f32
    };
    let mut sum = 0.02 * hash(column as i64, row as i64);
    for octave in 2..12 {
        let cell = (1_usize << octave) as f32;
        let (x, z) = (column as f32 / cell, row as f32 / cell);
        let (i, j) = (x.floor(), z.floor());
        let ease = |t: f32| t * t * (3.0 - 2.0 * t);
        let (u, v) = (ease(x - i), ease(z - j));
        let (i, j) = (i as i64 + octave * 1000, j as i64);
        let north = hash(i, j) * (1.0 - u) + hash(i + 1, j) * u;
        let south = hash(i, j + 1) * (1.0 - u) + hash(i + 1, j + 1) * u;
        sum += 0.12 * cell * (north * (1.0 - v) + south * v);
    }
    sum
}

fn write(path: &Path, side: usize, compression: Compression) {
    let crs = Crs::parse("IAU_2015:30135").unwrap();
    let half_m = 0.5 * side as f64;
    let grid = PostGrid { easting_m: -half_m, northing_m: half_m, posting_m: 1.0, columns: side, rows: side };
    let options = GeotiffOptions { compression, ..GeotiffOptions::floats(vec![GeotiffBand::default()]) };
    let mut writer = GeotiffWriter::create(path, &crs, &grid, options).unwrap();
    for first in (0..side).step_by(256) {
        let rows = 256.min(side - first);
        let mut values = vec![0.0_f32; rows * side];
        let threads = std::thread::available_parallelism().map_or(1, usize::from);
        std::thread::scope(|scope| {
            for (part, chunk) in values.chunks_mut(side * rows.div_ceil(threads)).enumerate() {
                let row = first + part * rows.div_ceil(threads);
                scope.spawn(move || {
                    for (k, value) in chunk.iter_mut().enumerate() {
                        *value = height_m(k % side, row + k / side);
                    }
                });
            }
        });
        writer.write_rows(0, first, &values).unwrap();
    }
    writer.finish(&Quiet).unwrap();
}

/// Wall time, seconds, and peak resident memory, MiB.
fn run(command: &mut Command) -> (f64, u64) {
    // What was written before is not to be written out meanwhile.
    Command::new("sync").status().unwrap();
    let start = Instant::now();
    let mut child = command.stdout(Stdio::null()).spawn().unwrap();
    let status = format!("/proc/{}/status", child.id());
    let mut peak_kb = 0;
    let code = loop {
        let text = std::fs::read_to_string(&status).unwrap_or_default();
        let line = text.lines().find_map(|line| line.strip_prefix("VmHWM:"));
        let kb = line.and_then(|line| line.split_whitespace().next()?.parse().ok());
        peak_kb = peak_kb.max(kb.unwrap_or(0));
        if let Some(code) = child.try_wait().unwrap() {
            break code;
        }
        std::thread::sleep(Duration::from_millis(5));
    };
    assert!(code.success());
    (start.elapsed().as_secs_f64(), peak_kb / 1024)
}

fn main() {
    let side: usize = std::env::args().skip(1).find_map(|arg| arg.parse().ok()).unwrap_or(16_384);
    let folder = tempfile::Builder::new().prefix("terrane-ingest-").tempdir_in(".").unwrap();
    let levels: Vec<String> =
        (1..20).map(|level| 1_usize << level).filter(|f| side / f >= 64).map(|f| f.to_string()).collect();
    println!("| {side} x {side} float32 | gdaladdo -r average, s | MiB | terrane bake, s | MiB | ratio |");
    println!("|---|---|---|---|---|---|");
    for (name, compression) in [("uncompressed", Compression::None), ("DEFLATE, predictor 3", Compression::Deflate)] {
        let dem = folder.path().join("dem.tif");
        write(&dem, side, compression);
        let twin = folder.path().join("site");
        let terrane = env!("CARGO_BIN_EXE_terrane");
        run(Command::new(terrane).args(["twin", "new", "--quiet"]).arg(&twin).arg("--dem").arg(&dem));
        // The key is remembered from then on; a first bake begins without.
        let _ = std::fs::remove_dir_all(twin.join(".terrane"));
        let bake = run(Command::new(terrane).args(["bake", "--quiet"]).arg(twin.join("site.usda")));
        std::fs::remove_dir_all(&twin).unwrap();
        // Overviews go into the file, so they come last.
        let addo = run(Command::new("gdaladdo")
            .args(["-q", "-r", "average", "--config", "GDAL_NUM_THREADS", "ALL_CPUS"])
            .arg(&dem)
            .args(&levels));
        println!("| {name} | {:.1} | {} | {:.1} | {} | {:.2} |", addo.0, addo.1, bake.0, bake.1, bake.0 / addo.0);
        std::fs::remove_file(&dem).unwrap();
    }
}
