//! Progress on the terminal, and Ctrl-C.

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use terrane_core::Progress;

/// A bar on stderr. Nothing is shown when stderr is not a terminal.
#[derive(Debug)]
pub struct Bar {
    bar: ProgressBar,
    cancelled: Arc<AtomicBool>,
}

impl Bar {
    /// A bar, or none when `quiet`.
    pub fn new(quiet: bool) -> Self {
        let bar = ProgressBar::new(0);
        if quiet {
            bar.set_draw_target(ProgressDrawTarget::hidden());
        }
        let style = ProgressStyle::with_template("{msg:28} {bar:32} {pos}/{len} {per_sec} {eta}");
        bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
        Self { bar, cancelled: Arc::default() }
    }

    /// What Ctrl-C calls: the work stops at its next step and tidies up.
    pub fn canceller(&self) -> impl FnMut() + Send + 'static {
        let cancelled = Arc::clone(&self.cancelled);
        move || {
            if cancelled.swap(true, Ordering::Relaxed) {
                // Asked twice: at once.
                std::process::exit(130);
            }
        }
    }

    /// Takes the bar off the terminal.
    pub fn finish(&self) {
        self.bar.finish_and_clear();
    }
}

impl Progress for Bar {
    fn begin(&self, what: &str, total: u64) {
        self.bar.reset();
        self.bar.set_length(total);
        self.bar.set_message(what.to_owned());
    }

    fn advance(&self, units: u64) {
        self.bar.inc(units);
    }

    fn is_cancelled(&self) -> bool {
        self.cancelled.load(Ordering::Relaxed)
    }
}
