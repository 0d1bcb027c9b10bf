//! Further ports of tests whose clients have too few ports to send from (clause 13.15).
//!
//! A door is open as long as its test, and only for streams of that test: others who come
//! are sent away, whatever they say.

use std::io::ErrorKind;
use std::net::{IpAddr, SocketAddr, TcpListener};

use protocol::iperf3::Cookie;

use super::desk::is_shortage;
use super::newcomer::Newcomer;

/// All doors of a server.
#[derive(Default)]
pub(super) struct Doors(Vec<Door>);

/// Who may wait at the doors still.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Left {
    Nobody,
    Others,
    /// Somebody, for whom the system has no descriptor.
    NoRoom,
}

struct Door {
    listener: TcpListener,
    test: Cookie,
    client: IpAddr,
}

impl Doors {
    /// Opens up to `count` doors beside the listener `tcp`, on its interface `device`, for
    /// the `test` of a client; each with its port.
    pub(super) fn open(
        &mut self,
        count: usize,
        (tcp, device): (&TcpListener, Option<&str>),
        (test, client): (Cookie, IpAddr),
    ) -> Vec<(&TcpListener, u16)> {
        let first = self.0.len();
        let Ok(own) = tcp.local_addr() else { return Vec::new() };
        let any_port = SocketAddr::new(own.ip(), 0);
        let dual = own.is_ipv6() && own.ip().is_unspecified();
        for _ in 0..count {
            // What the system does not give is done without.
            let Ok(listener) = linux::tcp::listen_on(device, any_port, dual) else { break };
            self.0.push(Door { listener, test, client: client.to_canonical() });
        }
        let port = |door: &Door| door.listener.local_addr().ok().map(|address| address.port());
        self.0[first..].iter().filter_map(|door| Some((&door.listener, port(door)?))).collect()
    }

    /// Shuts the doors of tests that have ended.
    pub(super) fn shut_those_of_the_gone(&mut self, is_there: impl Fn(&Cookie) -> bool) {
        self.0.retain(|door| is_there(&door.test));
    }

    /// Takes who came, but no more than a flood's worth at a time; and what is left.
    pub(super) fn accept(&self) -> (Vec<Newcomer>, Left) {
        let mut came = Vec::new();
        let left = self.0.iter().map(|door| door.accept(&mut came)).max();
        (came, left.unwrap_or(Left::Nobody))
    }
}

impl Door {
    fn accept(&self, came: &mut Vec<Newcomer>) -> Left {
        for _ in 0..MOST_AT_ONCE {
            match linux::tcp::accept(&self.listener) {
                Ok((socket, from)) if from.ip().to_canonical() == self.client => {
                    came.push(Newcomer::new(socket, from).through(self.test));
                }
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Left::Nobody,
                Err(error) if is_shortage(&error) => return Left::NoRoom,
                // A stranger is not heard, and one connection that is gone is gone.
                Ok(_) | Err(_) => {}
            }
        }
        Left::Others
    }
}

const MOST_AT_ONCE: usize = 64;

#[cfg(test)]
mod tests {
    use std::net::{Ipv4Addr, TcpStream};

    use super::*;

    #[test]
    fn a_door_is_for_its_client_and_as_long_as_its_test() {
        let own = linux::tcp::listen((Ipv4Addr::LOCALHOST, 0).into(), false).expect("listens");
        let test = Cookie::from_random([7; Cookie::LENGTH - 1]);
        let mut doors = Doors::default();
        let client = Ipv4Addr::LOCALHOST.into();
        let ports: Vec<u16> =
            doors.open(2, (&own, None), (test, client)).into_iter().map(|(_, port)| port).collect();
        assert_eq!(ports.len(), 2);
        let friend = TcpStream::connect((Ipv4Addr::LOCALHOST, ports[1])).expect("connected");
        let (came, _) = doors.accept();
        assert_eq!(came.len(), 1);
        assert_eq!(came[0].from, friend.local_addr().expect("bound"));
        assert_eq!(came[0].door, Some(test));
        let other = Ipv4Addr::new(127, 0, 0, 2);
        let ports = doors.open(1, (&own, None), (test, other.into())).len();
        assert_eq!(ports, 1);
        let port = doors.0[2].listener.local_addr().expect("bound").port();
        let _stranger = TcpStream::connect((Ipv4Addr::LOCALHOST, port)).expect("connected");
        assert!(doors.accept().0.is_empty(), "not from the client's address");
        doors.shut_those_of_the_gone(|cookie| *cookie != test);
        assert!(TcpStream::connect((Ipv4Addr::LOCALHOST, port)).is_err());
    }
}
