//! From a stage file to a [`SiteSpec`].

use crate::composition;
use crate::resolver::StageResolver;
use crate::spec::SiteSpec;
use crate::values::Reading;
use crate::xform::World;
use crate::{StageError, cameras, lights, materials, site, terrain, tree};
use openusd::ar::Resolver;
use openusd::usd::{InitialLoadSet, Stage};
use serde::{Deserialize, Serialize};
use std::cell::RefCell;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use terrane_assets::AssetRoots;
use terrane_core::Diagnostic;

/// Composition recurses along references and namespace.
const STACK_BYTES: usize = 256 << 20;

/// What to read.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ReadRequest {
    /// The stage file (usda, usdc, usd or usdz).
    pub stage: PathBuf,
    /// A folder that overrides the built-in `lunco://` library.
    pub library_override: Option<PathBuf>,
    /// Time code to read animated values at. `None` reads default values, and
    /// the first sample where there is no default.
    pub time_code: Option<f64>,
}

impl ReadRequest {
    /// A stage at its default time with the built-in library.
    pub fn new(stage: impl Into<PathBuf>) -> Self {
        Self { stage: stage.into(), library_override: None, time_code: None }
    }
}

/// Reads a stage in this process, on a thread of its own.
///
/// For embedders who trust their files: a damaged stage may make the USD
/// library run without end, use all memory or abort the process. A panic is
/// turned into an error. Others use [`ConfinedReader`](crate::ConfinedReader).
pub fn read_in_process(request: &ReadRequest) -> Result<SiteSpec, StageError> {
    let owned = request.clone();
    let failed = |message: String| StageError::Failed { file: request.stage.clone(), message };
    let thread = std::thread::Builder::new()
        .name("stage-reader".into())
        .stack_size(STACK_BYTES)
        .spawn(move || read(&owned))
        .map_err(|error| failed(format!("no thread to read on: {error}")))?;
    thread.join().unwrap_or_else(|panic| {
        let said = panic.downcast_ref::<String>().cloned();
        let said = said.or_else(|| panic.downcast_ref::<&str>().map(|&said| said.to_owned()));
        Err(failed(format!("the USD library panicked: {}", said.unwrap_or_default())))
    })
}

fn read(request: &ReadRequest) -> Result<SiteSpec, StageError> {
    let file = canonical_file(&request.stage)?;
    let resolver = StageResolver::new(AssetRoots::for_stage(&file, request.library_override.clone())?);
    let identifier = resolver.create_identifier(&file.to_string_lossy(), None);
    let shown = request.stage.display().to_string();
    let stage = Stage::builder()
        .resolver(resolver.clone())
        .load(InitialLoadSet::LoadAll)
        .open(&identifier)
        .map_err(|error| open_error(&resolver, request, &identifier, &format!("{error:#}")))?;

    let reading = Reading {
        stage: &stage,
        time: request.time_code.filter(|time| time.is_finite()),
        file: shown.clone(),
        root_layer: identifier,
        diagnostics: RefCell::default(),
    };
    let axes = site::axes(&reading);
    let nodes = tree::walk(&reading);
    let world = World::new(&reading, axes, &nodes);
    let looks = materials::read(&reading, &nodes);
    let look_paths: BTreeSet<String> = looks.keys().cloned().collect();
    let mut spec = SiteSpec {
        stage: shown,
        layers: Vec::new(),
        up_axis: if axes.z_up { "Z" } else { "Y" }.to_owned(),
        meters_per_unit: axes.meters_per_unit,
        prim_count: nodes.len(),
        anchor: site::anchor(&reading, &nodes),
        epoch_jd: site::epoch_jd(&reading, &nodes),
        gravity_m_s2: site::gravity_m_s2(&reading, &nodes, axes),
        terrains: terrain::read(&reading, &world, &nodes, &look_paths),
        looks,
        cameras: cameras::read(&reading, &world, &nodes),
        lights: lights::read(&reading, &world, &nodes),
        diagnostics: Vec::new(),
    };
    // Layers load as prims are composed, so both are known only now.
    spec.layers = stage.layer_identifiers();
    spec.layers.sort();
    spec.layers.dedup();
    site::check_layers(&reading, axes, &spec.layers);
    let composed =
        stage.composition_errors().into_iter().filter_map(|error| composition::diagnostic(&resolver, &error));
    spec.diagnostics = ordered(composed.chain(reading.diagnostics.take()));
    Ok(spec)
}

/// Each message once, the worst first, then by place.
fn ordered(diagnostics: impl Iterator<Item = Diagnostic>) -> Vec<Diagnostic> {
    let mut all: Vec<Diagnostic> = diagnostics.collect();
    all.sort_by(|a, b| {
        let key = |d: &Diagnostic| (d.place.prim.clone(), d.place.file.clone(), d.code.clone(), d.title.clone());
        b.severity.cmp(&a.severity).then_with(|| key(a).cmp(&key(b))).then_with(|| a.detail.cmp(&b.detail))
    });
    all.dedup();
    all
}

fn canonical_file(stage: &Path) -> Result<PathBuf, StageError> {
    let unreadable = |reason: String| StageError::Unreadable { file: stage.to_path_buf(), reason };
    let file = stage.canonicalize().map_err(|error| unreadable(error.to_string()))?;
    if file.is_file() { Ok(file) } else { Err(unreadable("it is not a file".into())) }
}

fn open_error(resolver: &StageResolver, request: &ReadRequest, identifier: &str, said: &str) -> StageError {
    let file = request.stage.display().to_string();
    match composition::layer_fault(resolver, identifier) {
        Some(fault) => {
            StageError::Parse { file, line: Some(fault.line), column: Some(fault.column), message: fault.message }
        }
        None => StageError::Parse { file, line: None, column: None, message: said.to_owned() },
    }
}
