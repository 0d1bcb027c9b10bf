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
pub(super) struct Doors {
    streams: u32,
    /// The server's own one is the first.
    ports: Vec<Door>,
    /// Whose turn it is.
    turn: usize,
    shut: Vec<(u16, io::Error)>,
}

struct Door {
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

impl Doors {
    /// The server's `own` port, which the control connection has proven, and further ones.
    pub(super) fn new(own: SocketAddr, further: &[u16], streams: u32) -> Self {
        let mut ports = vec![Door { address: own, taken: 0, trust: Trust::Proven }];
        for port in further.iter().copied() {
            // The same scope, if it has one.
            let mut address = own;
            address.set_port(port);
            let is_known = ports.iter().any(|door| door.address.port() == port);
            if port != 0 && !is_known {
                ports.push(Door { address, taken: 0, trust: Trust::Untried });
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
            let door = &mut self.ports[self.turn];
            let is_open = match door.trust {
                Trust::Untried => true,
                Trust::Tried => false,
                Trust::Proven => door.taken < share,
            };
            if is_open {
                door.taken += 1;
                if door.trust == Trust::Untried {
                    door.trust = Trust::Tried;
                }
                return Some(door.address);
            }
        }
        None
    }

    /// Whether a connect to `to` was answered before.
    pub(super) fn is_proven(&self, to: SocketAddr) -> bool {
        self.ports.iter().any(|door| door.address == to && door.trust == Trust::Proven)
    }

    /// A connect to `to` was answered.
    pub(super) fn prove(&mut self, to: SocketAddr) {
        if let Some(door) = self.ports.iter_mut().find(|door| door.address == to) {
            door.trust = Trust::Proven;
        }
    }

    /// A connect to the further port `to` failed: no more streams go there.
    pub(super) fn give_up(&mut self, to: SocketAddr, error: io::Error) {
        let before = self.ports.len();
        self.ports.retain(|door| door.address != to);
        if self.ports.len() < before {
            self.shut.push((to.port(), error));
        }
    }

    /// Further ports that could not be reached, and why.
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

    fn doors(further: &[u16], streams: u32) -> Doors {
        Doors::new((Ipv4Addr::LOCALHOST, OWN).into(), further, streams)
    }

    /// How many streams go to which port now.
    fn send(doors: &mut Doors, most: u32) -> BTreeMap<u16, u32> {
        let mut sent = BTreeMap::new();
        for _ in 0..most {
            let Some(to) = doors.next() else { break };
            *sent.entry(to.port()).or_default() += 1;
        }
        sent
    }

    fn at(port: u16) -> SocketAddr {
        (Ipv4Addr::LOCALHOST, port).into()
    }

    #[test]
    fn a_port_that_has_not_answered_gets_one_stream_and_then_its_share() {
        let mut doors = doors(&[1, 2], 90);
        assert_eq!(send(&mut doors, 90), BTreeMap::from([(OWN, 30), (1, 1), (2, 1)]));
        assert_eq!(doors.next(), None, "no port takes more than its share");
        doors.prove(at(2));
        assert_eq!(send(&mut doors, 90), BTreeMap::from([(2, 29)]));
        assert!(doors.is_proven(at(2)) && doors.is_proven(at(OWN)) && !doors.is_proven(at(1)));
    }

    #[test]
    fn the_proven_ports_share_the_streams_of_one_that_is_given_up() {
        let mut doors = doors(&[1, 2], 90);
        assert_eq!(send(&mut doors, 90).values().sum::<u32>(), 32);
        doors.prove(at(2));
        doors.give_up(at(1), io::ErrorKind::TimedOut.into());
        doors.give_up(at(1), io::ErrorKind::TimedOut.into());
        assert_eq!(send(&mut doors, 90), BTreeMap::from([(OWN, 15), (2, 44)]));
        let shut: Vec<_> = doors.into_shut().into_iter().map(|(port, _)| port).collect();
        assert_eq!(shut, [1]);
    }

    #[test]
    fn a_server_that_names_a_port_twice_is_not_waited_for() {
        let mut doors = doors(&[OWN, 7, 7, 0], 10);
        assert_eq!(send(&mut doors, 10), BTreeMap::from([(OWN, 5), (7, 1)]));
        doors.prove(at(7));
        assert_eq!(send(&mut doors, 4), BTreeMap::from([(7, 4)]));
    }
}
