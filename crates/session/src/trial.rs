//! One running test, at either end: its streams, its samples, its end. The time is an argument.

use std::collections::HashMap;
use std::io::ErrorKind;
use std::time::Duration;

use dataplane::{OpenStream, Pool, Spread, VariationReading};
use measurement::record::{DirectionIntervals, StreamRecord};
use measurement::{
    ByteSize, Course, DelayVariation, End, Engines, PacingReport, PacingWay, Runtime, Sample,
    Timestamp, Transport,
};

use crate::amount::Amount;
use crate::clock::Clock;
use crate::cpu::CpuClock;
use crate::error::SessionError;
use crate::host_sampler::{HostSampler, HostSamples, SampledTest};
use crate::measured::Measured;
use crate::runtime::runtime;
use crate::sampler::sample;
use crate::setting::{Amounts, Setting};
use crate::sockets::{EngineFactory, Opened, arrange_pacing};
use crate::spec::{RunSpec, Sent};
use crate::spread::spread;

mod counted;
mod early_end;
#[cfg(test)]
mod tests;

pub(crate) use counted::{Counted, CountedStream};

/// A test from the moment when its streams are open.
pub(crate) struct Trial {
    spec: RunSpec,
    setting: Setting,
    pool: Pool,
    factory: EngineFactory,
    opened: Vec<Opened>,
    records: Vec<StreamRecord>,
    amount: Amount,
    way: PacingWay,
    /// All of them; of many streams only the first, that of `base` and the last.
    samples: Vec<Sample>,
    intervals: Vec<DirectionIntervals>,
    /// Index of the sample from which the result counts: the end of the omitted start.
    base: usize,
    /// The delay variation of the omitted start; none: nothing was omitted yet.
    omitted: Option<VariationReading>,
    /// The rest of the test is too short for another interval.
    in_last_interval: bool,
    /// When what this end sends had ended, if that was before the test.
    sending_ended: Option<Timestamp>,
    stopped: Option<Timestamp>,
    finished: bool,
    cpu: CpuClock,
    /// How the workers served the streams until the stop.
    runtime: Option<Runtime>,
    sampler: Option<HostSampler>,
    /// What it saw.
    seen: Option<HostSamples>,
}

impl Trial {
    /// Puts the streams under workers that wait for [`Self::start`]. `is_wanted` is asked
    /// now and then while they do not; if it says no, this was interrupted.
    ///
    /// # Errors
    /// [`SessionError::Interrupted`] if it is not wanted any more, [`SessionError::Engine`] and
    /// [`SessionError::File`] if an engine cannot be had, else what the kernel refuses.
    pub(crate) fn prepare(
        spec: RunSpec,
        opened: Vec<Opened>,
        setting: Setting,
        is_wanted: &mut dyn FnMut() -> bool,
    ) -> Result<Self, SessionError> {
        let whole_blocks = setting.amounts == Amounts::WholeBlocks;
        let amount = Amount::new(&spec.plan, spec.block.bytes(), setting.side, whole_blocks)
            .map_err(SessionError::system("an eventfd"))?;
        let mut factory = EngineFactory::new(&spec, &amount, &setting);
        let streams = opened.iter().map(|one| factory.equip(one)).collect::<Result<_, _>>()?;
        let way = arrange_pacing(&spec.plan.options, spec.block, &opened);
        let spread = spread(&opened, factory.bulk(), &setting);
        let pool = pool(streams, spread, &factory, &setting, is_wanted)?;
        let records = records(&spec, &opened, &factory.engines(), (&pool, &setting))?;
        let sampler = sampler(&setting, &pool, spec.block, opened.len());
        Ok(Self {
            spec,
            setting,
            pool,
            factory,
            opened,
            intervals: DirectionIntervals::none_yet(&records),
            records,
            amount,
            way,
            samples: Vec::new(),
            base: 0,
            omitted: None,
            in_last_interval: false,
            sending_ended: None,
            stopped: None,
            finished: false,
            cpu: CpuClock::default(),
            runtime: None,
            sampler,
            seen: None,
        })
    }

    /// Takes the first sample and lets the workers go.
    pub(crate) fn start(&mut self, clock: &dyn Clock) {
        self.start_as_of(Timestamp::from_nanos(u64::MAX), clock);
    }

