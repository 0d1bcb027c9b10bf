//! Takes the hellos of UDP streams from the one UDP port (section 8).
//!
//! The listener is never connected. Each stream gets a socket of its own on the same
//! port, connected to its client; the kernel then prefers that socket for the
//! client's datagrams. Between its bind and its connect it may catch datagrams of
//! others: these are drained and treated as if the listener had got them.

use std::collections::VecDeque;
use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr, UdpSocket};

use linux::udp::Origin;
use protocol::iperf3::Hello;

use super::registry::{Owner, Registry};
use crate::opening::prepare_udp;

/// The UDP side of the desk.
pub(super) struct Hellos {
    port: u16,
    /// Interface to which the streams are bound.
    device: Option<String>,
    strays: u64,
}

impl Hellos {
    pub(super) const fn new(port: u16, device: Option<String>) -> Self {
        Self { port, device, strays: 0 }
    }

    /// Takes what is there, but no more than a flood's worth at a time.
    pub(super) fn answer(&mut self, listener: &UdpSocket, registry: &Registry) {
        let mut waiting = VecDeque::new();
        for _ in 0..MOST_AT_ONCE {
            let mut datagram = [0; 8];
            match linux::udp::receive_with_origin(listener, &mut datagram) {
                Ok(origin) => self.sort(&datagram[..origin.length], origin, &mut waiting),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                Err(_) => {}
            }
        }
        while let Some((hello, origin)) = waiting.pop_front() {
            self.greet(hello, origin, registry, &mut waiting);
        }
    }

    fn sort(&mut self, datagram: &[u8], origin: Origin, hellos: &mut VecDeque<(Hello, Origin)>) {
        match Hello::recognise(datagram) {
            Some(hello) => hellos.push_back((hello, origin)),
            None => self.strays += 1,
        }
    }

    fn greet(
        &mut self,
        hello: Hello,
        origin: Origin,
        registry: &Registry,
        more: &mut VecDeque<(Hello, Origin)>,
    ) {
        match registry.owner(origin.source) {
            Owner::Expected(options) => {
                let opened = self.stream_socket(origin, more).and_then(|socket| {
                    prepare_udp(&socket, &options, origin.source.ip())?;
                    socket.send(&hello.reply())?;
                    Ok(socket)
                });
                // If it failed, the client's next hello is the next attempt.
                if let Ok(socket) = opened {
                    registry.deliver_udp(origin.source, socket);
                }
            }
            // Its own socket gets the next hello and answers that.
            Owner::Known => {}
            Owner::Stray => self.strays += 1,
        }
    }

    /// A socket for the datagrams between `origin`'s two addresses and for no others.
    fn stream_socket(
        &mut self,
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
        let mut datagram = [0; 8];
        for _ in 0..MOST_AT_ONCE {
            let Ok(other) = linux::udp::receive_with_origin(&socket, &mut datagram) else { break };
            if other.source != origin.source {
                let other = Origin { destination: origin.destination, ..other };
                self.sort(&datagram[..other.length], other, more);
            }
        }
        Ok(socket)
    }
}

const ANY_V6: IpAddr = IpAddr::V6(std::net::Ipv6Addr::UNSPECIFIED);
const MOST_AT_ONCE: usize = 256;
