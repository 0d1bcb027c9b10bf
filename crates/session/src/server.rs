//! Answers clients on one port, TCP and UDP.
//!
//! The acceptor, on the calling thread, takes connections and hellos and finds out whose
//! they are; each test then runs on a thread of its own. The listeners stay open all
//! the time, and nothing that a client does or leaves undone holds up another.
//!
//! ```text
//!  TCP --> PendingConnection --cookie of a test--------------------------> registry --> its streams
//!                   --other cookie--> parameters --admission--> Conversation (a thread)
//!  UDP --> UdpHandshake --the client's token, or its lock--------------> registry --> its streams
//! ```

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener, UdpSocket};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use host::Vantage;
use linux::epoll::Epoll;
use linux::event::StopSignals;
use linux::tcp::Keepalive;
use measurement::outcome::{DirectionOutcome, Ending};
use measurement::record::{Neighbour, StreamRecord};
use measurement::{Peer, TestPlan};
use protocol::iperf3::Token;
use serde::Serialize;

use crate::error::SessionError;
use crate::observer::Observer;
use crate::resolve::Family;

mod acceptor;
mod admission;
mod capacity;
mod client_prefix;
mod concurrent_tests;
mod conversation;
mod extra_ports;
mod handshake_lock;
mod limits;
mod metrics;
mod peer_table;
mod pending_connection;
mod pending_table;
mod progress;
mod registry;
mod shortage;
mod start_rate_limit;
mod udp_handshake;

use acceptor::Acceptor;
pub use admission::Order;
use capacity::Capacity;
use conversation::ServerContext;
use extra_ports::ExtraPorts;
pub use limits::{Limits, RateLimit};
pub use metrics::{Refusal, ServerMetrics, Snapshot};
use pending_table::PendingTable;
use registry::Registry;
use start_rate_limit::StartRateLimit;
use udp_handshake::UdpHandshake;

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
    /// Time between two samples, zero: only at the ends; none: nobody looks at them.
    pub interval: Option<Duration>,
    /// What a client may ask for.
    pub limits: Limits,
    /// Who may test; none: everybody.
    pub gate: Option<Arc<dyn Gate>>,
    /// A test in which nothing is received for so long has failed.
    pub receive_timeout: Duration,
    /// A test in which nothing moves for so long, in no direction, has failed.
    pub stall: Option<Duration>,
    /// How long after its time a client may end its test.
    pub grace: Duration,
    /// Clients hear how many others there were, but not who.
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
    /// From where this host's CPUs are sampled for those who hear of it; none: they are not.
    pub perf: Option<Arc<Vantage>>,
}

/// What clients hear of a server's host.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Evidence {
    /// What concerns their test: its CPUs, its interfaces on the way to them, its counters.
    Given,
    /// All of it: this server watches its host for others, and runs no tests.
    Whole,
    /// Nothing.
    #[default]
    Withheld,
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

/// Decides who may test.
pub trait Gate: Send + Sync {
    /// Lets the owner of `token` in.
    ///
    /// # Errors
    /// Why not, for the log. The client hears only that it may not.
    fn admit(&self, token: Option<&Token>) -> Result<(), String>;
}

/// A test as the server saw it.
#[derive(Clone, Debug, Serialize)]
pub struct Served {
    /// The client.
    pub peer: Peer,
    /// What it asked for; none: it did not get that far.
    pub plan: Option<TestPlan>,
    /// How it ended.
    pub ending: Ending,
    /// Why the client was not served, or no longer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub refusal: Option<Refusal>,
    /// Payload bytes that this end received, the omitted start included.
    pub received: u64,
    /// Payload bytes that this end sent.
    pub sent: u64,
    /// Its streams, every setting read back; empty: it did not get that far.
    pub streams: Vec<StreamRecord>,
    /// What it came to.
    pub directions: Vec<DirectionOutcome>,
    /// Requests that were answered; none: nobody asked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub answered: Option<u64>,
    /// Who else used the server meanwhile.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub shared: Vec<Neighbour>,
}

impl Served {
    /// Of a client that did not get as far as a test.
    const fn nothing(peer: Peer, ending: Ending, why: Refusal) -> Self {
        Self {
            peer,
            plan: None,
            ending,
            refusal: Some(why),
            received: 0,
            sent: 0,
            streams: Vec::new(),
            directions: Vec::new(),
            answered: None,
            shared: Vec::new(),
        }
    }
}

/// Told what the server does. Called from several threads.
pub trait Log: Send + Sync {
    /// It listens.
    fn listening(&self, address: SocketAddr);
    /// A test begins.
    fn began(&self, peer: &Peer, plan: &TestPlan);
    /// A test ended.
    fn ended(&self, served: &Served);
    /// A client was sent away before it came to a test.
    fn refused(&self, client: SocketAddr, why: Refusal);
    /// It was told to stop, and waits for so many tests.
    fn stopping(&self, _tests: usize) {}
    /// Who follows one test; called on the thread that runs it.
    fn observer(&self) -> Box<dyn Observer> {
        Box::new(())
    }
}