    /// Likewise, for a test of which payload has come since `began`, if that was before.
    pub(crate) fn start_as_of(&mut self, began: Timestamp, clock: &dyn Clock) {
        self.cpu.begin(clock.now());
        // Of thousands of streams it takes longer than nothing, and nothing moves meanwhile.
        let mut first = sample(&self.pool, &self.opened, clock.now());
        // The other end may have begun: what was dropped of that is this test's.
        let datagrams = first.streams.iter_mut().filter_map(|stream| stream.udp.as_mut());
        datagrams.for_each(|udp| udp.drops = 0);
        let start = clock.now().min(began);
        self.samples.push(Sample { at: start, ..first });
        self.pool.start();
        if let Some(sampler) = &self.sampler {
            sampler.streams_start(start);
        }
    }

    /// When the test began; none: it has not.
    pub(crate) fn began(&self) -> Option<Timestamp> {
        self.samples.first().map(|sample| sample.at)
    }

    /// When the omitted start ends.
    fn omit_ends(&self) -> Option<Timestamp> {
        self.began().map(|start| start.after(self.spec.plan.omit))
    }

    /// When a test of given duration ends.
    pub(crate) fn time_is_up_at(&self) -> Option<Timestamp> {
        match self.spec.plan.end {
            End::Time(time) => self.omit_ends().map(|base| base.after(time)),
            End::Bytes(_) | End::Blocks(_) | End::Open => None,
        }
    }

    /// When [`Self::tick`] is due next; none: not any more.
    pub(crate) fn next_tick(&self) -> Option<Timestamp> {
        if self.stopped.is_some() {
            return None;
        }
        let omit_ends = self.omit_ends().filter(|_| self.is_omitting());
        // A client may ask a server for a day of intervals that no observer looks at.
        if !self.setting.watched || self.spec.plan.interval.is_zero() {
            return omit_ends;
        }
        let regular = self.samples.last()?.at.after(self.spec.plan.interval.max(self.pause()));
        let regular =
            Some(regular).filter(|next| !self.in_last_interval && !self.leaves_a_sliver(*next));
        omit_ends.into_iter().chain(regular).min()
    }

    /// Whether an interval that ends `at` leaves too little for one more: that joins it.
    fn leaves_a_sliver(&self, at: Timestamp) -> bool {
        let sliver = self.spec.plan.interval / 20;
        self.time_is_up_at().is_some_and(|end| at.after(sliver) >= end)
    }

    /// Takes a sample if it is due; whether it did.
    pub(crate) fn tick(&mut self, now: Timestamp) -> bool {
        if self.next_tick().is_none_or(|next| now < next) {
            return false;
        }
        let omit_is_over = self.is_omitting() && self.omit_ends().is_some_and(|end| now >= end);
        self.in_last_interval = self.leaves_a_sliver(now);
        if self.in_last_interval && !omit_is_over {
            return false;
        }
        if omit_is_over {
            self.amount.hold();
        }
        self.keep(sample(&self.pool, &self.opened, now));
        if omit_is_over {
            self.base = self.samples.len() - 1;
            let (sent, received) = self.omitted_amounts();
            self.amount.begin(sent, received);
            if let Some(sampler) = &self.sampler {
                sampler.look();
            }
            self.factory.begin();
            self.omitted = Some(VariationReading::take(self.pool.variation()));
        }
        true
    }

    /// What the sample at the end of the omitted start counted: the units of [`Amount`] that were
    /// sent, and the bytes that were received.
    fn omitted_amounts(&self) -> (u64, u64) {
        let mut amounts = (0, 0);
        for (one, stream) in self.opened.iter().zip(&self.samples[self.base].streams) {
            match (one.sender, self.spec.plan.transport) {
                (true, Transport::Tcp) => amounts.0 += stream.counters.bytes,
                (true, Transport::Udp) => amounts.0 += stream.counters.sequence,
                (false, _) => amounts.1 += stream.counters.bytes,
            }
        }
        amounts
    }

    fn is_omitting(&self) -> bool {
        !self.spec.plan.omit.is_zero() && self.base == 0
    }

    /// Whether an amount that was asked has moved: sent and acknowledged, or received.
    pub(crate) fn has_moved_all(&self, now: Timestamp) -> bool {
        if !self.has_an_amount() || self.samples.is_empty() || self.is_omitting() {
            return false;
        }
        let received =
            self.amount.goal.as_ref().is_none_or(|goal| goal.is_reached() || self.is_dry(now));
        received && self.pool.senders_finished() && self.all_acknowledged()
    }

    /// Whether datagrams that are still missing will not come any more.
    fn is_dry(&self, now: Timestamp) -> bool {
        let latest = self.last_arrival().max(self.began().unwrap_or_default());
        self.spec.plan.transport == Transport::Udp && now.since(latest) > DRY
    }

