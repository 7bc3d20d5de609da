//! Opening a stage.

use crate::edits::{self, SessionFiles};
use crate::{Failure, synthetic};
use std::path::{Path, PathBuf};
use terrane_assets::AssetRoots;
use terrane_core::{Diagnostic, Place, Pose, Progress};
use terrane_stage::spec::TerrainSpec;
use terrane_stage::{ConfinedReader, ReadRequest, SiteSpec, read_in_process};

/// Where stages are read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ReaderMode {
    /// In a confined child process of this program, whose `main` has to begin
    /// with [`terrane_stage::run_reader_child_if_asked`].
    #[default]
    Confined,
    /// Here, for embedders who trust their files.
    InProcess,
}

/// How a site is opened.
#[derive(Debug, Clone, Default)]
pub struct SiteOptions {
    /// A folder that overrides the built-in library.
    pub library_override: Option<PathBuf>,
    /// Where baked data is kept; by default `.terrane` in the twin, or in the
    /// user's cache folder for a stage outside any twin.
    pub cache: Option<PathBuf>,
    /// Where the stage is read.
    pub reader: ReaderMode,
    /// Time code to read animated values at.
    pub time_code: Option<f64>,
    /// Leave out the edits of the stage's session ([`crate::edits`]).
    pub without_session: bool,
}

/// A stage that has been read, and the roots that its assets come from.
#[derive(Debug, Clone)]
pub struct OpenSite {
    /// The stage as the user named it.
    pub stage: PathBuf,
    /// What it says.
    pub spec: SiteSpec,
    /// Where assets come from.
    pub roots: AssetRoots,
    /// The log of the session whose edits are in force, when there is one.
    pub session: Option<PathBuf>,
    options: SiteOptions,
}

impl OpenSite {
    /// Reads a stage. A twin that is described by a recipe gets its data first.
    pub fn open(stage: &Path, options: SiteOptions, progress: &dyn Progress) -> Result<Self, Failure> {
        if !stage.is_file() {
            return Err(Diagnostic::error("stage-missing", "stage not found")
                .with_place(Place::file(stage.display().to_string()))
                .with_help("check the path; `terrane twin new` makes a stage for a DEM")
                .into());
        }
        let roots = AssetRoots::for_stage(stage, options.library_override.clone())?;
        synthetic::ensure_generated(&roots, progress)?;
        let request = ReadRequest {
            stage: stage.to_owned(),
            library_override: options.library_override.clone(),
            time_code: options.time_code,
        };
        let mut spec = match options.reader {
            ReaderMode::Confined => ConfinedReader::this_program()?.read(&request)?,
            ReaderMode::InProcess => read_in_process(&request)?,
        };
        let session = match options.without_session {
            true => None,
            false => edits::compose(&mut spec, &SessionFiles::of(stage, &cache_folder(&options, &roots)))?,
        };
        Ok(Self { stage: stage.to_owned(), spec, roots, session, options })
    }

    /// The terrain that the site is about: the first visible one.
    pub fn terrain(&self) -> Result<&TerrainSpec, Failure> {
        Failure::if_any(&self.spec.diagnostics)?;
        let visible = self.spec.terrains.iter().find(|terrain| terrain.visible);
        visible.ok_or_else(|| {
            let found = match self.spec.terrains.len() {
                0 => "no prim has lunco:assetMode = \"layered\"".to_owned(),
                count => format!("{count} terrain prims, none of them visible"),
            };
            self.error("stage-no-terrain", "stage has no terrain", found).into()
        })
    }

    /// The site frame is the terrain's own: this turns world poses into it.
    pub fn site_from_world(&self, terrain: &TerrainSpec) -> Result<Pose, Failure> {
        let matrix = terrain.world_from_terrain;
        let scale = [matrix.x_axis, matrix.y_axis, matrix.z_axis].map(|axis| axis.truncate().length());
        let rigid = scale.iter().all(|length| (length - 1.0).abs() < 1e-6);
        let pose = Pose::from_affine(matrix).filter(|_| rigid).ok_or_else(|| {
            let found = if rigid { "it mirrors".to_owned() } else { format!("its axes scale by {scale:?}") };
            let mut error = self.error("terrain-transform", "terrain's transform is not rigid", found);
            error.place.prim = Some(terrain.prim.clone());
            error.with_help("move and turn a terrain, but do not scale or mirror it")
        })?;
        let rotation = pose.rotation.inverse();
        Ok(Pose { position_m: rotation * -pose.position_m, rotation })
    }

    /// A diagnostic about the stage.
    pub(crate) fn error(&self, code: &str, title: &str, detail: String) -> Diagnostic {
        Diagnostic::error(code, title).with_place(Place::file(self.stage.display().to_string())).with_detail(detail)
    }

    /// The folder that baked data is kept in.
    pub fn cache_folder(&self) -> PathBuf {
        cache_folder(&self.options, &self.roots)
    }
}

/// The folder of baked data of a stage that is not open.
pub(crate) fn cache_folder_of(stage: &Path, options: &SiteOptions) -> Result<PathBuf, Failure> {
    let roots = AssetRoots::for_stage(stage, options.library_override.clone())?;
    Ok(cache_folder(options, &roots))
}

fn cache_folder(options: &SiteOptions, roots: &AssetRoots) -> PathBuf {
    if let Some(folder) = &options.cache {
        return folder.clone();
    }
    if let Some(twin) = &roots.twin {
        return twin.root().join(".terrane");
    }
    let user = std::env::var_os("XDG_CACHE_HOME").map(PathBuf::from);
    let user = user.or_else(|| std::env::var_os("HOME").map(|home| Path::new(&home).join(".cache")));
    user.unwrap_or_else(std::env::temp_dir).join("terrane")
}
