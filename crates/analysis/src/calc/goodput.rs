//! The most payload that a link can carry.

use measurement::{BitRate, ByteSize};

use super::{Headers, Impossible, Layer, Mtu};

/// The ceiling of payload on a link: full packets without a pause between them.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Goodput {
    /// MTU of the link.
    pub mtu: Mtu,
    /// Payload of a packet.
    pub payload: ByteSize,
    /// Bytes of a packet on the line, preamble and interpacket gap included.
    pub on_line: ByteSize,
    /// Payload as a share of what the line carries, 0 to 1.
    pub share: f64,
    /// Payload in a second.
    pub rate: BitRate,
}

impl Goodput {
    /// The ceiling on a link of this speed.
    ///
    /// # Errors
    /// The MTU has no room for the headers.
    pub fn new(speed: BitRate, mtu: Mtu, headers: Headers) -> Result<Self, Impossible> {
        let (payload, on_line) = (headers.payload(mtu)?, Layer::Line.bytes(mtu, headers));
        let bits = u128::from(speed.bits_per_second()) * u128::from(payload) / u128::from(on_line);
        Ok(Self {
            mtu,
            payload: ByteSize::from_bytes(payload.into()),
            on_line: ByteSize::from_bytes(on_line.into()),
            share: f64::from(payload) / f64::from(on_line),
            rate: BitRate::from_bits_per_second(u64::try_from(bits).unwrap_or(u64::MAX)),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Network, Transport, Tunnel};
    use super::*;

    fn of(mtu: u32, headers: Headers) -> f64 {
        let gigabit = BitRate::from_bits_per_second(1_000_000_000);
        let mtu = Mtu::new(mtu).expect("an MTU");
        let goodput = Goodput::new(gigabit, mtu, headers).expect("room");
        goodput.rate.bits_per_second() as f64 / 1e6
    }

    #[test]
    fn a_gigabit_carries_what_is_known_of_it() {
        let tcp = Headers::default();
        let cases = [
            (tcp, 1_500, 941.5),
            (tcp, 9_000, 990.0),
            (Headers { vlan_tags: 1, ..tcp }, 1_500, 939.0),
            (Headers { network: Network::Ipv6, ..tcp }, 1_500, 928.5),
            (Headers { transport: Transport::Udp, ..tcp }, 1_500, 957.1),
            (Headers { tunnel: Some(Tunnel::WireGuard), ..tcp }, 1_500, 902.5),
        ];
        for (headers, mtu, expected) in cases {
            let rate = of(mtu, headers);
            assert!((rate - expected).abs() < 0.06, "{headers}: {rate}");
        }
    }
}
