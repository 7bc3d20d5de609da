//! Commands, and what of them is in force.

use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use terrane_core::Diagnostic;
use terrane_surface::{EditKind, EditSpec};

/// One intent. Places are site x and z, metres.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "command", deny_unknown_fields)]
pub enum EditCommand {
    /// Raises the ground by `amount_m` in the middle, or lowers it.
    BrushTerrain {
        /// Site x, metres.
        x_m: f64,
        /// Site z, metres.
        z_m: f64,
        /// How far it reaches, metres.
        radius_m: f64,
        /// Metres up in the middle.
        amount_m: f64,
    },
    /// Levels the ground to the height found in the middle plus `offset_m`.
    FlattenTerrain {
        /// Site x, metres.
        x_m: f64,
        /// Site z, metres.
        z_m: f64,
        /// How far it reaches, metres; its inner half is flat.
        radius_m: f64,
        /// Metres above the height found in the middle.
        #[serde(default)]
        offset_m: f64,
    },
    /// Digs a fresh crater.
    PlaceCrater {
        /// Site x, metres.
        x_m: f64,
        /// Site z, metres.
        z_m: f64,
        /// Radius of its rim, metres.
        radius_m: f64,
        /// From rim crest to floor, metres; 0 is as published for its size.
        #[serde(default)]
        depth_m: f64,
    },
    /// Blends the ground towards its mean over `length_m`.
    SmoothTerrain {
        /// Site x, metres.
        x_m: f64,
        /// Site z, metres.
        z_m: f64,
        /// How far it reaches, metres.
        radius_m: f64,
        /// Metres over which heights are averaged; 0 is a quarter of the radius.
        #[serde(default)]
        length_m: f64,
    },
    /// Takes the ground away.
    CarveHole {
        /// Site x, metres.
        x_m: f64,
        /// Site z, metres.
        z_m: f64,
        /// How far it reaches, metres.
        radius_m: f64,
    },
    /// Sets the class of the ground.
    PaintTerrain {
        /// Site x, metres.
        x_m: f64,
        /// Site z, metres.
        z_m: f64,
        /// How far it reaches, metres.
        radius_m: f64,
        /// The class.
        class: u8,
    },
    /// Takes an edit back, of this session or of the stage, by its prim path or
    /// its last name.
    RemoveTerrainEdit {
        /// The edit.
        edit: String,
    },
    /// Takes the last command back.
    Undo,
    /// Gives the last command that was taken back again.
    Redo,
}

impl EditCommand {
    /// The edit that it makes, when it makes one.
    pub fn edit(&self) -> Option<EditSpec> {
        let edit = |kind, x_m: &f64, z_m: &f64, radius_m: &f64, amount: f64| {
            Some(EditSpec { kind, x_m: *x_m, z_m: *z_m, radius_m: *radius_m, amount })
        };
        match self {
            Self::BrushTerrain { x_m, z_m, radius_m, amount_m } => edit(EditKind::Brush, x_m, z_m, radius_m, *amount_m),
            Self::FlattenTerrain { x_m, z_m, radius_m, offset_m } => {
                edit(EditKind::Flatten, x_m, z_m, radius_m, *offset_m)
            }
            Self::PlaceCrater { x_m, z_m, radius_m, depth_m } => edit(EditKind::Crater, x_m, z_m, radius_m, *depth_m),
            Self::SmoothTerrain { x_m, z_m, radius_m, length_m } => {
                edit(EditKind::Smooth, x_m, z_m, radius_m, *length_m)
            }
            Self::CarveHole { x_m, z_m, radius_m } => edit(EditKind::Hole, x_m, z_m, radius_m, 0.0),
            Self::PaintTerrain { x_m, z_m, radius_m, class } => {
                edit(EditKind::Paint, x_m, z_m, radius_m, f64::from(*class))
            }
            Self::RemoveTerrainEdit { .. } | Self::Undo | Self::Redo => None,
        }
    }
}

/// An edit of the session.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SessionEdit {
    /// Prim path.
    pub prim: String,
    /// What it does.
    #[serde(flatten)]
    pub edit: EditSpec,
}

/// What one command does to what is in force.
#[derive(Debug, Clone, PartialEq)]
enum Deed {
    Add(String, EditSpec),
    Remove(String),
}

/// What is decided when a session begins, so that its edits keep their names
/// whatever the stage says later.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SessionStart {
    /// Prim path of the terrain.
    pub terrain: String,
    /// What prim paths of new edits begin with.
    pub prefix: String,
    /// Number of the last edit of that name that the stage had already.
    pub last: usize,
}

/// Commands in the order in which they were given, and what follows.
#[derive(Debug, Clone, PartialEq)]
pub struct History {
    start: SessionStart,
    /// Prim paths of the edits that the stage itself has.
    authored: Vec<String>,
    log: Vec<EditCommand>,
    done: Vec<Deed>,
    undone: Vec<Deed>,
    /// Edits that were ever added: names are not given twice.
    added: usize,
}

