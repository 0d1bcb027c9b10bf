//! Frames of UDP: written once, then patched with what differs: flow, sequence number, time.
//!
//! The payload begins with the tag of the trial (4 bytes), the flow (2), the sequence number in the
//! flow (4) and the time of sending in units of 16 ns (4), all big-endian but the tag; zeros follow.

use std::fmt::{self, Display, Formatter};
use std::net::IpAddr;
use std::str::FromStr;

use linux::xdp::{FrameTag, LiveFields};
use measurement::Timestamp;

use crate::checksum::{fold, sum};
use crate::error::PacketError;
use crate::sizes::{CHECK_SEQUENCE, FrameSizes};

/// An Ethernet address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MacAddress(pub [u8; 6]);

impl Display for MacAddress {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0.map(|byte| format!("{byte:02x}")).join(":"))
    }
}

impl FromStr for MacAddress {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || "a MAC address is six bytes, e.g. 02:00:00:00:00:01".to_owned();
        let parse = |part: &str| u8::from_str_radix(part, 16).ok().filter(|_| part.len() == 2);
        let bytes: Option<Vec<u8>> = text.split(':').map(parse).collect();
        bytes.and_then(|bytes| bytes.try_into().ok()).map(Self).ok_or_else(wrong)
    }
}

/// From where to where frames go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Addressing {
    /// Ethernet address of the sender.
    pub source_mac: MacAddress,
    /// Ethernet address of the next hop.
    pub destination_mac: MacAddress,
    /// VLAN identifier (IEEE 802.1Q), if frames have a tag.
    pub vlan: Option<u16>,
    /// The first source address.
    pub source: IpAddr,
    /// The destination address.
    pub destination: IpAddr,
    /// UDP port of the source; that of flow n is n more.
    pub source_port: u16,
    /// UDP port of the destination.
    pub destination_port: u16,
}

/// How the frames of a trial are laid out.
#[derive(Clone, Debug)]
pub struct FrameLayout {
    tag: FrameTag,
    addressing: Addressing,
    sizes: FrameSizes,
    flows: u16,
    /// Source addresses over which flows are spread, consecutive.
    sources: u16,
    /// Offsets of the IP header, of the UDP header and of the payload.
    at: [usize; 3],
    /// The part of each size's UDP checksum that is the same in all frames, and that of its IPv4
    /// header.
    sums: Vec<(u32, u32)>,
}

/// What a payload tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Label {
    pub(crate) flow: u16,
    pub(crate) sequence: u32,
    /// When it was sent, in units of 16 ns, modulo 2^32.
    pub(crate) time: u32,
    /// When it arrived, likewise, if a program of XDP has noted that.
    pub(crate) arrival: u32,
}

impl FrameLayout {
    /// The layout of frames with the tag; `flows` and `sources` are at least 1.
    ///
    /// # Errors
    /// [`PacketError::Families`], or [`PacketError::TooSmall`] for a size that does not hold headers
    /// and label.
    pub fn new(
        tag: FrameTag,
        addressing: Addressing,
        sizes: FrameSizes,
        flows: u16,
        sources: u16,
    ) -> Result<Self, PacketError> {
        let ip = ETHERNET + if addressing.vlan.is_some() { VLAN } else { 0 };
        let udp = match (addressing.source, addressing.destination) {
            (IpAddr::V4(_), IpAddr::V4(_)) => ip + IPV4,
            (IpAddr::V6(_), IpAddr::V6(_)) => ip + IPV6,
            (one, other) => return Err(PacketError::Families(one, other)),
        };
        let payload = udp + UDP;
        let least = (payload + LABEL + CHECK_SEQUENCE).max(SMALLEST);
        if sizes.smallest() < least {
            return Err(PacketError::TooSmall { size: sizes.smallest(), least });
        }
        let (flows, sources) = (flows.max(1), sources.max(1));
        let at = [ip, udp, payload];
        let mut layout = Self { tag, addressing, sizes, flows, sources, at, sums: Vec::new() };
        layout.sums = layout.sizes.all().iter().map(|size| layout.constant_sums(*size)).collect();
        Ok(layout)
    }

    /// This layout with other addresses.
    ///
    /// # Errors
    /// As for [`Self::new`].
    pub fn with_addressing(&self, addressing: Addressing) -> Result<Self, PacketError> {
        Self::new(self.tag, addressing, self.sizes.clone(), self.flows, self.sources)
    }

    /// The tag in the payload of each frame.
    pub const fn tag(&self) -> FrameTag {
        self.tag
    }

    /// From where to where frames go.
    pub const fn addressing(&self) -> &Addressing {
        &self.addressing
    }

    /// The sizes of the frames.
    pub const fn sizes(&self) -> &FrameSizes {
        &self.sizes
    }

