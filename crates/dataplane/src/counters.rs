//! Counters that one worker writes and anybody reads.

use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use std::time::Duration;

use measurement::{StreamCounters, Timestamp};
use portable_atomic::{AtomicBool, AtomicI32, AtomicU64};

/// One stream's counters, on cache lines of their own. They only grow.
#[derive(Debug, Default)]
#[repr(align(128))]
pub struct Counters {
    bytes: AtomicU64,
    blocks: AtomicU64,
    sequence: AtomicU64,
    unique: AtomicU64,
    reordered: AtomicU64,
    duplicate: AtomicU64,
    late: AtomicU64,
    malformed: AtomicU64,
    jitter_nanos: AtomicU64,
    blocked_nanos: AtomicU64,
    last: AtomicU64,
    finished: AtomicBool,
    errno: AtomicI32,
}

impl Counters {
    /// Publishes the writer's values. Only the stream's own worker calls it.
    pub fn publish(&self, now: &StreamCounters) {
        self.bytes.store(now.bytes, Relaxed);
        self.blocks.store(now.blocks, Relaxed);
        self.last.store(now.last.nanos(), Relaxed);
    }

    /// Publishes all values of a UDP stream.
    pub fn publish_datagrams(&self, now: &StreamCounters) {
        self.publish(now);
        self.sequence.store(now.sequence, Relaxed);
        self.unique.store(now.unique, Relaxed);
        self.reordered.store(now.reordered, Relaxed);
        self.duplicate.store(now.duplicate, Relaxed);
        self.late.store(now.late, Relaxed);
        self.malformed.store(now.malformed, Relaxed);
        self.jitter_nanos.store(now.jitter_nanos, Relaxed);
    }

    /// The stream will move nothing more; `errno` says why if that was not planned.
    pub fn finish(&self, errno: Option<i32>) {
        self.errno.store(errno.unwrap_or(0), Relaxed);
        self.finished.store(true, Release);
    }

    /// The stream will move nothing more, as planned, unless it has ended already.
    pub(crate) fn finish_in_order(&self) {
        self.finished.store(true, Release);
    }

    /// The sender has waited so long for room in its socket. Only the stream's own worker
    /// calls it.
    pub(crate) fn add_blocked(&self, waited: Duration) {
        let nanos = u64::try_from(waited.as_nanos()).unwrap_or(u64::MAX);
        self.blocked_nanos.store(self.blocked_nanos.load(Relaxed).saturating_add(nanos), Relaxed);
    }

    /// Whether the stream has moved a byte.
    pub(crate) fn has_moved(&self) -> bool {
        self.bytes.load(Relaxed) > 0
    }

    /// Whether the stream will move nothing more: what is read hereafter is final.
    pub fn is_finished(&self) -> bool {
        self.finished.load(Acquire)
    }

    /// The error that ended the stream, if one did.
    pub fn errno(&self) -> Option<i32> {
        Some(self.errno.load(Relaxed)).filter(|errno| *errno != 0)
    }

    /// Payload bytes moved so far, without the rest of the values.
    pub fn bytes(&self) -> u64 {
        self.bytes.load(Relaxed)
    }

    /// The values now.
    pub fn read(&self) -> StreamCounters {
        // `unique` first: it never exceeds the `sequence` that is read after it.
        let unique = self.unique.load(Relaxed);
        StreamCounters {
            unique,
            bytes: self.bytes.load(Relaxed),
            blocks: self.blocks.load(Relaxed),
            sequence: self.sequence.load(Relaxed),
            reordered: self.reordered.load(Relaxed),
            duplicate: self.duplicate.load(Relaxed),
            late: self.late.load(Relaxed),
            malformed: self.malformed.load(Relaxed),
            jitter_nanos: self.jitter_nanos.load(Relaxed),
            blocked_nanos: self.blocked_nanos.load(Relaxed),
            last: Timestamp::from_nanos(self.last.load(Relaxed)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn readers_see_what_the_writer_published() {
        let counters = Counters::default();
        let values =
            StreamCounters { bytes: 1, blocks: 2, sequence: 3, unique: 3, ..Default::default() };
        counters.publish_datagrams(&values);
        assert_eq!(counters.read(), values);
        assert!(!counters.is_finished());
        counters.finish(Some(104));
        assert_eq!((counters.is_finished(), counters.errno()), (true, Some(104)));
    }

    #[test]
    fn two_streams_share_no_cache_line() {
        assert!(align_of::<Counters>() >= 128);
    }
}
