//! The reader's side of the confined reader: this same program, started again.

use crate::confined::Limits;
use crate::reader::{ReadRequest, read_in_process};
use crate::spec::SiteSpec;
use rlimit::Resource;
use serde::{Deserialize, Serialize};
use std::io::{Read, Write};
use terrane_core::Diagnostic;

/// First argument of a reader child.
pub(crate) const CHILD_MARK: &str = "--terrane-stage-reader-child";

/// The question on the child's standard input.
#[derive(Serialize, Deserialize)]
pub(crate) struct Question {
    pub request: ReadRequest,
    pub limits: Limits,
}

/// The answer on the child's standard output.
pub(crate) type Answer = Result<SiteSpec, Diagnostic>;

/// Does the work of a reader child and exits, if this process was started as
/// one; returns at once otherwise.
///
/// To be called first in `main` of any program that uses
/// [`ConfinedReader::this_program`](crate::ConfinedReader::this_program).
pub fn run_reader_child_if_asked() {
    if std::env::args_os().nth(1).is_some_and(|argument| argument == CHILD_MARK) {
        std::process::exit(match work() {
            Ok(()) => 0,
            Err(message) => {
                eprintln!("{message}");
                1
            }
        });
    }
}

fn work() -> Result<(), String> {
    let mut question = String::new();
    std::io::stdin().read_to_string(&mut question).map_err(|error| format!("no question: {error}"))?;
    let question: Question = serde_json::from_str(&question).map_err(|error| format!("bad question: {error}"))?;
    confine(&question.limits).map_err(|error| format!("limits can't be set: {error}"))?;
    let answer: Answer = read_in_process(&question.request).map_err(|error| error.diagnostic());
    let mut out = std::io::BufWriter::new(std::io::stdout().lock());
    serde_json::to_writer(&mut out, &answer).map_err(|error| format!("no answer: {error}"))?;
    out.flush().map_err(|error| format!("no answer: {error}"))
}

/// From here on this process may not grow, run on, write a file or dump core.
fn confine(limits: &Limits) -> std::io::Result<()> {
    // What this process was given already may be less; it can't be raised.
    let set = |resource: Resource, soft: u64, hard: u64| {
        let (_, given) = resource.get()?;
        resource.set(soft.min(given), hard.min(given))
    };
    set(Resource::AS, limits.address_space_bytes, limits.address_space_bytes)?;
    // The soft limit's signal says what happened; the hard one only kills.
    set(Resource::CPU, limits.cpu_s, limits.cpu_s.saturating_add(1))?;
    set(Resource::CORE, 0, 0)?;
    set(Resource::FSIZE, 0, 0)
}
