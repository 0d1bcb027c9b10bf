//! `bus-bandwidth`: what an interface is plugged into is slower than its link.

use measurement::host::Bus;

use super::{Case, Class, Found, Page, Rule, RuleId};
use crate::bottleneck::case::Device;
use crate::words::count;

const PAGE: Page = Page {
    id: RuleId::BusBandwidth,
    title: "Bus (PCIe, USB) slower than the link",
    what: "A PCI device runs with fewer lanes or slower ones than it has, or a USB device at a \
           lower speed, so that its link does not fit; or it would fit and could do better.",
    why: "Frames wait in the device for the bus, and are dropped there. A card in the wrong slot \
          works, at half its rate.",
    evidence: "`current_link_speed` and `current_link_width` of the device in sysfs against what \
               it has at most; the speed of USB; with a test also what went through.",
    remedy: "Another slot or port; reseat the card. `lspci -vv` shows both ends of the link.",
    source: "PCI Express Base Specification 4.2.1 and 8.2, sysfs-bus-pci",
};

pub(super) const RULE: Rule = Rule::new(&PAGE, Class::Link, check);

fn check(case: &Case<'_>) -> Vec<Found> {
    if !case.is_open() {
        return Vec::new();
    }
    case.hardware().filter_map(|device| finding(&device)).collect()
}

fn finding(device: &Device<'_, '_>) -> Option<Found> {
    let bus = device.interface.bus.as_ref()?;
    let (carries, is_degraded) = (capacity(bus)?, is_degraded(bus));
    let link = device.interface.speed_mbps.filter(|speed| *speed > 0)? as f64;
    let name = device.name();
    let found = if carries < link {
        let text = format!("the bus of {name} is slower than its link");
        let moved = device.filled().unwrap_or(0.0) * link;
        let is_full = moved >= carries * FULL;
        if is_full { Found::limit(text).explaining(1.0) } else { Found::candidate(text) }
    } else if is_degraded {
        Found::note(format!(
            "{name} runs below the speed of its slot, which is enough for its \
        link"
        ))
    } else {
        return None;
    };
    let now = found.at(device.host.role()).seen(format!(
        "{} {}: {}",
        bus.kind,
        bus.address,
        described(bus)
    ));
    let seen = now.seen(format!("it carries about {carries:.0} Mbit/s, the link {link:.0} Mbit/s"));
    Some(seen.remedy(match bus.kind.as_str() {
        "usb" => "plug it into a faster port (USB 3, blue), without a hub between",
        _ => "reseat the card, or use a slot with more or faster lanes (lspci -vv)",
    }))
}

fn is_degraded(bus: &Bus) -> bool {
    let is_narrow = bus.width.zip(bus.most_width).is_some_and(|(now, most)| now < most);
    is_narrow
        || bus.most_speed.is_some()
            && number(bus.speed.as_deref()) < number(bus.most_speed.as_deref())
}

/// What fits through it one way, in Mbit/s.
fn capacity(bus: &Bus) -> Option<f64> {
    let speed = number(bus.speed.as_deref())?;
    match bus.kind.as_str() {
        "pci" => {
            // Lines of 8b/10b to 5 GT/s, of 128b/130b above.
            let coding = if speed <= 5.0 { 0.8 } else { 128.0 / 130.0 };
            Some(speed * 1_000.0 * coding * f64::from(bus.width?) * PACKETS)
        }
        "usb" => Some(speed * PROTOCOL),
        _ => None,
    }
}

fn number(text: Option<&str>) -> Option<f64> {
    text?.split_whitespace().next()?.parse().ok()
}

fn described(bus: &Bus) -> String {
    let speed = |text: &Option<String>| text.clone().unwrap_or_else(|| "?".to_owned());
    let lanes =
        |lanes: Option<u32>| lanes.map_or_else(|| "?".to_owned(), |lanes| count(lanes.into()));
    if bus.kind == "usb" {
        return format!("{} Mbit/s", speed(&bus.speed));
    }
    format!(
        "{} on {} lanes, at most {} on {}",
        speed(&bus.speed),
        lanes(bus.width),
        speed(&bus.most_speed),
        lanes(bus.most_width)
    )
}

/// Share of a PCI link that is data where packets hold 256 bytes.
const PACKETS: f64 = 0.88;
/// Share of a USB link that its protocol leaves.
const PROTOCOL: f64 = 0.8;
/// Share of that from which on the bus is full. To be calibrated.
const FULL: f64 = 0.8;

#[cfg(test)]
pub(super) const FIXTURE: super::Fixture = super::Fixture::on(&RULE, crate::test_record::tcp)
    .fires(|record| plug(record, "120"))
    .silent(|record| plug(record, "5000"));

#[cfg(test)]
fn plug(record: &mut measurement::TestRecord, speed: &str) {
    let interface = crate::test_record::interface_of(record, &measurement::Role::Peer);
    interface.speed_mbps = Some(1_000);
    let (kind, speed) = ("usb".to_owned(), Some(speed.to_owned()));
    interface.bus = Some(Bus { kind, speed, address: "4-1:1.0".to_owned(), ..Bus::default() });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slot_carries_its_lanes_less_what_packets_cost() {
        let pci = |speed: &str, width| Bus {
            kind: "pci".to_owned(),
            speed: Some(format!("{speed} GT/s PCIe")),
            width: Some(width),
            ..Bus::default()
        };
        let carries = |bus: &Bus| capacity(bus).expect("known").round();
        assert!((carries(&pci("2.5", 1)) - 1_760.0).abs() < 1.0, "one lane of the first PCIe");
        assert!((carries(&pci("8.0", 8)) - 55_453.0).abs() < 2.0, "eight of the third");
    }
}
