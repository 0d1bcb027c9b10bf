//! UDP flows of iperf2 clients. They take no place of the server's tests, as a forged address could
//! take one; their number is bounded, and what is sent is never longer than what it answers.

use std::collections::HashMap;
use std::io::ErrorKind;
use std::net::{IpAddr, SocketAddr, UdpSocket};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use dataplane::Counters;
use measurement::outcome::{DatagramLedger, Ending, Throughput};
use measurement::plan::PlanDraft;
use measurement::{Direction, End, Peer, StreamCounters, TestPlan, Timestamp, Transport};
use portable_atomic::{AtomicUsize, Ordering::Relaxed};
use protocol::iperf2::{Flow, FlowEvent};

use super::SOFTWARE;
use super::closing::{Over, UDP_BLOCK, stream};
use crate::iperf3::server::context::{ServerContext, canonical};
use crate::server::access::AccessList;
use crate::server::concurrent_tests::Presence;
use crate::server::limits::Watch;
use crate::server::log::Log;
use crate::server::metrics::Refusal;
use crate::server::status::StatusLine;
use crate::server::stay::Stay;

/// Flows by the addresses of their clients.
type Peers = Arc<Mutex<Seats>>;
type Seats = HashMap<SocketAddr, Seat>;

/// One flow as the acceptor knows it.
struct Seat {
    /// The way for datagrams that came to the listener; none: they are dropped.
    early: Option<SyncSender<Vec<u8>>>,
    stay: Arc<Stay>,
}

/// The UDP flows of a server.
pub(in super::super) struct Flows {
    peers: Peers,
    access: AccessList,
    is_open: bool,
    /// Threads of flows, of those too that have lost their places.
    threads: Arc<AtomicUsize>,
    server: ServerContext,
    log: Arc<dyn Log>,
}

/// One flow's place among them, given up when dropped.
pub(in super::super) struct FlowPlace {
    peers: Peers,
    threads: Arc<AtomicUsize>,
    source: SocketAddr,
    early: Receiver<Vec<u8>>,
    stay: Arc<Stay>,
}

impl Flows {
    /// None yet. `has_key`: clients have to prove a key, which iperf2 cannot.
    pub(in super::super) fn new(
        server: &ServerContext,
        (access, has_key): (AccessList, bool),
        log: Arc<dyn Log>,
    ) -> Self {
        let is_open = !has_key && server.options.gate.is_none() && server.rates.is_unlimited();
        let (peers, threads) = (Arc::default(), Arc::default());
        Self { peers, access, is_open, threads, server: server.clone(), log }
    }

    /// Begins a flow at its first datagram; none: it is none, or there is no place for it.
    pub(in super::super) fn begin(
        &self,
        datagram: &[u8],
        source: SocketAddr,
    ) -> Option<(Flow, FlowPlace)> {
        let has_thread = self.threads.load(Relaxed) < MOST_THREADS;
        if !self.is_open || !has_thread || !self.access.admits(source.ip()) {
            return None;
        }
        let now = self.server.clock.now();
        let flow = Flow::begin(datagram, now, linux::clock::epoch())?;
        let mut seats = lock(&self.peers);
        make_room(&mut seats, source.ip(), now)?;
        let (sender, early) = sync_channel(MOST_EARLY);
        let stay = Arc::<Stay>::default();
        stay.be_busy_until(now.after(PATIENCE_AT_FIRST));
        seats.insert(source, Seat { early: Some(sender), stay: Arc::clone(&stay) });
        drop(seats);
        self.threads.fetch_add(1, Relaxed);
        let (peers, threads) = (Arc::clone(&self.peers), Arc::clone(&self.threads));
        Some((flow, FlowPlace { peers, threads, source, early, stay }))
    }

    /// Whether there is none.
    pub(in super::super) fn is_empty(&self) -> bool {
        lock(&self.peers).is_empty()
    }

    /// Passes on a datagram that came to another socket than its flow's; whether it has a flow.
    pub(in super::super) fn pass(&self, datagram: &[u8], source: SocketAddr) -> bool {
        let seats = lock(&self.peers);
        let Some(seat) = seats.get(&source) else { return false };
        if let Some(early) = &seat.early {
            // One for which there is no room is lost, as in the kernel's queue.
            _ = early.try_send(datagram.to_vec());
        }
        true
    }

    /// Receives the flow on a `socket` of its own, whose `first` datagram has come already.
    pub(in super::super) fn run(
        &self,
        (flow, place): (Flow, FlowPlace),
        socket: UdpSocket,
        first: &[u8],
    ) {
        let (server, log, first) = (self.server.clone(), Arc::clone(&self.log), first.to_vec());
        let work = move || {
            if let Some(run) = FlowRun::new(flow, socket, place, &server) {
                run.receive(&first, &*log);
            }
        };
        let thread = std::thread::Builder::new().name("session".to_owned());
        // Without a thread there is no flow; the client's next datagram is the next attempt.
        _ = thread.stack_size(linux::process::STACK_BYTES).spawn(work);
    }
}

