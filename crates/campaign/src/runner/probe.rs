//! The round-trip time under load: a probe before, during and after a test.
//!
//! ```text
//!   probe   . . . . . . . . . . . . . . . . . . . . . . . . .
//!   test              |-- omitted --|-------------|
//!            idle                    loaded           idle again: clocks compared
//! ```

use std::time::Duration;

use linux::event::StopSignals;
use measurement::plan::PlanDraft;
use measurement::{
    Bufferbloat, Direction, End, Exchange, Loaded, Probe, Responsiveness, RoundTrips, StreamRecord,
    StreamSample, TestPlan, TestRecord, Timestamp, Transport,
};
use session::SessionError;
use session::client::{Request, Watching};

use super::companion::{self, Companion, Together};

mod one_way;

/// A probe that runs beside a test.
#[derive(Clone, Debug)]
pub(super) struct LatencyProbe {
    /// The server, and how it is reached; its plan is the probe's.
    request: Request,
    /// Time from one request to the next.
    every: Duration,
}

impl LatencyProbe {
    /// A probe of the server of `request` over UDP, one request each `every`.
    ///
    /// # Errors
    /// [`measurement::plan::PlanError`] for a time that is too short or too long.
    pub(super) fn new(
        request: &Request,
        every: Duration,
    ) -> Result<Self, measurement::plan::PlanError> {
        let plan = plan(every, &request.plan)?;
        let mut request = Request { plan, ..request.clone() };
        // The test beside it is watched.
        request.options.watching = Watching::Nothing;
        Ok(Self { request, every })
    }

    /// How long the probe runs alone before the test.
    fn idle(&self) -> Duration {
        idle(self.every)
    }
}

fn idle(every: Duration) -> Duration {
    (every * LEAST_PROBES).clamp(IDLE, LONGEST_IDLE)
}

/// A probe that lasts as long as `test`, and what comes before and after it.
fn plan(every: Duration, test: &TestPlan) -> Result<TestPlan, measurement::plan::PlanError> {
    let mut draft = PlanDraft::new(Transport::Udp, Direction::Send);
    draft.end = match test.end {
        // Servers may have a limit to the time of a test.
        End::Time(time) => End::Time(idle(every) + test.omit + time + AROUND),
        End::Bytes(_) | End::Blocks(_) | End::Open => End::Open,
    };
    draft.interval = Duration::ZERO;
    draft.exchange = Some(Exchange::probe(every));
    draft.check()
}

/// Runs `test` with a probe beside it; the record gets the probe's round-trip times.
///
/// # Errors
/// Why the probe could not begin, or why the test could not.
pub(super) fn run_beside(
    probe: &LatencyProbe,
    interrupts: Option<&StopSignals>,
    test: impl FnOnce() -> Result<TestRecord, SessionError>,
) -> Result<TestRecord, SessionError> {
    let companion = Companion {
        request: &probe.request,
        before: probe.idle(),
        after: AFTERWARDS,
        refused: &|error| error,
    };
    let Together { mut record, beside, asked } = companion::run(&companion, interrupts, test)?;
    match beside {
        Ok(times) => join(&mut record, &times, asked, probe.every),
        Err(error) => record.outcome.notes.push(format!("the probe beside it failed: {error}")),
    }
    Ok(record)
}

/// Adds to the record of a test the round-trip times of its probe; the server was `asked` for the
/// test then.
fn join(record: &mut TestRecord, probe: &TestRecord, asked: Timestamp, every: Duration) {
    let base = record.samples.get(record.base).map(|sample| sample.at).or(record.start);
    // Both records were measured here just now: where these are not known nothing was sent.
    let (Some(base), Some(stopped), Some(start)) = (base, record.stopped, probe.start) else {
        return;
    };
    let between = |from: Timestamp, to: Timestamp| {
        let from_first = probe.probes.partition_point(|one| one.sent < from);
        let to_last = probe.probes.partition_point(|one| one.sent < to);
        &probe.probes[from_first..to_last.max(from_first)]
    };
    let warm = start.after(WARM_UP);
    let (idle, loaded) = (between(warm, asked), between(base, stopped));
    let after: &[Probe] = between(stopped.after(SETTLE), Timestamp::from_nanos(u64::MAX));
    let answered: Vec<_> = loaded.iter().filter_map(|probe| probe.round_trip).collect();
    let mut latency = Loaded {
        every,
        idle: RoundTrips::from_probes(idle, asked.since(warm)),
        loaded: RoundTrips::from_probes(loaded, stopped.since(base)),
        one_way: one_way::estimate(idle, loaded, after),
        grade: None,
        responsiveness: Responsiveness::from_times(&answered, &carrying(record, base, stopped)),
    };
    latency.grade = Bufferbloat::of(std::iter::once(&latency)).map(|bloat| bloat.grade());
    record.outcome.latency = Some(latency);
    record.probes.clone_from(&probe.probes);
}

/// Round-trip times of the connections that carried the load, as the kernel of this end estimates
/// them; empty for UDP.
fn carrying(record: &TestRecord, base: Timestamp, stopped: Timestamp) -> Vec<Duration> {
    let during = record.samples.iter().filter(|sample| sample.at > base && sample.at <= stopped);
    let time = |(one, stream): (&StreamSample, &StreamRecord)| {
        // One that only receives has no segments whose acknowledgements it could time.
        let tcp = one.tcp?;
        Some(if stream.sender { tcp.rtt_micros } else { tcp.receiver_rtt_micros })
    };
    let times = during.flat_map(|sample| sample.streams.iter().zip(&record.streams).map(time));
    let known = times.flatten().filter(|micros| *micros > 0);
    known.map(|micros| Duration::from_micros(micros.into())).collect()
}

/// Before the test.
const IDLE: Duration = Duration::from_secs(1);
const LEAST_PROBES: u32 = 50;
const LONGEST_IDLE: Duration = Duration::from_secs(5);
/// For both tests to be opened, and for the clocks afterwards.
const AROUND: Duration = Duration::from_secs(5);
/// The first answers wait for caches of addresses and routes.
const WARM_UP: Duration = Duration::from_millis(100);
/// After the test, for the clocks.
const AFTERWARDS: Duration = Duration::from_millis(600);
/// Until the queues are empty again.
const SETTLE: Duration = Duration::from_millis(100);
