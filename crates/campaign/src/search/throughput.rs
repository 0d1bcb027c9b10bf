//! The search for throughput (RFC 9971): runs the trials that `analysis::search` chooses, and makes
//! its record.

use std::collections::BTreeMap;
use std::time::Duration;

use analysis::search::{NextTrial, SearchLimits, ThroughputSearch, limit, remarks};
use measurement::outcome::Ending;
use measurement::plan::PlanDraft;
use measurement::{
    BitRate, ByteSize, End, GoalResult, Heading, Pacing, RateSearch, RateSearchEnd, RateTrial,
    SearchGoal, SearchLimit, SearchRecord, SearchTrial, TestPlan, TestRecord, Transport,
    TrialPurpose,
};

use super::{Next, PlannedRow, Purpose, Search, Task, Trial};

mod delay;
mod facts;

/// A search for the highest loads that a path carries with at most the loss of each goal.
#[derive(Clone, Debug)]
pub struct Throughput {
    plan: TestPlan,
    goals: Vec<SearchGoal>,
    limits: SearchLimits,
    trials: Vec<SearchTrial>,
    /// Those of the trials, in their order.
    records: Vec<TestRecord>,
    /// The trial that runs.
    due: Option<NextTrial>,
    /// A test failed, or its peer did not report what arrived.
    is_broken: bool,
}

impl Throughput {
    /// A search with trials like `plan`, whose rate and end do not count.
    pub fn new(plan: TestPlan, goals: Vec<SearchGoal>, limits: SearchLimits) -> Self {
        let (trials, records) = (Vec::new(), Vec::new());
        Self { plan, goals, limits, trials, records, due: None, is_broken: false }
    }

    /// The trials that have ended.
    pub fn trials(&self) -> &[SearchTrial] {
        &self.trials
    }

    /// Whether the last test has no rate of arrival: the search cannot go on.
    pub const fn is_broken(&self) -> bool {
        self.is_broken
    }

    /// What is known for each goal.
    pub fn results(&self) -> Vec<GoalResult> {
        self.machine().results()
    }

    /// The record of the search, as far as it went.
    pub fn record(&self, tags: BTreeMap<String, String>) -> SearchRecord {
        let goals = self.results();
        let evidence = self.evidence(&goals);
        let judged = evidence.as_ref().and_then(|record| record.judgement.as_ref());
        let verdict = judged.and_then(|judgement| judgement.verdict.as_ref());
        SearchRecord {
            heading: Heading::new(tags, self.records.first()),
            plan: self.plan.clone(),
            limit: limit(&goals, &self.trials),
            verdict: verdict.map(|verdict| verdict.sentence.clone()),
            remarks: remarks(&goals, &self.trials),
            deviations: DEVIATIONS.map(str::to_owned).to_vec(),
            took: self.trials.iter().map(|trial| trial.took).sum(),
            trials: self.trials.clone(),
            goals,
            evidence: evidence.map(Box::new),
            error: None,
        }
    }

