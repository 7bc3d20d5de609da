//! Shaded relief of a synthetic site, to be looked at:
//! `cargo run -p terrane-synth --example preview -- OUTPUT_FOLDER [SEED]`.

use std::path::Path;
use std::time::Instant;

use image::GrayImage;
use terrane_core::Quiet;
use terrane_synth::{GridSpec, Landscape, Recipe};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let folder = arguments.next().ok_or("usage: preview OUTPUT_FOLDER [SEED]")?;
    let mut recipe = Recipe::default();
    if let Some(seed) = arguments.next() {
        recipe.seed = seed.parse()?;
    }
    let start = Instant::now();
    let landscape = Landscape::new(&recipe, 10_000.0)?;
    println!("{} craters in {:.2} s", landscape.craters().len(), start.elapsed().as_secs_f64());
    std::fs::create_dir_all(&folder)?;
    let posts = 1025;
    for (name, posting_m) in [("1km", 1.0), ("20km", 20.0), ("100m", 0.125)] {
        let grid = GridSpec::centred(posting_m, posts);
        let start = Instant::now();
        let heights = landscape.heights(&grid, &Quiet)?;
        let height_s = start.elapsed().as_secs_f64();
        let albedo = landscape.albedo(&grid, &Quiet)?;
        println!("{name}: heights {height_s:.2} s, albedo {:.2} s", start.elapsed().as_secs_f64() - height_s);
        report(&heights, &grid);
        let (low, high) = albedo.iter().fold((1f32, 0f32), |(l, h), v| (l.min(*v), h.max(*v)));
        println!("  albedo {low:.3} to {high:.3}");
        for elevation_deg in [7.0, 25.0] {
            let picture = shade(&heights, &albedo, &grid, 300.0, elevation_deg);
            picture.save(Path::new(&folder).join(format!("{name}_sun{elevation_deg}.png")))?;
        }
        let flat = albedo.iter().map(|a| ((a - 0.11) * 3600.0).clamp(0.0, 255.0) as u8).collect();
        let flat = GrayImage::from_raw(posts as u32, posts as u32, flat).ok_or("size")?;
        flat.save(Path::new(&folder).join(format!("{name}_albedo.png")))?;
    }
    Ok(())
}

/// Prints relief and the distribution of slopes.
fn report(heights: &[f32], grid: &GridSpec) {
    let (low, high) = heights.iter().fold((f32::MAX, f32::MIN), |(l, h), v| (l.min(*v), h.max(*v)));
    let mut slopes: Vec<f64> = Vec::new();
    for row in 1..grid.rows - 1 {
        for column in 1..grid.columns - 1 {
            let [east, north] = gradient(heights, grid, column, row);
            slopes.push(east.hypot(north).atan().to_degrees());
        }
    }
    slopes.sort_by(f64::total_cmp);
    let at = |share: f64| slopes[(share * (slopes.len() - 1) as f64) as usize];
    println!(
        "  relief {:.1} m; slopes median {:.2}, 90% {:.1}, 99% {:.1}, 99.9% {:.1}, largest {:.1} degrees",
        high - low,
        at(0.5),
        at(0.9),
        at(0.99),
        at(0.999),
        at(1.0)
    );
}

fn gradient(heights: &[f32], grid: &GridSpec, column: usize, row: usize) -> [f64; 2] {
    let at = |c: usize, r: usize| f64::from(heights[r.min(grid.rows - 1) * grid.columns + c.min(grid.columns - 1)]);
    let (w, e, n, s) = (column.saturating_sub(1), column + 1, row.saturating_sub(1), row + 1);
    let width = |a: usize, b: usize, limit: usize| (b.min(limit - 1) - a) as f64 * grid.posting_m;
    [(at(e, row) - at(w, row)) / width(w, e, grid.columns), (at(column, n) - at(column, s)) / width(n, s, grid.rows)]
}

/// Lommel-Seeliger shading with cast shadows, `azimuth_deg` clockwise from north.
fn shade(heights: &[f32], albedo: &[f32], grid: &GridSpec, azimuth_deg: f64, elevation_deg: f64) -> GrayImage {
    let (sin_az, cos_az) = azimuth_deg.to_radians().sin_cos();
    let (sin_el, cos_el) = elevation_deg.to_radians().sin_cos();
    let rise = grid.posting_m * elevation_deg.to_radians().tan();
    let top = heights.iter().fold(f32::MIN, |a, b| a.max(*b));
    GrayImage::from_fn(grid.columns as u32, grid.rows as u32, |x, y| {
        let (column, row) = (x as usize, y as usize);
        let [east, north] = gradient(heights, grid, column, row);
        let up = 1.0 / (1.0 + east * east + north * north).sqrt();
        let incidence = up * (sin_el - cos_el * (east * sin_az + north * cos_az));
        let mut lit = incidence > 0.0;
        let mut ray = f64::from(heights[row * grid.columns + column]);
        let (mut px, mut py) = (column as f64, row as f64);
        while lit && ray < f64::from(top) {
            px += sin_az;
            py -= cos_az;
            ray += rise;
            let inside = px >= 0.0 && py >= 0.0 && px < (grid.columns - 1) as f64 && py < (grid.rows - 1) as f64;
            if !inside {
                break;
            }
            lit = bilinear(heights, grid, px, py) < ray + 0.02 * grid.posting_m;
        }
        let a = f64::from(albedo[row * grid.columns + column]) / 0.14;
        let value = if lit { a * 2.0 * incidence / (incidence + up) } else { 0.0 };
        let exposure = 0.55 * (sin_el + 1.0) / (2.0 * sin_el);
        image::Luma([(255.0 * (0.015 + exposure * value).clamp(0.0, 1.0).powf(1.0 / 1.8)) as u8])
    })
}

fn bilinear(heights: &[f32], grid: &GridSpec, x: f64, y: f64) -> f64 {
    let (c, r) = (x as usize, y as usize);
    let (u, v) = (x - c as f64, y - r as f64);
    let at = |c: usize, r: usize| f64::from(heights[r * grid.columns + c]);
    (at(c, r) * (1.0 - u) + at(c + 1, r) * u) * (1.0 - v) + (at(c, r + 1) * (1.0 - u) + at(c + 1, r + 1) * u) * v
}
