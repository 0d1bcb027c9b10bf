//! Settings of interfaces as files of systemd.link(5), which udev reads when an interface appears.

use measurement::remedy::{Coalescing, DuplexMode, Ring, Setting, Side, Switch};

use super::HEAD;
use crate::Tree;

/// The interface of a setting, and its keys in the section `[Link]`; none: that has it not.
pub(super) fn keys(setting: &Setting) -> Option<(&str, Vec<String>)> {
    let one = |key: &str, value: &dyn std::fmt::Display| vec![format!("{key}={value}")];
    Some(match setting {
        Setting::Feature { interface, feature, state } => {
            let keys = offload(feature)?.iter().map(|key| format!("{key}={}", word(*state)));
            (interface, keys.collect())
        }
        Setting::Ring { interface, ring: Ring::Rx, entries } => {
            (interface, one("RxBufferSize", entries))
        }
        Setting::Ring { interface, ring: Ring::Tx, entries } => {
            (interface, one("TxBufferSize", entries))
        }
        Setting::Channels { interface, kind, count } => {
            let key = match kind {
                measurement::remedy::Channels::Combined => "CombinedChannels",
                measurement::remedy::Channels::Rx => "RxChannels",
                measurement::remedy::Channels::Tx => "TxChannels",
            };
            (interface, one(key, count))
        }
        Setting::Coalescing { interface, parameter } => (interface, vec![coalescing(*parameter)]),
        Setting::PauseFrames { interface, side, state } => {
            let key = if *side == Side::Rx { "RxFlowControl" } else { "TxFlowControl" };
            (interface, one(key, &word(*state)))
        }
        Setting::Autonegotiation { interface, state } => {
            (interface, one("AutoNegotiation", &word(*state)))
        }
        Setting::FixedSpeed { interface, mbps, duplex } => {
            let duplex = if *duplex == DuplexMode::Full { "full" } else { "half" };
            let keys = [
                "AutoNegotiation=no".to_owned(),
                format!("BitsPerSecond={mbps}M"),
                format!("Duplex={duplex}"),
            ];
            (interface, keys.to_vec())
        }
        Setting::Mtu { interface, bytes } => (interface, one("MTUBytes", bytes)),
        Setting::QueueLength { interface, packets } => {
            (interface, one("TransmitQueueLength", packets))
        }
        _ => return None,
    })
}

/// The keys of a feature of ethtool(8).
fn offload(feature: &str) -> Option<&'static [&'static str]> {
    Some(match feature {
        "tso" => &["TCPSegmentationOffload", "TCP6SegmentationOffload"],
        "gso" => &["GenericSegmentationOffload"],
        "gro" => &["GenericReceiveOffload"],
        "lro" => &["LargeReceiveOffload"],
        "rx" => &["ReceiveChecksumOffload"],
        "tx" => &["TransmitChecksumOffload"],
        "rx-gro-hw" => &["GenericReceiveOffloadHardware"],
        _ => return None,
    })
}

fn coalescing(parameter: Coalescing) -> String {
    match parameter {
        Coalescing::AdaptiveRx(state) => format!("UseAdaptiveRxCoalesce={}", word(state)),
        Coalescing::AdaptiveTx(state) => format!("UseAdaptiveTxCoalesce={}", word(state)),
        Coalescing::RxMicros(micros) => format!("RxCoalesceSec={micros}us"),
        Coalescing::RxFrames(frames) => format!("RxMaxCoalescedFrames={frames}"),
        Coalescing::TxMicros(micros) => format!("TxCoalesceSec={micros}us"),
        Coalescing::TxFrames(frames) => format!("TxMaxCoalescedFrames={frames}"),
    }
}

const fn word(state: Switch) -> &'static str {
    match state {
        Switch::On => "yes",
        Switch::Off => "no",
    }
}

/// The file of an interface, which sorts before that of the distribution.
pub(super) fn path(interface: &str) -> String {
    format!("/etc/systemd/network/10-linerate-{interface}.link")
}

/// A file of an interface. Of the files that match an interface only the first counts, so that it
/// has the policies of systemd's own last one, too.
pub(super) fn text(tree: &Tree, interface: &str, keys: &[String]) -> String {
    let matched = match address(tree, interface) {
        Some(address) => format!("MACAddress={address}"),
        None => format!("OriginalName={interface}"),
    };
    format!("{HEAD}[Match]\n{matched}\n\n[Link]\n{POLICIES}{}\n", keys.join("\n"))
}

/// Its address, if that is the device's own and no random one (IEEE 802: bit 1 of the first octet).
fn address(tree: &Tree, interface: &str) -> Option<String> {
    let address = tree.value(&format!("sys/class/net/{interface}/address"))?;
    let octets: Result<Vec<_>, _> =
        address.split(':').map(|octet| u8::from_str_radix(octet, 16)).collect();
    let octets = octets.ok().filter(|octets| octets.len() == 6)?;
    (octets[0] & 2 == 0 && octets.iter().any(|octet| *octet != 0)).then_some(address)
}

/// Those of 99-default.link.
const POLICIES: &str = "NamePolicy=keep kernel database onboard slot path\n\
                        MACAddressPolicy=persistent\n";
