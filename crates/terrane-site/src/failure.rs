//! What every command fails with.

use terrane_core::{Diagnostic, Severity};

/// One or more diagnostics, at least one of them an error.
#[derive(Debug, Clone, PartialEq)]
pub struct Failure {
    /// In the order in which they were found.
    pub diagnostics: Vec<Diagnostic>,
}

impl std::fmt::Display for Failure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        for (index, diagnostic) in self.diagnostics.iter().enumerate() {
            if index > 0 {
                writeln!(f)?;
            }
            write!(f, "{diagnostic}")?;
        }
        Ok(())
    }
}

impl std::error::Error for Failure {}

impl From<Diagnostic> for Failure {
    fn from(diagnostic: Diagnostic) -> Self {
        Self { diagnostics: vec![diagnostic] }
    }
}

impl From<Box<Diagnostic>> for Failure {
    fn from(diagnostic: Box<Diagnostic>) -> Self {
        (*diagnostic).into()
    }
}

/// Errors of the crates below, each with its own message.
macro_rules! from_errors {
    ($($error:ty),* $(,)?) => {$(
        impl From<$error> for Failure {
            fn from(error: $error) -> Self {
                error.diagnostic().into()
            }
        }
    )*};
}

from_errors!(
    terrane_assets::AssetError,
    terrane_feed::FeedError,
    terrane_geo::GeoError,
    terrane_render::RenderError,
    terrane_stage::StageError,
);

impl From<terrane_core::Cancelled> for Failure {
    fn from(_: terrane_core::Cancelled) -> Self {
        Diagnostic::error("cancelled", "cancelled").into()
    }
}

impl From<terrane_tiles::ArchiveError> for Failure {
    fn from(error: terrane_tiles::ArchiveError) -> Self {
        if let terrane_tiles::ArchiveError::Cancelled(cancelled) = error {
            return cancelled.into();
        }
        if let terrane_tiles::ArchiveError::Heights(error) = &error {
            return Self::unread(error);
        }
        let full = matches!(&error, terrane_tiles::ArchiveError::Io { source, .. }
            if source.kind() == std::io::ErrorKind::StorageFull);
        let help = if full { "free some space, or name another folder with --cache" } else { "" };
        let code = if error.is_mended_by_baking() { terrane_tiles::DAMAGED } else { "archive" };
        Diagnostic::error(code, "baked data can't be used").with_detail(error.to_string()).with_help(help).into()
    }
}

impl Failure {
    /// True when baking again mends it.
    pub(crate) fn is_damaged_archive(&self) -> bool {
        self.diagnostics.iter().any(|diagnostic| diagnostic.code == terrane_tiles::DAMAGED)
    }

    /// Heights that can't be read.
    pub(crate) fn unread(error: &terrane_core::PostReadError) -> Self {
        Diagnostic::error("raster-unreadable", "heights can't be read")
            .with_place(terrane_core::Place::file(error.source_name.clone()))
            .with_detail(error.message.clone())
            .with_help("`gdalinfo -checksum` on the file may say more")
            .into()
    }

    /// A file or folder that can't be written.
    pub(crate) fn unwritten(path: &std::path::Path, error: &std::io::Error) -> Self {
        let place = terrane_core::Place::file(path.display().to_string());
        Diagnostic::error("write-failed", "file can't be written")
            .with_place(place)
            .with_detail(error.to_string())
            .into()
    }

    /// `Err` when a list holds an error.
    pub(crate) fn if_any(diagnostics: &[Diagnostic]) -> Result<(), Self> {
        let errors: Vec<Diagnostic> = diagnostics.iter().filter(|d| d.severity == Severity::Error).cloned().collect();
        if errors.is_empty() { Ok(()) } else { Err(Self { diagnostics: errors }) }
    }
}
