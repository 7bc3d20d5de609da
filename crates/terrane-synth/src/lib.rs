//! A seeded lunar polar site as plain grids of numbers.
//!
//! For tests, demonstrations and sites that nobody has measured: a [`Recipe`]
//! (what a person writes) becomes a [`Landscape`] (craters placed and indexed,
//! made once), which is sampled on any [`GridSpec`] into heights and normal
//! albedo. [`Crater`] says what was placed. No files, no map projections.
//!
//! ```
//! use terrane_core::Quiet;
//! use terrane_synth::{GridSpec, Landscape, Recipe};
//!
//! let mut recipe = Recipe { seed: 7, ..Recipe::default() };
//! recipe.craters.detail_half_extent_m = 100.0;
//! let landscape = Landscape::new(&recipe, 500.0)?;
//! let grid = GridSpec::centred(1.0, 65);
//! let heights = landscape.heights(&grid, &Quiet)?;
//! assert_eq!(heights.len(), 65 * 65);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Laws
//!
//! - Equal recipes give equal bits on one platform (the mathematical functions of
//!   its C library are used), whatever the number of threads: every value is
//!   a pure function of recipe, extent, posting and place.
//! - A grid shows nothing smaller than three of its postings; what is larger than
//!   six is shown in full, so grids of different posting agree about it.
//! - A crater changes nothing beyond four of its radii, and the ground is C1.
//!
//! # Sources
//!
//! - Fassett and Thomson 2014, J. Geophys. Res. Planets 119, 2255,
//!   doi:10.1002/2014JE004698: crater profile (eq. 4) and its diffusion.
//! - McGetchin, Settle and Head 1973, Earth Planet. Sci. Lett. 20, 226: ejecta
//!   thickness falls with the cube of the distance.
//! - Minton et al. 2019, Icarus 326, 63 (arXiv:1902.07746): equilibrium of small
//!   craters by diffusion.
//! - Pike 1977, in Impact and Explosion Cratering, 489: depth and rim height.
//! - Rosenburg et al. 2011, J. Geophys. Res. 116, E02001: slopes and Hurst
//!   exponents of the Moon.
//! - Stopar et al. 2017, Icarus 298, 34, and Sun et al. 2018, Icarus 309, 61:
//!   small fresh craters are shallower.
//! - Trask 1966, JPL Tech. Rep. 32-800: density of craters in equilibrium.

mod albedo;
mod crater;
mod grid;
pub mod index;
mod landscape;
pub mod noise;
mod population;
mod profile;
mod recipe;
mod relief;

pub use crater::{Crater, fresh_depth_ratio};
pub use grid::GridSpec;
pub use landscape::Landscape;
pub use profile::{DEPTH_RATIO, RIM_RATIO, SUPPORT_RADII, fresh_profile};
pub use recipe::{
    AlbedoRecipe, CraterFeature, CraterRecipe, Feature, PadRecipe, Recipe, RecipeError, ReliefRecipe, RidgeFeature,
};
