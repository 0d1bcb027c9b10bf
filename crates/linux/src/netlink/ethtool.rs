//! Settings and state of a network device by ethtool over netlink ([ethtool-netlink]).
//!
//! Linux has this protocol since 5.6. What is here reads; the requests that set are in `set`.
//!
//! [ethtool-netlink]: https://docs.kernel.org/networking/ethtool-netlink.html

use std::io;

use super::generic::Family;
use super::message::{Message, NESTED, attribute, u32_at};

mod bitset;
mod features;
mod link_modes;
mod set;

pub use features::{Feature, features};
pub use link_modes::{Duplex, LinkModes};
pub use set::LinkRequest;

use link_modes::advertised;

/// A socket to the generic netlink family `ethtool`, which reads settings and state of network
/// devices as ethtool(8) shows them.
///
/// It belongs to the network namespace in which the calling thread was when it was opened.
/// Interfaces are given by index. A query fails with `EOPNOTSUPP` if the device does not
/// have the setting.
#[derive(Debug)]
pub struct Ethtool {
    family: Family,
}

impl Ethtool {
    /// Opens a socket in the network namespace of the calling thread.
    ///
    /// # Errors
    /// `ENOENT` before Linux 5.6; `EMFILE` or `ENFILE` if too many files are open.
    pub fn open() -> io::Result<Self> {
        Ok(Self { family: Family::open("ethtool")? })
    }

    /// The speeds and duplex of the link: current, supported, advertised (`ethtool IF`).
    ///
    /// # Errors
    /// `ENODEV` if there is no such interface, `EOPNOTSUPP` if the device has no link
    /// modes.
    pub fn link_modes(&mut self, index: u32) -> io::Result<LinkModes> {
        self.ask(LINKMODES_GET, index).map(|answer| LinkModes::read(&answer))
    }

    /// The features of the device `index` (`ethtool -k`), such as offloads, by the kernel's names.
    ///
    /// # Errors
    /// `ENODEV` if there is no such interface.
    pub fn features(&mut self, index: u32) -> io::Result<Vec<Feature>> {
        self.ask(FEATURES_GET, index).map(|answer| features(&answer))
    }

    /// Sizes of the descriptor rings (`ethtool -g`): `rx`, `rx-mini`, `rx-jumbo` and `tx`.
    ///
    /// # Errors
    /// `ENODEV` if there is no such interface, `EOPNOTSUPP` if the device has no rings.
    pub fn rings(&mut self, index: u32) -> io::Result<Vec<Parameter>> {
        self.ask(RINGS_GET, index).map(|answer| rings(&answer))
    }

    /// Numbers of queues (`ethtool -l`): `rx`, `tx`, `other` and `combined`.
    ///
    /// # Errors
    /// `ENODEV` if there is no such interface, `EOPNOTSUPP` if the device has no such
    /// setting.
    pub fn channels(&mut self, index: u32) -> io::Result<Vec<Parameter>> {
        self.ask(CHANNELS_GET, index).map(|answer| channels(&answer))
    }

    /// Interrupt coalescing (`ethtool -c`).
    ///
    /// # Errors
    /// `ENODEV` if there is no such interface, `EOPNOTSUPP` if the device has no such
    /// setting.
    pub fn coalescing(&mut self, index: u32) -> io::Result<Coalescing> {
        self.ask(COALESCE_GET, index).map(|answer| Coalescing::read(&answer))
    }

    /// Flow control by pause frames (`ethtool -a`).
    ///
    /// # Errors
    /// `ENODEV` if there is no such interface, `EOPNOTSUPP` if the device has no such
    /// setting.
    pub fn pause(&mut self, index: u32) -> io::Result<Pause> {
        self.ask(PAUSE_GET, index).map(|answer| Pause::read(&answer))
    }

    /// Energy Efficient Ethernet (`ethtool --show-eee`).
    ///
    /// # Errors
    /// `ENODEV` if there is no such interface, `EOPNOTSUPP` if the device has no such
    /// setting.
    pub fn energy_efficiency(&mut self, index: u32) -> io::Result<EnergyEfficiency> {
        self.ask(EEE_GET, index).map(|answer| EnergyEfficiency::read(&answer))
    }

