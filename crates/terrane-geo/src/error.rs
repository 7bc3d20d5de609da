//! What can be wrong with a raster.

use std::path::PathBuf;
use terrane_core::{Cancelled, Diagnostic, Place, PostReadError};

/// Why a raster can't be used.
#[derive(Debug, thiserror::Error)]
pub enum GeoError {
    /// No such file.
    #[error("{}: no such file", path.display())]
    Missing {
        /// The file.
        path: PathBuf,
    },
    /// GDAL can't open or read it.
    #[error("{}: {message}", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// GDAL's own words.
        message: String,
    },
    /// It has no CRS.
    #[error("{}: the raster declares no CRS that names a body", path.display())]
    NoCrs {
        /// The file.
        path: PathBuf,
    },
    /// It has no geotransform.
    #[error("{}: the raster has no geotransform, so nothing says where its posts lie", path.display())]
    NoGeotransform {
        /// The file.
        path: PathBuf,
    },
    /// It is placed, but not on a square, north-up, metric grid.
    #[error("{}: {what}", path.display())]
    UnfitGrid {
        /// The file.
        path: PathBuf,
        /// What does not fit.
        what: String,
    },
    /// Its values can't be heights.
    #[error("{}: {what}", path.display())]
    UnfitValues {
        /// The file.
        path: PathBuf,
        /// What does not fit.
        what: String,
    },
    /// No post holds a height.
    #[error("{}: every one of the {posts} posts is nodata ({nodata})", path.display())]
    AllNodata {
        /// The file.
        path: PathBuf,
        /// How many posts.
        posts: usize,
        /// The nodata value, in words.
        nodata: String,
    },
    /// A VRT names what may not be read.
    #[error("{}: {what}", path.display())]
    UnfitVrt {
        /// The file.
        path: PathBuf,
        /// What does not fit.
        what: String,
    },
    /// Its heights could not be read.
    #[error(transparent)]
    Read(#[from] PostReadError),
    /// A CRS that PROJ does not understand.
    #[error("`{definition}` is not a CRS that PROJ knows: {message}")]
    BadCrs {
        /// As written.
        definition: String,
        /// PROJ's words.
        message: String,
    },
    /// Two CRSs of different bodies, or a point outside a projection.
    #[error("coordinates can't be converted: {message}")]
    Transform {
        /// PROJ's words.
        message: String,
    },
    /// A file could not be written.
    #[error("{}: {message}", path.display())]
    Write {
        /// The file.
        path: PathBuf,
        /// Why.
        message: String,
    },
    /// A layer that lies elsewhere than the site.
    #[error("{}: the layer does not overlap the site\nlayer: {layer}\nsite: {site}", path.display())]
    NoOverlap {
        /// The file.
        path: PathBuf,
        /// Where the layer lies.
        layer: String,
        /// Where the site lies.
        site: String,
    },
    /// Stopped by the user.
    #[error(transparent)]
    Cancelled(#[from] Cancelled),
}

impl GeoError {
    /// The message for a person.
    pub fn diagnostic(&self) -> Diagnostic {
        let (code, title, path, help) = match self {
            Self::Missing { path } if path.to_string_lossy().starts_with("http") => {
                ("raster-missing", "raster not found", Some(path), "write /vsicurl/ before an address")
            }
            Self::Missing { path } => ("raster-missing", "raster not found", Some(path), "check the path"),
            Self::Unreadable { path, .. } => {
                ("raster-unreadable", "raster can't be read", Some(path), "`gdalinfo` on the file may say more")
            }
            Self::NoCrs { path } => (
                "raster-no-crs",
                "raster has no CRS",
                Some(path),
                "state it: `terrane twin new --crs EPSG:...`, or crs = \"...\" under [rasters.\"data/<file>\"] in twin.toml, or write it into the file with gdal_edit.py -a_srs",
            ),
            Self::NoGeotransform { path } => (
                "raster-no-geotransform",
                "raster has no geotransform",
                Some(path),
                "georeference it, for example with gdal_translate -a_ullr",
            ),
            Self::UnfitGrid { path, .. } => (
                "raster-unfit-grid",
                "raster's grid does not fit",
                Some(path),
                "warp it once: gdalwarp -t_srs <projected CRS of the body> -tr <metres> <metres> -r bilinear in.tif out.tif",
            ),
            Self::UnfitValues { path, .. } => {
                ("raster-unfit-values", "raster's values can't be heights", Some(path), "check [rasters] in twin.toml")
            }
            Self::AllNodata { path, .. } => {
                ("raster-all-nodata", "raster holds no data", Some(path), "check its nodata value")
            }
            Self::UnfitVrt { path, .. } => (
                "raster-unfit-vrt",
                "VRT can't be used",
                Some(path),
                "name plain raster files inside the project, or copy it into one file: gdal_translate in.vrt out.tif",
            ),
            Self::Read(_) => (
                "raster-read-failed",
                "raster's heights can't be read",
                None,
                "the file may be damaged or out of reach",
            ),
            Self::BadCrs { .. } => ("crs-unknown", "CRS not understood", None, ""),
            Self::Transform { .. } => ("crs-transform", "coordinates can't be converted", None, ""),
            Self::Write { path, .. } => ("write-failed", "file can't be written", Some(path), ""),
            Self::NoOverlap { path, .. } => (
                "layer-no-overlap",
                "layer lies elsewhere than the site",
                Some(path),
                "check that it is the right file, and its CRS with `terrane inspect`",
            ),
            Self::Cancelled(_) => ("cancelled", "cancelled", None, ""),
        };
        let text = self.to_string();
        let detail =
            path.map_or(text.clone(), |path| text.trim_start_matches(&format!("{}: ", path.display())).to_owned());
        let place = path.map_or(Place::default(), |path| Place::file(path.display().to_string()));
        Diagnostic::error(code, title).with_place(place).with_detail(detail).with_help(help)
    }
}
