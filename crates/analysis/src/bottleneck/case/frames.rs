//! How much of a rate is payload of TCP, by the MTU of an interface.

use measurement::{BitRate, Bound};

use crate::words::count;

/// Payload of TCP that a rate of frames allows, where the frames are counted as queueing
/// disciplines count them: with the header of Ethernet.
pub(crate) fn payload_of_shaper(rate: BitRate, mtu: u32) -> Bound {
    payload(rate, mtu, HEADERS, HEADER, "of a frame are TCP payload")
}

/// Payload of UDP that a rate of frames allows, for datagrams with `block` bytes of it, at most as
/// many as fill a frame; counted as by [`payload_of_shaper`].
pub(crate) fn datagrams_of_shaper(rate: BitRate, mtu: u32, block: u64) -> Bound {
    let packet = block.saturating_add(u64::from(HEADERS_OF_UDP));
    let packet = u32::try_from(packet).unwrap_or(u32::MAX).min(mtu);
    payload(rate, packet, HEADERS_OF_UDP, HEADER, "of a frame are UDP payload")
}

/// Payload of TCP that a link of that speed allows.
pub(crate) fn payload_of_link(speed: BitRate, mtu: u32) -> Bound {
    payload(speed, mtu, HEADERS, ON_THE_WIRE, "on the wire are TCP payload")
}

fn payload(rate: BitRate, mtu: u32, headers: u32, beside: u32, what: &str) -> Bound {
    let (carried, whole) = (mtu.saturating_sub(headers), mtu.saturating_add(beside));
    let bits = rate.bits_per_second() as f64 * f64::from(carried) / f64::from(whole);
    let (carried, whole) = (count(carried.into()), count(whole.into()));
    Bound::exact(bits, format!("{carried} of {whole} bytes {what}, at {rate}"))
}

/// Share of a link that is payload of TCP.
pub(crate) fn payload_share(mtu: u32) -> f64 {
    f64::from(mtu.saturating_sub(HEADERS)) / (f64::from(mtu) + f64::from(ON_THE_WIRE))
}

/// Full frames per second of a link of that speed.
pub(crate) fn frames_per_second(speed: BitRate, mtu: u32) -> f64 {
    packets_per_second(speed, f64::from(mtu) + f64::from(ON_THE_WIRE))
}

/// Packets of so many bytes per second at that speed.
pub(crate) fn packets_per_second(speed: BitRate, bytes: f64) -> f64 {
    speed.bits_per_second() as f64 / 8.0 / bytes
}

/// Headers of IPv4 (20 bytes, RFC 791) and of TCP with time stamps (32 bytes, RFC 7323).
const HEADERS: u32 = 52;
/// Headers of IPv4 and of UDP (8 bytes, RFC 768).
const HEADERS_OF_UDP: u32 = 28;
/// Header of Ethernet (IEEE 802.3).
const HEADER: u32 = 14;
/// Bytes of a frame beside its packet (IEEE 802.3): header 14, check sequence 4, preamble and start 8,
/// gap 12.
const ON_THE_WIRE: u32 = 38;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_frame_of_ethernet_is_mostly_payload() {
        let gigabit = BitRate::from_bits_per_second(1_000_000_000);
        let bound = payload_of_link(gigabit, 1_500);
        assert_eq!(bound.from.to_string(), "941.5 Mbit/s");
        assert_eq!(
            bound.arithmetic,
            "1,448 of 1,538 bytes on the wire are TCP payload, at 1.000 Gbit/s"
        );
        assert!((frames_per_second(gigabit, 1_500) - 81_274.4).abs() < 0.1);
    }

    #[test]
    fn small_datagrams_are_mostly_headers() {
        let rate = BitRate::from_bits_per_second(100_000_000);
        let bound = |block| datagrams_of_shaper(rate, 1_500, block).from.to_string();
        assert_eq!(bound(64), "60.38 Mbit/s");
        assert_eq!([bound(1_472), bound(65_507)], ["97.23 Mbit/s", "97.23 Mbit/s"]);
    }

    #[test]
    fn an_mtu_below_the_headers_carries_nothing() {
        let bound = payload_of_shaper(BitRate::from_bits_per_second(1_000), 0);
        assert_eq!(bound.to.bits_per_second(), 0);
        assert!(payload_share(0).abs() < f64::EPSILON);
    }
}
