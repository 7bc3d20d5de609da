//! From an authored asset path to a place that can be read.

use crate::library::{built_in, library_path};
use crate::twin::{Twin, lexically_normal};
use std::path::{Path, PathBuf};

/// Whole files larger than this are not read into memory; rasters go another way.
const MAX_READ_BYTES: u64 = 256 << 20;

/// Where an asset is.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum AssetLocation {
    /// A built-in file, by its path in the library.
    Library(String),
    /// A file on disk; it may not exist.
    File(PathBuf),
}

impl AssetLocation {
    /// The identifier that a layer or module at this place is known by, to
    /// which relative paths are anchored.
    pub fn identifier(&self) -> String {
        match self {
            Self::Library(path) => format!("lunco://{path}"),
            Self::File(path) => path.display().to_string(),
        }
    }

    /// The file on disk, or `None` for a built-in file.
    pub fn as_file(&self) -> Option<&Path> {
        match self {
            Self::Library(_) => None,
            Self::File(path) => Some(path),
        }
    }
}

/// Why an asset can't be had.
#[derive(Debug, thiserror::Error)]
pub enum AssetError {
    /// The library has no such file.
    #[error("the library has no file `{authored}`")]
    NotInLibrary {
        /// The authored address.
        authored: String,
    },
    /// A `twin://` address, but no twin is open.
    #[error(
        "`{authored}` is inside a twin, but the stage does not lie in one (no {} in its folder or above)",
        crate::MANIFEST_NAME
    )]
    NoTwin {
        /// The authored address.
        authored: String,
    },
    /// The path leads out of the open twin.
    #[error("`{authored}` leads out of the twin {}", root.display())]
    OutsideTwin {
        /// The authored path.
        authored: String,
        /// The twin's root.
        root: PathBuf,
    },
    /// The path leads out of the library.
    #[error("`{authored}` leads out of the library")]
    OutsideLibrary {
        /// The authored path.
        authored: String,
    },
    /// An address of a scheme that nobody resolves.
    #[error("`{authored}` has an unknown scheme; known are lunco:// and twin://")]
    UnknownScheme {
        /// The authored address.
        authored: String,
    },
    /// A file could not be read.
    #[error("{}: {source}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// `twin.toml` does not parse.
    #[error("{}: {message}", path.display())]
    Manifest {
        /// The manifest.
        path: PathBuf,
        /// One-based line.
        line: Option<u32>,
        /// What is wrong.
        message: String,
    },
}

/// The roots that assets of one open stage may come from.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct AssetRoots {
    /// Looked into before the compiled-in library: `lunco://shaders/a.wesl` is
    /// `<folder>/shaders/a.wesl`, `lunco://scenes/b.usda` is
    /// `<folder>/stages/b.usda` or `<folder>/scenes/b.usda`.
    pub library_override: Option<PathBuf>,
    /// The open twin.
    pub twin: Option<Twin>,
}

impl AssetRoots {
    /// The roots for a stage file: the twin around it, and the folder that
    /// overrides the library, if any.
    pub fn for_stage(stage: &Path, library_override: Option<PathBuf>) -> Result<Self, AssetError> {
        if let Some(folder) = library_override.as_ref().filter(|folder| !folder.is_dir()) {
            let source = std::io::Error::new(std::io::ErrorKind::NotADirectory, "the library's folder is no folder");
            return Err(AssetError::Io { path: folder.clone(), source });
        }
        Ok(Self { library_override, twin: Twin::around(stage)? })
    }

