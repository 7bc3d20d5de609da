//! Rasters and where they are: everything that talks to GDAL and PROJ.
//!
//! [`DemFile`] opens a raster of heights of any size and gives them window by
//! window, on its own grid or on another one; [`read_image`] reads a picture and
//! places it in a site's CRS, [`Crs`] converts map coordinates to longitude and
//! latitude on the body, and [`write_geotiff`] writes what terrane computes. No
//! GDAL type crosses this crate's door.
//!
//! ```
//! use terrane_geo::Crs;
//!
//! // The south pole of the Moon, polar stereographic, metres.
//! let crs = Crs::parse("IAU_2015:30135")?;
//! let (lon, lat) = crs.lon_lat(0.0, 30_000.0)?;
//! assert!(lon.abs() < 1e-9 && lat < -89.0);
//! # Ok::<(), terrane_geo::GeoError>(())
//! ```
//!
//! Laws kept here: the raster is the truth about where it is; nothing guesses;
//! a raster that can't be placed is an error that says what is missing; nodata
//! stays a hole (NaN). PROJ is reached through GDAL, so that one PROJ and one
//! database serve the whole process.

mod crs;
mod dem;
mod error;
mod fill;
mod frame;
mod image;
mod info;
mod keys;
mod layer;
mod name;
mod open;
mod place;
mod sample;
mod source;
mod statistics;
mod values;
mod vrt;
mod warp;
mod write;

pub use crs::{Body, Crs};
pub use dem::{DemFile, OpenOptions, RasterOutline};
pub use error::GeoError;
pub use image::{Image, read_image};
pub use info::{PostGrid, RasterInfo, raster_info};
pub use layer::{Footprint, LayerFile, LayerKind};
pub use name::RasterName;
pub use open::Allowed;
pub use statistics::{DemStatistics, statistics};
pub use vrt::referenced_files;
pub use write::{
    Compression, GeotiffBand, GeotiffOptions, GeotiffValues, GeotiffWriter, PixelType, geotiff_metadata,
    reproject_geotiff, write_geotiff,
};
