//! Chooses the engine of each stream: one arm for each, with its name for the record.

use std::fs::{File, OpenOptions};
use std::io;
use std::net::{TcpStream, UdpSocket};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use dataplane::tcp::{self, FileSink, FileSource, Incoming, MarkedSource, Outgoing};
use dataplane::udp::{self, DatagramHeader, Iperf2Flow, ReceivedHeader};
use dataplane::{
    Budget, BufferKind, BufferPlan, Bulk, Counters, OpenStream, Pacer, PayloadPattern, Perturbed,
    SharedResources, Stream,
};
use measurement::engine::{self, Batching, EngineName, EngineRole};
use measurement::{
    BitRate, End, Engine, EngineUse, Engines, Experiment, InPlace, Probe, RoundTrips,
    StreamOptions, Transport, Unusable,
};

use protocol::iperf2::WriteMarks;

use super::exchange::Exchanging;
use super::{Opened, StreamSocket};
use crate::amount::Amount;
use crate::bulk::bulk;
use crate::error::SessionError;
use crate::setting::{Amounts, FallbackPolicy, Setting};
use crate::spec::RunSpec;

/// What the engines of one test have in common.
pub(crate) struct EngineFactory {
    transport: Transport,
    options: StreamOptions,
    header: DatagramHeader,
    amount: Amount,
    /// What each sender has of the amount for itself; none: they share it.
    of_each: Option<u64>,
    file: Option<PathBuf>,
    marks: Option<WriteMarks>,
    flows: Vec<Arc<Iperf2Flow>>,
    resources: SharedResources,
    fallback: FallbackPolicy,
    used: Engines,
    exchange: Option<Exchanging>,
    experiment: Option<Experiment>,
}

/// An engine and the record of its use.
type EngineWithUse = (Box<dyn Stream>, EngineUse);

impl EngineFactory {
    /// The factory for the streams of `spec` at one end.
    pub(crate) fn new(spec: &RunSpec, amount: &Amount, setting: &Setting) -> Self {
        let plan = &spec.plan;
        let is_on_one_cpu = setting.cpus().is_ok_and(|cpus| cpus.len() == 1);
        let (buffer, bulk) = bulk(plan, spec.block, second_level_cache(), is_on_one_cpu);
        let pattern = if plan.options.repeating_payload {
            PayloadPattern::Digits
        } else {
            PayloadPattern::Random
        };
        Self {
            transport: plan.transport,
            options: plan.options.clone(),
            header: spec.header,
            amount: amount.clone(),
            of_each: (setting.amounts == Amounts::OfEach).then(|| of_each(spec)).flatten(),
            marks: setting.iperf2.marks,
            flows: setting.iperf2.flows.clone(),
            file: setting.file.clone().filter(|_| plan.transport == Transport::Tcp),
            resources: SharedResources::new(buffer, pattern)
                .with_bulk(bulk)
                .with_pages(plan.options.pages),
            fallback: setting.fallback,
            used: Engines::default(),
            exchange: plan.exchange.map(|exchange| Exchanging::new(exchange, setting)),
            experiment: plan.experiment.as_deref().cloned(),
        }
    }

    /// How TCP streams use the buffer.
    pub(crate) fn bulk(&self) -> &Bulk {
        self.resources.bulk()
    }

