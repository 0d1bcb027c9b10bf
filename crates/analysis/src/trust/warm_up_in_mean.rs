//! `warm-up-in-mean`: the start, or a break, is in the mean.

use measurement::Steady;
use measurement::units::show_time;

use super::{Finding, Page, Rule, RuleId, Test};
use crate::accounts::Flow;

pub(crate) const PAGE: Page = Page {
    id: RuleId::WarmUpInMean,
    title: "Warm-up or a pause in the mean",
    what: "The rate of the steady part differs by more than 2 % from the mean.",
    why: "A mean over slow start and what came after is a rate that was true at no time.",
    evidence: "The longest part in which the rate did not change.",
    remedy: "Leave the start out (`-O`), or measure for longer.",
    source: "",
};

pub(super) const RULE: Rule = Rule { page: &PAGE, check };

fn check(test: &Test<'_>) -> Vec<Finding> {
    let texts = test.flows.iter().filter_map(|flow| sentence(test, flow));
    texts.map(|sentence| Finding::note(None, sentence)).collect()
}

fn sentence(test: &Test<'_>, flow: &Flow<'_>) -> Option<String> {
    let steady = flow.account.steady?;
    let (rate, whole) = (steady.rate.bits_per_second(), steady.whole.bits_per_second());
    if rate.abs_diff(whole) as f64 <= NOTICED * rate as f64 {
        return None;
    }
    let (from, to) = (show_time(steady.from), show_time(steady.to));
    let prefix = test.prefix(flow);
    if rate == 0 {
        return Some(format!(
            "{prefix}nothing arrived from {from} to {to}, and the mean of {} includes that; see \
            what failed then",
            steady.whole
        ));
    }
    let beside = 100.0 * (whole as f64 / rate as f64 - 1.0);
    Some(format!(
        "{prefix}steady at {} from {from} to {to}; the mean, {}, includes the rest ({beside:+.0} \
         %); {}",
        steady.rate,
        steady.whole,
        remedy(&steady)
    ))
}

/// What came before it can be left out, what came behind it cannot.
fn remedy(steady: &Steady) -> String {
    if steady.from.is_zero() {
        return format!("see what changed after {}, or repeat it", show_time(steady.to));
    }
    let omitted = show_whole_seconds(steady.from.as_secs_f64());
    format!("omit the start (-O {omitted}), or use more time (-t)")
}

/// At least one: the protocol has whole seconds.
fn show_whole_seconds(seconds: f64) -> String {
    format!("{:.0}", seconds.ceil().max(1.0))
}

/// Share of the steady rate. What both ends' clocks and the last block make is less.
const NOTICED: f64 = 0.02;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_record;

    #[test]
    fn a_ramp_that_lowers_the_mean_is_told() {
        let mut record = test_record::udp();
        assert_eq!(test_record::found(&RULE, &record), []);
        record.reported.pulses[0].bytes[..20].fill(300_000);
        let text = test_record::noted(&RULE, &record);
        assert!(text.contains("steady at 100.0 Mbit/s from 2 s to 10 s"), "{text}");
        assert!(text.contains("the mean, 84.80 Mbit/s") && text.contains("(-15 %)"), "{text}");
        assert!(text.ends_with("omit the start (-O 2), or use more time (-t)"), "{text}");
    }

    #[test]
    fn a_break_at_the_end_is_not_left_out_with_the_start() {
        let mut record = test_record::udp();
        record.reported.pulses[0].bytes[80..].fill(300_000);
        let text = test_record::noted(&RULE, &record);
        assert!(text.contains(" from 0 s to 8 s; the mean"), "{text}");
        assert!(text.ends_with("see what changed after 8 s, or repeat it"), "{text}");
        record.reported.pulses[0].bytes[40..].fill(0);
        let text = test_record::noted(&RULE, &record);
        assert!(text.starts_with("nothing arrived from 4 s to 10 s"), "{text}");
    }
}
