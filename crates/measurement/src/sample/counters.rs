//! The counters of one stream, declared once: for the record, for results of many streams and for
//! the atomics that a worker writes (`dataplane::counters`).

use serde::{Deserialize, Serialize};

use super::{StreamSample, TcpSample, UdpSample};
use crate::units::{ByteSize, Timestamp};

/// Hands the declaration of every counter of a stream to the macro `$declare`: its attributes;
/// whether it is a `total` that only grows, or a `state` of which the last value counts; who
/// writes it (`each_block`: the engine with each block or datagram; `each_datagram`: a UDP
/// engine; `worker`: the worker that runs the engine); its name.
///
/// Results of many streams list the counters in this order (clause 13.14 of
/// docs/protocol/iperf3.md).
#[macro_export]
macro_rules! stream_counters {
    ($declare:ident) => {
        $declare! {
            /// Payload bytes handed to the socket, or read from it.
            total each_block bytes;
            /// Blocks written or read; for UDP: datagrams sent or received, duplicates too.
            total each_block blocks;
            /// UDP: last sequence number sent, or highest received (the first is 1).
            total each_datagram sequence;
            /// UDP receiver: datagrams with a sequence number not seen before.
            total each_datagram unique;
            /// UDP receiver: unique datagrams that came after a higher sequence number (RFC 4737).
            total each_datagram reordered;
            /// UDP receiver: datagrams seen before.
            total each_datagram duplicate;
            /// UDP receiver: datagrams too far behind to distinguish from duplicates; they stay lost.
            total each_datagram late;
            /// UDP receiver: datagrams too short for a header, or with an impossible number.
            total each_datagram malformed;
            /// UDP receiver: interarrival jitter (RFC 3550, 6.4.1) in nanoseconds.
            state each_datagram jitter_nanos;
            /// How long a sender waited for room in its socket, in nanoseconds: what is behind it
            /// took no more.
            total worker blocked_nanos;
        }
    };
}

/// Name and accessors of one counter of [`StreamCounters`].
#[derive(Clone, Copy, Debug)]
pub struct StreamCounter {
    /// Name of the field.
    pub name: &'static str,
    /// Whether the value only grows.
    pub kind: CounterKind,
    /// Returns the value of the field.
    pub get: fn(&StreamCounters) -> u64,
    /// Sets the value of the field.
    pub set: fn(&mut StreamCounters, u64),
}

/// How a counter behaves over time: it only grows, or it varies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CounterKind {
    /// The value only grows, so that a difference of two readings is meaningful.
    Total,
    /// The value grows and shrinks; the last reading counts.
    State,
}

macro_rules! kind {
    (total) => {
        CounterKind::Total
    };
    (state) => {
        CounterKind::State
    };
}

macro_rules! declare {
    ($($(#[$attribute:meta])* $kind:ident $writer:ident $name:ident;)+) => {
        /// Counters of one stream since it was opened.
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
        #[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
        pub struct StreamCounters {
            $($(#[$attribute])* pub $name: u64,)+
            /// When payload was last sent or received; zero: never.
            #[serde(rename = "last_nanos")]
            pub last: Timestamp,
        }

        /// [`StreamSample`] as its JSON has it, all keys on one level, to read it by: `flatten` would read
        /// through a buffer of untyped values.
        #[derive(Deserialize)]
        pub(super) struct Flat {
            id: u32,
            $($name: u64,)+
            #[serde(rename = "last_nanos")]
            last: Timestamp,
            tcp: Option<TcpSample>,
            udp: Option<UdpSample>,
        }

        impl From<Flat> for StreamSample {
            fn from(flat: Flat) -> Self {
                let counters = StreamCounters { $($name: flat.$name,)+ last: flat.last };
                Self { id: flat.id, counters, tcp: flat.tcp, udp: flat.udp }
            }
        }

        impl StreamCounters {
            /// All counters, in the order of their declaration.
            pub const ALL: &[StreamCounter] = &[$(StreamCounter {
                name: stringify!($name),
                kind: kind!($kind),
                get: |counters| counters.$name,
                set: |counters, value| counters.$name = value,
            }),+];

            /// The difference to an `earlier` reading of the same stream. Values of
            /// [`CounterKind::State`] are those of this reading.
            #[must_use]
            pub const fn since(&self, earlier: &Self) -> Self {
                Self { $($name: since!($kind self.$name, earlier.$name),)+ last: self.last }
            }
        }
    };
}

stream_counters!(declare);

impl StreamCounters {
    /// Number of datagrams that are missing at a receiver so far: gaps in the sequence numbers that
    /// no later arrival filled.
    pub const fn missing(&self) -> u64 {
        self.sequence.saturating_sub(self.unique)
    }

    /// Payload bytes with each datagram counted once: those of duplicates, late and malformed
    /// datagrams are left out. `block` is the length of a datagram; a shorter last one counts with
    /// its bytes. Of a stream without such datagrams, as every stream of TCP, all bytes.
    pub fn unique_bytes(&self, block: ByteSize) -> u64 {
        if self.duplicate == 0 && self.late == 0 && self.malformed == 0 {
            return self.bytes;
        }
        self.bytes.min(self.unique.saturating_mul(block.bytes()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn totals_are_subtracted_and_states_are_kept() {
        let filled = |value| {
            let mut counters = StreamCounters::default();
            for counter in StreamCounters::ALL {
                (counter.set)(&mut counters, value);
            }
            counters
        };
        let since = filled(9).since(&filled(4));
        for counter in StreamCounters::ALL {
            let expected = if counter.kind == CounterKind::Total { 5 } else { 9 };
            assert_eq!((counter.get)(&since), expected, "{}", counter.name);
        }
    }

    #[test]
    fn a_datagram_that_came_twice_counts_once() {
        let all = StreamCounters { bytes: 9_500, unique: 10, ..StreamCounters::default() };
        let unique = |counters: StreamCounters| counters.unique_bytes(ByteSize::from_bytes(1_000));
        assert_eq!(unique(all), 9_500, "the last one is shorter");
        let twice = StreamCounters { bytes: 12_500, duplicate: 3, ..all };
        assert_eq!(unique(twice), 10_000);
        let late = StreamCounters { bytes: 11_500, late: 2, ..all };
        assert_eq!(unique(late), 10_000);
    }
}
