//! Segmentation offload: how much of the largest super-packet whole segments fill.

use measurement::ByteSize;
use measurement::units::group_thousands;

use super::{Headers, Impossible, Mtu};

/// The largest super-packet that TCP hands to a device for segmentation (TSO, GSO): whole segments,
/// as many as the device's gso_max_size has room for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Segmentation {
    /// MTU of the device.
    pub mtu: Mtu,
    /// Payload of a segment: the MSS less TCP's options.
    pub segment: ByteSize,
    /// Segments of the super-packet, at least 1.
    pub segments: u32,
    /// Payload of the super-packet.
    pub payload: ByteSize,
    /// IP packets that leave the device, with all of their headers.
    pub packets: ByteSize,
    /// Payload as a share of the most that a super-packet can have, 0 to 1.
    pub efficiency: f64,
}

impl Segmentation {
    /// The largest super-packet of a device with this MTU and this gso_max_size (`ip -d link`).
    /// Beyond [`GSO_LEGACY_MAX_SIZE`] that is BIG TCP.
    ///
    /// Linux takes room for headers off gso_max_size (`sk_dst_gso_max_size` in net/core/sock.c), and
    /// rounds down to whole segments (`tcp_xmit_size_goal` in net/ipv4/tcp.c).
    ///
    /// # Errors
    /// The MTU has no room for the headers, or gso_max_size is out of range.
    pub fn new(mtu: Mtu, headers: Headers, gso_max_size: ByteSize) -> Result<Self, Impossible> {
        let segment = headers.payload(mtu)?;
        let room = u32::try_from(gso_max_size.bytes()).ok().filter(|size| *size <= GSO_MAX_SIZE);
        let room = room.and_then(|size| size.checked_sub(HEADROOM)).filter(|room| *room > 0);
        let room = room.ok_or_else(|| {
            let most = group_thousands(GSO_MAX_SIZE.into());
            let bytes = group_thousands(gso_max_size.bytes());
            Impossible(format!(
                "gso_max_size cannot be {bytes}: choose {} to {most} bytes",
                HEADROOM + 1
            ))
        })?;
        let segments = (room / segment).clamp(1, MAX_SEGMENTS);
        let bytes = |each: u32| ByteSize::from_bytes(u64::from(segments) * u64::from(each));
        let efficiency = f64::from(segments) * f64::from(segment) / f64::from(room);
        Ok(Self {
            mtu,
            segment: ByteSize::from_bytes(segment.into()),
            segments,
            payload: bytes(segment),
            packets: bytes(mtu.bytes()),
            efficiency: efficiency.min(1.0),
        })
    }
}

/// Default gso_max_size of a device, in bytes: a super-packet of IPv4 and of IPv6 without BIG TCP
/// (`GSO_LEGACY_MAX_SIZE`, include/linux/netdevice.h).
pub const GSO_LEGACY_MAX_SIZE: u32 = 65_536;
/// Largest gso_max_size, in bytes (`GSO_MAX_SIZE`, include/linux/netdevice.h).
pub const GSO_MAX_SIZE: u32 = 8 * 65_535;
/// Room that TCP leaves for headers: MAX_TCP_HEADER, 320 bytes as distributions build kernels, and
/// one (include/net/tcp.h, net/core/sock.c).
const HEADROOM: u32 = 321;
/// Segments of a super-packet (`GSO_MAX_SEGS`, include/linux/netdevice.h).
const MAX_SEGMENTS: u32 = 65_535;

#[cfg(test)]
mod tests {
    use super::*;

    fn of(mtu: u32, gso_max_size: u32) -> Segmentation {
        let mtu = Mtu::new(mtu).expect("an MTU");
        let size = ByteSize::from_bytes(gso_max_size.into());
        Segmentation::new(mtu, Headers::default(), size).expect("possible")
    }

    #[test]
    fn a_super_packet_of_ethernet_has_45_segments() {
        let one = of(1_500, GSO_LEGACY_MAX_SIZE);
        assert_eq!((one.segments, one.payload.bytes()), (45, 65_160));
        assert!((one.efficiency - 0.9992).abs() < 0.0001, "{one:?}");
    }

    /// An MTU of 8,000 fills 64,000 of 65,535 bytes (review of 800 Gbit/s with TCP, Netdev).
    #[test]
    fn an_mtu_of_8000_fills_64000_bytes() {
        let one = of(8_000, 65_535);
        assert_eq!((one.segments, one.packets.bytes()), (8, 64_000));
        assert_eq!(one.payload.bytes(), 63_584);
        assert!((one.efficiency - 0.975).abs() < 0.0005, "{one:?}");
    }

    #[test]
    fn the_efficiency_is_a_saw_with_teeth_that_grow() {
        let worst = |from: u32, to: u32| {
            (from..to).map(|mtu| of(mtu, GSO_LEGACY_MAX_SIZE).efficiency).fold(1.0, f64::min)
        };
        let (short, middle, long) = (worst(512, 1_500), worst(1_500, 4_000), worst(4_000, 9_000));
        assert!(short > middle && middle > long, "{short} {middle} {long}");
        assert!(short > 0.977 && (0.86..0.90).contains(&long), "{short} {long}");
    }

    #[test]
    fn big_tcp_fills_more() {
        let (small, big) = (of(9_000, GSO_LEGACY_MAX_SIZE), of(9_000, GSO_MAX_SIZE));
        assert_eq!((small.segments, big.segments), (7, 58));
        assert!(big.efficiency > 0.99 && small.efficiency < 0.97, "{small:?} {big:?}");
    }

    #[test]
    fn a_size_out_of_range_is_refused() {
        let mtu = Mtu::new(1_500).expect("an MTU");
        for size in [0, 321, 524_281, u64::MAX] {
            let size = ByteSize::from_bytes(size);
            let error = Segmentation::new(mtu, Headers::default(), size).expect_err("too much");
            assert!(error.to_string().ends_with("choose 322 to 524,280 bytes"), "{error}");
        }
    }
}
