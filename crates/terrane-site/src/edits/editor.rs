//! Editing the ground of an open site.

use super::session::{read_commands, save, write_log};
use super::{EditCommand, History, SaveReport, SessionFiles};
use crate::ground::Ground;
use crate::{Failure, OpenSite, SiteOptions};
use serde::Serialize;
use std::fs::File;
use std::path::Path;
use terrane_core::{ContentKey, Diagnostic, Place, Progress};
use terrane_surface::{ModifierSpec, Shape, TileKey};

/// What a command did.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Edited {
    /// Prim path of the edit that it was about.
    pub prim: String,
    /// Tiles of all levels that are others now: all that is made again.
    pub changed_tiles: Vec<TileKey>,
    /// Key of the ground after it.
    pub key: ContentKey,
    /// Edits in force, of the stage and of the session.
    pub edits: usize,
    /// Commands that can be taken back, and given again.
    pub undo: usize,
    /// Commands that can be given again.
    pub redo: usize,
}

/// A site whose ground is edited: commands in, changed ground out.
#[derive(Debug)]
pub struct Editor {
    /// The ground as it is now.
    pub ground: Ground,
    history: History,
    /// Modifiers of the stage alone.
    authored: Vec<ModifierSpec>,
    files: SessionFiles,
    /// Held while the editor lives: nobody else changes the session.
    _lock: File,
}

impl Editor {
    /// Takes up a stage's session where it was left, or begins one.
    pub fn open(stage: &Path, options: SiteOptions, progress: &dyn Progress) -> Result<Self, Failure> {
        let site = OpenSite::open(stage, SiteOptions { without_session: true, ..options }, progress)?;
        let files = SessionFiles::of(stage, &site.cache_folder());
        let lock = files.locked()?;
        let ground = site.ground(progress)?;
        let terrain = site.terrain()?;
        let authored = ground.surface.spec().modifiers.clone();
        let own = authored.iter().filter(|modifier| modifier.is_edit()).map(|modifier| modifier.name.clone());
        let mut history = History::new(&terrain.prim, own.collect());
        for (number, command) in files.commands()?.into_iter().enumerate() {
            history.take(command).map_err(|error| {
                let place = Place { line: Some(number as u32 + 1), ..Place::file(files.log.display().to_string()) };
                error.with_place(place).with_help(
                    "the stage's own edits were changed since; `terrane edits <stage> --clear` ends the session",
                )
            })?;
        }
        let mut editor = Self { ground, history, authored, files, _lock: lock };
        if !editor.history.log().is_empty() {
            editor.ground =
                editor.ground.with_modifiers(editor.modifiers()).map_err(|error| site.surface_error(error))?;
        }
        Ok(editor)
    }

    /// What was done so far.
    pub fn history(&self) -> &History {
        &self.history
    }

    /// The stage's modifiers that are left and the session's edits, in the
    /// order in which they are folded.
    fn modifiers(&self) -> Vec<ModifierSpec> {
        let removed = self.history.removed();
        let kept = self.authored.iter().filter(|modifier| !removed.contains(&modifier.name)).cloned();
        let own =
            self.history.edits().into_iter().map(|own| ModifierSpec { name: own.prim, shape: Shape::Edit(own.edit) });
        let (mut edits, shapes): (Vec<_>, Vec<_>) = kept.chain(own).partition(ModifierSpec::is_edit);
        edits.sort_by(|a, b| a.name.cmp(&b.name));
        shapes.into_iter().chain(edits).collect()
    }

    /// Does one command. One that fails changes nothing.
    pub fn apply(&mut self, command: EditCommand) -> Result<Edited, Failure> {
        let before = self.history.clone();
        let prim = self.history.take(command)?;
        let ground = match self.ground.with_modifiers(self.modifiers()) {
            Ok(ground) => ground,
            Err(error) => {
                self.history = before;
                return Err(Diagnostic::error("edit", "edit can't be made").with_detail(error.to_string()).into());
            }
        };
        let changed_tiles = ground.surface.changed_tiles(&self.ground.surface);
        self.ground = ground;
        let (undo, redo) = self.history.depths();
        Ok(Edited { prim, changed_tiles, key: self.ground.key, edits: self.history.in_force().len(), undo, redo })
    }

    /// Does all commands of a log, or none of them.
    pub fn replay(&mut self, log: &Path) -> Result<Vec<Edited>, Failure> {
        let text = std::fs::read_to_string(log).map_err(|error| {
            Diagnostic::error("edit-log", "log can't be read")
                .with_place(Place::file(log.display().to_string()))
                .with_detail(error.to_string())
        })?;
        let (ground, history) = (self.ground.clone(), self.history.clone());
        let commands = read_commands(log, &text)?;
        let done: Result<Vec<Edited>, Failure> = commands.into_iter().map(|command| self.apply(command)).collect();
        if done.is_err() {
            (self.ground, self.history) = (ground, history);
        }
        done
    }

    /// Keeps what was done for the next time that the stage is opened.
    pub fn keep(&self) -> Result<(), Failure> {
        self.files.keep(&self.history)
    }

    /// Ends the session: its edits are forgotten, the stage's own come back.
    pub fn clear(&mut self) -> Result<(), Failure> {
        let own = self.authored.iter().filter(|modifier| modifier.is_edit()).map(|modifier| modifier.name.clone());
        self.history = History::new(self.history.terrain(), own.collect());
        self.keep()
    }

    /// Writes the session's edits as a USD layer.
    pub fn save(&self, layer: &Path) -> Result<SaveReport, Failure> {
        save(&self.history, layer)
    }

    /// Writes the log of commands, to be replayed.
    pub fn write_log(&self, file: &Path) -> Result<(), Failure> {
        write_log(&self.history, file)
    }
}
