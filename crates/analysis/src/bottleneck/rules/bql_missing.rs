//! `bql-missing`: packets wait in the device, where no discipline reaches them.

use measurement::remedy::{Ring, Setting};

use super::{Case, Class, Found, Page, Rule, RuleId, UsualEffect};
use crate::bottleneck::case::Device;
use crate::words::count;
use measurement::host::counter;

const PAGE: Page = Page {
    id: RuleId::BqlMissing,
    title: "Device queue without byte queue limits (BQL)",
    what: "The driver does not limit the bytes in its queues for sending, or lets them hold more \
           than ten milliseconds of the link.",
    why: "`fq_codel` and `cake` keep delay small by what they hold themselves. What the driver \
          has taken waits in its ring, first come, first served.",
    evidence: "`queues/tx-N/byte_queue_limits/limit` of an interface that has sent: 0 where the \
               driver does not count; its speed.",
    remedy: "A driver with byte queue limits; a shorter ring (`ethtool -G IF tx 64`), or a shaper \
             a little below the link (`tc qdisc replace dev IF root cake bandwidth …`).",
    source: "Documentation/ABI/testing/sysfs-class-net-queues",
};

pub(super) const RULE: Rule = Rule::new(&PAGE, Class::Queue, check).with_effect(UsualEffect::Delay);

fn check(case: &Case<'_>) -> Vec<Found> {
    case.senders().filter_map(|device| finding(&device)).collect()
}

fn finding(device: &Device<'_, '_>) -> Option<Found> {
    let most = *device.interface.send_limits_bytes.iter().max()?;
    let name = device.name();
    let found = match most {
        0 if !has_sent(device) => return None,
        0 => Found::note(format!("the driver of {name} has no byte queue limits (BQL)"))
            .seen("its byte queue limits are 0, though it has sent"),
        _ => {
            let mbps = device.interface.speed_mbps.filter(|speed| *speed > 0)?;
            let milliseconds = most as f64 * 8.0 / (mbps as f64 * 1e3);
            if milliseconds < LONG {
                return None;
            }
            Found::note(format!("the TX queue of {name} is long")).seen(format!(
                "byte queue limit {} bytes, {milliseconds:.0} ms at {mbps} Mbit/s",
                count(most)
            ))
        }
    };
    let advice = "measure round trips under load (--latency); if they grow, shorten the TX ring";
    let interface = device.interface.name.clone();
    let ring = Setting::Ring { interface, ring: Ring::Tx, entries: SHORT };
    let now = device.interface.rings.get("tx").map(|ring| ring.current);
    Some(found.at(device.host.role()).remedy(advice).change_from(ring, now))
}

/// Whether it sent something before the test: limits start at 0.
fn has_sent(device: &Device<'_, '_>) -> bool {
    let sent = counter::INTERFACE_TX_PACKETS.on(&device.interface.name);
    let values = device.host.evidence.series.values(sent);
    values.and_then(|values| values.first()).is_some_and(|sent| *sent >= SOME)
}

/// Entries. To be calibrated.
const SHORT: u64 = 64;
/// Milliseconds. To be calibrated.
const LONG: f64 = 10.0;
/// Packets.
const SOME: u64 = 10_000;

#[cfg(test)]
pub(super) const FIXTURE: super::Fixture = super::Fixture::on(&RULE, crate::test_record::tcp)
    .fires(|record| limit(record, 2_000_000))
    .silent(|record| limit(record, 60_000));

#[cfg(test)]
fn limit(record: &mut measurement::TestRecord, bytes: u64) {
    let interface = crate::test_record::interface_of(record, &measurement::Role::Here);
    (interface.speed_mbps, interface.send_limits_bytes) = (Some(1_000), vec![0, bytes]);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::accounts::Test;
    use crate::test_record;

    #[test]
    fn a_driver_that_does_not_count_shows_once_it_has_sent() {
        let found = |before: u64| {
            let mut record = test_record::tcp();
            limit(&mut record, 0);
            let host = test_record::host(&mut record, &measurement::Role::Here);
            let sent = host.series.at.iter().map(|_| before).collect();
            host.series.put(counter::INTERFACE_TX_PACKETS.on("eth0"), sent);
            check(&Case::of_test(&Test::from_record(&record), &[])).len()
        };
        assert_eq!((found(0), found(50_000)), (0, 1));
    }
}
