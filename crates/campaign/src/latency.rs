//! What a test does to the round-trip time: a probe that goes before, during and after it.
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
    Direction, End, Exchange, Loaded, Probe, RoundTrips, TestPlan, TestRecord, Timestamp, Transport,
};
use session::SessionError;
use session::client::{Request, Watching};

use crate::beside::{self, Companion, Together};

mod one_way;

/// A probe that goes beside a test.
#[derive(Clone, Debug)]
pub struct Beside {
    /// The server, and how it is reached; its plan is the probe's.
    request: Request,
    every: Duration,
}

impl Beside {
    /// One that asks the server of `request` each `every` over UDP.
    ///
    /// # Errors
    /// [`measurement::plan::PlanError`] for a time that is too short or too long.
    pub fn new(request: &Request, every: Duration) -> Result<Self, measurement::plan::PlanError> {
        let plan = plan(every, &request.plan)?;
        let mut request = Request { plan, ..request.clone() };
        // The test beside it is watched.
        request.options.watching = Watching::Nothing;
        Ok(Self { request, every })
    }

    /// How long nothing else is to move before the test.
    pub fn idle(&self) -> Duration {
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

/// Runs `test` with a probe beside it; its record tells how long the answers took.
///
/// # Errors
/// Why the probe could not begin, or why the test could not.
pub fn run_beside(
    beside: &Beside,
    interrupts: Option<&StopSignals>,
    test: impl FnOnce() -> Result<TestRecord, SessionError>,
) -> Result<TestRecord, SessionError> {
    let companion = Companion {
        request: &beside.request,
        before: beside.idle(),
        after: AFTERWARDS,
        refused: &|error| error,
    };
    let Together { mut record, beside: probe, asked } = beside::run(&companion, interrupts, test)?;
    match probe {
        Ok(probe) => join(&mut record, &probe, asked, beside.every),
        Err(error) => record.outcome.notes.push(format!("the probe beside it failed: {error}")),
    }
    Ok(record)
}

/// Adds to the record of a test, which was `asked` for then, what its probe found.
fn join(record: &mut TestRecord, probe: &TestRecord, asked: Timestamp, every: Duration) {
    let base = record.samples.get(record.base).map_or(record.start, |sample| sample.at);
    let between = |from: Timestamp, to: Timestamp| {
        let from_first = probe.probes.partition_point(|one| one.sent < from);
        let to_last = probe.probes.partition_point(|one| one.sent < to);
        &probe.probes[from_first..to_last.max(from_first)]
    };
    let warm = probe.start.after(WARM_UP);
    let (idle, loaded) = (between(warm, asked), between(base, record.stopped));
    let after: &[Probe] = between(record.stopped.after(SETTLE), Timestamp::from_nanos(u64::MAX));
    record.outcome.latency = Some(Loaded {
        every,
        idle: RoundTrips::of_probes(idle, asked.since(warm)),
        loaded: RoundTrips::of_probes(loaded, record.stopped.since(base)),
        one_way: one_way::of(idle, loaded, after),
    });
    record.probes.clone_from(&probe.probes);
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
