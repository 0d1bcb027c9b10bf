//! What each MPU keeps for all streams that it runs: the module of their kind.

use std::io;
use std::sync::atomic::Ordering::Relaxed;

use measurement::Timestamp;
use portable_atomic::AtomicU64;

use crate::scratch::{Memory, Scratch};

/// One hot payload and one hot buffer, instead of one for each stream, and what concerns
/// all streams of the MPU.
pub(crate) struct Station {
    pub(crate) scratch: Scratch,
    /// No stream of this MPU sends any more.
    pub(crate) is_sending_over: bool,
    /// When its first and its last stream started.
    pub(crate) started: Option<(Timestamp, Timestamp)>,
}

impl mars::Module for Station {
    const NAME: &'static str = "stream";
}

impl Station {
    pub(crate) fn new(memory: Memory) -> io::Result<Self> {
        Ok(Self { scratch: Scratch::new(memory)?, is_sending_over: false, started: None })
    }

    /// One of its streams starts.
    pub(crate) fn start_one(&mut self, now: Timestamp, log: &Log) {
        let (first, last) = self.started.unwrap_or((now, now));
        self.started = Some((first, last.max(now)));
        log.first_start.store(first.nanos(), Relaxed);
        log.last_start.store(last.max(now).nanos(), Relaxed);
    }
}

/// What an MPU notes of its start and its end for the host; zero: not yet.
#[derive(Debug, Default)]
#[repr(align(128))]
pub(crate) struct Log {
    pub(crate) first_start: AtomicU64,
    pub(crate) last_start: AtomicU64,
    pub(crate) stopped: AtomicU64,
}

impl Log {
    pub(crate) fn read(time: &AtomicU64) -> Option<Timestamp> {
        Some(time.load(Relaxed)).filter(|nanos| *nanos > 0).map(Timestamp::from_nanos)
    }
}

/// The runtime's time as everybody else's.
pub(crate) const fn timestamp(time: mars::Time) -> Timestamp {
    Timestamp::from_nanos(time.nanos())
}
