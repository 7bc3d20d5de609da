//! A twin: one folder a site, with a manifest `twin.toml`.

use crate::AssetError;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use terrane_core::RasterSettings;

/// The manifest's file name, whose folder is the twin's root.
pub const MANIFEST_NAME: &str = "twin.toml";

/// `twin.toml` as written.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TwinManifest {
    /// Name of the site for people.
    pub name: String,
    /// The stage to open, relative to the twin's root.
    pub stage: String,
    /// Files outside the twin that its owner makes part of it:
    /// address below `twin://` to path on disk (relative to the twin's root).
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub data: BTreeMap<String, String>,
    /// What a raster's own file leaves out, by address below `twin://`.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub rasters: BTreeMap<String, RasterSettings>,
    /// How several DEMs become one surface.
    #[serde(default, skip_serializing_if = "Mosaic::is_default")]
    pub mosaic: Mosaic,
    /// How baked heights are kept.
    #[serde(default, skip_serializing_if = "BakeSettings::is_default")]
    pub bake: BakeSettings,
    /// A recipe for data that is generated on first use instead of measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub synthetic: Option<toml::Value>,
}

/// `[mosaic]`: how several DEMs become one surface.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Mosaic {
    /// Shift each coarser DEM by a constant, the median of its disagreement
    /// with the finer ones along their borders.
    #[serde(default)]
    pub level: bool,
    /// How far outside a finer DEM a coarser one is bent to meet it, in the
    /// coarser one's postings.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub blend_postings: Option<f64>,
}

impl Mosaic {
    fn is_default(&self) -> bool {
        *self == Self::default()
    }
}

/// `[bake]`: how baked heights are kept.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BakeSettings {
    /// Largest distance between a height and what is kept of it, metres; found
    /// from the data when left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub height_error_m: Option<f64>,
    /// Keep heights as 32-bit floats instead.
    #[serde(default)]
    pub lossless: bool,
}

impl BakeSettings {
    fn is_default(&self) -> bool {
        *self == Self::default()
    }
}

/// An open twin: its canonical root and its manifest.
#[derive(Debug, Clone, PartialEq)]
pub struct Twin {
    root: PathBuf,
    manifest: TwinManifest,
}

impl Twin {
    /// Opens the twin in `root`.
    pub fn open(root: &Path) -> Result<Self, AssetError> {
        let file = root.join(MANIFEST_NAME);
        let io = |source| AssetError::Io { path: file.clone(), source };
        let text = std::fs::read_to_string(&file).map_err(io)?;
        let manifest = toml::from_str(&text).map_err(|error| AssetError::Manifest {
            path: file.clone(),
            line: error.span().map(|span| 1 + text[..span.start.min(text.len())].matches('\n').count() as u32),
            message: error.message().to_owned(),
        })?;
        Ok(Self { root: root.canonicalize().map_err(io)?, manifest })
    }

    /// The twin around a stage file: the nearest folder above it that holds a
    /// manifest, if any.
    pub fn around(stage: &Path) -> Result<Option<Self>, AssetError> {
        let Ok(stage) = stage.canonicalize() else { return Ok(None) };
        match stage.ancestors().skip(1).find(|folder| folder.join(MANIFEST_NAME).is_file()) {
            Some(root) => Self::open(root).map(Some),
            None => Ok(None),
        }
    }

    /// The canonical root folder.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// The manifest.
    pub fn manifest(&self) -> &TwinManifest {
        &self.manifest
    }

    /// Addresses that have raster settings but no file: a slip of the pen,
    /// unless the file is still to come.
    pub fn unused_raster_settings(&self) -> Vec<&str> {
        let is_there = |file: PathBuf| file.exists() || file.to_string_lossy().starts_with("/vsi");
        let missing = |address: &&String| !self.resolve_address(address).is_ok_and(is_there);
        self.manifest.rasters.keys().filter(missing).map(String::as_str).collect()
    }

    /// Settings for the raster in `file`, if the manifest has some.
    pub fn raster_settings(&self, file: &Path) -> Option<&RasterSettings> {
        let same = |address: &String| {
            self.resolve_address(address)
                .is_ok_and(|known| known == file || known.canonicalize().is_ok_and(|known| known == file))
        };
        self.manifest.rasters.iter().find(|(address, _)| same(address)).map(|(_, settings)| settings)
    }

    /// True for a file inside the twin, or that its owner makes part of it.
    pub fn may_read(&self, file: &Path) -> bool {
        self.confine(file, "").is_ok()
    }

    /// The file behind an address below `twin://`, whether it exists or not.
    pub(crate) fn resolve_address(&self, address: &str) -> Result<PathBuf, AssetError> {
        if let Some(mapped) = self.manifest.data.get(address) {
            return Ok(self.root.join(mapped));
        }
        self.confine(&self.root.join(address), &format!("twin://{address}"))
    }

    /// Refuses a file outside the root, symbolic links followed. A file that
    /// the manifest names in `data` is inside by its owner's word.
    pub(crate) fn confine(&self, file: &Path, authored: &str) -> Result<PathBuf, AssetError> {
        let escapes = || AssetError::OutsideTwin { authored: authored.to_owned(), root: self.root.clone() };
        let file = lexically_normal(file);
        if !file.starts_with(&self.root) {
            let named = self.manifest.data.values().any(|known| lexically_normal(&self.root.join(known)) == file);
            return if named { Ok(file) } else { Err(escapes()) };
        }
        // The deepest existing ancestor decides: a link in it may lead outside.
        let existing = file.ancestors().find_map(|ancestor| ancestor.canonicalize().ok());
        match existing {
            Some(real) if real.starts_with(&self.root) => Ok(file),
            _ => Err(escapes()),
        }
    }
}

/// Folds `.` and `..` without asking the disk.
pub(crate) fn lexically_normal(path: &Path) -> PathBuf {
    let mut out = PathBuf::new();
    for part in path.components() {
        match part {
            std::path::Component::CurDir => {}
            std::path::Component::ParentDir => {
                if !out.pop() {
                    out.push("..");
                }
            }
            other => out.push(other),
        }
    }
    out
}
