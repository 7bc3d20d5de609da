//! Reads a stage in a child process with limits.

use crate::StageError;
use crate::child::{Answer, CHILD_MARK, Question};
use crate::error::ReaderLimit;
use crate::reader::ReadRequest;
use crate::spec::SiteSpec;
use serde::{Deserialize, Serialize};
use std::io::{Read, Write};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// The signal of a process that used its processor time up (Linux, macOS).
const SIGXCPU: i32 = 24;

/// Stands for a time limit that no clock can hold.
const LONGEST: Duration = Duration::from_secs(365 * 86_400);

/// How much of the child's error stream is kept.
const STDERR_BYTES: usize = 64 << 10;

/// What a reader child may use.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Limits {
    /// Address space; the reader's stack of 256 MiB is part of it.
    pub address_space_bytes: u64,
    /// Processor time, seconds.
    pub cpu_s: u64,
    /// Elapsed time.
    pub wall: Duration,
    /// Size of the answer.
    pub output_bytes: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self { address_space_bytes: 4 << 30, cpu_s: 60, wall: Duration::from_secs(60), output_bytes: 256 << 20 }
    }
}

/// Reads stages in child processes, so that whatever a file makes the USD
/// library do, this process stays alive and learns why.
#[derive(Debug, Clone)]
pub struct ConfinedReader {
    program: PathBuf,
    limits: Limits,
}

impl ConfinedReader {
    /// A reader that starts this very program, whose `main` has to call
    /// [`run_reader_child_if_asked`](crate::run_reader_child_if_asked) first.
    pub fn this_program() -> Result<Self, StageError> {
        let found = std::env::current_exe();
        found.map(Self::new).map_err(|source| StageError::ReaderStart { program: "this program".into(), source })
    }

    /// A reader that starts another program which does the same.
    pub fn new(program: PathBuf) -> Self {
        Self { program, limits: Limits::default() }
    }

    /// This reader with other limits.
    pub fn with_limits(self, limits: Limits) -> Self {
        Self { limits, ..self }
    }

    /// Reads a stage in a child process and waits for it.
    pub fn read(&self, request: &ReadRequest) -> Result<SiteSpec, StageError> {
        let bad = |reason: String| StageError::BadAnswer { file: request.stage.clone(), reason };
        let question = Question { request: request.clone(), limits: self.limits.clone() };
        let question = serde_json::to_vec(&question).map_err(|error| bad(error.to_string()))?;
        let child = Command::new(&self.program)
            .arg(CHILD_MARK)
            .env("RUST_BACKTRACE", "0")
            // Ctrl-C is for the parent, which tidies up.
            .process_group(0)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .map_err(|source| StageError::ReaderStart { program: self.program.clone(), source })?;
        let end = Running { child }.run(question, &self.limits).map_err(|error| bad(error.to_string()))?;
        judge(end, request, &self.limits)
    }
}

/// A started child; killed and reaped when dropped, whatever happened.
struct Running {
    child: Child,
}

