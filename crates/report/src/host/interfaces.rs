//! Interfaces: one row for each, and below them what is unusual.

use std::io::{self, Write};

use measurement::host::{Bus, Interface};

use super::{head, ranges, speed};
use crate::columns::{Cell, Columns, Emphasis};
use crate::page::write_wrapped;
use crate::width::Width;

/// The table of interfaces: those that are up, and all hardware.
pub(super) fn table(interfaces: &[Interface]) -> Columns {
    let mut columns = Columns::default();
    columns.push(head(&[
        "interface",
        "driver",
        "state",
        "speed",
        "duplex",
        "mtu",
        "queues rx/tx",
        "rings rx/tx",
        "queueing",
        "bus",
    ]));
    for interface in interfaces.iter().filter(|one| is_shown(one)) {
        columns.push(row(interface));
    }
    columns
}

/// Software interfaces that are not configured come with the kernel.
fn is_shown(interface: &Interface) -> bool {
    interface.kind.is_none() || interface.state.as_deref() != Some("down")
}

fn row(interface: &Interface) -> Vec<Cell> {
    let is_slow = interface.most_mbps > interface.speed_mbps && interface.speed_mbps.is_some();
    let doubt = |is_doubt| if is_doubt { Emphasis::Warning } else { Emphasis::None };
    let is_half = interface.duplex.as_deref() == Some("half");
    let driver = interface.driver.clone().or_else(|| interface.kind.clone());
    let ring = |name: &str| interface.rings.get(name).map(|ring| ring.current.to_string());
    let rings = ring("rx").zip(ring("tx")).map(|(rx, tx)| format!("{rx}/{tx}"));
    let mut queueing: Vec<_> = interface.queueing.iter().map(|one| one.kind.as_str()).collect();
    queueing.dedup();
    vec![
        interface.name.clone().into(),
        driver.unwrap_or_default().into(),
        interface.state.clone().unwrap_or_default().into(),
        Cell::new(interface.speed_mbps.map(speed).unwrap_or_default(), doubt(is_slow)),
        Cell::new(interface.duplex.clone().unwrap_or_default(), doubt(is_half)),
        interface.mtu.to_string().into(),
        format!("{}/{}", interface.receive_queues, interface.send_queues).into(),
        rings.unwrap_or_default().into(),
        queueing.join(" + ").into(),
        interface.bus.as_ref().map(bus).unwrap_or_default().into(),
    ]
}

fn bus(bus: &Bus) -> String {
    let speed = bus.speed.as_ref().map(|speed| match bus.kind.as_str() {
        "usb" => format!("{speed} Mbit/s"),
        _ => speed.clone(),
    });
    let lanes = bus.width.map(|width| format!("x{width}"));
    let parts = [Some(bus.kind.clone()), speed, lanes];
    parts.into_iter().flatten().collect::<Vec<_>>().join(" ")
}

/// Writes the settings of each shown interface that could be better.
pub(super) fn write_notes(
    interfaces: &[Interface],
    width: Width,
    out: &mut dyn Write,
) -> io::Result<()> {
    for interface in interfaces.iter().filter(|one| is_shown(one)) {
        for note in notes(interface) {
            write_wrapped(2, &format!("{}: {note}", interface.name), width, out)?;
        }
    }
    Ok(())
}

fn notes(interface: &Interface) -> Vec<String> {
    let link = link(interface).into_iter().chain(slot(interface));
    let notes = [offloads(interface), channels(interface), steering(interface)];
    link.chain(notes.into_iter().flatten()).chain(flow(interface)).collect()
}

fn link(interface: &Interface) -> Option<String> {
    let (is, most) = (interface.speed_mbps?, interface.most_mbps?);
    let offered = |what: &str, mbps: Option<u64>| {
        mbps.filter(|mbps| *mbps < most).map(|mbps| format!(", {what} {}", speed(mbps)))
    };
    let ours = offered("offers", interface.advertised_mbps).unwrap_or_default();
    let peers = offered("the other end offers", interface.peer_mbps).unwrap_or_default();
    (is < most).then(|| format!("it can {}{ours}{peers}", speed(most)))
}

/// A device in a slot that is slower or narrower than itself.
fn slot(interface: &Interface) -> Option<String> {
    let bus = interface.bus.as_ref()?;
    let is_slow = bus.most_speed.is_some() && bus.speed != bus.most_speed;
    let most = Bus { speed: bus.most_speed.clone(), width: bus.most_width, ..bus.clone() };
    let text = || format!("its slot gives {}; it can {}", self::bus(bus), self::bus(&most));
    (is_slow || bus.width < bus.most_width).then(text)
}

/// Offloads that are off and could be on, and common offloads that the device lacks.
fn offloads(interface: &Interface) -> Option<String> {
    let is_off = |(name, state): &(&String, &String)| {
        let usual = USUAL.contains(&name.as_str());
        match state.as_str() {
            "off" => usual,
            "off [fixed]" => usual && interface.kind.is_none(),
            _ => false,
        }
    };
    let off = interface.offloads.iter().filter(is_off).map(|(name, _)| name.as_str());
    let off: Vec<_> = off.collect();
    (!off.is_empty()).then(|| format!("off: {}", off.join(", ")))
}

fn channels(interface: &Interface) -> Option<String> {
    let fewer = |(name, channels): (&String, &measurement::host::Measure)| {
        let most = channels.most.filter(|most| *most > channels.current)?;
        Some(format!("{} of {most} {name} channels", channels.current))
    };
    let fewer: Vec<_> = interface.channels.iter().filter_map(fewer).collect();
    (!fewer.is_empty()).then(|| fewer.join(", "))
}

fn steering(interface: &Interface) -> Option<String> {
    let receiving = interface.steering.iter().filter(|one| one.queue.starts_with("rx"));
    let on = receiving.filter(|one| !one.cpus.is_empty());
    let on: Vec<_> = on.map(|one| format!("{} on CPU {}", one.queue, ranges(&one.cpus))).collect();
    (!on.is_empty()).then(|| format!("RPS: {}", on.join(", ")))
}

fn flow(interface: &Interface) -> Vec<String> {
    let pause = interface.pause.and_then(|pause| match (pause.receive, pause.send) {
        (true, true) => Some("flow control: obeys and sends pauses"),
        (true, false) => Some("flow control: obeys pauses"),
        (false, true) => Some("flow control: sends pauses"),
        (false, false) => None,
    });
    let eee = interface.eee.as_deref().filter(|word| *word == "active");
    let eee = eee.map(|_| "Energy-Efficient Ethernet (EEE) is active");
    pause.into_iter().chain(eee).map(str::to_owned).collect()
}

/// Offloads that nearly every device of the last twenty years has.
const USUAL: [&str; 6] = [
    "rx-checksum",
    "rx-gro",
    "tx-generic-segmentation",
    "tx-scatter-gather",
    "tx-tcp-segmentation",
    "tx-tcp6-segmentation",
];
