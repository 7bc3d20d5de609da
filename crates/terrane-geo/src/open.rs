//! Opening rasters: which formats, which files, and never more than is meant.

use crate::vrt::{is_vrt, referenced_files};
use crate::{GeoError, RasterName};
use gdal::{Dataset, DatasetOptions, GdalOpenFlags};
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Once;

static GDAL_SETUP: Once = Once::new();

/// Block cache of the process, megabytes: it is what bounds GDAL's memory.
const CACHE_MB: &str = "64";

/// GDAL prints errors to stderr on its own; every one of them also comes back
/// as a result, so its printing is switched off.
pub(crate) fn set_up_gdal() {
    GDAL_SETUP.call_once(|| {
        gdal::config::set_error_handler(|_, _, _| {});
        let set = |key: &str, value: &str| {
            if std::env::var_os(key).is_none() {
                // Fails only for a key with a NUL in it.
                let _ = gdal::config::set_config_option(key, value);
            }
        };
        set("GDAL_CACHEMAX", CACHE_MB);
        // Sources of a VRT are otherwise shared between datasets, and a
        // dataset belongs to one thread.
        set("VRT_SHARED_SOURCE", "0");
    });
}

/// Formats that hold their own pixels. Left out are those that name other
/// files or services of their choosing (WMS...): a raster inside a twin must
/// not read outside of it. A VRT is opened only after its files are checked.
const DRIVERS: &[&str] = &[
    "GTiff",
    "COG",
    "AAIGrid",
    "AIG",
    "GRASSASCIIGrid",
    "DTED",
    "SRTMHGT",
    "USGSDEM",
    "SDTS",
    "netCDF",
    "HDF5",
    "HDF4",
    "ISIS3",
    "ISIS2",
    "PDS",
    "PDS4",
    "VICAR",
    "FITS",
    "HFA",
    "ENVI",
    "EHdr",
    "ERS",
    "SAGA",
    "GSAG",
    "GSBG",
    "GS7BG",
    "XYZ",
    "BAG",
    "GRIB",
    "RST",
    "RRASTER",
    "PCRaster",
    "PNG",
    "JPEG",
    "JP2OpenJPEG",
    "BMP",
    "PNM",
    "WEBP",
    "HF2",
    "Terragen",
    "Leveller",
];

/// Says whether a file may be read.
pub type Allowed<'a> = &'a dyn Fn(&Path) -> bool;

/// An opened dataset and how to open it again.
pub(crate) struct Opened {
    pub dataset: Dataset,
    /// What GDAL was asked for: the label of a pixel file, the raster in an
    /// archive.
    pub target: PathBuf,
    /// True when it is a VRT whose files were checked.
    pub vrt: bool,
    /// Files on disk that its content depends on.
    pub files: Vec<PathBuf>,
}

/// Opens what [`Opened::target`] named, once more.
pub(crate) fn reopen(target: &Path, vrt: bool) -> Result<Dataset, gdal::errors::GdalError> {
    set_up_gdal();
    let open_flags =
        GdalOpenFlags::GDAL_OF_RASTER | GdalOpenFlags::GDAL_OF_READONLY | GdalOpenFlags::GDAL_OF_VERBOSE_ERROR;
    let allowed_drivers = if vrt { Some(&["VRT"][..]) } else { Some(DRIVERS) };
    Dataset::open_ex(target, DatasetOptions { open_flags, allowed_drivers, ..DatasetOptions::default() })
}

/// Opens a file that is no VRT.
pub(crate) fn open(path: &Path) -> Result<Dataset, GeoError> {
    Ok(open_named(&path.into(), None)?.dataset)
}

/// Opens a raster by its name. Without `allowed` no VRT is opened, and a label
/// may only name pixels in its own folder.
pub(crate) fn open_named(name: &RasterName, allowed: Option<Allowed<'_>>) -> Result<Opened, GeoError> {
    let path = name.as_path();
    if name.is_file().is_none() {
        let dataset = reopen(path, false).map_err(|error| unreadable(path, error))?;
        let files = name.local_archive().into_iter().collect();
        return Ok(Opened { dataset: with_bands(path, dataset)?, target: path.to_owned(), vrt: false, files });
    }
    match std::fs::metadata(path) {
        Ok(found) if found.is_file() => {}
        Ok(_) => return Err(GeoError::Unreadable { path: path.to_owned(), message: "it is not a file".into() }),
        Err(_) => return Err(GeoError::Missing { path: path.to_owned() }),
    }
    if has_extension(path, &["zip"]) {
        let inner = single_raster_of(path)?;
        let dataset = reopen(&inner, false).map_err(|error| unreadable(path, error))?;
        return Ok(Opened { dataset, target: inner, vrt: false, files: vec![path.to_owned()] });
    }
    if is_vrt(path) {
        return open_vrt(name, path, allowed);
    }
    let (dataset, target) = match reopen(path, false) {
        Ok(dataset) => (dataset, path.to_owned()),
        // Pixels whose label lies beside them are opened by the label.
        Err(error) => {
            let labelled = label_of(path).and_then(|label| Some((reopen(&label, false).ok()?, label)));
            labelled.ok_or_else(|| unreadable(path, error))?
        }
    };
    let files = files_of(&target, &dataset.driver().short_name(), allowed)?;
    Ok(Opened { dataset: with_bands(path, dataset)?, target, vrt: false, files })
}

