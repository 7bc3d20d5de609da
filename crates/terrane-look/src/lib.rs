//! Material sources made into shaders: resolved, compiled, composed,
//! reflected and checked. No GPU here.
//!
//! [`compile`] takes a [`terrane_core::ShaderLook`] and returns a [`Program`]:
//! naga modules for the vertex and fragment stages, the parameters that the
//! shader's own `struct Material` declares, and the textures it binds.
//! [`Program::check`] says what an author got wrong; [`Program::uniform`] packs
//! values by reflected offsets.
//!
//! The way of a source: WESL (imports from `lunco::` libraries or from beside
//! it, `@if`) becomes WGSL; imports of `terrane::` name the engine's interface
//! modules and are composed by naga_oil; naga validates the whole.
//!
//! ```
//! use terrane_assets::AssetRoots;
//! use terrane_core::look::{AssetRef, ShaderLanguage, ShaderSource};
//!
//! let source = ShaderSource {
//!     language: ShaderLanguage::Wesl,
//!     asset: AssetRef { authored: "lunco://shaders/terrain_layered.wesl".into(), anchor: String::new() },
//!     path: "/Looks/Ground/Shader.info:wesl:sourceAsset".into(),
//! };
//! let program = terrane_look::compile(&source, &AssetRoots::default())?;
//! assert!(program.params.iter().any(|param| param.name == "weight_albedo"));
//! # Ok::<(), Box<terrane_core::Diagnostic>>(())
//! ```
//!
//! Laws kept here: authored intent is never replaced; layouts are reflected,
//! never written down twice; every message names the author's file and line.

mod check;
mod compile;
mod compose;
mod places;
mod reflect;
mod source;

pub use compile::{Program, compile};
pub use reflect::{EngineFill, Param, ParamType, TextureSlot};
