//! Chooses the engine of each stream: one arm for each, with its name for the record.

use std::fs::{File, OpenOptions};
use std::io;
use std::net::{TcpStream, UdpSocket};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use dataplane::tcp::{self, FromFile, Incoming, Outgoing, Sink, Source, ToFile};
use dataplane::udp::{self, Coalesced, Inlet, Outlet, Segmented};
use dataplane::{Counters, Filling, Kind, Memory, OpenStream, Pacer, Stream, Supplies};
use measurement::{
    BitRate, EngineUse, Engines, InPlace, Probe, RoundTrips, StreamOptions, Transport, Unusable,
};
use protocol::iperf3::{CounterWidth, Parameters};

use super::exchange::Exchanging;
use super::{Opened, StreamSocket};
use crate::amount::Amount;
use crate::error::SessionError;
use crate::trial::Setting;

/// What the engines of one test have in common.
pub(crate) struct EngineFactory {
    transport: Transport,
    options: StreamOptions,
    width: CounterWidth,
    amount: Amount,
    file: Option<PathBuf>,
    supplies: Supplies,
    fallback: FallbackPolicy,
    used: Engines,
    exchange: Option<Exchanging>,
}

/// What becomes of a test whose engines cannot be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FallbackPolicy {
    /// It fails: somebody here asked for them by name.
    Fail,
    /// Others run, and the record says so: the client asked, or nobody.
    Substitute,
}

/// An engine, and what is said of it.
type Told = (Box<dyn Stream>, EngineUse);

impl EngineFactory {
    /// For the streams of `parameters` at one end.
    pub(crate) fn new(parameters: &Parameters, amount: &Amount, setting: &Setting) -> Self {
        let plan = &parameters.plan;
        let block = usize::try_from(parameters.block().bytes()).unwrap_or(usize::MAX);
        let filling =
            if plan.options.repeating_payload { Filling::Digits } else { Filling::Random };
        Self {
            transport: plan.transport,
            options: plan.options.clone(),
            width: parameters.counter_width,
            amount: amount.clone(),
            file: setting.file.clone().filter(|_| plan.transport == Transport::Tcp),
            supplies: Supplies::new(block, filling),
            fallback: setting.fallback,
            used: Engines::default(),
            exchange: plan.exchange.map(|exchange| Exchanging::new(exchange, setting)),
        }
    }

    /// What the workers need to run the engines.
    pub(crate) fn memory(&self) -> Memory {
        let pieces = [Segmented::NAME, Coalesced::NAME];
        let whole =
            self.options.segmentation_offload || pieces.iter().any(|name| self.is_asked_for(name));
        let kind = match (self.transport, whole) {
            _ if self.exchange.is_some() => Kind::Blocks,
            (Transport::Tcp, _) => Kind::Blocks,
            (Transport::Udp, false) => Kind::Datagrams,
            (Transport::Udp, true) => Kind::Segments,
        };
        Memory { kind, block: self.supplies.block(), filling: self.supplies.filling() }
    }

    /// A stream with its engine, ready for a pool.
    pub(crate) fn equip(&mut self, one: &Opened) -> Result<OpenStream, SessionError> {
        let counters = Arc::new(Counters::default());
        if let Some(exchange) = &self.exchange {
            let engine = exchange
                .engine(one, &counters)
                .map_err(SessionError::system("a stream's engine"))?;
            return Ok(OpenStream { id: one.id, sender: one.sender, engine, counters });
        }
        let (engine, told) = match (&one.socket, one.sender) {
            (StreamSocket::Tcp { socket, .. }, true) => self.tcp_sender(socket, &counters)?,
            (StreamSocket::Tcp { socket, .. }, false) => self.tcp_receiver(socket, &counters)?,
            (StreamSocket::Udp { socket }, true) => self.udp_sender(socket, &counters)?,
            (StreamSocket::Udp { socket }, false) => self.udp_receiver(socket, &counters)?,
        };
        let used = if one.sender { &mut self.used.send } else { &mut self.used.receive };
        // That one stream had to do without what was asked for is not forgotten.
        if used.as_ref().is_none_or(|used| used.instead_of.is_none()) {
            *used = Some(told);
        }
        Ok(OpenStream { id: one.id, sender: one.sender, engine, counters })
    }

