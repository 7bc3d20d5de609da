//! Prints a table of every raster under a folder: what it is, where it lies,
//! and how terrane would place it, or why it would not.
//!
//! `cargo run -p terrane-geo --example dem_table -- <folder>`

use std::path::{Path, PathBuf};
use terrane_core::{Quiet, RasterSettings};
use terrane_geo::{DemFile, GeoError, OpenOptions, RasterName};

fn files_under(folder: &Path, files: &mut Vec<PathBuf>) {
    let mut entries: Vec<PathBuf> =
        std::fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path()).collect();
    entries.sort();
    for entry in entries {
        if entry.is_dir() {
            files_under(&entry, files);
        } else if entry.extension().is_none_or(|extension| extension != "md") {
            files.push(entry);
        }
    }
}

fn row(path: &Path) -> Result<String, GeoError> {
    let options = OpenOptions { allowed: Some(&|_| true), ..OpenOptions::default() };
    let dem = DemFile::open(&RasterName::from(path), &RasterSettings::default(), &options, &Quiet)?;
    let found = dem.statistics(&Quiet)?;
    let (crs, grid) = dem.natural_frame()?;
    let centre = dem.outline_lon_lat()?.centre;
    let centre = centre.map_or("-".to_owned(), |(lon, lat)| format!("{lat:.4}, {lon:.4}"));
    let heights = found.range_m.map_or("-".to_owned(), |(low, high)| format!("{low:.1}..{high:.1}"));
    let nodata = 100.0 * (1.0 - found.valid as f64 / found.posts as f64);
    let placed = match dem.why_warped() {
        None => "as is".to_owned(),
        Some(why) => format!("warped to {} ({} x {}) because {why}", crs.name, grid.columns, grid.rows),
    };
    let notes: Vec<String> = dem.notes.iter().map(|note| note.code.replace("raster-", "")).collect();
    let info = &dem.info;
    Ok(format!(
        "{} | {} x {} | {} | {:.3} | {} | {} | {centre} | {heights} | {nodata:.1}% | {placed} | {}",
        info.driver,
        info.columns,
        info.rows,
        info.pixel_type,
        grid.posting_m,
        dem.crs.body.name,
        dem.crs.name,
        notes.join(", ")
    ))
}

fn main() {
    let Some(folder) = std::env::args_os().nth(1).map(PathBuf::from) else {
        eprintln!("usage: dem_table <folder>");
        std::process::exit(2);
    };
    let mut files = Vec::new();
    files_under(&folder, &mut files);
    println!(
        "| file | driver | size | type | posting m | body | CRS | centre lat, lon | heights m | nodata | placed | notes |"
    );
    println!("|---|---|---|---|---|---|---|---|---|---|---|---|");
    for path in files {
        let shown = path.strip_prefix(&folder).unwrap_or(&path).display().to_string();
        match row(&path) {
            Ok(row) => println!("| {shown} | {row} |"),
            Err(error) => {
                let said = error.diagnostic();
                let detail = said.detail.replace(&*format!("{}/", folder.display()), "");
                println!("| {shown} | refused{} {}: {detail} |", " |".repeat(10), said.title);
            }
        }
    }
}
