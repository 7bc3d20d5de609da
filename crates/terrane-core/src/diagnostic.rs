//! One shape for every message to a person: what, where, what to do.

use serde::{Deserialize, Serialize};
use std::fmt;

/// How bad it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// A fact worth knowing.
    Note,
    /// Something authored has no effect, or is probably not meant.
    Warning,
    /// The thing asked for can't be had.
    Error,
}

/// Where in the author's files.
#[derive(Debug, Clone, PartialEq, Eq, Default, Hash, Serialize, Deserialize)]
pub struct Place {
    /// The file, as a person would name it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// One-based line in `file`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line: Option<u32>,
    /// One-based column in `line`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub column: Option<u32>,
    /// Prim or attribute path in the stage.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prim: Option<String>,
}

impl Place {
    /// A file.
    pub fn file(file: impl Into<String>) -> Self {
        Self { file: Some(file.into()), ..Self::default() }
    }

    /// A prim or attribute path.
    pub fn prim(prim: impl Into<String>) -> Self {
        Self { prim: Some(prim.into()), ..Self::default() }
    }

    /// This place, with a one-based line and column.
    pub fn at(mut self, line: u32, column: Option<u32>) -> Self {
        (self.line, self.column) = (Some(line), column);
        self
    }

    /// True when nothing is known.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(file) = &self.file {
            f.write_str(file)?;
            if let Some(line) = self.line {
                write!(f, ":{line}")?;
                if let Some(column) = self.column {
                    write!(f, ":{column}")?;
                }
            }
        }
        match (&self.file, &self.prim) {
            (Some(_), Some(prim)) => write!(f, ": {prim}"),
            (None, Some(prim)) => f.write_str(prim),
            _ => Ok(()),
        }
    }
}

/// One message: a stable code, what is wrong, where, details, what to do.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Diagnostic {
    /// How bad it is.
    pub severity: Severity,
    /// Stable, kebab-case, for tools and searches.
    pub code: String,
    /// What is wrong, in one short line.
    pub title: String,
    /// Where.
    #[serde(default, skip_serializing_if = "Place::is_empty")]
    pub place: Place,
    /// What was found and what was expected.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub detail: String,
    /// What to do.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub help: String,
}

impl Diagnostic {
    /// A diagnostic with a code and a title; the rest is added by `with_*`.
    pub fn new(severity: Severity, code: &str, title: impl Into<String>) -> Self {
        Self {
            severity,
            code: code.to_owned(),
            title: title.into(),
            place: Place::default(),
            detail: String::new(),
            help: String::new(),
        }
    }

    /// An error.
    pub fn error(code: &str, title: impl Into<String>) -> Self {
        Self::new(Severity::Error, code, title)
    }

    /// A warning.
    pub fn warning(code: &str, title: impl Into<String>) -> Self {
        Self::new(Severity::Warning, code, title)
    }

    /// A note.
    pub fn note(code: &str, title: impl Into<String>) -> Self {
        Self::new(Severity::Note, code, title)
    }

    /// Says where.
    pub fn with_place(mut self, place: Place) -> Self {
        self.place = place;
        self
    }

    /// Says what was found and what was expected.
    pub fn with_detail(mut self, detail: impl Into<String>) -> Self {
        self.detail = detail.into();
        self
    }

    /// Says what to do.
    pub fn with_help(mut self, help: impl Into<String>) -> Self {
        self.help = help.into();
        self
    }
}

impl fmt::Display for Diagnostic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let severity = match self.severity {
            Severity::Note => "note",
            Severity::Warning => "warning",
            Severity::Error => "error",
        };
        write!(f, "{severity}: {}", self.title)?;
        if !self.place.is_empty() {
            write!(f, "\n  {}", self.place)?;
        }
        for text in [&self.detail, &self.help] {
            for line in text.lines() {
                write!(f, "\n  {line}")?;
            }
        }
        Ok(())
    }
}

impl std::error::Error for Diagnostic {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_says_what_where_and_what_to_do() {
        let text = Diagnostic::error("unknown-input", "shader input not found")
            .with_place(Place {
                file: Some("a.usda".into()),
                prim: Some("/Looks/L.inputs:x".into()),
                ..Place::default()
            })
            .with_detail("shader has no parameter `x`")
            .with_help("did you mean `y`?")
            .to_string();
        let lines = [
            "error: shader input not found",
            "  a.usda: /Looks/L.inputs:x",
            "  shader has no parameter `x`",
            "  did you mean `y`?",
        ];
        assert_eq!(text, lines.join("\n"));
    }
}
