//! A stage's session on disk: the log of commands, and the layer that follows
//! from it.

use super::layer::{MARK, usda};
use super::{EditCommand, History, SessionStart};
use crate::Failure;
use crate::files::write_whole;
use serde::Serialize;
use std::fs::File;
use std::path::{Path, PathBuf};
use terrane_core::{ContentKey, Diagnostic, Place};

/// Where a stage's session is kept, in the folder of baked data.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionFiles {
    /// The edits as a USD layer, for other programs.
    pub layer: PathBuf,
    /// How the session began, and one command a line, as JSON: what is in
    /// force.
    pub log: PathBuf,
    lock: PathBuf,
}

/// What saving did.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct SaveReport {
    /// The layer.
    pub layer: PathBuf,
    /// Edits in it.
    pub edits: usize,
    /// Edits of the stage that it takes away.
    pub removed: usize,
}

impl SessionFiles {
    /// Of a stage, by its place on disk.
    pub fn of(stage: &Path, cache_folder: &Path) -> Self {
        let place = stage.canonicalize().unwrap_or_else(|_| stage.to_owned());
        let key = ContentKey::of_bytes(place.as_os_str().as_encoded_bytes()).short();
        let stem = stage.file_stem().map_or_else(String::new, |stem| stem.to_string_lossy().into_owned());
        let file = |ending: &str| cache_folder.join("sessions").join(format!("{stem}-{key}.{ending}"));
        Self { layer: file("usda"), log: file("jsonl"), lock: file("lock") }
    }

    /// Waits until no other program changes the session; holds it while the
    /// file lives.
    pub(super) fn locked(&self) -> Result<File, Failure> {
        let folder = self.lock.parent().unwrap_or(Path::new("."));
        std::fs::create_dir_all(folder).map_err(|error| Failure::unwritten(folder, &error))?;
        let unwritten = |error: std::io::Error| Failure::unwritten(&self.lock, &error);
        let file = File::options().create(true).append(true).open(&self.lock).map_err(unwritten)?;
        file.lock().map_err(unwritten)?;
        Ok(file)
    }

    /// How the session began, and its commands; `None` when there is none.
    pub fn kept(&self) -> Result<Option<(SessionStart, Vec<EditCommand>)>, Failure> {
        let text = match std::fs::read_to_string(&self.log) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(unread(&self.log, &error.to_string()).into()),
            Ok(text) => text,
        };
        let (first, commands) = text.split_once('\n').unwrap_or((&text, ""));
        let start = serde_json::from_str(first).map_err(|error| self.at_log(unread(&self.log, &error.to_string())))?;
        let commands = read_commands(&self.log, commands, 1).map_err(|mut failure| {
            failure.diagnostics = failure.diagnostics.into_iter().map(|fault| self.at_log(fault)).collect();
            failure
        })?;
        Ok(Some((start, commands)))
    }

    /// A message about what is kept, with the way out.
    pub(super) fn at_log(&self, mut fault: Diagnostic) -> Diagnostic {
        fault.place.file = Some(self.log.display().to_string());
        fault.with_help("the session can't go on: `terrane edits <stage> --clear` ends it, --no-session leaves it out")
    }

    /// Forgets the session.
    pub fn remove(&self) -> Result<(), Failure> {
        for file in [&self.layer, &self.log] {
            match std::fs::remove_file(file) {
                Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                    return Err(Failure::unwritten(file, &error));
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// Keeps a history; without commands nothing is kept.
    pub fn keep(&self, history: &History) -> Result<(), Failure> {
        if history.log().is_empty() {
            return self.remove();
        }
        let start = serde_json::to_string(history.start()).unwrap_or_default();
        write_whole(&self.log, &format!("{start}\n{}", lines(history.log())))?;
        write_whole(&self.layer, &usda(history))
    }
}

/// Commands from lines of JSON; `before` lines of the file came before them.
pub(super) fn read_commands(file: &Path, text: &str, before: u32) -> Result<Vec<EditCommand>, Failure> {
    let numbered = text.trim_start_matches('\u{feff}').lines().enumerate().filter(|(_, line)| !line.trim().is_empty());
    numbered
        .map(|(number, line)| {
            serde_json::from_str(line).map_err(|error| {
                let place = Place { line: Some(number as u32 + 1 + before), ..Place::file(file.display().to_string()) };
                Diagnostic::error("edit-log", "line is no command")
                    .with_place(place)
                    .with_detail(error.to_string())
                    .with_help("`terrane edits <stage> --log <file>` writes a log that can be replayed")
                    .into()
            })
        })
        .collect()
}

fn lines(commands: &[EditCommand]) -> String {
    commands.iter().filter_map(|command| serde_json::to_string(command).ok()).fold(String::new(), |mut all, line| {
        all.push_str(&line);
        all.push('\n');
        all
    })
}

fn unread(file: &Path, why: &str) -> Diagnostic {
    Diagnostic::error("edit-log", "edits can't be read")
        .with_place(Place::file(file.display().to_string()))
        .with_detail(why)
}

/// Writes a session as a layer for stages to take in. Only files that were
/// written so are replaced.
pub(super) fn save(history: &History, file: &Path) -> Result<SaveReport, Failure> {
    let refused = |detail: &str| -> Failure {
        Diagnostic::error("edit-save", "edits can't be saved there")
            .with_place(Place::file(file.display().to_string()))
            .with_detail(detail)
            .with_help("name a new file ending in .usda, and add it to the stage's subLayers")
            .into()
    };
    if !file.extension().is_some_and(|ending| ending.eq_ignore_ascii_case("usda")) {
        return Err(refused("a layer of edits is a text file, and its name ends in .usda"));
    }
    match std::fs::read_to_string(file) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
        Ok(found) if found.lines().take(4).any(|line| line.contains(MARK)) => {
            // What was saved there before has to be in force, or it would be lost.
            let own: Vec<String> = history.edits().into_iter().map(|edit| edit.prim).collect();
            let is_own = |name: &str| own.iter().any(|prim| prim.rsplit('/').next() == Some(name));
            let saved = found.lines().filter_map(|line| line.trim().strip_prefix("def Scope \"")?.strip_suffix('"'));
            let lost: Vec<&str> = saved.filter(|name| !is_own(name)).collect();
            if !lost.is_empty() {
                return Err(refused(&format!("it holds edits that this session does not have: {}", lost.join(", "))));
            }
        }
        _ => return Err(refused("it exists, and was not written by `terrane edits --save`; it is left alone")),
    }
    write_whole(file, &usda(history))?;
    Ok(SaveReport { layer: file.to_owned(), edits: history.edits().len(), removed: history.removed().len() })
}

/// Writes the log of a session for [`super::Editor::replay`].
pub(super) fn write_log(history: &History, file: &Path) -> Result<(), Failure> {
    match std::fs::read_to_string(file) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
        Ok(found) if read_commands(file, &found, 0).is_ok_and(|before| history.log().starts_with(&before)) => {}
        _ => {
            return Err(Diagnostic::error("edit-save", "log can't be written there")
                .with_place(Place::file(file.display().to_string()))
                .with_detail("it exists, and is not an earlier log of this session; it is left alone")
                .into());
        }
    }
    write_whole(file, &lines(history.log()))
}
