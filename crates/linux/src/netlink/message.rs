//! Encoding and decoding of netlink messages.
//!
//! This module handles headers, attributes and their alignment, not their meaning. Decoding
//! never fails: it ends at the first byte that is malformed, and the caller treats what is
//! missing as an error.

use std::ffi::CStr;

use super::kernel::{NLA_TYPE_MASK, NLM_F_ACK, NLM_F_REQUEST};

/// A request under construction.
#[derive(Debug)]
pub(super) struct Message {
    bytes: Vec<u8>,
}

impl Message {
    /// A request that asks for an acknowledgement. `kind` is an `RTM_*`, `flags`
    /// are further `NLM_F_*`, `body` is the structure that follows the header.
    pub(super) fn new(kind: u16, flags: u16, body: &[u8]) -> Self {
        let mut bytes = vec![0; HEADER_BYTES];
        bytes[KIND].copy_from_slice(&kind.to_ne_bytes());
        let flags = flags | NLM_F_REQUEST | NLM_F_ACK;
        bytes[FLAGS].copy_from_slice(&flags.to_ne_bytes());
        let mut message = Self { bytes };
        message.append(body);
        message
    }

    /// Appends an attribute.
    pub(super) fn attribute(self, kind: u16, value: &[u8]) -> Self {
        self.nested(kind, |mut message| {
            message.append(value);
            message
        })
    }

    /// Appends an attribute whose value is whatever `fill` appends.
    ///
    /// `NLA_F_NESTED` stays unset, as iproute2 leaves it: this protocol is older
    /// than the flag.
    pub(super) fn nested(mut self, kind: u16, fill: impl FnOnce(Self) -> Self) -> Self {
        let start = self.bytes.len();
        self.bytes.extend([0; ATTRIBUTE_HEADER_BYTES]);
        let mut filled = fill(self);
        let length = u16::try_from(filled.bytes.len() - start)
            .expect("requests of this crate are far below 64 KiB");
        filled.bytes[start..start + 2].copy_from_slice(&length.to_ne_bytes());
        filled.bytes[start + 2..start + 4].copy_from_slice(&kind.to_ne_bytes());
        filled.align();
        filled
    }

    /// Appends a structure inside a nested attribute, ahead of its attributes.
    pub(super) fn body(mut self, body: &[u8]) -> Self {
        self.append(body);
        self.align();
        self
    }

    /// The bytes to send, numbered `sequence`.
    pub(super) fn finish(mut self, sequence: u32) -> Vec<u8> {
        self.align();
        let length =
            u32::try_from(self.bytes.len()).expect("requests of this crate are far below 64 KiB");
        self.bytes[LENGTH].copy_from_slice(&length.to_ne_bytes());
        self.bytes[SEQUENCE].copy_from_slice(&sequence.to_ne_bytes());
        self.bytes
    }

    fn append(&mut self, value: &[u8]) {
        self.bytes.extend_from_slice(value);
    }

    fn align(&mut self) {
        self.bytes.resize(aligned(self.bytes.len()), 0);
    }
}

/// A message from the kernel, without its header.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Reply<'a> {
    pub(super) kind: u16,
    pub(super) flags: u16,
    pub(super) sequence: u32,
    pub(super) payload: &'a [u8],
}

/// The messages of one datagram.
pub(super) fn replies(mut datagram: &[u8]) -> impl Iterator<Item = Reply<'_>> {
    std::iter::from_fn(move || {
        let length = usize::try_from(u32_at(datagram, LENGTH)?).ok()?;
        let reply = Reply {
            kind: u16_at(datagram, KIND)?,
            flags: u16_at(datagram, FLAGS)?,
            sequence: u32_at(datagram, SEQUENCE)?,
            payload: datagram.get(HEADER_BYTES..length)?,
        };
        datagram = datagram.get(aligned(length)..).unwrap_or_default();
        Some(reply)
    })
}

/// The attributes of a message or of a nested attribute: kind and value.
pub(super) fn attributes(mut bytes: &[u8]) -> impl Iterator<Item = (u16, &[u8])> {
    std::iter::from_fn(move || {
        let length = usize::from(u16_at(bytes, 0..2)?);
        let kind = u16_at(bytes, 2..4)? & NLA_TYPE_MASK;
        let value = bytes.get(ATTRIBUTE_HEADER_BYTES..length)?;
        bytes = bytes.get(aligned(length)..).unwrap_or_default();
        Some((kind, value))
    })
}

/// The value of the first attribute of this kind.
pub(super) fn attribute(bytes: &[u8], kind: u16) -> Option<&[u8]> {
    attributes(bytes).find(|(found, _)| *found == kind).map(|(_, value)| value)
}

