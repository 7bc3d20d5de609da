//! How a raster is named.

use std::fmt;
use std::path::{Path, PathBuf};

/// Beginnings of the names by which GDAL picks one grid of a file that holds
/// several, such as `NETCDF:"heights.nc":z`.
const PARTS: &[&str] = &["NETCDF:", "HDF5:", "HDF4_SDS:", "HDF4_EOS:", "GTIFF_DIR:", "BAG:", "PDS4:"];

/// Beginnings of addresses, and the GDAL file systems that read them.
const ADDRESSES: &[(&str, &str)] =
    &[("https://", "/vsicurl/https://"), ("http://", "/vsicurl/http://"), ("s3://", "/vsis3/"), ("gs://", "/vsigs/")];

/// How a raster is named: a path, or one of GDAL's own names (`/vsicurl/...`,
/// `/vsis3/...`, `/vsizip/...`, `NETCDF:"file":variable`).
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct RasterName(PathBuf);

impl RasterName {
    /// A name as a person writes it. `https://...` and `s3://...` are read
    /// through GDAL's network file systems.
    pub fn parse(text: &str) -> Self {
        let address = ADDRESSES.iter().find_map(|(scheme, system)| Some((text.strip_prefix(scheme)?, system)));
        Self(address.map_or_else(|| PathBuf::from(text), |(rest, system)| format!("{system}{rest}").into()))
    }

    /// The path when it names a file, `None` when it is one of GDAL's own
    /// names.
    pub fn is_file(&self) -> Option<&Path> {
        let text = self.0.to_string_lossy();
        let own = text.starts_with("/vsi") || PARTS.iter().any(|part| text.starts_with(part));
        (!own).then_some(self.0.as_path())
    }

    /// What GDAL is asked for.
    pub fn as_path(&self) -> &Path {
        &self.0
    }

    /// The archive on disk that a `/vsizip/`, `/vsitar/` or `/vsigzip/` name
    /// reads from.
    pub(crate) fn local_archive(&self) -> Option<PathBuf> {
        let text = self.0.to_str()?;
        let inner = ["/vsizip/", "/vsitar/", "/vsigzip/"].iter().find_map(|system| text.strip_prefix(system))?;
        let braced = inner.strip_prefix('{').and_then(|inner| inner.split_once('}'));
        let inner = braced.map_or(inner, |(archive, _)| archive);
        Path::new(inner).ancestors().find(|path| path.is_file()).map(Path::to_owned)
    }
}

impl From<&Path> for RasterName {
    fn from(path: &Path) -> Self {
        Self(path.to_owned())
    }
}

impl From<PathBuf> for RasterName {
    fn from(path: PathBuf) -> Self {
        Self(path)
    }
}

impl fmt::Display for RasterName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.display().fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_told_from_names_of_gdal() {
        assert!(RasterName::parse("a/b.tif").is_file().is_some());
        assert!(RasterName::parse("/vsizip/a.zip/b.tif").is_file().is_none());
        assert!(RasterName::parse("NETCDF:\"a.nc\":z").is_file().is_none());
        assert_eq!(RasterName::parse("https://x/y.tif").to_string(), "/vsicurl/https://x/y.tif");
    }
}
