//! Opens the connections, or the sockets of the flows, one after another.

use std::io::{self, Write};
use std::net::{SocketAddr, TcpStream, UdpSocket};
use std::time::Duration;

use linux::event::StopSignals;
use linux::tcp::TcpOptions;
use measurement::{Direction, Transport};

use super::header::header;
use super::{Around, Iperf2Options};
use crate::clock::Clock;
use crate::connect::connect;
use crate::error::SessionError;
use crate::request::Request;
use crate::resolve::resolve;
use crate::socket_options::{packet_options, prepare_udp, tcp_options};
use crate::sockets::{Opened, StreamSocket};

/// Streams to a server.
pub(super) struct Connected {
    pub(super) server: SocketAddr,
    pub(super) local_address: SocketAddr,
    pub(super) streams: Vec<Opened>,
    /// Round-trip time of the first connection; of flows a long one, as it is not known.
    pub(super) rtt: Duration,
}

pub(super) struct Opening<'a> {
    request: &'a Request,
    options: Iperf2Options,
    interrupts: Option<&'a StopSignals>,
    clock: &'a dyn Clock,
}

impl<'a> Opening<'a> {
    pub(super) fn new(around: &'a Around<'_>) -> Self {
        Self {
            request: around.request,
            options: around.options,
            interrupts: around.interrupts,
            clock: &*around.clock,
        }
    }

    /// Opens all streams to the first of the server's addresses that can be had.
    ///
    /// # Errors
    /// [`SessionError::Resolve`], [`SessionError::BindFamily`], [`SessionError::Connect`] for the
    /// first stream, [`SessionError::OpenStream`] for a further one.
    pub(super) fn open(&self) -> Result<Connected, SessionError> {
        let (request, is_tcp) = (self.request, self.request.plan.transport == Transport::Tcp);
        let usable =
            |to: &SocketAddr| request.bind.is_none_or(|bind| bind.is_ipv4() == to.is_ipv4());
        let addresses = resolve(&request.host, request.port, request.family)?;
        let mut last = SessionError::BindFamily { host: request.host.clone() };
        let is_sent = request.plan.direction.receives() || self.options.back.is_some();
        for server in addresses.into_iter().filter(usable) {
            if is_sent && !is_tcp {
                self.prove(server)?;
            }
            let first = if is_tcp { self.tcp(server, 0)? } else { self.udp(server, 0) };
            match first {
                Ok(first) => return self.open_rest(server, first),
                Err(error) => last = self.failure(server, error),
            }
        }
        Err(last)
    }

    /// Proves to a linerate server that this host has its address: others send nothing for a datagram,
    /// and an iperf2 may have no TCP, so that it does not matter how it ends.
    fn prove(&self, to: SocketAddr) -> Result<(), SessionError> {
        let bind = self.request.bind.map(|bind| SocketAddr::new(bind, 0));
        let device = self.request.options.device.clone();
        let settings = TcpOptions { bind, device, ..TcpOptions::default() };
        _ = connect(to, &settings, PROOF, (self.interrupts, self.clock))?;
        Ok(())
    }

    fn failure(&self, to: SocketAddr, error: io::Error) -> SessionError {
        use io::ErrorKind::{NotFound, PermissionDenied};
        match &self.request.plan.options.congestion {
            Some(name) if matches!(error.kind(), NotFound | PermissionDenied) => {
                SessionError::Congestion { name: name.clone(), error }
            }
            _ => SessionError::Connect { to, error },
        }
    }

