//! `terrane bench`: how long things take, here and now.

use crate::render::RenderOptions;
use crate::{Failure, OpenSite};
use serde::Serialize;
use std::time::Instant;
use terrane_core::Progress;

/// Times of one site on one machine.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct BenchReport {
    /// The GPU.
    pub gpu: String,
    /// Worker threads.
    pub threads: usize,
    /// Image size, pixels.
    pub size: (u32, u32),
    /// Baking, seconds for a million posts of the DEMs.
    pub bake_s_per_million_posts: f64,
    /// Posts baked.
    pub posts: usize,
    /// One row a camera.
    pub cameras: Vec<CameraBench>,
}

/// Times of one camera, milliseconds a frame, median of the frames.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct CameraBench {
    /// Prim path.
    pub camera: String,
    /// The first frame, tile uploads and pipeline warm-up included.
    pub first_ms: f64,
    /// Drawing alone.
    pub draw_ms: f64,
    /// Drawing and reading all four planes back.
    pub draw_and_read_ms: f64,
    /// Triangles drawn.
    pub triangles: usize,
}

/// Times baking into a temporary file, and `frames` frames of each camera.
pub fn bench(
    site: &OpenSite,
    size: (u32, u32),
    frames: usize,
    progress: &dyn Progress,
) -> Result<BenchReport, Failure> {
    let ground = site.ground(progress)?;
    let posts: usize = ground.surface.spec().dems.iter().map(|dem| dem.columns * dem.rows).sum();
    let start = Instant::now();
    let folder =
        tempfile::tempdir().map_err(|error| Failure::unwritten(std::path::Path::new("a temporary folder"), &error))?;
    let (surface, key) = ground.baked();
    terrane_tiles::bake(surface, &folder.path().join("bench.pyramid"), key, &ground.bake, progress)?;
    let baking_s = start.elapsed().as_secs_f64();

    let options = RenderOptions { size, samples_per_side: 1, ..RenderOptions::default() };
    let mut studio = site.studio(options, progress)?;
    let mut cameras = Vec::new();
    for camera in site.cameras(&[])? {
        let request = studio.request(site, camera)?;
        let start = Instant::now();
        studio.frame(&request)?;
        let first_ms = start.elapsed().as_secs_f64() * 1e3;
        let mut triangles = 0;
        let draw_ms = median(frames, || {
            triangles = studio.draw_only(&request)?.triangles;
            Ok(())
        })?;
        let draw_and_read_ms = median(frames, || studio.frame(&request).map(|_| ()))?;
        cameras.push(CameraBench { camera: camera.prim.clone(), first_ms, draw_ms, draw_and_read_ms, triangles });
    }
    Ok(BenchReport {
        gpu: studio.gpu_name().to_owned(),
        threads: rayon::current_num_threads(),
        size,
        bake_s_per_million_posts: baking_s / (posts as f64 / 1e6),
        posts,
        cameras,
    })
}

fn median(count: usize, mut work: impl FnMut() -> Result<(), Failure>) -> Result<f64, Failure> {
    let mut times = Vec::new();
    for _ in 0..count.max(1) {
        let start = Instant::now();
        work()?;
        times.push(start.elapsed().as_secs_f64() * 1e3);
    }
    times.sort_by(f64::total_cmp);
    Ok(times[times.len() / 2])
}
