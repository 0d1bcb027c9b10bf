//! UDP flows of iperf2 clients. They take no place of the server's tests, as a forged address could
//! take one; their number is bounded, and what is sent is never longer than what it answers.

use std::collections::HashMap;
use std::net::{IpAddr, SocketAddr, UdpSocket};
use std::sync::mpsc::{SyncSender, sync_channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use dataplane::udp::EarlyDatagram;
use measurement::Timestamp;
use portable_atomic::{AtomicUsize, Ordering::Relaxed};
use protocol::iperf2::FlowStart;

use super::flow::{Flow, FlowRun};
use crate::iperf3::server::ServerContext;
use crate::server::access::AccessList;
use crate::server::client_prefix::ClientPrefix;
use crate::server::log::Log;
use crate::server::stay::Stay;

/// Flows by the addresses of their clients.
type Peers = Arc<Mutex<Seats>>;
type Seats = HashMap<SocketAddr, Seat>;

/// One flow as the acceptor knows it.
struct Seat {
    /// The way for datagrams that came to the listener, as long as the flow takes any.
    early: SyncSender<EarlyDatagram>,
    stay: Arc<Stay>,
}

/// The UDP flows of a server.
pub(crate) struct Flows {
    peers: Peers,
    access: AccessList,
    is_open: bool,
    /// Threads of flows, of those too that have lost their places.
    threads: Arc<AtomicUsize>,
    server: ServerContext,
    log: Arc<dyn Log>,
}

/// One flow's place among them, given up when dropped.
pub(crate) struct FlowPlace {
    peers: Peers,
    threads: Arc<AtomicUsize>,
    source: SocketAddr,
    stay: Arc<Stay>,
}

impl Flows {
    /// None yet. `has_key`: clients have to prove a key, which iperf2 cannot.
    pub(crate) fn new(
        server: &ServerContext,
        (access, has_key): (AccessList, bool),
        log: Arc<dyn Log>,
    ) -> Self {
        let is_open = !has_key && server.options.gate.is_none() && server.rates.is_unlimited();
        let (peers, threads) = (Arc::default(), Arc::default());
        Self { peers, access, is_open, threads, server: server.clone(), log }
    }

    /// Begins a flow at its first datagram; none: it is none, or there is no place for it.
    pub(crate) fn begin(&self, datagram: &[u8], source: SocketAddr) -> Option<Flow> {
        let has_thread = self.threads.load(Relaxed) < MOST_THREADS;
        if !self.is_open || !has_thread || !self.access.admits(source.ip()) {
            return None;
        }
        let now = self.server.clock.now();
        let start = FlowStart::recognise(datagram)?;
        let mut seats = lock(&self.peers);
        make_room(&mut seats, source.ip(), now)?;
        let (sender, early) = sync_channel(MOST_EARLY);
        // The channel has room for it.
        _ = sender.try_send(early_now(datagram));
        let stay = Arc::<Stay>::default();
        stay.be_busy_until(now.after(PATIENCE_AT_FIRST));
        seats.insert(source, Seat { early: sender, stay: Arc::clone(&stay) });
        drop(seats);
        self.threads.fetch_add(1, Relaxed);
        let (peers, threads) = (Arc::clone(&self.peers), Arc::clone(&self.threads));
        let place = FlowPlace { peers, threads, source, stay };
        Some(Flow { start, began: now, length: datagram.len(), early, place })
    }

    /// Whether there is none.
    pub(crate) fn is_empty(&self) -> bool {
        lock(&self.peers).is_empty()
    }

    /// Passes on a datagram that came to another socket than its flow's; whether it has a flow.
    pub(crate) fn pass(&self, datagram: &[u8], source: SocketAddr) -> bool {
        let seats = lock(&self.peers);
        let Some(seat) = seats.get(&source) else { return false };
        // One for which there is no room is lost, as in the kernel's queue.
        _ = seat.early.try_send(early_now(datagram));
        true
    }

    /// Receives the flow on a `socket` of its own.
    pub(crate) fn run(&self, flow: Flow, socket: UdpSocket) {
        let (server, log) = (self.server.clone(), Arc::clone(&self.log));
        let work = move || {
            if let Some(run) = FlowRun::new(flow, socket, &server) {
                run.serve(&*log);
            }
        };
        let thread = std::thread::Builder::new().name("session".to_owned());
        // Without a thread there is no flow; the client's next datagram is the next attempt.
        _ = thread.stack_size(linux::process::STACK_BYTES).spawn(work);
    }
}

/// A datagram that has just come to the listener.
fn early_now(datagram: &[u8]) -> EarlyDatagram {
    EarlyDatagram { payload: datagram.to_vec(), arrival: linux::clock::realtime() }
}

/// Makes room for a flow of that client, if need be at the cost of the one that has been silent for
/// longest, or else of one of the client that has most; none: nobody has more than this one would.
fn make_room(seats: &mut Seats, client: IpAddr, now: Timestamp) -> Option<()> {
    let of = ClientPrefix::containing;
    let client = of(client);
    let mut counts = HashMap::new();
    for peer in seats.keys() {
        *counts.entry(of(peer.ip())).or_insert(0) += 1;
    }
    let own = counts.get(&client).copied().unwrap_or(0);
    let is_full_of_one = own >= MOST_OF_ONE;
    if !is_full_of_one && seats.len() < MOST {
        return Some(());
    }
    let silent = seats.iter().filter(|(source, seat)| {
        let is_candidate = !is_full_of_one || of(source.ip()) == client;
        is_candidate && seat.stay.weakness(now).is_some()
    });
    let longest = |(source, seat): (&SocketAddr, &Seat)| (seat.stay.busy_until(), *source);
    let of_silent = silent.map(longest).min();
    let richest = || {
        let (richest, most) = counts.iter().max_by_key(|(_, count)| **count)?;
        let has_more = !is_full_of_one && *most > own + 1;
        let theirs = seats.iter().filter(|(source, _)| has_more && of(source.ip()) == *richest);
        theirs.map(longest).min()
    };
    let (_, source) = of_silent.or_else(richest)?;
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
        !lock(&self.peers).get(&self.source).is_some_and(|seat| self.is_of(seat))
    }

    fn is_of(&self, seat: &Seat) -> bool {
        Arc::ptr_eq(&seat.stay, &self.stay)
    }
}

