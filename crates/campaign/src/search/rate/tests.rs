//! The search on paths of known properties.

use measurement::plan::PlanDraft;
use measurement::{
    DatagramLedger, DirectionOutcome, Pacing, PacingReport, PacingWay, Pulse, Quantiles,
    RateSearchEnd, Sample, TestRecord, Throughput, Timestamp,
};
use session::SessionError;

use super::*;
use crate::search::tests::{ended, failed, plan, rate, run};
use crate::search::{Repeat, Search};

/// A path, and a sender in front of it; rates in bit/s of payload.
#[derive(Clone, Copy)]
struct Path {
    /// What passes.
    rate: f64,
    /// Seconds that its queue holds.
    queue: f64,
    /// Share that is lost at any rate.
    loss: f64,
    /// What the sender can send.
    sender: f64,
}

const PATH: Path = Path { rate: 100e6, queue: 0.005, loss: 0.0, sender: 1e12 };

impl Path {
    /// The record of a test of UDP at the rate of its plan.
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "it saturates")]
    fn record(&self, task: &Task) -> TestRecord {
        let plan = &task.row.plan;
        let End::Time(time) = plan.end else { panic!("{plan:?}") };
        let seconds = time.as_secs_f64();
        let asked = plan.asked().expect("a rate").bits_per_second() as f64;
        let sent = asked.min(self.sender) * seconds;
        let queued = (sent - self.rate * seconds).clamp(0.0, self.rate * self.queue);
        let passed = sent.min(self.rate * seconds + queued);
        let arrived = passed * (1.0 - self.loss);
        let mut record = ended(measurement::outcome::Ending::Completed);
        record.plan = plan.clone();
        let at = |span: Duration| Timestamp::default().after(span);
        record.samples = vec![Sample { at: at(Duration::ZERO), streams: Vec::new() }];
        record.stopped = Some(at(time));
        let late = Duration::from_secs_f64(queued / self.rate);
        let count = |bits: f64| (bits / 11_776.0).round() as u64;
        record.outcome.directions = vec![DirectionOutcome {
            asked: plan.asked(),
            offered: Some(Throughput::over((sent / 8.0) as u64, time)),
            delivered: Some(Throughput::over((arrived / 8.0) as u64, time + late)),
            datagrams: Some(DatagramLedger {
                sent: count(sent),
                received: count(arrived),
                lost: count(sent) - count(arrived),
                ..DatagramLedger::default()
            }),
            ..DirectionOutcome::unknown(Direction::Send)
        }];
        record
    }

    /// What a search finds for a row of `seconds`, after TCP at some rate.
    fn found(&self, seconds: u64, tcp: Option<u64>) -> Found {
        found(seconds, tcp, |task| self.record(task))
    }
}

/// What a search finds for a row of `seconds`, after TCP at some rate, by trials that `record`
/// tells.
fn found(seconds: u64, tcp: Option<u64>, mut record: impl FnMut(&Task) -> TestRecord) -> Found {
    let mut draft = PlanDraft::new(Transport::Udp, Direction::Send);
    draft.end = End::Time(Duration::from_secs(seconds));
    let row = PlannedRow::of_plan(draft.check().expect("a plan")).at_the_rate_without_loss();
    let first = tcp.map(|_| PlannedRow::of_plan(plan(Transport::Tcp)));
    let mut search = Repeat::once(first.into_iter().chain([row]).collect());
    let (done, end) = run(&mut search, |task| {
        Ok(if task.row.plan.transport == Transport::Tcp {
            TestRecord { plan: task.row.plan.clone(), ..rate(tcp.expect("asked")) }
        } else {
            record(task)
        })
    });
    assert_eq!(end, Next::Done);
    let last = done.last().expect("a row");
    let End::Time(time) = last.task.row.plan.end else { panic!("{last:?}") };
    let spent = done.iter().filter(|trial| !trial.task.purpose.is_result());
    let spent = spent.map(|trial| trial.took).sum();
    let RowRate::Found(search) = last.task.row.rate.clone() else { panic!("{last:?}") };
    Found { search: *search, time, spent }
}

struct Found {
    search: RateSearch,
    /// Of the row.
    time: Duration,
    /// For trials.
    spent: Duration,
}

impl Found {
    fn held(&self) -> f64 {
        self.search.held.bits_per_second() as f64
    }

    /// The trials in short.
    fn told(&self) -> String {
        let trials = self.search.trials.iter();
        let trials: Vec<_> = trials
            .map(|trial| format!("{} {} {:.4}", trial.asked, trial.arrived, trial.loss))
            .collect();
        format!("{} {:?} of {trials:#?}", self.search.held, self.search.end)
    }

