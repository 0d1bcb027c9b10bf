//! Counters of a server, for metrics and logs.

use std::fmt;
use std::net::IpAddr;
use std::sync::{Mutex, PoisonError};

use measurement::{BitRate, Direction, DirectionOutcome, Transport};
use portable_atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use serde::Serialize;

/// Reason for which the server refused a client or a test.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Refusal {
    /// The limit of tests that run or wait is reached (`--max-sessions`).
    Busy,
    /// The limit of tests from one address is reached (`--max-per-address`).
    Address,
    /// The limit of tests started per second from one address is reached (`--max-starts`).
    #[serde(rename = "rate_limited")]
    RateLimited,
    /// The test has more streams than allowed (`--max-streams`).
    Streams,
    /// The rate of the test is higher than allowed.
    Rate,
    /// The test moves more bytes than allowed.
    Bytes,
    /// The test is longer than allowed.
    Duration,
    /// The test needs more memory than is left for tests (`--max-memory`).
    Memory,
    /// The test needs more file descriptors than are left (`RLIMIT_NOFILE`).
    Descriptors,
    /// The test needs more threads than are left (`RLIMIT_NPROC`, `pids.max`).
    Threads,
    /// The credentials of the client are not valid.
    Authentication,
    /// The parameters are invalid or not supported.
    Parameters,
    /// The first bytes are not those of iperf3's protocol.
    #[serde(rename = "unknown_protocol")]
    UnknownProtocol,
    /// The client did not send a message in time.
    #[serde(rename = "timeout")]
    Timeout,
    /// The server is being stopped.
    Stopping,
    /// The test moved next to nothing while another client needed its place (`--yield-below`).
    Idle,
    /// The test ran for long while another client needed its place (`--yield-after`).
    Overtime,
    /// The client had more tests than its share while another client needed a place.
    Displaced,
    /// The address of the client is not admitted (`--allow`, `--deny`).
    Denied,
    /// The rate of the server, or of the client's prefix, is given to other tests
    /// (`--max-total-rate`).
    #[serde(rename = "total_rate")]
    TotalRate,
    /// An iperf2 client asks the server to connect to it (`--connect-back`).
    #[serde(rename = "connect_back")]
    ConnectBack,
    /// A UDP client of iperf2 asks to be sent datagrams, and its address may be forged.
    Unproved,
}

impl Refusal {
    /// All reasons of refusal, in the order of declaration.
    pub const ALL: [Self; 22] = [
        Self::Busy,
        Self::Address,
        Self::RateLimited,
        Self::Streams,
        Self::Rate,
        Self::Bytes,
        Self::Duration,
        Self::Memory,
        Self::Descriptors,
        Self::Threads,
        Self::Authentication,
        Self::Parameters,
        Self::UnknownProtocol,
        Self::Timeout,
        Self::Stopping,
        Self::Idle,
        Self::Overtime,
        Self::Displaced,
        Self::Denied,
        Self::TotalRate,
        Self::ConnectBack,
        Self::Unproved,
    ];

