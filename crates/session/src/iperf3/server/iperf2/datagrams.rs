//! UDP flows of iperf2 clients. They take no place of the server's tests, as a forged address could
//! take one; their number is bounded, and what is sent is never longer than what it answers.

use std::collections::HashMap;
use std::io::ErrorKind;
use std::net::{SocketAddr, UdpSocket};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use dataplane::Counters;
use measurement::outcome::{DatagramLedger, Ending, Throughput};
use measurement::plan::PlanDraft;
use measurement::{Direction, End, Peer, StreamCounters, Timestamp, Transport};
use portable_atomic::Ordering::Relaxed;
use protocol::iperf2::{Flow, FlowEvent};

use super::SOFTWARE;
use super::closing::{Over, UDP_BLOCK, stream};
use crate::iperf3::server::context::{ServerContext, canonical};
use crate::server::access::AccessList;
use crate::server::limits::Watch;
use crate::server::log::Log;

/// Flows by the addresses of their clients, each with the way for datagrams that came to the listener;
/// none: they are dropped.
type Peers = Arc<Mutex<Passing>>;
type Passing = HashMap<SocketAddr, Option<SyncSender<Vec<u8>>>>;

/// The UDP flows of a server.
pub(in super::super) struct Flows {
    peers: Peers,
    access: AccessList,
    is_open: bool,
    server: ServerContext,
    log: Arc<dyn Log>,
}

/// One flow's place among them, given up when dropped.
pub(in super::super) struct Place {
    peers: Peers,
    source: SocketAddr,
    early: Receiver<Vec<u8>>,
}

impl Flows {
    /// None yet. `has_key`: clients have to prove a key, which iperf2 cannot.
    pub(in super::super) fn new(
        server: &ServerContext,
        (access, has_key): (AccessList, bool),
        log: Arc<dyn Log>,
    ) -> Self {
        let is_open = !has_key && server.options.gate.is_none() && server.rates.is_unlimited();
        Self { peers: Arc::default(), access, is_open, server: server.clone(), log }
    }

    /// Begins a flow at its first datagram; none: it is none, or there is no place for it.
    pub(in super::super) fn begin(
        &self,
        datagram: &[u8],
        source: SocketAddr,
    ) -> Option<(Flow, Place)> {
        if !self.is_open || !self.access.admits(source.ip()) {
            return None;
        }
        let flow = Flow::begin(datagram, self.server.clock.now(), linux::clock::epoch())?;
        let mut peers = lock(&self.peers);
        let of_one = peers.keys().filter(|peer| peer.ip() == source.ip()).count();
        if peers.len() >= MOST || of_one >= MOST_OF_ONE {
            return None;
        }
        let (sender, early) = sync_channel(MOST_EARLY);
        peers.insert(source, Some(sender));
        Some((flow, Place { peers: Arc::clone(&self.peers), source, early }))
    }

    /// Passes on a datagram that came to another socket than its flow's; whether it has a flow.
    pub(in super::super) fn pass(&self, datagram: &[u8], source: SocketAddr) -> bool {
        let peers = lock(&self.peers);
        let Some(flow) = peers.get(&source) else { return false };
        if let Some(flow) = flow {
            // One for which there is no room is lost, as in the kernel's queue.
            _ = flow.try_send(datagram.to_vec());
        }
        true
    }

    /// Receives the flow on a `socket` of its own, whose `first` datagram has come already.
    pub(in super::super) fn run(
        &self,
        (flow, place): (Flow, Place),
        socket: UdpSocket,
        first: &[u8],
    ) {
        let (server, log, first) = (self.server.clone(), Arc::clone(&self.log), first.to_vec());
        let work = move || {
            let run = Run { flow, socket, place, server: &server };
            run.receive(&first, &*log);
        };
        let thread = std::thread::Builder::new().name("session".to_owned());
        // Without a thread there is no flow; the client's next datagram is the next attempt.
        _ = thread.stack_size(linux::process::STACK_BYTES).spawn(work);
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        lock(&self.peers).remove(&self.source);
    }
}

fn lock(peers: &Mutex<Passing>) -> MutexGuard<'_, Passing> {
    peers.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A flow that runs.
struct Run<'a> {
    flow: Flow,
    socket: UdpSocket,
    place: Place,
    server: &'a ServerContext,
}