    fn machine(&self) -> ThroughputSearch<'_> {
        ThroughputSearch::new(self.goals.as_slice(), self.limits, self.trials.as_slice())
    }

    fn take(&mut self, trial: &Trial) {
        let purpose = self.due.map_or(TrialPurpose::Bound, |due| due.purpose);
        let record = trial.result.as_ref().ok();
        let record = record.filter(|record| record.outcome.ending == Ending::Completed);
        let found = record.and_then(|record| facts::of(record, purpose, trial.took));
        if let Some((record, found)) = record.zip(found) {
            self.trials.push(found);
            self.records.push(record.clone());
        } else {
            self.is_broken = true;
        }
    }

    fn task(&self, due: NextTrial) -> Option<Task> {
        let mut draft = PlanDraft::from(self.plan.clone());
        let each = due.load.bits_per_second() / u64::from(draft.streams.max(1));
        draft.options.rate = Some(BitRate::from_bits_per_second(each.max(1)));
        // What a stall held up is sent later: else the offered load would be below the intended one.
        draft.options.pacing = Pacing::Repay;
        if draft.transport == Transport::Tcp && draft.options.block.is_none() {
            draft.options.block = Some(fine_block(each, due.duration, self.segment()));
        }
        draft.end = End::Time(Duration::from_millis(millis(due.duration)));
        let row = PlannedRow::of_plan(draft.check().ok()?);
        Some(Task { row, purpose: Purpose::Result { run: 0, of: 1 } })
    }

    /// Payload of a full segment in the trials so far, in bytes.
    fn segment(&self) -> u64 {
        let streams = self.records.iter().rev().flat_map(|record| &record.streams);
        let segment = streams.filter_map(|stream| stream.mss).find(|mss| *mss > 0);
        segment.map_or(SEGMENT, u64::from)
    }

    /// The record that shows the limit, judged.
    fn evidence(&self, goals: &[GoalResult]) -> Option<TestRecord> {
        let above = self.above(goals)?;
        let at = |load: BitRate| {
            let mut all = self.trials.iter().zip(&self.records);
            all.rfind(|(trial, _)| trial.intended == load && trial.lost_ratio <= 0.0)
        };
        let mut shown = self.records.get(above)?.clone();
        // Nobody requested this rate.
        shown.outcome.directions.iter_mut().for_each(|one| one.asked = None);
        let lower = goals.iter().find_map(|goal| goal.lower).and_then(at);
        if let (Some((_, lower)), true) = (lower, self.limits.datagram_bytes.is_some()) {
            let mut lower = lower.clone();
            lower.outcome.directions.iter_mut().for_each(|one| one.asked = None);
            lower.trials.rate = Some(self.rate_search(goals, shown));
            shown = lower;
        }
        crate::judge(&mut shown);
        Some(shown)
    }

    /// Index of the slightest clear overload; none: there is none.
    fn above(&self, goals: &[GoalResult]) -> Option<usize> {
        let upper = goals.iter().filter_map(|goal| goal.upper).max()?;
        let is_clear = |trial: &SearchTrial| {
            let clear = trial.intended.bits_per_second() as f64;
            clear >= upper.bits_per_second() as f64 * CLEAR
        };
        let all = self.trials.iter().enumerate();
        let clear = all.clone().filter(|(_, trial)| is_clear(trial));
        let slightest = clear.min_by_key(|(_, trial)| (trial.intended, trial.disturbed));
        let highest = || all.filter(|(_, trial)| trial.intended >= upper).map(|(index, _)| index);
        slightest.map(|(index, _)| index).or_else(|| highest().next_back())
    }

    fn rate_search(&self, goals: &[GoalResult], above: TestRecord) -> RateSearch {
        let held = goals.iter().find_map(|goal| goal.lower);
        let trial = |trial: &SearchTrial| RateTrial {
            asked: trial.intended,
            sent: trial.offered,
            arrived: trial.delivered,
            loss: trial.lost_ratio,
        };
        RateSearch {
            held: held.unwrap_or(BitRate::from_bits_per_second(0)),
            end: match limit(goals, &self.trials) {
                SearchLimit::Ceiling => RateSearchEnd::Sender,
                SearchLimit::Knee => RateSearchEnd::Loss,
                SearchLimit::None => RateSearchEnd::Time,
            },
            floor: None,
            trials: self.trials.iter().map(trial).collect(),
            above: Some(Box::new(above)),
        }
    }
}

impl Search for Throughput {
    fn next(&mut self, done: &[Trial]) -> Next {
        let seen = self.trials.len();
        for trial in done.iter().skip(seen) {
            self.take(trial);
        }
        if self.is_broken {
            return Next::Stop;
        }
        self.due = self.machine().next();
        self.due.and_then(|due| self.task(due)).map_or(Next::Done, Next::Run)
    }
}

fn millis(span: Duration) -> u64 {
    u64::try_from(span.as_millis()).unwrap_or(u64::MAX)
}

/// Of the highest upper bound: a load that is clearly too much.
const CLEAR: f64 = 1.05;
/// In what a search deviates from the throughput test of RFC 2544.
const DEVIATIONS: [&str; 6] = [
    "trials take the goal trial durations, not 60 s (RFC 2544, section 24)",
    "a goal may allow loss, and the exceed ratio of full-length trials may have more (RFC 9971)",
    "a queue that grows during a trial counts as loss: a longer trial would lose it",
    "what a sender does not offer of the intended load counts as loss, beyond a quarter of the width",
    "full-length trials are longer, up to fourfold, where a token bucket or few datagrams hide loss",
    "a failed trial that its stamp calls disturbed is repeated, twice a load and eight times in all",
];

