//! Bitsets of ethtool over netlink, in the verbose form, which names each bit.

use super::super::message::{Message, NESTED, attribute, attributes};

/// One bit of a set.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Bit {
    /// The kernel's name.
    pub(super) name: String,
    /// Whether it is set. In a list without a mask all listed bits are set.
    pub(super) is_set: bool,
}

/// The bits of a set: all of its mask, or those that are set if it has no mask.
pub(super) fn bits(set: &[u8]) -> Vec<Bit> {
    let is_list = attribute(set, BITSET_NOMASK).is_some();
    let bits = attribute(set, BITSET_BITS).unwrap_or_default();
    let bit = |bytes: &[u8]| {
        let name = attribute(bytes, BIT_NAME)?.split(|byte| *byte == 0).next()?;
        let is_set = is_list || attribute(bytes, BIT_VALUE).is_some();
        Some(Bit { name: String::from_utf8_lossy(name).into_owned(), is_set })
    };
    attributes(bits).filter_map(|(_, bytes)| bit(bytes)).collect()
}

/// Appends a set to a message that sets these bits and leaves all others as they are.
pub(super) fn changes(message: Message, bits: &[(&str, bool)]) -> Message {
    message.nested(BITSET_BITS | NESTED, |message| fill(message, bits))
}

/// Appends a set to a message that consists of these bits alone.
pub(super) fn all(message: Message, names: &[&str]) -> Message {
    let bits: Vec<_> = names.iter().map(|name| (*name, true)).collect();
    message
        .attribute(BITSET_NOMASK, &[])
        .nested(BITSET_BITS | NESTED, |message| fill(message, &bits))
}

fn fill(message: Message, bits: &[(&str, bool)]) -> Message {
    bits.iter().fold(message, |message, (name, is_set)| {
        message.nested(BITSET_BITS_BIT | NESTED, |bit| {
            let bit = bit.attribute(BIT_NAME, format!("{name}\0").as_bytes());
            if *is_set { bit.attribute(BIT_VALUE, &[]) } else { bit }
        })
    })
}

// linux/ethtool_netlink.h
const BITSET_NOMASK: u16 = 1;
const BITSET_BITS: u16 = 3;
const BITSET_BITS_BIT: u16 = 1;
const BIT_NAME: u16 = 2;
const BIT_VALUE: u16 = 3;

#[cfg(test)]
pub(super) mod tests {
    use super::super::super::message::{HEADER_BYTES, Message};
    use super::*;

    /// A set as the kernel writes it.
    pub(in super::super) fn set(bits: &[(&str, bool)], is_list: bool) -> Vec<u8> {
        let mut message = Message::new(0, 0, &[]);
        if is_list {
            message = message.attribute(BITSET_NOMASK, &[]);
        }
        let message = message.nested(BITSET_BITS, |message| {
            bits.iter().fold(message, |message, (name, is_set)| {
                message.nested(1, |bit| {
                    let bit = bit.attribute(BIT_NAME, format!("{name}\0").as_bytes());
                    if *is_set { bit.attribute(BIT_VALUE, &[]) } else { bit }
                })
            })
        });
        message.finish(0)[HEADER_BYTES..].to_vec()
    }

    #[test]
    fn bits_of_a_mask_are_set_or_not_and_those_of_a_list_are() {
        let masked = bits(&set(&[("a", true), ("b", false)], false));
        assert_eq!(masked.iter().map(|bit| bit.is_set).collect::<Vec<_>>(), [true, false]);
        assert_eq!(masked[1].name, "b");
        assert!(bits(&set(&[("a", false)], true))[0].is_set);
        assert!(bits(&[]).is_empty());
    }
}
