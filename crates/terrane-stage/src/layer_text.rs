//! Finds the place of what is wrong in a layer's text.

use crate::scan::{self, TextFault};
use openusd::usda::parser::Parser;

/// How crate files (usdc) begin.
const CRATE_MAGIC: &[u8] = b"PXR-USDC";

/// Refuses text that must not reach the parser; binary layers pass.
pub(crate) fn check_bytes(bytes: &[u8]) -> Result<(), TextFault> {
    if bytes.starts_with(CRATE_MAGIC) {
        return Ok(());
    }
    match std::str::from_utf8(bytes) {
        Ok(text) => scan::check(text),
        Err(error) => Err(TextFault::at(bytes, error.valid_up_to(), "the text is not valid UTF-8")),
    }
}

/// Parses the text again to learn where it fails. `None` when it does not.
pub(crate) fn find_fault(bytes: &[u8]) -> Option<TextFault> {
    if bytes.starts_with(CRATE_MAGIC) {
        return None;
    }
    if let Err(fault) = check_bytes(bytes) {
        return Some(fault);
    }
    let mut parser = Parser::new(std::str::from_utf8(bytes).ok()?);
    let error = parser.parse().err()?;
    let place = parser.last_error_highlight();
    let cause = error.root_cause().to_string();
    // Errors of the tokenizer say nothing.
    let message = match &place {
        Some(place) if cause.ends_with("()") => {
            format!("unexpected text in `{}`", place.line_text.trim().chars().take(80).collect::<String>())
        }
        _ => cause,
    };
    let number = |count: usize| u32::try_from(count).unwrap_or(u32::MAX);
    Some(match place {
        Some(place) => TextFault { line: number(place.line), column: number(place.column), message },
        None => TextFault { line: 1, column: 1, message },
    })
}
