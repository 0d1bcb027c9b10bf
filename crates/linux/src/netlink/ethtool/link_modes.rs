//! Speeds and duplex of a link: current, supported and advertised.

use super::super::message::attribute;
use super::bitset::bits;
use super::{number, switch};

/// Speeds and duplex of a network device (`ethtool IF`). A field is `None` if the device does not
/// report it or has no link.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LinkModes {
    /// Current speed in Mbit/s.
    pub speed_mbps: Option<u32>,
    /// Highest speed that the device supports, in Mbit/s.
    pub supported_mbps: Option<u32>,
    /// Highest speed that the device advertises, in Mbit/s.
    pub advertised_mbps: Option<u32>,
    /// Highest speed that the link partner advertises, in Mbit/s.
    pub peer_mbps: Option<u32>,
    /// Current duplex mode; none: not known.
    pub duplex: Option<Duplex>,
    /// Whether autonegotiation is on.
    pub negotiated: Option<bool>,
}

/// Whether both ends of a link can send at the same time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Duplex {
    /// Only one end at a time.
    Half,
    /// Both ends at the same time.
    Full,
}

impl LinkModes {
    /// Decodes the attributes `ETHTOOL_A_LINKMODES_*` of a netlink reply.
    pub fn read(answer: &[u8]) -> Self {
        let ours = bits(attribute(answer, OURS).unwrap_or_default());
        let peer = bits(attribute(answer, PEER).unwrap_or_default());
        let known = |speed: &u32| *speed != 0 && *speed != SPEED_UNKNOWN;
        let duplex = attribute(answer, DUPLEX).and_then(|value| value.first());
        Self {
            speed_mbps: number(answer, SPEED).filter(known),
            supported_mbps: ours.iter().filter_map(|bit| speed_of(&bit.name)).max(),
            advertised_mbps: fastest(&ours),
            peer_mbps: fastest(&peer),
            duplex: duplex.and_then(|value| match value {
                0 => Some(Duplex::Half),
                1 => Some(Duplex::Full),
                _ => None,
            }),
            negotiated: switch(answer, AUTONEG),
        }
    }
}

/// Names of the modes in `ETHTOOL_A_LINKMODES_OURS` of a netlink reply that are set.
pub(super) fn advertised(answer: &[u8]) -> Vec<String> {
    let ours = bits(attribute(answer, OURS).unwrap_or_default());
    ours.into_iter().filter(|bit| bit.is_set).map(|bit| bit.name).collect()
}

fn fastest(modes: &[super::bitset::Bit]) -> Option<u32> {
    modes.iter().filter(|bit| bit.is_set).filter_map(|bit| speed_of(&bit.name)).max()
}

/// The speed in the name of a link mode such as `1000baseT/Full`, in Mbit/s; `None` for
/// `Autoneg`.
fn speed_of(name: &str) -> Option<u32> {
    name.split_once("base")?.0.parse().ok()
}

// linux/ethtool_netlink.h
const AUTONEG: u16 = 2;
const OURS: u16 = 3;
const PEER: u16 = 4;
const SPEED: u16 = 5;
const DUPLEX: u16 = 6;
/// linux/ethtool.h
const SPEED_UNKNOWN: u32 = u32::MAX;

#[cfg(test)]
mod tests {
    use super::super::super::message::{HEADER_BYTES, Message};
    use super::super::bitset::tests::set;
    use super::*;

    #[test]
    fn the_fastest_mode_is_told_apart_from_the_one_in_use() {
        let modes = [
            ("100baseT/Full", true),
            ("1000baseT/Full", true),
            ("Autoneg", true),
            ("2500baseT/Full", false),
        ];
        let message = Message::new(0, 0, &[])
            .attribute(AUTONEG, &[1])
            .attribute(OURS, &set(&modes, false))
            .attribute(PEER, &set(&[("100baseT/Full", true)], true))
            .attribute(SPEED, &100_u32.to_ne_bytes())
            .attribute(DUPLEX, &[1]);
        let read = LinkModes::read(&message.finish(0)[HEADER_BYTES..]);
        assert_eq!((read.speed_mbps, read.supported_mbps), (Some(100), Some(2500)));
        assert_eq!((read.advertised_mbps, read.peer_mbps), (Some(1000), Some(100)));
        assert_eq!((read.duplex, read.negotiated), (Some(Duplex::Full), Some(true)));
    }

    #[test]
    fn a_link_that_is_down_has_no_speed() {
        let message = Message::new(0, 0, &[])
            .attribute(SPEED, &SPEED_UNKNOWN.to_ne_bytes())
            .attribute(DUPLEX, &[255]);
        assert_eq!(LinkModes::read(&message.finish(0)[HEADER_BYTES..]), LinkModes::default());
    }
}
