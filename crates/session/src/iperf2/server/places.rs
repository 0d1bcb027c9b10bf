//! Places of UDP flows. They are none of the server's tests, as a forged address could take one.

use std::collections::HashMap;
use std::net::{IpAddr, SocketAddr};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use dataplane::udp::EarlyDatagram;
use measurement::Timestamp;
use portable_atomic::{AtomicUsize, Ordering::Relaxed};

use crate::server::client_prefix::ClientPrefix;
use crate::server::stay::Stay;

/// All places, and the flows that have them.
pub(super) struct FlowPlaces {
    seats: Arc<Mutex<Seats>>,
    /// Flows with threads, those too that have lost their places and not noticed it yet.
    running: Arc<AtomicUsize>,
    most: usize,
}

/// Flows by the addresses of their clients.
type Seats = HashMap<SocketAddr, Seat>;

/// One flow as the acceptor knows it.
struct Seat {
    /// The way for datagrams that came to the listener, as long as the flow takes any.
    early: SyncSender<EarlyDatagram>,
    stay: Arc<Stay>,
}

/// One flow's place among them, given up when dropped.
pub(super) struct FlowPlace {
    seats: Arc<Mutex<Seats>>,
    running: Arc<AtomicUsize>,
    source: SocketAddr,
    stay: Arc<Stay>,
}

impl FlowPlaces {
    /// Places for so many flows at one time.
    pub(super) fn new(most: usize) -> Self {
        Self { seats: Arc::default(), running: Arc::default(), most }
    }

    /// A place for a flow from `source`, and what comes to the listener meanwhile; none: there is none.
    pub(super) fn take(
        &self,
        source: SocketAddr,
        now: Timestamp,
    ) -> Option<(FlowPlace, Receiver<EarlyDatagram>)> {
        if self.running.load(Relaxed) > self.most + self.most.div_ceil(PARTS) {
            return None;
        }
        let mut seats = lock(&self.seats);
        make_room(&mut seats, self.most, source.ip(), now)?;
        let (sender, early) = sync_channel(MOST_EARLY);
        let stay = Arc::<Stay>::default();
        stay.be_busy_until(now.after(PATIENCE_AT_FIRST));
        seats.insert(source, Seat { early: sender, stay: Arc::clone(&stay) });
        drop(seats);
        self.running.fetch_add(1, Relaxed);
        let (seats, running) = (Arc::clone(&self.seats), Arc::clone(&self.running));
        Some((FlowPlace { seats, running, source, stay }, early))
    }

    /// Whether all are free.
    pub(super) fn are_free(&self) -> bool {
        lock(&self.seats).is_empty()
    }

    /// Passes on a datagram that came to the listener; whether its flow has a place.
    pub(super) fn pass(&self, datagram: &[u8], source: SocketAddr) -> bool {
        let seats = lock(&self.seats);
        let Some(seat) = seats.get(&source) else { return false };
        let early = EarlyDatagram { payload: datagram.to_vec(), arrival: linux::clock::realtime() };
        // One for which there is no room is lost, as in the kernel's queue.
        _ = seat.early.try_send(early);
        true
    }
}

fn lock(seats: &Mutex<Seats>) -> MutexGuard<'_, Seats> {
    seats.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Makes room for a flow of that client, if need be at the cost of the one that has been silent for
/// longest, or else of one of the client that has most; none: nobody has more than this one would.
fn make_room(seats: &mut Seats, most: usize, client: IpAddr, now: Timestamp) -> Option<()> {
    let client = ClientPrefix::containing(client);
    let all: Vec<_> = seats
        .iter()
        .map(|(source, seat)| (ClientPrefix::containing(source.ip()), &seat.stay, *source))
        .collect();
    let count = |of: &ClientPrefix| all.iter().filter(|(prefix, ..)| prefix == of).count();
    let own = count(&client);
    let is_full_of_one = own >= (most / PARTS).max(LEAST_OF_ONE);
    if !is_full_of_one && all.len() < most {
        return Some(());
    }
    // Silent ones first, and then those of the client that has most.
    let rank = |(prefix, stay, source): &(ClientPrefix, &Arc<Stay>, SocketAddr)| {
        let is_silent = stay.weakness(now).is_some();
        let rank = if is_silent { 0 } else { usize::MAX - count(prefix) };
        (rank, stay.busy_until(), *source)
    };
    let candidates = all.iter().filter(|(prefix, ..)| !is_full_of_one || *prefix == client);
    let first = candidates.map(rank).min_by_key(|(rank, until, _)| (*rank, *until));
    let (rank, _, source) = first?;
    let has_more = !is_full_of_one && usize::MAX - rank > own + 1;
    if rank > 0 && !has_more {
        return None;
    }
    seats.remove(&source);
    Some(())
}

impl FlowPlace {
    /// Where the flow comes from.
    pub(super) const fn source(&self) -> SocketAddr {
        self.source
    }

    /// So many datagrams came, the last one at `last`; whether they prove that somebody is there.
    pub(super) fn hear(&self, last: Timestamp, datagrams: u64) -> bool {
        let is_proven = datagrams >= FIRST;
        if is_proven {
            self.stay.prove();
        }
        let patience = if is_proven { PATIENCE } else { PATIENCE_AT_FIRST };
        self.stay.be_busy_until(last.after(patience));
        is_proven
    }

    /// Another flow has taken it.
    pub(super) fn is_taken(&self) -> bool {
        !lock(&self.seats).get(&self.source).is_some_and(|seat| self.is_of(seat))
    }

