//! A session's edits over what a stage says.

use super::{History, SessionFiles};
use crate::Failure;
use std::collections::BTreeMap;
use std::path::PathBuf;
use terrane_core::look::Authored;
use terrane_core::{Diagnostic, ParamValue, Place};
use terrane_stage::SiteSpec;
use terrane_stage::spec::{TerrainLayer, TerrainSpec};
use terrane_surface::EditSpec;

/// Puts the session's edits into what was read of its stage, stronger than the
/// stage's own. Returns the session's log when there is one.
pub(crate) fn compose(spec: &mut SiteSpec, files: &SessionFiles) -> Result<Option<PathBuf>, Failure> {
    let Some((start, commands)) = files.kept()? else { return Ok(None) };
    let Some(terrain) = spec.terrains.iter_mut().find(|terrain| terrain.prim == start.terrain) else {
        let warning = Diagnostic::warning("session-elsewhere", "session has no effect")
            .with_place(Place::file(files.log.display().to_string()))
            .with_detail(format!("it edits {}, which is no terrain of the stage", start.terrain))
            .with_help("`terrane edits <stage> --clear` ends the session");
        spec.diagnostics.push(warning);
        return Ok(None);
    };
    let authored = edits_of(terrain);
    let history = History::resumed(start, authored, commands).map_err(|error| files.at_log(*error))?;
    let removed = history.removed();
    terrain.layers.iter_mut().filter(|layer| removed.contains(&layer.prim)).for_each(|layer| layer.enabled = false);
    for own in history.edits() {
        let layer = layer(&own.prim, &own.edit);
        match terrain.layers.iter_mut().find(|layer| layer.prim == own.prim) {
            Some(authored) => *authored = layer,
            None => terrain.layers.push(layer),
        }
    }
    Ok(Some(files.log.clone()))
}

fn edits_of(terrain: &TerrainSpec) -> Vec<String> {
    let edits = terrain.layers.iter().filter(|layer| layer.kind == "edit" && layer.enabled);
    edits.map(|layer| layer.prim.clone()).collect()
}

fn layer(prim: &str, edit: &EditSpec) -> TerrainLayer {
    let param = |name: &str, value: ParamValue| {
        (format!("edit:{name}"), Authored { value, path: format!("{prim}.lunco:edit:{name}") })
    };
    let params = BTreeMap::from([
        param("kind", ParamValue::Text(edit.kind.name().to_owned())),
        param("center", ParamValue::Vector(vec![edit.x_m, edit.z_m])),
        param("radius", ParamValue::Float(edit.radius_m)),
        param("amount", ParamValue::Float(edit.amount)),
    ]);
    TerrainLayer { prim: prim.to_owned(), kind: "edit".to_owned(), enabled: true, params }
}
