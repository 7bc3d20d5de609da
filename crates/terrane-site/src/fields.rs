//! Fields of the ground: heights, where they come from, classes and maps derived
//! from heights, on any grid.

use crate::Failure;
use crate::ground::Ground;
use serde::Serialize;
use terrane_core::Diagnostic;
use terrane_geo::GeotiffBand;
use terrane_surface::SiteRect;
use terrane_surface::derived::{DerivedMap, DerivedOptions, HeightWindow};

/// What a field's values are made by.
pub(crate) enum Layer {
    Height,
    Source,
    Class,
    Derived(DerivedMap),
}

impl Layer {
    pub(crate) fn named(name: &str) -> Option<Self> {
        match name {
            "height" => Some(Self::Height),
            "source" => Some(Self::Source),
            "class" => Some(Self::Class),
            name => name.parse().ok().map(Self::Derived),
        }
    }

    pub(crate) fn unit(&self) -> &'static str {
        match self {
            Self::Height => "metre",
            Self::Source | Self::Class => "1",
            Self::Derived(map) => map.unit(),
        }
    }

    /// Classes and directions can't be averaged.
    pub(crate) fn wants_nearest(&self) -> bool {
        matches!(self, Self::Source | Self::Class | Self::Derived(DerivedMap::Aspect | DerivedMap::Normal))
    }

    pub(crate) fn description(&self) -> &'static str {
        match self {
            Self::Height => "height above the vertical datum",
            Self::Source => {
                "which DEM gives the height, 1 is the finest; 128 more where it was filled in and not measured, 64 more where a layer or an edit changed it; 0 for no ground"
            }
            Self::Class => "class of the ground that edits have painted; 0 where none has",
            Self::Derived(map) => map.description(),
        }
    }

    pub(crate) fn bands(&self) -> Vec<GeotiffBand> {
        let names = match self {
            Self::Height => &["height"],
            Self::Source => &["source"],
            Self::Class => &["class"],
            Self::Derived(map) => map.band_names(),
        };
        let band = |name: &&str| GeotiffBand {
            name: (*name).to_owned(),
            description: self.description().to_owned(),
            unit: self.unit().to_owned(),
        };
        names.iter().map(band).collect()
    }
}

/// Names of the layers that every site has.
pub fn layer_names() -> Vec<&'static str> {
    ["height", "source", "class"].into_iter().chain(DerivedMap::all().map(DerivedMap::name)).collect()
}

/// Values of a layer at places that have a margin around what is wanted.
pub(crate) fn values(
    ground: &Ground,
    layer: &Layer,
    options: &DerivedOptions,
    (xs_m, zs_m): (&[f64], &[f64]),
    (columns, rows): (usize, usize),
    margin: usize,
    posting_m: f64,
) -> Result<Vec<f32>, Failure> {
    // Heights above the datum: slopes are against the local horizontal.
    let surface = &ground.surface;
    let places = || zs_m.iter().flat_map(|z_m| xs_m.iter().map(move |x_m| (*x_m, *z_m)));
    Ok(match layer {
        Layer::Height => surface.datum_heights_m(xs_m, zs_m).into_iter().map(|height| height as f32).collect(),
        Layer::Source => {
            let source = |x_m: f64, z_m: f64| match surface.datum_height_m(x_m, z_m) {
                Some((_, dem)) => {
                    let filled = if surface.is_filled(x_m, z_m, dem) { 128.0 } else { 0.0 };
                    let shaped = if surface.shaped_by(x_m, z_m).is_empty() { 0.0 } else { 64.0 };
                    (dem + 1) as f32 + filled + shaped
                }
                None => 0.0,
            };
            places().map(|(x, z)| source(x, z)).collect()
        }
        Layer::Class => places().map(|(x, z)| f32::from(surface.class_at(x, z).unwrap_or(0))).collect(),
        Layer::Derived(map) => {
            let heights_m = surface.datum_heights_m(xs_m, zs_m);
            let window = HeightWindow { columns, rows, margin, posting_m, heights_m };
            map.evaluate(&window, options).map_err(|error| {
                Diagnostic::error("derived-map", "map can't be derived").with_detail(error.to_string())
            })?
        }
    })
}

/// Values of a field over a part of the site, in memory.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct RegionRaster {
    /// The field.
    pub layer: String,
    /// Its unit.
    pub unit: String,
    /// Site x of the first column and z of the first row, metres.
    pub corner_m: [f64; 2],
    /// Distance between posts, metres.
    pub posting_m: f64,
    /// Columns, eastwards.
    pub columns: usize,
    /// Rows, southwards.
    pub rows: usize,
    /// `columns * rows` values a band, row by row; NaN is nodata.
    pub bands: Vec<Vec<f32>>,
}

/// Posts of one region raster, at most.
const MOST_REGION_POSTS: f64 = 67_108_864.0;

/// A field of the ground (`height`, `source`, `class` or a derived map) on a
/// grid of its own: from the region's north-west corner, `posting_m` apart.
pub fn region_raster(
    ground: &Ground,
    layer: &str,
    region: &SiteRect,
    posting_m: f64,
    options: &DerivedOptions,
) -> Result<RegionRaster, Failure> {
    let refused = |detail: String| Failure::from(Diagnostic::error("region", "no such region").with_detail(detail));
    let field =
        Layer::named(layer).ok_or_else(|| refused(format!("`{layer}` is none of {}", layer_names().join(", "))))?;
    let (width_m, height_m) = region.size_m();
    let count = |side_m: f64| (side_m / posting_m + 1e-6).floor() + 1.0;
    let (columns, rows) = (count(width_m), count(height_m));
    let is_sane = posting_m > 0.0 && columns >= 1.0 && rows >= 1.0 && columns * rows <= MOST_REGION_POSTS;
    if !is_sane {
        return Err(refused(format!(
            "{width_m} by {height_m} m with posts {posting_m} m apart; there may be {MOST_REGION_POSTS} posts at most"
        )));
    }
    let (columns, rows) = (columns as usize, rows as usize);
    let margin = if let Layer::Derived(map) = &field { map.margin_posts(options) } else { 0 };
    let places = |first_m: f64, count: usize| -> Vec<f64> {
        (0..count + 2 * margin).map(|k| first_m + (k as f64 - margin as f64) * posting_m).collect()
    };
    let corner_m = [region.x_m[0], region.z_m[0]];
    let (xs_m, zs_m) = (places(corner_m[0], columns), places(corner_m[1], rows));
    let all = values(ground, &field, options, (&xs_m, &zs_m), (columns, rows), margin, posting_m)?;
    ground.check_read()?;
    Ok(RegionRaster {
        layer: layer.to_owned(),
        unit: field.unit().to_owned(),
        corner_m,
        posting_m,
        columns,
        rows,
        bands: all.chunks_exact((columns * rows).max(1)).map(<[f32]>::to_vec).collect(),
    })
}
