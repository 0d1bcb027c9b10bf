//! What a process takes up, as of proc(5): threads, descriptors, memory.

use std::thread;
use std::time::{Duration, Instant};

use anyhow::Context;
use testbed::usage::Usage;

/// What a process takes up at one moment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Footprint {
    pub(super) threads: u64,
    pub(super) descriptors: u64,
    /// Resident memory in bytes.
    pub(super) resident: u64,
}

impl Footprint {
    /// Reads that of a process.
    pub(super) fn read(usage: Usage) -> anyhow::Result<Self> {
        let read = || {
            let (threads, descriptors) = (usage.threads()?, usage.descriptors()? as u64);
            Some(Self { threads, descriptors, resident: usage.resident_memory()? })
        };
        read().context("the process is gone")
    }

    /// Resident memory in MiB.
    pub(super) fn mebibytes(self) -> f64 {
        self.resident as f64 / f64::from(1 << 20)
    }

    /// Whether it holds no more threads and descriptors than `other`.
    pub(super) fn is_within(self, other: Self) -> bool {
        self.threads <= other.threads && self.descriptors <= other.descriptors
    }

    /// In words.
    pub(super) fn describe(self) -> String {
        format!(
            "{} threads, {} descriptors, {:.1} MiB",
            self.threads,
            self.descriptors,
            self.mebibytes()
        )
    }
}

/// Waits until a process holds no more threads and descriptors than before; how long
/// that took and what it held at the end.
pub(super) fn await_return(
    process: Usage,
    before: Footprint,
    patience: Duration,
) -> anyhow::Result<(Option<Duration>, Footprint)> {
    let start = Instant::now();
    loop {
        let now = Footprint::read(process)?;
        let waited = start.elapsed();
        if now.is_within(before) {
            return Ok((Some(waited), now));
        }
        if waited > patience {
            return Ok((None, now));
        }
        thread::sleep(POLL_INTERVAL);
    }
}

const POLL_INTERVAL: Duration = Duration::from_millis(20);
