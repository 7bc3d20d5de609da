//! `terrane edit` and `terrane edits`.

use crate::args::{Disc, EditKind};
use crate::print::{self, say};
use crate::progress::Bar;
use serde::Serialize;
use std::path::Path;
use terrane_site::Failure;
use terrane_site::edits::{EditCommand, Edited, Editor, SaveReport, SessionEdit};
use terrane_site::query::Place;

/// Does one edit, or a log of them, and keeps the session.
pub fn edit(editor: &mut Editor, kind: &EditKind, lon_lat: bool, json: bool, progress: &Bar) -> Result<(), Failure> {
    let place = |disc: &Disc| {
        if lon_lat { Place::LonLat(disc.x, disc.z) } else { Place::Site(disc.x, disc.z) }.xz_m(&editor.ground)
    };
    let command = match kind {
        EditKind::Replay { log } => {
            let done = editor.replay(log)?;
            editor.keep()?;
            progress.finish();
            match (json, done.last()) {
                (true, _) => print::json(&done),
                (false, None) => say!("the log holds no command"),
                (false, Some(last)) => say!("done      {} commands; {}", done.len(), state(last)),
            }
            return Ok(());
        }
        EditKind::Brush { disc, amount } => {
            let (x_m, z_m) = place(disc)?;
            EditCommand::BrushTerrain { x_m, z_m, radius_m: disc.radius, amount_m: *amount }
        }
        EditKind::Flatten { disc, offset } => {
            let (x_m, z_m) = place(disc)?;
            EditCommand::FlattenTerrain { x_m, z_m, radius_m: disc.radius, offset_m: *offset }
        }
        EditKind::Crater { disc, depth } => {
            let (x_m, z_m) = place(disc)?;
            EditCommand::PlaceCrater { x_m, z_m, radius_m: disc.radius, depth_m: depth.unwrap_or(0.0) }
        }
        EditKind::Smooth { disc, length } => {
            let (x_m, z_m) = place(disc)?;
            EditCommand::SmoothTerrain { x_m, z_m, radius_m: disc.radius, length_m: length.unwrap_or(0.0) }
        }
        EditKind::Hole { disc } => {
            let (x_m, z_m) = place(disc)?;
            EditCommand::CarveHole { x_m, z_m, radius_m: disc.radius }
        }
        EditKind::Paint { disc, class } => {
            let (x_m, z_m) = place(disc)?;
            EditCommand::PaintTerrain { x_m, z_m, radius_m: disc.radius, class: *class }
        }
        EditKind::Remove { edit } => EditCommand::RemoveTerrainEdit { edit: edit.clone() },
        EditKind::Undo => EditCommand::Undo,
        EditKind::Redo => EditCommand::Redo,
    };
    let what = match &command {
        EditCommand::Undo => "undone  ",
        EditCommand::Redo => "redone  ",
        EditCommand::RemoveTerrainEdit { .. } => "removed ",
        _ => "edit    ",
    };
    let edited = editor.apply(command)?;
    editor.ground.check_read()?;
    editor.keep()?;
    progress.finish();
    if json {
        print::json(&edited);
        return Ok(());
    }
    say!("{what}  {}", edited.prim);
    say!("changed   {} tiles of all levels; {}", edited.changed_tiles.len(), state(&edited));
    if edited.changed_tiles.is_empty() {
        say!("          the edit lies where there is no ground");
    }
    Ok(())
}

fn state(edited: &Edited) -> String {
    let levels = if edited.levels_renumbered {
        format!("; level 0 is now {} m", edited.finest_posting_m)
    } else {
        String::new()
    };
    format!("{} edits in force, {} to undo, {} to redo{levels}", edited.edits, edited.undo, edited.redo)
}

#[derive(Debug, Serialize)]
struct Listing<'a> {
    terrain: &'a str,
    in_force: Vec<String>,
    session: Vec<SessionEdit>,
    removed: Vec<String>,
    commands: usize,
    key: String,
    saved: Option<SaveReport>,
    cleared: bool,
}

/// Lists edits; saves, writes the log, clears when asked, in this order.
pub fn list(
    editor: &mut Editor,
    save: Option<&Path>,
    log: Option<&Path>,
    clear: bool,
    json: bool,
) -> Result<(), Failure> {
    let saved = save.map(|layer| editor.save(layer)).transpose()?;
    log.map(|file| editor.write_log(file)).transpose()?;
    let history = editor.history();
    let listing = Listing {
        terrain: history.terrain(),
        in_force: history.in_force(),
        session: history.edits(),
        removed: history.removed(),
        commands: history.log().len(),
        key: editor.ground.key.to_string(),
        saved: saved.clone(),
        cleared: clear,
    };
    if json {
        print::json(&listing);
    } else {
        if listing.in_force.is_empty() {
            say!("no edits in force on {}", listing.terrain);
        }
        for prim in &listing.in_force {
            match listing.session.iter().find(|own| own.prim == *prim) {
                Some(SessionEdit { edit, .. }) => say!("{prim}  {}", print::edit(edit)),
                None => say!("{prim}  of the stage"),
            }
        }
        listing.removed.iter().for_each(|prim| say!("{prim}  of the stage, removed"));
        if let Some(saved) = &saved {
            say!("saved     {}: {} edits, {} removed", saved.layer.display(), saved.edits, saved.removed);
            say!("          add it to the stage's subLayers, then end the session with --clear");
            if saved.removed > 0 {
                say!(
                    "          a sublayer is weaker than the stage itself: where that authors lunco:layer:enabled, take"
                );
                say!("          the edit away there");
            }
        }
    }
    if clear {
        editor.clear()?;
        if !json {
            say!("cleared   the session is empty; the stage's own edits are in force");
        }
    }
    Ok(())
}
