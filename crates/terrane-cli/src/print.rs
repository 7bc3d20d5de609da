//! Reports for people.

use serde::Serialize;
use std::io::Write;
use terrane_core::{Diagnostic, ParamValue};
use terrane_geo::{Footprint, PostGrid};
use terrane_site::archive::ArchiveReport;
use terrane_site::bake::BakeReport;
use terrane_site::bench::BenchReport;
use terrane_site::export::ExportReport;
use terrane_site::inspect::InspectReport;
use terrane_site::query::HeightAnswer;
use terrane_site::raster::RasterReport;
use terrane_site::render::RenderReport;
use terrane_site::twin::NewTwinReport;
use terrane_surface::{EditKind, EditSpec, Shape, Source};
use terrane_tiles::Verified;

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
    match report.height_error_m {
        0.0 => {
            say!("heights as 32-bit floats; the root tile is within {:.3} m of the finest surface", report.root_error_m)
        }
        error_m => say!(
            "heights to {:.3} mm; the root tile is within {:.3} m of the finest surface",
            1000.0 * error_m,
            report.root_error_m
        ),
    }
}

/// A raster.
pub fn raster(report: &RasterReport) {
    let info = &report.info;
    say!("raster {}", report.raster);
    say!("  format     {} {}, {} x {}, {} bands", info.driver, info.pixel_type, info.columns, info.rows, info.bands);
    if let Some(crs) = &info.crs {
        let authority = crs.authority.as_ref().map(|code| format!(" ({code})")).unwrap_or_default();
        let (a, b) = (crs.body.semi_major_m, crs.body.semi_minor_m);
        say!("  CRS        {}{authority}; {}, radii {a} and {b} m", crs.name, crs.body.name);
    }
    if let Some(gt) = info.geotransform {
        say!("  transform  {gt:?}, {}", info.area_or_point.as_deref().unwrap_or("area or point not declared"));
    }
    let nodata = info.nodata.map_or("not declared".to_owned(), |nodata| nodata.to_string());
    let unit = if info.unit.is_empty() { "m (not declared)" } else { &info.unit };
    say!("  values     scale {}, offset {}, unit {unit}, nodata {nodata}", info.scale, info.offset);
    let datum = info.vertical_datum.as_deref().map_or_else(
        || "not declared".to_owned(),
        |datum| format!("{datum}, {}", if info.vertical_datum_applied { "applied" } else { "not applied" }),
    );
    say!("  datum      vertical {datum}; body frame {}", info.body_frame.as_deref().unwrap_or("not declared"));
    let Some(dem) = &report.dem else { return };
    match &dem.statistics {
        Some(found) => {
            let holes = 100.0 * (1.0 - found.valid as f64 / found.posts.max(1) as f64);
            let range = found.range_m.map_or("none".to_owned(), |(low, high)| format!("{low} to {high} m"));
            say!("  heights    {range}, {} posts, {holes:.2} % nodata", found.posts);
        }
        None => {
            let range = dem.sample_range_m.map_or("none".to_owned(), |(low, high)| format!("{low} to {high} m"));
            say!("  heights    {range} in a sample (--statistics counts all)");
        }
    }
    let point = |found: &Option<(f64, f64)>| match found {
        Some((lon, lat)) => format!("{lon:.9} E, {lat:.9} N"),
        None => "off the body".to_owned(),
    };
    say!("  centre     {}", point(&dem.centre_lon_lat_deg));
    for corner in &dem.corners_lon_lat_deg {
        say!("  corner     {}", point(corner));
    }
    match &dem.why_resampled {
        None => say!("  placed     as it is: {} m posts", dem.grid.posting_m),
        Some(why) => {
            let PostGrid { columns, rows, posting_m, .. } = dem.grid;
            say!(
                "  placed     resampled once to {}: {columns} x {rows} posts, {posting_m} m apart",
                dem.map_frame.name
            );
            say!("             since {why}");
        }
    }
}

/// An exported layer.
pub fn export(report: &ExportReport) {
    let unit = if report.unit.is_empty() { String::new() } else { format!(" ({})", report.unit) };
    say!("{}: {}{unit}, {} x {} posts", report.file.display(), report.layer, report.columns, report.rows);
    let PostGrid { columns, rows, posting_m, .. } = report.computed_on;
    say!("  CRS {}; computed on {columns} x {rows} posts, {posting_m} m apart", report.crs);
    say!("  {}", report.description);
}

/// An archive.
pub fn archive(report: &ArchiveReport) {
    say!("archive {}", report.archive);
    say!("  key        {}", report.key);
    say!("  size       {:.1} MiB", report.bytes as f64 / (1 << 20) as f64);
    match report.height_error_m {
        0.0 => say!("  heights    32-bit floats as they are, relative to site y {} m", report.reference_m),
        error_m => say!("  heights    to {:.3} mm, relative to site y {} m", 1000.0 * error_m, report.reference_m),
    }
    say!("  corner     site x {} m, z {} m", report.corner_m[0], report.corner_m[1]);
    say!("  level  posting m   tiles  with holes   error m    low m      high m");
    for level in &report.levels {
        say!(
            "  {:5}  {:9}  {:6}  {:10}  {:8.3}  {:9.3}  {:9.3}",
            level.level,
            level.posting_m,
            level.tiles,
            level.with_holes,
            level.error_m,
            level.heights_m.0,
            level.heights_m.1
        );
    }
    for map in &report.maps {
        say!("  site map {}: {} x {} posts, {} m apart", map.name, map.columns, map.rows, map.posting_m);
    }
}

