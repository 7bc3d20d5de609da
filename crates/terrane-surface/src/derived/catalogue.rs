//! The table of maps: adding one is a row, its function and its test.

use super::{DerivedError, DerivedOptions, HeightWindow, curvature, gradient, roughness, sky_view};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// A map derived from heights.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum DerivedMap {
    /// Steepness.
    Slope,
    /// Where a slope faces.
    Aspect,
    /// Unit normal of the ground, three bands.
    Normal,
    /// Sunlit picture of the relief.
    Hillshade,
    /// Relief among nine posts.
    Roughness,
    /// Terrain ruggedness index.
    Tri,
    /// Curvature along the line of steepest descent.
    ProfileCurvature,
    /// Curvature of the contour.
    PlanCurvature,
    /// Mean of the two principal curvatures.
    MeanCurvature,
    /// Share of the sky that the relief leaves visible.
    AmbientOcclusion,
}

pub(super) fn known_names() -> String {
    CATALOGUE.iter().map(|entry| entry.name).collect::<Vec<_>>().join(", ")
}

/// Fills one row of each band.
type RowKernel = fn(&HeightWindow, &DerivedOptions, row: usize, bands: &mut [&mut [f32]]);

struct Entry {
    map: DerivedMap,
    name: &'static str,
    unit: &'static str,
    description: &'static str,
    bands: &'static [&'static str],
    range: (f64, f64),
    margin_posts: fn(&DerivedOptions) -> usize,
    kernel: RowKernel,
}

const RING: fn(&DerivedOptions) -> usize = |_| 1;
const ANY: (f64, f64) = (f64::NEG_INFINITY, f64::INFINITY);

/// In the order of the enum.
const CATALOGUE: &[Entry] = &[
    Entry {
        map: DerivedMap::Slope,
        name: "slope",
        unit: "degree",
        description: "angle between the ground and the horizontal, by Horn's weighted differences (Horn 1981)",
        bands: &["slope"],
        range: (0.0, 90.0),
        margin_posts: RING,
        kernel: gradient::slope_row,
    },
    Entry {
        map: DerivedMap::Aspect,
        name: "aspect",
        unit: "degree",
        description: "direction of steepest descent, clockwise from grid north, by Horn's weighted differences (Horn 1981); nodata on level ground",
        bands: &["aspect"],
        range: (0.0, 360.0),
        margin_posts: RING,
        kernel: gradient::aspect_row,
    },
    Entry {
        map: DerivedMap::Normal,
        name: "normal",
        unit: "1",
        description: "unit normal of the ground in site axes (x east, y up, z south), by Horn's weighted differences (Horn 1981)",
        bands: &["normal_x", "normal_y", "normal_z"],
        range: (-1.0, 1.0),
        margin_posts: RING,
        kernel: gradient::normal_row,
    },
    Entry {
        map: DerivedMap::Hillshade,
        name: "hillshade",
        unit: "1",
        description: "cosine of the angle between normal and sun, 0 where the ground faces away (Horn 1981); no shadows are cast",
        bands: &["hillshade"],
        range: (0.0, 1.0),
        margin_posts: RING,
        kernel: gradient::hillshade_row,
    },
    Entry {
        map: DerivedMap::Roughness,
        name: "roughness",
        unit: "metre",
        description: "largest minus smallest height of 3 x 3 posts (Wilson et al. 2007)",
        bands: &["roughness"],
        range: (0.0, f64::INFINITY),
        margin_posts: RING,
        kernel: roughness::roughness_row,
    },
    Entry {
        map: DerivedMap::Tri,
        name: "tri",
        unit: "metre",
        description: "terrain ruggedness index: root of the summed squared differences to the eight neighbours (Riley et al. 1999)",
        bands: &["tri"],
        range: (0.0, f64::INFINITY),
        margin_posts: RING,
        kernel: roughness::tri_row,
    },
    Entry {
        map: DerivedMap::ProfileCurvature,
        name: "profile-curvature",
        unit: "1/metre",
        description: "normal curvature along the line of steepest descent, positive where convex, of the quadratic through 3 x 3 posts (Evans 1980); nodata on level ground and beside holes",
        bands: &["profile_curvature"],
        range: ANY,
        margin_posts: RING,
        kernel: curvature::profile_row,
    },
    Entry {
        map: DerivedMap::PlanCurvature,
        name: "plan-curvature",
        unit: "1/metre",
        description: "curvature of the contour on the map, positive where it bulges downhill, of the quadratic through 3 x 3 posts (Evans 1980); nodata on level ground and beside holes",
        bands: &["plan_curvature"],
        range: ANY,
        margin_posts: RING,
        kernel: curvature::plan_row,
    },
    Entry {
        map: DerivedMap::MeanCurvature,
        name: "mean-curvature",
        unit: "1/metre",
        description: "mean of the two principal curvatures, positive where convex, of the quadratic through 3 x 3 posts (Evans 1980); nodata beside holes",
        bands: &["mean_curvature"],
        range: ANY,
        margin_posts: RING,
        kernel: curvature::mean_row,
    },
    Entry {
        map: DerivedMap::AmbientOcclusion,
        name: "ambient-occlusion",
        unit: "1",
        description: "cosine-weighted share of the sky above a level receiver that the relief leaves visible: 1 minus the mean over azimuths of the squared sine of the horizon's elevation",
        bands: &["sky_view"],
        range: (0.0, 1.0),
        margin_posts: |options| options.sky_radius_posts,
        kernel: sky_view::sky_view_row,
    },
];

