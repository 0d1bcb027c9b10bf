//! Payload moves until it is time, all has moved, a signal comes, or nothing moves any more.

use std::net::SocketAddr;
use std::os::fd::AsFd;
use std::sync::Arc;
use std::sync::mpsc::channel;
use std::time::Duration;

use dataplane::udp::{DatagramHeader, Iperf2Flow};
use linux::event::StopSignals;
use linux::poll::{PollFd, wait};
use measurement::outcome::Ending;
use measurement::plan::PlanDraft;
use measurement::record::PeerStream;
use measurement::{ByteSize, Direction, End, Peer, TestPlan, Timestamp, Transport};
use protocol::iperf2::{Bounce, ClientHeader, FlowStart, WriteMarks};

use super::header::header;
use super::{Around, tcp_end};
use crate::blocks::DEFAULT_BLOCK;
use crate::error::SessionError;
use crate::host_sampler::Interest;
use crate::iperf2::udp_end::{self, Answer};
use crate::measured::{Measured, Side};
use crate::preflight::has_few_files;
use crate::request::Watching;
use crate::setting::{Amounts, FallbackPolicy, Iperf2Parts, Setting};
use crate::sockets::{Opened, StreamSocket};
use crate::spec::RunSpec;
use crate::trial::Trial;

/// A test whose streams are open.
pub(super) struct Running {
    trial: Trial,
    streams: Vec<Opened>,
    server: SocketAddr,
    header: DatagramHeader,
    block: ByteSize,
    /// When the server was asked for datagrams, and how often.
    asked: (Timestamp, u32),
}

/// A test that began and is over.
pub(super) struct Ended {
    pub(super) measured: Measured,
    /// What the server reported of each flow that it did report.
    pub(super) reports: Vec<PeerStream>,
    pub(super) ending: Ending,
}

impl Running {
    /// Puts the streams under workers.
    ///
    /// # Errors
    /// As for [`Trial::prepare`].
    pub(super) fn prepare(
        around: &mut Around<'_>,
        streams: Vec<Opened>,
        (server, rtt): (SocketAddr, Duration),
    ) -> Result<Self, SessionError> {
        let request = around.request;
        let told = header(request, around.options);
        let block = block(&request.plan, server, told.least_datagram());
        let header = datagrams(&told);
        let spec = RunSpec { plan: own_part(&request.plan, told.opening().len()), block, header };
        let is_sampled = request.options.watching == Watching::Hosts && !has_few_files();
        let setting = Setting {
            side: Side::Client,
            pinned: request.cpus.clone(),
            rtt,
            amounts: Amounts::OfEach,
            fallback: FallbackPolicy::Fail,
            watched: true,
            file: None,
            calls: None,
            iperf2: Iperf2Parts {
                flows: flows(&request.plan),
                marks: WriteMarks::of(&told),
                message: message(&request.plan, around.options.hold),
                ..Iperf2Parts::default()
            },
            sampled: is_sampled.then_some(Interest::Towards(server.ip())),
            perf: None,
        };
        let interrupts = around.interrupts;
        let mut is_wanted = || !interrupts.is_some_and(StopSignals::arrived);
        let trial = Trial::prepare(spec, streams.clone(), setting, &mut is_wanted)?;
        around.observer.opened(trial.streams());
        Ok(Self { trial, streams, server, header, block, asked: Default::default() })
    }

    pub(super) fn start(&mut self, around: &mut Around<'_>, peer: &Peer) {
        self.trial.start(&*around.clock);
        around.observer.started(peer, &around.request.plan);
    }

    /// Runs the test to its end, and ends its connections or flows.
    pub(super) fn finish(mut self, around: &mut Around<'_>) -> Ended {
        let ending = self.run(around);
        let plan = &around.request.plan;
        let is_tcp = plan.transport == Transport::Tcp;
        let mut reports = Vec::new();
        if !is_tcp {
            let is_plain = plan.direction == Direction::Send;
            let answer = if is_plain { Answer::Awaited } else { Answer::None(1) };
            let (sent, told) = (self.trial.sent(), (self.header, self.block));
            reports = udp_end::end(&self.streams, &sent, told, (answer, &*around.clock));
        }
        self.trial.finish(None, &*around.clock);
        around.observer.sampled(&self.trial.course());
        if is_tcp {
            tcp_end::end(&self.streams, around);
        }
        let measured = self.trial.close_in_order();
        let ending = match (ending, &measured.stream_error) {
            (Ok(Ending::Completed), Some(error)) => Ending::Failed { error: error.clone() },
            (Ok(ending), _) => ending,
            (Err(error), _) => Ending::Failed { error: error.to_string() },
        };
        Ended { measured, reports, ending }
    }

