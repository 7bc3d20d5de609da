//! Rasters and where they are: everything that talks to GDAL and PROJ.
//!
//! [`read_dem`] reads a raster's heights with its own georeferencing,
//! [`read_image`] reads a picture and places it in a site's CRS, [`Crs`]
//! converts map coordinates to longitude and latitude on the body, and
//! [`write_geotiff`] writes what terrane computes. No GDAL type crosses this
//! crate's door.
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
mod image;
mod info;
mod write;

pub use crs::{Body, Crs};
pub use dem::{Dem, read_dem, resample_dem};
pub use error::GeoError;
pub use image::{Image, read_image};
pub use info::{PostGrid, RasterInfo, raster_info};
pub use write::{GeotiffValues, write_geotiff};
