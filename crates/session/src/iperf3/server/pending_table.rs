//! All pending connections: which is due when, and which has to make room.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use measurement::Timestamp;

use super::pending_connection::PendingConnection;
use crate::server::client_prefix::ClientPrefix;

/// Connections that have not said what they want, by number and so by age.
pub(super) struct PendingTable {
    /// Beyond so many the oldest makes room.
    most: usize,
    /// Number of the next connection.
    next: u64,
    connections: BTreeMap<u64, PendingConnection>,
    due: BTreeSet<(Timestamp, u64)>,
    of_client: HashMap<ClientPrefix, BTreeSet<u64>>,
}

impl PendingTable {
    /// A table of up to `most` connections.
    pub(super) fn new(most: usize) -> Self {
        let (connections, due, of_client) = (BTreeMap::new(), BTreeSet::new(), HashMap::new());
        Self { most, next: 0, connections, due, of_client }
    }

    pub(super) const fn most(&self) -> usize {
        self.most
    }

    /// A number that no connection had before.
    pub(super) const fn next_number(&mut self) -> u64 {
        self.next += 1;
        self.next - 1
    }

    pub(super) fn len(&self) -> usize {
        self.connections.len()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.connections.is_empty()
    }

    /// Whether one has its answer, and the time to read it.
    pub(super) fn has_leaving(&self) -> bool {
        self.connections.values().any(PendingConnection::is_leaving)
    }

    pub(super) fn put(&mut self, number: u64, connection: PendingConnection) {
        self.due.insert((connection.deadline(), number));
        self.of_client
            .entry(ClientPrefix::containing(connection.from.ip()))
            .or_default()
            .insert(number);
        self.connections.insert(number, connection);
    }

    pub(super) fn take(&mut self, number: u64) -> Option<PendingConnection> {
        let connection = self.connections.remove(&number)?;
        self.due.remove(&(connection.deadline(), number));
        let client = ClientPrefix::containing(connection.from.ip());
        if let Some(own) = self.of_client.get_mut(&client) {
            own.remove(&number);
            if own.is_empty() {
                self.of_client.remove(&client);
            }
        }
        Some(connection)
    }

    /// The connection that is due first, and when.
    pub(super) fn first_due(&self) -> Option<(Timestamp, u64)> {
        self.due.first().copied()
    }

    pub(super) fn take_oldest(&mut self) -> Option<PendingConnection> {
        let number = *self.connections.first_key_value()?.0;
        self.take(number)
    }

    /// The one that has to go because there are more than [`Self::most`], or more than a quarter of
    /// that from the client that came last.
    pub(super) fn take_surplus(&mut self) -> Option<PendingConnection> {
        let last = self.connections.last_key_value()?.1;
        let own = self.of_client.get(&ClientPrefix::containing(last.from.ip()))?;
        if own.len() > self.most / SHARES {
            let number = *own.first()?;
            return self.take(number);
        }
        if self.len() > self.most { self.take_oldest() } else { None }
    }
}

/// One client has no more than one of so many parts.
pub(super) const SHARES: usize = 4;

#[cfg(test)]
mod tests {
    use std::net::{SocketAddr, TcpListener, TcpStream};

    use super::*;

    fn connection(last: u8, port: u16) -> PendingConnection {
        let listener = TcpListener::bind("127.0.0.1:0").expect("bound");
        let socket = TcpStream::connect(listener.local_addr().expect("bound")).expect("connected");
        PendingConnection::new(
            socket,
            SocketAddr::from(([10, 0, 0, last], port)),
            Timestamp::default(),
        )
    }

    #[test]
    fn who_brings_many_makes_room_for_others() {
        let mut pending = PendingTable::new(8);
        pending.put(0, connection(1, 0));
        assert!(pending.take_surplus().is_none());
        for number in 1..=3_u16 {
            pending.put(number.into(), connection(2, number));
        }
        let gone = pending.take_surplus().expect("more than a quarter");
        assert_eq!(gone.from.port(), 1, "its own oldest");
        for number in 10..=15_u8 {
            pending.put(number.into(), connection(number, 0));
        }
        let gone = pending.take_surplus().expect("more than eight");
        assert_eq!(gone.from, SocketAddr::from(([10, 0, 0, 1], 0)), "the oldest of all");
        assert_eq!(pending.first_due().map(|(_, number)| number), Some(2));
        while pending.take_oldest().is_some() {}
        assert!(pending.is_empty() && pending.due.is_empty() && pending.of_client.is_empty());
    }
}
