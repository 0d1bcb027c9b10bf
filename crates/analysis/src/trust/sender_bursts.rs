//! `sender-bursts`: the sender sent in bursts.

use std::time::Duration;

use measurement::units::show_time;
use measurement::{BitRate, PacingReport, PacingWay};

use super::{Finding, Page, Rule, RuleId, Test};
use crate::accounts::Flow;
use crate::words::count;

pub(crate) const PAGE: Page = Page {
    id: RuleId::SenderBursts,
    title: "Sender bursts",
    what: "A hundredth of its batches had more datagrams than smooth pacing sends at once, and \
           so many that they take a while at the rate asked.",
    why: "A burst meets the network at the speed of the sender's link, whatever the mean rate: \
           queues overflow that would not at the rate asked.",
    evidence: "Lengths of batches against the rate of a stream.",
    remedy: "Even pacing, datagrams each on its own.",
    source: "",
};

pub(super) const RULE: Rule = Rule { page: &PAGE, check };

fn check(test: &Test<'_>) -> Vec<Finding> {
    if !test.is_udp() {
        return Vec::new();
    }
    test.flows.iter().filter_map(|flow| finding(test, flow)).collect()
}

fn finding(test: &Test<'_>, flow: &Flow<'_>) -> Option<Finding> {
    let pacing = flow.outcome.pacing.as_ref().filter(|pacing| pacing.way != PacingWay::Kernel)?;
    let plan = &test.record.plan;
    let (at_once, asked) = (pacing.batches.p99, u64::from(plan.options.burst.unwrap_or(1)));
    let block = test.record.streams.first()?.block.bytes();
    let takes = time_of(pacing, at_once.saturating_mul(block), plan.streams.into());
    if at_once <= FEW || takes < NOTICED {
        return None;
    }
    let role = flow.sender();
    let sentence = format!(
        "{}bursts of up to {} datagrams, {} at the rate of a stream; use --pacing even --engine \
         sendmmsg",
        test.prefix(flow),
        count(at_once),
        show_time(takes)
    );
    let is_asked = at_once <= asked;
    let is_long = takes >= HARMFUL && !is_asked;
    Some(if is_long {
        Finding::suspect(Some(&role), sentence)
    } else {
        Finding::note(Some(&role), sentence)
    })
}

/// How long so many bytes take at the rate of one of `streams`.
fn time_of(pacing: &PacingReport, bytes: u64, streams: u64) -> Duration {
    let each = pacing.asked.bits_per_second() / streams.max(1);
    BitRate::from_bits_per_second(each).time_for(bytes)
}

/// What smooth pacing sends at once.
const FEW: u64 = 4;
/// A shorter burst is what any device makes. To be calibrated.
const NOTICED: Duration = Duration::from_micros(250);
/// At 1 Gbit/s the usual socket buffer holds as much.
const HARMFUL: Duration = Duration::from_millis(1);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_record;

    #[test]
    fn long_bursts_make_it_suspect_unless_they_were_asked_for() {
        let mut record = test_record::udp();
        assert_eq!(test_record::found(&RULE, &record), []);
        let with = |record: &mut measurement::TestRecord, p99| {
            record.outcome.directions[0].pacing.as_mut().expect("reported").batches.p99 = p99;
        };
        with(&mut record, 5);
        assert!(test_record::noted(&RULE, &record).contains("bursts of up to 5 datagrams"));
        with(&mut record, 45);
        let text = test_record::suspected(&RULE, &record);
        assert!(text.contains("bursts of up to 45 datagrams, 4.5 ms at"), "{text}");
        record.plan = test_record::plan_with(&record.plan, |draft| draft.options.burst = Some(45));
        assert!(test_record::noted(&RULE, &record).contains("45 datagrams"));
    }
}
