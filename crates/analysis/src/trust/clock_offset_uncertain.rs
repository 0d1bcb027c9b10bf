//! `clock-offset-uncertain`: the clocks cannot tell one way from the other.

use measurement::Loaded;
use measurement::units::show_time;

use super::{Finding, Page, Rule, RuleId, Test};

pub(crate) const PAGE: Page = Page {
    id: RuleId::ClockOffsetUncertain,
    title: "Clock offset too uncertain for one-way delays",
    what: "Their error is larger than the delay that was measured.",
    why: "Then the delay of a way is the error's, and only the round trip means something. On \
           a short path that is always so, since the error is half of the shortest round trip, \
           and it is only said; if the clocks drifted apart by more than that the numbers are \
           wrong.",
    evidence: "The error that the comparison of the clocks left.",
    remedy: "Look at round trips.",
    source: "RFC 5905, section 8",
};

pub(super) const RULE: Rule = Rule { page: &PAGE, check };

fn check(test: &Test<'_>) -> Vec<Finding> {
    test.record.outcome.latency.as_ref().and_then(finding).into_iter().collect()
}

fn finding(latency: &Loaded) -> Option<Finding> {
    let ways = latency.one_way?;
    let longest = ways.loaded_there.p50.max(ways.loaded_back.p50);
    let drifted = ways.clock_error > latency.idle.times.min / 4 * 3;
    (ways.clock_error > longest && drifted).then(|| {
        let sentence = format!(
            "the clock error, up to {}, exceeds the one-way delay, up to {}; use round trips",
            show_time(ways.clock_error),
            show_time(longest)
        );
        Finding::suspect(None, sentence)
    })
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use measurement::{OneWay, RoundTrips, Spread};

    use super::*;
    use crate::test_record;

    #[test]
    fn an_error_that_is_larger_than_the_delay_makes_it_suspect() {
        let micros = Duration::from_micros;
        let spread = |p50| Spread { min: micros(p50), p50: micros(p50), ..Spread::default() };
        let mut record = test_record::udp();
        assert_eq!(test_record::found(&RULE, &record), []);
        let one_way = OneWay {
            loaded_there: spread(60),
            loaded_back: spread(55),
            clock_error: micros(50),
            ..OneWay::default()
        };
        let idle = RoundTrips { times: spread(100), ..RoundTrips::default() };
        let latency = Loaded { idle, one_way: Some(one_way), ..Loaded::default() };
        record.outcome.latency = Some(latency.clone());
        assert_eq!(test_record::found(&RULE, &record), []);
        let one_way = Some(OneWay { clock_error: micros(400), ..one_way });
        record.outcome.latency = Some(Loaded { one_way, ..latency });
        assert!(
            test_record::suspected(&RULE, &record)
                .contains("up to 400 us, exceeds the one-way delay, up to 60 us")
        );
    }
}
