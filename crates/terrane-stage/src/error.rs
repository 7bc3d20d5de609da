//! Why a stage could not be read at all.

use std::path::PathBuf;
use std::time::Duration;
use terrane_core::{Diagnostic, Place};

/// Why a stage could not be read at all. What is wrong with a part of a stage
/// is a diagnostic in [`SiteSpec`](crate::spec::SiteSpec) instead.
#[derive(Debug, thiserror::Error)]
pub enum StageError {
    /// The stage file can't be opened.
    #[error("can't open {}: {reason}", file.display())]
    Unreadable {
        /// The stage file.
        file: PathBuf,
        /// What the system said.
        reason: String,
    },
    /// The folder around the stage is a twin whose manifest is wrong.
    #[error(transparent)]
    Assets(#[from] terrane_assets::AssetError),
    /// The root layer is not valid USD.
    #[error("{file} is not valid USD: {message}")]
    Parse {
        /// The layer, as a person would name it.
        file: String,
        /// One-based line.
        line: Option<u32>,
        /// One-based column.
        column: Option<u32>,
        /// What is wrong.
        message: String,
    },
    /// The USD library gave up, or failed on the way.
    #[error("reading {} failed: {message}", file.display())]
    Failed {
        /// The stage file.
        file: PathBuf,
        /// What it said.
        message: String,
    },
    /// The reader child could not be started.
    #[error("can't start the stage reader {}: {source}", program.display())]
    ReaderStart {
        /// The program to start.
        program: PathBuf,
        /// Why not.
        source: std::io::Error,
    },
    /// The reader child reached a limit while it read the stage.
    #[error("the reader stopped at its {limit} while reading {}", file.display())]
    Limit {
        /// The stage file.
        file: PathBuf,
        /// Which limit.
        limit: ReaderLimit,
    },
    /// The reader child died.
    #[error("the reader stopped ({how}) while reading {}{}", file.display(), last_words(said))]
    Crashed {
        /// The stage file.
        file: PathBuf,
        /// Exit status or signal.
        how: String,
        /// The last line that it wrote to its error stream, may be empty.
        said: String,
    },
    /// The reader child answered something that is not an answer.
    #[error("the reader gave no usable answer for {}: {reason}", file.display())]
    BadAnswer {
        /// The stage file.
        file: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
    /// The reader child reported an error of its own.
    #[error("{}", .0.title)]
    Reported(Box<Diagnostic>),
}

/// Which limit a reader child reached.
#[derive(Debug, Clone, Copy, PartialEq, thiserror::Error)]
pub enum ReaderLimit {
    /// Address space.
    #[error("memory limit of {} MiB", .0 >> 20)]
    Memory(u64),
    /// Processor time.
    #[error("processor time limit of {0} s")]
    Cpu(u64),
    /// Elapsed time.
    #[error("time limit of {} s", .0.as_secs_f64())]
    Wall(Duration),
    /// Size of the answer.
    #[error("output limit of {} MiB", .0 >> 20)]
    Output(u64),
}

fn last_words(said: &str) -> String {
    if said.is_empty() { String::new() } else { format!(": {said}") }
}

impl StageError {
    /// The message for a person.
    pub fn diagnostic(&self) -> Diagnostic {
        let place = |file: &PathBuf| Place::file(file.display().to_string());
        match self {
            Self::Unreadable { file, reason } => Diagnostic::error("stage-unreadable", "stage can't be opened")
                .with_place(place(file))
                .with_detail(reason),
            Self::Assets(error) => error.diagnostic(),
            Self::Parse { file, line, column, message } => {
                let place = Place { file: Some(file.clone()), line: *line, column: *column, prim: None };
                Diagnostic::error("stage-parse", "stage does not parse").with_place(place).with_detail(message)
            }
            Self::Failed { file, message } => {
                Diagnostic::error("stage-failed", "stage can't be read").with_place(place(file)).with_detail(message)
            }
            Self::ReaderStart { .. } => {
                Diagnostic::error("stage-reader-start", "stage reader can't be started").with_detail(self.to_string())
            }
            Self::Limit { file, .. } => Diagnostic::error("stage-reader-limit", self.to_string())
                .with_place(place(file))
                .with_help("the stage is too large for the reader's limits, or it is damaged"),
            Self::Crashed { file, said, .. } => Diagnostic::error("stage-reader-crashed", self.to_string())
                .with_place(place(file))
                .with_detail(said)
                .with_help("the file is probably damaged; `usdchecker` or `usdcat` of OpenUSD may say where"),
            Self::BadAnswer { file, .. } => {
                Diagnostic::error("stage-reader-answer", self.to_string()).with_place(place(file))
            }
            Self::Reported(diagnostic) => diagnostic.as_ref().clone(),
        }
    }
}