    fn is_near(&self, rate: f64) -> bool {
        (0.95 * rate..=1.005 * rate).contains(&self.held())
    }
}

#[test]
fn a_rate_limit_is_found_within_five_percent() {
    for queue in [0.0, 0.005, 0.05, 0.2] {
        for (limit, tcp) in [
            (100e6, None),
            (100e6, Some(95_600_000)),
            (100e6, Some(60_000_000)),
            (3e6, None),
            (937e6, None),
            (937e6, Some(930_000_000)),
            (9.7e9, Some(9_400_000_000)),
        ] {
            let path = Path { rate: limit, queue, ..PATH };
            let found = path.found(5, tcp);
            let Found { search, spent, time } = &found;
            assert!(found.is_near(limit), "{limit} {queue} {tcp:?}: {}", found.told());
            assert_eq!(search.end, RateSearchEnd::Loss, "{}", found.told());
            let above = search.next_above().expect("a rate that failed");
            assert!(above.asked > search.held && search.trials.len() <= 11, "{}", found.told());
            assert!(*spent <= Duration::from_secs(2) && *spent + *time <= Duration::from_secs(5));
        }
    }
}

#[test]
fn what_was_tried_above_is_kept_as_evidence_that_nobody_asked_for() {
    let found = PATH.found(5, Some(95_000_000));
    let above = found.search.above.as_ref().expect("a trial that failed");
    assert!(above.outcome.directions[0].asked.is_none());
    assert!(above.plan.asked() > Some(found.search.held));
}

#[test]
fn loss_by_chance_is_no_limit() {
    for tcp in [None, Some(20_000_000), Some(90_000_000)] {
        let found = Path { rate: 1e9, loss: 0.01, ..PATH }.found(5, tcp);
        let floor = found.search.floor.expect("slow trials lose as well");
        assert!((0.005..0.02).contains(&floor), "{floor}");
        let least = tcp.map_or(10e6, |rate| rate as f64);
        assert!(found.held() >= 0.99 * least, "{}", found.told());
    }
}

#[test]
fn a_sender_at_its_limit_is_the_answer() {
    for (sender, tcp) in [(5e9, Some(20_000_000_000)), (5e9, None), (600e6, Some(900_000_000))] {
        let found = Path { rate: 1e12, sender, ..PATH }.found(5, tcp);
        assert!(found.is_near(sender), "{}", found.told());
        assert_eq!(found.search.end, RateSearchEnd::Sender);
        let shown = found.search.next_above().expect("the trial that shows it");
        assert!(shown.sent < shown.asked);
    }
}

#[test]
fn a_sender_that_single_datagrams_are_too_slow_for_sends_pieces() {
    let (single, path) = (500e6, Path { rate: 940e6, ..PATH });
    for tcp in [None, Some(900_000_000)] {
        let mut pieces = Vec::new();
        let found = found(5, tcp, |task| {
            pieces.push(task.row.pieces);
            let sender = if task.row.pieces { 1e12 } else { single };
            Path { sender, ..path }.record(task)
        });
        assert!(found.is_near(940e6), "{}", found.told());
        assert_eq!(found.search.end, RateSearchEnd::Loss, "{}", found.told());
        assert!(!pieces[0] && pieces[pieces.len() - 1], "{pieces:?}");
    }
}

#[test]
fn a_path_without_a_limit_ends_in_time() {
    let found = Path { rate: 1e30, sender: 1e30, ..PATH }.found(5, None);
    assert!(found.spent <= Duration::from_secs(2), "{:?}", found.spent);
    assert_eq!(found.search.end, RateSearchEnd::Time);
    assert!(found.search.above.is_none());
}

#[test]
fn nothing_that_arrives_ends_the_search_soon() {
    let found = Path { rate: 0.001, queue: 0.0, ..PATH }.found(5, None);
    assert!(found.search.trials.len() <= MOST_FAILED, "{}", found.told());
    assert!(found.held() <= START);
}

#[test]
fn short_rows_have_short_trials() {
    for seconds in [1, 2] {
        let found = PATH.found(seconds, Some(95_000_000));
        assert!(found.time * 2 >= Duration::from_secs(seconds));
        assert!(found.spent <= Duration::from_secs(seconds) / 2, "{:?}", found.spent);
        assert!(found.is_near(100e6), "{}", found.told());
    }
}

