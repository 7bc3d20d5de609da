//! The library compiled into the program: `shaders/` and `stages/`.

use include_dir::{Dir, File, include_dir};

static SHADERS: Dir<'_> = include_dir!("$CARGO_MANIFEST_DIR/../../shaders");
static STAGES: Dir<'_> = include_dir!("$CARGO_MANIFEST_DIR/../../stages");

/// Maps the part after `lunco://` to its path in the library, where shaders
/// stand under `shaders/` and everything else under `stages/`.
pub(crate) fn library_path(address: &str) -> String {
    match address.split_once('/') {
        Some(("shaders" | "stages", _)) => address.to_owned(),
        Some(("scenes", rest)) => format!("stages/{rest}"),
        _ => format!("stages/{address}"),
    }
}

/// A built-in file by its library path.
pub(crate) fn built_in(path: &str) -> Option<&'static [u8]> {
    let file = match path.split_once('/')? {
        ("shaders", rest) => SHADERS.get_file(rest),
        ("stages", rest) => STAGES.get_file(rest),
        _ => None,
    };
    file.map(File::contents)
}

/// Every built-in file as (`lunco://` address, bytes), sorted by address.
pub fn library_files() -> Vec<(String, &'static [u8])> {
    fn walk(dir: &'static Dir<'_>, root: &str, out: &mut Vec<(String, &'static [u8])>) {
        for file in dir.files() {
            out.push((format!("lunco://{root}/{}", file.path().display()), file.contents()));
        }
        for child in dir.dirs() {
            walk(child, root, out);
        }
    }
    let mut files = Vec::new();
    walk(&SHADERS, "shaders", &mut files);
    walk(&STAGES, "stages", &mut files);
    files.sort();
    files
}