    /// What the workers need to run the engines of `streams`.
    pub(crate) fn memory(&self, streams: &[OpenStream]) -> BufferPlan {
        let mut asked = self.options.engines.iter().filter_map(EngineName::properties);
        let whole = self.options.segmentation_offload || asked.any(Engine::is_batched);
        let kind = match (self.transport, whole) {
            _ if self.exchange.is_some() => BufferKind::Blocks,
            (Transport::Tcp, _) if streams.iter().any(|stream| stream.sender) => BufferKind::Blocks,
            (Transport::Tcp, _) => BufferKind::ReceivedBlocks,
            (Transport::Udp, false) if streams.iter().any(|stream| stream.sender) => {
                BufferKind::Datagrams
            }
            (Transport::Udp, false) => BufferKind::ReceivedDatagrams,
            (Transport::Udp, true) => BufferKind::Segments,
        };
        // Later datagrams of a flow of iperf2 may be longer than its first one; those that are sent
        // are as long as the room.
        let is_of_iperf2 = !self.flows.is_empty() && kind == BufferKind::ReceivedDatagrams;
        let least = if is_of_iperf2 { LEAST_ROOM } else { 0 };
        let (block, pattern) = (self.resources.block().max(least), self.resources.pattern());
        BufferPlan { kind, block, pattern, pages: self.resources.pages() }
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
        let (engine, usage) = match (&one.socket, one.sender) {
            (StreamSocket::Tcp { socket, .. }, true) => self.tcp_sender(socket, &counters)?,
            (StreamSocket::Tcp { socket, read_before, .. }, false) => {
                self.tcp_receiver(socket, *read_before, &counters)?
            }
            (StreamSocket::Udp { socket }, true) => self.udp_sender(socket, &counters)?,
            (StreamSocket::Udp { socket }, false) => {
                self.udp_receiver((one.id, socket), &counters)?
            }
        };
        let used = if one.sender { &mut self.used.send } else { &mut self.used.receive };
        // That one stream had to do without what was asked for is not forgotten.
        if used.as_ref().is_none_or(|used| used.instead_of.is_none()) {
            *used = Some(usage);
        }
        let engine = match &self.experiment {
            Some(experiment) => {
                let (counters, experiment) = (Arc::clone(&counters), experiment.clone());
                Box::new(Perturbed::new(engine, counters, experiment, one.sender))
            }
            None => engine,
        };
        Ok(OpenStream { id: one.id, sender: one.sender, engine, counters })
    }