impl History {
    /// Of a terrain that has these edits of its own, by prim path.
    pub fn new(terrain: &str, authored: Vec<String>) -> Self {
        // New edits come after all others in path order.
        let last = authored.iter().max();
        let prefixes = ["Edit_", "Session_Edit_", "session_edit_", "zz_edit_"].map(|name| format!("{terrain}/{name}"));
        let after = |prefix: &&String| last.is_none_or(|last| *last < format!("{prefix}000000"));
        let next = |prefix: &str| {
            let numbers = authored.iter().filter_map(|prim| prim.strip_prefix(prefix)?.parse::<usize>().ok());
            numbers.max()
        };
        let continued = prefixes.iter().find_map(|prefix| {
            let number = next(prefix)?;
            (last == Some(&format!("{prefix}{number:06}"))).then_some((prefix.clone(), number))
        });
        let (prefix, added) = continued.unwrap_or_else(|| {
            let fresh = prefixes.iter().find(after).or(prefixes.last());
            (fresh.cloned().unwrap_or_default(), 0)
        });
        let start = SessionStart { terrain: terrain.to_owned(), prefix, last: added };
        Self::begun(start, authored)
    }

    fn begun(start: SessionStart, authored: Vec<String>) -> Self {
        let added = start.last;
        Self { start, authored, log: vec![], done: vec![], undone: vec![], added }
    }

    /// A session that was begun before, over what the stage has now: edits of
    /// the session that the stage has taken in are the same edits, and what was
    /// removed and is gone stays so.
    pub fn resumed(
        start: SessionStart,
        authored: Vec<String>,
        log: impl IntoIterator<Item = EditCommand>,
    ) -> Result<Self, Box<Diagnostic>> {
        let mut history = Self::begun(start, authored);
        for command in log {
            match command {
                EditCommand::RemoveTerrainEdit { edit } if edit.starts_with('/') => {
                    history.do_it(Deed::Remove(edit.clone()));
                    history.log.push(EditCommand::RemoveTerrainEdit { edit });
                }
                command => {
                    history.take(command)?;
                }
            }
        }
        Ok(history)
    }

    /// How the session began.
    pub fn start(&self) -> &SessionStart {
        &self.start
    }

    /// Takes a command; one that can't be followed changes nothing. Returns the
    /// prim path of the edit that it is about.
    pub fn take(&mut self, command: EditCommand) -> Result<String, Box<Diagnostic>> {
        let refused = |title: &str, detail: String| Err(Box::new(Diagnostic::error("edit", title).with_detail(detail)));
        let about = |deed: &Deed| match deed {
            Deed::Add(prim, _) | Deed::Remove(prim) => prim.clone(),
        };
        let mut command = command;
        let prim = match &command {
            EditCommand::Undo => match self.done.pop() {
                None => return refused("nothing to undo", "no command of this session is in force".into()),
                Some(deed) => {
                    let prim = about(&deed);
                    self.undone.push(deed);
                    prim
                }
            },
            EditCommand::Redo => match self.undone.pop() {
                None => {
                    return refused("nothing to redo", "no command was taken back, or another one came after".into());
                }
                Some(deed) => {
                    let prim = about(&deed);
                    self.done.push(deed);
                    prim
                }
            },
            EditCommand::RemoveTerrainEdit { edit } => {
                let in_force: Vec<String> = self.in_force();
                let mut found = in_force.iter().filter(|prim| *prim == edit || prim.rsplit('/').next() == Some(edit));
                let Some(prim) = found.next_back().cloned() else {
                    let known = if in_force.is_empty() { "there are none".into() } else { in_force.join(", ") };
                    return refused("no such edit", format!("`{edit}` is no edit in force: {known}"));
                };
                self.do_it(Deed::Remove(prim.clone()));
                command = EditCommand::RemoveTerrainEdit { edit: prim.clone() };
                prim
            }
            makes_edit => {
                let Some(edit) = makes_edit.edit() else { return refused("no such edit", String::new()) };
                self.added += 1;
                let prim = format!("{}{:06}", self.start.prefix, self.added);
                self.do_it(Deed::Add(prim.clone(), edit));
                prim
            }
        };
        self.log.push(command);
        Ok(prim)
    }

    fn do_it(&mut self, deed: Deed) {
        self.done.push(deed);
        self.undone.clear();
    }

    /// All commands, as they were given.
    pub fn log(&self) -> &[EditCommand] {
        &self.log
    }

    /// Prim path of the terrain.
    pub fn terrain(&self) -> &str {
        &self.start.terrain
    }

    /// Edits of the session that are in force, in path order.
    pub fn edits(&self) -> Vec<SessionEdit> {
        let mut edits: BTreeMap<&str, EditSpec> = BTreeMap::new();
        for deed in &self.done {
            match deed {
                Deed::Add(prim, edit) => {
                    edits.insert(prim, *edit);
                }
                Deed::Remove(prim) => {
                    edits.remove(prim.as_str());
                }
            }
        }
        edits.into_iter().map(|(prim, edit)| SessionEdit { prim: prim.to_owned(), edit }).collect()
    }

