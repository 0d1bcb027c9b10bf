//! The counters of a stream as atomics: its worker writes them, any thread reads them.

use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use std::time::Duration;

use measurement::{ByteSize, StreamCounters, Timestamp};
use portable_atomic::{AtomicBool, AtomicI32, AtomicU64};

/// Stores a counter if its declared writer is the one that publishes.
macro_rules! store {
    (each_block each_block $counter:expr, $value:expr) => {
        $counter.store($value, Relaxed)
    };
    (each_datagram each_datagram $counter:expr, $value:expr) => {
        $counter.store($value, Relaxed)
    };
    ($writer:ident $publisher:ident $counter:expr, $value:expr) => {};
}

macro_rules! declare {
    ($($(#[$attribute:meta])* $kind:ident $writer:ident $name:ident;)+) => {
        /// The counters of one stream, on cache lines of their own. Its worker thread is the
        /// only writer; any thread may read them.
        #[derive(Debug, Default)]
        #[repr(align(128))]
        pub struct Counters {
            $($name: AtomicU64,)+
            last: AtomicU64,
            finished: AtomicBool,
            errno: AtomicI32,
        }

        impl Counters {
            /// Publishes the counters that every stream engine updates with each block. Only the
            /// stream's own worker thread calls it.
            pub fn publish(&self, now: &StreamCounters) {
                $(store!($writer each_block self.$name, now.$name);)+
                self.last.store(now.last.nanos(), Relaxed);
            }

            /// Publishes all counters that a UDP engine updates. Only the stream's own worker
            /// thread calls it.
            pub fn publish_datagrams(&self, now: &StreamCounters) {
                self.publish(now);
                $(store!($writer each_datagram self.$name, now.$name);)+
            }

            /// The current values of the counters. They are read one after another while the stream
            /// goes on, so that they are not of one instant.
            pub fn read(&self) -> StreamCounters {
                // `unique` first: it never exceeds the `sequence` that is read after it.
                let unique = self.unique.load(Relaxed);
                let last = Timestamp::from_nanos(self.last.load(Relaxed));
                let read = StreamCounters { $($name: self.$name.load(Relaxed),)+ last };
                StreamCounters { unique, ..read }
            }
        }
    };
}

measurement::stream_counters!(declare);

impl Counters {
    /// Marks the stream as ended. `errno` is that of the error that ended it (errno(3)); `None`: it
    /// ended as planned.
    pub fn finish(&self, errno: Option<i32>) {
        self.errno.store(errno.unwrap_or(0), Relaxed);
        self.finished.store(true, Release);
    }

    /// Notes that the stream has ended as planned; an error noted before stays.
    pub(crate) fn finish_in_order(&self) {
        self.finished.store(true, Release);
    }

    /// Adds the time that the sender waited for room in its socket. Only the stream's own worker
    /// calls it.
    pub(crate) fn add_blocked(&self, waited: Duration) {
        let nanos = u64::try_from(waited.as_nanos()).unwrap_or(u64::MAX);
        self.blocked_nanos.store(self.blocked_nanos.load(Relaxed).saturating_add(nanos), Relaxed);
    }

    /// Whether the stream has moved a byte.
    pub(crate) fn has_moved(&self) -> bool {
        self.bytes.load(Relaxed) > 0
    }

    /// Whether the stream has ended: counters read hereafter are final.
    pub fn is_finished(&self) -> bool {
        self.finished.load(Acquire)
    }

    /// The error number (errno(3)) of the error that ended the stream. `None`: it has not ended, or
    /// ended as planned.
    pub fn errno(&self) -> Option<i32> {
        Some(self.errno.load(Relaxed)).filter(|errno| *errno != 0)
    }

    /// Payload bytes that the stream has received so far, each datagram of `block` bytes once:
    /// [`StreamCounters::unique_bytes`].
    pub fn unique_bytes(&self, block: ByteSize) -> u64 {
        self.read().unique_bytes(block)
    }

    /// Payload bytes that the stream has sent or received so far; cheaper than [`Self::read`].
    pub fn bytes(&self) -> u64 {
        self.bytes.load(Relaxed)
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
    fn every_counter_of_an_engine_for_datagrams_is_published() {
        let mut values = StreamCounters::default();
        for (value, counter) in (1..).zip(StreamCounters::ALL) {
            (counter.set)(&mut values, value);
        }
        let counters = Counters::default();
        counters.publish_datagrams(&values);
        // The worker counts that one itself.
        counters.add_blocked(Duration::from_nanos(values.blocked_nanos));
        assert_eq!(counters.read(), values);
    }

    #[test]
    fn two_streams_share_no_cache_line() {
        assert!(align_of::<Counters>() >= 128);
    }
}
