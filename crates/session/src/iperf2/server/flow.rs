//! One UDP flow of a client, on a thread of its own: what comes, and what the client is sent if it asks
//! for that and its address is proved.

use std::io::ErrorKind;
use std::net::UdpSocket;
use std::sync::Arc;
use std::sync::mpsc::Receiver;
use std::time::Duration;

use dataplane::udp::{EarlyDatagram, Iperf2Flow};
use linux::poll::{PollFd, wait};
use measurement::outcome::Ending;
use measurement::record::PeerStream;
use measurement::{Direction, Peer, StreamCounters, StreamOptions, TestPlan, Timestamp, Transport};
use portable_atomic::Ordering::Relaxed;
use protocol::iperf2::{Asks, Back, BackWay, FlowDatagram, FlowStart, ServerReport, Settings};

use super::answers::Answers;
use super::places::FlowPlace;
use super::{SOFTWARE, asked, failed};
use crate::iperf2::udp_end::{self, Answer};
use crate::server::concurrent_tests::Presence;
use crate::server::context::{ServerContext, canonical};
use crate::server::log::{Log, Served};
use crate::server::metrics::Refusal;
use crate::server::status::StatusLine;
use crate::server::sums::Sums;
use crate::socket_options::prepare_udp;
use crate::spec::Sent;

mod part;

use part::Part;

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
    /// Bytes of a datagram.
    length: usize,
    socket: Arc<UdpSocket>,
    place: FlowPlace,
    server: &'a ServerContext,
    peer: Peer,
    plan: TestPlan,
    /// What the client is sent.
    back: Option<Back>,
    /// Why it is not sent what it asks for.
    denied: Option<Refusal>,
    /// Whether it was told the end of what it is sent.
    has_told_end: bool,
    /// What it hears of what has come.
    answers: Option<Answers>,
    /// What it has reported.
    reports: Vec<PeerStream>,
    sums: Sums,
    /// Its place among the tests that run; none: the address may be forged.
    known: Option<(Presence, StatusLine)>,
}