    /// Prim paths of the stage's own edits that the session takes away.
    pub fn removed(&self) -> Vec<String> {
        let removed = |prim: &&String| self.done.contains(&Deed::Remove((*prim).clone()));
        self.authored.iter().filter(removed).cloned().collect()
    }

    /// Prim paths of all edits in force, of the stage and of the session.
    pub fn in_force(&self) -> Vec<String> {
        let removed = self.removed();
        let authored = self.authored.iter().filter(|prim| !removed.contains(prim)).cloned();
        let all: BTreeSet<String> = authored.chain(self.edits().into_iter().map(|edit| edit.prim)).collect();
        all.into_iter().collect()
    }

    /// How many commands can be taken back, and given again.
    pub fn depths(&self) -> (usize, usize) {
        (self.done.len(), self.undone.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn brush(x_m: f64) -> EditCommand {
        EditCommand::BrushTerrain { x_m, z_m: 0.0, radius_m: 5.0, amount_m: 1.0 }
    }

    fn prims(history: &History) -> Vec<String> {
        history.edits().into_iter().map(|edit| edit.prim).collect()
    }

    #[test]
    fn what_is_in_force_follows_from_the_log() {
        let mut history = History::new("/W/T", vec!["/W/T/Pit".into()]);
        assert_eq!(history.take(brush(0.0)).unwrap(), "/W/T/Session_Edit_000001");
        history.take(brush(1.0)).unwrap();
        history.take(EditCommand::Undo).unwrap();
        assert_eq!(prims(&history), ["/W/T/Session_Edit_000001"]);
        history.take(EditCommand::Redo).unwrap();
        history.take(EditCommand::RemoveTerrainEdit { edit: "Session_Edit_000001".into() }).unwrap();
        history.take(EditCommand::RemoveTerrainEdit { edit: "/W/T/Pit".into() }).unwrap();
        assert_eq!(
            (prims(&history), history.removed()),
            (vec!["/W/T/Session_Edit_000002".into()], vec!["/W/T/Pit".into()])
        );
        history.take(EditCommand::Undo).unwrap();
        assert!(history.removed().is_empty());
        // A new command ends what could be done again; names are not reused.
        assert_eq!(history.take(brush(2.0)).unwrap(), "/W/T/Session_Edit_000003");
        assert!(history.take(EditCommand::Redo).is_err());
        let resumed = |authored: Vec<String>| {
            History::resumed(history.start().clone(), authored, history.log().iter().cloned()).unwrap()
        };
        assert_eq!(resumed(vec!["/W/T/Pit".into()]), history);
        // A stage that has taken in what was saved, or lost what was removed, is
        // no other session.
        let saved = prims(&history);
        assert_eq!(resumed([vec!["/W/T/Pit".into()], saved.clone()].concat()).in_force(), history.in_force());
        assert_eq!(resumed(vec![]).edits(), history.edits());
        // A command that can't be followed leaves no trace.
        let before = history.clone();
        assert!(history.take(EditCommand::RemoveTerrainEdit { edit: "/W/T/Nothing".into() }).is_err());
        assert_eq!(history, before);
        for _ in 0..history.depths().0 {
            history.take(EditCommand::Undo).unwrap();
        }
        assert!(history.take(EditCommand::Undo).is_err() && history.edits().is_empty());
    }

    #[test]
    fn names_of_new_edits_come_after_those_of_the_stage() {
        for (authored, expected) in [
            (vec![], "/T/Edit_000001"),
            (vec!["/T/Crater"], "/T/Edit_000001"),
            (vec!["/T/Edit_000007", "/T/Edit_000003"], "/T/Edit_000008"),
            (vec!["/T/Edit_1"], "/T/Session_Edit_000001"),
            (vec!["/T/Session_Edit_000041"], "/T/Session_Edit_000042"),
            (vec!["/T/Yard"], "/T/session_edit_000001"),
            (vec!["/T/yard"], "/T/zz_edit_000001"),
        ] {
            let authored: Vec<String> = authored.into_iter().map(str::to_owned).collect();
            let mut history = History::new("/T", authored.clone());
            let name = history.take(brush(0.0)).unwrap();
            assert_eq!(name, expected);
            assert!(authored.iter().all(|prim| *prim < name), "{authored:?}");
        }
    }

    #[test]
    fn commands_have_plain_names_in_json() {
        let json =
            serde_json::to_string(&EditCommand::PlaceCrater { x_m: 1.0, z_m: -2.5, radius_m: 3.0, depth_m: 0.0 });
        assert_eq!(json.unwrap(), r#"{"command":"PlaceCrater","x_m":1.0,"z_m":-2.5,"radius_m":3.0,"depth_m":0.0}"#);
        let undo: EditCommand = serde_json::from_str(r#"{"command":"Undo"}"#).unwrap();
        assert_eq!(undo, EditCommand::Undo);
        let mistyped = r#"{"command":"CarveHole","x_m":1,"z_m":2,"radius_m":3,"depth_m":1}"#;
        assert!(serde_json::from_str::<EditCommand>(mistyped).is_err());
    }
}