/// What verifying an archive found.
pub fn verified(path: &std::path::Path, found: &Verified) {
    say!(
        "{}: {} tiles read, {} borders compared, {} posts compared with the levels above",
        path.display(),
        found.tiles,
        found.borders,
        found.compared_posts
    );
    match found.faults.len() {
        0 => say!("everything is as it says"),
        1 => say!("1 fault"),
        count => say!("{count} faults"),
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
    let origin = match ground.origin {
        Source::Measured => String::new(),
        Source::Edited => ", edited".to_owned(),
        other => format!(", {} and not measured", origin(other)),
    };
    say!("source    {}{origin}; drawn with posts {} m apart", ground.source, ground.posting_m);
    if !ground.shaped_by.is_empty() {
        say!("shaped by {}", ground.shaped_by.join(", "));
    }
    if ground.class != 0 {
        say!("class     {}, painted", ground.class);
    }
}

/// What a height is, in a word.
pub fn origin(origin: Source) -> &'static str {
    match origin {
        Source::Measured => "measured",
        Source::Filled => "filled",
        Source::Synthesised => "synthesised",
        Source::Edited => "edited",
    }
}

fn shape(shape: &Shape) -> String {
    match shape {
        Shape::Crater(c) => {
            format!("crater of {} m at {}, {}, {:.3} m deep", c.diameter_m, c.x_m, c.z_m, c.depth_ratio * c.diameter_m)
        }
        Shape::Craters(p) => {
            let [low_m, high_m] = p.diameter_m;
            let (width_m, height_m) = p.region.size_m();
            format!("{:.0} craters of {low_m} to {high_m} m in {width_m} x {height_m} m, seed {}", p.count(), p.seed)
        }
        Shape::Overzoom(o) => format!(
            "synthesised detail of {} to {} m, at most {} m high, seed {}",
            o.min_feature_m, o.max_feature_m, o.amplitude_m, o.seed
        ),
        Shape::Edit(e) => edit(e),
    }
}

/// An edit in a line.
pub fn edit(edit: &EditSpec) -> String {
    let amount = match edit.kind {
        EditKind::Brush => format!(", {} m up in the middle", edit.amount),
        EditKind::Flatten => format!(", {} m above the height found in the middle", edit.amount),
        EditKind::Crater if edit.amount == 0.0 => ", depth as published".to_owned(),
        EditKind::Crater => format!(", {} m deep", edit.amount),
        EditKind::Smooth if edit.amount == 0.0 => ", over a quarter of it".to_owned(),
        EditKind::Smooth => format!(", over {} m", edit.amount),
        EditKind::Hole => String::new(),
        EditKind::Paint => format!(", class {}", edit.amount),
    };
    format!("{} at {}, {}, radius {} m{amount}", edit.kind.name(), edit.x_m, edit.z_m, edit.radius_m)
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
            match (dem.heights_m, dem.nodata_share) {
                (Some((low, high)), Some(share)) => {
                    say!("    heights {low:.3} to {high:.3} m, {:.2} % nodata", 100.0 * share);
                }
                (Some((low, high)), None) => say!("    heights about {low:.3} to {high:.3} m, from a sample"),
                (None, _) => say!("    no heights found"),
            }
            if let Some(why) = &dem.why_resampled {
                say!("    resampled: {why}");
            }
            if dem.shift_m != 0.0 {
                say!("    shifted by {:.3} m to meet the finer DEMs", dem.shift_m);
            }
            let datum = dem.vertical_datum.as_deref().map_or_else(
                || "not declared".to_owned(),
                |datum| format!("{datum}, {}", if dem.vertical_datum_applied { "applied" } else { "not applied" }),
            );
            let unit = if dem.unit.is_empty() { "m (not declared)" } else { &dem.unit };
            let frame = dem.body_frame.as_deref().unwrap_or("not declared");
            say!("    vertical datum {datum}; unit {unit}; body frame {frame}");
            if dem.scale_offset != (1.0, 0.0) {
                say!("    scale {}, offset {}", dem.scale_offset.0, dem.scale_offset.1);
            }
        }
    }
    if let Some(ground) = &report.ground {
        if let Some(base) = &ground.level_base {
            let ((columns, rows), (width_m, height_m)) = (base.posts, base.extent.size_m());
            say!("  level base {width_m} x {height_m} m, {columns} x {rows} posts, {} m apart", base.posting_m);
        }
        for modifier in &ground.modifiers {
            say!("  shaped by  {}  {}", modifier.prim, shape(&modifier.shape));
        }
        if !ground.modifiers.is_empty() {
            say!("  finest     posts {} m apart, where layers need them", ground.finest_posting_m);
        }
        for found in &ground.disagreements {
            let name = |dem: usize| ground.dems.get(dem).map_or("?", |dem| dem.prim.as_str());
            say!("  border of {} against {}: {} posts", name(found.finer), name(found.coarser), found.posts);
            say!(
                "    finer minus coarser: median {:.3} m, {:.3} to {:.3} m, spread {:.3} m; joined over {} postings outside",
                found.median_m,
                found.min_m,
                found.max_m,
                found.spread_m,
                ground.blend_postings
            );
        }
    }
    for layer in &report.layers_over_ground {
        say!("layer {}  {}", layer.prim, layer.file.display());
        let kind = format!("{:?}", layer.kind).to_lowercase();
        say!("    {kind}, {} bands, {} classes, CRS {}", layer.bands, layer.classes, layer.crs);
        let Footprint { covered_share, inside_share, .. } = layer.footprint;
        say!(
            "    covers {:.1} % of the finest DEM; {:.1} % of it lies on that",
            100.0 * covered_share,
            100.0 * inside_share
        );
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