impl<'a> FlowRun<'a> {
    /// The flow that comes to `socket`; none: there can be no such test.
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
        let (back, denied) = match granted(&start, &peer, server) {
            Ok(back) => (back, None),
            Err(why) => (None, Some(why)),
        };
        let asks = back.map_or(Asks::Nothing, Asks::Back);
        let plan = asked::plan(Transport::Udp, &Settings { connections: 1, asks }).ok()?;
        let told = back.and_then(|back| usize::try_from(back.length?).ok());
        Some(Self {
            shared,
            began,
            length: told.unwrap_or(length).clamp(LEAST, MOST),
            socket: Arc::new(socket),
            place,
            server,
            peer,
            plan,
            back,
            denied,
            has_told_end: false,
            answers: None,
            reports: Vec::new(),
            sums: Sums::default(),
            known: None,
        })
    }

    /// Lets others know of it.
    fn introduce(&mut self, part: &Part) {
        let (server, counters) = (self.server, part.trial.counters());
        self.known.get_or_insert_with(|| {
            let presence = server.concurrent.enter(self.peer.address.ip(), counters.clone());
            let status = server.status.enter(&self.peer, &self.plan);
            status.runs(server.clock.now(), part.trial.time_is_up_at(), counters);
            server.metrics.running.fetch_add(1, Relaxed);
            (presence, status)
        });
    }

    /// Runs the test to its end, and reports it.
    pub(super) fn serve(mut self, log: &dyn Log) {
        let way = self.back.map(|back| back.way);
        let is_later = matches!(way, Some(BackWay::Connect { at_once: false, .. }));
        let direction = if is_later { Direction::Send } else { self.plan.direction };
        let Ok(part) = self.open(direction) else { return };
        let Some(mut ending) = self.carry(part) else { return };
        if is_later && ending == Ending::Completed {
            self.repeat(BEFORE_LATER);
            ending = match self.open(Direction::Receive) {
                Ok(part) => self.carry(part).unwrap_or(Ending::Completed),
                Err(error) => failed(&error.to_string()),
            };
        }
        if let Some(why) = self.denied {
            self.server.metrics.refuse(why);
            ending = failed(&why.to_string());
        }
        let shared = self.known.take().map(|(presence, _)| presence.shared()).unwrap_or_default();
        let (test, sums) = ((self.peer.clone(), self.plan.clone()), std::mem::take(&mut self.sums));
        let over = Served { shared, refusal: self.denied, ..Served::of(test, ending, sums) };
        over.count(&self.server.metrics, true);
        log.ended(&over);
        self.repeat(LINGER);
        drop(self.place);
        self.server.registry.note_stream();
    }

    /// Moves what is to be moved at one time, and adds it up. Returns how it ended; none: nobody is
    /// there, and a flood of such lines would hide the others in the log.
    fn carry(&mut self, mut part: Part) -> Option<Ending> {
        let clock = Arc::clone(&self.server.clock);
        if part.trial.sends() {
            part.trial.start(&*clock);
        } else {
            part.trial.start_as_of(self.began, &*clock);
        }
        let ending = self.mind(&mut part);
        part.trial.end_sending(&*clock);
        self.answer(&part);
        if ending != Ending::Interrupted {
            self.tell_end(&part);
        }
        if self.known.is_none() && self.place.is_taken() {
            return None;
        }
        self.introduce(&part);
        let counters = part.counters();
        let all = Sent { id: 1, bytes: counters.bytes, datagrams: counters.unique };
        part.trial.finish(Some(&[all]), &*clock);
        let told = self.answers.as_ref().map(|answers| of_client(answers.report(), counters));
        let told: Vec<_> = self.reports.drain(..).chain(told).collect();
        let moved = part.trial.moved_each_way();
        self.sums.add(Sums::new(moved, part.trial.close_in_order(), &told));
        Some(ending)
    }

    /// Waits until all has moved, or nothing moves any more.
    fn mind(&mut self, part: &mut Part) -> Ending {
        let clock = Arc::clone(&self.server.clock);
        loop {
            part.trial.clear_progress();
            let now = clock.now();
            if let Some(ending) = self.ending(part, now) {
                return ending;
            }
            let sending_ends = part.trial.time_is_up_at().filter(|end| *end > now);
            let pause = sending_ends.map_or(LOOK, |end| end.since(now).min(LOOK));
            let mut watches: Vec<_> =
                part.trial.progress().into_iter().map(PollFd::readable).collect();
            if let Err(error) = wait(&mut watches, Some(pause)) {
                return failed(&crate::reason(&error));
            }
        }
    }

    /// How the flow ends now; none: it goes on.
    fn ending(&mut self, part: &mut Part, now: Timestamp) -> Option<Ending> {
        if let Some(error) = part.trial.stream_error() {
            let is_gone = error.kind() == ErrorKind::ConnectionRefused;
            return Some(if is_gone {
                Ending::Interrupted
            } else {
                failed(&crate::reason(&error))
            });
        }
        self.answer(part);
        let has_all = part.trial.has_received_all();
        if part.trial.has_sent_all(now) {
            if has_all {
                return Some(Ending::Completed);
            }
            part.end_sending(&*self.server.clock);
            if self.shared.start().is_full_duplex() {
                self.tell_end(part);
            }
        }
        let blocks = if self.back.is_some() { u64::MAX } else { part.counters().blocks };
        if self.place.hear(part.trial.moved_last().unwrap_or(now), blocks) {
            self.introduce(part);
        }
        if self.place.is_taken() {
            self.server.metrics.refuse(Refusal::Displaced);
            return Some(failed(&Refusal::Displaced.to_string()));
        }
        let began = part.trial.began().unwrap_or(now);
        let is_longest = part.trial.sends() && now.since(began) >= LONGEST;
        let limit = self.server.options.ends_after;
        if is_longest || limit.is_some_and(|time| now.since(self.began) >= time) {
            return Some(Ending::Completed);
        }
        if !has_all && part.trial.received_nothing_for(now) > SILENCE {
            return Some(failed("the client did not end the flow"));
        }
        if self.server.metrics.is_stopping() {
            return Some(Ending::Interrupted);
        }
        let excess = part.watch.excess(now, Duration::ZERO, || part.trial.moved())?;
        self.server.metrics.refuse(excess.why);
        Some(Ending::Failed { error: excess.words })
    }

    /// Answers the end of the flow when it has come.
    fn answer(&mut self, part: &Part) {
        let end = self.shared.end().filter(|_| self.answers.is_none());
        if let Some(end) = end.filter(|_| part.trial.has_received_all()) {
            let came = part.counters().bytes.max(end.len() as u64);
            let mut answers = Answers::new(self.report(part.counters(), end), came);
            answers.answer(&self.shared, &self.socket);
            self.answers = Some(answers);
        }
    }

    /// Answers it again while the client has not heard.
    fn repeat(&mut self, time: Duration) {
        let is_silent = self.shared.start().is_full_duplex();
        if let Some(answers) = self.answers.as_mut().filter(|_| !is_silent) {
            let clock = &*self.server.clock;
            answers.repeat((&self.shared, &self.socket), &self.place, (time, clock));
        }
    }

    /// Ends what the client is sent.
    fn tell_end(&mut self, part: &Part) {
        if !part.trial.sends() || std::mem::replace(&mut self.has_told_end, true) {
            return;
        }
        let answer = match self.back.map(|back| back.way) {
            Some(BackWay::Connect { .. }) => Answer::Awaited,
            _ => Answer::None(ENDS),
        };
        let (spec, clock) = (&part.spec, &*self.server.clock);
        let sent = part.trial.sent();
        let told = (spec.header, spec.block);
        self.reports = udp_end::end(&part.opened, &sent, told, (answer, clock));
    }

    /// What the client hears of what has come.
    fn report(&self, counters: StreamCounters, end: &[u8]) -> ServerReport {
        let last = match self.shared.start().read(end) {
            FlowDatagram::End { last, .. } => last,
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

/// What the client is sent of what it asks for; none: it asks for nothing.
///
/// # Errors
/// Why it is not sent that.
fn granted(
    start: &FlowStart,
    peer: &Peer,
    server: &ServerContext,
) -> Result<Option<Back>, Refusal> {
    // Each member of a multicast group would send.
    let is_group = peer.local_address.ip().is_multicast();
    match start.asks().0 {
        Asks::Back(back) if !is_group => {
            let connects = matches!(back.way, BackWay::Connect { .. });
            if connects && !server.options.connects_back {
                return Err(Refusal::ConnectBack);
            }
            let is_proved = server.proved.holds(peer.address.ip(), server.clock.now());
            is_proved.then_some(Some(back)).ok_or(Refusal::Unproved)
        }
        _ => Ok(None),
    }
}

/// What the client said of its flow, which had datagrams of one length.
fn of_client(report: &ServerReport, counters: StreamCounters) -> PeerStream {
    let each = counters.bytes.checked_div(counters.blocks).unwrap_or(0);
    let bytes = report.datagrams.saturating_mul(each);
    PeerStream { id: 1, bytes, datagrams: report.datagrams, ..PeerStream::default() }
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
/// How long a client is sent something, whatever it asks for.
const LONGEST: Duration = Duration::from_secs(3_600);
/// Datagrams that end what is sent, if nobody answers: a client waits for one.
const ENDS: usize = 3;
/// How long the end is answered again: ten times iperf2's wait.
const LINGER: Duration = Duration::from_millis(2_500);
/// Likewise before the client is sent something: a little more than once.
const BEFORE_LATER: Duration = Duration::from_millis(300);
/// Datagrams that may have been lost between the last that came and the end.
const MOST_LOST_AT_END: u64 = 1 << 32;
/// Bytes of the shortest and of the longest datagram (RFC 768, RFC 791) with a header.
const LEAST: usize = 16;
const MOST: usize = 65_507;
