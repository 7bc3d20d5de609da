//! Where an archive's bytes are: a file, or a server that answers ranges.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;

/// Bytes that are read by range, from any thread.
pub trait ByteSource: Send + Sync + std::fmt::Debug {
    /// How many bytes there are.
    fn length(&self) -> io::Result<u64>;

    /// Fills `bytes` from `offset` on; too few are
    /// [`io::ErrorKind::UnexpectedEof`].
    fn read_at(&self, offset: u64, bytes: &mut [u8]) -> io::Result<()>;
}

impl ByteSource for File {
    fn length(&self) -> io::Result<u64> {
        Ok(self.metadata()?.len())
    }

    fn read_at(&self, offset: u64, bytes: &mut [u8]) -> io::Result<()> {
        self.read_exact_at(bytes, offset)
    }
}

/// An archive on a web server, read by HTTP range requests.
#[derive(Debug)]
pub struct HttpBytes {
    agent: ureq::Agent,
    url: String,
}

impl HttpBytes {
    /// Names an archive; nothing is asked yet.
    pub fn new(url: &str) -> Self {
        let config = ureq::Agent::config_builder().timeout_global(Some(std::time::Duration::from_secs(60))).build();
        Self { agent: config.into(), url: url.to_owned() }
    }
}

impl ByteSource for HttpBytes {
    fn length(&self) -> io::Result<u64> {
        let answer = self.agent.head(&self.url).call().map_err(io_error)?;
        let length = answer.headers().get("content-length").and_then(|value| value.to_str().ok()?.parse().ok());
        length.ok_or_else(|| io::Error::other("the server does not say how long the file is"))
    }

    fn read_at(&self, offset: u64, bytes: &mut [u8]) -> io::Result<()> {
        if bytes.is_empty() {
            return Ok(());
        }
        let range = format!("bytes={offset}-{}", offset + bytes.len() as u64 - 1);
        let mut answer = self.agent.get(&self.url).header("Range", range).call().map_err(io_error)?;
        if answer.status() != 206 {
            return Err(io::Error::other("the server does not answer byte ranges"));
        }
        io::Read::read_exact(&mut answer.body_mut().as_reader(), bytes)
    }
}

fn io_error(error: ureq::Error) -> io::Error {
    match error {
        ureq::Error::StatusCode(404) => io::Error::new(io::ErrorKind::NotFound, "the server has no such file"),
        ureq::Error::Io(error) => error,
        other => io::Error::other(other.to_string()),
    }
}

/// True for a name that [`HttpBytes`] reads.
pub(crate) fn is_url(path: &Path) -> bool {
    path.to_str().is_some_and(|name| name.starts_with("http://") || name.starts_with("https://"))
}
