//! What a server did so far, for whoever watches it.

use std::fmt;

use portable_atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use serde::Serialize;

/// Why a client was not served.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Refusal {
    /// As many tests run, or wait, as may.
    Busy,
    /// As many of them come from this address as may.
    Address,
    /// Too many tests were begun from this address in a second.
    #[serde(rename = "rate_limited")]
    Hurry,
    /// More streams than allowed.
    Streams,
    /// A higher rate than allowed.
    Rate,
    /// More bytes than allowed.
    Bytes,
    /// A longer test than allowed.
    Duration,
    /// More memory than all tests together may take.
    Memory,
    /// More open files than the system gives, or than others have left.
    Descriptors,
    /// More threads than the system gives, or than others have left.
    Threads,
    /// No user that may test.
    Authentication,
    /// What it asked for cannot be read, or cannot be done here.
    Parameters,
    /// It does not speak iperf3's protocol.
    #[serde(rename = "unknown_protocol")]
    Stranger,
    /// It did not say in time what it wants.
    #[serde(rename = "timeout")]
    Silent,
    /// The server stops.
    Stopping,
}

impl Refusal {
    /// Every reason, in order.
    pub const ALL: [Self; 15] = [
        Self::Busy,
        Self::Address,
        Self::Hurry,
        Self::Streams,
        Self::Rate,
        Self::Bytes,
        Self::Duration,
        Self::Memory,
        Self::Descriptors,
        Self::Threads,
        Self::Authentication,
        Self::Parameters,
        Self::Stranger,
        Self::Silent,
        Self::Stopping,
    ];

    /// One word, for machines.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Busy => "busy",
            Self::Address => "address",
            Self::Hurry => "rate_limited",
            Self::Streams => "streams",
            Self::Rate => "rate",
            Self::Bytes => "bytes",
            Self::Duration => "duration",
            Self::Memory => "memory",
            Self::Descriptors => "descriptors",
            Self::Threads => "threads",
            Self::Authentication => "authentication",
            Self::Parameters => "parameters",
            Self::Stranger => "unknown_protocol",
            Self::Silent => "timeout",
            Self::Stopping => "stopping",
        }
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Busy => "busy: as many tests run or wait as may (--max-sessions, --queue)",
            Self::Address => "too many tests from this address at one time (--max-per-address)",
            Self::Hurry => "too many tests begun from this address in a second (--max-starts)",
            Self::Streams => "more streams than this server allows",
            Self::Rate => "a higher rate than this server allows",
            Self::Bytes => "more bytes than this server allows",
            Self::Duration => "a longer test than this server allows",
            Self::Memory => {
                "the memory for tests is taken, or this test needs too much of it (--max-memory)"
            }
            Self::Descriptors => {
                "too few open files are left for its streams (ulimit -n, LimitNOFILE=)"
            }
            Self::Threads => {
                "too few threads are left for its test (ulimit -u, TasksMax=, pids.max)"
            }
            Self::Authentication => "not a user of this server",
            Self::Parameters => "what it asked for cannot be read or done",
            Self::Stranger => "it does not speak iperf3's protocol",
            Self::Silent => "it did not say what it wants",
            Self::Stopping => "the server stops",
        })
    }
}

/// Counts since the server began; written by all its threads.
#[derive(Debug, Default)]
pub struct ServerMetrics {
    pub(crate) connections: AtomicU64,
    pub(crate) pending: AtomicU64,
    pub(crate) waiting: AtomicU64,
    pub(crate) running: AtomicU64,
    pub(crate) completed: AtomicU64,
    pub(crate) interrupted: AtomicU64,
    pub(crate) failed: AtomicU64,
    pub(crate) received: AtomicU64,
    pub(crate) sent: AtomicU64,
    pub(crate) stray_datagrams: AtomicU64,
    pub(crate) late_datagrams: AtomicU64,
    pub(crate) stopping: AtomicBool,
    refused: [AtomicU64; Refusal::ALL.len()],
}

impl ServerMetrics {
    pub(crate) fn refuse(&self, why: Refusal) {
        self.refused[why as usize].fetch_add(1, Relaxed);
    }

    /// Whether the server takes no more clients.
    pub fn is_stopping(&self) -> bool {
        self.stopping.load(Relaxed)
    }

    /// How things stand now.
    pub fn snapshot(&self) -> Snapshot {
        let read = |count: &AtomicU64| count.load(Relaxed);
        Snapshot {
            connections: read(&self.connections),
            pending: read(&self.pending),
            waiting: read(&self.waiting),
            running: read(&self.running),
            completed: read(&self.completed),
            interrupted: read(&self.interrupted),
            failed: read(&self.failed),
            received: read(&self.received),
            sent: read(&self.sent),
            stray_datagrams: read(&self.stray_datagrams),
            late_datagrams: read(&self.late_datagrams),
            refused: Refusal::ALL.map(|why| (why, read(&self.refused[why as usize]))),
        }
    }
}

/// Counts of one moment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Snapshot {
    /// TCP connections accepted.
    pub connections: u64,
    /// Those of them now open that have not said what they want.
    pub pending: u64,
    /// Tests that wait for their turn.
    pub waiting: u64,
    /// Tests that were let in and have not ended.
    pub running: u64,
    /// Tests that ended as asked.
    pub completed: u64,
    /// Tests that their client broke off.
    pub interrupted: u64,
    /// Tests that failed after they were let in.
    pub failed: u64,
    /// Payload bytes received by tests that have ended.
    pub received: u64,
    /// Payload bytes sent by tests that have ended.
    pub sent: u64,
    /// Datagrams that belong to no test.
    pub stray_datagrams: u64,
    /// Datagrams of a stream that had ended.
    pub late_datagrams: u64,
    /// Clients not served, by reason.
    pub refused: [(Refusal, u64); Refusal::ALL.len()],
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_reason_has_a_count_of_its_own() {
        let metrics = ServerMetrics::default();
        metrics.refuse(Refusal::Stopping);
        metrics.refuse(Refusal::Busy);
        metrics.refuse(Refusal::Busy);
        let counts = metrics.snapshot().refused;
        assert_eq!(counts.iter().map(|(_, count)| count).sum::<u64>(), 3);
        assert_eq!(counts[0], (Refusal::Busy, 2));
        assert_eq!(counts[14], (Refusal::Stopping, 1));
    }
}