    /// The number of flows.
    pub const fn flows(&self) -> u16 {
        self.flows
    }

    /// Writes a frame into memory for the largest one: the first, but for its number and time.
    pub(crate) fn write(&self, into: &mut [u8]) {
        self.write_common(into);
        self.write_headers(into, 0, 0);
    }

    /// Writes what all frames have in common.
    fn write_common(&self, into: &mut [u8]) {
        let [ip, udp, payload] = self.at;
        let Addressing { source_mac, destination_mac, vlan, .. } = self.addressing;
        into.fill(0);
        into[..6].copy_from_slice(&destination_mac.0);
        into[6..12].copy_from_slice(&source_mac.0);
        let ether_type: u16 = if self.is_ipv4() { 0x0800 } else { 0x86dd };
        if let Some(vlan) = vlan {
            put16(into, 12, 0x8100);
            put16(into, 14, vlan);
        }
        put16(into, ip - 2, ether_type);
        match (self.addressing.source, self.addressing.destination) {
            (IpAddr::V4(source), IpAddr::V4(destination)) => {
                into[ip] = 0x45;
                // Do not fragment (RFC 791).
                into[ip + 6] = 0x40;
                into[ip + 8] = HOPS;
                into[ip + 9] = UDP_PROTOCOL;
                into[ip + 12..ip + 16].copy_from_slice(&source.octets());
                into[ip + 16..ip + 20].copy_from_slice(&destination.octets());
            }
            (source, destination) => {
                into[ip] = 0x60;
                into[ip + 6] = UDP_PROTOCOL;
                into[ip + 7] = HOPS;
                into[ip + 8..ip + 24].copy_from_slice(&octets(source));
                into[ip + 24..ip + 40].copy_from_slice(&octets(destination));
            }
        }
        put16(into, udp + 2, self.addressing.destination_port);
        into[payload..payload + 4].copy_from_slice(&self.tag.bytes());
    }

    /// Writes the fields that depend on the size and on the flow.
    fn write_headers(&self, frame: &mut [u8], which: usize, flow: u16) {
        let [ip, udp, payload] = self.at;
        let length = self.length(which);
        let source = self.source_low(flow);
        put16(frame, udp, self.port(flow));
        put16(frame, udp + 4, word(length - udp));
        put16(frame, payload + 4, flow);
        if self.is_ipv4() {
            let (_, ip_sum) = self.sums[which];
            put16(frame, ip + 2, word(length - ip));
            put32(frame, ip + 12, source);
            put16(frame, ip + 10, fold(ip_sum + halves(source)));
        } else {
            put16(frame, ip + 4, word(length - udp));
            put32(frame, ip + 20, source);
        }
    }

    /// Patches a frame that [`Self::write`] has written, so that it is the one of this number, sent
    /// at `now`. Returns its length without the frame check sequence.
    pub(crate) fn patch(&self, frame: &mut [u8], number: u64, now: Timestamp) -> usize {
        let [_, udp, payload] = self.at;
        let (which, (flow, sequence)) = (self.which(number), self.flow_of(number));
        if !self.is_uniform() {
            self.write_headers(frame, which, flow);
        }
        let time = units(now);
        put32(frame, payload + 6, sequence);
        put32(frame, payload + 10, time);
        let (udp_sum, _) = self.sums[which];
        let ends = u32::from(self.port(flow)) + halves(self.source_low(flow));
        let sum = udp_sum + ends + u32::from(flow) + halves(sequence) + halves(time);
        let checksum = fold(sum);
        // 0 would mean that there is none (RFC 768).
        put16(frame, udp + 6, if checksum == 0 { u16::MAX } else { checksum });
        self.length(which)
    }

    /// The first frame, and what makes the others of it; none: they differ in more, as in size.
    pub(crate) fn live(&self) -> Option<(Vec<u8>, LiveFields)> {
        let [_, udp, payload] = self.at;
        let port = self.addressing.source_port;
        let is_alike = self.sizes.all().len() == 1 && self.sources == 1;
        if !is_alike || port.checked_add(self.flows).is_none() {
            return None;
        }
        let mut frame = vec![0; self.length(0)];
        self.write(&mut frame);
        let fields = LiveFields {
            udp: i16::try_from(udp).ok()?,
            label: i16::try_from(payload + 4).ok()?,
            flows: self.flows,
            port,
            sum: self.sums[0].0 + u32::from(port) + halves(self.source_low(0)),
        };
        Some((frame, fields))
    }

    /// Whether frames differ in their numbers and times alone.
    fn is_uniform(&self) -> bool {
        self.flows == 1 && self.sizes.all().len() == 1
    }

    /// Bytes of a frame of this size, without the frame check sequence.
    fn length(&self, which: usize) -> usize {
        self.sizes.all()[which] - CHECK_SEQUENCE
    }

