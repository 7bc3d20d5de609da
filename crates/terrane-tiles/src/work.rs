//! A bake on its way: the file that becomes the archive, and the journal that
//! lets a killed bake go on where it was.

use crate::codec;
use crate::format::{Block, Entry, Header, checksum};
use crate::{ArchiveError, HeightCode, Tile};
use bytemuck::{Pod, Zeroable};
use std::collections::BTreeMap;
use std::fs::{File, OpenOptions};
use std::io::{Read, Write};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::thread::JoinHandle;
use terrane_core::{ContentKey, Progress};
use terrane_surface::TileKey;

/// The disk is asked to write after so many bytes.
const SYNC_BYTES: usize = 64 << 20;

/// A block and the site map that it is a strip of.
#[repr(C)]
#[derive(Debug, Clone, Copy, Pod, Zeroable)]
struct Strip {
    offset: u64,
    bytes: u32,
    map: u32,
    checksum: [u8; 16],
}

#[repr(C)]
#[derive(Debug, Clone, Copy, Pod, Zeroable)]
struct RecordHead {
    step: u32,
    tiles: u32,
    strips: u32,
    reserved: u32,
    file_bytes: u64,
}

/// What one step of a bake made.
#[derive(Debug, Default)]
pub(crate) struct Made {
    /// Tiles in order, with their blocks, which are empty for a tile without
    /// ground. Their offsets are not known yet.
    pub(crate) tiles: Vec<(Entry, Vec<u8>)>,
    /// Strips in order, with the index of their map.
    pub(crate) strips: Vec<(usize, Vec<u8>)>,
}

/// The file being written. Blocks are appended in the order of the bake's
/// steps, which depends on the surface alone, so the bytes are the same
/// however often the bake was killed.
#[derive(Debug)]
pub(crate) struct Work {
    path: PathBuf,
    partial: PathBuf,
    journal_path: PathBuf,
    file: File,
    journal: File,
    file_bytes: u64,
    front: u64,
    /// Tiles written so far.
    pub(crate) entries: BTreeMap<TileKey, Entry>,
    /// Strips written so far, by map.
    pub(crate) strips: Vec<Vec<Block>>,
    /// Steps that are done.
    pub(crate) steps_done: usize,
    code: HeightCode,
    /// Bytes since the disk was last asked for them, and that request.
    unsynced: usize,
    syncing: Option<JoinHandle<std::io::Result<()>>>,
    /// Held while the bake runs, so that two of them never write one file.
    _lock: File,
}

/// Takes the lock of the folder, and waits while another bake holds it.
pub(crate) fn lock_folder(folder: &Path, progress: &dyn Progress) -> Result<File, ArchiveError> {
    let io = |source| ArchiveError::Io { path: folder.to_owned(), source };
    std::fs::create_dir_all(folder).map_err(io)?;
    let handle = File::open(folder).map_err(io)?;
    let mut told = false;
    loop {
        match handle.try_lock() {
            Ok(()) => return Ok(handle),
            Err(std::fs::TryLockError::WouldBlock) => {}
            // A file system without locks: go on without.
            Err(std::fs::TryLockError::Error(_)) => return Ok(handle),
        }
        if !told {
            progress.begin("waiting for another bake", 1);
            told = true;
        }
        progress.check()?;
        std::thread::sleep(std::time::Duration::from_millis(100));
    }
}

fn beside(path: &Path, ending: &str) -> PathBuf {
    let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    path.with_file_name(format!(".partial-{name}{ending}"))
}

impl Work {
    /// Begins a bake, or goes on with one that was killed. `front` bytes are
    /// kept free for header, description and index; `plan` is what the steps
    /// depend on.
    pub(crate) fn begin(
        path: &Path,
        plan: &ContentKey,
        code: HeightCode,
        front: u64,
        maps: usize,
        lock: File,
    ) -> Result<Self, ArchiveError> {
        let io = |source| ArchiveError::Io { path: path.to_owned(), source };
        let (partial, journal_path) = (beside(path, ""), beside(path, ".journal"));
        let open = |path: &Path| OpenOptions::new().read(true).write(true).create(true).truncate(false).open(path);
        let mut work = Self {
            path: path.to_owned(),
            file: open(&partial).map_err(io)?,
            journal: open(&journal_path).map_err(io)?,
            partial,
            journal_path,
            file_bytes: front,
            front,
            entries: BTreeMap::new(),
            strips: vec![vec![]; maps],
            steps_done: 0,
            code,
            unsynced: 0,
            syncing: None,
            _lock: lock,
        };
        work.resume(plan).map_err(io)?;
        Ok(work)
    }