    fn all_acknowledged(&self) -> bool {
        self.opened.iter().zip(self.pool.read()).filter(|(one, _)| one.sender).all(
            |(one, (_, _, counters))| {
                one.socket.tcp_sample().is_none_or(|tcp| tcp.acknowledged >= counters.bytes)
            },
        )
    }

    /// What becomes readable when [`Self::has_moved_all`] or [`Self::is_stuck`] may have changed.
    pub(crate) fn progress(&self) -> Vec<std::os::fd::BorrowedFd<'_>> {
        use std::os::fd::AsFd;
        let goal =
            self.amount.goal.as_ref().filter(|goal| !goal.is_reached()).map(|goal| goal.as_fd());
        let streams = (!self.pool.is_finished()).then(|| self.pool.done().as_fd());
        goal.into_iter().chain(streams).collect()
    }

    /// Takes the notification of a finished stream back.
    pub(crate) fn clear_progress(&self) {
        self.pool.done().clear();
    }

    /// Whether nothing but acknowledgements, or the last datagrams, are waited for.
    pub(crate) fn awaits_the_last(&self) -> bool {
        self.has_an_amount() && self.began().is_some()
    }

    /// Whether the test ends when all has moved: an amount that was asked, or a file.
    fn has_an_amount(&self) -> bool {
        let sends = || self.opened.iter().any(|one| one.sender);
        self.spec.plan.end.is_amount() || (self.setting.file.is_some() && sends())
    }

    /// Ends the sending; what is on its way may still arrive.
    pub(crate) fn stop(&mut self, clock: &dyn Clock) {
        if self.began().is_none() || self.stopped.is_some() {
            return;
        }
        if self.sending_ended.is_none() {
            self.pool.stop_sending();
        }
        let stopped = clock.now();
        self.stopped = Some(self.sending_ended.unwrap_or(stopped));
        self.cpu.end(stopped);
        if let Some(sampler) = &self.sampler {
            sampler.streams_stop(stopped);
        }
        let mut runtime = runtime(&self.pool.runtime_statistics(), &self.records);
        if self.spec.plan.exchange.is_some() {
            // A worker that waits in a call for what comes next has time.
            runtime.saturated.clear();
        }
        self.runtime = Some(runtime);
    }

    /// When a server gives up on a client that does not end the test: after a `grace` beyond
    /// the time that was asked (clause 2.8), else when nothing has moved for long.
    pub(crate) fn give_up_at(&self, grace: Duration) -> Option<Timestamp> {
        if let Some(end) = self.time_is_up_at() {
            return Some(end.after(grace));
        }
        Some(self.moved_last()?.after(early_end::IDLE))
    }

    /// When a receiving stream last got something; none: none receives, or not any more.
    pub(crate) fn received_last(&self) -> Option<Timestamp> {
        let receives = self.opened.iter().any(|one| !one.sender);
        let began = self.began().filter(|_| receives && self.stopped.is_none())?;
        Some(self.last_arrival().max(began))
    }

    /// For how long nothing was received.
    pub(crate) fn received_nothing_for(&self, now: Timestamp) -> Duration {
        self.received_last().map_or(Duration::ZERO, |last| now.since(last))
    }

    /// When a byte moved last.
    pub(crate) fn moved_last(&self) -> Option<Timestamp> {
        let began = self.began()?;
        let moved = self.pool.read().map(|(_, _, counters)| counters.last).max();
        Some(moved.unwrap_or_default().max(began))
    }

    /// When the sending ended; none: it goes on.
    pub(crate) const fn stopped_at(&self) -> Option<Timestamp> {
        self.stopped
    }

    /// Ends the streams on which this end sent.
    pub(crate) fn end_streams(&self) {
        self.opened.iter().filter(|one| one.sender).for_each(|one| one.socket.end_sending());
    }

    /// What this end sent on each of its sending streams.
    pub(crate) fn sent(&self) -> Vec<Sent> {
        self.pool
            .read()
            .filter(|(_, sender, _)| *sender)
            .map(|(id, _, counters)| Sent {
                id,
                bytes: counters.bytes,
                datagrams: counters.sequence,
            })
            .collect()
    }

    /// Waits for what is still on its way, then takes the last sample. `sent` is the
    /// peer's word on what it sent, if it gave it.
    pub(crate) fn finish(&mut self, sent: Option<&[Sent]>, clock: &dyn Clock) {
        self.stop(clock);
        let Some(stopped) = self.stopped else { return };
        if std::mem::replace(&mut self.finished, true) {
            return;
        }
        let is_whole = self.spec.plan.end.is_amount() || self.setting.file.is_some();
        if self.spec.plan.transport == Transport::Udp || is_whole {
            self.drain(stopped, sent, clock);
        }
        let mut last = sample(&self.pool, &self.opened, clock.now());
        last.at = self.last_arrival().max(stopped).min(last.at);
        self.keep(last);
        self.seen = self.sampler.take().map(HostSampler::finish);
    }

    /// Keeps a sample, and what lies between it and the one before.
    fn keep(&mut self, sample: Sample) {
        if let (Some(first), Some(last)) = (self.samples.first(), self.samples.last()) {
            let omitted = self.is_omitting();
            for direction in &mut self.intervals {
                direction.add(&self.records, (last, &sample), first.at, omitted);
            }
        }
        let index = self.samples.len().saturating_sub(1);
        if self.spec.plan.has_many_streams() && index > 0 && index != self.base {
            self.samples.pop();
        }
        self.samples.push(sample);
    }

    /// The least time between two looks at all streams: it takes the kernel a microsecond
    /// or two to report one, and the looks are to cost no more than a hundredth.
    pub(crate) fn pause(&self) -> Duration {
        pause(self.opened.len())
    }

    fn drain(&self, stopped: Timestamp, sent: Option<&[Sent]>, clock: &dyn Clock) {
        let patience =
            2 * self.setting.rtt + if sent.is_some() { PATIENCE } else { PATIENCE_UNTOLD };
        loop {
            let now = clock.now();
            let quiet = now.since(self.last_arrival().max(stopped));
            if self.has_all(sent) || quiet >= patience || now.since(stopped) >= LONGEST_DRAIN {
                return;
            }
            std::thread::sleep(DRAIN_LOOK.max(self.pause() / 20));
        }
    }

    fn has_all(&self, sent: Option<&[Sent]>) -> bool {
        let mut receivers = self.pool.read().filter(|(_, sender, _)| !sender);
        if self.pool.receivers_finished() {
            return true;
        }
        let Some(sent) = sent.map(by_id) else { return false };
        receivers.all(|(id, _, counters)| {
            sent.get(&id).is_some_and(|stream| {
                if self.spec.plan.transport == Transport::Udp {
                    counters.unique >= stream.datagrams
                } else {
                    counters.bytes >= stream.bytes
                }
            })
        })
    }

    fn last_arrival(&self) -> Timestamp {
        let receivers = self.pool.read().filter(|(_, sender, _)| !sender);
        receivers.map(|(_, _, counters)| counters.last).max().unwrap_or_default()
    }

    /// Ends the workers and the streams; what was measured stays.
    pub(crate) fn close(self) -> Measured {
        self.opened.iter().for_each(|one| one.socket.abort_on_close());
        self.close_in_order()
    }

    /// Ends the workers, and leaves what is unsent to the kernel.
    pub(crate) fn close_in_order(mut self) -> Measured {
        let stream_error = self.pool.stream_error();
        let seen = self.seen.take().unwrap_or_default();
        let (cpu, pacing, ipdv) = (self.cpu.usage(), self.pacing(), self.ipdv());
        let span = self.span();
        // A worker that failed has left its streams' counters; the control connection
        // shows the rest.
        _ = self.pool.close();
        Measured {
            side: self.setting.side,
            plan: self.spec.plan,
            records: self.records,
            samples: self.samples,
            intervals: self.intervals,
            base: self.base,
            stopped: self.stopped,
            cpu,
            runtime: self.runtime,
            pacing,
            peer_pacing: None,
            ipdv: (ipdv, None),
            engines: self.factory.engines(),
            peer_engines: Engines::default(),
            round_trips: self.factory.round_trips(span),
            probes: self.factory.probes(),
            host: seen.host,
            pulses: seen.pulses,
            stream_error: stream_error
                .map(|(id, error)| format!("stream {id} broke: {}", crate::reason(&error))),
        }
    }

    /// How long this end sent, the omitted start left out.
    fn span(&self) -> Duration {
        let base = self.samples.get(self.base).map(|sample| sample.at);
        self.stopped.zip(base).map_or(Duration::ZERO, |(stopped, base)| stopped.since(base))
    }

    /// How this end's senders kept the rate that was asked; none: none was, or they have
    /// hardly begun.
    fn pacing(&self) -> Option<PacingReport> {
        let rate = self.spec.plan.options.rate?;
        let senders = self.opened.iter().filter(|one| one.sender).count();
        let tallies: Vec<_> = self.pool.pacing().collect();
        let manner = (self.spec.plan.options.pacing, self.way);
        dataplane::pacing_report(&tallies, u32::try_from(senders).ok()?, rate, manner)
    }

    /// The delay variation of datagrams that this end received, the omitted start left out.
    fn ipdv(&self) -> Option<DelayVariation> {
        VariationReading::take(self.pool.variation()).since(self.omitted.as_ref())
    }

    /// The streams as they were opened.
    pub(crate) fn streams(&self) -> &[StreamRecord] {
        &self.records
    }

    /// The socket buffer that was asked for and the smaller one that a stream has, as
    /// getsockopt(2) reports it: the kernel doubles what it grants.
    pub(crate) fn clamped_window(&self) -> Option<(ByteSize, ByteSize)> {
        let asked = self.spec.plan.options.window?;
        let buffers = self.records.iter().flat_map(|s| [s.send_buffer, s.receive_buffer]).flatten();
        buffers.min().filter(|got| *got < asked).map(|got| (asked, got))
    }

    /// What was measured so far.
    pub(crate) fn course(&self) -> Course<'_> {
        Course {
            plan: &self.spec.plan,
            streams: &self.records,
            samples: &self.samples,
            intervals: &self.intervals,
            // As long as it lasts, all there is belongs to the omitted start.
            base: if self.is_omitting() { self.samples.len() } else { self.base },
            stopped: self.stopped,
            cpu: self.cpu.usage(),
        }
    }
}

