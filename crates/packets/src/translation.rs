//! Where frames seem to come from behind a device that translates addresses (NAT, RFC 2663).

use std::net::IpAddr;
use std::sync::atomic::AtomicBool;
use std::thread;
use std::time::Duration;

use dataplane::now;
use linux::frame_socket::FrameSocket;
use linux::xdp::FrameTag;

use crate::error::PacketError;
use crate::frame::FrameLayout;
use crate::sender::SendWith;
use crate::trial::{FrameTrial, LiveCounts, Setup, TrialPlan};

/// A source as a receiver sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SeenSource {
    /// The address.
    pub address: IpAddr,
    /// The UDP port.
    pub port: u16,
}

/// Sends frames, and tells from where they come as the receiving port sees it; none: nothing arrived.
///
/// # Errors
/// Those of [`FrameTrial`], and [`PacketError::Open`].
pub fn seen_source(setup: &Setup, layout: &FrameLayout) -> Result<Option<SeenSource>, PacketError> {
    let Some(to) = &setup.to else { return Ok(None) };
    let open = |source| PacketError::Open { interface: to.name.clone(), source };
    let longest = layout.sizes().largest();
    let mut socket = FrameSocket::receiver(to.index, LOOKS_FOR, longest).map_err(open)?;
    send_some(setup, layout, &AtomicBool::new(false))?;
    let end = now().after(PATIENCE);
    let mut seen = None;
    while seen.is_none() && now() < end {
        let count = socket.receive(|frame| seen = seen.or_else(|| source(layout.tag(), frame)));
        if count.map_err(open)? == 0 {
            thread::sleep(Duration::from_millis(1));
        }
    }
    Ok(seen)
}

/// Sends a few frames by AF_PACKET, so that devices on the way learn of them: bridges where the sender
/// is, and NAT what to let through the other way.
///
/// # Errors
/// Those of [`FrameTrial`].
pub fn send_some(
    setup: &Setup,
    layout: &FrameLayout,
    stop: &AtomicBool,
) -> Result<(), PacketError> {
    let setup = Setup { to: None, send: SendWith::AfPacket, queues: 1, ..setup.clone() };
    let plan = TrialPlan { rate: None, duration: SOME_TIME, frames: Some(SOME) };
    FrameTrial::open(&setup, layout)?.run(&plan, &LiveCounts::default(), stop)?;
    Ok(())
}

/// The source of a frame of UDP with the tag.
fn source(tag: FrameTag, frame: &[u8]) -> Option<SeenSource> {
    let udp = tag.find(frame)?.checked_sub(UDP)?;
    let port = u16::from_be_bytes(frame.get(udp..udp + 2)?.try_into().ok()?);
    let is_ipv4 = frame.get(udp.checked_sub(IPV4)?)? >> 4 == 4;
    let address = if is_ipv4 {
        IpAddr::from(<[u8; 4]>::try_from(frame.get(udp - 8..udp - 4)?).ok()?)
    } else {
        IpAddr::from(<[u8; 16]>::try_from(frame.get(udp.checked_sub(32)?..udp - 16)?).ok()?)
    };
    Some(SeenSource { address, port })
}

const SOME: u64 = 3;
const SOME_TIME: Duration = Duration::from_millis(100);
const LOOKS_FOR: usize = 64;
const PATIENCE: Duration = Duration::from_millis(300);
/// Bytes of the headers of UDP and of IPv4.
const UDP: usize = 8;
const IPV4: usize = 20;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::frame::{Addressing, MacAddress};
    use crate::sizes::FrameSizes;

    #[test]
    fn the_source_is_read_from_frames_of_both_families_with_and_without_a_tag() {
        for (own, other) in [("10.9.8.7", "10.0.0.1"), ("fd00::9:8", "fd00::1")] {
            for vlan in [None, Some(5)] {
                let addressing = Addressing {
                    source_mac: MacAddress([2, 0, 0, 0, 0, 1]),
                    destination_mac: MacAddress([2, 0, 0, 0, 0, 2]),
                    vlan,
                    source: own.parse().expect("an address"),
                    destination: other.parse().expect("an address"),
                    source_port: 40_001,
                    destination_port: 9,
                };
                let tag = FrameTag::new(0x0bad_cafe);
                let sizes = FrameSizes::one(128);
                let layout = FrameLayout::new(tag, addressing, sizes, 1, 1).expect("it fits");
                let mut frame = vec![0; 124];
                layout.write(&mut frame);
                let seen = source(tag, &frame).expect("ours");
                assert_eq!((seen.address, seen.port), (addressing.source, 40_001));
                assert_eq!(source(FrameTag::new(1), &frame), None);
                for length in 0..frame.len() {
                    _ = source(tag, &frame[..length]);
                }
            }
        }
    }
}
