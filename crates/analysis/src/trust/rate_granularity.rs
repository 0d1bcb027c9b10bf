//! `rate-granularity`: the rate is too low for the length.

use std::time::Duration;

use measurement::plan::MIN_DATAGRAM;
use measurement::units::show_time;
use measurement::{ByteSize, DirectionOutcome, TestPlan};

use super::{Finding, Page, Rule, RuleId, Test};

pub(crate) const PAGE: Page = Page {
    id: RuleId::RateGranularity,
    title: "Rate too low for the block length",
    what: "So few blocks make the rate that their number decides how well it is kept.",
    why: "The rate that shows is one that whole blocks can make, and not the one asked.",
    evidence: "What a block takes at the rate against what was offered.",
    remedy: "A shorter length, or more time.",
    source: "",
};

pub(super) const RULE: Rule = Rule { page: &PAGE, check };

fn check(test: &Test<'_>) -> Vec<Finding> {
    let block = test.record.streams.first().map(|stream| stream.block);
    let mut flows = test.flows.iter();
    let sentence = flows.find_map(|flow| sentence(flow.outcome, &test.record.plan, block?));
    sentence.map(|sentence| Finding::note(None, sentence)).into_iter().collect()
}

fn sentence(outcome: &DirectionOutcome, plan: &TestPlan, block: ByteSize) -> Option<String> {
    let (rate, offered) = (plan.options.rate?, outcome.offered?);
    let due = rate.bits_per_second() as f64 / 8.0 * offered.span.as_secs_f64();
    let each = offered.bytes as f64 / f64::from(plan.streams);
    let (length, beside) = (block.bytes() as f64, (each - due).abs());
    // More than a block or two beside it has other reasons.
    let is_coarse = length > due / 100.0 && beside > due / 100.0 && beside < 2.0 * length;
    is_coarse.then(|| {
        let each = length * 8.0 / rate.bits_per_second() as f64;
        let each = Duration::try_from_secs_f64(each).unwrap_or(Duration::MAX);
        format!(
            "the rate is too low for the length: {} take {} at {rate}, too long for a test of {}; \
             {}",
            block.expanded(),
            show_time(each),
            show_time(offered.span),
            shorter(due / 100.0)
        )
    })
}

/// What to do about a rate that only blocks of `length` bytes would keep.
fn shorter(length: f64) -> String {
    if length < MIN_DATAGRAM as f64 {
        return "use more time (-t)".to_owned();
    }
    format!("use -l {length:.0} or less, or more time (-t)")
}

#[cfg(test)]
mod tests {
    use measurement::{BitRate, TestRecord, Throughput};

    use super::*;
    use crate::test_record;

    fn slow(offered: u64, block: u64) -> TestRecord {
        let mut record = test_record::tcp();
        record.plan = test_record::plan_with(&record.plan, |draft| {
            draft.options.rate = Some(BitRate::from_bits_per_second(100_000));
        });
        let second = Duration::from_secs(1);
        record.outcome.directions[0].offered = Some(Throughput::over(offered, second));
        record.streams[0].block = ByteSize::from_bytes(block);
        record
    }

    #[test]
    fn a_rate_that_a_few_blocks_make_is_noted_with_a_length_that_keeps_it() {
        // Nine datagrams where eight and a half are due.
        let text = test_record::noted(&RULE, &slow(13_140, 1_460));
        assert!(text.contains("1,460 bytes take 116.8 ms at 100.0 kbit/s"), "{text}");
        assert!(text.ends_with("use -l 125 or less, or more time (-t)"), "{text}");
    }

    #[test]
    fn what_fits_and_what_has_other_reasons_is_silent() {
        assert_eq!(test_record::found(&RULE, &slow(12_500, 125)), [], "a hundred blocks");
        assert_eq!(test_record::found(&RULE, &slow(12_450, 1_245)), [], "it happens to fit");
        assert_eq!(test_record::found(&RULE, &slow(5_000, 1_460)), [], "the sender was too slow");
    }
}
