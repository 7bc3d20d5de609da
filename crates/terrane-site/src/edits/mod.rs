//! Edits as data: commands, a history to undo and redo in, and a session layer
//! of small prims that is stronger than the stage and never part of it until
//! it is saved.
//!
//! A [`History`] is the list of commands that were given, undo and redo among
//! them; what is in force follows from it alone, so that the same log gives the
//! same ground. [`SessionFiles`] keep it between runs. [`Editor`] works on an
//! open site.

mod editor;
mod history;
mod layer;
mod session;

pub use editor::{Edited, Editor};
pub use history::{EditCommand, History, SessionEdit};
pub use session::{SaveReport, SessionFiles};
