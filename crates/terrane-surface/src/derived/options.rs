//! What a map may be told, and why it can't be evaluated.

use super::catalogue::known_names;
use serde::{Deserialize, Serialize};

/// What some maps need to know besides the heights.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct DerivedOptions {
    /// Hillshade: where the sun stands, degrees clockwise from grid north.
    pub sun_azimuth_deg: f64,
    /// Hillshade: how high the sun stands, degrees.
    pub sun_elevation_deg: f64,
    /// Ambient occlusion: directions in which the horizon is sought.
    pub sky_azimuths: usize,
    /// Ambient occlusion: how far the horizon is sought, posts.
    pub sky_radius_posts: usize,
}

impl Default for DerivedOptions {
    fn default() -> Self {
        Self { sun_azimuth_deg: 315.0, sun_elevation_deg: 45.0, sky_azimuths: 16, sky_radius_posts: 64 }
    }
}

impl DerivedOptions {
    /// An error that names the option which is out of range.
    pub fn check(&self) -> Result<(), DerivedError> {
        let counts = [("sky_azimuths", self.sky_azimuths, 4096), ("sky_radius_posts", self.sky_radius_posts, 4096)];
        if let Some((option, given, _)) = counts.into_iter().find(|(_, count, most)| *count == 0 || count > most) {
            let expected = "at least 1, at most 4096 azimuths and 4096 posts";
            return Err(DerivedError::Option { option, given: given as f64, expected });
        }
        let angles = [("sun_azimuth_deg", self.sun_azimuth_deg), ("sun_elevation_deg", self.sun_elevation_deg)];
        match angles.into_iter().find(|(_, angle)| !angle.is_finite()) {
            Some((option, given)) => Err(DerivedError::Option { option, given, expected: "a finite angle in degrees" }),
            None => Ok(()),
        }
    }
}

/// Why a map can't be evaluated.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum DerivedError {
    /// No map of that name.
    #[error("there is no derived map `{name}`; there are {}", known_names())]
    UnknownMap {
        /// As written.
        name: String,
    },
    /// The window's heights are not as many as its size says.
    #[error("a window of this size holds {expected} heights; {given} were given")]
    HeightCount {
        /// How many there should be.
        expected: usize,
        /// How many there are.
        given: usize,
    },
    /// No distance between posts.
    #[error("a posting of {posting_m} m is not a distance")]
    Posting {
        /// As given.
        posting_m: f64,
    },
    /// The map looks further than the window reaches.
    #[error("the map needs {needed} posts around the window; {given} were given")]
    Margin {
        /// What it needs.
        needed: usize,
        /// What the window has.
        given: usize,
    },
    /// An option that means nothing.
    #[error("{option} = {given} is out of range: {expected}")]
    Option {
        /// Its name.
        option: &'static str,
        /// As given.
        given: f64,
        /// What it may be.
        expected: &'static str,
    },
}
