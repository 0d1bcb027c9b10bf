//! Metrics of a test by which settings are compared ([`metrics`]), and all of them over pairs of
//! tests ([`compare_metrics`]).

use std::collections::BTreeMap;

use measurement::alternation::AbRule;
use measurement::comparison::EffectSize;
use measurement::outcome::Outcome;
use measurement::tune::{Metric, MetricChange};
use measurement::{DirectionOutcome, IntoMap, TestRecord};

use super::{Look, effect};

/// Metrics of one test, in their units and above zero; those that it does not tell are absent.
pub type Metrics = BTreeMap<Metric, f64>;

/// The metrics of a test.
pub fn metrics(record: &TestRecord) -> Metrics {
    let outcome = &record.outcome;
    let value = |metric| match metric {
        Metric::Throughput => throughput(outcome),
        Metric::Pps => packets(outcome),
        Metric::Latency => round_trip(record),
        Metric::Cpu => cpu(outcome),
    };
    let all = Metric::ALL.into_iter().map(|metric| Some((metric, value(metric)?)));
    all.flatten().filter(|(_, value)| value.is_finite() && *value > 0.0).into_map()
}

fn throughput(outcome: &Outcome) -> Option<f64> {
    outcome.rate().map(|rate| rate.bits_per_second() as f64)
}

/// Datagrams that arrived, per second of the test.
fn packets(outcome: &Outcome) -> Option<f64> {
    let of = |one: &DirectionOutcome| {
        let span = one.headline()?.span.as_secs_f64();
        Some(one.datagrams?.received as f64 / span)
    };
    outcome.directions.iter().map(of).sum()
}

/// Median of the probes beside the test, in seconds; where there are none, TCP's smoothed
/// round-trip time.
fn round_trip(record: &TestRecord) -> Option<f64> {
    let probed = record.outcome.latency.as_ref().map(|latency| &latency.loaded);
    if let Some(probed) = probed.filter(|probed| probed.count > 0) {
        return Some(probed.times.p50.as_secs_f64());
    }
    let accounts = &record.judgement.as_ref()?.directions;
    let micros = accounts.iter().filter_map(|one| one.tcp.as_ref()?.rtt_micros);
    micros.max().map(|micros| f64::from(micros) / 1e6)
}

/// CPU time of both processes for 10^9 bytes of payload, in seconds.
fn cpu(outcome: &Outcome) -> Option<f64> {
    let percent = outcome.cpu?.total + outcome.peer_cpu?.total;
    let bytes_per_second = throughput(outcome)? / 8.0;
    Some(percent / 100.0 / bytes_per_second * 1e9)
}

/// Each metric over pairs of tests, of which the second ones have the change; that of the `goal`
/// first. A change that costs another metric more than the share `guard` is beyond the guard if the
/// interval shows that it costs something.
///
/// A longer round-trip time is part of a higher rate, since a full path has a queue. It is beyond
/// the guard if it costs more than the rate gains, so that their ratio, the power, becomes worse by
/// more than the guard (L. Kleinrock: Power and deterministic rules of thumb for probabilistic
/// problems in computer communications, ICC 1979).
pub fn compare_metrics(
    pairs: &[(Metrics, Metrics)],
    goal: Metric,
    rule: &AbRule,
    guard: f64,
) -> Vec<MetricChange> {
    let others = Metric::ALL.into_iter().filter(|metric| *metric != goal);
    let all = std::iter::once(goal).chain(others);
    let mut changes: Vec<_> = all.filter_map(|metric| change(pairs, metric, rule)).collect();
    let gained = changes.first().filter(|one| one.metric == goal).map_or(1.0, gained);
    for one in changes.iter_mut().filter(|one| one.metric != goal) {
        let is_rate = matches!(goal, Metric::Throughput | Metric::Pps);
        let allowed = if one.metric == Metric::Latency && is_rate { gained.max(1.0) } else { 1.0 };
        one.beyond_guard = is_beyond(one, (1.0 - guard) / allowed);
    }
    changes
}

/// None: a pair does not tell the metric.
fn change(pairs: &[(Metrics, Metrics)], metric: Metric, rule: &AbRule) -> Option<MetricChange> {
    let of = |(before, after): &(Metrics, Metrics)| {
        Some((before.get(&metric).copied()?, after.get(&metric).copied()?))
    };
    let values = pairs.iter().map(of).collect::<Option<Vec<_>>>()?;
    let mean = |side: fn(&(f64, f64)) -> f64| {
        let logarithms: Vec<_> = values.iter().map(|pair| side(pair).ln()).collect();
        effect::mean(&logarithms).map(f64::exp)
    };
    Some(MetricChange {
        metric,
        before: mean(|pair| pair.0)?,
        after: mean(|pair| pair.1)?,
        effect: Look::at(&values, rule).effect,
        beyond_guard: false,
    })
}