    fn is_of(&self, seat: &Seat) -> bool {
        Arc::ptr_eq(&seat.stay, &self.stay)
    }
}

impl Drop for FlowPlace {
    fn drop(&mut self) {
        self.running.fetch_sub(1, Relaxed);
        let mut seats = lock(&self.seats);
        if seats.get(&self.source).is_some_and(|seat| self.is_of(seat)) {
            seats.remove(&self.source);
        }
    }
}

/// A client has no more than one of so many parts of the places, and so many more flows may run that
/// have lost theirs.
const PARTS: usize = 4;
/// Flows that a client may have, however few places there are.
const LEAST_OF_ONE: usize = 16;
/// Datagrams of a flow that come before it has a socket.
const MOST_EARLY: usize = 1_024;
/// How long a flow may be silent before another may have its place: of its first datagrams, which
/// may come in forged names, and later.
const PATIENCE_AT_FIRST: Duration = Duration::from_millis(250);
const PATIENCE: Duration = Duration::from_secs(1);
/// Datagrams of a flow that count as its first ones.
const FIRST: u64 = 16;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::server::capacity::MOST_FLOWS;

    /// Seats of so many flows of each of these hosts, all heard at the start.
    fn seats(hosts: u8, flows: u16, start: Timestamp) -> Seats {
        let each = (0..hosts).flat_map(|host| (0..flows).map(move |port| (host, port)));
        each.map(|(host, port)| {
            let seat = Seat { early: sync_channel(0).0, stay: Arc::default() };
            seat.stay.be_busy_until(start.after(PATIENCE_AT_FIRST));
            (SocketAddr::from(([10, 0, 0, host], 1 + port)), seat)
        })
        .collect()
    }

    #[test]
    fn the_flow_that_is_silent_for_longest_makes_room() {
        let start = Timestamp::from_nanos(1);
        let mut seats = seats(128, 2, start);
        let stranger = IpAddr::from([192, 0, 2, 1]);
        assert_eq!(seats.len(), MOST_FLOWS);
        let now = start.after(PATIENCE_AT_FIRST);
        for seat in seats.values() {
            seat.stay.be_busy_until(now.after(PATIENCE));
        }
        let silent = SocketAddr::from(([10, 0, 0, 7], 2));
        seats[&silent].stay.be_busy_until(now);
        assert_eq!(make_room(&mut seats, MOST_FLOWS, stranger, now), Some(()));
        assert!(seats.len() == MOST_FLOWS - 1 && !seats.contains_key(&silent));
        assert_eq!(make_room(&mut seats, MOST_FLOWS, stranger, now), Some(()), "there is room");
        assert_eq!(seats.len(), MOST_FLOWS - 1);
    }

    #[test]
    fn a_client_with_many_flows_makes_room_for_itself() {
        let start = Timestamp::from_nanos(1);
        let mut seats = seats(2, 64, start);
        let now = start.after(PATIENCE);
        let client = IpAddr::from([10, 0, 0, 1]);
        assert_eq!(make_room(&mut seats, MOST_FLOWS, client, now), Some(()));
        let left = seats.keys().filter(|source| source.ip() == client).count();
        assert_eq!((left, seats.len()), (MOST_FLOWS / PARTS - 1, 127));
    }

    #[test]
    fn who_has_less_has_a_place_however_busy_the_others_are() {
        let start = Timestamp::from_nanos(1);
        let mut seats = seats(40, 6, start);
        for port in 1..=16 {
            let seat = Seat { early: sync_channel(0).0, stay: Arc::default() };
            seat.stay.be_busy_until(start.after(PATIENCE));
            seats.insert(SocketAddr::from(([10, 0, 0, 99], port)), seat);
        }
        assert_eq!(seats.len(), MOST_FLOWS);
        let stranger = IpAddr::from([192, 0, 2, 1]);
        let of = |seats: &Seats, ip: IpAddr| seats.keys().filter(|peer| peer.ip() == ip).count();
        for own in 0..8 {
            assert_eq!(make_room(&mut seats, MOST_FLOWS, stranger, start), Some(()), "{own}");
            let seat = Seat { early: sync_channel(0).0, stay: Arc::default() };
            seat.stay.be_busy_until(start.after(PATIENCE));
            seats.insert(SocketAddr::new(stranger, 1 + own), seat);
        }
        assert_eq!((of(&seats, [10, 0, 0, 99].into()), of(&seats, stranger)), (8, 8));
        assert_eq!(make_room(&mut seats, MOST_FLOWS, stranger, start), None, "nobody has more");
    }

    #[test]
    fn a_host_with_many_addresses_of_its_network_is_one_client() {
        let start = Timestamp::from_nanos(1);
        let mut seats = Seats::new();
        for host in 0..64 {
            let seat = Seat { early: sync_channel(0).0, stay: Arc::default() };
            seat.stay.be_busy_until(start.after(PATIENCE));
            let ip = IpAddr::from([0x2001, 0xdb8, 0, 0, 0, 0, 0, host]);
            seats.insert(SocketAddr::new(ip, 1), seat);
        }
        let next = IpAddr::from([0x2001, 0xdb8, 0, 0, 1, 2, 3, 4]);
        assert_eq!(make_room(&mut seats, MOST_FLOWS, next, start), None);
        assert_eq!(make_room(&mut seats, MOST_FLOWS, IpAddr::from([10, 0, 0, 1]), start), Some(()));
    }
}