fn open_vrt(name: &RasterName, path: &Path, allowed: Option<Allowed<'_>>) -> Result<Opened, GeoError> {
    let refuse = |what: String| GeoError::UnfitVrt { path: path.to_owned(), what };
    let allowed = allowed.ok_or_else(|| refuse("VRTs name other files and are not read here".into()))?;
    let mut files = vec![path.to_owned()];
    for source in referenced_files(name)? {
        if !allowed(&source) {
            return Err(refuse(format!("it names {}, which may not be read from here", source.display())));
        }
        if !source.is_file() {
            return Err(refuse(format!("it names {}, which is not there", source.display())));
        }
        if is_vrt(&source) {
            files.push(source);
            continue;
        }
        // GDAL opens sources with any driver; this keeps services out.
        let dataset = reopen(&source, false).map_err(|error| unreadable(&source, error))?;
        files.extend(files_of(&source, &dataset.driver().short_name(), Some(allowed))?);
    }
    let dataset = reopen(path, true).map_err(|error| unreadable(path, error))?;
    Ok(Opened { dataset: with_bands(path, dataset)?, target: path.to_owned(), vrt: true, files })
}

/// A dataset with at least one band; a container of several grids has none.
fn with_bands(path: &Path, dataset: Dataset) -> Result<Dataset, GeoError> {
    use gdal::Metadata;
    if dataset.raster_count() > 0 {
        return Ok(dataset);
    }
    let parts = dataset.metadata_domain("SUBDATASETS").unwrap_or_default();
    let names: Vec<&str> = parts
        .iter()
        .filter_map(|part| part.split_once('='))
        .filter(|(key, _)| key.ends_with("_NAME"))
        .map(|p| p.1)
        .collect();
    let message = if names.is_empty() {
        "it holds no grid".to_owned()
    } else {
        format!("it holds several grids; name one of them: {}", names.join(", "))
    };
    Err(GeoError::Unreadable { path: path.to_owned(), message })
}

/// The one raster in a zip archive.
fn single_raster_of(path: &Path) -> Result<PathBuf, GeoError> {
    set_up_gdal();
    let root = PathBuf::from(format!("/vsizip/{{{}}}", path.display()));
    let entries = gdal::vsi::read_dir(&root, true).map_err(|error| unreadable(path, error))?;
    let side = ["prj", "txt", "ovr", "pdf", "html", "htm", "tfw", "hdr", "msk", "md", "csv"];
    let rasters: Vec<PathBuf> = entries
        .iter()
        .filter(|entry| !has_extension(entry, &side) && !entry.to_string_lossy().ends_with(".aux.xml"))
        .take(1000)
        .map(|entry| root.join(entry))
        .filter(|entry| reopen(entry, false).is_ok_and(|dataset| dataset.raster_count() > 0))
        .collect();
    match rasters.as_slice() {
        [one] => Ok(one.clone()),
        [] => {
            let message = format!("the archive holds no raster among its {} entries", entries.len());
            Err(GeoError::Unreadable { path: path.to_owned(), message })
        }
        several => {
            let names: Vec<String> = several.iter().take(12).map(|name| name.display().to_string()).collect();
            let message = format!("the archive holds {} rasters; name one: {}", several.len(), names.join(", "));
            Err(GeoError::Unreadable { path: path.to_owned(), message })
        }
    }
}

fn has_extension(path: &Path, extensions: &[&str]) -> bool {
    path.extension().is_some_and(|found| extensions.iter().any(|one| found.eq_ignore_ascii_case(one)))
}

