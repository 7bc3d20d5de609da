//! Reports for people.

use serde::Serialize;
use std::io::Write;
use terrane_core::{Diagnostic, ParamValue};
use terrane_site::bake::BakeReport;
use terrane_site::bench::BenchReport;
use terrane_site::inspect::InspectReport;
use terrane_site::query::HeightAnswer;
use terrane_site::render::RenderReport;
use terrane_site::twin::NewTwinReport;

/// A line to stdout. A reader that has gone away (`| head`) ends the program
/// quietly: nobody is left to tell.
macro_rules! say {
    ($($text:tt)*) => {
        if std::io::Write::write_fmt(&mut std::io::stdout().lock(), format_args!("{}\n", format_args!($($text)*))).is_err() {
            std::process::exit(0);
        }
    };
}
pub(crate) use say;

/// Diagnostics, each once, to stderr.
pub fn to_stderr(diagnostics: &[Diagnostic]) {
    let mut said = Vec::new();
    for diagnostic in diagnostics {
        if !said.contains(&diagnostic) {
            let _ = writeln!(std::io::stderr(), "{diagnostic}");
            said.push(diagnostic);
        }
    }
}

/// Anything as JSON.
pub fn json(value: &impl Serialize) {
    match serde_json::to_string_pretty(value) {
        Ok(text) => say!("{text}"),
        Err(error) => eprintln!("error: report can't be written as JSON: {error}"),
    }
}

pub fn new_twin(report: &NewTwinReport) {
    say!("made {}", report.folder.display());
    say!("  stage    {}", report.stage.display());
    say!("  cameras  {}", report.cameras.join("  "));
    say!("next: terrane render {} -o out/", report.stage.display());
}

pub fn bake(report: &BakeReport) {
    let mib = report.bytes as f64 / (1 << 20) as f64;
    let what = format!("{} tiles on {} levels, {mib:.1} MiB", report.tiles, report.levels);
    if report.up_to_date {
        say!("up to date: {} ({what})", report.archive.display());
    } else {
        say!("baked {} ({what}, {} posts in {:.2} s)", report.archive.display(), report.posts, report.seconds);
    }
}

pub fn render(reports: &[RenderReport]) {
    for report in reports {
        let share = 100.0 * report.ground_share;
        say!("{}: {share:.1} % ground, {} tiles, {} triangles", report.camera, report.drawn_tiles, report.triangles);
        for file in &report.files {
            say!("  {}", file.display());
        }
    }
}

pub fn height(answer: &HeightAnswer) {
    say!("site      x {} m, z {} m", answer.x_m, answer.z_m);
    say!("map       {:.3} E, {:.3} N (m)", answer.easting_m, answer.northing_m);
    say!("lon/lat   {:.9}, {:.9} degrees", answer.lon_deg, answer.lat_deg);
    let Some(ground) = &answer.ground else {
        say!("no ground here: outside the data, or in a hole");
        return;
    };
    say!("height    y {:.4} m; {:.4} m above the datum", ground.y_m, ground.datum_height_m);
    say!("curvature {:.4} m below the tangent plane, in y", ground.curvature_drop_m);
    let [x, y, z] = ground.normal;
    say!("normal    {x:.6}, {y:.6}, {z:.6} (site x, y, z)");
    say!("slope     {:.3} degrees", ground.slope_deg);
    say!("source    {}, posts {} m apart", ground.source, ground.posting_m);
}