#[test]
fn streams_share_the_rate() {
    let mut draft = PlanDraft::new(Transport::Udp, Direction::Send);
    draft.streams = 4;
    let row = PlannedRow::of_plan(draft.check().expect("a plan")).at_the_rate_without_loss();
    let (done, _) = run(&mut Repeat::once(vec![row]), |task| Ok(PATH.record(task)));
    let plan = &done.last().expect("a row").task.row.plan;
    let each = plan.options.rate.expect("found").bits_per_second();
    assert!((23_750_000..=25_000_000).contains(&each), "{each}");
}

#[test]
fn a_rate_that_was_asked_is_not_searched() {
    let row =
        PlannedRow::of_plan(crate::search::tests::plan_at(70_000_000)).at_the_rate_without_loss();
    assert_eq!(row.rate, RowRate::Planned);
    let row = PlannedRow::of_plan(plan(Transport::Tcp)).at_the_rate_without_loss();
    assert_eq!(row.rate, RowRate::Planned);
}

#[test]
fn a_trial_that_fails_ends_the_search_and_names_the_row() {
    let row = PlannedRow::of_plan(plan(Transport::Udp)).at_the_rate_without_loss();
    let mut search = Repeat::once(vec![row.clone(), row]);
    let mut left = 2;
    let (done, end) = run(&mut search, |task| -> Result<TestRecord, SessionError> {
        left -= 1;
        if left > 0 { Ok(PATH.record(task)) } else { failed() }
    });
    assert_eq!((done.len(), end), (2, Next::Stop));
    assert_eq!(search.remaining(&done).len(), 2);
}

#[test]
fn repeated_runs_start_from_what_was_found_and_have_one_summary() {
    let row = PlannedRow::of_plan(plan(Transport::Udp)).at_the_rate_without_loss();
    let mut search = Repeat::new(vec![row], 2);
    let (done, _) = run(&mut search, |task| {
        let mut record = PATH.record(task);
        if let RowRate::Found(search) = &task.row.rate {
            record.trials.rate = Some((**search).clone());
        }
        Ok(record)
    });
    let rows: Vec<_> = done.iter().filter(|trial| trial.task.purpose.is_result()).collect();
    let trials = |trial: &Trial| {
        trial
            .result
            .as_ref()
            .map_or(0, |record| record.trials.rate.as_ref().map_or(0, |search| search.trials.len()))
    };
    assert!(trials(rows[1]) < trials(rows[0]), "{} {}", trials(rows[1]), trials(rows[0]));
    let records = rows.iter().filter_map(|trial| trial.result.as_ref().ok().cloned());
    let mut records = measurement::RecordSet::new(records.collect());
    search.conclude(&mut records);
    assert_eq!(records.summaries[0].runs, 2);
}

/// The record of a trial whose sender had no CPU for a share of the time.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "it saturates")]
fn hogged(path: &Path, task: &Task, share: f64) -> TestRecord {
    let mut record = path.record(task);
    let outcome = &mut record.outcome.directions[0];
    let (asked, offered) = (task.row.plan.asked().expect("a rate"), outcome.offered.expect("sent"));
    let less =
        |all: Throughput| Throughput::over((all.bytes as f64 * (1.0 - share)) as u64, all.span);
    outcome.offered = Some(less(offered));
    outcome.delivered = outcome.delivered.map(less);
    outcome.pacing = Some(PacingReport {
        asked,
        achieved: less(offered).rate,
        achieved_outside_stalls: asked,
        sending: offered.span,
        stalled: offered.span.mul_f64(share),
        stalls: 9,
        pacing: Pacing::Smooth,
        way: PacingWay::Timer,
        forgone: Duration::ZERO,
        batches: Quantiles::default(),
        gap_error_nanos: Quantiles::default(),
        lateness: Vec::new(),
        spin_share: 0.0,
    });
    record
}

#[test]
fn a_sender_that_had_no_cpu_for_a_while_is_tried_again() {
    for tcp in [None, Some(95_000_000)] {
        let mut trials = 0;
        let found = found(5, tcp, |task| {
            trials += 1;
            hogged(&PATH, task, if trials % 4 == 1 { 0.8 } else { 0.0 })
        });
        assert!(found.is_near(100e6), "{tcp:?}: {}", found.told());
        assert_eq!(found.search.end, RateSearchEnd::Loss);
    }
}

#[test]
fn a_sender_that_never_has_its_cpu_holds_what_tcp_got() {
    let found = found(5, Some(60_000_000), |task| hogged(&PATH, task, 0.8));
    assert!((57e6..=101e6).contains(&found.held()), "{}", found.told());
}

