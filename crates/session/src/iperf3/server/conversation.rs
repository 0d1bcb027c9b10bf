//! One test, from the parameters to the last message, on a thread of its own. Each stage owns
//! its data.
//!
//! ```text
//! Waiting --its turn--> Opening --all streams came--> Running --results exchanged--> closed
//!    +--------------------+----------------------------+--- error --------------------> closed
//! ```

use std::net::{IpAddr, SocketAddr};
use std::os::fd::AsFd;
use std::sync::Arc;
use std::time::Duration;

use host::PerfAccess;
use measurement::plan::PlanDraft;
use measurement::{Peer, TestPlan};
use portable_atomic::Ordering::Relaxed;
use protocol::iperf3::{ErrorCode, Parameters, ProtocolError, Server, ServerEvent, ServerPhase};

use super::request_cost::error_code;
use crate::control::Control;
use crate::host_sampler::Interest;
use crate::measured::Side;
use crate::observer::{Introduction, Observer};
use crate::preflight::has_few_files;
use crate::server::context::{ServerContext, canonical};
use crate::server::evidence::Evidence;
use crate::server::limits::{Excess, Limits};
use crate::server::log::Log;
use crate::server::metrics::Refusal;
use crate::server::options::SessionOptions;
use crate::server::rates::Grant;
use crate::server::registry::Ticket;
use crate::server::status::StatusLine;
use crate::setting::{Amounts, FallbackPolicy, Iperf2Parts, Setting};

mod closing;
mod gathering;
mod let_in;
mod limiting;
mod minding;
mod objection;
mod running;
mod setup;
mod streams;
mod waiting;

use running::Running;
use setup::StreamSetup;
use waiting::Waiting;

/// A client that asked for a test and was taken in.
pub(super) struct Client {
    pub(super) control: Control<Server>,
    pub(super) from: SocketAddr,
    pub(super) ticket: Ticket,
    pub(super) parameters: Parameters,
    /// Streams that it may have on their way.
    pub(super) under_way: u32,
}

/// Serves one client.
pub(super) fn serve(client: Client, server: &ServerContext, log: &dyn Log) {
    let from = client.from;
    let mut conversation = Conversation::new(client, server, log);
    server.metrics.waiting.fetch_add(1, Relaxed);
    let result = conversation.run();
    let control = conversation.close(result);
    server.registry.part_with((Box::new(control), from));
}

/// What the client calls itself.
pub(super) fn software(parameters: &Parameters) -> String {
    match &parameters.announcement {
        Some(announcement) => format!("linerate {}", announcement.version),
        None if parameters.client_version.is_empty() => "iperf3".to_owned(),
        None => format!("iperf3 {}", parameters.client_version),
    }
}

/// One test and its client.
struct Conversation<'a> {
    control: Control<Server>,
    ticket: Ticket,
    parameters: Parameters,
    setting: Setting,
    server: &'a ServerContext,
    log: &'a dyn Log,
    observer: Box<dyn Observer>,
    peer: Peer,
    /// Segment size of the control connection in bytes, if the kernel reports it.
    segment: Option<u32>,
    /// Its part of the rates that all tests have together; none: it has none, or not yet.
    grant: Option<Grant>,
    /// Its line in the list of the server's tests.
    status: Option<StatusLine>,
    /// Limits of this test.
    limits: Limits,
    /// Why the client is not served, or not any longer.
    refusal: Option<(Refusal, String)>,
    stage: Stage,
}

/// How far the test is.
enum Stage {
    /// The client has not been admitted.
    Waiting(Waiting),
    /// The client opens its streams.
    Opening(StreamSetup),
    /// The streams run, or have ended.
    Running(Running),
    /// The connection is closed.
    Closed,
}

impl<'a> Conversation<'a> {
    fn new(client: Client, server: &'a ServerContext, log: &'a dyn Log) -> Self {
        let Client { control, from, ticket, mut parameters, under_way } = client;
        let options = &server.options;
        let path = control.path();
        let local = control.local_address().unwrap_or(from);
        if let Some(interval) = options.interval {
            let mut draft = PlanDraft::clone(&parameters.plan);
            draft.interval = interval;
            parameters.plan = draft.check().unwrap_or(parameters.plan);
        }
        let peer = Peer {
            software: software(&parameters),
            address: canonical(from),
            local_address: canonical(local),
        };
        let status = Some(server.status.enter(&peer, &parameters.plan));
        Self {
            segment: Some(path.snd_mss).filter(|segment| *segment > 0),
            setting: setting(&parameters, options, peer.address.ip(), path.rtt),
            server,
            log,
            observer: log.observer(),
            peer,
            status,
            grant: None,
            limits: options.limits,
            refusal: None,
            stage: Stage::Waiting(Waiting::new(StreamSetup::new(&parameters, under_way))),
            parameters,
            control,
            ticket,
        }
    }

