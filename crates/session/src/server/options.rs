//! How a server is to serve, and which clients may use it.

use std::net::IpAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use host::PerfAccess;
use linux::tcp::Keepalive;
use protocol::iperf3::Token;

use super::admission::Order;
use super::evidence::Evidence;
use super::limits::Limits;
use crate::resolve::Family;

/// How to serve.
#[derive(Clone)]
pub struct ServerOptions {
    /// Address to listen on; none: all.
    pub bind: Option<IpAddr>,
    /// Port for TCP and UDP; 0: one that the kernel chooses.
    pub port: u16,
    /// Which family to listen on if no address is given.
    pub family: Family,
    /// Stop after one test.
    pub one_off: bool,
    /// Stop when no client has come for so long.
    pub idle_limit: Option<Duration>,
    /// How long the tests that run may go on after a signal.
    pub stop_timeout: Duration,
    /// How many are served, and when.
    pub order: Order,
    /// How each test is run.
    pub session: SessionOptions,
}

/// How a server runs a test.
#[derive(Clone)]
pub struct SessionOptions {
    /// CPUs to pin the workers to; empty: not pinned.
    pub cpus: Vec<usize>,
    /// Time between two samples, zero: only at the ends; none: no samples.
    pub interval: Option<Duration>,
    /// What a client may ask for.
    pub limits: Limits,
    /// Decides which clients may test; none: all may.
    pub gate: Option<Arc<dyn Gate>>,
    /// A test in which nothing is received for so long has failed.
    pub receive_timeout: Duration,
    /// A test in which nothing moves for so long, in no direction, has failed.
    pub stall: Option<Duration>,
    /// How long after its time a client may end its test.
    pub grace: Duration,
    /// Clients hear how many other tests there were, but not whose.
    pub hide_peers: bool,
    /// How the control connection finds out that the client is gone.
    pub keepalive: Keepalive,
    /// `TCP_USER_TIMEOUT` of the streams (tcp(7)).
    pub send_timeout: Option<Duration>,
    /// Interface to which all sockets are bound (`SO_BINDTODEVICE`, socket(7)).
    pub device: Option<String>,
    /// A test whose socket buffers are smaller than asked is refused, as with iperf3.
    pub exact_window: bool,
    /// Payload comes from this file, or goes to it.
    pub file: Option<PathBuf>,
    /// What clients hear of this host.
    pub evidence: Evidence,
    /// From where this host's CPUs are sampled for clients that hear of it; none: they are not.
    pub perf: Option<Arc<PerfAccess>>,
}

impl Default for SessionOptions {
    fn default() -> Self {
        Self {
            cpus: Vec::new(),
            interval: None,
            limits: Limits::default(),
            gate: None,
            receive_timeout: RECEIVE_TIMEOUT,
            stall: None,
            grace: GRACE,
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

/// Decides which clients may test.
pub trait Gate: Send + Sync {
    /// Lets the owner of `token` in.
    ///
    /// # Errors
    /// Why not, for the log. The client hears only that it may not.
    fn admit(&self, token: Option<&Token>) -> Result<(), String>;
}

/// iperf3's (clause 2.8).
const GRACE: Duration = Duration::from_secs(40);
const RECEIVE_TIMEOUT: Duration = Duration::from_secs(120);