/// A block of TCP of which at least four hundred are sent at a rate in bit/s: a sender that paces
/// whole blocks is late or early by one. It takes no longer than a delay that is no queue. It is full
/// segments, since headers of partial ones would take of the rate.
fn fine_block(rate: u64, duration: Duration, segment: u64) -> ByteSize {
    let span = (duration / 400).min(LONGEST_BLOCK).as_nanos();
    let bytes = u128::from(rate / 8) * span / 1_000_000_000;
    let segments = u64::try_from(bytes).unwrap_or(MOST).min(MOST) / segment;
    ByteSize::from_bytes(segments.max(1) * segment)
}

/// At its rate, of a block of TCP.
const LONGEST_BLOCK: Duration = Duration::from_millis(2);
/// Payload of a segment of Ethernet, and the usual block of TCP, in bytes.
const SEGMENT: u64 = 1_448;
const MOST: u64 = 128 << 10;

#[cfg(test)]
mod tests {
    use measurement::{GoalEnd, RuleId};

    use super::*;
    use crate::search::tests::{failed, plan, run, udp};

    fn search() -> Throughput {
        let rate = BitRate::from_bits_per_second;
        let limits = SearchLimits {
            start: rate(10_000_000),
            min: rate(100_000),
            max: rate(10_000_000_000),
            budget: Duration::from_secs(60),
            datagram_bytes: Some(1_250),
        };
        Throughput::new(plan(Transport::Udp), vec![SearchGoal::of_loss(0.0)], limits)
    }

    #[test]
    fn a_search_ends_with_the_bounds_and_the_record_of_the_limit() {
        let mut search = search();
        let (done, end) =
            run(&mut search, |task| Ok(udp(task, |sent| sent.saturating_sub(100_000_000))));
        assert_eq!((end, done.len()), (Next::Done, search.trials().len()));
        let record = search.record(BTreeMap::new());
        let goal = record.goals[0];
        assert_eq!((goal.end, record.limit), (GoalEnd::Width, SearchLimit::Knee));
        let (lower, upper) = (goal.lower.expect("one"), goal.upper.expect("one"));
        let truth = BitRate::from_bits_per_second(100_000_000);
        assert!(lower <= truth && truth <= upper, "{lower} {upper}");
        let evidence = record.evidence.expect("a load failed");
        let above = evidence.trials.rate.as_ref().and_then(|search| search.above.as_ref());
        assert!(above.is_some_and(|above| above.plan.asked() > Some(upper)));
        let verdict = evidence.judgement.and_then(|judgement| judgement.verdict);
        assert_eq!(verdict.expect("one").findings[0].rule, RuleId::PathRateLimit);
    }

    #[test]
    fn streams_share_a_load_and_what_a_stall_held_up_is_repaid() {
        let mut search = search();
        let mut draft = PlanDraft::from(search.plan.clone());
        draft.streams = 4;
        search.plan = draft.check().expect("a plan");
        let Next::Run(task) = search.next(&[]) else { panic!("a trial is due") };
        let options = &task.row.plan.options;
        assert_eq!(options.rate, Some(BitRate::from_bits_per_second(2_500_000)));
        assert_eq!(options.pacing, Pacing::Repay);
    }

    #[test]
    fn blocks_of_tcp_are_full_segments_and_small_parts_of_a_trial() {
        let second = Duration::from_secs(1);
        let block = |mbps: u64, segment| fine_block(mbps * 1_000_000, second, segment).bytes();
        assert_eq!(block(1, 1_448), 1_448);
        assert_eq!(block(181, 1_448), 31 * 1_448);
        assert_eq!(block(181, 8_948), 5 * 8_948);
        let short = fine_block(181_000_000, Duration::from_millis(100), 1_448);
        assert_eq!(short.bytes(), 3 * 1_448);
        assert_eq!(block(100_000, 1_448), 90 * 1_448);
    }

    #[test]
    fn a_test_that_fails_ends_the_search_with_what_is_known() {
        let mut search = search();
        let mut left = 3;
        let (done, end) = run(&mut search, |task| {
            left -= 1;
            if left > 0 { Ok(udp(task, |_| 0)) } else { failed() }
        });
        assert_eq!((end, done.len()), (Next::Stop, 3));
        assert!(search.is_broken());
        assert_eq!(search.record(BTreeMap::new()).trials.len(), 2);
    }
}