    fn open_rest(&self, server: SocketAddr, first: Socket) -> Result<Connected, SessionError> {
        let plan = &self.request.plan;
        let mut sockets = vec![first];
        for index in 1..plan.streams {
            let opened = match plan.transport {
                Transport::Tcp => self.tcp(server, index)?,
                Transport::Udp => self.udp(server, index),
            };
            let failed = |error| SessionError::OpenStream { id: index + 1, error };
            sockets.push(opened.map_err(failed)?);
        }
        let local_address =
            sockets[0].local_address().map_err(SessionError::system("an address"))?;
        let rtt = sockets[0].rtt();
        let header = header(self.request, self.options).opening();
        // A request is a header.
        let header = if plan.exchange.is_some() { &[][..] } else { &header };
        let (mut streams, mut receiving) = (Vec::new(), Vec::new());
        for (id, socket) in (1..).zip(sockets) {
            let failed = |error| SessionError::OpenStream { id, error };
            if plan.direction == Direction::Both {
                // Of its own for the kernel's readiness, which tells one of two directions.
                let socket = socket.again().map_err(failed)?;
                receiving.push(Opened { id: plan.streams + id, sender: false, socket });
            }
            let socket = socket.introduced(header).map_err(failed)?;
            streams.push(Opened { id, sender: plan.direction.sends(), socket });
        }
        streams.extend(receiving);
        Ok(Connected { server, local_address, streams, rtt })
    }

    fn tcp(&self, to: SocketAddr, index: u32) -> Result<io::Result<Socket>, SessionError> {
        let stream = &self.request.plan.options;
        let options = &self.request.options;
        let bind = match self.local(index) {
            Ok(bind) => bind,
            Err(error) => return Ok(Err(error)),
        };
        let settings = TcpOptions {
            bind,
            device: options.device.clone(),
            mss: stream.mss,
            ..tcp_options(stream)
        };
        let limit = self.request.connect_timeout;
        let socket = connect(to, &settings, limit, (self.interrupts, self.clock))?;
        Ok(socket.map(Socket::Tcp))
    }

    fn udp(&self, to: SocketAddr, index: u32) -> io::Result<Socket> {
        let stream = &self.request.plan.options;
        let any = linux::udp::any_port_of_family(to);
        let local = self.local(index)?.unwrap_or(any);
        let device = self.request.options.device.as_deref();
        let socket = linux::udp::bind_on(device, local, false, false)?;
        prepare_udp(&socket, stream, to.ip())?;
        socket.connect(packet_options(stream).with_flow_label(&socket, to)?)?;
        Ok(Socket::Udp(socket))
    }

    /// Where the `index`th stream is sent from; none: anywhere.
    fn local(&self, index: u32) -> io::Result<Option<SocketAddr>> {
        let Some(bind) = self.request.bind else { return Ok(None) };
        let Some(first) = self.request.options.client_port else {
            return Ok(Some(SocketAddr::new(bind, 0)));
        };
        let port = u16::try_from(index).ok().and_then(|index| first.checked_add(index));
        Ok(Some(SocketAddr::new(bind, port.ok_or(io::ErrorKind::AddrNotAvailable)?)))
    }
}

const LONG_WAY: Duration = Duration::from_millis(250);
/// Longest time for a connection that is a proof.
const PROOF: Duration = Duration::from_secs(1);

/// A socket on which nothing was said.
enum Socket {
    Tcp(TcpStream),
    Udp(UdpSocket),
}

impl Socket {
    fn local_address(&self) -> io::Result<SocketAddr> {
        match self {
            Self::Tcp(socket) => socket.local_addr(),
            Self::Udp(socket) => socket.local_addr(),
        }
    }

    fn rtt(&self) -> Duration {
        match self {
            Self::Tcp(socket) => {
                let path = linux::tcp::info(socket).unwrap_or_default();
                Duration::from_micros(path.rtt.into())
            }
            Self::Udp(_) => LONG_WAY,
        }
    }

    /// The other direction of the same connection.
    fn again(&self) -> io::Result<StreamSocket> {
        Ok(match self {
            Self::Tcp(socket) => StreamSocket::tcp(socket.try_clone()?, 0),
            Self::Udp(socket) => StreamSocket::udp(socket.try_clone()?),
        })
    }

    /// The stream, after the header (clause 3.1 of docs/protocol/iperf2.md); a flow has it in each
    /// datagram.
    fn introduced(self, header: &[u8]) -> io::Result<StreamSocket> {
        Ok(match self {
            Self::Tcp(socket) => {
                let stream = StreamSocket::tcp(socket, header.len() as u64);
                if let StreamSocket::Tcp { socket, .. } = &stream {
                    // An empty send buffer takes some 60 bytes at once.
                    (&**socket).write_all(header)?;
                }
                stream
            }
            Self::Udp(socket) => StreamSocket::udp(socket),
        })
    }
}
