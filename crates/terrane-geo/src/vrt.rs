//! Which files a GDAL virtual raster names.
//!
//! A VRT is a list of other files in XML. Only plain files are followed: what
//! runs code, opens services or carries a raster inside its own text is
//! refused, so that the caller can check every file before GDAL reads it.

use crate::{GeoError, RasterName};
use std::path::{Path, PathBuf};

/// VRTs inside VRTs deeper than this are refused.
const MAX_DEPTH: usize = 8;
/// More files than this are refused.
const MAX_FILES: usize = 65_536;
/// A VRT's text longer than this is refused, bytes.
const MAX_TEXT: u64 = 64 << 20;

/// Parts of a VRT that name things other than plain files, or run code.
const REFUSED: &[(&str, &str)] = &[
    ("pixelfunctioncode", "runs Python code"),
    ("pixelfunctionlanguage", "runs Python code"),
    ("geoloctransformer", "places its pixels by other rasters"),
    ("rpctransformer", "places its pixels by a sensor model"),
    ("x_dataset", "places its pixels by other rasters"),
    ("<group", "is multidimensional"),
    ("<![cdata[", "holds CDATA"),
    ("<!doctype", "holds a document type"),
];

/// True when a file begins as a VRT does.
pub(crate) fn is_vrt(path: &Path) -> bool {
    use std::io::Read;
    let mut start = [0_u8; 1024];
    let read = std::fs::File::open(path).and_then(|mut file| file.read(&mut start)).unwrap_or(0);
    String::from_utf8_lossy(&start[..read]).to_ascii_lowercase().contains("<vrtdataset")
}

/// The files that a VRT names, those of VRTs among them too; empty for any
/// other raster. Names relative to the VRT come back joined to its folder.
pub fn referenced_files(name: &RasterName) -> Result<Vec<PathBuf>, GeoError> {
    let mut files = Vec::new();
    if let Some(path) = name.is_file().filter(|path| is_vrt(path)) {
        follow(path, 0, &mut files)?;
    }
    Ok(files)
}

fn follow(path: &Path, depth: usize, files: &mut Vec<PathBuf>) -> Result<(), GeoError> {
    let refuse = |what: String| GeoError::UnfitVrt { path: path.to_owned(), what };
    if depth >= MAX_DEPTH {
        return Err(refuse(format!("its VRTs are nested more than {MAX_DEPTH} deep")));
    }
    let unreadable = |error: std::io::Error| GeoError::Unreadable { path: path.to_owned(), message: error.to_string() };
    if std::fs::metadata(path).map_err(unreadable)?.len() > MAX_TEXT {
        return Err(refuse("its text is too long".into()));
    }
    let text = String::from_utf8_lossy(&std::fs::read(path).map_err(unreadable)?).into_owned();
    // GDAL's parser takes blanks between `<` and a name.
    let text = text.split('<').map(str::trim_start).collect::<Vec<_>>().join("<");
    let lower = text.to_ascii_lowercase();
    if let Some((_, why)) = REFUSED.iter().find(|(mark, _)| lower.contains(mark)) {
        return Err(refuse(format!("it {why}")));
    }
    // What one parser takes for a comment another may take for text.
    let named = sources(&text, &lower);
    if without_comments(&text).matches('<').count() != text.matches('<').count()
        && sources(&without_comments(&text), &without_comments(&lower)).len() != named.len()
    {
        return Err(refuse("sources stand in its comments; remove them".into()));
    }
    let folder = path.parent().unwrap_or(Path::new(""));
    for (source, relative) in named {
        let plain = !source.is_empty()
            && !source.contains(['<', '&', '\n', '"', '?', '*'])
            && !source.contains("://")
            && RasterName::parse(&source).is_file().is_some()
            && !source.split_once(':').is_some_and(|(scheme, _)| scheme.len() > 1 && !scheme.contains('/'));
        if !plain {
            let shown: String = source.chars().take(80).collect();
            return Err(refuse(format!("its source `{shown}` is not a plain file")));
        }
        let source = if relative { folder.join(&source) } else { PathBuf::from(&source) };
        if files.contains(&source) {
            continue;
        }
        if files.len() >= MAX_FILES {
            return Err(refuse(format!("it names more than {MAX_FILES} files")));
        }
        files.push(source.clone());
        if is_vrt(&source) {
            follow(&source, depth + 1, files)?;
        }
    }
    Ok(())
}