    /// Resolves an authored path. `anchor` is the identifier of the layer that
    /// authored it, to which a relative path belongs; without one, a relative
    /// path is taken from the working folder.
    ///
    /// The result need not exist (except in the library): whoever opens it
    /// reports that in its own words.
    pub fn resolve(&self, authored: &str, anchor: Option<&str>) -> Result<AssetLocation, AssetError> {
        let portable = authored.replace('\\', "/");
        if let Some(address) = portable.strip_prefix("lunco://") {
            return self.in_library(&lexically_normal(Path::new(address)), authored);
        }
        if let Some(address) = portable.strip_prefix("twin://") {
            let twin = self.twin.as_ref().ok_or_else(|| AssetError::NoTwin { authored: authored.to_owned() })?;
            return twin.resolve_address(address.trim_start_matches('/')).map(AssetLocation::File);
        }
        if portable.split_once("://").is_some_and(|(scheme, _)| scheme.chars().all(|c| c.is_ascii_alphanumeric())) {
            return Err(AssetError::UnknownScheme { authored: authored.to_owned() });
        }
        if let Some(anchor) = anchor.and_then(|anchor| anchor.strip_prefix("lunco://")) {
            let folder = Path::new(anchor).parent().unwrap_or(Path::new(""));
            return self.in_library(&lexically_normal(&folder.join(&portable)), authored);
        }
        let folder = match anchor {
            Some(anchor) => match anchor.strip_prefix("twin://") {
                Some(_) => return self.resolve_beside_twin_layer(&portable, anchor, authored),
                None => Path::new(anchor).parent().unwrap_or(Path::new("")).to_path_buf(),
            },
            None => PathBuf::new(),
        };
        let file = folder.join(&portable);
        match &self.twin {
            Some(twin) => twin.confine(&file, authored).map(AssetLocation::File),
            None => Ok(AssetLocation::File(lexically_normal(&file))),
        }
    }

    /// The bytes of an asset.
    pub fn read(&self, location: &AssetLocation) -> Result<Vec<u8>, AssetError> {
        match location {
            AssetLocation::Library(path) => built_in(path)
                .map(<[u8]>::to_vec)
                .ok_or_else(|| AssetError::NotInLibrary { authored: format!("lunco://{path}") }),
            AssetLocation::File(path) => {
                let io = |source| AssetError::Io { path: path.clone(), source };
                let file = std::fs::metadata(path).map_err(io)?;
                if !file.is_file() || file.len() > MAX_READ_BYTES {
                    let message = format!("not a file of at most {MAX_READ_BYTES} bytes");
                    return Err(io(std::io::Error::new(std::io::ErrorKind::InvalidInput, message)));
                }
                std::fs::read(path).map_err(io)
            }
        }
    }

    fn in_library(&self, address: &Path, authored: &str) -> Result<AssetLocation, AssetError> {
        let outside = || AssetError::OutsideLibrary { authored: authored.to_owned() };
        if address.is_absolute() || address.starts_with("..") {
            return Err(outside());
        }
        let address = address.to_string_lossy().replace('\\', "/");
        let path = library_path(&address);
        if let Some(folder) = &self.library_override {
            for candidate in [folder.join(&path), folder.join(&address)] {
                if candidate.is_file() {
                    let inside = |root: &Path| candidate.canonicalize().is_ok_and(|real| real.starts_with(root));
                    return match folder.canonicalize() {
                        Ok(root) if inside(&root) => Ok(AssetLocation::File(candidate)),
                        _ => Err(outside()),
                    };
                }
            }
        }
        match built_in(&path) {
            Some(_) => Ok(AssetLocation::Library(path)),
            None => Err(AssetError::NotInLibrary { authored: authored.to_owned() }),
        }
    }

    fn resolve_beside_twin_layer(&self, path: &str, anchor: &str, authored: &str) -> Result<AssetLocation, AssetError> {
        let layer = self.resolve(anchor, None)?;
        self.resolve(path, Some(&layer.identifier())).map_err(|error| match error {
            AssetError::OutsideTwin { root, .. } => AssetError::OutsideTwin { authored: authored.to_owned(), root },
            other => other,
        })
    }
}