impl Drop for FlowPlace {
    fn drop(&mut self) {
        self.threads.fetch_sub(1, Relaxed);
        let mut seats = lock(&self.peers);
        if seats.get(&self.source).is_some_and(|seat| self.is_of(seat)) {
            seats.remove(&self.source);
        }
    }
}

fn lock(peers: &Mutex<Seats>) -> MutexGuard<'_, Seats> {
    peers.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Flows at one time, of all clients and of one address.
const MOST: usize = 256;
const MOST_OF_ONE: usize = 64;
/// Threads of flows at one time, of those too that have not noticed yet that their places are taken.
const MOST_THREADS: usize = MOST + 64;
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
        assert_eq!(seats.len(), MOST);
        let now = start.after(PATIENCE_AT_FIRST);
        for seat in seats.values() {
            seat.stay.be_busy_until(now.after(PATIENCE));
        }
        let silent = SocketAddr::from(([10, 0, 0, 7], 2));
        seats[&silent].stay.be_busy_until(now);
        assert_eq!(make_room(&mut seats, stranger, now), Some(()));
        assert!(seats.len() == MOST - 1 && !seats.contains_key(&silent));
        assert_eq!(make_room(&mut seats, stranger, now), Some(()), "there is room");
        assert_eq!(seats.len(), MOST - 1);
    }

    #[test]
    fn a_client_with_many_flows_makes_room_for_itself() {
        let start = Timestamp::from_nanos(1);
        let mut seats = seats(2, 64, start);
        let now = start.after(PATIENCE);
        let client = IpAddr::from([10, 0, 0, 1]);
        assert_eq!(make_room(&mut seats, client, now), Some(()));
        let left = seats.keys().filter(|source| source.ip() == client).count();
        assert_eq!((left, seats.len()), (MOST_OF_ONE - 1, 127));
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
        assert_eq!(seats.len(), MOST);
        let stranger = IpAddr::from([192, 0, 2, 1]);
        let of = |seats: &Seats, ip: IpAddr| seats.keys().filter(|peer| peer.ip() == ip).count();
        for own in 0..8 {
            assert_eq!(make_room(&mut seats, stranger, start), Some(()), "{own}");
            let seat = Seat { early: sync_channel(0).0, stay: Arc::default() };
            seat.stay.be_busy_until(start.after(PATIENCE));
            seats.insert(SocketAddr::new(stranger, 1 + own), seat);
        }
        assert_eq!((of(&seats, [10, 0, 0, 99].into()), of(&seats, stranger)), (8, 8));
        assert_eq!(make_room(&mut seats, stranger, start), None, "nobody has more");
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
        assert_eq!(make_room(&mut seats, next, start), None);
        assert_eq!(make_room(&mut seats, IpAddr::from([10, 0, 0, 1]), start), Some(()));
    }
}
