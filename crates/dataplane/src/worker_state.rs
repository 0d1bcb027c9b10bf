//! The state that all streams of one MPU share: the module of their workloads in `mars`.

use std::io;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

use measurement::Timestamp;
use portable_atomic::AtomicU64;

use crate::cpu_sharing::CpuSharing;
use crate::scratch::{BufferPlan, Scratch};
use crate::worker_statistics::WorkerStatistics;

/// The buffers of one MPU, one set for all of its streams, and how far these are.
pub(crate) struct WorkerState {
    pub(crate) scratch: Scratch,
    /// The number of streams on this MPU.
    pub(crate) streams: usize,
    /// The senders of this MPU are to stop.
    pub(crate) is_sending_over: bool,
    /// Bytes that its streams have sent and received.
    pub(crate) moved: u64,
    /// Whether its senders let other threads run.
    pub(crate) cpu_sharing: CpuSharing,
    /// The times when its first and its last stream started.
    pub(crate) started: Option<(Timestamp, Timestamp)>,
    /// The time that the MPU had spun at the last call of [`Self::note_spinning`].
    spun: Duration,
}

impl mars::Module for WorkerState {
    const NAME: &'static str = "stream";
}

impl WorkerState {
    pub(crate) fn new(
        memory: BufferPlan,
        mpu: usize,
        statistics: Arc<WorkerStatistics>,
    ) -> io::Result<Self> {
        Ok(Self {
            scratch: Scratch::new(memory, mpu, statistics)?,
            streams: 0,
            is_sending_over: false,
            moved: 0,
            cpu_sharing: CpuSharing::default(),
            started: None,
            spun: Duration::ZERO,
        })
    }

    /// Adds the time that the MPU has spun since the last call; `spun` is its total so far.
    pub(crate) fn note_spinning(&mut self, spun: Duration) {
        if spun > self.spun {
            self.scratch.statistics.pacing.spun(spun.saturating_sub(self.spun));
            self.spun = spun;
        }
    }

    /// Notes the start of one stream.
    pub(crate) fn start_one(&mut self, now: Timestamp, times: &WorkerTimes) {
        let (first, last) = self.started.unwrap_or((now, now));
        self.started = Some((first, last.max(now)));
        times.first_start.store(first.nanos(), Relaxed);
        times.last_start.store(last.max(now).nanos(), Relaxed);
    }
}

/// The times of start and end of one MPU, in nanoseconds; zero: not yet.
#[derive(Debug, Default)]
#[repr(align(128))]
pub(crate) struct WorkerTimes {
    pub(crate) first_start: AtomicU64,
    pub(crate) last_start: AtomicU64,
    /// The time when the last of its senders had sent its first byte.
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

/// Converts a time of `mars` to one of linerate; both count from the same instant.
pub(crate) const fn timestamp(time: mars::Time) -> Timestamp {
    Timestamp::from_nanos(time.nanos())
}

/// Converts a time of linerate to one of `mars`; both count from the same instant.
pub(crate) const fn instant(time: Timestamp) -> mars::Time {
    mars::Time::from_nanos(time.nanos())
}
