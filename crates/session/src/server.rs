//! Answers clients on one port, TCP and UDP.
//!
//! The desk, on the calling thread, takes connections and hellos and finds out whose
//! they are; each test then runs on a thread of its own. The listeners stay open all
//! the time, and a silent client holds up nobody.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener, UdpSocket};
use std::os::fd::AsFd;
use std::path::PathBuf;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

use linux::event::Interrupts;
use linux::poll::{Watch, wait};
use linux::tcp::Keepalive;
use measurement::outcome::{DirectionOutcome, Ending};
use measurement::record::StreamRecord;
use measurement::{Peer, TestPlan, Timestamp};
use protocol::iperf3::Token;
use serde::Serialize;

use crate::error::SessionError;
use crate::observer::Observer;
use crate::resolve::Family;

mod conversation;
mod greeter;
mod hellos;
mod limits;
mod registry;

use greeter::{Greeted, Greeter};
use hellos::Hellos;
pub use limits::{Limits, RateLimit};
use registry::Registry;

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
}

impl Default for SessionOptions {
    fn default() -> Self {
        Self {
            cpus: Vec::new(),
            interval: None,
            limits: Limits::default(),
            gate: None,
            receive_timeout: RECEIVE_TIMEOUT,
            keepalive: Keepalive::default(),
            send_timeout: None,
            device: None,
            exact_window: false,
            file: None,
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
    /// Its streams, every setting read back; empty: it did not get that far.
    pub streams: Vec<StreamRecord>,
    /// What it came to.
    pub directions: Vec<DirectionOutcome>,
}

/// Told what the server does. Called from several threads.
pub trait Log: Send + Sync {
    /// It listens.
    fn listening(&self, address: SocketAddr);
    /// A test begins.
    fn began(&self, peer: &Peer, plan: &TestPlan);
    /// A test ended.
    fn ended(&self, served: &Served);
    /// A client was sent away.
    fn refused(&self, client: SocketAddr, why: &str);
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
}

impl Server {
    /// Opens both listeners.
    ///
    /// # Errors
    /// [`SessionError::Listen`], e.g. if the port is in use.
    pub fn bind(options: ServerOptions) -> Result<Self, SessionError> {
        let (tcp, address) = listen_tcp(&options)?;
        let failed = |error| SessionError::Listen { on: address, error };
        let device = options.session.device.as_deref();
        let udp = linux::udp::bind_on(device, address, true, is_dual(&options)).map_err(failed)?;
        linux::udp::report_destination(&udp).map_err(failed)?;
        Ok(Self { options, tcp, udp, address })
    }

    /// Where it listens.
    pub const fn address(&self) -> SocketAddr {
        self.address
    }

    /// Serves until a signal comes, or one test has run if that was asked.
    ///
    /// # Errors
    /// What the kernel refuses to the desk itself.
    pub fn run(
        self,
        log: Arc<dyn Log>,
        interrupts: Option<&Interrupts>,
    ) -> Result<(), SessionError> {
        log.listening(self.address);
        let registry = Registry::new(MOST_SESSIONS).map_err(SessionError::system("an eventfd"))?;
        let mut desk = Desk {
            hellos: Hellos::new(self.address.port(), self.options.session.device.clone()),
            server: self,
            log,
            registry: Arc::new(registry),
            greeters: Vec::new(),
            sessions: Vec::new(),
            idle_since: dataplane::now(),
        };
        desk.serve(interrupts).map_err(SessionError::system("poll"))?;
        desk.close();
        Ok(())
    }
}

/// The thread that takes whatever comes.
struct Desk {
    server: Server,
    log: Arc<dyn Log>,
    registry: Arc<Registry>,
    hellos: Hellos,
    /// Connections whose cookie is not complete.
    greeters: Vec<Greeter>,
    sessions: Vec<JoinHandle<()>>,
    /// When it last had something to do.
    idle_since: Timestamp,
}

impl Desk {
    fn serve(&mut self, interrupts: Option<&Interrupts>) -> io::Result<()> {
        loop {
            self.wait(interrupts)?;
            if interrupts.is_some_and(Interrupts::came) {
                return Ok(());
            }
            self.accept();
            self.greet();
            self.hellos.answer(&self.server.udp, &self.registry);
            self.sessions.retain(|session| !session.is_finished());
            // Its thread may still wait for the client to close; `close` waits for that.
            if self.server.options.one_off && self.registry.served() > 0 {
                return Ok(());
            }
            if !self.sessions.is_empty() {
                self.idle_since = dataplane::now();
            }
            if self.idle_until().is_some_and(|limit| dataplane::now() >= limit) {
                return Ok(());
            }
        }
    }

    fn wait(&self, interrupts: Option<&Interrupts>) -> io::Result<()> {
        let mut watches = vec![
            Watch::readable(self.server.tcp.as_fd()),
            Watch::readable(self.server.udp.as_fd()),
            Watch::readable(self.registry.changed().as_fd()),
        ];
        watches.extend(self.greeters.iter().map(|greeter| Watch::readable(greeter.as_fd())));
        watches.extend(interrupts.map(|interrupts| Watch::readable(interrupts.as_fd())));
        let deadlines = self.greeters.iter().map(Greeter::deadline);
        let deadline = deadlines.chain(self.idle_until()).min();
        wait(&mut watches, deadline.map(|deadline: Timestamp| deadline.since(dataplane::now())))?;
        self.registry.changed().clear();
        Ok(())
    }

    /// When the server has waited for clients long enough.
    fn idle_until(&self) -> Option<Timestamp> {
        let limit = self.server.options.idle_limit.filter(|_| self.sessions.is_empty())?;
        Some(self.idle_since.after(limit))
    }

    fn accept(&mut self) {
        for _ in 0..MOST_AT_ONCE {
            match self.server.tcp.accept() {
                Ok((socket, from)) => self.greeters.extend(Greeter::new(socket, from)),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return,
                // Too many open files, or about one connection only.
                Err(_) => self.forget_the_oldest(),
            }
            if self.greeters.len() > MOST_GREETERS {
                self.forget_the_oldest();
            }
        }
    }

    fn forget_the_oldest(&mut self) {
        if !self.greeters.is_empty() {
            self.greeters.remove(0);
        }
    }

    /// Sends every connection whose cookie is complete where it belongs.
    fn greet(&mut self) {
        let now = dataplane::now();
        for greeter in std::mem::take(&mut self.greeters) {
            match greeter.progress(now) {
                Greeted::Waiting(greeter) => self.greeters.push(greeter),
                Greeted::Gone => {}
                Greeted::Complete { socket, from, cookie } => {
                    if let Some(socket) = self.registry.hand_over(&cookie, socket) {
                        self.begin(socket, from, cookie);
                    }
                }
            }
        }
    }

    fn begin(
        &mut self,
        socket: std::net::TcpStream,
        from: SocketAddr,
        cookie: protocol::iperf3::Cookie,
    ) {
        let room = self.sessions.len() < MOST_THREADS;
        let ticket = self.registry.enter(cookie, from.ip()).filter(|_| room);
        let Some(ticket) = ticket else {
            let client = SocketAddr::new(from.ip().to_canonical(), from.port());
            self.log.refused(client, "busy with another test");
            greeter::send_away(&socket);
            return;
        };
        let (log, options) = (Arc::clone(&self.log), self.server.options.session.clone());
        let work = move || conversation::serve(socket, from, ticket, &options, &*log);
        match std::thread::Builder::new().name("session".to_owned()).spawn(work) {
            Ok(session) => self.sessions.push(session),
            Err(error) => self.log.refused(from, &error.to_string()),
        }
    }

    /// Tells the running tests to end and waits for them.
    fn close(self) {
        self.registry.stop();
        for session in self.sessions {
            // A session that panicked has said so already.
            _ = session.join();
        }
    }
}

fn is_dual(options: &ServerOptions) -> bool {
    options.bind.is_none() && options.family == Family::Any
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
const RECEIVE_TIMEOUT: Duration = Duration::from_secs(120);
/// Tests at one time; further clients are told that the server is busy.
const MOST_SESSIONS: usize = 1;
/// Connections without a complete cookie; the oldest makes room.
const MOST_GREETERS: usize = 256;
/// Connections that are accepted before the cookies are looked at.
const MOST_AT_ONCE: usize = 64;
/// Sessions, those included that only wait for their client to close.
const MOST_THREADS: usize = 64;
/// `asm-generic/errno.h`.
const EAFNOSUPPORT: i32 = 97;