    /// Names of the link modes that the device `index` advertises, e.g. `1000baseT/Full`
    /// (`ethtool IF`, "Advertised link modes").
    ///
    /// # Errors
    /// `ENODEV` if there is no such interface, `EOPNOTSUPP` if the device has no link modes.
    pub fn advertised_modes(&mut self, index: u32) -> io::Result<Vec<String>> {
        self.ask(LINKMODES_GET, index).map(|answer| advertised(&answer))
    }

    /// Sends a request; every kind has a header that names the interface as its first
    /// attribute.
    fn ask(&mut self, command: u8, index: u32) -> io::Result<Vec<u8>> {
        self.family.ask(command, |message| of_device(message, index))
    }
}

/// The header of a request, which names the interface.
fn of_device(message: Message, index: u32) -> Message {
    message
        .nested(HEADER | NESTED, |header| header.attribute(HEADER_DEV_INDEX, &index.to_ne_bytes()))
}

/// A setting of a network device that is a number, such as the size of a ring (ethtool(8)).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Parameter {
    /// Name of the parameter in ethtool(8).
    pub name: &'static str,
    /// Current value of the parameter.
    pub current: u32,
    /// The largest value that the device supports; `None` if it does not report one.
    pub max: Option<u32>,
}

/// Decodes the attributes `ETHTOOL_A_RINGS_*` of a netlink reply: sizes of descriptor rings. Rings
/// that the device does not have are left out.
pub fn rings(answer: &[u8]) -> Vec<Parameter> {
    amounts(answer, &[("rx", 6, 2), ("rx-mini", 7, 3), ("rx-jumbo", 8, 4), ("tx", 9, 5)])
}

/// Decodes the attributes `ETHTOOL_A_CHANNELS_*` of a netlink reply: numbers of queues. Kinds of
/// queues that the device does not have are left out.
pub fn channels(answer: &[u8]) -> Vec<Parameter> {
    amounts(answer, &[("rx", 6, 2), ("tx", 7, 3), ("other", 8, 4), ("combined", 9, 5)])
}

/// Decodes pairs of attributes: name, attribute of the current value (`ETHTOOL_A_RINGS_RX`)
/// and of the maximum (`ETHTOOL_A_RINGS_RX_MAX`).
fn amounts(answer: &[u8], kinds: &[(&'static str, u16, u16)]) -> Vec<Parameter> {
    let amount = |(name, current, max): &(&'static str, u16, u16)| {
        let max = number(answer, *max);
        Some(Parameter { name, current: number(answer, *current)?, max })
    };
    let has = |amount: &Parameter| amount.current > 0 || amount.max.is_some_and(|max| max > 0);
    kinds.iter().filter_map(amount).filter(has).collect()
}

/// Interrupt coalescing of a network device (`ethtool -c`). A field is `None` if the device does
/// not have the parameter.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Coalescing {
    /// Delay of the interrupt after a received frame, in microseconds (`rx-usecs`).
    pub receive_micros: Option<u32>,
    /// Received frames up to an interrupt (`rx-frames`).
    pub receive_frames: Option<u32>,
    /// Delay of the interrupt after a sent frame, in microseconds (`tx-usecs`).
    pub send_micros: Option<u32>,
    /// Sent frames up to an interrupt (`tx-frames`).
    pub send_frames: Option<u32>,
    /// Whether the driver adapts coalescing of received frames to the load (`adaptive-rx`).
    pub adaptive_receive: Option<bool>,
    /// Whether the driver adapts coalescing of sent frames to the load (`adaptive-tx`).
    pub adaptive_send: Option<bool>,
}

impl Coalescing {
    /// Decodes the attributes `ETHTOOL_A_COALESCE_*` of a netlink reply.
    pub fn read(answer: &[u8]) -> Self {
        Self {
            receive_micros: number(answer, 2),
            receive_frames: number(answer, 3),
            send_micros: number(answer, 6),
            send_frames: number(answer, 7),
            adaptive_receive: switch(answer, 11),
            adaptive_send: switch(answer, 12),
        }
    }
}

/// Flow control by pause frames (IEEE 802.3x). A field is `None` if the device does not report it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Pause {
    /// Whether pause frames are autonegotiated.
    pub negotiated: Option<bool>,
    /// Whether received pause frames are obeyed.
    pub receive: Option<bool>,
    /// Whether pause frames are sent.
    pub send: Option<bool>,
}

