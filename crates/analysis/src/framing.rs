//! What packets of a test have beside their payload.

use measurement::{TestRecord, Transport};

/// Share of a full Ethernet link that is payload of the test, 0 to 1: frames, what is between
/// them, and headers taken off (IEEE 802.3, clause 3). None: no stream is known.
pub(crate) fn payload_share(record: &TestRecord, mtu: u32) -> Option<f64> {
    share_of(record, mtu, |packet| (packet + BETWEEN_PACKETS).max(SHORTEST))
}

/// Share of the bytes that a queueing discipline counts that is payload of the test, 0 to 1: the
/// packets with their Ethernet headers (tc-stab(8)). None: no stream is known.
pub(crate) fn payload_share_of_frames(record: &TestRecord, mtu: u32) -> Option<f64> {
    share_of(record, mtu, |packet| packet + ETHERNET_HEADER)
}

/// The rate of the frames that carry a rate of payload, as queueing disciplines count them. None: no
/// stream is known.
pub(crate) fn on_wire(record: &TestRecord, payload: f64) -> Option<f64> {
    Some(payload / payload_share_of_frames(record, mtu(record))?)
}

/// The least MTU of the interfaces that carried the test; that of Ethernet where none is known.
fn mtu(record: &TestRecord) -> u32 {
    let carried = record.hosts.iter().flat_map(|host| {
        let all = host.inventory.interfaces.iter();
        all.filter(|one| host.interfaces.contains(&one.name)).map(|one| one.mtu)
    });
    carried.filter(|mtu| *mtu > 0).min().unwrap_or(ETHERNET)
}

fn share_of(record: &TestRecord, mtu: u32, on_wire: impl Fn(f64) -> f64) -> Option<f64> {
    let stream = record.streams.first()?;
    let address = if stream.peer.is_some_and(|peer| peer.is_ipv6()) { 40 } else { 20 };
    let (payload, packets) = match record.plan.transport {
        Transport::Tcp => {
            let segment = f64::from(stream.mss.unwrap_or_else(|| mtu.saturating_sub(address + 32)));
            (segment, vec![segment + f64::from(address + 32)])
        }
        // No datagram is longer (RFC 768).
        Transport::Udp => {
            let block = stream.block.bytes().min(u16::MAX.into());
            (block as f64, fragments(block, mtu, address))
        }
    };
    let wire: f64 = packets.into_iter().map(on_wire).sum();
    (payload > 0.0).then_some(payload / wire)
}

/// Sizes of the packets of one datagram (RFC 791: fragments hold a multiple of 8 bytes).
fn fragments(block: u64, mtu: u32, address: u32) -> Vec<f64> {
    let mut left = block + 8;
    let most = u64::from(mtu.saturating_sub(address)) / 8 * 8;
    let mut packets = Vec::new();
    while left > most && most > 0 {
        packets.push((most + u64::from(address)) as f64);
        left -= most;
    }
    packets.push((left + u64::from(address)) as f64);
    packets
}

/// MTU (IEEE 802.3), in bytes.
const ETHERNET: u32 = 1_500;
const ETHERNET_HEADER: f64 = 14.0;
/// Beside the packet: header 14, check sequence 4, preamble 8 and gap 12 bytes.
const BETWEEN_PACKETS: f64 = 38.0;
/// A frame of 64 bytes with preamble and gap.
const SHORTEST: f64 = 84.0;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_record;

    #[test]
    fn headers_leave_less_for_payload() {
        let tcp = payload_share(&test_record::tcp(), 1_500).expect("a stream");
        assert!((tcp - 0.9415).abs() < 0.0001, "{tcp}");
        let mut record = test_record::udp();
        record.streams[0].block = measurement::ByteSize::from_bytes(1_472);
        let udp = payload_share(&record, 1_500).expect("a stream");
        assert!((udp - 0.9571).abs() < 0.0001, "{udp}");
    }

    #[test]
    fn a_datagram_above_the_mtu_is_in_fragments() {
        assert_eq!(fragments(8_192, 1_500, 20).len(), 6);
        assert_eq!(fragments(1_472, 1_500, 20), [1_500.0]);
    }
}
