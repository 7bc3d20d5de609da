//! Edits as data: commands, a history to undo and redo in, and a session layer
//! of small prims that is stronger than the stage and never part of it until
//! it is saved.
//!
//! The log of commands is what is in force: the layer beside it is for other
//! programs, and follows from it.
//!
//! A [`History`] is the list of commands that were given, undo and redo among
//! them; what is in force follows from it alone, so that the same log gives the
//! same ground. [`SessionFiles`] keep it between runs. [`Editor`] works on an
//! open site.

mod compose;
mod editor;
mod history;
mod layer;
mod session;

pub(crate) use compose::compose;
pub use editor::{Edited, Editor};
pub use history::{EditCommand, History, SessionEdit, SessionStart};
pub use session::{SaveReport, SessionFiles};
