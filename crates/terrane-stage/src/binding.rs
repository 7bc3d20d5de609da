//! Which Material is bound to a prim.
//!
//! UsdShade's rules: purpose `full` before all-purpose; within a purpose the
//! nearest binding wins, unless an ancestor's is `strongerThanDescendants`; at
//! one prim a collection that holds the prim comes before the direct binding.
//! Source: <https://openusd.org/release/api/class_usd_shade_material_binding_a_p_i.html>.

use crate::tree::property;
use crate::values::{Reading, text};
use openusd::sdf::{Path, Value};
use openusd::usd::{Collection, is_collection_api_path};
use terrane_core::Diagnostic;

const BINDING: &str = "material:binding";

/// A binding found on a prim or an ancestor.
struct Binding {
    material: Path,
    relationship: Path,
    stronger: bool,
}

/// Prim path of the Material bound to a prim. A binding that leads nowhere is
/// a message, and no other binding takes its place.
pub(crate) fn bound_material(reading: &Reading<'_>, prim: &Path) -> Option<String> {
    let binding = ["full", ""].iter().find_map(|purpose| winner(reading, prim, purpose))?;
    let target = reading.stage.prim(binding.material.clone());
    let path = binding.relationship.as_str();
    let type_name = reading.known(target.type_name(), path).flatten();
    let problem = if !reading.known(target.is_valid(), path)? {
        "there is no such prim"
    } else if !reading.known(target.is_active(), path)? {
        "it is inactive"
    } else if !reading.known(target.is_defined(), path)? {
        "it is not defined"
    } else if type_name.is_none_or(|name| name.as_str() != "Material") {
        "it is not a Material"
    } else {
        return Some(binding.material.as_str().to_owned());
    };
    let diagnostic = Diagnostic::error("material-missing", "bound material can't be used")
        .with_detail(format!("{} is bound, but {problem}", binding.material.as_str()));
    reading.say(diagnostic, path);
    None
}

fn winner(reading: &Reading<'_>, prim: &Path, purpose: &str) -> Option<Binding> {
    let mut winner: Option<Binding> = None;
    let mut current = Some(prim.clone());
    // From the prim upwards: the first one found stands against weaker ones.
    while let Some(path) = current.filter(|path| !path.is_abs_root()) {
        if let Some(found) = at(reading, &path, prim, purpose)
            && (winner.is_none() || found.stronger)
        {
            winner = Some(found);
        }
        current = path.parent();
    }
    winner
}

fn at(reading: &Reading<'_>, owner: &Path, prim: &Path, purpose: &str) -> Option<Binding> {
    let names = reading.known(reading.stage.prim(owner.clone()).property_names(), owner.as_str())?;
    let collections = names.iter().filter(|name| {
        let parts: Vec<&str> = name.as_str().split(':').collect();
        match parts.as_slice() {
            ["material", "binding", "collection", _] => purpose.is_empty(),
            ["material", "binding", "collection", own, _] => *own == purpose,
            _ => false,
        }
    });
    let by_collection = collections.filter_map(|name| {
        let relationship = property(owner, name.as_str())?;
        let targets = targets(reading, &relationship);
        let [collection, material] = targets.as_slice() else { return None };
        let (holder, name) = is_collection_api_path(collection)?;
        let query = Collection::new(holder, name).compute_membership_query(reading.stage);
        let holds = reading.known(query, relationship.as_str())?.is_path_included(prim);
        holds.then(|| binding(reading, material.clone(), relationship))
    });
    let direct = || {
        let name = if purpose.is_empty() { BINDING.to_owned() } else { format!("{BINDING}:{purpose}") };
        let relationship =
            names.iter().any(|known| known.as_str() == name).then(|| property(owner, &name)).flatten()?;
        let material = targets(reading, &relationship).into_iter().next()?;
        Some(binding(reading, material, relationship))
    };
    by_collection.collect::<Vec<_>>().into_iter().next().or_else(direct)
}

fn targets(reading: &Reading<'_>, relationship: &Path) -> Vec<Path> {
    let handle = reading.stage.relationship(relationship.clone());
    reading.known(handle.forwarded_targets(), relationship.as_str()).unwrap_or_default()
}

fn binding(reading: &Reading<'_>, material: Path, relationship: Path) -> Binding {
    // The metadata accessor of attributes reads fields of any property.
    let strength = reading.stage.attribute(relationship.clone()).get_metadata::<Value>("bindMaterialAs");
    let strength = reading.known(strength, relationship.as_str()).flatten();
    let stronger = strength.as_ref().and_then(text).as_deref() == Some("strongerThanDescendants");
    Binding { material, relationship, stronger }
}
