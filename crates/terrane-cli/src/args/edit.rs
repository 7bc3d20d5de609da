//! What `terrane edit` takes.

use super::positive;
use clap::Subcommand;
use std::path::PathBuf;

/// Edits of the ground.
#[derive(Debug, Subcommand)]
pub enum EditKind {
    /// Raise (or lower) the ground by an amount in the middle, fading to nothing.
    #[command(allow_negative_numbers = true)]
    Brush {
        #[command(flatten)]
        disc: Disc,
        /// Metres up in the middle; negative is down.
        #[arg(long, value_name = "METRES")]
        amount: f64,
    },
    /// Level the ground to the height found in the middle; flat in the inner half.
    #[command(allow_negative_numbers = true)]
    Flatten {
        #[command(flatten)]
        disc: Disc,
        /// Metres above the height found in the middle.
        #[arg(long, default_value = "0", value_name = "METRES")]
        offset: f64,
    },
    /// Dig a fresh crater; the radius is that of its rim.
    #[command(allow_negative_numbers = true)]
    Crater {
        #[command(flatten)]
        disc: Disc,
        /// From rim crest to floor, metres, the rim in proportion; as published for its size when left out.
        #[arg(long, value_name = "METRES", value_parser = positive)]
        depth: Option<f64>,
    },
    /// Blend the ground towards its mean.
    #[command(allow_negative_numbers = true)]
    Smooth {
        #[command(flatten)]
        disc: Disc,
        /// Metres over which heights are averaged; a quarter of the radius when left out.
        #[arg(long, value_name = "METRES", value_parser = positive)]
        length: Option<f64>,
    },
    /// Take the ground away.
    #[command(allow_negative_numbers = true)]
    Hole {
        #[command(flatten)]
        disc: Disc,
    },
    /// Set the class of the ground; `terrane export --layer class` writes classes.
    #[command(allow_negative_numbers = true)]
    Paint {
        #[command(flatten)]
        disc: Disc,
        /// The class, 0 to 255.
        #[arg(long, value_name = "CLASS")]
        class: u8,
    },
    /// Take an edit back, of the session or of the stage, by its prim path or last name.
    Remove {
        /// The edit.
        edit: String,
    },
    /// Take the last command back.
    Undo,
    /// Give the last command that was taken back again.
    Redo,
    /// Do all commands of a log, or none.
    Replay {
        /// The log, one command a line, as JSON.
        log: PathBuf,
    },
}

/// A place and how far from it.
#[derive(Debug, Clone, Copy, clap::Args)]
pub struct Disc {
    /// Site x, metres; longitude with --lon-lat.
    pub x: f64,
    /// Site z, metres; latitude with --lon-lat.
    pub z: f64,
    /// How far it reaches, metres; of a crater, its rim (ejecta reach four times as far).
    #[arg(long, value_name = "METRES", value_parser = positive, allow_negative_numbers = true)]
    pub radius: f64,
}
