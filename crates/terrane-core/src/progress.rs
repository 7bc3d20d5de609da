//! Progress of long work, and how it is cancelled.

/// Work was cancelled; nothing was left half-written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("cancelled")]
pub struct Cancelled;

/// Receives the progress of long work and may ask it to stop.
///
/// Calls come from worker threads in any order; none of them changes a result.
pub trait Progress: Sync {
    /// A step of `total` units begins, described for a person.
    fn begin(&self, what: &str, total: u64);
    /// `units` more of the current step are done.
    fn advance(&self, units: u64);
    /// True when the work should stop soon.
    fn is_cancelled(&self) -> bool {
        false
    }
    /// An error when the work should stop soon.
    fn check(&self) -> Result<(), Cancelled> {
        if self.is_cancelled() { Err(Cancelled) } else { Ok(()) }
    }
}

/// Progress that nobody watches.
#[derive(Debug, Clone, Copy, Default)]
pub struct Quiet;

impl Progress for Quiet {
    fn begin(&self, _what: &str, _total: u64) {}
    fn advance(&self, _units: u64) {}
}