/// Workers on the CPUs that were named, or on any that the process may run on.
fn pool(
    streams: Vec<OpenStream>,
    spread: Spread,
    factory: &EngineFactory,
    setting: &Setting,
    is_wanted: &mut dyn FnMut() -> bool,
) -> Result<Pool, SessionError> {
    let pin = !setting.pinned.is_empty();
    let cpus = setting.cpus().map_err(SessionError::system("the list of CPUs"))?;
    let memory = factory.memory(&streams);
    let pool = Pool::prepare(streams, memory, &cpus, pin, spread, is_wanted);
    pool.map_err(|error| match error.kind() {
        ErrorKind::Interrupted => SessionError::Interrupted,
        _ => SessionError::system("worker threads")(error),
    })
}

/// The streams as they are, every setting read back, with the worker of each.
fn records(
    spec: &RunSpec,
    opened: &[Opened],
    engines: &Engines,
    (pool, setting): (&Pool, &Setting),
) -> Result<Vec<StreamRecord>, SessionError> {
    let record = |(index, one): (usize, &Opened)| {
        let engine = if one.sender { &engines.send } else { &engines.receive };
        let engine = engine.as_ref().map(|engine| engine.name.clone()).unwrap_or_default();
        let mut record =
            one.record(spec.block, &engine).map_err(SessionError::system("a stream's settings"))?;
        let worker = pool.mpu_of(index);
        record.worker = u32::try_from(worker).ok();
        record.cpu = setting.pinned.get(worker).and_then(|cpu| u32::try_from(*cpu).ok());
        Ok(record)
    };
    opened.iter().enumerate().map(record).collect()
}