/// Makes room for a flow of that client, if need be at the cost of the one that has been silent for
/// longest; none: no other is silent.
fn make_room(seats: &mut Seats, client: IpAddr, now: Timestamp) -> Option<()> {
    let of_one = seats.keys().filter(|peer| peer.ip() == client).count();
    let is_full_of_one = of_one >= MOST_OF_ONE;
    if !is_full_of_one && seats.len() < MOST {
        return Some(());
    }
    let could_go = |(source, seat): (&SocketAddr, &Seat)| {
        let is_candidate = !is_full_of_one || source.ip() == client;
        (is_candidate && seat.stay.weakness(now).is_some())
            .then(|| (seat.stay.busy_until(), *source))
    };
    let (_, source) = seats.iter().filter_map(could_go).min()?;
    seats.remove(&source);
    Some(())
}

impl FlowPlace {
    /// Something came.
    fn hear(&self, now: Timestamp, datagrams: u64) {
        let is_proven = datagrams >= FIRST;
        if is_proven {
            self.stay.prove();
        }
        let patience = if is_proven { PATIENCE } else { PATIENCE_AT_FIRST };
        self.stay.be_busy_until(now.after(patience));
    }

    /// Another flow has taken it.
    fn is_taken(&self) -> bool {
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

/// A flow that runs.
struct FlowRun<'a> {
    flow: Flow,
    socket: UdpSocket,
    place: FlowPlace,
    server: &'a ServerContext,
    peer: Peer,
    plan: TestPlan,
    counters: Arc<Counters>,
    /// Its place among the tests that run; none: the address may be forged.
    known: Option<(Presence, StatusLine)>,
}

impl<'a> FlowRun<'a> {
    fn new(
        flow: Flow,
        socket: UdpSocket,
        place: FlowPlace,
        server: &'a ServerContext,
    ) -> Option<Self> {
        let source = canonical(place.source);
        let local_address = canonical(socket.local_addr().unwrap_or(source));
        let peer = Peer { software: SOFTWARE.to_owned(), address: source, local_address };
        let mut draft = PlanDraft::new(Transport::Udp, Direction::Send);
        draft.end = End::Open;
        let plan = draft.check().ok()?;
        let counters = Arc::default();
        Some(Self { flow, socket, place, server, peer, plan, counters, known: None })
    }

    /// Lets others know of it.
    fn introduce(&mut self) -> &(Presence, StatusLine) {
        let (server, counters) = (self.server, &self.counters);
        self.known.get_or_insert_with(|| {
            let ip = self.peer.address.ip();
            let presence = server.concurrent.enter(ip, vec![Arc::clone(counters)]);
            let status = server.status.enter(&self.peer, &self.plan);
            status.runs(server.clock.now(), None, vec![Arc::clone(counters)]);
            server.metrics.running.fetch_add(1, Relaxed);
            (presence, status)
        })
    }

    fn receive(mut self, first: &[u8], log: &dyn Log) {
        let ending = self.count(first);
        if self.known.is_none() && self.place.is_taken() {
            // A flood of such lines would hide the others in the log.
            return;
        }
        let shared = self.introduce().0.shared();
        self.known = None;
        let report = self.flow.report();
        let ledger = DatagramLedger {
            sent: report.datagrams,
            received: self.flow.received().min(report.datagrams),
            lost: report.lost,
            tail: None,
            unaccounted: None,
            reordered: Some(report.reordered),
            duplicate: None,
            late: None,
        };
        let over = Over {
            streams: vec![stream(&self.peer, 1, Transport::Udp)],
            carried: Vec::new(),
            peer: self.peer.clone(),
            plan: self.plan.clone(),
            ending,
            refusal: None,
            delivered: Throughput::over(report.bytes, report.span),
            offered: None,
            datagrams: Some((ledger, report.jitter.as_secs_f64())),
            shared,
        };
        over.report(self.server, log);
        self.repeat();
        let registry = Arc::clone(&self.server.registry);
        drop(self);
        registry.note_stream();
    }

    /// Counts until the client ends the flow or is silent.
    fn count(&mut self, first: &[u8]) -> Ending {
        if let Err(error) = linux::set_call_timeout(&self.socket, LOOK) {
            return Ending::Failed { error: error.to_string() };
        }
        let clock = &self.server.clock;
        let mut watch = Watch::new(&self.server.options.limits);
        let mut room = vec![0; usize::try_from(UDP_BLOCK).unwrap_or(usize::MAX)];
        let began = clock.now();
        let mut looked = began;
        self.take(first, began);
        let mut is_group = self.is_group();
        if is_group {
            // What was under way then comes to the listener, to this socket, or to both.
            self.flow.ignore_repeated(true);
        }
        // Those that came before are in order if they are counted first.
        std::thread::sleep(if is_group { EARLY_OF_GROUP } else { EARLY });
        loop {
            while let Ok(early) = self.place.early.try_recv() {
                self.take(&early, clock.now());
            }
            if is_group && clock.now().since(began) > TOGETHER {
                is_group = false;
                if let Some(seat) = lock(&self.place.peers).get_mut(&self.place.source) {
                    seat.early = None;
                }
                while self.place.early.try_recv().is_ok() {}
                self.flow.ignore_repeated(false);
            }
            let now = match linux::message::receive_datagram(&self.socket, &mut room) {
                Ok(length) => {
                    let now = clock.now();
                    let length = length.min(room.len());
                    self.take(&room[..length], now);
                    now
                }
                Err(error) if error.kind() == ErrorKind::WouldBlock => clock.now(),
                // Of an answer to a port that is closed.
                Err(_) => clock.now(),
            };
            if self.flow.has_ended() {
                return Ending::Completed;
            }
            if now.since(looked) >= LOOK {
                looked = now;
                if self.place.is_taken() {
                    self.server.metrics.refuse(Refusal::Displaced);
                    return Ending::Failed { error: Refusal::Displaced.to_string() };
                }
            }
            if let Some(ending) = self.must_end(&mut watch, began, now) {
                return ending;
            }
        }
    }

