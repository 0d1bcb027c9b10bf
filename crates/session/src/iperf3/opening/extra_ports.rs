//! To which port of the server the next stream goes (clause 13.15); not the connecting itself.
//!
//! A firewall may let only the server's own port through, and say nothing: so a further
//! port gets one connect, and the others of its streams when that was answered.
//!
//! ```text
//!  untried --next()--> tried --prove()--> proven: takes its share of the streams
//!                      tried or proven --give_up()--> gone: the proven ones share its streams
//! ```

use std::io;
use std::net::SocketAddr;

/// The ports of one server, for the streams of one test.
pub(super) struct ServerPorts {
    streams: u32,
    /// The server's own one is the first.
    ports: Vec<ServerPort>,
    /// Index of the port that was used last.
    turn: usize,
    shut: Vec<(u16, io::Error)>,
}

struct ServerPort {
    address: SocketAddr,
    /// Streams that were sent there.
    taken: u32,
    trust: Trust,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Trust {
    Untried,
    Tried,
    Proven,
}

impl ServerPorts {
    /// The server's `own` port, which the control connection has proven, and further ones.
    pub(super) fn new(own: SocketAddr, further: &[u16], streams: u32) -> Self {
        let mut ports = vec![ServerPort { address: own, taken: 0, trust: Trust::Proven }];
        for port in further.iter().copied() {
            // The same scope, if it has one.
            let mut address = own;
            address.set_port(port);
            let is_known = ports.iter().any(|known| known.address.port() == port);
            if port != 0 && !is_known {
                ports.push(ServerPort { address, taken: 0, trust: Trust::Untried });
            }
        }
        Self { streams, ports, turn: 0, shut: Vec::new() }
    }

    /// Where the next stream goes; none: the proven ports have their shares, and others
    /// have not answered yet.
    pub(super) fn next(&mut self) -> Option<SocketAddr> {
        let count = self.ports.len();
        // What a port has to spare others is free again when one of them is given up.
        let share = self.streams.div_ceil(u32::try_from(count).unwrap_or(u32::MAX));
        for _ in 0..count {
            self.turn = (self.turn + 1) % count;
            let port = &mut self.ports[self.turn];
            let is_open = match port.trust {
                Trust::Untried => true,
                Trust::Tried => false,
                Trust::Proven => port.taken < share,
            };
            if is_open {
                port.taken += 1;
                if port.trust == Trust::Untried {
                    port.trust = Trust::Tried;
                }
                return Some(port.address);
            }
        }
        None
    }

    /// Whether a connect to `to` was answered before.
    pub(super) fn is_proven(&self, to: SocketAddr) -> bool {
        self.ports.iter().any(|port| port.address == to && port.trust == Trust::Proven)
    }

    /// A connect to `to` was answered.
    pub(super) fn prove(&mut self, to: SocketAddr) {
        if let Some(port) = self.ports.iter_mut().find(|port| port.address == to) {
            port.trust = Trust::Proven;
        }
    }

    /// A connect to the extra port `to` failed: no more streams go there.
    pub(super) fn give_up(&mut self, to: SocketAddr, error: io::Error) {
        let before = self.ports.len();
        self.ports.retain(|port| port.address != to);
        if self.ports.len() < before {
            self.shut.push((to.port(), error));
        }
    }

    /// Extra ports that could not be reached, and why.
    pub(super) fn into_shut(self) -> Vec<(u16, io::Error)> {
        self.shut
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::net::Ipv4Addr;

    use super::*;

    const OWN: u16 = 5201;

    fn ports(further: &[u16], streams: u32) -> ServerPorts {
        ServerPorts::new((Ipv4Addr::LOCALHOST, OWN).into(), further, streams)
    }

    /// How many streams go to which port now.
    fn send(ports: &mut ServerPorts, most: u32) -> BTreeMap<u16, u32> {
        let mut sent = BTreeMap::new();
        for _ in 0..most {
            let Some(to) = ports.next() else { break };
            *sent.entry(to.port()).or_default() += 1;
        }
        sent
    }

    fn at(port: u16) -> SocketAddr {
        (Ipv4Addr::LOCALHOST, port).into()
    }

    #[test]
    fn a_port_that_has_not_answered_gets_one_stream_and_then_its_share() {
        let mut ports = ports(&[1, 2], 90);
        assert_eq!(send(&mut ports, 90), BTreeMap::from([(OWN, 30), (1, 1), (2, 1)]));
        assert_eq!(ports.next(), None, "no port takes more than its share");
        ports.prove(at(2));
        assert_eq!(send(&mut ports, 90), BTreeMap::from([(2, 29)]));
        assert!(ports.is_proven(at(2)) && ports.is_proven(at(OWN)) && !ports.is_proven(at(1)));
    }

    #[test]
    fn the_proven_ports_share_the_streams_of_one_that_is_given_up() {
        let mut ports = ports(&[1, 2], 90);
        assert_eq!(send(&mut ports, 90).values().sum::<u32>(), 32);
        ports.prove(at(2));
        ports.give_up(at(1), io::ErrorKind::TimedOut.into());
        ports.give_up(at(1), io::ErrorKind::TimedOut.into());
        assert_eq!(send(&mut ports, 90), BTreeMap::from([(OWN, 15), (2, 44)]));
        let shut: Vec<_> = ports.into_shut().into_iter().map(|(port, _)| port).collect();
        assert_eq!(shut, [1]);
    }

    #[test]
    fn a_server_that_names_a_port_twice_is_not_waited_for() {
        let mut ports = ports(&[OWN, 7, 7, 0], 10);
        assert_eq!(send(&mut ports, 10), BTreeMap::from([(OWN, 5), (7, 1)]));
        ports.prove(at(7));
        assert_eq!(send(&mut ports, 4), BTreeMap::from([(7, 4)]));
    }
}
