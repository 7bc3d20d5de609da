//! The prims that count, in traversal order.

use crate::composition;
use crate::values::Reading;
use openusd::sdf::{Path, Specifier};
use terrane_core::Diagnostic;

/// Composition of a prim costs its depth, so that a chain costs the square of
/// its length; real scenes stay far below this.
const MAX_DEPTH: usize = 256;

/// An active, defined, non-abstract prim.
pub(crate) struct Node {
    pub path: Path,
    /// `typeName`, empty when there is none.
    pub type_name: String,
    /// Composed property names.
    pub properties: Vec<String>,
}

impl Node {
    pub fn has(&self, property: &str) -> bool {
        self.properties.iter().any(|name| name == property)
    }
}

/// The path of a property, if the name is legal.
pub(crate) fn property(prim: &Path, name: &str) -> Option<Path> {
    prim.append_property(name).ok()
}

/// Every prim of the default traversal, instances followed, parents first,
/// children in composed order.
pub(crate) fn walk(reading: &Reading<'_>) -> Vec<Node> {
    let mut nodes = Vec::new();
    let mut pending = vec![(Path::abs_root(), 0_usize)];
    while let Some((path, depth)) = pending.pop() {
        if depth > MAX_DEPTH {
            let diagnostic = Diagnostic::error("stage-too-deep", format!("prims nest deeper than {MAX_DEPTH}"))
                .with_detail("this prim and what is below it were not read");
            reading.say(diagnostic, path.as_str());
            continue;
        }
        let prim = reading.stage.prim(path.clone());
        if depth > 0 {
            // The cheaper question first.
            if reading.known(prim.specifier(), path.as_str()).flatten() != Some(Specifier::Def)
                || !reading.known(prim.is_active(), path.as_str()).unwrap_or(false)
            {
                continue;
            }
            composition::check_targets(reading, &path);
            let type_name = reading.known(prim.type_name(), path.as_str()).flatten();
            let properties = reading.known(prim.property_names(), path.as_str()).unwrap_or_default();
            nodes.push(Node {
                path: path.clone(),
                type_name: type_name.map(|token| token.as_str().to_owned()).unwrap_or_default(),
                properties: properties.iter().map(|token| token.as_str().to_owned()).collect(),
            });
        }
        let children = reading.known(prim.child_names(), path.as_str()).unwrap_or_default();
        let child = |name: &str| path.append_path(name).ok().map(|path| (path, depth + 1));
        pending.extend(children.iter().rev().filter_map(|name| child(name.as_str())));
    }
    nodes
}
