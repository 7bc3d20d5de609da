//! The platform's attribute names, and the nearest known one to a typo.

/// What `lunco:layer` may say.
pub(crate) const LAYER_KINDS: [&str; 9] =
    ["dem", "craters", "rocks", "rock", "overzoom", "shader", "edit", "field", "raster"];

/// `lunco:layer:*` and `lunco:edit:*` on a layer prim.
pub(crate) const LAYER_ATTRIBUTES: [&str; 28] = [
    "lunco:layer:demSource",
    "lunco:layer:windowM",
    "lunco:layer:targetRes",
    "lunco:layer:lodViz",
    "lunco:layer:colliderRing",
    "lunco:layer:enabled",
    "lunco:layer:seed",
    "lunco:layer:density",
    "lunco:layer:x",
    "lunco:layer:z",
    "lunco:layer:size",
    "lunco:layer:sizeMin",
    "lunco:layer:sizeMax",
    "lunco:layer:sizeMode",
    "lunco:layer:depthRatio",
    "lunco:layer:rimRatio",
    "lunco:layer:amplitude",
    "lunco:layer:minFeature",
    "lunco:layer:maxFeature",
    "lunco:layer:regionM",
    "lunco:layer:reliefScale",
    "lunco:layer:dynamicFrac",
    "lunco:layer:mode",
    "lunco:layer",
    "lunco:edit:kind",
    "lunco:edit:center",
    "lunco:edit:radius",
    "lunco:edit:amount",
];

/// Attributes of a terrain root and of any prim.
pub(crate) const ROOT_ATTRIBUTES: [&str; 11] = [
    "lunco:assetMode",
    "lunco:terrain:horizonShadows",
    "lunco:terrain:horizonMapResolution",
    "lunco:terrain:lodFrozen",
    "lunco:terrain:baseSizeM",
    "lunco:terrain:basePostingM",
    "lunco:anchor:body",
    "lunco:anchor:lat",
    "lunco:anchor:lon",
    "lunco:anchor:height",
    "lunco:time:epochJd",
];

/// The known name that a wrong one was probably meant to be.
pub(crate) fn nearest<'a>(wrong: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let scored = known.into_iter().map(|name| (strsim::damerau_levenshtein(wrong, name), name));
    let limit = (wrong.len() / 3).clamp(1, 4);
    scored.filter(|(distance, _)| *distance <= limit).min().map(|(_, name)| name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_typo_finds_its_name_and_nonsense_finds_none() {
        assert_eq!(nearest("lunco:layer:demSorce", LAYER_ATTRIBUTES), Some("lunco:layer:demSource"));
        assert_eq!(nearest("cratrs", LAYER_KINDS), Some("craters"));
        assert_eq!(nearest("lunco:layer:entirelyElse", LAYER_ATTRIBUTES), None);
    }

    #[test]
    fn the_shipped_schema_declares_every_name() {
        let files = terrane_assets::library_files();
        let (_, bytes) = files.iter().find(|(name, _)| name == "lunco://stages/schema/generatedSchema.usda").unwrap();
        let text = std::str::from_utf8(bytes).unwrap();
        let declares = |name: &str| text.lines().any(|line| line.split_whitespace().any(|word| word == name));
        for name in LAYER_ATTRIBUTES.iter().chain(&ROOT_ATTRIBUTES) {
            assert!(declares(name), "{name}");
        }
        for kind in LAYER_KINDS {
            assert!(text.contains(&format!("\"{kind}\"")), "{kind}");
        }
    }
}