    /// Replays the journal as far as it and the blocks are whole, and cuts off
    /// the rest.
    fn resume(&mut self, plan: &ContentKey) -> std::io::Result<()> {
        let mut bytes = Vec::new();
        self.journal.read_to_end(&mut bytes)?;
        let mut good = 0;
        if bytes.len() >= 32 && bytes[..32] == *plan.as_bytes() {
            good = 32;
            while let Some(next) = self.replay(&bytes[good..]) {
                good += next;
            }
        }
        self.file.set_len(self.file_bytes)?;
        self.journal.set_len(good as u64)?;
        std::io::Seek::seek(&mut self.journal, std::io::SeekFrom::Start(good as u64))?;
        if good == 0 {
            self.journal.write_all(plan.as_bytes())?;
        }
        Ok(())
    }

    /// One record of the journal: its length, or `None` when it or one of its
    /// blocks is not whole.
    fn replay(&mut self, bytes: &[u8]) -> Option<usize> {
        let head_bytes = size_of::<RecordHead>();
        let head: RecordHead = bytemuck::pod_read_unaligned(bytes.get(..head_bytes)?);
        let tiles_end = head_bytes + (head.tiles as usize).checked_mul(size_of::<Entry>())?;
        let strips_end = tiles_end + (head.strips as usize).checked_mul(size_of::<Strip>())?;
        let body = bytes.get(..strips_end)?;
        let whole = bytes.get(strips_end..strips_end + 16)? == checksum(body);
        if !whole || head.step as usize != self.steps_done {
            return None;
        }
        let entries: Vec<Entry> =
            body[head_bytes..tiles_end].chunks_exact(size_of::<Entry>()).map(bytemuck::pod_read_unaligned).collect();
        let strips: Vec<Strip> =
            body[tiles_end..].chunks_exact(size_of::<Strip>()).map(bytemuck::pod_read_unaligned).collect();
        let blocks = entries.iter().map(Entry::block);
        let mut blocks = blocks.chain(strips.iter().map(Strip::block));
        if !blocks.all(|block| self.read(&block).is_ok()) || strips.iter().any(|s| s.map as usize >= self.strips.len())
        {
            return None;
        }
        self.entries.extend(entries.into_iter().map(|entry| (entry.key(), entry)));
        strips.iter().for_each(|strip| self.strips[strip.map as usize].push(strip.block()));
        self.file_bytes = head.file_bytes;
        self.steps_done += 1;
        Some(strips_end + 16)
    }

    /// Appends what a step made, and notes in the journal that it is done.
    pub(crate) fn append(&mut self, made: Made) -> Result<(), ArchiveError> {
        self.try_append(made).map_err(|source| ArchiveError::Io { path: self.path.clone(), source })
    }

