//! What composition has to say, as messages for a person.

use crate::layer_text::find_fault;
use crate::resolver::{StageResolver, is_layer};
use crate::scan::TextFault;
use crate::values::Reading;
use openusd::ar::Resolver;
use openusd::pcp::{self, ArcType};
use openusd::sdf::Path;
use terrane_assets::AssetError;
use terrane_core::{Diagnostic, Place};

/// The place of what is wrong in a layer's text.
pub(crate) fn layer_fault(resolver: &StageResolver, identifier: &str) -> Option<TextFault> {
    let resolved = resolver.resolve(identifier)?.to_string_lossy().into_owned();
    if let Some(fault) = resolver.log().fault(&resolved) {
        return Some(fault.clone());
    }
    if !is_layer(&resolved) {
        return None;
    }
    find_fault(&resolver.bytes(&resolved).ok()?)
}

/// One composition error as a message.
pub(crate) fn diagnostic(resolver: &StageResolver, error: &pcp::Error) -> Option<Diagnostic> {
    use pcp::Error as E;
    Some(match error {
        // `check_targets` finds these and more.
        E::UnresolvedPrimPath { .. } => return None,
        E::UnresolvedLayer { asset_path, arc, introduced_by, site_path } => {
            missing(resolver, asset_path, arc_name(*arc), Some(introduced_by), site_path.as_str())
        }
        E::UnresolvedSublayer { asset_path, introduced_by } => {
            missing(resolver, asset_path, "sublayer", Some(introduced_by), "")
        }
        E::MalformedLayer { asset_path, arc, introduced_by, site_path, reason } => {
            malformed(resolver, asset_path, arc_name(*arc), introduced_by, site_path.as_str(), reason)
        }
        E::MalformedSublayer { asset_path, introduced_by, reason } => {
            malformed(resolver, asset_path, "sublayer", introduced_by, "", reason)
        }
        E::ArcCycle(chain) => {
            let hops =
                chain.hops.iter().map(|hop| format!("{} <{}> in {}", arc_name(hop.arc), hop.path.as_str(), hop.layer));
            let detail: Vec<String> = hops.collect();
            Diagnostic::error("reference-cycle", "prims reference each other in a circle")
                .with_place(place(Some(&chain.root_layer), chain.composing.as_str()))
                .with_detail(detail.join("\n"))
                .with_help("the last of these was left out")
        }
        E::SublayerCycle { root_layer, seen_layer } => {
            Diagnostic::error("reference-cycle", "layers include each other in a circle")
                .with_place(place(Some(root_layer), ""))
                .with_detail(format!("it includes {seen_layer}, which is already being read"))
        }
        E::MissingDefaultPrim { layer_id, arc, site_path } | E::InvalidDefaultPrim { layer_id, arc, site_path } => {
            Diagnostic::error("default-prim-missing", format!("{} names no prim", arc_name(*arc)))
                .with_place(place(None, site_path.as_str()))
                .with_detail(format!("{layer_id} has no usable defaultPrim"))
                .with_help("name a prim: @layer@</Prim>")
        }
        other => Diagnostic::warning("composition", "composition problem").with_detail(other.to_string()),
    })
}

/// References and payloads of a prim that name a prim which is not there.
/// openusd 0.6.0 leaves most of them out without a word.
pub(crate) fn check_targets(reading: &Reading<'_>, prim: &Path) {
    let graph = reading.stage.prim(prim.clone()).prim_index().graph();
    let Some(index) = reading.known(graph, prim.as_str()) else { return };
    let parent = |node: &pcp::Node| node.parent().map(|parent| index.node(parent));
    // Arcs of ancestors were checked there: their nodes have moved on to a
    // child's path, below the depth at which the arc was written.
    let is_own_arc = |node: &pcp::Node| {
        matches!(node.arc(), ArcType::Reference | ArcType::Payload)
            && parent(node).is_some_and(|by| by.path().prim_element_count() == usize::from(node.namespace_depth()))
    };
    let is_new = |node: &&pcp::Node| is_own_arc(node) && parent(node).is_some_and(pcp::Node::has_specs);
    for node in index.all_nodes().filter(is_new) {
        // What the target composes from elsewhere makes it exist as well.
        let mut pending = vec![node];
        let mut exists = false;
        while let Some(node) = pending.pop() {
            exists |= node.has_specs();
            pending.extend(node.children().iter().map(|&child| index.node(child)));
        }
        if !exists {
            let layer = reading.stage.layer_identifier(node.layer_id()).unwrap_or_default();
            let title = format!("{} names a prim that is not there", arc_name(node.arc()));
            let diagnostic = Diagnostic::error("reference-prim-missing", title);
            let detail = format!("{layer} has no prim {}", node.path().as_str());
            reading.say(diagnostic.with_detail(detail), prim.as_str());
        }
    }
}

fn arc_name(arc: ArcType) -> &'static str {
    match arc {
        ArcType::Root => "layer",
        ArcType::Inherit => "inherit",
        ArcType::Variant => "variant",
        ArcType::Relocate => "relocate",
        ArcType::Reference => "reference",
        ArcType::Payload => "payload",
        ArcType::Specialize => "specialize",
    }
}

fn place(file: Option<&str>, prim: &str) -> Place {
    let prim = (!prim.is_empty()).then(|| prim.to_owned());
    Place { file: file.map(str::to_owned), prim, ..Place::default() }
}

/// What was authored for an identifier, and why it can't be had.
fn missing(resolver: &StageResolver, identifier: &str, arc: &str, by: Option<&str>, site: &str) -> Diagnostic {
    let log = resolver.log();
    let mut attempt = log.attempt(identifier).cloned();
    drop(log);
    // A sublayer error carries the authored text; ask again for its reason.
    if attempt.is_none()
        && let Some(by) = by
    {
        let again = resolver.create_identifier(identifier, Some(&openusd::ar::ResolvedPath::new(by)));
        attempt = resolver.log().attempt(&again).cloned();
    }
    let refused = attempt.as_ref().and_then(|attempt| attempt.refused.clone());
    let authored = attempt.map_or_else(|| identifier.to_owned(), |attempt| attempt.authored);
    let (code, why) = match refused.as_deref() {
        Some(error @ AssetError::OutsideTwin { .. }) => ("asset-outside-twin", error.to_string()),
        Some(error) => ("layer-missing", error.to_string()),
        None => ("layer-missing", format!("there is no file {identifier}")),
    };
    let diagnostic = Diagnostic::error(code, format!("{arc} @{authored}@ can't be opened"))
        .with_place(place(by, site))
        .with_detail(why);
    match refused {
        Some(error) => diagnostic.with_help(error.diagnostic().help),
        None => diagnostic,
    }
}

fn malformed(resolver: &StageResolver, identifier: &str, arc: &str, by: &str, site: &str, reason: &str) -> Diagnostic {
    let again = resolver.create_identifier(identifier, Some(&openusd::ar::ResolvedPath::new(by)));
    let used_by = if site.is_empty() { by.to_owned() } else { format!("{by}: {site}") };
    let diagnostic = Diagnostic::error("layer-parse", format!("{arc} layer is not valid USD"));
    match layer_fault(resolver, &again) {
        Some(fault) => diagnostic
            .with_place(Place::file(again).at(fault.line, Some(fault.column)))
            .with_detail(format!("{}\nused by {used_by}", fault.message)),
        None => diagnostic.with_place(Place::file(again)).with_detail(format!("{reason}\nused by {used_by}")),
    }
}