    fn run(&mut self, around: &mut Around<'_>) -> Result<Ending, SessionError> {
        loop {
            let now = around.clock.now();
            if self.trial.tick(now) {
                around.observer.sampled(&self.trial.course());
            }
            self.trial.clear_progress();
            self.ask(now, around);
            if let Some(ending) = self.ending(now, around)? {
                self.trial.stop(&*around.clock);
                return Ok(ending);
            }
            self.wait(around)?;
        }
    }

    /// Asks for what the server alone sends over flows, by a datagram on each, until something comes.
    fn ask(&mut self, now: Timestamp, around: &Around<'_>) {
        let (plan, (last, times)) = (&around.request.plan, self.asked);
        let is_asked = plan.transport == Transport::Udp && plan.direction == Direction::Receive;
        let is_due = times == 0 || now >= last.after(ASKING);
        if !is_asked || !is_due || times >= MOST_ASKED || self.trial.moved() > 0 {
            return;
        }
        let mut datagram = vec![0; usize::try_from(self.block.bytes()).unwrap_or_default()];
        self.header.write(now, 1, &mut datagram);
        for one in &self.streams {
            if let StreamSocket::Udp { socket } = &one.socket {
                // One that is lost is sent again.
                _ = socket.send(&datagram);
            }
        }
        self.asked = (now, times + 1);
    }

    /// How the test ends now; none: it goes on.
    fn ending(&self, now: Timestamp, around: &Around<'_>) -> Result<Option<Ending>, SessionError> {
        let trial = &self.trial;
        let patience = around.request.options.receive_timeout;
        if around.is_interrupted() {
            return Ok(Some(Ending::Interrupted));
        }
        if trial.received_nothing_for(now) > patience {
            return Err(SessionError::NothingReceived { peer: self.server, patience });
        }
        let end = self.time_is_up_at(around);
        let is_unanswered = end.is_some_and(|end| self.awaits_responses(now, end, around));
        let time_is_up = end.is_some_and(|end| now >= end);
        let failed =
            |why| Ending::Failed { error: format!("the test with {} failed: {why}", self.server) };
        if trial.is_left() && !time_is_up {
            return Ok(Some(failed("the server has closed the connection")));
        }
        // The sender of what this end receives ends its connections.
        let time_is_up = time_is_up && !is_unanswered;
        if time_is_up || trial.has_moved_all(now) || trial.is_stuck() {
            let is_vain = around.request.plan.direction.receives() && trial.moved_each_way().0 == 0;
            return Ok(Some(if is_vain { failed(NOTHING) } else { Ending::Completed }));
        }
        Ok(trial.breakdown(now).map(failed))
    }

    /// Whether the test, which ends at `end`, has requests without responses: none is sent
    /// shortly before, and both ends shall count the same ones.
    fn awaits_responses(&self, now: Timestamp, end: Timestamp, around: &Around<'_>) -> bool {
        let is_exchange = around.request.plan.exchange.is_some();
        let is_near = now.after(LAST_REQUEST) >= end;
        let is_late = now >= end.after(LAST_RESPONSE + around.options.hold);
        is_exchange && is_near && !self.trial.conclude_exchange() && !is_late
    }

    /// Of a test in which the server sends, a while later: the server ends it.
    fn time_is_up_at(&self, around: &Around<'_>) -> Option<Timestamp> {
        match (around.request.plan.direction, around.request.plan.end) {
            (Direction::Receive, End::Time(time)) => {
                self.trial.began().map(|began| began.after(time + SERVERS_TIME))
            }
            _ => self.trial.time_is_up_at(),
        }
    }

