//! What can go wrong.

use terrane_core::{Cancelled, PostReadError};
use terrane_surface::TileKey;

/// Why physics can't do what it was asked.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum PhysicsError {
    /// A number that describes a world or a body makes no sense.
    #[error("{what} has to be {expected}, not {found}")]
    BadNumber {
        /// Which number.
        what: &'static str,
        /// What it may be.
        expected: &'static str,
        /// What it was.
        found: f64,
    },
    /// Colliders are made of leaves: what is drawn at the finest level.
    #[error("tile {0:?} is not a leaf of the surface")]
    NotALeaf(TileKey),
    /// A vehicle can't start where there is no ground.
    #[error("there is no ground at x {x_m} m, z {z_m} m")]
    NoGround {
        /// Site x, metres.
        x_m: f64,
        /// Site z, metres.
        z_m: f64,
    },
    /// A path has too few places.
    #[error("a path needs at least two places, a metre or more apart in all")]
    NoPath,
    /// No way could be found over this ground.
    #[error("seed {seed} found no way of {distance_m} m over this ground")]
    NoWay {
        /// The seed.
        seed: u64,
        /// How far it should have gone, metres.
        distance_m: f64,
    },
    /// The region has more tiles than colliders can be kept of.
    #[error("{tiles} tiles are too many to be kept as colliders; at most {most}")]
    TooManyTiles {
        /// Tiles asked for.
        tiles: usize,
        /// The most there may be.
        most: usize,
    },
    /// Heights could not be read, so that "no ground" can't be trusted.
    #[error(transparent)]
    Unread(#[from] PostReadError),
    /// Stopped on request.
    #[error(transparent)]
    Cancelled(#[from] Cancelled),
}
