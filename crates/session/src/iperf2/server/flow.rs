//! One UDP flow of a client, on a thread of its own.

use std::net::UdpSocket;
use std::os::fd::AsFd;
use std::sync::Arc;
use std::sync::mpsc::Receiver;
use std::time::Duration;

use dataplane::udp::{EarlyDatagram, Iperf2Flow};
use linux::poll::{PollFd, wait};
use measurement::outcome::Ending;
use measurement::plan::PlanDraft;
use measurement::record::PeerStream;
use measurement::{
    ByteSize, Direction, End, Peer, StreamCounters, StreamOptions, TestPlan, Timestamp, Transport,
};
use portable_atomic::Ordering::Relaxed;
use protocol::iperf2::{FlowDatagram, FlowStart, ServerReport};
use protocol::iperf3::CounterWidth;

use super::places::FlowPlace;
use super::{SOFTWARE, failed};
use crate::measured::Side;
use crate::server::concurrent_tests::Presence;
use crate::server::context::{ServerContext, canonical};
use crate::server::limits::Watch;
use crate::server::log::{Log, Served};
use crate::server::metrics::Refusal;
use crate::server::status::StatusLine;
use crate::server::sums::Sums;
use crate::setting::{Amounts, FallbackPolicy, Iperf2Parts, Setting};
use crate::socket_options::prepare_udp;
use crate::sockets::{Opened, StreamSocket};
use crate::spec::{RunSpec, Sent};
use crate::trial::Trial;

/// A flow whose first datagram has come.
pub(crate) struct Flow {
    pub(super) start: FlowStart,
    pub(super) began: Timestamp,
    /// Bytes of the first datagram.
    pub(super) length: usize,
    /// Datagrams that came to the listener, the first one too.
    pub(super) early: Receiver<EarlyDatagram>,
    pub(super) place: FlowPlace,
}

/// A flow that runs.
pub(super) struct FlowRun<'a> {
    shared: Arc<Iperf2Flow>,
    began: Timestamp,
    socket: Arc<UdpSocket>,
    place: FlowPlace,
    server: &'a ServerContext,
    peer: Peer,
    spec: RunSpec,
    trial: Trial,
    watch: Watch,
    /// Its place among the tests that run; none: the address may be forged.
    known: Option<(Presence, StatusLine)>,
}

impl<'a> FlowRun<'a> {
    /// Puts the flow under a worker; none: there is no worker for it.
    pub(super) fn new(flow: Flow, socket: UdpSocket, server: &'a ServerContext) -> Option<Self> {
        let Flow { start, began, length, early, place } = flow;
        let source = canonical(place.source());
        let local_address = canonical(socket.local_addr().unwrap_or(source));
        let peer = Peer { software: SOFTWARE.to_owned(), address: source, local_address };
        let is_group = local_address.ip().is_multicast();
        // What is under way then comes to the listener, to this socket, or to both.
        let shared = Arc::new(Iperf2Flow::new(start, early, is_group.then_some(TOGETHER)));
        // Those that came before are in order if they are counted first.
        std::thread::sleep(if is_group { EARLY_OF_GROUP } else { EARLY });
        _ = prepare_udp(&socket, &StreamOptions::default(), source.ip());
        let opened = Opened { id: 1, sender: false, socket: StreamSocket::udp(socket) };
        let StreamSocket::Udp { socket } = &opened.socket else { return None };
        let socket = Arc::clone(socket);
        let block = ByteSize::from_bytes(length as u64);
        let spec = RunSpec { plan: plan()?, block, header: CounterWidth::Bits64.into() };
        let setting = setting(server, Arc::clone(&shared));
        let mut is_wanted = || !place.is_taken();
        let trial = Trial::prepare(spec.clone(), vec![opened], setting, &mut is_wanted).ok()?;
        let watch = Watch::new(&server.options.limits);
        let known = None;
        Some(Self { shared, began, socket, place, server, peer, spec, trial, watch, known })
    }