impl Run<'_> {
    fn receive(mut self, first: &[u8], log: &dyn Log) {
        let source = canonical(self.place.source);
        let local_address = canonical(self.socket.local_addr().unwrap_or(source));
        let peer = Peer { software: SOFTWARE.to_owned(), address: source, local_address };
        let mut draft = PlanDraft::new(Transport::Udp, Direction::Send);
        draft.end = End::Open;
        let Ok(plan) = draft.check() else { return };
        let counters = Arc::new(Counters::default());
        let server = self.server;
        let presence = server.concurrent.enter(source.ip(), vec![Arc::clone(&counters)]);
        let status = server.status.enter(&peer, &plan);
        let began = server.clock.now();
        status.runs(began, None, vec![Arc::clone(&counters)]);
        server.metrics.running.fetch_add(1, Relaxed);
        let ending = self.count(first, &counters);
        let shared = presence.shared();
        drop((presence, status));
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
            streams: vec![stream(&peer, 1, Transport::Udp)],
            carried: Vec::new(),
            peer,
            plan,
            ending,
            refusal: None,
            delivered: Throughput::over(report.bytes, report.span),
            offered: None,
            datagrams: Some((ledger, report.jitter.as_secs_f64())),
            shared,
        };
        over.report(server, log);
        self.repeat();
    }

    /// Counts until the client ends the flow or is silent.
    fn count(&mut self, first: &[u8], counters: &Counters) -> Ending {
        if let Err(error) = linux::set_call_timeout(&self.socket, LOOK) {
            return Ending::Failed { error: error.to_string() };
        }
        let clock = &self.server.clock;
        let mut watch = Watch::new(&self.server.options.limits);
        let mut room = vec![0; usize::try_from(UDP_BLOCK).unwrap_or(usize::MAX)];
        let began = clock.now();
        self.take(first, began, counters);
        let mut is_group = self.is_group();
        if is_group {
            // What was under way then comes to the listener, to this socket, or to both.
            self.flow.ignore_repeated(true);
        }
        // Those that came before are in order if they are counted first.
        std::thread::sleep(if is_group { EARLY_OF_GROUP } else { EARLY });
        loop {
            while let Ok(early) = self.place.early.try_recv() {
                self.take(&early, clock.now(), counters);
            }
            if is_group && clock.now().since(began) > TOGETHER {
                is_group = false;
                lock(&self.place.peers).insert(self.place.source, None);
                while self.place.early.try_recv().is_ok() {}
                self.flow.ignore_repeated(false);
            }
            let now = match linux::message::receive_datagram(&self.socket, &mut room) {
                Ok(length) => {
                    let now = clock.now();
                    let length = length.min(room.len());
                    self.take(&room[..length], now, counters);
                    now
                }
                Err(error) if error.kind() == ErrorKind::WouldBlock => clock.now(),
                // Of an answer to a port that is closed.
                Err(_) => clock.now(),
            };
            if self.flow.has_ended() {
                return Ending::Completed;
            }
            if now.since(self.flow.last()) > SILENCE {
                return Ending::Failed { error: "the client did not end the flow".to_owned() };
            }
            if self.server.metrics.is_stopping() {
                return Ending::Interrupted;
            }
            let moved = || counters.bytes();
            if let Some(excess) = watch.excess(now, Duration::ZERO, moved) {
                self.server.metrics.refuse(excess.why);
                return Ending::Failed { error: excess.words };
            }
        }
    }

    fn take(&mut self, datagram: &[u8], now: Timestamp, counters: &Counters) {
        if let FlowEvent::Answer(answer) = self.flow.handle(datagram, now) {
            self.say(&answer);
            return;
        }
        let report = self.flow.report();
        let counted = StreamCounters {
            bytes: report.bytes,
            blocks: self.flow.received(),
            last: now,
            ..StreamCounters::default()
        };
        counters.publish(&counted);
    }

    /// Answers again while the client has not heard.
    fn repeat(&mut self) {
        let until = self.server.clock.now().after(LINGER);
        let mut room = [0; 2_048];
        while self.flow.has_ended() && self.server.clock.now() < until {
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
/// Datagrams of a flow that come before it has a socket, and how long they may take.
const MOST_EARLY: usize = 1_024;
const EARLY: Duration = Duration::from_millis(1);
const EARLY_OF_GROUP: Duration = Duration::from_millis(20);
/// For how long datagrams of a group are taken from the listener as well.
const TOGETHER: Duration = Duration::from_millis(300);
/// How often it is looked whether the flow may go on.
const LOOK: Duration = Duration::from_millis(100);
/// How long a client may send nothing.
const SILENCE: Duration = Duration::from_secs(10);
/// How long the end is answered again: ten times iperf2's wait.
const LINGER: Duration = Duration::from_millis(2_500);
