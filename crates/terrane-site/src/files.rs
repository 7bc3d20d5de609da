//! Files that are there whole or not at all.

use crate::Failure;
use std::io::Write;
use std::path::Path;

/// Writes a text aside and gives it its name when it is whole.
pub(crate) fn write_whole(file: &Path, text: &str) -> Result<(), Failure> {
    let unwritten = |error: &std::io::Error| Failure::unwritten(file, error);
    let folder = file.parent().filter(|folder| *folder != Path::new("")).unwrap_or(Path::new("."));
    std::fs::create_dir_all(folder).map_err(|error| unwritten(&error))?;
    // As any file of the user's: the umask takes away what it does.
    let permissions = std::os::unix::fs::PermissionsExt::from_mode(0o666);
    let aside = tempfile::Builder::new().prefix(".partial-").permissions(permissions).tempfile_in(folder);
    let mut aside = aside.map_err(|error| unwritten(&error))?;
    aside.write_all(text.as_bytes()).and_then(|()| aside.as_file().sync_all()).map_err(|error| unwritten(&error))?;
    aside.persist(file).map_err(|error| unwritten(&error.error))?;
    Ok(())
}
