//! Offloads of a device, by the kernel's names.
//!
//! The program ethtool combines some under older names (`tcp-segmentation-offload`); the
//! kernel's names (`tx-tcp-segmentation`) are unambiguous.

use super::super::message::attribute;
use super::bitset::bits;

/// A feature of a network device, such as an offload, and whether it is on (`ethtool -k`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Feature {
    /// The kernel's name, e.g. `tx-tcp-segmentation`.
    pub name: String,
    /// Whether the feature is active.
    pub on: bool,
    /// Whether the feature is wanted: it is active where the features that it needs are, too
    /// (Documentation/networking/netdev-features.rst).
    pub wanted: bool,
    /// Whether the feature cannot be changed (`[fixed]` in ethtool(8)).
    pub fixed: bool,
}

/// Decodes the attributes `ETHTOOL_A_FEATURES_*` of a netlink reply.
pub fn features(answer: &[u8]) -> Vec<Feature> {
    let set = |kind| bits(attribute(answer, kind).unwrap_or_default());
    let names = |kind| {
        let on = set(kind).into_iter().filter(|bit| bit.is_set);
        on.map(|bit| bit.name).collect::<Vec<_>>()
    };
    let (active, unchangeable, wanted) = (names(ACTIVE), names(NOCHANGE), names(WANTED));
    // What hardware could change has every feature in its mask.
    let feature = |bit: super::bitset::Bit| Feature {
        on: active.contains(&bit.name),
        wanted: wanted.contains(&bit.name),
        fixed: !bit.is_set || unchangeable.contains(&bit.name),
        name: bit.name,
    };
    set(HW).into_iter().map(feature).collect()
}

// linux/ethtool_netlink.h
const HW: u16 = 2;
const WANTED: u16 = 3;
const ACTIVE: u16 = 4;
const NOCHANGE: u16 = 5;

#[cfg(test)]
mod tests {
    use super::super::super::message::{HEADER_BYTES, Message};
    use super::super::bitset::tests::set;
    use super::*;

    #[test]
    fn a_feature_is_fixed_if_nobody_can_change_it() {
        let message = Message::new(0, 0, &[])
            .attribute(HW, &set(&[("rx-gro", true), ("rx-lro", false), ("highdma", true)], false))
            .attribute(ACTIVE, &set(&[("rx-gro", true), ("highdma", true)], true))
            .attribute(NOCHANGE, &set(&[("highdma", true), ("rx-gro", false)], false));
        let read = features(&message.finish(0)[HEADER_BYTES..]);
        let states: Vec<_> = read.iter().map(|one| (one.on, one.fixed)).collect();
        assert_eq!(states, [(true, false), (false, true), (true, true)]);
    }
}