    fn wait(&self, around: &Around<'_>) -> Result<(), SessionError> {
        let now = around.clock.now();
        let trial = &self.trial;
        let receives = around.request.plan.direction.receives();
        let is_exchange = around.request.plan.exchange.is_some();
        let look = (receives || is_exchange || trial.awaits_the_last()).then(|| now.after(LOOK));
        let end = self.time_is_up_at(around).map(|end| match end.since(now) {
            Duration::ZERO => now.after(LAST_REQUEST),
            left if is_exchange && left > LAST_REQUEST => {
                now.after(left.saturating_sub(LAST_REQUEST))
            }
            _ => end,
        });
        let due = [trial.next_tick(), end, look];
        let until = due.into_iter().flatten().min().unwrap_or_else(|| now.after(LONGEST_WAIT));
        let progress = trial.progress();
        let mut watches: Vec<_> = progress.into_iter().map(PollFd::readable).collect();
        watches.extend(around.interrupts.map(|signals| PollFd::readable(signals.as_fd())));
        wait(&mut watches, Some(until.since(now))).map_err(SessionError::system("poll"))
    }
}

/// The header of this test's datagrams.
fn datagrams(told: &ClientHeader) -> DatagramHeader {
    DatagramHeader::Iperf2 { epoch: linux::clock::epoch(), settings: told.datagram() }
}

/// Each request of a test that measures round trips.
fn message(plan: &TestPlan, hold: Duration) -> Option<Arc<[u8]>> {
    let length = usize::try_from(plan.exchange?.request.bytes()).unwrap_or(Bounce::MOST);
    Some(Bounce::request(length, hold).into())
}

/// What the workers do of `plan`: the header is part of the amount (clause 3.1 of
/// docs/protocol/iperf2.md), and the server ends what it sends.
fn own_part(plan: &TestPlan, header: usize) -> TestPlan {
    let mut draft = PlanDraft::from(plan.clone());
    let headers = u64::from(plan.streams) * header as u64;
    draft.end = match (plan.transport, plan.direction, plan.end) {
        (_, Direction::Receive, _) => End::Open,
        (Transport::Tcp, _, End::Bytes(bytes)) => {
            let rest = bytes.bytes().saturating_sub(headers).max(1);
            End::Bytes(ByteSize::from_bytes(rest))
        }
        (_, _, end) => end,
    };
    // Less of an amount, or none, is as good a plan.
    draft.check().unwrap_or_else(|_| plan.clone())
}

/// Flows that the server sends, one for each stream of a direction.
fn flows(plan: &TestPlan) -> Vec<Arc<Iperf2Flow>> {
    let count = if plan.direction.receives() { plan.streams } else { 0 };
    let flow = |_| Arc::new(Iperf2Flow::new(FlowStart::OF_SERVER, channel().1, None));
    (0..count).map(flow).collect()
}

/// The length of writes or datagrams; of iperf2's usual datagrams one fits a frame of Ethernet.
fn block(plan: &TestPlan, server: SocketAddr, least: usize) -> ByteSize {
    let least = ByteSize::from_bytes(least as u64);
    match (plan.transport, plan.options.block) {
        (Transport::Tcp, asked) => asked.unwrap_or(DEFAULT_BLOCK),
        (Transport::Udp, Some(asked)) => asked.max(least),
        (Transport::Udp, None) if server.ip().to_canonical().is_ipv4() => UDP_PAYLOAD,
        (Transport::Udp, None) => UDP_PAYLOAD_V6,
    }
}

/// Of a server that does not know `-R`.
const NOTHING: &str = "the server has sent nothing";
/// After which time, and how often, a server is asked again that sends nothing.
const ASKING: Duration = Duration::from_millis(250);
const MOST_ASKED: u32 = 10;
const UDP_PAYLOAD: ByteSize = ByteSize::from_bytes(1_470);
const UDP_PAYLOAD_V6: ByteSize = ByteSize::from_bytes(1_450);
/// How much longer than asked a server may send.
const SERVERS_TIME: Duration = Duration::from_secs(5);
/// How long before the end no more requests are sent.
const LAST_REQUEST: Duration = Duration::from_millis(1);
/// How long after the end a response is waited for.
const LAST_RESPONSE: Duration = Duration::from_secs(1);
/// How often to look for what nothing reports.
const LOOK: Duration = Duration::from_millis(10);
const LONGEST_WAIT: Duration = Duration::from_secs(60);