    /// Lets others know of it.
    fn introduce(&mut self) -> &(Presence, StatusLine) {
        let (server, trial) = (self.server, &self.trial);
        self.known.get_or_insert_with(|| {
            let presence = server.concurrent.enter(self.peer.address.ip(), trial.counters());
            let status = server.status.enter(&self.peer, &self.spec.plan);
            status.runs(server.clock.now(), None, trial.counters());
            server.metrics.running.fetch_add(1, Relaxed);
            (presence, status)
        })
    }

    /// Receives to the end, and reports the test.
    pub(super) fn serve(mut self, log: &dyn Log) {
        let clock = Arc::clone(&self.server.clock);
        self.trial.start_as_of(self.began, &*clock);
        let ending = self.receive();
        self.trial.end_sending(&*clock);
        let report = self.report();
        let end = self.shared.end().map_or(0, <[u8]>::len);
        let mut answers = Answers::new(self.counters().bytes.max(end as u64));
        answers.answer(&self.shared, &report, &self.socket);
        if self.known.is_none() && self.place.is_taken() {
            // A flood of such lines would hide the others in the log.
            return;
        }
        let shared = self.introduce().0.shared();
        self.known = None;
        let counters = self.counters();
        let all = Sent { id: 1, bytes: counters.bytes, datagrams: counters.unique };
        self.trial.finish(Some(&[all]), &*clock);
        let Self { socket, place, server, peer, spec, trial, shared: flow, .. } = self;
        let moved = trial.moved_each_way();
        let told = flow.end().map(|_| of_client(&report, counters));
        let told: Vec<_> = told.into_iter().collect();
        let sums = Sums::new(moved, trial.close_in_order(), &told);
        let over = Served { shared, ..Served::of((peer, spec.plan), ending, sums) };
        over.count(&server.metrics, true);
        log.ended(&over);
        let end = EndedFlow { flow, report, socket, answers };
        end.repeat(&place, server);
        drop(place);
        server.registry.note_stream();
    }

    /// Receives until the client ends the flow or is silent.
    fn receive(&mut self) -> Ending {
        let clock = Arc::clone(&self.server.clock);
        loop {
            self.trial.clear_progress();
            let now = clock.now();
            if let Some(ending) = self.ending(now) {
                return ending;
            }
            let mut watches: Vec<_> =
                self.trial.progress().into_iter().map(PollFd::readable).collect();
            if let Err(error) = wait(&mut watches, Some(LOOK)) {
                return failed(&crate::reason(&error));
            }
        }
    }

    /// How the flow ends now; none: it goes on.
    fn ending(&mut self, now: Timestamp) -> Option<Ending> {
        if self.shared.end().is_some() {
            return Some(Ending::Completed);
        }
        if let Some(error) = self.trial.stream_error() {
            return Some(failed(&crate::reason(&error)));
        }
        let counters = self.counters();
        let last = counters.last.max(self.began);
        if self.place.hear(last, counters.blocks) {
            self.introduce();
        }
        if self.place.is_taken() {
            self.server.metrics.refuse(Refusal::Displaced);
            return Some(failed(&Refusal::Displaced.to_string()));
        }
        if self.server.options.ends_after.is_some_and(|time| now.since(self.began) >= time) {
            return Some(Ending::Completed);
        }
        if now.since(last) > SILENCE {
            return Some(failed("the client did not end the flow"));
        }
        if self.server.metrics.is_stopping() {
            return Some(Ending::Interrupted);
        }
        let excess = self.watch.excess(now, Duration::ZERO, || self.trial.moved())?;
        self.server.metrics.refuse(excess.why);
        Some(Ending::Failed { error: excess.words })
    }

    fn counters(&self) -> StreamCounters {
        self.trial.counters().first().map(|counters| counters.read()).unwrap_or_default()
    }

    /// What the client hears of what has come.
    fn report(&self) -> ServerReport {
        let counters = self.counters();
        let last = match self.shared.end().map(|end| self.shared.start().read(end)) {
            Some(FlowDatagram::End { last, .. }) => last,
            _ => 0,
        };
        // A client that claims more than could have come so soon is not believed.
        let is_credible = last <= counters.sequence.saturating_add(MOST_LOST_AT_END);
        let datagrams = counters.sequence.max(if is_credible { last } else { 0 });
        ServerReport {
            bytes: counters.bytes,
            span: counters.last.since(self.began),
            lost: datagrams.saturating_sub(counters.unique),
            reordered: counters.reordered + counters.late,
            datagrams,
            jitter: Duration::from_nanos(counters.jitter_nanos),
            transit: self.shared.transit(),
        }
    }
}