/// The 32-bit number at `range`, or `None` if the bytes end before it.
pub(super) fn u32_at(bytes: &[u8], range: Range) -> Option<u32> {
    Some(u32::from_ne_bytes(bytes.get(range)?.try_into().ok()?))
}

/// The 64-bit number at `range`, or `None` if the bytes end before it.
pub(super) fn u64_at(bytes: &[u8], range: Range) -> Option<u64> {
    Some(u64::from_ne_bytes(bytes.get(range)?.try_into().ok()?))
}

/// The text of an attribute, up to its zero byte.
pub(super) fn text(bytes: &[u8]) -> Option<String> {
    let text = CStr::from_bytes_until_nul(bytes).ok()?;
    Some(text.to_string_lossy().into_owned())
}

/// The 16-bit number at `range`, or `None` if the bytes end before it.
pub(super) fn u16_at(bytes: &[u8], range: Range) -> Option<u16> {
    Some(u16::from_ne_bytes(bytes.get(range)?.try_into().ok()?))
}

/// `NLMSG_ALIGN` and `NLA_ALIGN`: both to four bytes.
pub(super) fn aligned(length: usize) -> usize {
    length.next_multiple_of(4)
}

type Range = std::ops::Range<usize>;

/// `struct nlmsghdr`, [linux/netlink.h]; the sender's port is left to the kernel.
///
/// [linux/netlink.h]: https://github.com/torvalds/linux/blob/v4.19/include/uapi/linux/netlink.h
pub(super) const HEADER_BYTES: usize = 16;
const LENGTH: Range = 0..4;
const KIND: Range = 4..6;
const FLAGS: Range = 6..8;
const SEQUENCE: Range = 8..12;

/// `NLA_F_NESTED`, `linux/netlink.h`: newer protocols such as ethtool require the flag.
pub(super) const NESTED: u16 = 0x8000;

/// `struct nlattr`, `linux/netlink.h`: length including this header, then kind.
const ATTRIBUTE_HEADER_BYTES: usize = 4;

#[cfg(test)]
mod tests {
    use super::*;

    /// Host-order bytes of a sequence of numbers, written as in the header.
    macro_rules! bytes {
        ($($number:expr),* $(,)?) => {
            [$($number.to_ne_bytes().as_slice()),*].concat()
        };
    }

    #[test]
    fn a_message_starts_with_length_kind_flags_and_sequence() {
        let message = Message::new(16, 0x400, &[7, 8, 9]).finish(3);
        let mut expected = bytes![20_u32, 16_u16, 0x405_u16, 3_u32, 0_u32];
        expected.extend([7, 8, 9, 0]);
        assert_eq!(message, expected);
    }

    #[test]
    fn an_attribute_is_padded_but_its_length_is_not() {
        let message = Message::new(0, 0, &[]).attribute(3, b"lo\0").finish(0);
        let mut expected = bytes![7_u16, 3_u16];
        expected.extend(b"lo\0\0");
        assert_eq!(message[HEADER_BYTES..], expected);
    }

    #[test]
    fn a_nested_attribute_spans_its_structure_and_padded_children() {
        let message = Message::new(0, 0, &[])
            .nested(18, |inner| {
                inner.body(&[1, 2]).attribute(1, b"abcde").attribute(2, &9_u32.to_ne_bytes())
            })
            .finish(0);
        let mut expected = bytes![28_u16, 18_u16];
        expected.extend([1, 2, 0, 0]);
        expected.extend(bytes![9_u16, 1_u16]);
        expected.extend(b"abcde\0\0\0");
        expected.extend(bytes![8_u16, 2_u16, 9_u32]);
        assert_eq!(message[HEADER_BYTES..], expected);
    }

    #[test]
    fn what_was_built_is_taken_apart_again() {
        let mut datagram = Message::new(16, 0, &[1, 2, 3, 4]).attribute(5, b"x").finish(7);
        datagram.extend(Message::new(17, 0, &[]).finish(8));
        let found: Vec<_> = replies(&datagram).collect();
        assert_eq!((found[0].kind, found[0].sequence), (16, 7));
        assert_eq!(found[0].payload[..4], [1, 2, 3, 4]);
        assert_eq!(attribute(&found[0].payload[4..], 5), Some(&b"x"[..]));
        assert_eq!((found[1].kind, found[1].payload.len()), (17, 0));
        assert_eq!(found.len(), 2);
    }

    #[test]
    fn taking_apart_ends_where_the_bytes_do() {
        let whole = Message::new(16, 0, &[]).attribute(5, b"value").finish(7);
        for length in 0..whole.len() {
            assert_eq!(replies(&whole[..length]).count(), 0);
        }
        assert_eq!(attributes(&[0, 0, 0, 0]).count(), 0);
    }
}