    /// Name of the reason in the log and in metrics, e.g. `busy`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Busy => "busy",
            Self::Address => "address",
            Self::RateLimited => "rate_limited",
            Self::Streams => "streams",
            Self::Rate => "rate",
            Self::Bytes => "bytes",
            Self::Duration => "duration",
            Self::Memory => "memory",
            Self::Descriptors => "descriptors",
            Self::Threads => "threads",
            Self::Authentication => "authentication",
            Self::Parameters => "parameters",
            Self::UnknownProtocol => "unknown_protocol",
            Self::Timeout => "timeout",
            Self::Stopping => "stopping",
            Self::Idle => "idle",
            Self::Overtime => "overtime",
            Self::Displaced => "displaced",
            Self::Denied => "denied",
            Self::TotalRate => "total_rate",
            Self::ConnectBack => "connect_back",
            Self::Unproved => "unproved",
        }
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Busy => "busy: as many tests run or wait as may (--max-sessions, --queue)",
            Self::Address => "too many tests from this address at one time (--max-per-address)",
            Self::RateLimited => {
                "too many tests begun from this address in a second (--max-starts)"
            }
            Self::Streams => "more streams than this server allows",
            Self::Rate => "a higher rate than this server allows",
            Self::Bytes => "more bytes than this server allows",
            Self::Duration => "a longer test than this server allows",
            Self::Memory => "no memory left for this test (--max-memory)",
            Self::Descriptors => {
                "too few open files are left for its streams (ulimit -n, LimitNOFILE=)"
            }
            Self::Threads => {
                "too few threads are left for its test (ulimit -u, TasksMax=, pids.max)"
            }
            Self::Authentication => "not a user of this server, or without its key",
            Self::Parameters => "what it asked for cannot be read or done",
            Self::UnknownProtocol => "it does not speak iperf3's protocol",
            Self::Timeout => "it did not say what it wants",
            Self::Stopping => "the server stops",
            Self::Idle => "another client needed the place of a test that moved little",
            Self::Overtime => "another client needed the place of a test that ran for long",
            Self::Displaced => "another client needed the place of one of many tests",
            Self::Denied => "its address may not test here (--allow, --deny)",
            Self::TotalRate => "other tests have all of the rate (--max-total-rate)",
            Self::ConnectBack => "it asks this server to connect to it (--connect-back)",
            Self::Unproved => {
                "it asks to be sent datagrams, and its address is not proved: a TCP test from it \
                 (iperf -c HOST) proves it for ten minutes"
            }
        })
    }
}

/// Counters of a server since its start, which its threads update.
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
    last_results: Mutex<Vec<LastResult>>,
    /// The latest last.
    by_client: Mutex<Vec<(IpAddr, LastResult)>>,
}

/// Result of the last test of a transport in a direction that ran to its end.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LastResult {
    /// Transport protocol of the test.
    pub transport: Transport,
    /// Direction, as seen from the client.
    pub direction: Direction,
    /// Delivered rate, as far as the server knows it; else the acknowledged or the offered one.
    pub rate: BitRate,
    /// UDP: lost datagrams as a share of those sent, 0 to 1; none: TCP, or not known.
    pub lost_ratio: Option<f64>,
    /// TCP: retransmitted segments; none: UDP, or not known.
    pub retransmits: Option<u64>,
    /// End of the test, in milliseconds since the Unix epoch.
    pub ended_millis: u64,
}

impl LastResult {
    /// What an earlier result has in common with the one that replaces it.
    const fn place(&self) -> (Transport, Direction) {
        (self.transport, self.direction)
    }

    /// None: the rate is not known.
    fn of(transport: Transport, outcome: &DirectionOutcome, ended_millis: u64) -> Option<Self> {
        let datagrams = outcome.datagrams.filter(|datagrams| datagrams.sent > 0);
        Some(Self {
            transport,
            direction: outcome.direction,
            rate: outcome.headline()?.rate,
            lost_ratio: datagrams.map(|datagrams| datagrams.loss()),
            retransmits: outcome.retransmits,
            ended_millis,
        })
    }
}

impl ServerMetrics {
    /// Keeps the result of a test that ran to its end now, in place of an earlier one of the same
    /// transport and directions: of all clients, and of this one.
    pub(crate) fn keep(
        &self,
        client: IpAddr,
        transport: Transport,
        directions: &[DirectionOutcome],
    ) {
        let now = linux::clock::realtime_millis();
        let results = directions.iter().filter_map(|it| LastResult::of(transport, it, now));
        let mut last = self.last_results.lock().unwrap_or_else(PoisonError::into_inner);
        let mut by_client = self.by_client.lock().unwrap_or_else(PoisonError::into_inner);
        let client = client.to_canonical();
        for result in results {
            last.retain(|other| other.place() != result.place());
            last.push(result);
            by_client.retain(|(who, other)| *who != client || other.place() != result.place());
            by_client.push((client, result));
        }
        let beyond = by_client.len().saturating_sub(MOST_RESULTS_BY_CLIENT);
        by_client.drain(..beyond);
    }

