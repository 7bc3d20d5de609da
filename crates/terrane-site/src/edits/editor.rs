//! Editing the ground of an open site.

use super::session::{read_commands, save, write_log};
use super::{EditCommand, History, SaveReport, SessionFiles};
use crate::ground::Ground;
use crate::{Failure, OpenSite, SiteOptions};
use serde::Serialize;
use std::fs::File;
use std::path::Path;
use terrane_core::{ContentKey, Diagnostic, Place, Progress};
use terrane_surface::{ModifierSpec, Shape, SiteRect, TileKey};

/// What a command did.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Edited {
    /// Prim path of the edit that it was about.
    pub prim: String,
    /// Rectangles of the site outside of which nothing is another.
    pub changed_rects: Vec<SiteRect>,
    /// Tiles of all levels that are others now: all that is made again. They are
    /// named as the ground has them after the command.
    pub changed_tiles: Vec<TileKey>,
    /// Distance between the finest posts after it, metres: the posting of level
    /// 0.
    pub finest_posting_m: f64,
    /// True when that is another than before, so that every tile is of another
    /// level than it was.
    pub levels_renumbered: bool,
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
        let own = own_edits(&authored);
        let history = match files.kept()? {
            None => History::new(&terrain.prim, own),
            Some((start, _)) if start.terrain != terrain.prim => {
                return Err(Diagnostic::error("session-elsewhere", "session is for another terrain")
                    .with_place(Place::file(files.log.display().to_string()))
                    .with_detail(format!("it edits {}; the stage's terrain is {}", start.terrain, terrain.prim))
                    .with_help("`terrane edits <stage> --clear` ends the session")
                    .into());
            }
            Some((start, commands)) => History::resumed(start, own, commands).map_err(|error| files.at_log(*error))?,
        };
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
        let (removed, own) = (self.history.removed(), self.history.edits());
        // The session is stronger than the stage where both have an edit.
        let is_kept = |name: &String| !removed.contains(name) && own.iter().all(|edit| edit.prim != *name);
        let kept = self.authored.iter().filter(|modifier| is_kept(&modifier.name)).cloned();
        let mut all: Vec<ModifierSpec> = kept.collect();
        all.extend(own.into_iter().map(|own| ModifierSpec { name: own.prim, shape: Shape::Edit(own.edit) }));
        let (mut edits, shapes): (Vec<_>, Vec<_>) = all.into_iter().partition(ModifierSpec::is_edit);
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
        let was_m = self.ground.surface.lattice().posting_m;
        let changed_tiles = ground.surface.changed_tiles(&self.ground.surface);
        let changed_rects = ground.surface.changed_rects(&self.ground.surface);
        self.ground = ground;
        let finest_posting_m = self.ground.surface.lattice().posting_m;
        let (undo, redo) = self.history.depths();
        Ok(Edited {
            prim,
            changed_rects,
            changed_tiles,
            finest_posting_m,
            levels_renumbered: finest_posting_m != was_m,
            key: self.ground.key,
            edits: self.history.in_force().len(),
            undo,
            redo,
        })
    }

    /// Does all commands of a log, or none of them.
    pub fn replay(&mut self, log: &Path) -> Result<Vec<Edited>, Failure> {
        let text = std::fs::read_to_string(log).map_err(|error| {
            Diagnostic::error("edit-log", "log can't be read")
                .with_place(Place::file(log.display().to_string()))
                .with_detail(error.to_string())
        })?;
        let (ground, history) = (self.ground.clone(), self.history.clone());
        let commands = read_commands(log, &text, 0)?;
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

    /// Ends a stage's session, whatever state it is in.
    pub fn end(stage: &Path, options: SiteOptions) -> Result<(), Failure> {
        let files = SessionFiles::of(stage, &crate::open::cache_folder_of(stage, &options)?);
        let _lock = files.locked()?;
        files.remove()
    }

    /// Ends the session: its edits are forgotten, the stage's own come back.
    pub fn clear(&mut self) -> Result<(), Failure> {
        self.history = History::new(self.history.terrain(), own_edits(&self.authored));
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

fn own_edits(authored: &[ModifierSpec]) -> Vec<String> {
    authored.iter().filter(|modifier| modifier.is_edit()).map(|modifier| modifier.name.clone()).collect()
}
