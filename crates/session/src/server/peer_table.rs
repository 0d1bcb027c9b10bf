//! The peers of UDP streams by address, and for a while those of ended streams.

use std::collections::{HashMap, VecDeque};
use std::net::SocketAddr;
use std::time::Duration;

use measurement::Timestamp;

/// What a datagram's source is to the server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PeerState {
    /// The peer of a stream.
    Current,
    /// The peer of a stream that has ended a moment ago.
    Former,
    /// No peer of any stream.
    Unknown,
}

/// Every peer of a stream by its address and port.
#[derive(Debug, Default)]
pub(crate) struct PeerTable {
    /// The number of its test, and when that ended.
    peers: HashMap<SocketAddr, (u64, Option<Timestamp>)>,
    of_test: HashMap<u64, Vec<SocketAddr>>,
    /// Those of ended tests, the oldest first.
    former: VecDeque<(Timestamp, SocketAddr)>,
}

impl PeerTable {
    pub(crate) fn add(&mut self, peer: SocketAddr, test: u64) {
        self.peers.insert(peer, (test, None));
        self.of_test.entry(test).or_default().push(peer);
    }

    /// Test `test` has ended.
    pub(crate) fn end(&mut self, test: u64, now: Timestamp) {
        for peer in self.of_test.remove(&test).unwrap_or_default() {
            // The peer may be that of a newer test by now.
            if let Some((_, ended)) = self.peers.get_mut(&peer).filter(|(other, _)| *other == test)
            {
                *ended = Some(now);
                self.former.push_back((now, peer));
            }
        }
        self.forget(now);
    }

    /// Forgets peers whose tests ended long ago, and of too many the oldest.
    fn forget(&mut self, now: Timestamp) {
        while let Some((ended, peer)) = self.former.front().copied() {
            if now < ended.after(MEMORY) && self.former.len() <= MOST {
                return;
            }
            self.former.pop_front();
            if self.peers.get(&peer).is_some_and(|(_, at)| *at == Some(ended)) {
                self.peers.remove(&peer);
            }
        }
    }

    pub(crate) fn who(&self, source: SocketAddr, now: Timestamp) -> PeerState {
        match self.peers.get(&source) {
            Some((_, None)) => PeerState::Current,
            Some((_, Some(ended))) if now < ended.after(MEMORY) => PeerState::Former,
            _ => PeerState::Unknown,
        }
    }
}

/// Datagrams are not on their way for longer.
const MEMORY: Duration = Duration::from_secs(30);
/// Beyond so many the ended ones are forgotten early.
const MOST: usize = 64 * 1024;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_peer_is_known_for_half_a_minute_after_its_test() {
        let mut known = PeerTable::default();
        let [one, two] = [1, 2].map(|port| SocketAddr::from(([10, 0, 0, 1], port)));
        let start = Timestamp::from_nanos(1);
        let at = |seconds| start.after(Duration::from_secs(seconds));
        known.add(one, 7);
        known.add(two, 8);
        assert_eq!(known.who(one, start), PeerState::Current);
        known.end(7, at(10));
        assert_eq!(known.who(one, at(39)), PeerState::Former);
        assert_eq!(known.who(one, at(40)), PeerState::Unknown);
        assert_eq!(known.who(two, at(40)), PeerState::Current);
        known.end(8, at(41));
        assert_eq!(known.peers.len(), 1);
        known.add(one, 9);
        assert_eq!(known.who(one, at(42)), PeerState::Current);
    }
}
