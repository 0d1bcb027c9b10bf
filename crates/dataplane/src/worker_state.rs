//! What each MPU keeps for all streams that it runs: the module of their kind.

use std::io;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

use measurement::Timestamp;
use portable_atomic::AtomicU64;

use crate::pacing::PacingStatistics;
use crate::scratch::{BufferPlan, Scratch};

/// One hot payload and one hot buffer, instead of one for each stream, and what concerns
/// all streams of the MPU.
pub(crate) struct WorkerState {
    pub(crate) scratch: Scratch,
    /// How many streams this MPU has.
    pub(crate) streams: usize,
    /// No stream of this MPU sends any more.
    pub(crate) is_sending_over: bool,
    /// When its first and its last stream started.
    pub(crate) started: Option<(Timestamp, Timestamp)>,
    /// How long the MPU had spun at the last look.
    spun: Duration,
}

impl mars::Module for WorkerState {
    const NAME: &'static str = "stream";
}

impl WorkerState {
    pub(crate) fn new(memory: BufferPlan, pacing: Arc<PacingStatistics>) -> io::Result<Self> {
        Ok(Self {
            scratch: Scratch::new(memory, pacing)?,
            streams: 0,
            is_sending_over: false,
            started: None,
            spun: Duration::ZERO,
        })
    }

    /// The MPU has spun for `spun` so far, until something was due.
    pub(crate) fn note_spinning(&mut self, spun: Duration) {
        if spun > self.spun {
            self.scratch.pacing.spun(spun.saturating_sub(self.spun));
            self.spun = spun;
        }
    }

    /// One of its streams starts.
    pub(crate) fn start_one(&mut self, now: Timestamp, times: &WorkerTimes) {
        let (first, last) = self.started.unwrap_or((now, now));
        self.started = Some((first, last.max(now)));
        times.first_start.store(first.nanos(), Relaxed);
        times.last_start.store(last.max(now).nanos(), Relaxed);
    }
}

/// What an MPU notes of its start and its end for the host; zero: not yet.
#[derive(Debug, Default)]
#[repr(align(128))]
pub(crate) struct WorkerTimes {
    pub(crate) first_start: AtomicU64,
    pub(crate) last_start: AtomicU64,
    /// When the last of its senders sent its first byte.
    pub(crate) last_first_byte: AtomicU64,
    pub(crate) stopped: AtomicU64,
}

impl WorkerTimes {
    pub(crate) fn note_first_byte(&self, now: Timestamp) {
        self.last_first_byte.store(now.nanos(), Relaxed);
    }

    pub(crate) fn read(time: &AtomicU64) -> Option<Timestamp> {
        Some(time.load(Relaxed)).filter(|nanos| *nanos > 0).map(Timestamp::from_nanos)
    }
}

/// The runtime's time as everybody else's.
pub(crate) const fn timestamp(time: mars::Time) -> Timestamp {
    Timestamp::from_nanos(time.nanos())
}

/// Everybody else's time as the runtime's.
pub(crate) const fn instant(time: Timestamp) -> mars::Time {
    mars::Time::from_nanos(time.nanos())
}
