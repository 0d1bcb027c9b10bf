//! All newcomers: who is due when, and who has to make room.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use measurement::Timestamp;

use super::address::Household;
use super::newcomer::Newcomer;

/// Connections that have not said what they want, by number and so by age.
#[derive(Default)]
pub(super) struct Lobby {
    newcomers: BTreeMap<u64, Newcomer>,
    due: BTreeSet<(Timestamp, u64)>,
    of_client: HashMap<Household, BTreeSet<u64>>,
}

impl Lobby {
    pub(super) fn len(&self) -> usize {
        self.newcomers.len()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.newcomers.is_empty()
    }

    pub(super) fn put(&mut self, number: u64, newcomer: Newcomer) {
        self.due.insert((newcomer.deadline(), number));
        self.of_client.entry(Household::of(newcomer.from.ip())).or_default().insert(number);
        self.newcomers.insert(number, newcomer);
    }

    pub(super) fn take(&mut self, number: u64) -> Option<Newcomer> {
        let newcomer = self.newcomers.remove(&number)?;
        self.due.remove(&(newcomer.deadline(), number));
        let client = Household::of(newcomer.from.ip());
        if let Some(own) = self.of_client.get_mut(&client) {
            own.remove(&number);
            if own.is_empty() {
                self.of_client.remove(&client);
            }
        }
        Some(newcomer)
    }

    /// Who is due first, and when.
    pub(super) fn first_due(&self) -> Option<(Timestamp, u64)> {
        self.due.first().copied()
    }

    pub(super) fn take_oldest(&mut self) -> Option<Newcomer> {
        let number = *self.newcomers.first_key_value()?.0;
        self.take(number)
    }

    /// The one that has to go because there are more than `most`, or more than a quarter of
    /// that from the client that came last.
    pub(super) fn take_surplus(&mut self, most: usize) -> Option<Newcomer> {
        let last = self.newcomers.last_key_value()?.1;
        let own = self.of_client.get(&Household::of(last.from.ip()))?;
        if own.len() > most / SHARES {
            let number = *own.first()?;
            return self.take(number);
        }
        if self.len() > most { self.take_oldest() } else { None }
    }
}

/// One client has no more than one of so many parts.
pub(super) const SHARES: usize = 4;

#[cfg(test)]
mod tests {
    use std::net::{SocketAddr, TcpListener, TcpStream};

    use super::*;

    fn newcomer(last: u8, port: u16) -> Newcomer {
        let listener = TcpListener::bind("127.0.0.1:0").expect("bound");
        let socket = TcpStream::connect(listener.local_addr().expect("bound")).expect("connected");
        Newcomer::new(socket, SocketAddr::from(([10, 0, 0, last], port)))
    }

    #[test]
    fn who_brings_many_makes_room_for_others() {
        let mut lobby = Lobby::default();
        lobby.put(0, newcomer(1, 0));
        assert!(lobby.take_surplus(8).is_none());
        for number in 1..=3_u16 {
            lobby.put(number.into(), newcomer(2, number));
        }
        let gone = lobby.take_surplus(8).expect("more than a quarter");
        assert_eq!(gone.from.port(), 1, "its own oldest");
        for number in 10..=15_u8 {
            lobby.put(number.into(), newcomer(number, 0));
        }
        let gone = lobby.take_surplus(8).expect("more than eight");
        assert_eq!(gone.from, SocketAddr::from(([10, 0, 0, 1], 0)), "the oldest of all");
        assert_eq!(lobby.first_due().map(|(_, number)| number), Some(2));
        while lobby.take_oldest().is_some() {}
        assert!(lobby.is_empty() && lobby.due.is_empty() && lobby.of_client.is_empty());
    }
}
