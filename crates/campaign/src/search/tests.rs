//! Helpers of the strategies' tests: plans, scripted results, and a driver without a network.

use std::time::Duration;

use measurement::outcome::Ending;
use measurement::plan::PlanDraft;
use measurement::record::StreamRecord;
use measurement::{
    BitRate, ByteSize, DatagramLedger, Direction, DirectionOutcome, End, EngineUse, Engines,
    TestPlan, TestRecord, Throughput, Transport,
};
use session::SessionError;

use super::{Next, Search, Task, Trial};

/// A plan that sends.
pub(super) fn plan(transport: Transport) -> TestPlan {
    PlanDraft::new(transport, Direction::Send).check().expect("a plan")
}

/// A complete test that delivered so many bit/s, of whose engines both ends report.
pub(super) fn rate(bits_per_second: u64) -> TestRecord {
    let mut record = ended(Ending::Completed);
    let rate = BitRate::from_bits_per_second(bits_per_second);
    let span = Duration::from_secs(1);
    let delivered = Throughput { bytes: bits_per_second / 8, span, rate };
    let used = Some(EngineUse::default());
    record.outcome.directions = vec![DirectionOutcome {
        delivered: Some(delivered),
        engines: Engines { send: used.clone(), receive: used },
        ..DirectionOutcome::unknown(Direction::Send)
    }];
    record
}

/// A test that gave a record and ended like that.
pub(super) fn ended(ending: Ending) -> TestRecord {
    let mut record = TestRecord::imported(plan(Transport::Tcp), "a script");
    record.outcome.ending = ending;
    record
}

/// A plan that sends UDP at so many bit/s.
pub(super) fn plan_at(bits_per_second: u64) -> TestPlan {
    let mut draft = PlanDraft::new(Transport::Udp, Direction::Send);
    draft.options.rate = Some(BitRate::from_bits_per_second(bits_per_second));
    draft.check().expect("a plan")
}

/// A complete test of UDP at the rate of its plan, judged, of which the path lost so many bit/s of
/// that rate.
pub(super) fn udp(task: &Task, lost: impl FnOnce(u64) -> u64) -> TestRecord {
    let plan = &task.row.plan;
    let asked = plan.options.rate.expect("a rate");
    let sent = asked.bits_per_second();
    let lost = lost(sent);
    let mut record = ended(Ending::Completed);
    record.plan = plan.clone();
    record.origin.question = task.purpose.question().map(str::to_owned);
    record.streams = vec![stream()];
    let datagrams = |bits: u64| bits * 10 / 8 / BLOCK;
    record.outcome.directions = vec![DirectionOutcome {
        asked: Some(asked),
        offered: Some(Throughput::over(sent * 10 / 8, TIME)),
        delivered: Some(Throughput::over((sent - lost) * 10 / 8, TIME)),
        datagrams: Some(DatagramLedger {
            sent: datagrams(sent),
            received: datagrams(sent) - datagrams(lost),
            lost: datagrams(lost),
            ..DatagramLedger::default()
        }),
        ..DirectionOutcome::unknown(Direction::Send)
    }];
    crate::judge(&mut record);
    record
}

fn stream() -> StreamRecord {
    StreamRecord::unknown(1, true, ByteSize::from_bytes(BLOCK))
}

/// A test that gave no record.
pub(super) fn failed() -> Result<TestRecord, SessionError> {
    Err(SessionError::Interrupted)
}

/// Drives a search with scripted results; what was run, and how the search ended.
pub(super) fn run(
    search: &mut dyn Search,
    mut script: impl FnMut(&Task) -> Result<TestRecord, SessionError>,
) -> (Vec<Trial>, Next) {
    let mut done = Vec::new();
    loop {
        match search.next(&done) {
            Next::Run(task) => {
                let result = script(&task);
                let took = match task.row.plan.end {
                    End::Time(time) => time,
                    End::Bytes(_) | End::Blocks(_) | End::Open => Duration::ZERO,
                };
                done.push(Trial { task, result, took });
            }
            end => return (done, end),
        }
    }
}

/// The titles of all that is run.
pub(super) fn titles(
    search: &mut dyn Search,
    script: impl FnMut(&Task) -> Result<TestRecord, SessionError>,
) -> Vec<String> {
    run(search, script).0.iter().map(|trial| trial.task.title()).collect()
}

const BLOCK: u64 = 1_250;
const TIME: Duration = Duration::from_secs(10);
