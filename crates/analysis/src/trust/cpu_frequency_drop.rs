//! `cpu-frequency-drop`: CPUs CPU frequency of.

use super::{Finding, Rule, Test};
use crate::evidence::HostView;
use crate::facts::clock_speed;
use crate::words::{self, count, counted, share};
use measurement::host::{EachCounter, Family, counter};

pub(super) const RULE: Rule = Rule { page: &clock_speed::PAGE, check };

fn check(test: &Test<'_>) -> Vec<Finding> {
    test.kernels().flat_map(finding).collect()
}

fn finding(host: &HostView<'_>) -> Vec<Finding> {
    let series = &host.evidence.series;
    let is_reported =
        [Family::FREQUENCY, Family::THROTTLE, Family::COOLING].iter().any(|one| host.reports(*one));
    if !is_reported && series.each_gauge(counter::FREQUENCY_KHZ).next().is_none() {
        let what = format!("CPU frequency of {}", words::host(host.role()));
        return vec![Finding::unchecked(what, "not visible, as on most VMs")];
    }
    let facts = [throttled(host), slowed(host), cooled(host)];
    facts
        .into_iter()
        .flatten()
        .map(|fact| {
            let sentence = format!(
                "{fact}; improve its cooling, or fix its frequency (cpupower \
                                    frequency-set)"
            );
            Finding::suspect(Some(host.role()), sentence)
        })
        .collect()
}

fn throttled(host: &HostView<'_>) -> Option<String> {
    let times = Some(clock_speed::throttled(host)).filter(|times| *times > 0)?;
    let times = counted(times, "time");
    Some(format!(
        "the CPUs of {} were throttled {times} as they were hot",
        words::host(host.role())
    ))
}

fn slowed(host: &HostView<'_>) -> Option<String> {
    let speeds = host.gauges(counter::FREQUENCY_KHZ).into_iter();
    let busy = speeds.filter(|(cpu, _)| is_busy(host, cpu));
    let speeds = busy.filter_map(|(cpu, _)| Some((cpu, clock_speed::speed(host, cpu)?)));
    let fell = speeds.filter(|(_, speed)| speed.fell());
    let (cpu, speed) = fell.min_by_key(|(_, speed)| speed.least_khz)?;
    Some(format!(
        "CPU {cpu} of {} dropped from {} to {} MHz while it was busy",
        words::host(host.role()),
        count(speed.most_khz / 1_000),
        count(speed.least_khz / 1_000)
    ))
}

/// At least half of the time.
fn is_busy(host: &HostView<'_>, cpu: &str) -> bool {
    let time = |state: EachCounter<'_>| host.growth(state.on(cpu)).unwrap_or(0);
    let idle = time(counter::CPU_IDLE).saturating_add(time(counter::CPU_IOWAIT));
    let nanos = u64::try_from(host.span().as_nanos()).unwrap_or(u64::MAX);
    host.reports(Family::CPU) && share(idle, nanos) < 0.5
}

fn cooled(host: &HostView<'_>) -> Option<String> {
    if !host.gauges(counter::FREQUENCY_KHZ).is_empty() {
        return None;
    }
    let states = host.gauges(counter::COOLING_STATE).into_iter();
    let mut rose = states.filter_map(|(device, states)| {
        let (first, most) = (*states.first()?, *states.iter().max()?);
        (most > first).then_some((device, first, most))
    });
    let (device, first, most) = rose.next()?;
    let host = words::host(host.role());
    Some(format!("cooling device {device} of {host} went from state {first} to {most}"))
}

#[cfg(test)]
mod tests {
    use measurement::Role;
    use measurement::host::Gauge;

    use super::*;
    use crate::test_record;

    fn with(gauge: Gauge<'_>, values: Vec<i64>) -> measurement::TestRecord {
        let mut record = test_record::tcp();
        test_record::host(&mut record, &Role::Here).series.put_gauge(gauge, values);
        record
    }

    #[test]
    fn a_busy_cpu_that_slows_down_makes_it_suspect() {
        let falling: Vec<i64> = (0..=10).map(|step| 1_800_000 - 40_000 * step).collect();
        let mut record = with(counter::FREQUENCY_KHZ.on(0), falling);
        assert_eq!(test_record::found(&RULE, &record), [], "it was idle");
        let host = test_record::host(&mut record, &Role::Here);
        test_record::grow(host, counter::CPU_IDLE.on(0), 1_000_000_000);
        let text = test_record::suspected(&RULE, &record);
        assert!(text.contains("CPU 0 of this host dropped from 1,800 to 1,400 MHz"), "{text}");
    }

    #[test]
    fn heat_is_told() {
        let mut record = test_record::tcp();
        assert_eq!(test_record::found(&RULE, &record), []);
        test_record::grow(
            test_record::host(&mut record, &Role::Peer),
            counter::THROTTLE_CORE.on(2),
            5,
        );
        assert!(
            test_record::suspected(&RULE, &record).contains("the server were throttled 5 times")
        );
        let mut warm = with(counter::COOLING_STATE.on(1), [vec![0; 6], vec![3; 5]].concat());
        assert_eq!(test_record::found(&RULE, &warm), [], "frequencies stayed");
        test_record::host(&mut warm, &Role::Here).series.remove(Family::FREQUENCY);
        assert!(test_record::suspected(&RULE, &warm).contains("went from state 0 to 3"));
    }

    #[test]
    fn a_host_that_tells_nothing_of_it_is_named() {
        let mut record = test_record::tcp();
        let series = &mut test_record::host(&mut record, &Role::Here).series;
        for family in [Family::THROTTLE, Family::COOLING, Family::FREQUENCY] {
            series.remove(family);
        }
        assert!(test_record::unchecked(&RULE, &record).contains("CPU frequency of"));
    }
}