    /// The engines that were given out, and how they fared.
    pub(crate) fn engines(&self) -> Engines {
        let mut used = self.used.clone();
        let tally = self.supplies.in_place();
        if let Some(sender) = used.send.as_mut().filter(|_| tally.sends() + tally.refused() > 0) {
            sender.in_place = Some(InPlace {
                sends: tally.sends(),
                completed: tally.done(),
                copied: tally.copied(),
                written: tally.refused(),
            });
        }
        used
    }

    /// The omitted start has ended.
    pub(crate) fn begin(&self) {
        self.exchange.iter().for_each(Exchanging::begin);
    }

    /// How long answers took that this end asked for in `span`.
    pub(crate) fn round_trips(&self, span: Duration) -> Option<RoundTrips> {
        self.exchange.as_ref()?.round_trips(span)
    }

    /// The requests that were sent at their times.
    pub(crate) fn probes(&self) -> Vec<Probe> {
        self.exchange.as_ref().map_or_else(Vec::new, Exchanging::probes)
    }

    /// Of the names of `engines` the one that was asked for, else that of iperf3's `switch`,
    /// else the usual one; and one that was asked for and that nobody knows.
    fn choose(&self, engines: &[&'static str], switch: Option<&'static str>) -> Choice {
        let asked = &self.options.engines;
        let known = engines.iter().copied().find(|name| asked.iter().any(|other| other == name));
        let is_known =
            |name: &&String| dataplane::catalogue().any(|entry| entry.name == name.as_str());
        let unknown = asked.iter().find(|name| !is_known(name)).cloned();
        let unusable = unknown
            .filter(|_| known.is_none())
            .map(|name| Unusable { name, reason: "this linerate has no such engine".to_owned() });
        Choice { name: known.or(switch).unwrap_or(engines[0]), unusable }
    }

    /// What is done about an engine that cannot be used: it fails, or it is the `usual` one.
    fn forgive(
        &self,
        name: &str,
        error: &io::Error,
        usual: &'static str,
    ) -> Result<Unusable, SessionError> {
        let (name, reason) = (name.to_owned(), crate::error::engine_reason(error));
        let is_ours = self.fallback == FallbackPolicy::Fail && self.is_asked_for(&name);
        if is_ours || name == usual {
            return Err(SessionError::Engine { name, reason });
        }
        Ok(Unusable { name, reason })
    }

    fn tcp_sender(
        &self,
        socket: &Arc<TcpStream>,
        counters: &Arc<Counters>,
    ) -> Result<Told, SessionError> {
        let outgoing = || Outgoing {
            socket: Arc::clone(socket),
            counters: Arc::clone(counters),
            budget: self.amount.budget.clone(),
            pacer: self.pacer(Pacer::of_blocks, 1),
        };
        if let Some(path) = &self.file {
            let file = FromFile::new(open_to_read(path)?, self.supplies.block());
            return Ok((outgoing().from(file, &self.supplies), told(FromFile::NAME)));
        }
        let names: Vec<_> = tcp::SENDERS.iter().map(|engine| engine.name).collect();
        let choice = self.choose(&names, self.options.zero_copy.then_some(tcp::Sendfile::NAME));
        self.build(choice, names[0], |name| {
            let engine = tcp::SENDERS.iter().find(|engine| engine.name == name);
            engine.unwrap_or(&tcp::SENDERS[0]).build(&self.supplies, outgoing())
        })
    }

    fn tcp_receiver(
        &self,
        socket: &Arc<TcpStream>,
        counters: &Arc<Counters>,
    ) -> Result<Told, SessionError> {
        let incoming = || Incoming {
            socket: Arc::clone(socket),
            counters: Arc::clone(counters),
            goal: self.amount.goal.clone(),
        };
        if let Some(path) = &self.file {
            let file = ToFile::new(open_to_write(path)?);
            return Ok((incoming().into(file), told(ToFile::NAME)));
        }
        let names: Vec<_> = tcp::RECEIVERS.iter().map(|engine| engine.name).collect();
        let switch = self.options.skip_receive_copy.then_some(tcp::Truncated::NAME);
        self.build(self.choose(&names, switch), names[0], |name| {
            let engine = tcp::RECEIVERS.iter().find(|engine| engine.name == name);
            engine.unwrap_or(&tcp::RECEIVERS[0]).build(&self.supplies, incoming())
        })
    }

    /// The engine that was chosen, or else the `usual` one.
    fn build(
        &self,
        choice: Choice,
        usual: &'static str,
        make: impl Fn(&'static str) -> io::Result<Box<dyn Stream>>,
    ) -> Result<Told, SessionError> {
        let Choice { mut name, mut unusable } = choice;
        let stream = match make(name) {
            Ok(stream) => stream,
            Err(error) => {
                unusable = Some(self.forgive(name, &error, usual)?);
                name = usual;
                make(name).map_err(SessionError::system("a stream's engine"))?
            }
        };
        Ok((stream, EngineUse { instead_of: unusable, ..told(name) }))
    }

    fn udp_sender(
        &self,
        socket: &Arc<UdpSocket>,
        counters: &Arc<Counters>,
    ) -> Result<Told, SessionError> {
        let length = self.supplies.block();
        let names: Vec<_> = udp::SENDERS.iter().map(|engine| engine.name).collect();
        let switch = self.options.segmentation_offload.then_some(Segmented::NAME);
        self.build(self.choose(&names, switch), names[0], |name| {
            let engine = udp::SENDERS.iter().find(|engine| engine.name == name);
            // As iperf3 does it a piece is a burst; who asks for pieces by name keeps the rate
            // as without them, a few datagrams at once.
            let is_burst = name == Segmented::NAME && !self.is_asked_for(name);
            let together = if is_burst { dataplane::segments(length) } else { 1 };
            let outgoing = udp::Outgoing {
                socket: Arc::clone(socket),
                width: self.width,
                counters: Arc::clone(counters),
                budget: self.amount.budget.clone(),
                pacer: self.pacer(Pacer::of_datagrams, together),
            };
            engine.unwrap_or(&udp::SENDERS[0]).build(length, outgoing)
        })
    }

    fn udp_receiver(
        &self,
        socket: &Arc<UdpSocket>,
        counters: &Arc<Counters>,
    ) -> Result<Told, SessionError> {
        let names: Vec<_> = udp::RECEIVERS.iter().map(|engine| engine.name).collect();
        let switch = self.options.segmentation_offload;
        let switch = switch.then_some(Coalesced::NAME);
        self.build(self.choose(&names, switch), names[0], |name| {
            let engine = udp::RECEIVERS.iter().find(|engine| engine.name == name);
            let incoming = udp::Incoming {
                socket: Arc::clone(socket),
                width: self.width,
                counters: Arc::clone(counters),
                goal: self.amount.goal.clone(),
            };
            engine.unwrap_or(&udp::RECEIVERS[0]).build(self.supplies.block(), incoming)
        })
    }

    /// Whether the plan names that engine.
    fn is_asked_for(&self, name: &str) -> bool {
        self.options.engines.iter().any(|other| other == name)
    }

    /// The pacer as the plan has it, for a sender that sends `together` blocks at once.
    fn pacer(&self, of: fn(BitRate, u64) -> Pacer, together: usize) -> Option<Pacer> {
        let block = self.supplies.block() as u64;
        let pacer = of(self.options.rate?, block).with_pacing(self.options.pacing);
        let pieces = self.options.burst.map(|burst| usize::try_from(burst).unwrap_or(usize::MAX));
        let pacer = match pieces {
            None if together == 1 => pacer,
            pieces => pacer.with_burst(pieces.unwrap_or(1).saturating_mul(together)),
        };
        Some(pacer.centred())
    }
}

/// Which engine is to be used.
struct Choice {
    name: &'static str,
    /// One that was asked for instead.
    unusable: Option<Unusable>,
}

fn told(name: &str) -> EngineUse {
    EngineUse { name: name.to_owned(), ..EngineUse::default() }
}

fn open_to_read(path: &Path) -> Result<File, SessionError> {
    let readable = || {
        let file = File::open(path)?;
        // The kernel opens a directory, and only then refuses to read it.
        if file.metadata()?.is_dir() { Err(io::ErrorKind::IsADirectory.into()) } else { Ok(file) }
    };
    readable().map_err(|error| SessionError::File { doing: "read", path: path.to_owned(), error })
}

/// As iperf3 opens it: for its owner only, and empty.
fn open_to_write(path: &Path) -> Result<File, SessionError> {
    let mut writable = OpenOptions::new();
    let writable = writable.write(true).create(true).truncate(true).mode(0o600);
    writable.open(path).map_err(|error| SessionError::File {
        doing: "write",
        path: path.to_owned(),
        error,
    })
}
