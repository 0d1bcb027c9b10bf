//! `interval-mismatch`: the ends measured for different times.

use measurement::DirectionOutcome;
use measurement::units::show_time;

use super::{Finding, Page, Rule, RuleId, Test};
use crate::words::is_short;

pub(crate) const PAGE: Page = Page {
    id: RuleId::IntervalMismatch,
    title: "The two ends measured different intervals",
    what: "All that was sent arrived, and yet the rates differ by more than 2 %.",
    why: "That is no loss: one end counted for longer.",
    evidence: "Amounts and times of both ends.",
    remedy: "More time makes it small.",
    source: "",
};

pub(super) const RULE: Rule = Rule { page: &PAGE, check };

fn check(test: &Test<'_>) -> Vec<Finding> {
    let sentence = test.flows.iter().find_map(|flow| sentence(flow.outcome));
    sentence.map(|sentence| Finding::note(None, sentence)).into_iter().collect()
}

fn sentence(outcome: &DirectionOutcome) -> Option<String> {
    let (sent, got) = (outcome.acknowledged.or(outcome.offered)?, outcome.delivered?);
    // But for a thousandth, which the times of two ends explain.
    let is_all = got.bytes.abs_diff(sent.bytes) <= sent.bytes / 1_000;
    let is_slower = is_short(got.rate.bits_per_second(), sent.rate.bits_per_second());
    (is_all && is_slower).then(|| {
        format!(
            "no loss: the rates differ as the sender measured for {}, the receiver for {}; use \
             more time (-t)",
            show_time(sent.span),
            show_time(got.span)
        )
    })
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use measurement::Throughput;

    use super::*;
    use crate::test_record;

    #[test]
    fn different_times_explain_different_rates() {
        let mut record = test_record::udp();
        assert_eq!(test_record::found(&RULE, &record), []);
        let deliver = |record: &mut measurement::TestRecord, bytes| {
            let span = Duration::from_millis(10_500);
            record.outcome.directions[0].delivered = Some(Throughput::over(bytes, span));
        };
        deliver(&mut record, 125_000_000);
        let text = test_record::noted(&RULE, &record);
        assert!(text.contains("measured for 10 s, the receiver for 10.5 s"), "{text}");
        deliver(&mut record, 123_000_000);
        assert_eq!(test_record::found(&RULE, &record), [], "something is missing");
    }
}