/// A flow that is over.
struct EndedFlow {
    flow: Arc<Iperf2Flow>,
    report: ServerReport,
    socket: Arc<UdpSocket>,
    answers: Answers,
}

/// What an address, which may be forged, was sent of what it may be sent: no more bytes than came.
struct Answers {
    left: u64,
    count: u32,
}

impl Answers {
    /// None, to who has sent so many bytes.
    const fn new(came: u64) -> Self {
        Self { left: came, count: 0 }
    }

    /// Answers the end of a flow, unless it goes to a multicast group, of which each member would
    /// answer.
    fn answer(&mut self, flow: &Iperf2Flow, report: &ServerReport, socket: &UdpSocket) {
        let most = usize::try_from(self.left).unwrap_or(usize::MAX);
        let is_group = socket.local_addr().is_ok_and(|local| local.ip().is_multicast());
        if flow.end().is_none() || is_group || self.count >= MOST_ANSWERS {
            return;
        }
        if let Some(answer) = flow.start().answer(report, most) {
            self.count += 1;
            self.left = self.left.saturating_sub(answer.len() as u64);
            // One that is lost is asked for again.
            _ = socket.send(&answer);
        }
    }
}

impl EndedFlow {
    /// Answers again while the client has not heard.
    fn repeat(mut self, place: &FlowPlace, server: &ServerContext) {
        let clock = &*server.clock;
        let until = clock.now().after(LINGER);
        let mut room = vec![0; MOST_REPEATED];
        while self.flow.end().is_some() && self.answers.count < MOST_ANSWERS && !place.is_taken() {
            let left = until.since(clock.now());
            let has_waited =
                wait(&mut [PollFd::readable(self.socket.as_fd())], Some(left.min(LOOK)));
            if left.is_zero() || has_waited.is_err() {
                return;
            }
            let Ok(length) = linux::message::receive_datagram(&self.socket, &mut room) else {
                continue;
            };
            let datagram = &room[..length.min(MOST_REPEATED)];
            self.answers.left += datagram.len() as u64;
            if matches!(self.flow.start().read(datagram), FlowDatagram::End { .. }) {
                self.answers.answer(&self.flow, &self.report, &self.socket);
            }
        }
    }
}

/// What the client said of its flow, which had datagrams of one length.
fn of_client(report: &ServerReport, counters: StreamCounters) -> PeerStream {
    let each = counters.bytes.checked_div(counters.blocks).unwrap_or(0);
    let bytes = report.datagrams.saturating_mul(each);
    PeerStream { id: 1, bytes, datagrams: report.datagrams, ..PeerStream::default() }
}

fn plan() -> Option<TestPlan> {
    let mut draft = PlanDraft::new(Transport::Udp, Direction::Send);
    draft.end = End::Open;
    draft.check().ok()
}

fn setting(server: &ServerContext, flow: Arc<Iperf2Flow>) -> Setting {
    Setting {
        side: Side::Server,
        pinned: server.options.cpus.clone(),
        rtt: Duration::ZERO,
        amounts: Amounts::Any,
        fallback: FallbackPolicy::Substitute,
        watched: false,
        file: None,
        calls: None,
        iperf2: Iperf2Parts { flow: Some(flow), ..Iperf2Parts::default() },
        sampled: None,
        perf: None,
    }
}

/// How long datagrams of a flow may take that come before it has a socket.
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
/// A client sends the end of its flow up to ten times (clause 4.5 of docs/protocol/iperf2.md).
const MOST_ANSWERS: u32 = 10;
/// Bytes of a datagram that are read then.
const MOST_REPEATED: usize = 2_048;
/// Datagrams that may have been lost between the last that came and the end.
const MOST_LOST_AT_END: u64 = 1 << 32;
