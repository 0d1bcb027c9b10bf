//! The TCP connections of one iperf2 client that belong together (`-P`): one test.

use std::io::ErrorKind;
use std::net::TcpStream;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use dataplane::Counters;
use measurement::outcome::{Ending, Throughput};
use measurement::plan::PlanDraft;
use measurement::{Direction, End, Peer, StreamCounters, TestPlan, Timestamp, Transport};
use portable_atomic::Ordering::Relaxed;

use super::SOFTWARE;
use super::closing::{Over, TCP_BLOCK, stream};
use crate::iperf3::server::context::ServerContext;
use crate::iperf3::server::registry::{Ticket, Verdict};
use crate::server::concurrent_tests::Presence;
use crate::server::limits::{Excess, RateLimit, Watch};
use crate::server::log::Log;
use crate::server::metrics::Refusal;
use crate::server::rates::Grant;
use crate::server::status::StatusLine;

/// The connections of one client that belong together. The last one that ends reports the test.
pub(in super::super) struct Group {
    peer: Peer,
    plan: TestPlan,
    counters: Vec<Arc<Counters>>,
    began: Timestamp,
    shared: Mutex<Shared>,
}

/// What the connections have in common.
struct Shared {
    ticket: Ticket,
    watch: Watch,
    grant: Option<Grant>,
    status: StatusLine,
    presence: Presence,
    joined: u32,
    /// Whether it is counted among the tests that run.
    is_counted: bool,
    last: Timestamp,
    ending: Ending,
    refusal: Option<Refusal>,
}

impl Group {
    /// A test of `connections` that come from `peer`.
    ///
    /// # Errors
    /// Why there is none.
    pub(in super::super) fn new(
        peer: (std::net::SocketAddr, std::net::SocketAddr),
        connections: u32,
        ticket: Ticket,
        server: &ServerContext,
    ) -> Result<Self, Refusal> {
        let (address, local_address) = peer;
        let peer = Peer { software: SOFTWARE.to_owned(), address, local_address };
        let mut limits = server.options.limits;
        if limits.streams.is_some_and(|most| connections > most) {
            return Err(Refusal::Streams);
        }
        let wanted = limits.rate.map(|limit| limit.most);
        let grant = server.rates.grant(address.ip(), wanted).map_err(|_| Refusal::TotalRate)?;
        if let Some(grant) = &grant {
            let window = limits.rate.map_or(WINDOW, |limit| limit.window);
            limits.rate = Some(RateLimit { most: grant.rate(), window });
        }
        let mut draft = PlanDraft::new(Transport::Tcp, Direction::Send);
        (draft.streams, draft.end) = (connections, End::Open);
        let plan = draft.check().map_err(|_| Refusal::Parameters)?;
        let counters: Vec<_> = (0..connections).map(|_| Arc::default()).collect();
        let status = server.status.enter(&peer, &plan);
        let began = server.clock.now();
        status.runs(began, None, counters.clone());
        ticket.begin();
        let shared = Shared {
            ticket,
            watch: Watch::new(&limits),
            grant,
            status,
            presence: server.concurrent.enter(address.ip(), counters.clone()),
            joined: 0,
            is_counted: false,
            last: began,
            ending: Ending::Completed,
            refusal: None,
        };
        Ok(Self { peer, plan, counters, began, shared: Mutex::new(shared) })
    }

    /// Takes the place of one more connection from that address; none: there is none.
    pub(in super::super) fn join(
        &self,
        from: std::net::IpAddr,
        connections: u32,
        now: Timestamp,
    ) -> Option<u32> {
        let is_same = self.peer.address.ip() == from && self.plan.streams == connections;
        let mut shared = self.lock();
        let has_room = shared.joined < connections && now.since(self.began) < TOGETHER;
        (is_same && has_room).then(|| {
            shared.joined += 1;
            shared.joined - 1
        })
    }

