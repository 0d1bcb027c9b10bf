//! How far a long comparison is, and whether the user has seen enough.

use std::cell::Cell;
use std::fmt::Display;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use linux::event::StopSignals;

use crate::output;

/// Counts the finished runs of a comparison and shows them on one line of a terminal.
#[derive(Debug)]
pub struct Progress {
    interrupts: Option<StopSignals>,
    is_stopped: Cell<bool>,
    start: Instant,
    done: Cell<usize>,
    all: usize,
}

impl Progress {
    /// A progress display for `runs` runs. To be called before the first thread starts: it blocks
    /// SIGINT, SIGTERM and SIGHUP, so that Ctrl-C no longer ends this process; [`Self::is_stopped`]
    /// reports it.
    ///
    /// # Errors
    /// The signals cannot be received (signalfd(2)).
    pub fn start(runs: usize) -> Result<Self> {
        let interrupts = Some(StopSignals::open().context("cannot take Ctrl-C")?);
        Ok(Self { interrupts, ..Self::without_interrupts(runs) })
    }

    /// A progress display for `runs` runs that leaves signals alone: Ctrl-C ends this process. It
    /// is for programs that must be able to end by SIGTERM, since children inherit blocked signals
    /// (sigprocmask(2)).
    pub fn without_interrupts(runs: usize) -> Self {
        let (is_stopped, done) = (Cell::new(false), Cell::new(0));
        Self { interrupts: None, is_stopped, start: Instant::now(), done, all: runs }
    }

    /// Shows `what` happens now, if that is no run.
    pub fn note(&self, what: impl Display) {
        output::transient(format!("[{}/{}] {what}", self.done.get(), self.all));
    }

    /// Shows that a run begins, and estimates the time that all remaining runs take.
    pub fn begin(&self, what: impl Display) {
        let left = remaining(self.start.elapsed(), self.done.get(), self.all);
        let left = left.map_or_else(String::new, |left| format!(", {} left", minutes(left)));
        output::transient(format!("[{}/{}{left}] {what}", self.done.get() + 1, self.all));
    }

    /// Counts a run that has ended, and clears the line.
    pub fn end(&self) {
        output::transient("");
        self.done.set(self.done.get() + 1);
    }

    /// Whether the user has asked to stop, e.g. by Ctrl-C. Always false for
    /// [`Self::without_interrupts`].
    pub fn is_stopped(&self) -> bool {
        if self.interrupts.as_ref().is_some_and(StopSignals::arrived) {
            self.is_stopped.set(true);
        }
        self.is_stopped.get()
    }
}

/// As long as those that are done took, each.
fn remaining(elapsed: Duration, done: usize, all: usize) -> Option<Duration> {
    let left = all.saturating_sub(done);
    (done > 0).then(|| elapsed.mul_f64(left as f64 / done as f64))
}

fn minutes(time: Duration) -> String {
    match time.as_secs() {
        seconds @ ..60 => format!("{seconds} s"),
        seconds => format!("{} min", seconds.div_ceil(60)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_left_takes_as_long_as_what_is_done() {
        let elapsed = Duration::from_secs(30);
        assert_eq!(remaining(elapsed, 3, 9), Some(Duration::from_secs(60)));
        assert_eq!(remaining(elapsed, 0, 9), None);
        assert_eq!(minutes(Duration::from_secs(59)), "59 s");
        assert_eq!(minutes(Duration::from_secs(61)), "2 min");
    }
}