impl Drop for Running {
    fn drop(&mut self) {
        // Both fail only when the child is gone already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// How a child ended.
struct End {
    /// `None`: it was stopped at the time limit.
    status: Option<ExitStatus>,
    stdout: Vec<u8>,
    /// The answer was cut at the output limit.
    overflowed: bool,
    stderr: String,
}

impl Running {
    fn run(mut self, question: Vec<u8>, limits: &Limits) -> std::io::Result<End> {
        let now = Instant::now();
        let deadline = now.checked_add(limits.wall).unwrap_or(now + LONGEST);
        let pipe = || std::io::Error::other("the reader has no pipe");
        let mut stdin = self.child.stdin.take().ok_or_else(pipe)?;
        let stdout = self.child.stdout.take().ok_or_else(pipe)?;
        let stderr = self.child.stderr.take().ok_or_else(pipe)?;
        let (done, stdout_done) = mpsc::channel();
        let cap = limits.output_bytes;
        let stdout = std::thread::spawn(move || {
            let mut bytes = Vec::new();
            let result = stdout.take(cap.saturating_add(1)).read_to_end(&mut bytes);
            // The receiver is gone when the time limit came first.
            let _ = done.send(());
            result.map(|_| bytes)
        });
        let stderr = std::thread::spawn(move || tail(stderr));
        // A child that dies early closes its end; its status says why.
        let _ = stdin.write_all(&question);
        drop(stdin);

        let answered = stdout_done.recv_timeout(deadline.saturating_duration_since(Instant::now()));
        let mut status = None;
        if answered.is_ok() {
            status = self.wait_until(deadline)?;
        }
        drop(self);
        let stdout = joined(stdout)??;
        let overflowed = stdout.len() as u64 > cap;
        Ok(End { status, stdout, overflowed, stderr: joined(stderr)? })
    }

    /// The status of a child that has closed its output.
    fn wait_until(&mut self, deadline: Instant) -> std::io::Result<Option<ExitStatus>> {
        let mut pause = Duration::from_micros(200);
        // After an overflow the child blocks on its output; it gets a moment.
        let patience = deadline.min(Instant::now() + Duration::from_secs(5));
        loop {
            if let Some(status) = self.child.try_wait()? {
                return Ok(Some(status));
            }
            if Instant::now() >= patience {
                return Ok(None);
            }
            std::thread::sleep(pause);
            pause = (pause * 2).min(Duration::from_millis(20));
        }
    }
}

fn joined<T>(thread: JoinHandle<T>) -> std::io::Result<T> {
    thread.join().map_err(|_| std::io::Error::other("a pipe's thread panicked"))
}

/// The end of a stream, read to its end so that its writer never blocks.
fn tail(mut stream: impl Read) -> String {
    let (mut kept, mut buffer) = (Vec::new(), [0_u8; 4096]);
    while let Ok(count @ 1..) = stream.read(&mut buffer) {
        kept.extend_from_slice(&buffer[..count]);
        if kept.len() > 2 * STDERR_BYTES {
            kept.drain(..kept.len() - STDERR_BYTES);
        }
    }
    String::from_utf8_lossy(&kept).into_owned()
}

fn judge(end: End, request: &ReadRequest, limits: &Limits) -> Result<SiteSpec, StageError> {
    let file = request.stage.clone();
    let limit = |limit| Err(StageError::Limit { file: file.clone(), limit });
    if end.overflowed {
        return limit(ReaderLimit::Output(limits.output_bytes));
    }
    let Some(status) = end.status else { return limit(ReaderLimit::Wall(limits.wall)) };
    let said = last_line(&end.stderr);
    if status.success() {
        return match serde_json::from_slice::<Answer>(&end.stdout) {
            Ok(answer) => answer.map_err(|said| StageError::Reported(Box::new(said))),
            Err(error) => Err(StageError::BadAnswer { file, reason: error.to_string() }),
        };
    }
    if status.signal() == Some(SIGXCPU) {
        return limit(ReaderLimit::Cpu(limits.cpu_s));
    }
    // What Rust says when an allocation or a thread's stack is refused.
    let out_of_memory = ["memory allocation of", "Cannot allocate memory", "capacity overflow"];
    if out_of_memory.iter().any(|sign| end.stderr.contains(sign)) {
        return limit(ReaderLimit::Memory(limits.address_space_bytes));
    }
    let how = match (status.code(), status.signal()) {
        (Some(code), _) => format!("exit status {code}"),
        (None, Some(signal)) => format!("signal {signal}"),
        (None, None) => "unknown status".into(),
    };
    Err(StageError::Crashed { file, how, said })
}

/// The last line that says something.
fn last_line(text: &str) -> String {
    let mut lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
    let wanted = |line: &&str| !line.starts_with("note: ");
    lines.rfind(wanted).unwrap_or_default().chars().take(400).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_line_is_the_one_that_says_something() {
        assert_eq!(last_line("a\nthread panicked\nnote: run with RUST_BACKTRACE\n\n"), "thread panicked");
        assert_eq!(last_line(""), "");
    }

    #[test]
    fn a_program_that_is_not_there_is_a_clear_error() {
        let error = ConfinedReader::new("/nowhere/terrane".into()).read(&ReadRequest::new("a.usda")).unwrap_err();
        assert!(matches!(error, StageError::ReaderStart { .. }), "{error}");
    }
}
