//! `netem-active`: an interface emulates a network.

use std::time::Duration;

use measurement::Bound;
use measurement::host::Queueing;
use measurement::remedy::Setting;

use super::{Case, Class, Found, Page, Rule, RuleId, UsualEffect};
use crate::bottleneck::case::Device;
use crate::bottleneck::transfer;
use crate::words::{count, counted, percent};

const PAGE: Page = Page {
    id: RuleId::NetemActive,
    title: "Emulated delay or loss",
    what: "The queueing discipline netem of an interface delays or loses packets.",
    why: "netem emulates a network in a laboratory. Left on an interface it makes a path long or \
          lossy, which looks like the network. It also drops what exceeds its queue, 1,000 packets \
          by default, which bounds the rate of a long delay.",
    evidence: "`delay`, `loss` and `limit` of the discipline (`tc qdisc`). The bound is the queue \
               divided by the delay, for packets of the MTU up to those of 64 KiB that \
               segmentation offload makes.",
    remedy: "`tc qdisc del dev IF root`, unless the emulation is intended.",
    source: "tc-netem(8)",
};

pub(super) const RULE: Rule = Rule::new(&PAGE, Class::Queue, check).with_effect(UsualEffect::Loss);

fn check(case: &Case<'_>) -> Vec<Found> {
    case.controlled().flat_map(|device| findings(case, &device)).collect()
}

fn findings(case: &Case<'_>, device: &Device<'_, '_>) -> Vec<Found> {
    let all = device.interface.queueing.iter();
    all.filter_map(|queueing| finding(case, device, queueing)).collect()
}

fn finding(case: &Case<'_>, device: &Device<'_, '_>, queueing: &Queueing) -> Option<Found> {
    let delay = queueing.delay_micros.map(Duration::from_micros);
    let text = format!("netem on {} {}", device.name(), described(queueing)?);
    // With a test the rules of loss and of windows tell what it did.
    let found = if case.test.is_some() { Found::note(text) } else { Found::candidate(text) };
    let bound = delay.and_then(|delay| queue(device, queueing, delay));
    let found = match bound.filter(|_| case.test.is_none()) {
        Some(bound) => found.allowing(bound),
        None => found,
    };
    let setting = Setting::DefaultQdisc { interface: device.interface.name.clone() };
    let found = found.at(device.host.role()).seen(format!("netem {}", queueing.handle));
    Some(found.remedy("remove netem, unless it is intended").change_from(setting, Some("netem")))
}

/// What it does to packets, in words; none: nothing but to queue them.
fn described(queueing: &Queueing) -> Option<String> {
    let delay = queueing.delay_micros.map(Duration::from_micros);
    let delay = delay.map(|delay| format!("delays packets by {}", transfer::shown(delay)));
    let share = queueing.loss_millionths.map(|loss| f64::from(loss) / 1e6);
    let loss = share.map(|share| format!("loses {} of packets", percent(share)));
    let all: Vec<_> = delay.into_iter().chain(loss).collect();
    (!all.is_empty()).then(|| all.join(" and "))
}

/// What fits into the queue while a packet is delayed.
fn queue(device: &Device<'_, '_>, queueing: &Queueing, delay: Duration) -> Option<Bound> {
    let packets = queueing.limit_packets?;
    let rate = |bytes: u32| packets as f64 * f64::from(bytes) * 8.0 / delay.as_secs_f64();
    let mtu = device.interface.mtu;
    let arithmetic = format!(
        "a queue of {}, of {} to {} bytes, in {}",
        counted(packets, "packet"),
        count(mtu.into()),
        count(LARGEST.into()),
        transfer::shown(delay)
    );
    (!delay.is_zero()).then(|| Bound::between(rate(mtu), rate(LARGEST), arithmetic))
}

/// The largest packet that segmentation offload makes (`GSO_LEGACY_MAX_SIZE`, linux/netdevice.h).
const LARGEST: u32 = 65_536;

#[cfg(test)]
pub(super) const FIXTURE: super::Fixture = super::Fixture::on(&RULE, crate::test_record::tcp)
    .fires(|record| emulate(record, Some(20_000)))
    .silent(|record| emulate(record, None));

#[cfg(test)]
fn emulate(record: &mut measurement::TestRecord, delay_micros: Option<u64>) {
    let interface = crate::test_record::interface_of(record, &measurement::Role::Here);
    let kind = "netem".to_owned();
    let limit_packets = Some(1_000);
    interface.queueing =
        vec![Queueing { kind, delay_micros, limit_packets, ..Queueing::default() }];
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_a_test_the_queue_bounds_the_rate() {
        let mut record = crate::test_record::tcp();
        emulate(&mut record, Some(100_000));
        record.hosts.truncate(1);
        record.hosts[0].interfaces.clear();
        let found = check(&Case::of_hosts(&record.hosts, &[]));
        let bound = found[0].effect.bound().expect("known");
        assert_eq!(bound.from.to_string(), "120.0 Mbit/s");
        assert!(found[0].text.ends_with("delays packets by 100 ms"), "{}", found[0].text);
    }
}
