//! Keys of rasters, and a small file that remembers them.

use crate::sample::Sample;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;
use terrane_core::{ContentKey, Progress};

/// Bytes hashed at once: large enough to keep several threads busy.
const BUFFER: usize = 16 << 20;
/// Files and samples remembered at most; the file is begun anew beyond it.
const MOST: usize = 4096;

/// Tells a file from an earlier one of the same name.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Stamp {
    length: u64,
    mtime_ns: u64,
    inode: u64,
}

impl Stamp {
    fn of(found: &std::fs::Metadata) -> Self {
        let since = found.modified().ok().and_then(|time| time.duration_since(UNIX_EPOCH).ok());
        #[cfg(unix)]
        let inode = std::os::unix::fs::MetadataExt::ino(found);
        #[cfg(not(unix))]
        let inode = 0;
        Self { length: found.len(), mtime_ns: since.map_or(0, |since| since.as_nanos() as u64), inode }
    }
}

#[derive(Debug, Clone, Serialize, Deserialize)]
struct Remembered {
    stamp: Stamp,
    key: ContentKey,
}

/// Content keys of files and samples of rasters, remembered between runs. A
/// missing or damaged file is begun anew; one that can't be written is no
/// error.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(crate) struct KeyMemory {
    version: u32,
    files: BTreeMap<String, Remembered>,
    samples: BTreeMap<String, Sample>,
    #[serde(skip)]
    changed: bool,
}

const VERSION: u32 = 2;
/// Files from this size on are remembered.
const REMEMBERED_BYTES: u64 = 16 << 20;

impl KeyMemory {
    pub fn load(path: Option<&Path>) -> Self {
        let read = path.and_then(|path| serde_json::from_slice::<Self>(&std::fs::read(path).ok()?).ok());
        read.filter(|read| read.version == VERSION && read.files.len() <= MOST && read.samples.len() <= MOST)
            .unwrap_or(Self { version: VERSION, ..Self::default() })
    }

    /// Writes what is new, whole or not at all.
    pub fn save(&self, path: Option<&Path>) {
        let Some(path) = path.filter(|_| self.changed) else { return };
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let write = || -> std::io::Result<()> {
            std::fs::create_dir_all(folder)?;
            let mut partial = tempfile::Builder::new().prefix(".partial-").tempfile_in(folder)?;
            partial.write_all(&serde_json::to_vec(self)?)?;
            partial.persist(path)?;
            Ok(())
        };
        // Only time is lost: the keys are made again.
        let _ = write();
    }

    /// The key of a file's bytes.
    pub fn file(&mut self, path: &Path, progress: &dyn Progress) -> Result<ContentKey, crate::GeoError> {
        let unreadable =
            |error: std::io::Error| crate::GeoError::Unreadable { path: path.to_owned(), message: error.to_string() };
        let name = path.canonicalize().unwrap_or_else(|_| PathBuf::from(path)).to_string_lossy().into_owned();
        let stamp = Stamp::of(&std::fs::metadata(path).map_err(unreadable)?);
        if let Some(known) = self.files.get(&name).filter(|known| known.stamp == stamp) {
            return Ok(known.key);
        }
        let mut file = std::fs::File::open(path).map_err(unreadable)?;
        let mut hasher = blake3::Hasher::new();
        let mut buffers = [(); 2].map(|()| vec![0_u8; BUFFER.min(stamp.length as usize + 1)]);
        progress.begin("reading the file for its key", stamp.length >> 20);
        let mut done = 0_u64;
        let mut filled = fill(&mut file, &mut buffers[0]).map_err(unreadable)?;
        while filled > 0 {
            progress.check()?;
            let [current, next] = &mut buffers;
            let current = &current[..filled];
            let hash = || {
                if current.len() > 1 << 18 {
                    hasher.update_rayon(current)
                } else {
                    hasher.update(current)
                };
            };
            // The next part is read while this one is hashed.
            let ((), read) = rayon::join(hash, || fill(&mut file, next));
            progress.advance(((done + filled as u64) >> 20) - (done >> 20));
            done += filled as u64;
            filled = read.map_err(unreadable)?;
            buffers.swap(0, 1);
        }
        let key = ContentKey::from_raw(*hasher.finalize().as_bytes());
        // A small file is read again sooner than a note about it is kept.
        if stamp.length >= REMEMBERED_BYTES {
            self.files.insert(name, Remembered { stamp, key });
            self.changed = true;
        }
        Ok(key)
    }

    pub fn sample(&self, key: &ContentKey) -> Option<Sample> {
        self.samples.get(&key.to_string()).copied()
    }

    pub fn remember_sample(&mut self, key: &ContentKey, sample: Sample) {
        if self.changed {
            self.samples.insert(key.to_string(), sample);
        }
    }
}

/// Reads until the buffer is full or the file ends; how much that was.
fn fill(file: &mut std::fs::File, buffer: &mut [u8]) -> std::io::Result<usize> {
    let mut filled = 0;
    while filled < buffer.len() {
        match file.read(&mut buffer[filled..]) {
            Ok(0) => break,
            Ok(count) => filled += count,
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(filled)
}
