//! `irq-coalescing-delay`: interrupts are held back so long that answers are late.

use std::time::Duration;

use measurement::remedy::{Coalescing, Setting};
use measurement::units::show_time;

use super::{Case, Class, Found, Page, Rule, RuleId, UsualEffect};
use crate::bottleneck::case::Device;

const PAGE: Page = Page {
    id: RuleId::IrqCoalescingDelay,
    title: "Long interrupt coalescing delay",
    what: "A device holds interrupts of received frames back for at least a quarter of the \
           middle round trip of a test of requests.",
    why: "A frame that comes alone waits for that time in the device, at each end.",
    evidence: "`rx-usecs` of `ethtool -c IF`; round trips of the test.",
    remedy: "`ethtool -C IF rx-usecs 5`, or busy polling (`net.core.busy_poll`).",
    source: "ethtool(8)",
};

pub(super) const RULE: Rule =
    Rule::new(&PAGE, Class::Placement, check).with_effect(UsualEffect::Delay);

fn check(case: &Case<'_>) -> Vec<Found> {
    let record = case.test.map(|test| test.record);
    let trips = record.and_then(|record| record.outcome.round_trips.as_ref());
    let Some(middle) = trips.map(|trips| trips.times.p50) else { return Vec::new() };
    case.hardware().filter_map(|device| finding(&device, middle)).collect()
}

fn finding(device: &Device<'_, '_>, middle: Duration) -> Option<Found> {
    let coalescing = device.interface.coalescing?;
    let held = Duration::from_micros(coalescing.receive_micros?.into());
    // Who adapts holds back little where little comes.
    let is_long = coalescing.adaptive_receive != Some(true) && held >= SHORT && held * 4 >= middle;
    is_long.then(|| {
        let interface = device.interface.name.clone();
        let parameter = Coalescing::RxMicros(LITTLE);
        Found::candidate(format!("long interrupt coalescing delay on {}", device.name()))
            .at(device.host.role())
            .explaining(held.as_secs_f64() / middle.as_secs_f64().max(f64::MIN_POSITIVE))
            .seen(format!(
                "rx-usecs is {}, the median round trip {}",
                held.as_micros(),
                show_time(middle)
            ))
            .remedy("shorten the interrupt coalescing delay")
            .change_from(Setting::Coalescing { interface, parameter }, Some(held.as_micros()))
    })
}

/// In microseconds. To be calibrated.
const LITTLE: u32 = 5;
/// That costs little.
const SHORT: Duration = Duration::from_micros(20);

#[cfg(test)]
pub(super) const FIXTURE: super::Fixture = super::Fixture::on(&RULE, crate::test_record::tcp)
    .fires(|record| ask(record, 200))
    .silent(|record| ask(record, 25));

#[cfg(test)]
fn ask(record: &mut measurement::TestRecord, held: u32) {
    let times = measurement::Spread { p50: Duration::from_micros(400), ..Default::default() };
    record.outcome.round_trips = Some(measurement::RoundTrips { times, ..Default::default() });
    let coalescing =
        measurement::host::Coalescing { receive_micros: Some(held), ..Default::default() };
    crate::test_record::interface_of(record, &measurement::Role::Peer).coalescing =
        Some(coalescing);
}
