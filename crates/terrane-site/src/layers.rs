//! Files behind authored asset paths.

use crate::{Failure, OpenSite};
use std::path::PathBuf;
use terrane_assets::AssetLocation;
use terrane_core::look::AssetRef;
use terrane_core::{Diagnostic, Place, RasterSettings};

/// Code of the message that work was stopped by the user.
const CANCELLED: &str = "cancelled";

impl OpenSite {
    /// The raster file that an attribute names, with the twin's settings for
    /// it. `attribute` is its path, for messages.
    pub(crate) fn raster(&self, asset: &AssetRef, attribute: &str) -> Result<(PathBuf, RasterSettings), Failure> {
        let place = Place {
            file: Some(self.stage.display().to_string()),
            prim: Some(attribute.to_owned()),
            ..Place::default()
        };
        let anchor = (!asset.anchor.is_empty()).then_some(asset.anchor.as_str());
        let location = self
            .roots
            .resolve(&asset.authored, anchor)
            .map_err(|error| error.diagnostic().with_place(place.clone()))?;
        let AssetLocation::File(file) = location else {
            return Err(Diagnostic::error("raster-in-library", "rasters come from files")
                .with_place(place)
                .with_detail(format!("`{}` is built in", asset.authored))
                .into());
        };
        // GDAL's own names are the owner's to give, in twin.toml.
        if !file.is_file() && !file.to_string_lossy().starts_with("/vsi") {
            return Err(Diagnostic::error("raster-missing", "raster not found")
                .with_place(place)
                .with_detail(format!("`{}` resolves to {}, which is no file", asset.authored, file.display()))
                .with_help("check the path, or the entry under [data] in twin.toml")
                .into());
        }
        let settings =
            self.roots.twin.as_ref().and_then(|twin| twin.raster_settings(&file)).cloned().unwrap_or_default();
        Ok((file, settings))
    }

    /// Adds the stage and the attribute to a message about a raster file.
    pub(crate) fn at_attribute(&self, mut diagnostic: Diagnostic, attribute: &str) -> Diagnostic {
        if diagnostic.code == CANCELLED {
            return diagnostic;
        }
        match &diagnostic.place.file {
            Some(_) => {
                let authored = format!("authored in {} at {attribute}", self.stage.display());
                diagnostic.detail =
                    if diagnostic.detail.is_empty() { authored } else { format!("{}\n{authored}", diagnostic.detail) };
            }
            None => {
                diagnostic.place = Place {
                    file: Some(self.stage.display().to_string()),
                    prim: Some(attribute.to_owned()),
                    ..diagnostic.place
                };
            }
        }
        diagnostic
    }
}
