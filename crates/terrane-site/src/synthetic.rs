//! Twins described by a recipe: their rasters are made on first use, as real
//! GeoTIFFs, and are then treated like any others.

use crate::Failure;
use serde::{Deserialize, Serialize};
use std::path::Path;
use terrane_assets::AssetRoots;
use terrane_core::{ContentKey, Diagnostic, KeyBuilder, Place, Progress};
use terrane_geo::{Crs, GeotiffValues, PostGrid, write_geotiff};
use terrane_synth::{GridSpec, Landscape, Recipe};

/// Raised when the same recipe gives other data.
const RULE_VERSION: u32 = 2;

/// `[synthetic]` of `twin.toml`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Synthetic {
    /// CRS of the rasters.
    crs: String,
    /// Easting of the middle, metres.
    easting_m: f64,
    /// Northing of the middle, metres.
    northing_m: f64,
    /// Added to every height, metres.
    base_height_m: f64,
    /// Half the side of the square that the landscape fills, metres.
    half_extent_m: f64,
    /// Rasters to make.
    rasters: Vec<SyntheticRaster>,
    /// What the landscape is made of.
    #[serde(default)]
    recipe: Recipe,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct SyntheticRaster {
    /// File below the twin's root.
    file: String,
    /// `height` or `albedo`.
    kind: RasterKind,
    /// Distance between posts, metres.
    posting_m: f64,
    /// Posts a side.
    posts: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
enum RasterKind {
    Height,
    Albedo,
}

/// More posts a side than this are a slip of the pen.
const MAX_POSTS: usize = 16_385;

/// Makes the rasters of the open twin's recipe that are not there yet, or that
/// another recipe made.
pub(crate) fn ensure_generated(roots: &AssetRoots, progress: &dyn Progress) -> Result<(), Failure> {
    let Some(twin) = &roots.twin else { return Ok(()) };
    let Some(table) = &twin.manifest().synthetic else { return Ok(()) };
    let manifest = twin.root().join(terrane_assets::MANIFEST_NAME);
    let wrong = |detail: String| {
        Failure::from(
            Diagnostic::error("twin-recipe", "twin's recipe can't be used")
                .with_place(Place::file(manifest.display().to_string()))
                .with_detail(detail),
        )
    };
    let synthetic: Synthetic =
        table.clone().try_into().map_err(|error: toml::de::Error| wrong(format!("[synthetic] {}", error.message())))?;
    synthetic.recipe.validate().map_err(|error| wrong(error.to_string()))?;
    let Synthetic { easting_m, northing_m, base_height_m, .. } = synthetic;
    if [easting_m, northing_m, base_height_m].iter().any(|value| !value.is_finite() || value.abs() > 1e9) {
        return Err(wrong(
            "easting_m, northing_m and base_height_m have to be numbers below a million kilometres".into(),
        ));
    }
    for raster in &synthetic.rasters {
        let (file, posts, posting_m) = (&raster.file, raster.posts, raster.posting_m);
        if !(2..=MAX_POSTS).contains(&posts) {
            return Err(wrong(format!("{file}: posts is {posts}; it goes from 2 to {MAX_POSTS}")));
        }
        if !(1e-3..=1e6).contains(&posting_m) {
            return Err(wrong(format!("{file}: posting_m is {posting_m}; it goes from 0.001 to 1000000")));
        }
        if !file.ends_with(".tif") || twin.manifest().data.contains_key(file) {
            return Err(wrong(format!(
                "{file}: a generated raster is a .tif inside the twin that [data] does not name"
            )));
        }
    }
    let crs = Crs::parse(&synthetic.crs)?;
    let write = |path: &Path, text: &str| std::fs::write(path, text).map_err(|error| Failure::unwritten(path, &error));
    let mut landscape = None;
    for raster in &synthetic.rasters {
        let key = raster_key(&synthetic, raster);
        let file = roots.resolve(&format!("twin://{}", raster.file), None)?;
        let Some(file) = file.as_file() else { continue };
        let stamp = file.with_extension("tif.key");
        let made_from = std::fs::read_to_string(&stamp).ok();
        if file.exists() && made_from.is_none() {
            return Err(wrong(format!(
                "{}: there is a file already, and no recipe made it; move it away",
                raster.file
            )));
        }
        if file.is_file() && made_from.is_some_and(|text| text.trim() == key.to_string()) {
            continue;
        }
        if let Some(folder) = file.parent() {
            std::fs::create_dir_all(folder).map_err(|error| Failure::unwritten(folder, &error))?;
        }
        // A raster without its stamp is nobody's; the stamp goes first, and
        // says what is being made only when it is whole.
        write(&stamp, "unfinished")?;
        if landscape.is_none() {
            progress.begin("laying craters", 1);
            landscape = Some(
                Landscape::new(&synthetic.recipe, synthetic.half_extent_m).map_err(|error| wrong(error.to_string()))?,
            );
            progress.advance(1);
        }
        if let Some(landscape) = &landscape {
            make(landscape, &synthetic, raster, &crs, file, progress)?;
            write(&stamp, &key.to_string())?;
        }
    }
    Ok(())
}

fn raster_key(synthetic: &Synthetic, raster: &SyntheticRaster) -> ContentKey {
    let text = serde_json::to_vec(&(&synthetic.crs, &synthetic.recipe, raster)).unwrap_or_default();
    let place = [synthetic.easting_m, synthetic.northing_m, synthetic.base_height_m, synthetic.half_extent_m];
    KeyBuilder::new("synthetic", RULE_VERSION).bytes("recipe", &text).numbers("place", &place).finish()
}

fn make(
    landscape: &Landscape,
    synthetic: &Synthetic,
    raster: &SyntheticRaster,
    crs: &Crs,
    file: &Path,
    progress: &dyn Progress,
) -> Result<(), Failure> {
    let local = GridSpec::centred(raster.posting_m, raster.posts);
    let grid = PostGrid {
        easting_m: synthetic.easting_m + local.x0_m,
        northing_m: synthetic.northing_m + local.y0_m,
        posting_m: raster.posting_m,
        columns: raster.posts,
        rows: raster.posts,
    };
    progress.begin(&format!("generating {}", raster.file), raster.posts as u64);
    match raster.kind {
        RasterKind::Height => {
            let mut heights = landscape.heights(&local, progress)?;
            heights.iter_mut().for_each(|height| *height += synthetic.base_height_m as f32);
            write_geotiff(file, crs, &grid, GeotiffValues::Float(&heights), true)?;
        }
        RasterKind::Albedo => {
            let albedo = landscape.albedo(&local, progress)?;
            let bytes: Vec<u8> =
                albedo.iter().map(|albedo| terrane_core::colour::srgb_byte_from_linear(*albedo)).collect();
            write_geotiff(file, crs, &grid, GeotiffValues::Byte(&bytes), true)?;
        }
    }
    Ok(())
}
