//! Extra ports of tests whose clients have too few ports to send from (clause 13.15).
//!
//! An extra port is open from the moment when its client may open its streams until the test
//! ends, and only for streams of that test: other connections are sent away, whatever they
//! say.

use std::io::ErrorKind;
use std::net::{IpAddr, SocketAddr, TcpListener};

use measurement::Timestamp;

use super::pending_connection::PendingConnection;
use super::test_id::TestId;
use crate::server::shortage::is_shortage;

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

/// One extra port.
pub(super) struct ExtraPort {
    listener: TcpListener,
    port: u16,
    test: TestId,
    client: IpAddr,
}

impl ExtraPorts {
    pub(super) fn add(&mut self, extra_port: ExtraPort) {
        self.0.push(extra_port);
    }

    /// Shuts the extra ports of tests that have ended.
    pub(super) fn close_those_of_ended(&mut self, is_there: impl Fn(&TestId) -> bool) {
        self.0.retain(|extra_port| is_there(&extra_port.test));
    }

    /// Takes the connections that came, but no more than a flood's worth at a time; and whether
    /// more wait.
    pub(super) fn accept(&self, now: Timestamp) -> (Vec<PendingConnection>, Left) {
        let mut came = Vec::new();
        let left = self.0.iter().map(|extra_port| extra_port.accept(&mut came, now)).max();
        (came, left.unwrap_or(Left::Nobody))
    }
}

impl ExtraPort {
    /// Opens up to `count` extra ports beside the server's `own` address, on its interface
    /// `device`, for a `test` of a `client`.
    pub(super) fn open(
        count: usize,
        place: (SocketAddr, Option<&str>),
        (test, client): (TestId, IpAddr),
    ) -> Vec<Self> {
        let client = client.to_canonical();
        // What the system does not give is done without.
        let listeners = (0..count).map_while(|_| {
            let (listener, port) = listen(place)?;
            Some(Self { listener, port, test, client })
        });
        listeners.collect()
    }

    pub(super) const fn port(&self) -> u16 {
        self.port
    }

    pub(super) const fn listener(&self) -> &TcpListener {
        &self.listener
    }

    fn accept(&self, came: &mut Vec<PendingConnection>, now: Timestamp) -> Left {
        for _ in 0..MOST_AT_ONCE {
            match linux::tcp::accept(&self.listener) {
                Ok((socket, from)) if from.ip().to_canonical() == self.client => {
                    came.push(PendingConnection::new(socket, from, now).through(self.test));
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

/// A port that the kernel chooses, beside the server's `own` address and on its interface
/// `device`; none: the system gives none.
pub(super) fn listen((own, device): (SocketAddr, Option<&str>)) -> Option<(TcpListener, u16)> {
    let any_port = SocketAddr::new(own.ip(), 0);
    let dual = own.is_ipv6() && own.ip().is_unspecified();
    let listener = linux::tcp::listen_on(device, any_port, dual).ok()?;
    let port = listener.local_addr().ok()?.port();
    Some((listener, port))
}

const MOST_AT_ONCE: usize = 64;

#[cfg(test)]
mod tests {
    use std::net::{Ipv4Addr, TcpStream};

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