impl AssetError {
    /// The message for a person.
    pub fn diagnostic(&self) -> terrane_core::Diagnostic {
        use terrane_core::{Diagnostic, Place};
        let (code, help) = match self {
            Self::NotInLibrary { .. } => ("asset-not-in-library", "`terrane library` lists what is built in"),
            Self::NoTwin { .. } => {
                ("asset-no-twin", "make one with `terrane twin new`, or author a path relative to the layer")
            }
            Self::OutsideTwin { .. } => {
                ("asset-outside-twin", "copy the file into the twin, or name it under [data] in twin.toml")
            }
            Self::OutsideLibrary { .. } => ("asset-outside-library", ""),
            Self::UnknownScheme { .. } => ("asset-unknown-scheme", ""),
            Self::Io { .. } => ("file-unreadable", ""),
            Self::Manifest { .. } => ("twin-manifest", ""),
        };
        let diagnostic = match self {
            Self::Manifest { path, line, message } => {
                let place = Place::file(path.display().to_string());
                let place = line.map_or(place.clone(), |line| place.at(line, None));
                Diagnostic::error(code, "twin manifest does not parse").with_place(place).with_detail(message.clone())
            }
            Self::OutsideTwin { .. } => {
                Diagnostic::error(code, "asset path leads out of the twin").with_detail(self.to_string())
            }
            _ => Diagnostic::error(code, "asset not found").with_detail(self.to_string()),
        };
        diagnostic.with_help(help)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn twin() -> (tempfile::TempDir, AssetRoots) {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().join("site");
        std::fs::create_dir_all(root.join("data")).unwrap();
        std::fs::write(
            root.join("twin.toml"),
            "name = \"Site\"\nstage = \"site.usda\"\n[data]\n\"data/far.tif\" = \"../far.tif\"\n",
        )
        .unwrap();
        std::fs::write(root.join("site.usda"), "#usda 1.0\n").unwrap();
        std::fs::write(folder.path().join("secret.tif"), "x").unwrap();
        let roots = AssetRoots::for_stage(&root.join("site.usda"), None).unwrap();
        (folder, roots)
    }

    #[test]
    fn a_twin_address_resolves_inside_the_twin_only() {
        let (_folder, roots) = twin();
        let root = roots.twin.as_ref().unwrap().root().to_path_buf();
        let found = roots.resolve("twin://data/dem.tif", None).unwrap();
        assert_eq!(found, AssetLocation::File(root.join("data/dem.tif")));
        for path in ["twin://../secret.tif", "twin://data/../../secret.tif", "../secret.tif", "/etc/hostname"] {
            let anchor = root.join("site.usda").display().to_string();
            let error = roots.resolve(path, Some(&anchor)).unwrap_err();
            assert!(matches!(error, AssetError::OutsideTwin { .. }), "{path}: {error}");
        }
    }

    #[test]
    fn a_symbolic_link_does_not_lead_out_of_the_twin() {
        let (folder, roots) = twin();
        let root = roots.twin.as_ref().unwrap().root().to_path_buf();
        std::os::unix::fs::symlink(folder.path(), root.join("data/up")).unwrap();
        let error = roots.resolve("twin://data/up/secret.tif", None).unwrap_err();
        assert!(matches!(error, AssetError::OutsideTwin { .. }), "{error}");
    }

    #[test]
    fn a_file_that_the_owner_names_is_part_of_the_twin() {
        let (_folder, roots) = twin();
        let found = roots.resolve("twin://data/far.tif", None).unwrap();
        assert!(found.as_file().unwrap().ends_with("../far.tif"));
    }

    #[test]
    fn the_library_can_be_overridden_but_not_left() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(folder.path().join("lighting")).unwrap();
        std::fs::write(folder.path().join("lighting/own.usda"), "x").unwrap();
        let roots = AssetRoots { library_override: Some(folder.path().to_path_buf()), twin: None };
        assert!(roots.resolve("lunco://lighting/own.usda", None).unwrap().as_file().is_some());
        assert!(matches!(roots.resolve("lunco://../x", None), Err(AssetError::OutsideLibrary { .. })));
        assert!(matches!(roots.resolve("lunco://shaders/none.wesl", None), Err(AssetError::NotInLibrary { .. })));
    }

    #[test]
    fn a_relative_path_belongs_to_the_layer_that_authored_it() {
        let roots = AssetRoots::default();
        let found = roots.resolve("../maps/a.png", Some("/sites/a/stage.usda")).unwrap();
        assert_eq!(found, AssetLocation::File("/sites/maps/a.png".into()));
        let windows = roots.resolve(".\\maps\\a.png", Some("/sites/a/stage.usda")).unwrap();
        assert_eq!(windows, AssetLocation::File("/sites/a/maps/a.png".into()));
    }
}