    fn try_append(&mut self, made: Made) -> std::io::Result<()> {
        let mut data = Vec::new();
        let mut place = |bytes: &[u8]| {
            let offset = self.file_bytes + data.len() as u64;
            data.extend_from_slice(bytes);
            offset
        };
        let mut entries = Vec::with_capacity(made.tiles.len());
        for (mut entry, bytes) in made.tiles {
            if !bytes.is_empty() {
                entry.offset = place(&bytes);
            }
            entries.push(entry);
        }
        let strip = |(map, bytes): (usize, Vec<u8>)| {
            let Block { bytes: length, checksum, .. } = Block::of(&bytes);
            Strip { offset: place(&bytes), bytes: length, map: map as u32, checksum }
        };
        let strips: Vec<Strip> = made.strips.into_iter().map(strip).collect();
        self.file.write_all_at(&data, self.file_bytes)?;
        self.file_bytes += data.len() as u64;
        self.unsynced += data.len();
        self.sync_meanwhile()?;

        let head = RecordHead {
            step: self.steps_done as u32,
            tiles: entries.len() as u32,
            strips: strips.len() as u32,
            reserved: 0,
            file_bytes: self.file_bytes,
        };
        let mut record = bytemuck::bytes_of(&head).to_vec();
        record.extend_from_slice(bytemuck::cast_slice(&entries));
        record.extend_from_slice(bytemuck::cast_slice(&strips));
        record.extend_from_slice(&checksum(&record));
        self.journal.write_all(&record)?;
        self.entries.extend(entries.into_iter().map(|entry| (entry.key(), entry)));
        strips.iter().for_each(|strip| self.strips[strip.map as usize].push(strip.block()));
        self.steps_done += 1;
        Ok(())
    }

    /// Has the disk write in the background, so that little is left for the
    /// end.
    fn sync_meanwhile(&mut self) -> std::io::Result<()> {
        if self.unsynced < SYNC_BYTES || self.syncing.as_ref().is_some_and(|syncing| !syncing.is_finished()) {
            return Ok(());
        }
        self.wait_for_sync()?;
        let file = self.file.try_clone()?;
        self.syncing = Some(std::thread::spawn(move || file.sync_data()));
        self.unsynced = 0;
        Ok(())
    }

    /// What the disk said in the background: an error is told only once.
    fn wait_for_sync(&mut self) -> std::io::Result<()> {
        let Some(syncing) = self.syncing.take() else { return Ok(()) };
        syncing.join().unwrap_or_else(|_| Err(std::io::Error::other("the thread that writes to disk failed")))
    }

    fn read(&self, block: &Block) -> std::io::Result<Vec<u8>> {
        let mut bytes = vec![0; block.bytes as usize];
        if bytes.is_empty() {
            return Ok(bytes);
        }
        self.file.read_exact_at(&mut bytes, block.offset)?;
        if checksum(&bytes) != block.checksum {
            return Err(std::io::Error::other("what was written does not read back; is the disk full or failing?"));
        }
        Ok(bytes)
    }

    /// A tile that was written. `None` when it has no ground.
    pub(crate) fn tile(&self, key: TileKey) -> Result<Option<Tile>, ArchiveError> {
        let Some(entry) = self.entries.get(&key).filter(|entry| entry.bytes > 0) else { return Ok(None) };
        let io = |source| ArchiveError::Io { path: self.path.clone(), source };
        let bytes = self.read(&entry.block()).map_err(io)?;
        let tile = codec::decode(&bytes, self.code);
        tile.map(Some).ok_or_else(|| io(std::io::Error::other("a tile does not decode")))
    }

    /// Writes the front, and gives the file its name.
    pub(crate) fn finish(&mut self, header: &Header, front: &[u8]) -> Result<(), ArchiveError> {
        let synced = self.wait_for_sync();
        let write = || -> std::io::Result<()> {
            synced?;
            self.file.write_all_at(bytemuck::bytes_of(header), 0)?;
            self.file.write_all_at(front, size_of::<Header>() as u64)?;
            debug_assert_eq!(front.len() as u64 + size_of::<Header>() as u64, self.front);
            self.file.sync_all()?;
            std::fs::rename(&self.partial, &self.path)?;
            std::fs::remove_file(&self.journal_path)
        };
        write().map_err(|source| ArchiveError::Io { path: self.path.clone(), source })
    }

    /// How long the file is.
    pub(crate) fn file_bytes(&self) -> u64 {
        self.file_bytes
    }

    /// Leaves nothing behind.
    pub(crate) fn abandon(&self) {
        // Nobody is left to tell when even removing fails.
        let _ = std::fs::remove_file(&self.partial);
        let _ = std::fs::remove_file(&self.journal_path);
    }
}

impl Strip {
    fn block(&self) -> Block {
        Block { offset: self.offset, bytes: self.bytes, checksum: self.checksum }
    }
}