/// Files in the same folder, with names compared in lower case.
fn siblings(path: &Path, wanted: impl Fn(&str) -> bool) -> Vec<PathBuf> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let mut found: Vec<PathBuf> = std::fs::read_dir(folder)
        .into_iter()
        .flatten()
        .flatten()
        .filter(|entry| wanted(&entry.file_name().to_string_lossy().to_ascii_lowercase()))
        .map(|entry| entry.path())
        .filter(|entry| entry.is_file() && entry != path)
        .collect();
    found.sort();
    found
}

fn lower_stem(path: &Path) -> String {
    path.file_stem().unwrap_or_default().to_string_lossy().to_ascii_lowercase()
}

fn label_of(path: &Path) -> Option<PathBuf> {
    let stem = lower_stem(path);
    siblings(path, |name| ["lbl", "xml", "hdr"].iter().any(|end| *name == format!("{stem}.{end}"))).into_iter().next()
}

/// The beginning of a file as text, for labels.
pub(crate) fn label_text(path: &Path) -> String {
    let mut start = Vec::new();
    let read = std::fs::File::open(path).and_then(|file| file.take(1 << 18).read_to_end(&mut start));
    read.map_or(String::new(), |_| String::from_utf8_lossy(&start).into_owned())
}

/// Files that a planetary label names as its pixels.
fn named_by_label(path: &Path) -> Vec<String> {
    let text = label_text(path);
    let quoted = |value: &str| {
        value.trim().trim_matches(['(', ')', '"', '\'']).split(['"', ',']).next().unwrap_or("").trim().to_owned()
    };
    let pointers = text.lines().filter_map(|line| line.trim().strip_prefix('^')?.split_once('='));
    let mut names: Vec<String> = pointers
        .filter(|(key, _)| ["IMAGE", "Core", "QUBE"].contains(&key.trim()))
        .map(|(_, value)| quoted(value))
        .collect();
    names.extend(
        text.split("<file_name>").skip(1).filter_map(|rest| Some(rest.split_once("</file_name>")?.0.trim().to_owned())),
    );
    // A bare number points into the label's own file.
    names.retain(|name| !name.is_empty() && name.parse::<f64>().is_err());
    names
}

/// The files on disk that a raster's content and place depend on: itself,
/// what its label names, and the small files that GDAL reads beside it.
fn files_of(path: &Path, driver: &str, allowed: Option<Allowed<'_>>) -> Result<Vec<PathBuf>, GeoError> {
    let mut files = vec![path.to_owned()];
    if ["PDS", "PDS4", "ISIS3", "ISIS2", "VICAR"].contains(&driver) {
        for name in named_by_label(path) {
            let beside = !name.contains(['/', '\\']);
            let named = path.parent().unwrap_or(Path::new("")).join(&name);
            if !beside && !allowed.is_some_and(|allowed| allowed(&named)) {
                let message = format!("its label names {name}, outside of its own folder");
                return Err(GeoError::Unreadable { path: path.to_owned(), message });
            }
            let lower = name.to_ascii_lowercase();
            files.extend(if named.is_file() { vec![named] } else { siblings(path, |found| found == lower) });
        }
    }
    let whole = path.file_name().unwrap_or_default().to_string_lossy().to_ascii_lowercase();
    let stem = lower_stem(path);
    let own_pixels = ["GTiff", "COG", "netCDF", "HDF5", "HDF4", "PNG", "JPEG", "JP2OpenJPEG", "PDS", "PDS4", "ISIS3"];
    let several = !own_pixels.contains(&driver);
    files.extend(siblings(path, |name| {
        let side = name == format!("{whole}.aux.xml") || name == format!("{whole}.msk") || name == format!("{whole}w");
        let extension = name.strip_prefix(&format!("{stem}.")).unwrap_or("");
        let world = extension.len() <= 4 && extension.ends_with('w') || extension == "wld";
        let pixels = several && !extension.is_empty() && !["ovr", "zip", "md", "txt", "pdf"].contains(&extension);
        side || world || pixels || ["prj", "aux.xml", "aux", "hdr"].contains(&extension)
    }));
    files.sort();
    files.dedup();
    Ok(files)
}

pub(crate) fn unreadable(path: &Path, error: gdal::errors::GdalError) -> GeoError {
    GeoError::Unreadable { path: path.to_owned(), message: words(error) }
}

/// What GDAL says, without its codes.
pub(crate) fn words(error: gdal::errors::GdalError) -> String {
    match error {
        gdal::errors::GdalError::CplError { msg, .. } if !msg.is_empty() => msg,
        gdal::errors::GdalError::NullPointer { msg, .. } if msg.is_empty() => {
            "it is in no raster format that terrane reads".into()
        }
        gdal::errors::GdalError::NullPointer { msg, .. } => msg,
        other => other.to_string(),
    }
}