impl Pause {
    /// Decodes the attributes `ETHTOOL_A_PAUSE_*` of a netlink reply.
    pub fn read(answer: &[u8]) -> Self {
        Self { negotiated: switch(answer, 2), receive: switch(answer, 3), send: switch(answer, 4) }
    }
}

/// Energy Efficient Ethernet (IEEE 802.3az). A field is `None` if the device does not
/// report it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct EnergyEfficiency {
    /// Whether Energy Efficient Ethernet is active: both link partners support it.
    pub active: Option<bool>,
    /// Whether Energy Efficient Ethernet is enabled, and advertised to the link partner.
    pub enabled: Option<bool>,
}

impl EnergyEfficiency {
    /// Decodes the attributes `ETHTOOL_A_EEE_*` of a netlink reply.
    pub fn read(answer: &[u8]) -> Self {
        Self { active: switch(answer, 4), enabled: switch(answer, 5) }
    }
}

/// Whether an error of ethtool, over netlink or ioctl(2), means that there is nothing to
/// read: the device does not have the setting, has no link, or is gone.
pub fn is_absent(error: &io::Error) -> bool {
    let absent = [libc::EOPNOTSUPP, libc::ENODEV, libc::ENETDOWN];
    super::errno(error).is_some_and(|errno| absent.contains(&errno))
}

fn number(answer: &[u8], kind: u16) -> Option<u32> {
    u32_at(attribute(answer, kind)?, 0..4)
}

fn switch(answer: &[u8], kind: u16) -> Option<bool> {
    attribute(answer, kind)?.first().map(|value| *value != 0)
}

// linux/ethtool_netlink.h
const LINKMODES_GET: u8 = 4;
const FEATURES_GET: u8 = 11;
const RINGS_GET: u8 = 15;
const CHANNELS_GET: u8 = 17;
const COALESCE_GET: u8 = 19;
const PAUSE_GET: u8 = 21;
const EEE_GET: u8 = 23;
const HEADER: u16 = 1;
const HEADER_DEV_INDEX: u16 = 1;

#[cfg(test)]
mod tests {
    use super::*;

    /// An answer with these numbers.
    fn answer(numbers: &[(u16, u32)]) -> Vec<u8> {
        let fill = |message: Message, (kind, value): &(u16, u32)| {
            message.attribute(*kind, &value.to_ne_bytes())
        };
        let message = numbers.iter().fold(Message::new(0, 0, &[]), fill).finish(0);
        message[super::super::message::HEADER_BYTES..].to_vec()
    }

    #[test]
    fn rings_and_channels_come_with_what_is_possible() {
        let rings = rings(&answer(&[(2, 4096), (3, 0), (5, 1024), (6, 256), (7, 0), (9, 512)]));
        let rx = Parameter { name: "rx", current: 256, max: Some(4096) };
        let tx = Parameter { name: "tx", current: 512, max: Some(1024) };
        assert_eq!(rings, [rx, tx]);
        let channels = channels(&answer(&[(5, 8), (9, 4)]));
        assert_eq!(channels, [Parameter { name: "combined", current: 4, max: Some(8) }]);
    }

    #[test]
    fn coalescing_tells_only_what_the_device_has() {
        let read = Coalescing::read(&answer(&[(2, 20), (11, 1)]));
        assert_eq!((read.receive_micros, read.adaptive_receive), (Some(20), Some(true)));
        assert_eq!((read.send_micros, read.adaptive_send), (None, None));
    }

    #[test]
    fn loopback_tells_its_features_and_has_no_rings() {
        // An older kernel has no such family.
        let Ok(mut ethtool) = Ethtool::open() else { return };
        let features = ethtool.features(1).expect("every interface has them");
        let state = |name| features.iter().find(|feature| feature.name == name);
        let loopback = state("loopback").expect("known since Linux 3.0");
        assert!(loopback.on && loopback.fixed, "{loopback:?}");
        let refused = ethtool.rings(1).expect_err("no rings");
        let gone = ethtool.features(u32::MAX).expect_err("no such interface");
        assert!(is_absent(&refused) && is_absent(&gone), "{refused}, {gone}");
    }
}
