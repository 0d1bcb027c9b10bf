//! A port beside the server's own, for the streams of one test.

use std::net::{IpAddr, SocketAddr, TcpListener};

use super::test_id::TestId;

/// One extra port.
pub(crate) struct ExtraPort {
    listener: TcpListener,
    port: u16,
    test: TestId,
    client: IpAddr,
}

impl ExtraPort {
    /// Opens up to `count` extra ports beside the server's `own` address, on its interface
    /// `device`, for a `test` of a `client`.
    pub(crate) fn open(
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

    pub(crate) const fn port(&self) -> u16 {
        self.port
    }

    pub(crate) const fn listener(&self) -> &TcpListener {
        &self.listener
    }

    pub(crate) const fn test(&self) -> TestId {
        self.test
    }

    pub(crate) const fn client(&self) -> IpAddr {
        self.client
    }
}

/// A port that the kernel chooses, beside the server's `own` address and on its interface
/// `device`; none: the system gives none.
pub(crate) fn listen((own, device): (SocketAddr, Option<&str>)) -> Option<(TcpListener, u16)> {
    let any_port = SocketAddr::new(own.ip(), 0);
    let dual = own.is_ipv6() && own.ip().is_unspecified();
    let listener = linux::tcp::listen_on(device, any_port, dual).ok()?;
    let port = listener.local_addr().ok()?.port();
    Some((listener, port))
}