pub fn inspect(report: &InspectReport) {
    say!("{}", report.stage.display());
    say!(
        "  {} prims in {} layers, up axis {}, {} m per unit",
        report.prim_count,
        report.layers.len(),
        report.up_axis,
        report.meters_per_unit
    );
    if let Some(ground) = &report.ground {
        let authority = ground.crs_authority.as_ref().map(|code| format!(" ({code})")).unwrap_or_default();
        say!("terrain {}", ground.terrain);
        say!("  body       {}; map frame {}{authority}", ground.body, ground.crs);
        if let Some(radius) = ground.curvature_radius_m {
            say!(
                "  curvature  radius {radius:.0} m, at most {:.3} m below the tangent plane",
                ground.largest_curvature_drop_m
            );
        }
        let ((lon, lat), (east, north, height)) = (ground.origin_lon_lat_deg, ground.origin_map_m);
        say!("  origin     {lon:.9} E, {lat:.9} N; map {east:.3}, {north:.3}; height {height} m");
        for dem in &ground.dems {
            say!("  dem {}  {}", dem.prim, dem.file.display());
            let ((columns, rows), [west, east, south, north]) = (dem.posts, dem.extent_map_m);
            say!("    {columns} x {rows} posts, {} m apart, {}", dem.posting_m, dem.format);
            say!("    map E {west:.3} to {east:.3}, N {south:.3} to {north:.3}");
            let [[x0, z0], [x1, z1]] = dem.extent_site_m;
            say!("    site x {x0:.3} to {x1:.3}, z {z0:.3} to {z1:.3}");
            say!(
                "    heights {:.3} to {:.3} m, {:.2} % nodata",
                dem.heights_m.0,
                dem.heights_m.1,
                100.0 * dem.nodata_share
            );
            if dem.scale_offset != (1.0, 0.0) {
                say!("    scale {}, offset {}", dem.scale_offset.0, dem.scale_offset.1);
            }
        }
    }
    for look in &report.looks {
        let bound = if look.is_bound { "" } else { " (not the terrain's)" };
        say!("look {}{bound}  {}", look.material, look.shader);
        for map in &look.maps {
            say!("    {}  {}", map.name, map.authored.as_deref().unwrap_or("not authored"));
        }
        for param in look.params.iter().filter(|param| param.declared.engine.is_none()) {
            let declared = &param.declared;
            let default = declared.default.iter().map(f64::to_string).collect::<Vec<_>>().join(", ");
            let range = declared.range.map(|[low, high]| format!(", {low} to {high}")).unwrap_or_default();
            let unit = declared.unit.as_ref().map(|unit| format!(" {unit}")).unwrap_or_default();
            if param.authored.is_none() {
                say!("    {} = {default}{unit} by default{range}: {}", declared.name, declared.description);
                continue;
            }
            let value = param.authored.as_ref().map(param_text).unwrap_or_default();
            say!("    {} = {value}{unit} authored (default {default}{range}): {}", declared.name, declared.description);
        }
    }
    for camera in &report.cameras {
        let [x, y, z] = camera.position_m;
        let view = camera.horizontal_fov_deg.map_or("parallel".to_owned(), |fov| format!("{fov:.1} degrees wide"));
        let above = camera.above_ground_m.map(|m| format!(", {m:.2} m above ground")).unwrap_or_default();
        say!("camera {}  at {x:.2}, {y:.2}, {z:.2}; {view}{above}", camera.prim);
    }
    for light in &report.lights {
        let aim = light.grid_azimuth_deg.zip(light.elevation_deg);
        let aim =
            aim.map(|(azimuth, elevation)| format!(", azimuth {azimuth:.2} from grid north, elevation {elevation:.2}"));
        say!("light {}  {}, intensity {}{}", light.prim, light.kind, light.intensity, aim.unwrap_or_default());
    }
}

fn param_text(value: &ParamValue) -> String {
    match value {
        ParamValue::Bool(value) => value.to_string(),
        ParamValue::Int(value) => value.to_string(),
        ParamValue::Float(value) => value.to_string(),
        ParamValue::Vector(values) => format!("{values:?}"),
        ParamValue::Text(value) => value.clone(),
        ParamValue::Asset(asset) => asset.authored.clone(),
    }
}

pub fn bench(report: &BenchReport) {
    say!("{}, {} threads", report.gpu, report.threads);
    say!("bake  {:.3} s per million posts ({} posts)", report.bake_s_per_million_posts, report.posts);
    say!("frame {} x {}, milliseconds (median)", report.size.0, report.size.1);
    say!("{:32} {:>8} {:>8} {:>10} {:>10}", "camera", "first", "draw", "draw+read", "triangles");
    for row in &report.cameras {
        say!(
            "{:32} {:8.1} {:8.1} {:10.1} {:10}",
            row.camera,
            row.first_ms,
            row.draw_ms,
            row.draw_and_read_ms,
            row.triangles
        );
    }
}
