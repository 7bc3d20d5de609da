//! Raster layers of a terrain: pictures, scalars and classes of any CRS and
//! extent, on the site's grid.

use crate::ground::Ground;
use crate::{Failure, OpenSite};
use serde::Serialize;
use std::path::PathBuf;
use terrane_core::{Diagnostic, ParamValue, Progress};
use terrane_geo::{Footprint, LayerFile, LayerKind, RasterName};
use terrane_stage::spec::TerrainLayer;

/// A layer that was opened, and how it lies to the ground.
#[derive(Debug, Clone)]
pub struct RasterLayerSource {
    /// Prim path.
    pub prim: String,
    /// The raster.
    pub layer: LayerFile,
    /// Against the finest DEM.
    pub footprint: Footprint,
}

/// The same for people and tools.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct RasterLayerReport {
    /// Prim path.
    pub prim: String,
    /// The file.
    pub file: PathBuf,
    /// What its values are.
    pub kind: LayerKind,
    /// Bands, without alpha.
    pub bands: usize,
    /// Classes in its colour table.
    pub classes: usize,
    /// Name of its own CRS.
    pub crs: String,
    /// How it lies to the finest DEM.
    pub footprint: Footprint,
    /// Content key.
    pub key: String,
}

impl RasterLayerSource {
    /// What there is to say of it.
    pub fn report(&self) -> RasterLayerReport {
        RasterLayerReport {
            prim: self.prim.clone(),
            file: self.layer.file.name.as_path().to_owned(),
            kind: self.layer.kind,
            bands: self.layer.bands,
            classes: self.layer.palette.len(),
            crs: self.layer.file.crs.name.clone(),
            footprint: self.footprint.clone(),
            key: self.layer.file.key.to_string(),
        }
    }
}

impl OpenSite {
    /// Opens every enabled raster layer of the terrain. One that does not
    /// overlap the ground is an error that shows both footprints.
    pub fn raster_layers(&self, ground: &Ground, progress: &dyn Progress) -> Result<Vec<RasterLayerSource>, Failure> {
        let layers = self.terrain()?.layers.iter().filter(|layer| layer.kind == "raster" && layer.enabled);
        layers.map(|layer| self.raster_layer(layer, ground, progress)).collect()
    }

    fn raster_layer(
        &self,
        layer: &TerrainLayer,
        ground: &Ground,
        progress: &dyn Progress,
    ) -> Result<RasterLayerSource, Failure> {
        let at_prim = |mut diagnostic: Diagnostic| {
            diagnostic.place.prim = Some(layer.prim.clone());
            diagnostic
        };
        let Some((asset, attribute)) = layer.asset("layer:demSource") else {
            let detail = "lunco:layer:demSource is not authored".to_owned();
            return Err(at_prim(self.error("layer-no-source", "raster layer names no raster", detail)).into());
        };
        let kind = match layer.params.get("layer:mode").map(|mode| &mode.value) {
            None => None,
            Some(ParamValue::Text(mode)) => Some(match mode.as_str() {
                "colour" => LayerKind::Colour,
                "scalar" => LayerKind::Scalar,
                "classes" => LayerKind::Classes,
                other => {
                    let detail = format!("lunco:layer:mode is `{other}`; it is colour, scalar or classes");
                    return Err(at_prim(self.error("layer-mode", "raster layer's mode is unknown", detail)).into());
                }
            }),
            Some(_) => {
                let detail = "lunco:layer:mode is a token: colour, scalar or classes".to_owned();
                return Err(at_prim(self.error("layer-mode", "raster layer's mode is unknown", detail)).into());
            }
        };
        let (file, settings) = self.raster(asset, attribute)?;
        let name = RasterName::from(file.as_path());
        let grid = ground.grid(0);
        let opened = self.with_raster_options(&file, |options| {
            let layer = LayerFile::open(&name, &settings, kind, options, progress)?;
            let footprint = layer.footprint(&ground.crs, grid)?;
            Ok((layer, footprint))
        });
        let (file, footprint) =
            opened.map_err(|error: terrane_geo::GeoError| self.at_attribute(error.diagnostic(), attribute))?;
        Ok(RasterLayerSource { prim: layer.prim.clone(), layer: file, footprint })
    }
}