fn without_comments(text: &str) -> String {
    let mut kept = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(start) = rest.find("<!--") {
        kept.push_str(&rest[..start]);
        rest = rest[start + 4..].find("-->").map_or("", |end| &rest[start + 4 + end + 3..]);
    }
    kept.push_str(rest);
    kept
}

/// Every source of the text and whether it is relative to the VRT. `lower` is
/// the text in lower case: GDAL reads names of elements in either case.
fn sources(text: &str, lower: &str) -> Vec<(String, bool)> {
    let mut found = Vec::new();
    for element in ["<sourcefilename", "<sourcedataset", "<linkedsource", "<auxiliarydataset"] {
        let mut at = 0;
        while let Some(start) = lower[at..].find(element).map(|start| at + start) {
            let Some(open) = lower[start..].find('>').map(|end| start + end) else { break };
            let close = lower[open..].find('<').map_or(text.len(), |end| open + end);
            let attributes: String = lower[start..open].chars().filter(|c| !c.is_whitespace()).collect();
            let relative = attributes.contains("relativetovrt=\"1\"") || attributes.contains("relativetovrt='1'");
            let absolute = attributes.contains("relativetovrt=\"0\"") || attributes.contains("relativetovrt='0'");
            let stated = attributes.matches("relativetovrt").count();
            // Anything but one plain 0 or 1 might be read otherwise by GDAL.
            let clear = stated == 0 || stated == 1 && (relative || absolute);
            let name = text[open + 1..close.max(open + 1)].trim();
            let name = [("&lt;", "<"), ("&gt;", ">"), ("&quot;", "\""), ("&apos;", "'"), ("&amp;", "&")]
                .iter()
                .fold(name.to_owned(), |name, (entity, plain)| name.replace(entity, plain));
            found.push((if clear { name } else { String::new() }, relative));
            at = close.max(open + 1);
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn files(vrt: &str) -> Result<Vec<PathBuf>, GeoError> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.vrt");
        std::fs::write(&path, format!("<VRTDataset>{vrt}</VRTDataset>")).unwrap();
        let found = referenced_files(&path.as_path().into())?;
        Ok(found.iter().map(|file| file.strip_prefix(folder.path()).unwrap_or(file).to_owned()).collect())
    }

    #[test]
    fn sources_are_found_and_placed() {
        let found = files(
            "<!-- by hand --><SourceFilename relativeToVRT=\"1\">b.tif</SourceFilename>\
             <SOURCEDATASET relativeToVRT='0'>/c/d.tif</SOURCEDATASET>",
        );
        assert_eq!(found.unwrap(), [PathBuf::from("b.tif"), PathBuf::from("/c/d.tif")]);
    }

    #[test]
    fn what_is_no_plain_file_is_refused() {
        for source in ["/vsicurl/http://x/y.tif", "&lt;VRTDataset/&gt;", "WMS:http", "a&#47;b", "vrt://a"] {
            let error = files(&format!("<SourceFilename>{source}</SourceFilename>")).unwrap_err();
            assert!(matches!(error, GeoError::UnfitVrt { .. }), "{source}: {error}");
        }
        let hidden = "<A b=\"<!--\"/>< SourceFilename>/c/d.tif</SourceFilename><C d=\"-->\"/>";
        assert!(files(hidden).unwrap_err().to_string().contains("comments"));
        assert!(files("<SourceFilename relativeToVRT=\"01\">b.tif</SourceFilename>").is_err());
        assert_eq!(files("<\n SourceFilename>/c/d.tif</SourceFilename>").unwrap().len(), 1);
        assert!(files("<PixelFunctionLanguage>Python</PixelFunctionLanguage>").is_err());
    }

    #[test]
    fn a_vrt_that_names_itself_ends() {
        assert_eq!(files("<SourceFilename relativeToVRT=\"1\">a.vrt</SourceFilename>").unwrap().len(), 1);
    }
}