    /// The engines that were given out, and how they fared.
    pub(crate) fn engines(&self) -> Engines {
        let mut used = self.used.clone();
        let tally = self.resources.zerocopy();
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

    /// No more requests are sent over TCP connections that stay open. Returns whether it had been
    /// called before.
    pub(crate) fn close_exchange(&self) -> bool {
        self.exchange.as_ref().is_none_or(Exchanging::close)
    }

    /// How long answers took that this end asked for in `span`.
    pub(crate) fn round_trips(&self, span: Duration) -> Option<RoundTrips> {
        self.exchange.as_ref()?.round_trips(span)
    }

    /// The requests that were sent at their times.
    pub(crate) fn probes(&self) -> Vec<Probe> {
        self.exchange.as_ref().map_or_else(Vec::new, Exchanging::probes)
    }

    /// The one of `engines` that was asked for by name, else that of iperf3's `switch`, else the usual
    /// one; and one that was asked for and that is not known.
    fn choose(&self, engines: &[&'static Engine], switch: Option<&'static Engine>) -> Choice {
        let known = engines.iter().copied().find(|engine| self.is_asked_for(engine));
        let unknown = self.options.engines.iter().find(|name| name.properties().is_none());
        let unusable = unknown.filter(|_| known.is_none()).map(|name| Unusable {
            name: name.clone(),
            reason: "this linerate has no such engine".to_owned(),
        });
        Choice { engine: known.or(switch).unwrap_or(engines[0]), unusable }
    }

    /// What is done about an engine that cannot be used: it fails, or it is the `usual` one.
    fn forgive(
        &self,
        engine: &'static Engine,
        error: &io::Error,
        usual: &'static Engine,
    ) -> Result<Unusable, SessionError> {
        let (name, reason) = (engine.into(), crate::error::engine_reason(error));
        let is_ours = self.fallback == FallbackPolicy::Fail && self.is_asked_for(engine);
        if is_ours || engine == usual {
            return Err(SessionError::Engine { name, reason });
        }
        Ok(Unusable { name, reason })
    }

    fn tcp_sender(
        &self,
        socket: &Arc<TcpStream>,
        counters: &Arc<Counters>,
    ) -> Result<EngineWithUse, SessionError> {
        let outgoing = || Outgoing {
            socket: Arc::clone(socket),
            counters: Arc::clone(counters),
            budget: self.budget(),
            pacer: self.pacer(Pacer::for_blocks, 1),
        };
        if let Some(path) = &self.file {
            let file = FileSource::new(open_to_read(path)?, self.resources.bulk().call);
            return Ok((
                outgoing().into_sender(file, &self.resources),
                (&engine::FILE_TO_WRITE).into(),
            ));
        }
        if let Some(marks) = self.marks {
            let source = MarkedSource::new(marks, linux::clock::epoch(), self.resources.block());
            let source = source.map_err(SessionError::system("a block"))?;
            return Ok((outgoing().into_sender(source, &self.resources), (&engine::WRITE).into()));
        }
        let engines: Vec<_> = tcp::SENDERS.iter().map(|entry| entry.engine).collect();
        let choice = self.choose(&engines, self.options.zero_copy.then_some(&engine::SENDFILE));
        self.build(choice, engines[0], |engine| {
            let entry = tcp::SENDERS.iter().find(|entry| entry.engine == engine);
            entry.unwrap_or(&tcp::SENDERS[0]).build(&self.resources, outgoing())
        })
    }

    fn tcp_receiver(
        &self,
        socket: &Arc<TcpStream>,
        read_before: u64,
        counters: &Arc<Counters>,
    ) -> Result<EngineWithUse, SessionError> {
        let incoming = || Incoming {
            socket: Arc::clone(socket),
            counters: Arc::clone(counters),
            goal: self.amount.goal.clone(),
            read_before,
        };
        if let Some(path) = &self.file {
            let file = FileSink::new(open_to_write(path)?);
            return Ok((incoming().into_receiver(file), (&engine::READ_TO_FILE).into()));
        }
        let engines: Vec<_> = tcp::RECEIVERS.iter().map(|entry| entry.engine).collect();
        let switch = self.options.skip_receive_copy.then_some(&engine::MSG_TRUNC);
        self.build(self.choose(&engines, switch), engines[0], |engine| {
            let entry = tcp::RECEIVERS.iter().find(|entry| entry.engine == engine);
            entry.unwrap_or(&tcp::RECEIVERS[0]).build(&self.resources, incoming())
        })
    }

    /// The engine that was chosen, or else the `usual` one.
    fn build(
        &self,
        choice: Choice,
        usual: &'static Engine,
        make: impl Fn(&'static Engine) -> io::Result<Box<dyn Stream>>,
    ) -> Result<EngineWithUse, SessionError> {
        let Choice { mut engine, mut unusable } = choice;
        let stream = match make(engine) {
            Ok(stream) => stream,
            Err(error) => {
                unusable = Some(self.forgive(engine, &error, usual)?);
                engine = usual;
                make(engine).map_err(SessionError::system("a stream's engine"))?
            }
        };
        Ok((stream, EngineUse { instead_of: unusable, ..engine.into() }))
    }

    fn udp_sender(
        &self,
        socket: &Arc<UdpSocket>,
        counters: &Arc<Counters>,
    ) -> Result<EngineWithUse, SessionError> {
        let length = self.resources.block();
        let engines: Vec<_> = udp::SENDERS.iter().map(|entry| entry.engine).collect();
        let switch = self.switch_for_batches(EngineRole::Sender);
        self.build(self.choose(&engines, switch), engines[0], |engine| {
            let entry = udp::SENDERS.iter().find(|entry| entry.engine == engine);
            // As iperf3 does it a piece is a burst; if pieces are asked for by name the rate is kept
            // as without them, a few datagrams at once.
            let is_burst = engine.is_batched() && !self.is_asked_for(engine);
            let together = if is_burst { dataplane::segments(length) } else { 1 };
            let outgoing = udp::Outgoing {
                socket: Arc::clone(socket),
                header: self.header,
                counters: Arc::clone(counters),
                budget: self.budget(),
                pacer: self.pacer(Pacer::for_datagrams, together),
            };
            entry.unwrap_or(&udp::SENDERS[0]).build(length, outgoing)
        })
    }

    fn udp_receiver(
        &self,
        (id, socket): (u32, &Arc<UdpSocket>),
        counters: &Arc<Counters>,
    ) -> Result<EngineWithUse, SessionError> {
        let flow = self.flows.get(id.wrapping_sub(1) as usize % self.flows.len().max(1));
        let engines: Vec<_> = udp::RECEIVERS.iter().map(|entry| entry.engine).collect();
        let switch = self.switch_for_batches(EngineRole::Receiver);
        self.build(self.choose(&engines, switch), engines[0], |engine| {
            let entry = udp::RECEIVERS.iter().find(|entry| entry.engine == engine);
            let incoming = udp::Incoming {
                socket: Arc::clone(socket),
                header: flow
                    .cloned()
                    .map_or_else(|| self.header.received(), ReceivedHeader::Iperf2),
                counters: Arc::clone(counters),
                goal: self.amount.goal.clone(),
            };
            entry.unwrap_or(&udp::RECEIVERS[0]).build(self.resources.block(), incoming)
        })
    }

    /// What the next sender may send; none: it has no such limit.
    fn budget(&self) -> Option<Arc<Budget>> {
        let own = self.of_each.map(|units| Arc::new(Budget::new(units)));
        own.or_else(|| self.amount.budget.clone())
    }

    /// The engine that iperf3's `--gsro` stands for.
    fn switch_for_batches(&self, role: EngineRole) -> Option<&'static Engine> {
        let usual = || Engine::usual_for_datagrams(role, Batching::ManyInOne);
        self.options.segmentation_offload.then(usual).flatten()
    }

    /// Whether the plan names that engine.
    fn is_asked_for(&self, engine: &Engine) -> bool {
        self.options.engines.iter().any(|name| name.is(engine))
    }

    /// The pacer as the plan has it, for a sender that sends `together` blocks at once.
    fn pacer(&self, of: fn(BitRate, u64) -> Pacer, together: usize) -> Option<Pacer> {
        let block = self.resources.block() as u64;
        let pacer = of(self.options.rate?, block).with_pacing(self.options.pacing);
        let pieces = self.options.burst.map(|burst| usize::try_from(burst).unwrap_or(usize::MAX));
        let pacer = match pieces {
            None if together == 1 => pacer,
            pieces => pacer.with_burst(pieces.unwrap_or(1).saturating_mul(together)),
        };
        Some(pacer.centred())
    }
}

/// Bytes of each stream, or datagrams for UDP; none: the test does not end by a number of bytes.
fn of_each(spec: &RunSpec) -> Option<u64> {
    let End::Bytes(bytes) = spec.plan.end else { return None };
    let bytes = bytes.bytes() / u64::from(spec.plan.streams);
    Some(match spec.plan.transport {
        Transport::Tcp => bytes,
        Transport::Udp => bytes.div_ceil(spec.block.bytes()),
    })
}

/// Bytes of the shortest room for a datagram of iperf2: as many fit a batch as of shorter ones.
const LEAST_ROOM: usize = 4_096;

/// Which engine is to be used.
struct Choice {
    engine: &'static Engine,
    /// One that was asked for instead.
    unusable: Option<Unusable>,
}

/// That of the first CPU of this process; none: the kernel does not tell.
fn second_level_cache() -> Option<usize> {
    let cpus = linux::host::allowed_cpus().ok()?;
    linux::topology::second_level_cache(*cpus.first()?)
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