impl DerivedMap {
    /// Every map, in the order of the catalogue.
    pub fn all() -> impl ExactSizeIterator<Item = Self> {
        CATALOGUE.iter().map(|entry| entry.map)
    }

    fn entry(self) -> &'static Entry {
        &CATALOGUE[self as usize]
    }

    /// What it is called in commands and files.
    pub fn name(self) -> &'static str {
        self.entry().name
    }

    /// Unit of every band, as GDAL and UDUNITS spell it; `1` is dimensionless.
    pub fn unit(self) -> &'static str {
        self.entry().unit
    }

    /// Definition and source, for a person and for a file's metadata.
    pub fn description(self) -> &'static str {
        self.entry().description
    }

    /// Names of its bands, in order.
    pub fn band_names(self) -> &'static [&'static str] {
        self.entry().bands
    }

    /// Smallest and largest value that the definition allows.
    pub fn valid_range(self) -> (f64, f64) {
        self.entry().range
    }

    /// Posts that it looks at beyond each one that it is evaluated at.
    pub fn margin_posts(self, options: &DerivedOptions) -> usize {
        (self.entry().margin_posts)(options)
    }

    /// The map on a window: band after band (planar), each row-major,
    /// `columns * rows` long; NaN is nodata. A larger margin than the map
    /// needs changes nothing.
    pub fn evaluate(self, window: &HeightWindow, options: &DerivedOptions) -> Result<Vec<f32>, DerivedError> {
        options.check()?;
        window.check(self.margin_posts(options))?;
        let entry = self.entry();
        let posts = window.columns * window.rows;
        let mut values = vec![f32::NAN; posts * entry.bands.len()];
        if posts == 0 {
            return Ok(values);
        }
        let mut rows: Vec<Vec<&mut [f32]>> = (0..window.rows).map(|_| Vec::with_capacity(entry.bands.len())).collect();
        for band in values.chunks_exact_mut(posts) {
            rows.iter_mut().zip(band.chunks_exact_mut(window.columns)).for_each(|(row, values)| row.push(values));
        }
        rows.par_iter_mut().enumerate().for_each(|(row, bands)| (entry.kernel)(window, options, row, bands));
        Ok(values)
    }
}

impl fmt::Display for DerivedMap {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for DerivedMap {
    type Err = DerivedError;

    fn from_str(name: &str) -> Result<Self, DerivedError> {
        let unknown = || DerivedError::UnknownMap { name: name.to_owned() };
        CATALOGUE.iter().find(|entry| entry.name == name).map(|entry| entry.map).ok_or_else(unknown)
    }
}
