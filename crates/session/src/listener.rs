//! Answers clients on one port, TCP and UDP.
//!
//! The acceptor, on the calling thread, takes connections and hellos and finds out whose
//! they are; each test then runs on a thread of its own. The listeners stay open all
//! the time, and nothing that a client does or leaves undone holds up another.
//!
//! ```text
//!  TCP --> PendingConnection --cookie of a test-----------------> registry --> its streams
//!                            --other cookie--> parameters --admission--> Conversation (a thread)
//!  UDP --> UdpHandshake --the client's token, or its lock-------> registry --> its streams
//! ```

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener, UdpSocket};
use std::sync::Arc;

use linux::event::StopSignals;
use measurement::Transport;

use crate::clock::{Clock, SystemClock};
use crate::error::SessionError;
use crate::iperf3::server::acceptor::{Acceptor, Listeners};
use crate::resolve::Family;
use crate::server::capacity::Capacity;
use crate::server::{Log, ServerMetrics, ServerOptions, StatusBoard};

/// A linerate server that listens on its port and has not yet accepted clients.
pub struct Server {
    options: ServerOptions,
    tcp: Option<TcpListener>,
    udp: Option<UdpSocket>,
    address: SocketAddr,
    metrics: Arc<ServerMetrics>,
    status: Arc<StatusBoard>,
}

impl Server {
    /// Opens the sockets of the server.
    ///
    /// # Errors
    /// [`SessionError::Listen`], e.g. if the port is in use.
    pub fn bind(options: ServerOptions) -> Result<Self, SessionError> {
        dataplane::preopen_devices();
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
        Ok(Self { options, tcp, udp, address, metrics: Arc::default(), status: Arc::default() })
    }

    /// Address and port on which the server listens; the kernel's choice if port 0 was requested.
    pub const fn address(&self) -> SocketAddr {
        self.address
    }

    /// Counters of the server, shared: they are updated while the server runs.
    pub fn metrics(&self) -> Arc<ServerMetrics> {
        Arc::clone(&self.metrics)
    }

    /// List of the tests of the server, shared: it is updated while the server runs.
    pub fn status(&self) -> Arc<StatusBoard> {
        Arc::clone(&self.status)
    }

    /// Accepts clients until a signal of `interrupts` arrives, or until one test has run if
    /// [`ServerOptions::one_off`] is set. Events go to `log`.
    ///
    /// # Errors
    /// An error of the kernel for which no further client can be accepted.
    pub fn run(
        self,
        log: Arc<dyn Log>,
        interrupts: Option<&StopSignals>,
    ) -> Result<(), SessionError> {
        let limit = linux::host::file_limit();
        let threads = linux::host::thread_limit();
        let capacity = Capacity::within(limit, threads, self.options.order.memory);
        if !capacity.is_enough {
            return Err(SessionError::FewDescriptors { limit });
        }
        let clock: Arc<dyn Clock> = Arc::new(SystemClock);
        let listeners = Listeners { tcp: self.tcp, udp: self.udp, address: self.address };
        let mut acceptor = Acceptor::new(
            self.options,
            listeners,
            (capacity, self.metrics, self.status, log),
            clock,
        )?;
        acceptor.serve(interrupts).map_err(SessionError::system("poll"))?;
        acceptor.close();
        Ok(())
    }
}

fn is_dual(options: &ServerOptions) -> bool {
    options.bind.is_none() && options.family == Family::Any
}

/// The listeners of a port, TCP and UDP.
type Listening = (Option<TcpListener>, Option<UdpSocket>, SocketAddr);

/// The listeners of the transports that were asked for, on one port.
fn listen(options: &ServerOptions) -> Result<Listening, SessionError> {
    let device = options.session.device.as_deref();
    if options.only == Some(Transport::Udp) {
        let (udp, address) = or_v4(options, |on, dual| listen_udp(options, on, dual))?;
        // Clients prove their addresses by TCP, where no other server has the port.
        let proof = || linux::tcp::listen_on(device, address, is_dual(options)).ok();
        let tcp = options.session.connects_back.then(proof).flatten();
        return Ok((tcp, Some(udp), address));
    }
    let tcp = |on, dual| {
        let listener = linux::tcp::listen_on(device, on, dual)?;
        let address = listener.local_addr()?;
        Ok((listener, address))
    };
    let (tcp, address) = or_v4(options, tcp)?;
    if options.only == Some(Transport::Tcp) {
        return Ok((Some(tcp), None, address));
    }
    let udp = listen_udp(options, address, is_dual(options));
    let (udp, _) = udp.map_err(|error| SessionError::Listen { on: address, error })?;
    Ok((Some(tcp), Some(udp), address))
}

/// Listens for UDP at an address, and the group that it may be.
fn listen_udp(
    options: &ServerOptions,
    on: SocketAddr,
    dual: bool,
) -> io::Result<(UdpSocket, SocketAddr)> {
    let device = options.session.device.as_deref();
    let udp = linux::udp::bind_on(device, on, true, dual)?;
    linux::udp::enable_packet_info(&udp)?;
    linux::udp::join_group(&udp, on.ip(), device, options.source)?;
    let address = udp.local_addr()?;
    Ok((udp, address))
}

/// Listens where it was asked: by default on IPv6 and IPv4 with one socket, or on IPv4 where there
/// is no IPv6.
fn or_v4<S>(
    options: &ServerOptions,
    listen: impl Fn(SocketAddr, bool) -> io::Result<S>,
) -> Result<S, SessionError> {
    let all: IpAddr = match options.family {
        Family::V4 => Ipv4Addr::UNSPECIFIED.into(),
        Family::Any | Family::V6 => Ipv6Addr::UNSPECIFIED.into(),
    };
    let on = SocketAddr::new(options.bind.unwrap_or(all), options.port);
    let listening = match listen(on, is_dual(options)) {
        Err(error) if is_dual(options) && error.raw_os_error() == Some(EAFNOSUPPORT) => {
            listen((Ipv4Addr::UNSPECIFIED, options.port).into(), false)
        }
        other => other,
    };
    listening.map_err(|error| SessionError::Listen { on, error })
}

/// Ports that are tried where any will do.
const OTHER_PORTS: u32 = 8;
/// `asm-generic/errno.h`.
const EAFNOSUPPORT: i32 = 97;
