//! Takes the hellos of UDP streams from the one UDP port (section 8).
//!
//! The listener is never connected. Each stream gets a socket of its own on the same
//! port, connected to its client; the kernel then prefers that socket for the
//! client's datagrams. Between its bind and its connect it may catch datagrams of
//! others: these are drained and treated as if the listener had got them.

use std::collections::VecDeque;
use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr, UdpSocket};
use std::sync::Arc;

use linux::udp::Origin;
use portable_atomic::Ordering::Relaxed;
use protocol::iperf3::Hello;

use crate::iperf2::server::Flows;
use crate::server::context::ServerContext;
use crate::server::metrics::ServerMetrics;
use crate::server::peer_table::PeerState;
use crate::server::registry::{Owner, Registry};
use crate::socket_options::prepare_udp;

/// The UDP side of the acceptor.
pub(super) struct UdpHandshake {
    /// None: the server has no UDP.
    listener: Option<UdpSocket>,
    port: u16,
    /// Interface to which the streams are bound.
    device: Option<String>,
    registry: Arc<Registry>,
    metrics: Arc<ServerMetrics>,
    iperf2: Flows,
}

impl UdpHandshake {
    /// The handshake on `listener`, if there is one, for the tests of the server that `context` describes.
    pub(super) fn new(listener: Option<UdpSocket>, context: &ServerContext, iperf2: Flows) -> Self {
        Self {
            listener,
            port: context.address.port(),
            device: context.options.device.clone(),
            registry: Arc::clone(&context.registry),
            metrics: Arc::clone(&context.metrics),
            iperf2,
        }
    }

    pub(super) const fn listener(&self) -> Option<&UdpSocket> {
        self.listener.as_ref()
    }

    /// Whether there are flows of iperf2 clients.
    pub(super) fn has_flows(&self) -> bool {
        !self.iperf2.is_empty()
    }

    /// Takes what is there, but no more than a flood's worth at a time; whether there
    /// may be more.
    pub(super) fn answer(&mut self) -> bool {
        let Some(listener) = &self.listener else { return false };
        let mut waiting = VecDeque::new();
        let mut more = true;
        let mut datagram = vec![0; ROOM];
        for _ in 0..MOST_AT_ONCE {
            match linux::udp::receive_with_origin(listener, &mut datagram) {
                Ok(origin) => self.sort(&datagram[..origin.length], origin, &mut waiting),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    more = false;
                    break;
                }
                Err(_) => {}
            }
        }
        while let Some((hello, origin)) = waiting.pop_front() {
            self.greet(hello, origin, &mut waiting);
        }
        more
    }

    fn sort(&self, datagram: &[u8], origin: Origin, hellos: &mut VecDeque<(Hello, Origin)>) {
        match Hello::recognise(datagram) {
            Some(hello) => hellos.push_back((hello, origin)),
            None if self.begins_iperf2(datagram, origin, hellos) => {}
            None => self.count(origin.source),
        }
    }

    /// Whether it is the first datagram of an iperf2 client's flow, which then has a socket.
    fn begins_iperf2(
        &self,
        datagram: &[u8],
        origin: Origin,
        hellos: &mut VecDeque<(Hello, Origin)>,
    ) -> bool {
        if self.registry.peer_state(origin.source) != PeerState::Unknown {
            return false;
        }
        if self.iperf2.pass(datagram, origin.source) {
            return true;
        }
        let Some(flow) = self.iperf2.begin(datagram, origin.source) else { return false };
        let socket = self.stream_socket(origin, hellos);
        // If there is none, the client's next datagram is the next attempt.
        socket.map(|socket| self.iperf2.run(flow, socket)).is_ok()
    }

    fn count(&self, source: SocketAddr) {
        match self.registry.peer_state(source) {
            PeerState::Former => self.metrics.late_datagrams.fetch_add(1, Relaxed),
            PeerState::Current | PeerState::Unknown => {
                self.metrics.stray_datagrams.fetch_add(1, Relaxed)
            }
        };
    }

    fn greet(&self, hello: Hello, origin: Origin, more: &mut VecDeque<(Hello, Origin)>) {
        match self.registry.owner(origin.source, hello) {
            Owner::Expected { test, options, index } => {
                let opened = self.stream_socket(origin, more).and_then(|socket| {
                    prepare_udp(&socket, &options, origin.source.ip())?;
                    socket.send(&hello.reply())?;
                    Ok(socket)
                });
                // If it failed, the client's next hello is the next attempt.
                if let Ok(socket) = opened {
                    self.registry.deliver_udp(&test, index, origin.source, socket);
                }
            }
            // Its own socket gets the next hello and answers that.
            Owner::Known => {}
            Owner::Stray => self.count(origin.source),
        }
    }

    /// A socket for the datagrams between `origin`'s two addresses and for no others.
    fn stream_socket(
        &self,
        origin: Origin,
        more: &mut VecDeque<(Hello, Origin)>,
    ) -> io::Result<UdpSocket> {
        let any = if origin.source.is_ipv4() { Ipv4Addr::UNSPECIFIED.into() } else { ANY_V6 };
        let mut local = SocketAddr::new(origin.destination.unwrap_or(any), self.port);
        if let (SocketAddr::V6(local), SocketAddr::V6(source)) = (&mut local, origin.source) {
            local.set_scope_id(source.scope_id());
        }
        let mapped = local.ip().to_canonical().is_ipv4() && local.is_ipv6();
        let socket = linux::udp::bind_on(self.device.as_deref(), local, true, mapped)?;
        socket.connect(origin.source)?;
        let mut datagram = vec![0; ROOM];
        for _ in 0..MOST_AT_ONCE {
            let Ok(other) = linux::udp::receive_with_origin(&socket, &mut datagram) else { break };
            if other.source == origin.source {
                self.iperf2.pass(&datagram[..other.length], other.source);
            } else {
                let other = Origin { destination: origin.destination, ..other };
                self.sort(&datagram[..other.length], other, more);
            }
        }
        Ok(socket)
    }
}

const ANY_V6: IpAddr = IpAddr::V6(std::net::Ipv6Addr::UNSPECIFIED);
const MOST_AT_ONCE: usize = 256;
/// The longest datagram: an iperf2 client has no hello, its payload is the first that comes.
const ROOM: usize = 65_536;