    /// Receives on connection `index` until its end, `first` bytes of which have been read.
    pub(in super::super) fn receive(
        self: Arc<Self>,
        (socket, index, first): (TcpStream, u32, u64),
        server: &ServerContext,
        log: &dyn Log,
    ) {
        if !std::mem::replace(&mut self.lock().is_counted, true) {
            server.metrics.running.fetch_add(1, Relaxed);
        }
        let ending = self.read(&socket, index, first, server);
        drop(socket);
        let mut shared = self.lock();
        shared.last = shared.last.max(server.clock.now());
        if shared.ending == Ending::Completed {
            shared.ending = ending;
        }
        drop(shared);
        if let Some(group) = Arc::into_inner(self) {
            group.close(server, log);
        }
    }

    fn read(&self, socket: &TcpStream, index: u32, first: u64, server: &ServerContext) -> Ending {
        let (clock, counters) = (&server.clock, &self.counters[index as usize]);
        let mut now = clock.now();
        let mut counted = StreamCounters { bytes: first, last: now, ..StreamCounters::default() };
        if let Err(error) = linux::set_call_timeout(socket, LOOK) {
            return Ending::Failed { error: error.to_string() };
        }
        let mut room = vec![0; usize::try_from(TCP_BLOCK).unwrap_or(usize::MAX)];
        let mut looked = now;
        loop {
            counters.publish(&counted);
            if now.since(looked) >= LOOK {
                looked = now;
                if let Some(ending) = self.must_end(now) {
                    return ending;
                }
            }
            match linux::message::receive(socket, &mut room) {
                Ok(0) => return Ending::Completed,
                Ok(length) => {
                    now = clock.now();
                    counted.bytes += length as u64;
                    counted.blocks += 1;
                    counted.last = now;
                }
                Err(error)
                    if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) =>
                {
                    now = clock.now();
                    if now.since(counted.last) > server.options.receive_timeout {
                        return Ending::Failed {
                            error: "nothing was received for long".to_owned(),
                        };
                    }
                }
                Err(error) if error.kind() == ErrorKind::ConnectionReset => {
                    return Ending::Interrupted;
                }
                Err(error) => return Ending::Failed { error: error.to_string() },
            }
        }
    }

    /// Why the server ends it now, if it does.
    fn must_end(&self, now: Timestamp) -> Option<Ending> {
        let mut shared = self.lock();
        if shared.ticket.is_stopping() {
            return Some(Ending::Failed { error: Refusal::Stopping.to_string() });
        }
        let by_others = shared.ticket.verdict().map(|verdict| match verdict {
            Verdict::Displaced(_) => Excess::left(Refusal::Displaced),
            Verdict::Short(why) => Excess::left(why),
        });
        let moved = || self.counters.iter().map(|counters| counters.bytes()).sum();
        let excess = by_others.or_else(|| shared.watch.excess(now, Duration::ZERO, moved))?;
        shared.refusal = Some(excess.why);
        Some(Ending::Failed { error: excess.words })
    }

    fn close(self, server: &ServerContext, log: &dyn Log) {
        let shared = self.shared.into_inner().unwrap_or_else(PoisonError::into_inner);
        let Shared { ticket, presence, last, ending, refusal, joined, grant, status, .. } = shared;
        let bytes = self.counters.iter().map(|counters| counters.bytes()).sum();
        let streams = (1..=joined).map(|id| stream(&self.peer, id, Transport::Tcp)).collect();
        if let Some(why) = refusal {
            server.metrics.refuse(why);
        }
        let neighbours = presence.shared();
        // Whoever reads the log's line may have the place.
        drop((presence, grant, status, ticket));
        let over = Over {
            peer: self.peer,
            plan: self.plan,
            ending,
            refusal,
            delivered: Throughput::over(bytes, last.since(self.began)),
            datagrams: None,
            streams,
            shared: neighbours,
        };
        over.report(server, log);
    }

    fn lock(&self) -> MutexGuard<'_, Shared> {
        self.shared.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// How often it is looked whether the test may go on.
const LOOK: Duration = Duration::from_millis(100);
/// Within which the connections of one test come.
const TOGETHER: Duration = Duration::from_secs(5);
/// Over which the rate of a test is averaged.
const WINDOW: Duration = Duration::from_secs(5);
