//! What a client is asked to do.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use host::PerfAccess;
use linux::tcp::Keepalive;
use measurement::TestPlan;
use protocol::iperf3::{CounterWidth, OptionalParameters};
use protocol::tuning::SharedKey;

use crate::resolve::Family;

/// A test to be run by a client: server, plan and options.
#[derive(Clone, Debug)]
pub struct Request {
    /// Name or address of the server.
    pub host: String,
    /// Port of the server.
    pub port: u16,
    /// Family of the addresses that may be used.
    pub family: Family,
    /// Local address to bind to; none: the kernel chooses it.
    pub bind: Option<IpAddr>,
    /// Further local addresses: TCP streams to the port of the server are sent from `bind` and
    /// these in turn. UDP, and streams to further ports of the server, are sent from `bind` alone,
    /// since the server hears only the client there that holds the control connection.
    pub further_binds: Vec<IpAddr>,
    /// Time limit for a connection to be opened.
    pub connect_timeout: Duration,
    /// CPUs to which the workers are pinned; empty: they are not pinned.
    pub cpus: Vec<usize>,
    /// Labels that are added to the record.
    pub tags: BTreeMap<String, String>,
    /// Plan of the test.
    pub plan: TestPlan,
    /// Further options, e.g. for compatibility with iperf3.
    pub options: ClientOptions,
}

/// Options of a client that are not part of the plan of a test. The defaults are those of linerate.
#[derive(Clone, Debug)]
pub struct ClientOptions {
    /// Parameters that are sent to the server beside the plan.
    pub optional: OptionalParameters,
    /// Width of the sequence numbers of datagrams.
    pub counter_width: CounterWidth,
    /// Length of datagrams if the plan has none.
    pub datagram: DatagramDefault,
    /// Whether GSO and GRO are used if no engine was requested.
    pub batching: Batching,
    /// Time without received payload after which the test fails.
    pub receive_timeout: Duration,
    /// Interface to which all sockets are bound (`SO_BINDTODEVICE`, socket(7)).
    pub device: Option<String>,
    /// Local port of the first stream; the next streams use the next ports (clause 2.7).
    pub client_port: Option<u16>,
    /// `TCP_USER_TIMEOUT` of all connections (tcp(7)).
    pub send_timeout: Option<Duration>,
    /// Keepalive parameters of the control connection.
    pub keepalive: Keepalive,
    /// Whether the test fails if the kernel sets smaller socket buffers than requested, as in
    /// iperf3.
    pub exact_window: bool,
    /// File with the payload to send, or for the received payload; none: generated payload.
    pub file: Option<PathBuf>,
    /// Key that both ends have; none: the control connection has none.
    pub key: Option<SharedKey>,
    /// Hosts that are watched during the test.
    pub watching: Watching,
    /// Access to the events of this host's CPUs, which tests in turn share; none: no profile.
    pub perf: Option<Arc<PerfAccess>>,
}

impl Default for ClientOptions {
    fn default() -> Self {
        Self {
            optional: OptionalParameters::default(),
            counter_width: CounterWidth::Bits64,
            datagram: DatagramDefault::PathMtu,
            batching: Batching::WhereFaster,
            receive_timeout: RECEIVE_TIMEOUT,
            device: None,
            client_port: None,
            send_timeout: None,
            keepalive: Keepalive::default(),
            exact_window: false,
            file: None,
            key: None,
            watching: Watching::Hosts,
            perf: None,
        }
    }
}

/// Whether a UDP test uses GSO and GRO if no engine was requested.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Batching {
    /// If single datagrams would limit the rate, and the peer is a linerate.
    WhereFaster,
    /// If the peer is a linerate: single datagrams were too slow.
    WherePossible,
    /// Only if the plan requests it, as in iperf3.
    IfAsked,
}

/// The hosts whose counters and CPU time are sampled during a test.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Watching {
    /// This host, and the server if it reports its host.
    Hosts,
    /// The server only, if it reports its host.
    Peer,
    /// No host; the result is not judged.
    Nothing,
}

/// Payload length of datagrams if the plan of a test has none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DatagramDefault {
    /// The largest payload that fits the path MTU.
    PathMtu,
    /// The segment size of the control connection, as in iperf3 (clause 6.5).
    ControlSegment,
}

/// iperf3's (clause 2.8).
const RECEIVE_TIMEOUT: Duration = Duration::from_secs(120);
