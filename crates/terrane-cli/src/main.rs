//! The `terrane` command: a thin door to [`terrane_site`].

mod args;
mod drive;
mod edit;
mod print;
mod progress;
mod query;

use args::{Cli, Command, TwinCommand};
use clap::Parser;
use std::process::ExitCode;
use terrane_core::{Diagnostic, Severity};
use terrane_site::edits::Editor;
use terrane_site::export::ExportRequest;
use terrane_site::render::{RenderOptions, render};
use terrane_site::twin::{NewTwin, new_twin};
use terrane_site::{Failure, OpenSite, SiteOptions};

fn main() -> ExitCode {
    terrane_stage::run_reader_child_if_asked();
    give_vulkan_a_runtime_folder();
    let cli = Cli::parse();
    let progress = progress::Bar::new(cli.quiet);
    if let Err(error) = ctrlc::set_handler(progress.canceller()) {
        eprintln!("warning: Ctrl-C stops at once, without tidying up: {error}");
    }
    if let Some(threads) = cli.threads
        && let Err(error) = rayon::ThreadPoolBuilder::new().num_threads(threads).build_global()
    {
        eprintln!("warning: --threads has no effect: {error}");
    }
    let result = run(&cli, &progress);
    progress.finish();
    match result {
        Ok(code) => code,
        Err(failure) => {
            print::to_stderr(&failure.diagnostics);
            ExitCode::FAILURE
        }
    }
}

/// Without XDG_RUNTIME_DIR, as in containers and services, the software Vulkan
/// driver prints an error that means nothing to the user. A process can't
/// safely change its own environment once it has threads, so it starts itself
/// again with the variable set.
fn give_vulkan_a_runtime_folder() {
    use std::os::unix::process::CommandExt;
    const VARIABLE: &str = "XDG_RUNTIME_DIR";
    if std::env::var_os(VARIABLE).is_some() {
        return;
    }
    if let Ok(program) = std::env::current_exe() {
        // Returns only when it fails; then the message is all that is lost.
        let _ = std::process::Command::new(program)
            .args(std::env::args_os().skip(1))
            .env(VARIABLE, std::env::temp_dir())
            .exec();
    }
}

fn options(cli: &Cli) -> SiteOptions {
    SiteOptions {
        library_override: cli.library.clone(),
        cache: cli.cache.clone(),
        time_code: cli.time_code,
        without_session: cli.no_session,
        ..SiteOptions::default()
    }
}

fn open(cli: &Cli, stage: &std::path::Path, progress: &progress::Bar) -> Result<OpenSite, Failure> {
    let site = OpenSite::open(stage, options(cli), progress)?;
    let note = site.session.as_ref().map(|session| {
        Diagnostic::note("session-in-force", "edits of a session are in force")
            .with_place(terrane_core::Place::file(session.display().to_string()))
            .with_help("`terrane edits <stage>` lists them, --no-session leaves them out")
    });
    print::to_stderr(note.as_slice());
    Ok(site)
}