    /// Why the server ends it now, if it does.
    fn must_end(&self, watch: &mut Watch, began: Timestamp, now: Timestamp) -> Option<Ending> {
        if self.server.options.ends_after.is_some_and(|time| now.since(began) >= time) {
            return Some(Ending::Completed);
        }
        if now.since(self.flow.last()) > SILENCE {
            return Some(Ending::Failed { error: "the client did not end the flow".to_owned() });
        }
        if self.server.metrics.is_stopping() {
            return Some(Ending::Interrupted);
        }
        let excess = watch.excess(now, Duration::ZERO, || self.counters.bytes())?;
        self.server.metrics.refuse(excess.why);
        Some(Ending::Failed { error: excess.words })
    }

    fn take(&mut self, datagram: &[u8], now: Timestamp) {
        if let FlowEvent::Answer(answer) = self.flow.handle(datagram, now) {
            self.say(&answer);
            return;
        }
        self.place.hear(now, self.flow.received());
        let report = self.flow.report();
        let counted = StreamCounters {
            bytes: report.bytes,
            blocks: self.flow.received(),
            last: now,
            ..StreamCounters::default()
        };
        self.counters.publish(&counted);
        if self.known.is_none() && self.place.stay.is_proven() {
            self.introduce();
        }
    }

    /// Answers again while the client has not heard.
    fn repeat(&mut self) {
        let until = self.server.clock.now().after(LINGER);
        let mut room = [0; 2_048];
        while self.flow.has_ended() && self.server.clock.now() < until && !self.place.is_taken() {
            let Ok(length) = linux::message::receive_datagram(&self.socket, &mut room) else {
                continue;
            };
            let (now, length) = (self.server.clock.now(), length.min(room.len()));
            if let FlowEvent::Answer(answer) = self.flow.handle(&room[..length], now) {
                self.say(&answer);
            }
        }
    }

    /// Answers, unless the flow goes to a multicast group, of which each member would answer.
    fn say(&self, answer: &[u8]) {
        if !self.is_group() {
            // One that is lost is asked for again.
            _ = self.socket.send(answer);
        }
    }

    fn is_group(&self) -> bool {
        self.socket.local_addr().is_ok_and(|local| local.ip().is_multicast())
    }
}

/// Flows at one time, of all clients and of one address.
const MOST: usize = 256;
const MOST_OF_ONE: usize = 64;
/// Threads of flows at one time, of those too that have not noticed yet that their places are taken.
const MOST_THREADS: usize = MOST + 64;
/// Datagrams of a flow that come before it has a socket, and how long they may take.
const MOST_EARLY: usize = 1_024;
const EARLY: Duration = Duration::from_millis(1);
const EARLY_OF_GROUP: Duration = Duration::from_millis(20);
/// For how long datagrams of a group are taken from the listener as well.
const TOGETHER: Duration = Duration::from_millis(300);
/// How often it is looked whether the flow may go on.
const LOOK: Duration = Duration::from_millis(100);
/// How long a flow may be silent before another may have its place: of its first datagrams, which
/// may come in forged names, and later.
const PATIENCE_AT_FIRST: Duration = Duration::from_millis(250);
const PATIENCE: Duration = Duration::from_secs(1);
/// Datagrams of a flow that count as its first ones.
const FIRST: u64 = 16;
/// How long a client may send nothing.
const SILENCE: Duration = Duration::from_secs(10);
/// How long the end is answered again: ten times iperf2's wait.
const LINGER: Duration = Duration::from_millis(2_500);

#[cfg(test)]
mod tests {
    use super::*;

    /// Seats of so many flows of each of these hosts, all heard at the start.
    fn seats(hosts: u8, flows: u16, start: Timestamp) -> Seats {
        let each = (0..hosts).flat_map(|host| (0..flows).map(move |port| (host, port)));
        each.map(|(host, port)| {
            let seat = Seat { early: None, stay: Arc::default() };
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
        assert_eq!(make_room(&mut seats, stranger, start), None, "all were just heard");
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
}