/// A path that passes more than its rate until a bucket of tokens is empty; in bits, and bit/s.
struct Bucket {
    rate: f64,
    size: f64,
    tokens: f64,
}

impl Bucket {
    fn full(rate: f64, size: f64) -> Self {
        Self { rate, size, tokens: size }
    }

    /// The record of a trial whose sender has no CPU for `idle` of the time, in each tenth of a
    /// second.
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "it saturates")]
    fn record(&mut self, task: &Task, idle: f64) -> TestRecord {
        let mut record = hogged(&Path { rate: 1e12, ..PATH }, task, idle);
        let outcome = &mut record.outcome.directions[0];
        let sent = outcome.offered.expect("sent");
        let steps = (sent.span.as_secs_f64() * 100.0).round();
        let each = sent.bytes as f64 * 8.0 / steps;
        let mut bytes = Vec::new();
        for step in 0..steps as usize {
            self.refill(0.01);
            let passed = each.min(self.tokens);
            self.tokens -= passed;
            if step % 10 == 0 {
                bytes.push(0);
            }
            *bytes.last_mut().expect("one") += (passed / 8.0) as u64;
        }
        self.refill(BETWEEN_TRIALS);
        let arrived: u64 = bytes.iter().sum();
        outcome.delivered = Some(Throughput::over(arrived, sent.span));
        let all = outcome.datagrams.as_mut().expect("datagrams");
        all.sent = (sent.bytes as f64 * 8.0 / 11_776.0).round() as u64;
        all.received = (all.sent as f64 * arrived as f64 / sent.bytes as f64).round() as u64;
        all.received = all.received.min(all.sent);
        all.lost = all.sent - all.received;
        let every = Duration::from_millis(100);
        record.reported.pulses = vec![Pulse { sender: false, every, bytes }];
        record
    }

    fn refill(&mut self, seconds: f64) {
        self.tokens = (self.tokens + self.rate * seconds).min(self.size);
    }
}

/// Seconds between two trials, in which a token bucket fills.
const BETWEEN_TRIALS: f64 = 0.05;

#[test]
fn what_a_bucket_of_tokens_lets_pass_is_not_held() {
    for tcp in [None, Some(95_000_000)] {
        let mut bucket = Bucket::full(100e6, 100e6);
        let found = found(5, tcp, |task| bucket.record(task, 0.0));
        assert!(found.held() <= 1.3 * bucket.rate, "{tcp:?}: {}", found.told());
        assert!(found.held() >= 0.7 * bucket.rate, "{tcp:?}: {}", found.told());
    }
}

#[test]
fn a_confirmation_that_a_busy_cpu_disturbed_caps_the_rate() {
    for (tcp, size, idle) in [(None, 96e6, 0.6), (None, 96e6, 0.9), (Some(95_000_000), 200e6, 0.8)]
    {
        let mut bucket = Bucket::full(100e6, size);
        let mut passed: f64 = 0.0;
        let found = found(5, tcp, |task| {
            let End::Time(time) = task.row.plan.end else { panic!("{task:?}") };
            let is_long = time > USUAL;
            let record = bucket.record(task, if is_long { idle } else { 0.0 });
            if is_long {
                let arrived = record.outcome.directions[0].delivered.expect("it").rate;
                passed = passed.max(arrived.bits_per_second() as f64);
            }
            record
        });
        let most = passed.max(tcp.unwrap_or(0) as f64);
        assert!(found.held() <= 1.01 * most, "{tcp:?} {size} {idle}: {most} {}", found.told());
        assert!(found.search.trials.len() > 1, "{}", found.told());
    }
}

#[test]
fn a_confirmation_that_was_disturbed_once_is_repeated_as_long() {
    let mut hogs = 0;
    let mut lengths = Vec::new();
    let found = found(5, Some(95_000_000), |task| {
        let End::Time(time) = task.row.plan.end else { panic!("{task:?}") };
        let is_first_confirmation = time >= CONFIRMS && hogs == 0;
        hogs += u32::from(is_first_confirmation);
        lengths.push((task.row.plan.asked(), time));
        hogged(&PATH, task, if is_first_confirmation { 0.8 } else { 0.0 })
    });
    assert!(found.is_near(100e6), "{}", found.told());
    let rate = lengths.iter().find(|(_, time)| *time >= CONFIRMS).expect("one").0;
    let again = lengths.iter().filter(|trial| **trial == (rate, CONFIRMS));
    assert_eq!(again.count(), 2, "{lengths:?}");
}