    /// UDP port of the source.
    const fn port(&self, flow: u16) -> u16 {
        self.addressing.source_port.wrapping_add(flow)
    }

    /// Index of the size of the frame of this number. A division takes as long as the rest of a
    /// patch.
    fn which(&self, number: u64) -> usize {
        let turn = self.sizes.all().len() as u64;
        if turn == 1 { 0 } else { usize::try_from(number % turn).unwrap_or(0) }
    }

    /// The label of a frame of this trial; none: it is another frame.
    pub(crate) fn label(&self, frame: &[u8]) -> Option<Label> {
        let at = self.tag.find(frame)?;
        let noted = frame.get(at - FrameTag::ARRIVAL..at + LABEL)?;
        let label = &noted[FrameTag::ARRIVAL + 4..];
        let long = |from: &[u8]| u32::from_be_bytes([from[0], from[1], from[2], from[3]]);
        let flow = u16::from_be_bytes([label[0], label[1]]);
        let (sequence, time) = (long(&label[2..]), long(&label[6..]));
        Some(Label { flow, sequence, time, arrival: long(noted) })
    }

    /// Frames of this flow among the first `sent`.
    pub(crate) fn sent_of(&self, flow: u16, sent: u64) -> u64 {
        let flows = u64::from(self.flows);
        sent / flows + u64::from(u64::from(flow) < sent % flows)
    }

    #[expect(clippy::cast_possible_truncation, reason = "sequence numbers wrap around")]
    fn flow_of(&self, number: u64) -> (u16, u32) {
        let flows = u64::from(self.flows);
        if flows == 1 {
            return (0, number as u32);
        }
        ((number % flows) as u16, (number / flows) as u32)
    }

    /// The last four bytes of a flow's source address.
    fn source_low(&self, flow: u16) -> u32 {
        let low = match self.addressing.source {
            IpAddr::V4(source) => source.to_bits(),
            IpAddr::V6(source) => {
                let octets = source.octets();
                u32::from_be_bytes([octets[12], octets[13], octets[14], octets[15]])
            }
        };
        if flow == 0 { low } else { low.wrapping_add(u32::from(flow % self.sources)) }
    }

    const fn is_ipv4(&self) -> bool {
        self.addressing.source.is_ipv4()
    }

    /// The sums of what all frames of a size have in common, without the fields that are patched.
    fn constant_sums(&self, size: usize) -> (u32, u32) {
        let [ip, udp, payload] = self.at;
        let length = size - CHECK_SEQUENCE;
        let mut frame = vec![0; size.max(payload + LABEL)];
        self.write_common(&mut frame);
        let of_udp = u32::from(word(length - udp));
        let (addresses, header) = if self.is_ipv4() {
            frame[ip + 12..ip + 16].fill(0);
            put16(&mut frame, ip + 2, word(length - ip));
            (ip + 12..ip + 20, sum(&frame[ip..ip + IPV4]))
        } else {
            frame[ip + 20..ip + 24].fill(0);
            (ip + 8..ip + 40, 0)
        };
        let pseudo = sum(&frame[addresses]) + u32::from(UDP_PROTOCOL) + of_udp;
        put16(&mut frame, udp + 4, word(length - udp));
        (pseudo + sum(&frame[udp..length]), header)
    }
}

/// A time as in a payload.
#[expect(clippy::cast_possible_truncation, reason = "times wrap around after 68 s")]
pub(crate) const fn units(at: Timestamp) -> u32 {
    (at.nanos() >> FrameTag::TIME_SHIFT) as u32
}

/// Nanoseconds of so many units.
pub(crate) const fn nanos(units: u32) -> u64 {
    (units as u64) << FrameTag::TIME_SHIFT
}

fn octets(address: IpAddr) -> [u8; 16] {
    match address {
        IpAddr::V4(address) => address.to_ipv6_mapped().octets(),
        IpAddr::V6(address) => address.octets(),
    }
}

fn put16(into: &mut [u8], at: usize, value: u16) {
    put(into, at, value.to_be_bytes());
}

fn put32(into: &mut [u8], at: usize, value: u32) {
    put(into, at, value.to_be_bytes());
}

/// Writes a few bytes. Copying slices would call memmove(3) for two of them.
fn put<const N: usize>(into: &mut [u8], at: usize, bytes: [u8; N]) {
    *into[at..].first_chunk_mut().expect("the layout fits the frame") = bytes;
}

const fn halves(value: u32) -> u32 {
    (value >> 16) + (value & 0xffff)
}

fn word(length: usize) -> u16 {
    u16::try_from(length).unwrap_or(u16::MAX)
}

