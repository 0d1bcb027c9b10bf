//! `big-tcp-off`: packets in the stack are no larger than 64 KiB on a very fast link.

use measurement::remedy::Setting;

use super::{Case, Class, Found, Page, Rule, RuleId};
use crate::bottleneck::case::Device;
use crate::words::count;

const PAGE: Page = Page {
    id: RuleId::BigTcpOff,
    title: "BIG TCP off",
    what: "A link of 100 Gbit/s or more has `gso_max_size` and `gro_max_size` of 65,536 bytes.",
    why: "At 100 Gbit/s that is 190,000 packets in a second for each direction. With BIG TCP a \
          packet in the stack can be larger, and there are fewer.",
    evidence: "`gso_max_size` and `gro_max_size` (`ip -d link`), speed of the link.",
    remedy: "`ip link set IF gso_max_size 185000 gro_max_size 185000`, at both ends; the driver \
             has to know it.",
    source: "ip-link(8)",
};

pub(super) const RULE: Rule = Rule::new(&PAGE, Class::Offload, check);

fn check(case: &Case<'_>) -> Vec<Found> {
    if case.is_udp() || !case.is_open() {
        return Vec::new();
    }
    case.hardware().filter_map(|device| finding(&device)).collect()
}

fn finding(device: &Device<'_, '_>) -> Option<Found> {
    let interface = device.interface;
    let speed = interface.speed_mbps.filter(|speed| *speed >= FAST)?;
    let (send, receive) = (interface.gso_max_bytes?, interface.gro_max_bytes?);
    (send.min(receive) <= LEGACY).then(|| {
        Found::note(format!("BIG TCP is off on {}", device.name()))
            .at(device.host.role())
            .seen(format!(
                "gso_max_size {}, gro_max_size {} at {} Mbit/s",
                count(send),
                count(receive),
                count(speed)
            ))
            .remedy("turn BIG TCP on, where driver and kernel support it")
            .change_from(
                Setting::BigTcp { interface: interface.name.clone(), bytes: LARGE },
                Some(send.min(receive)),
            )
    })
}

/// In bytes: what ip-link(8) users choose for IPv6. To be calibrated.
const LARGE: u32 = 185_000;
/// In Mbit/s.
const FAST: u64 = 100_000;
/// `GSO_LEGACY_MAX_SIZE`, linux/netdevice.h, in bytes.
const LEGACY: u64 = 65_536;

#[cfg(test)]
pub(super) const FIXTURE: super::Fixture = super::Fixture::on(&RULE, crate::test_record::tcp)
    .fires(|record| grow_packets(record, 65_536))
    .silent(|record| grow_packets(record, 185_000));

#[cfg(test)]
fn grow_packets(record: &mut measurement::TestRecord, bytes: u64) {
    let interface = crate::test_record::interface_of(record, &measurement::Role::Here);
    interface.speed_mbps = Some(200_000);
    (interface.gso_max_bytes, interface.gro_max_bytes) = (Some(bytes), Some(bytes));
}