/// Samples this host meanwhile, if that is wanted.
fn sampler(setting: &Setting, pool: &Pool, block: ByteSize, streams: usize) -> Option<HostSampler> {
    let test = SampledTest::new(setting.sampled?, pool, block, pause(streams) / PARTS_OF_A_LOOK);
    HostSampler::start(SampledTest { perf: setting.perf.clone(), ..test })
}

/// The least time between two looks at so many streams.
fn pause(streams: usize) -> Duration {
    EACH_LOOK * u32::try_from(streams).unwrap_or(u32::MAX)
}

/// For tests of many streams: each is looked up.
fn by_id(streams: &[Sent]) -> HashMap<u32, &Sent> {
    streams.iter().map(|stream| (stream.id, stream)).collect()
}

/// The counters of a stream are read so many times faster than what the kernel reports of it.
const PARTS_OF_A_LOOK: u32 = 10;
/// What one stream adds to the time between two looks at all.
const EACH_LOOK: Duration = Duration::from_micros(100);
/// How long the last datagrams may be late, beside two round trips.
const PATIENCE: Duration = Duration::from_millis(200);
/// How long they may be late when the number sent is not known: most tests then wait in vain.
const PATIENCE_UNTOLD: Duration = Duration::from_millis(50);
const DRAIN_LOOK: Duration = Duration::from_millis(1);
/// iperf3 waits 10 s for results (clause 2.8).
const LONGEST_DRAIN: Duration = Duration::from_secs(5);
/// After so long without a datagram the rest of an amount is lost.
const DRY: Duration = Duration::from_secs(2);