const ETHERNET: usize = 14;
const VLAN: usize = 4;
const IPV4: usize = 20;
const IPV6: usize = 40;
const UDP: usize = 8;
const UDP_PROTOCOL: u8 = 17;
const HOPS: u8 = 64;
/// Tag, flow, sequence number and time.
const LABEL: usize = 14;
/// The smallest frame of Ethernet, with its check sequence.
const SMALLEST: usize = 64;

#[cfg(test)]
mod tests {
    use super::*;

    fn layout(source: &str, destination: &str, vlan: Option<u16>, size: usize) -> FrameLayout {
        let addressing = Addressing {
            source_mac: MacAddress([2, 0, 0, 0, 0, 1]),
            destination_mac: MacAddress([2, 0, 0, 0, 0, 2]),
            vlan,
            source: source.parse().expect("an address"),
            destination: destination.parse().expect("an address"),
            source_port: 1024,
            destination_port: 9,
        };
        let sizes = FrameSizes::one(size);
        FrameLayout::new(FrameTag::new(0x7654_3210), addressing, sizes, 5, 3).expect("it fits")
    }

    /// The frame of a number, whose checksums are right.
    fn checked(layout: &FrameLayout, number: u64) -> Vec<u8> {
        let mut frame = vec![0; layout.sizes().largest()];
        layout.write(&mut frame);
        let length = layout.patch(&mut frame, number, Timestamp::from_nanos(1 << 34));
        frame.truncate(length);
        let [ip, udp, _] = layout.at;
        let addresses = if layout.is_ipv4() {
            assert_eq!(fold(sum(&frame[ip..ip + IPV4])), 0, "header");
            ip + 12..ip + 20
        } else {
            ip + 8..ip + 40
        };
        let pseudo = sum(&frame[addresses]) + 17 + sum(&frame[udp + 4..udp + 6]);
        assert_eq!(fold(pseudo + sum(&frame[udp..])), 0, "UDP");
        frame
    }

    #[test]
    fn frames_of_all_kinds_have_right_checksums_and_labels() {
        for (source, destination) in [("10.0.0.1", "198.18.0.2"), ("fd00::1", "2001:db8::2")] {
            for (vlan, size) in [(None, 86), (Some(7), 90), (None, 1518), (Some(4094), 9018)] {
                let layout = layout(source, destination, vlan, size);
                for number in [0, 7, 1_000_003] {
                    let frame = checked(&layout, number);
                    assert_eq!(frame.len() + CHECK_SEQUENCE, size);
                    let label = layout.label(&frame).expect("ours");
                    assert_eq!(u64::from(label.flow), number % 5);
                    assert_eq!(u64::from(label.sequence), number / 5);
                    assert_eq!(label.time, 1 << 30);
                }
            }
        }
    }

    #[test]
    fn the_smallest_frames_are_those_of_ethernet_and_smaller_ones_an_error() {
        for vlan in [None, Some(1)] {
            let layout = layout("10.0.0.1", "10.0.0.2", vlan, 64);
            assert_eq!(checked(&layout, 9).len(), 60);
        }
        let small = layout("10.0.0.1", "10.0.0.2", None, 64);
        let error = FrameLayout::new(small.tag, small.addressing, FrameSizes::one(63), 1, 1);
        assert!(matches!(error, Err(PacketError::TooSmall { size: 63, least: 64 })));
        let mixed = Addressing { source: "::1".parse().expect("one"), ..small.addressing };
        let error = FrameLayout::new(small.tag, mixed, FrameSizes::one(64), 1, 1);
        assert!(matches!(error, Err(PacketError::Families(..))));
    }

    #[test]
    fn flows_differ_in_port_and_address() {
        let layout = layout("10.0.0.1", "10.0.0.2", None, 64);
        let source = |number| {
            let frame = checked(&layout, number);
            (frame[29], u16::from_be_bytes([frame[34], frame[35]]))
        };
        assert_eq!([0, 1, 4, 5].map(source), [(1, 1024), (2, 1025), (2, 1028), (1, 1024)]);
        assert_eq!((layout.sent_of(0, 11), layout.sent_of(1, 11)), (3, 2));
    }

    #[test]
    fn frames_of_others_have_no_label() {
        let ours = layout("10.0.0.1", "10.0.0.2", None, 64);
        let mut frame = checked(&ours, 1);
        frame[42] ^= 1;
        assert_eq!(ours.label(&frame), None);
        for length in 0..60 {
            let _ = ours.label(&frame[..length]);
        }
    }

    #[test]
    fn addresses_of_ethernet_are_read_and_written() {
        let address: MacAddress = "02:00:5e:10:00:ff".parse().expect("an address");
        assert_eq!(address.to_string(), "02:00:5e:10:00:ff");
        for wrong in ["", "02:00:5e:10:00", "02:00:5e:10:00:ff:01", "2:0:5e:10:0:ff", "zz:00"] {
            assert!(wrong.parse::<MacAddress>().is_err(), "{wrong}");
        }
    }
}