fn run(cli: &Cli, progress: &progress::Bar) -> Result<ExitCode, Failure> {
    match &cli.command {
        Command::Twin { command: TwinCommand::New { name, dem, albedo, raster, copy } } => {
            let has_parent = name.parent().is_some_and(|parent| parent != std::path::Path::new(""));
            let folder = if has_parent { name.clone() } else { std::path::Path::new("twins").join(name) };
            let settings = raster.into();
            let new = NewTwin { folder, dems: dem.clone(), albedo: albedo.clone(), settings, copy: *copy };
            let report = new_twin(&new, progress)?;
            progress.finish();
            if dem.len() > 1 && terrane_core::RasterSettings::from(raster) != terrane_core::RasterSettings::default() {
                let note =
                    terrane_core::Diagnostic::note("raster-options", "raster options are for the first DEM alone")
                        .with_place(terrane_core::Place::file(dem[0].display().to_string()))
                        .with_detail("what the other files leave out is said in twin.toml, under [rasters.\"...\"]");
                print::to_stderr(&[note]);
            }
            print::new_twin(&report);
        }
        Command::Inspect { target, json, .. } if is_archive(target) => {
            let report = terrane_site::archive::inspect_archive(target)?;
            if *json { print::json(&report) } else { print::archive(&report) }
        }
        Command::Inspect { target, raster, statistics, json } if !is_stage(target) => {
            let name = terrane_geo::RasterName::from(target.as_path());
            let report = terrane_site::raster::inspect_raster(&name, &raster.into(), *statistics, progress)?;
            progress.finish();
            if *json {
                print::json(&report)
            } else {
                print::raster(&report)
            }
            print::to_stderr(&report.diagnostics);
            return Ok(code(&report.diagnostics));
        }
        Command::Verify { archive, json } => {
            let found = terrane_site::archive::verify_archive(archive, progress)?;
            progress.finish();
            if *json {
                print::json(&found)
            } else {
                print::verified(archive, &found)
            }
            let diagnostics = terrane_site::archive::fault_diagnostics(archive, &found.faults);
            print::to_stderr(&diagnostics);
            return Ok(code(&diagnostics));
        }
        Command::Inspect { target, json, raster, .. } => {
            if terrane_core::RasterSettings::from(raster) != terrane_core::RasterSettings::default() {
                return Err(terrane_core::Diagnostic::error(
                    "raster-options",
                    "raster options have no effect on a stage",
                )
                .with_place(terrane_core::Place::file(target.display().to_string()))
                .with_detail("what a raster leaves out is said in twin.toml, under [rasters.\"...\"]")
                .into());
            }
            let site = open(cli, target, progress)?;
            let report = terrane_site::inspect::inspect(&site, progress);
            progress.finish();
            if *json {
                print::json(&report)
            } else {
                print::inspect(&report)
            }
            print::to_stderr(&report.diagnostics);
            return Ok(code(&report.diagnostics));
        }
        Command::Bake { stage, json } => {
            let site = open(cli, stage, progress)?;
            let report = terrane_site::bake::bake(&site, progress)?;
            progress.finish();
            print::to_stderr(&site.spec.diagnostics);
            if *json { print::json(&report) } else { print::bake(&report) }
        }
        Command::Export { stage, layer, output, crs, posting, dem, region, cog, sun, sky_radius, json } => {
            let site = open(cli, stage, progress)?;
            let mut options =
                terrane_surface::derived::DerivedOptions { sky_radius_posts: *sky_radius, ..Default::default() };
            if let Some([azimuth_deg, elevation_deg]) = sun.as_deref() {
                let wrong = if layer != "hillshade" {
                    Some(format!("`{layer}` needs no sun; --sun is for hillshade"))
                } else if !(azimuth_deg.is_finite() && (-90.0..=90.0).contains(elevation_deg)) {
                    Some(format!("azimuth {azimuth_deg} and elevation {elevation_deg} degrees are no sun"))
                } else {
                    None
                };
                if let Some(detail) = wrong {
                    return Err(terrane_core::Diagnostic::error("export-sun", "sun can't be used")
                        .with_detail(detail)
                        .with_help("--sun takes azimuth clockwise from grid north, and elevation of -90 to 90 degrees")
                        .into());
                }
                (options.sun_azimuth_deg, options.sun_elevation_deg) = (*azimuth_deg, *elevation_deg);
            }
            let request = ExportRequest {
                layer: layer.clone(),
                output: output.clone(),
                crs: crs.clone(),
                posting_m: *posting,
                dem: dem.clone(),
                region: match region.as_deref() {
                    Some([west, north, east, south]) => {
                        Some(terrane_surface::SiteRect { x_m: [*west, *east], z_m: [*north, *south] })
                    }
                    _ => None,
                },
                cloud_optimized: *cog,
                options,
            };
            let report = terrane_site::export::export(&site, &request, progress)?;
            progress.finish();
            print::to_stderr(&site.spec.diagnostics);
            if *json { print::json(&report) } else { print::export(&report) }
        }
        Command::Render { stage, camera, size, output, samples, pixel_error, fit, set, json } => {
            let site = open(cli, stage, progress)?;
            let set = set.iter().map(|(name, value)| (name.clone(), value.clone())).collect();
            let options = RenderOptions {
                size: *size,
                fit: (*fit).into(),
                pixel_error: *pixel_error,
                samples_per_side: *samples,
                set,
            };
            let (reports, diagnostics) = render(&site, camera, output, options, progress)?;
            progress.finish();
            print::to_stderr(&site.spec.diagnostics);
            print::to_stderr(&diagnostics);
            if *json { print::json(&reports) } else { print::render(&reports) }
        }
        Command::Query { stage, kind, lon_lat, json } => {
            let site = open(cli, stage, progress)?;
            let ground = site.ground(progress)?;
            query::answer(&site, &ground, kind, *lon_lat, *json, progress)?;
        }
        Command::Edit { stage, kind, lon_lat, json } => {
            let mut editor = Editor::open(stage, options(cli), progress)?;
            edit::edit(&mut editor, kind, *lon_lat, *json, progress)?;
        }
        Command::Edits { stage, save, log, clear, json } => {
            let opened = Editor::open(stage, options(cli), progress);
            progress.finish();
            // A session that can't go on can be ended all the same.
            if let (Err(failure), true, None, None) = (&opened, *clear, save, log) {
                Editor::end(stage, options(cli)).map_err(|_| failure.clone())?;
                print::say!("cleared   the session could not be read");
                return Ok(ExitCode::SUCCESS);
            }
            let mut editor = opened?;
            edit::list(&mut editor, save.as_deref(), log.as_deref(), *clear, *json)?;
        }
        Command::Drive(args) => {
            let site = open(cli, &args.stage, progress)?;
            return drive::run(&site, args, progress);
        }
        Command::Bench { stage, size, frames, json } => {
            let site = open(cli, stage, progress)?;
            let report = terrane_site::bench::bench(&site, *size, *frames, progress)?;
            progress.finish();
            if *json { print::json(&report) } else { print::bench(&report) }
        }
        Command::Library { address } => return library(address.as_deref()),
    }
    Ok(ExitCode::SUCCESS)
}

