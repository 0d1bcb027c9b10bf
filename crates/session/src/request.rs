//! What a client is asked to do.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::path::PathBuf;
use std::time::Duration;

use linux::perf::SampleFrequency;
use linux::tcp::Keepalive;
use measurement::TestPlan;
use protocol::iperf3::{CounterWidth, OptionalParameters};

use crate::resolve::Family;

/// What to run, and against whom.
#[derive(Clone, Debug)]
pub struct Request {
    /// Name or address of the server.
    pub host: String,
    /// Its port.
    pub port: u16,
    /// Which of its addresses may be used.
    pub family: Family,
    /// Address to send from.
    pub bind: Option<IpAddr>,
    /// How long one connect may take.
    pub connect_timeout: Duration,
    /// CPUs to pin the workers to; empty: not pinned.
    pub cpus: Vec<usize>,
    /// Labels for the record.
    pub tags: BTreeMap<String, String>,
    /// What to do.
    pub plan: TestPlan,
    /// How it differs from what a linerate does on its own.
    pub options: ClientOptions,
}

/// How a client differs from the defaults of linerate.
#[derive(Clone, Debug)]
pub struct ClientOptions {
    /// What the server is asked for beside the plan.
    pub optional: OptionalParameters,
    /// Width of the datagrams' sequence numbers.
    pub counter_width: CounterWidth,
    /// Where the length of a datagram comes from if the plan has none.
    pub datagram: DatagramDefault,
    /// Whether datagrams go many in one piece though no engine was named.
    pub batching: Batching,
    /// A test in which nothing is received for so long has failed.
    pub receive_timeout: Duration,
    /// Interface to which all sockets are bound (`SO_BINDTODEVICE`, socket(7)).
    pub device: Option<String>,
    /// Port from which the first stream is sent; the next ones follow (clause 2.7).
    pub client_port: Option<u16>,
    /// `TCP_USER_TIMEOUT` of all connections (tcp(7)).
    pub send_timeout: Option<Duration>,
    /// How the control connection finds out that the server is gone.
    pub keepalive: Keepalive,
    /// A test whose socket buffers are smaller than asked has failed, as with iperf3.
    pub exact_window: bool,
    /// Payload comes from this file, or goes to it.
    pub file: Option<PathBuf>,
    /// Whether hosts are watched while the test runs.
    pub watching: Watching,
    /// How often this host's CPUs are sampled meanwhile, if it is watched; none: not at all.
    pub profile: Option<SampleFrequency>,
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
            watching: Watching::Hosts,
            profile: None,
        }
    }
}

/// Whether datagrams go many in one piece though no engine was named.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Batching {
    /// Where each on its own would be the limit, and the peer is a linerate.
    WhereFaster,
    /// Only if the plan says so, as with iperf3.
    IfAsked,
}

/// Whether hosts are watched while a test runs: what they count, and how busy they are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Watching {
    /// This one, and the server if it reports its host.
    Hosts,
    /// The server alone, if it reports its host.
    Peer,
    /// None: the result is not judged.
    Nothing,
}

/// Where the length of a datagram comes from if the plan has none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DatagramDefault {
    /// What fits the path MTU.
    PathMtu,
    /// The segment size of the control connection, as with iperf3 (clause 6.5).
    ControlSegment,
}

/// iperf3's (clause 2.8).
const RECEIVE_TIMEOUT: Duration = Duration::from_secs(120);
