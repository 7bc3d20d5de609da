//! Engine interface modules, and WGSL composed with them into naga IR.

use naga_oil::compose::{
    ComposableModuleDescriptor, Composer, ComposerError, ComposerErrorInner, NagaModuleDescriptor, ShaderDefValue,
};
use std::collections::HashMap;
use terrane_assets::AssetRoots;
use terrane_core::Diagnostic;

/// The engine's modules, in an order in which each needs only earlier ones.
const ENGINE_MODULES: &[&str] = &["view", "maps", "sun", "tile", "frame"];

/// Where in the composed text an error is, and what it says.
pub(crate) struct ComposeError {
    pub(crate) message: String,
    /// Which token of the text that was handed in, imports left out. naga_oil
    /// renames what it imports, so bytes move, but tokens do not.
    pub(crate) token: Option<usize>,
}

/// A composer that knows the engine's modules.
pub(crate) fn engine(roots: &AssetRoots) -> Result<Composer, Diagnostic> {
    let mut composer = Composer::default();
    for name in ENGINE_MODULES {
        let (identifier, text) =
            crate::source::read_source(roots, &format!("lunco://shaders/engine/{name}.wgsl"), None)?;
        let descriptor = ComposableModuleDescriptor { source: &text, file_path: &identifier, ..Default::default() };
        composer.add_composable_module(descriptor).map_err(|error| {
            Diagnostic::error("shader-engine", "engine shader module is broken")
                .with_detail(format!("{identifier}: {error}"))
        })?;
    }
    Ok(composer)
}

/// Composes a final shader. `flags` are the conditions of `#ifdef`.
pub(crate) fn compose(
    composer: &mut Composer,
    source: &str,
    file_path: &str,
    flags: &[&str],
) -> Result<naga::Module, ComposeError> {
    let shader_defs: HashMap<_, _> = flags.iter().map(|flag| (flag.to_string(), ShaderDefValue::Bool(true))).collect();
    let descriptor = NagaModuleDescriptor { source, file_path, shader_defs, ..Default::default() };
    composer.make_naga_module(descriptor).map_err(|error| explain(&error, composer))
}

fn explain(error: &ComposerError, composer: &Composer) -> ComposeError {
    let composed = error.source.source(composer);
    let header = error.source.offset();
    let (message, offset) = match &error.inner {
        ComposerErrorInner::WgslParseError(error) => {
            // Not `location`, which slices the text: spans count from the start
            // of a header that the text does not hold.
            let span = error.labels().next().and_then(|(span, _)| span.to_range());
            (error.message().to_owned(), span.map(|range| range.start))
        }
        ComposerErrorInner::ShaderValidationError(error) => {
            // The innermost cause with its outermost place reads best.
            let mut message = error.as_inner().to_string();
            let mut cause: Option<&dyn std::error::Error> = std::error::Error::source(error.as_inner());
            while let Some(inner) = cause {
                message = format!("{message}: {inner}");
                cause = inner.source();
            }
            let place = error.spans().filter_map(|(span, _)| span.to_range()).map(|range| range.start).max();
            (message, place)
        }
        other => (other.to_string(), None),
    };
    let token = offset
        .filter(|offset| *offset >= header)
        .and_then(|offset| crate::places::tokens(&composed).iter().rposition(|token| token.start <= offset - header));
    ComposeError { message, token }
}