/// How much better a metric became: above 1 is better.
fn gained(change: &MetricChange) -> f64 {
    change.metric.gain(change.after / change.before)
}

/// Whether a metric is shown to be worse, and so much that its gain is below `least`.
fn is_beyond(change: &MetricChange, least: f64) -> bool {
    let Some(EffectSize { interval: Some(interval), .. }) = change.effect else { return false };
    let gain = |ratio| change.metric.gain(ratio);
    let is_shown = gain(interval.low).max(gain(interval.high)) < 1.0;
    let matters = match change.metric {
        Metric::Latency => change.after - change.before > LEAST_DELAY,
        Metric::Throughput | Metric::Pps | Metric::Cpu => true,
    };
    is_shown && matters && gained(change) < least
}

/// A smaller growth of the round-trip time is no loss, in seconds: one of a queue that holds more
/// is part of a higher rate, however large the share on a short path.
const LEAST_DELAY: f64 = 0.001;

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use measurement::outcome::CpuUse;
    use measurement::plan::PlanDraft;
    use measurement::{DatagramLedger, Direction, Throughput, Transport};

    use super::*;

    const RULE: AbRule = AbRule { most_pairs: 16, margin_ratio: 0.02, confidence: 0.95 };

    fn pairs(metric: Metric, before: f64, after: f64) -> Vec<(Metrics, Metrics)> {
        let side = |rate: f64, value: f64, noise: f64| {
            Metrics::from([(Metric::Throughput, rate * noise), (metric, value * noise)])
        };
        let noises = [1.0, 1.001, 0.999, 1.0];
        noises.map(|noise| (side(1e9, before, noise), side(2e9, after, 1.0))).to_vec()
    }

    fn beyond(metric: Metric, before: f64, after: f64) -> bool {
        let changes =
            compare_metrics(&pairs(metric, before, after), Metric::Throughput, &RULE, 0.1);
        assert_eq!(changes.len(), 2);
        assert_eq!((changes[0].metric, changes[1].metric), (Metric::Throughput, metric));
        assert!(!changes[0].beyond_guard);
        changes[1].beyond_guard
    }

    #[test]
    fn what_costs_more_than_the_guard_is_beyond_it() {
        assert!(beyond(Metric::Cpu, 1.0, 1.2));
        assert!(!beyond(Metric::Cpu, 1.0, 1.05) && !beyond(Metric::Cpu, 1.0, 0.5));
        // The rate doubles.
        assert!(beyond(Metric::Latency, 0.01, 0.03));
        assert!(!beyond(Metric::Latency, 0.01, 0.02), "as much as the rate gains");
        assert!(!beyond(Metric::Latency, 0.000_1, 0.000_9), "less than a millisecond");
    }

    #[test]
    fn a_loss_that_is_not_shown_is_not_beyond_the_guard() {
        let mut pairs = pairs(Metric::Cpu, 1.0, 1.2);
        for (place, pair) in pairs.iter_mut().enumerate() {
            pair.1.insert(Metric::Cpu, if place % 2 == 0 { 0.4 } else { 3.6 });
        }
        let changes = compare_metrics(&pairs, Metric::Throughput, &RULE, 0.1);
        assert!(!changes[1].beyond_guard, "{changes:?}");
    }

    #[test]
    fn a_metric_that_a_test_lacks_is_not_compared() {
        let mut pairs = pairs(Metric::Cpu, 1.0, 1.0);
        pairs[2].0.remove(&Metric::Cpu);
        let changes = compare_metrics(&pairs, Metric::Throughput, &RULE, 0.1);
        assert_eq!(changes.len(), 1);
    }

    #[test]
    fn metrics_have_the_units_that_they_say() {
        let plan = PlanDraft::new(Transport::Udp, Direction::Send).check().expect("a plan");
        let mut record = TestRecord::imported(plan, "a test");
        let ledger = DatagramLedger { received: 1_000, ..DatagramLedger::default() };
        record.outcome.directions = vec![DirectionOutcome {
            delivered: Some(Throughput::over(1_000_000_000, Duration::from_secs(2))),
            datagrams: Some(ledger),
            ..DirectionOutcome::unknown(Direction::Send)
        }];
        let cpu = |total| Some(CpuUse { total, ..CpuUse::default() });
        (record.outcome.cpu, record.outcome.peer_cpu) = (cpu(50.0), cpu(100.0));
        let found = metrics(&record);
        let expected =
            Metrics::from([(Metric::Throughput, 4e9), (Metric::Pps, 500.0), (Metric::Cpu, 3.0)]);
        assert_eq!(found, expected);
    }
}