/// A server that listens.
pub struct Server {
    options: ServerOptions,
    tcp: TcpListener,
    udp: UdpSocket,
    address: SocketAddr,
    metrics: Arc<ServerMetrics>,
}

impl Server {
    /// Opens both listeners.
    ///
    /// # Errors
    /// [`SessionError::Listen`], e.g. if the port is in use.
    pub fn bind(options: ServerOptions) -> Result<Self, SessionError> {
        dataplane::open_ahead();
        // A port that is free for TCP, which the kernel chose, may be taken for UDP.
        let tries = if options.port == 0 { OTHER_PORTS } else { 1 };
        let mut listening = listen(&options);
        for _ in 1..tries {
            if listening.is_ok() {
                break;
            }
            listening = listen(&options);
        }
        let (tcp, udp, address) = listening?;
        Ok(Self { options, tcp, udp, address, metrics: Arc::default() })
    }

    /// Where it listens.
    pub const fn address(&self) -> SocketAddr {
        self.address
    }

    /// What it counts, from now on and while it runs.
    pub fn metrics(&self) -> Arc<ServerMetrics> {
        Arc::clone(&self.metrics)
    }

    /// Serves until a signal comes, or one test has run if that was asked.
    ///
    /// # Errors
    /// What the kernel refuses to the acceptor itself.
    pub fn run(
        self,
        log: Arc<dyn Log>,
        interrupts: Option<&StopSignals>,
    ) -> Result<(), SessionError> {
        let limit = linux::host::file_limit();
        let order = self.options.order;
        let capacity = Capacity::of(limit, linux::host::thread_limit(), order.memory);
        if !capacity.is_enough() {
            return Err(SessionError::FewDescriptors { limit });
        }
        let registry = Registry::new(order, capacity.most).map(Arc::new);
        let registry = registry.map_err(SessionError::system("an eventfd"))?;
        log.listening(self.address);
        let device = self.options.session.device.clone();
        let mut acceptor = Acceptor {
            udp_handshake: UdpHandshake::new(
                self.udp,
                self.address.port(),
                device,
                Arc::clone(&registry),
                Arc::clone(&self.metrics),
            ),
            server: ServerContext {
                address: self.address,
                options: self.options.session.clone(),
                registry: Arc::clone(&registry),
                concurrent: Arc::default(),
                metrics: Arc::clone(&self.metrics),
            },
            options: self.options,
            tcp: self.tcp,
            extra_ports: ExtraPorts::default(),
            log,
            registry,
            metrics: self.metrics,
            start_rate: StartRateLimit::new(order.starts),
            epoll: Epoll::new().map_err(SessionError::system("an epoll"))?,
            pending: PendingTable::default(),
            next: 0,
            most_pending: capacity.pending,
            sessions: Vec::new(),
            behind: false,
            pausing_until: None,
            idle_since: dataplane::now(),
            tidy: false,
            stops_at: None,
        };
        acceptor.serve(interrupts).map_err(SessionError::system("poll"))?;
        acceptor.close();
        Ok(())
    }
}

fn is_dual(options: &ServerOptions) -> bool {
    options.bind.is_none() && options.family == Family::Any
}

/// Both listeners, on one port.
fn listen(options: &ServerOptions) -> Result<(TcpListener, UdpSocket, SocketAddr), SessionError> {
    let (tcp, address) = listen_tcp(options)?;
    let failed = |error| SessionError::Listen { on: address, error };
    let device = options.session.device.as_deref();
    let udp = linux::udp::bind_on(device, address, true, is_dual(options)).map_err(failed)?;
    linux::udp::enable_packet_info(&udp).map_err(failed)?;
    Ok((tcp, udp, address))
}

/// Listens on what was asked: by default on IPv6 and IPv4 with one socket, or on IPv4
/// where there is no IPv6.
fn listen_tcp(options: &ServerOptions) -> Result<(TcpListener, SocketAddr), SessionError> {
    let all: IpAddr = match options.family {
        Family::V4 => Ipv4Addr::UNSPECIFIED.into(),
        Family::Any | Family::V6 => Ipv6Addr::UNSPECIFIED.into(),
    };
    let on = SocketAddr::new(options.bind.unwrap_or(all), options.port);
    let device = options.session.device.as_deref();
    let listener = match linux::tcp::listen_on(device, on, is_dual(options)) {
        Err(error) if is_dual(options) && error.raw_os_error() == Some(EAFNOSUPPORT) => {
            linux::tcp::listen_on(device, (Ipv4Addr::UNSPECIFIED, options.port).into(), false)
        }
        other => other,
    };
    let failed = |error| SessionError::Listen { on, error };
    let listener = listener.map_err(failed)?;
    let address = listener.local_addr().map_err(failed)?;
    Ok((listener, address))
}

/// iperf3's (clause 2.8).
const GRACE: Duration = Duration::from_secs(40);
const RECEIVE_TIMEOUT: Duration = Duration::from_secs(120);
/// Ports that are tried where any will do.
const OTHER_PORTS: u32 = 8;
/// `asm-generic/errno.h`.
const EAFNOSUPPORT: i32 = 97;