    fn run(&mut self) -> Result<(), ProtocolError> {
        self.begin();
        loop {
            // What this end has refused the client hears when its place is free again.
            if self.handle_events()? {
                return Ok(());
            }
            self.control.pump();
            if self.handle_events()? {
                return Ok(());
            }
            self.ticket.wake().clear();
            if self.ticket.is_stopping() {
                self.control.machine.terminate();
                continue;
            }
            if self.must_end() {
                continue;
            }
            match self.control.machine.phase() {
                ServerPhase::Admission => self.await_turn(),
                ServerPhase::Opening => self.receive_streams(),
                ServerPhase::Running => self.mind_the_trial(),
                _ => {}
            }
            if self.control.machine.phase() != ServerPhase::Failed && self.wait().is_err() {
                self.control.machine.refuse(ErrorCode::STREAM_CONNECT, 0);
            }
        }
    }

    /// Whether the test must end for the sake of others; the client hears why.
    fn must_end(&mut self) -> bool {
        let Some(verdict) = self.ticket.verdict().filter(|_| self.refusal.is_none()) else {
            return false;
        };
        self.refuse_for(verdict.excess(&self.server.yielding));
        true
    }

    /// Refuses the client, or ends its test, and says why.
    fn refuse_for(&mut self, excess: Excess) {
        self.server.metrics.refuse(excess.why);
        self.control.machine.refuse_because(error_code(excess.why), &excess.words);
        self.refusal = Some((excess.why, excess.words));
    }

    fn begin(&mut self) {
        if self.server.options.evidence == Evidence::Withheld {
            self.control.machine.withhold_evidence();
        }
        self.judge();
        // As with iperf3, nothing has begun with a client that is refused.
        if self.refusal.is_some() {
            return self.observer.refused(&self.parameters.plan);
        }
        self.observer.introduced(&Introduction {
            peer: &self.peer,
            cookie: &self.ticket.id().cookie.text(),
            parameters: &self.parameters,
            segment: self.segment,
        });
    }

    /// Does all that the protocol asks for now; whether the test is done.
    fn handle_events(&mut self) -> Result<bool, ProtocolError> {
        while let Some(event) = self.control.machine.poll_event() {
            match event {
                // The acceptor has taken them.
                ServerEvent::Asked(_) => {}
                ServerEvent::Ended => self.end(),
                ServerEvent::Results(results) => self.answer(results),
                ServerEvent::Done => return Ok(true),
                ServerEvent::Failed(error) => return Err(error),
            }
        }
        Ok(false)
    }

    fn wait(&mut self) -> std::io::Result<()> {
        let mut others = vec![self.ticket.wake().as_fd()];
        let until = match (&self.stage, self.control.machine.phase()) {
            (Stage::Waiting(waiting), ServerPhase::Admission) => waiting.next_reminder(),
            (Stage::Opening(setup), ServerPhase::Opening) => {
                others.extend(setup.gathering.repeated_hellos());
                Some(self.opening_limit(setup))
            }
            (Stage::Running(running), ServerPhase::Running) => running.next_look(),
            _ => None,
        };
        self.control.wait(&others, until)
    }
}

/// Under which circumstances this end runs a test with the client at `from`.
fn setting(
    parameters: &Parameters,
    options: &SessionOptions,
    from: IpAddr,
    rtt_micros: u32,
) -> Setting {
    let is_linerate = parameters.announcement.is_some();
    Setting {
        side: Side::Server,
        pinned: options.cpus.clone(),
        rtt: Duration::from_micros(rtt_micros.into()),
        amounts: if is_linerate { Amounts::Any } else { Amounts::WholeBlocks },
        fallback: FallbackPolicy::Substitute,
        watched: options.interval.is_some(),
        file: options.file.clone(),
        calls: None,
        sampled: interest(parameters, options, from),
        perf: perf_access(&parameters.plan, options),
        iperf2: Iperf2Parts::default(),
    }
}

/// What is sampled of this host meanwhile, if the client at `from` wants to know and may.
fn interest(parameters: &Parameters, options: &SessionOptions, from: IpAddr) -> Option<Interest> {
    let client = parameters.announcement.as_ref()?.shared();
    match options.evidence {
        Evidence::Withheld => None,
        _ if !client.knows_evidence() || has_few_files() => None,
        Evidence::Given => Some(Interest::Towards(from)),
        Evidence::Whole => Some(Interest::All),
    }
}

/// From where the CPUs are sampled meanwhile. A probe beside a test leaves that to the test.
fn perf_access(plan: &TestPlan, options: &SessionOptions) -> Option<Arc<PerfAccess>> {
    let is_beside = plan.exchange.is_some() && options.evidence != Evidence::Whole;
    options.perf.clone().filter(|_| !is_beside)
}
