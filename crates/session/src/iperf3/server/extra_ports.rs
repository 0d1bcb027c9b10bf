//! Extra ports of tests whose clients have too few ports to send from (clause 13.15).
//!
//! An extra port is open from the moment when its client may open its streams until the test
//! ends, and only for streams of that test: other connections are sent away, whatever they
//! say.

use std::io::ErrorKind;

use measurement::Timestamp;

use super::pending_connection::PendingConnection;
use crate::server::extra_port::ExtraPort;
use crate::server::shortage::is_shortage;
use crate::server::test_id::TestId;

/// All extra ports of a server.
#[derive(Default)]
pub(super) struct ExtraPorts(Vec<ExtraPort>);

/// Whether connections may still wait at the extra ports.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Left {
    Nobody,
    Others,
    /// A connection for which the system has no descriptor.
    NoRoom,
}

impl ExtraPorts {
    pub(super) fn add(&mut self, extra_port: ExtraPort) {
        self.0.push(extra_port);
    }

    /// Shuts the extra ports of tests that have ended.
    pub(super) fn close_those_of_ended(&mut self, is_there: impl Fn(&TestId) -> bool) {
        self.0.retain(|extra_port| is_there(&extra_port.test()));
    }

    /// Takes the connections that came, but no more than a flood's worth at a time; and whether
    /// more wait.
    pub(super) fn accept(&self, now: Timestamp) -> (Vec<PendingConnection>, Left) {
        let mut came = Vec::new();
        let left = self.0.iter().map(|extra_port| accept(extra_port, &mut came, now)).max();
        (came, left.unwrap_or(Left::Nobody))
    }
}

/// Takes the connections that came to one of them.
fn accept(port: &ExtraPort, came: &mut Vec<PendingConnection>, now: Timestamp) -> Left {
    for _ in 0..MOST_AT_ONCE {
        match linux::tcp::accept(port.listener()) {
            Ok((socket, from)) if from.ip().to_canonical() == port.client() => {
                came.push(PendingConnection::new(socket, from, now).through(port.test()));
            }
            Err(error) if error.kind() == ErrorKind::WouldBlock => return Left::Nobody,
            Err(error) if is_shortage(&error) => return Left::NoRoom,
            // A stranger is not heard, and one connection that is gone is gone.
            Ok(_) | Err(_) => {}
        }
    }
    Left::Others
}

const MOST_AT_ONCE: usize = 64;

#[cfg(test)]
mod tests {
    use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpStream};

    use protocol::iperf3::Cookie;

    use super::*;

    const OWN: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 0);

    fn open(extra_ports: &mut ExtraPorts, test: TestId, client: IpAddr) -> u16 {
        let mut opened = ExtraPort::open(1, (OWN, None), (test, client));
        let extra_port = opened.pop().expect("a port");
        let port = extra_port.port();
        extra_ports.add(extra_port);
        port
    }

    fn knock(port: u16) -> std::io::Result<TcpStream> {
        TcpStream::connect((Ipv4Addr::LOCALHOST, port))
    }

    #[test]
    fn an_extra_port_is_for_its_client_and_as_long_as_its_test() {
        let cookie = Cookie::from_random([7; Cookie::LENGTH - 1]);
        let test = TestId { cookie, number: 1 };
        let mut extra_ports = ExtraPorts::default();
        let port = open(&mut extra_ports, test, Ipv4Addr::LOCALHOST.into());
        let friend = knock(port).expect("connected");
        let (came, _) = extra_ports.accept(Timestamp::default());
        assert_eq!(came.len(), 1);
        assert_eq!(came[0].from, friend.local_addr().expect("bound"));
        assert_eq!(came[0].extra_port, Some(test));
        let elsewhere = open(&mut extra_ports, test, Ipv4Addr::new(127, 0, 0, 2).into());
        let _stranger = knock(elsewhere).expect("connected");
        assert!(
            extra_ports.accept(Timestamp::default()).0.is_empty(),
            "not from the client's address"
        );
        // The next test of the client bears the same cookie.
        let next = TestId { cookie, number: 2 };
        let its_own = open(&mut extra_ports, next, Ipv4Addr::LOCALHOST.into());
        extra_ports.close_those_of_ended(|test| *test == next);
        assert!(knock(port).is_err() && knock(elsewhere).is_err());
        assert!(knock(its_own).is_ok());
    }
}
