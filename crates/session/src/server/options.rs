//! How a server is to serve, and which clients may use it.

use std::net::IpAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use host::PerfAccess;
use linux::tcp::Keepalive;
use measurement::Transport;
use protocol::iperf3::Token;
use protocol::tuning::SharedKey;

use super::access::AccessList;
use super::admission::Order;
use super::evidence::Evidence;
use super::limits::Limits;
use super::rates::TotalRates;
use super::tuning::TuningRelay;
use crate::resolve::Family;

/// Options of a [`Server`](crate::Server): addresses, when it stops, how many tests it runs, and
/// the options of each test.
#[derive(Clone)]
pub struct ServerOptions {
    /// Address to listen on; none: all addresses.
    pub bind: Option<IpAddr>,
    /// The one sender to a multicast group, if `bind` is that; none: any.
    pub source: Option<IpAddr>,
    /// Port for TCP and UDP; 0: the kernel chooses it.
    pub port: u16,
    /// The one transport that it listens on; none: both.
    pub only: Option<Transport>,
    /// Address family to listen on if no address is given.
    pub family: Family,
    /// When the server stops by itself.
    pub one_off: OneOff,
    /// Time without a client after which the server stops; none: it does not.
    pub idle_limit: Option<Duration>,
    /// Time for which running tests may continue after a signal to stop.
    pub stop_timeout: Duration,
    /// How many tests run at the same time, and in which order.
    pub order: Order,
    /// Addresses of clients that are answered.
    pub access: AccessList,
    /// Key that clients must have; none: the control connection has none.
    pub key: Option<SharedKey>,
    /// Rates that all tests may have together.
    pub rates: TotalRates,
    /// Passes on connections of clients that tune this host; none: nobody may.
    pub tuning: Option<Arc<TuningRelay>>,
    /// Options of each test.
    pub session: SessionOptions,
}

/// When a server stops by itself.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OneOff {
    /// Never.
    #[default]
    No,
    /// After one test.
    Test,
    /// After so many streams of iperf2 clients.
    Streams(u32),
    /// After one client, with a test or without: refused, gone, or no iperf3 at all. One with
    /// wrong credentials does not count (clause 11.9 of docs/protocol/iperf3.md).
    Client,
}

/// Options of a server that apply to each test.
#[derive(Clone)]
pub struct SessionOptions {
    /// CPUs to which the workers are pinned; empty: they are not pinned.
    pub cpus: Vec<usize>,
    /// Time between two samples; zero: only at begin and end; none: no samples.
    pub interval: Option<Duration>,
    /// Limits of a test.
    pub limits: Limits,
    /// Authentication of clients; none: all clients are admitted.
    pub gate: Option<Arc<dyn Gate>>,
    /// Time after which a test of an iperf2 client ends, as if its client had ended it; none: it does
    /// not.
    pub ends_after: Option<Duration>,
    /// Time without received payload after which a test fails.
    pub receive_timeout: Duration,
    /// Time without payload in either direction after which a test fails; none: no limit.
    pub stall: Option<Duration>,
    /// How long a client may take to end a test after its duration.
    pub grace: Duration,
    /// Whether clients receive the number of concurrent tests without the addresses of their
    /// clients.
    pub hide_peers: bool,
    /// Keepalive parameters of the control connection.
    pub keepalive: Keepalive,
    /// `TCP_USER_TIMEOUT` of the streams (tcp(7)).
    pub send_timeout: Option<Duration>,
    /// Interface to which all sockets are bound (`SO_BINDTODEVICE`, socket(7)).
    pub device: Option<String>,
    /// Whether a test is refused if the kernel sets smaller socket buffers than requested, as in
    /// iperf3.
    pub exact_window: bool,
    /// File with the payload to send, or for the received payload; none: generated payload.
    pub file: Option<PathBuf>,
    /// Whether the server connects to iperf2 clients that ask for it, and sends there.
    pub connects_back: bool,
    /// Evidence on this host that clients receive.
    pub evidence: Evidence,
    /// Access to performance events, for CPU profiles that clients receive; none: no profiles.
    pub perf: Option<Arc<PerfAccess>>,
}

impl Default for SessionOptions {
    fn default() -> Self {
        Self {
            cpus: Vec::new(),
            interval: None,
            limits: Limits::default(),
            gate: None,
            ends_after: None,
            receive_timeout: RECEIVE_TIMEOUT,
            stall: None,
            grace: GRACE,
            connects_back: false,
            hide_peers: false,
            keepalive: Keepalive::default(),
            send_timeout: None,
            device: None,
            exact_window: false,
            file: None,
            evidence: Evidence::default(),
            perf: None,
        }
    }
}

/// Authentication of clients: decides by the token that a client sends whether it may run a test.
pub trait Gate: Send + Sync {
    /// Checks the `token` that a client sent.
    ///
    /// # Errors
    /// The reason for the log. The client receives only that it is refused.
    fn admit(&self, token: Option<&Token>) -> Result<(), String>;
}

/// iperf3's (clause 2.8).
const GRACE: Duration = Duration::from_secs(40);
const RECEIVE_TIMEOUT: Duration = Duration::from_secs(120);