/// Failure when there is an error among them.
fn code(diagnostics: &[Diagnostic]) -> ExitCode {
    let failed = diagnostics.iter().any(|diagnostic| diagnostic.severity == Severity::Error);
    if failed { ExitCode::FAILURE } else { ExitCode::SUCCESS }
}

fn has_extension(path: &std::path::Path, known: &[&str]) -> bool {
    path.extension().is_some_and(|found| known.iter().any(|known| found.eq_ignore_ascii_case(known)))
}

fn is_stage(path: &std::path::Path) -> bool {
    has_extension(path, &["usd", "usda", "usdc", "usdz"])
}

fn is_archive(path: &std::path::Path) -> bool {
    has_extension(path, &["pyramid"])
}

fn library(address: Option<&str>) -> Result<ExitCode, Failure> {
    let files = terrane_assets::library_files();
    match address {
        None => {
            for (address, bytes) in &files {
                print::say!("{address}  {} bytes", bytes.len());
            }
        }
        Some(wanted) => {
            let file = files.iter().find(|(address, _)| address == wanted);
            let (_, bytes) = file.ok_or_else(|| {
                Diagnostic::error("asset-not-in-library", "no such file in the library")
                    .with_detail(format!("`{wanted}`"))
                    .with_help("`terrane library` lists what is built in")
            })?;
            print::say!("{}", String::from_utf8_lossy(bytes).trim_end());
        }
    }
    Ok(ExitCode::SUCCESS)
}