    /// Results of the last tests of the clients that tested last: at most one for each client,
    /// transport and direction, and 64 in all.
    pub fn results_by_client(&self) -> Vec<(IpAddr, LastResult)> {
        self.by_client.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Results of the last tests, at most one for each transport and direction.
    pub fn last_results(&self) -> Vec<LastResult> {
        self.last_results.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub(crate) fn refuse(&self, why: Refusal) {
        self.refused[why as usize].fetch_add(1, Relaxed);
    }

    /// Whether the server is being stopped and accepts no more clients.
    pub fn is_stopping(&self) -> bool {
        self.stopping.load(Relaxed)
    }

    /// The current values of all counters.
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

/// Values of [`ServerMetrics`] that were read together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Snapshot {
    /// TCP connections that were accepted.
    pub connections: u64,
    /// Open TCP connections without a complete cookie or parameters.
    pub pending: u64,
    /// Tests that wait in the queue.
    pub waiting: u64,
    /// Tests that currently run.
    pub running: u64,
    /// Tests that ended as planned.
    pub completed: u64,
    /// Tests that their client aborted.
    pub interrupted: u64,
    /// Tests that failed after they were admitted.
    pub failed: u64,
    /// Payload bytes received by tests that have ended.
    pub received: u64,
    /// Payload bytes sent by tests that have ended.
    pub sent: u64,
    /// Datagrams that belonged to no test.
    pub stray_datagrams: u64,
    /// Datagrams that arrived after the end of their stream.
    pub late_datagrams: u64,
    /// Refused clients and tests, by reason.
    pub refused: [(Refusal, u64); Refusal::ALL.len()],
}

/// Any client can make a set of labels of each of its addresses.
const MOST_RESULTS_BY_CLIENT: usize = 64;

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;
    use std::time::Duration;

    use measurement::{DatagramLedger, Throughput};

    use super::*;

    const CLIENT: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);

    #[test]
    fn results_of_so_many_clients_are_kept_and_not_more() {
        let metrics = ServerMetrics::default();
        let outcome = DirectionOutcome {
            delivered: Some(Throughput::over(1, Duration::from_secs(1))),
            ..DirectionOutcome::unknown(Direction::Send)
        };
        for number in 0..1_000_u32 {
            let client = IpAddr::V4(Ipv4Addr::from_bits(number / 2));
            metrics.keep(client, Transport::Tcp, std::slice::from_ref(&outcome));
        }
        let clients: Vec<_> = metrics.results_by_client().into_iter().map(|(who, _)| who).collect();
        let latest = (436..500).map(|number| IpAddr::V4(Ipv4Addr::from_bits(number)));
        assert_eq!(clients, latest.collect::<Vec<_>>());
    }

    #[test]
    fn the_last_result_of_each_kind_is_kept() {
        let metrics = ServerMetrics::default();
        let outcome = |direction, bytes, lost| DirectionOutcome {
            delivered: Some(Throughput::over(bytes, Duration::from_secs(1))),
            datagrams: Some(DatagramLedger { sent: 10, lost, ..DatagramLedger::default() }),
            ..DirectionOutcome::unknown(direction)
        };
        metrics.keep(CLIENT, Transport::Udp, &[outcome(Direction::Send, 1_000, 5)]);
        metrics.keep(CLIENT, Transport::Udp, &[outcome(Direction::Send, 2_000, 1)]);
        metrics.keep(CLIENT, Transport::Udp, &[DirectionOutcome::unknown(Direction::Send)]);
        metrics.keep(CLIENT, Transport::Udp, &[outcome(Direction::Receive, 3_000, 0)]);
        let results = metrics.last_results();
        let told = |result: &LastResult| (result.rate.bits_per_second(), result.lost_ratio);
        let told: Vec<_> = results.iter().map(told).collect();
        assert_eq!(told, [(16_000, Some(0.1)), (24_000, Some(0.0))]);
    }

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
