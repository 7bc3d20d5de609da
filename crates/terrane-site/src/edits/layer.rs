//! A session as a USD layer: one small prim an edit.

use super::History;
use std::fmt::Write;
use terrane_surface::EditSpec;

/// First line of the documentation of every layer written here: only such
/// files are replaced.
pub(super) const MARK: &str = "Edits of the ground, written by terrane.";

/// The layer's text. Two spaces and names as in the platform's schema; numbers
/// are written so that they read back as they were.
pub(super) fn usda(history: &History) -> String {
    let mut text = format!("#usda 1.0\n(\n    doc = \"{MARK}\"\n)\n\n");
    let above: Vec<&str> = history.terrain().split('/').filter(|name| !name.is_empty()).collect();
    let indent = |depth: usize| "    ".repeat(depth);
    for (depth, name) in above.iter().enumerate() {
        let _ = writeln!(text, "{0}over \"{name}\"\n{0}{{", indent(depth));
    }
    let inner = indent(above.len());
    for prim in history.removed() {
        let name = prim.rsplit('/').next().unwrap_or_default();
        let _ =
            writeln!(text, "{inner}over \"{name}\"\n{inner}{{\n{inner}    bool lunco:layer:enabled = 0\n{inner}}}\n");
    }
    for edit in history.edits() {
        let name = edit.prim.rsplit('/').next().unwrap_or_default();
        let EditSpec { kind, x_m, z_m, radius_m, amount } = edit.edit;
        let _ = writeln!(
            text,
            "{inner}def Scope \"{name}\"\n{inner}{{\n\
             {inner}    uniform token lunco:layer = \"edit\"\n\
             {inner}    token lunco:edit:kind = \"{}\"\n\
             {inner}    double2 lunco:edit:center = ({x_m:?}, {z_m:?})\n\
             {inner}    double lunco:edit:radius = {radius_m:?}\n\
             {inner}    double lunco:edit:amount = {amount:?}\n\
             {inner}}}\n",
            kind.name()
        );
    }
    for depth in (0..above.len()).rev() {
        let _ = writeln!(text, "{}}}", indent(depth));
    }
    text
}
