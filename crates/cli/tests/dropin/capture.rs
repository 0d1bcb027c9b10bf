//! Packets as they were on an interface, by tcpdump(8).

use std::net::IpAddr;
use std::process::Command;
use std::time::Duration;

use lab::Host;
use testbed::capture::Recording;

use crate::support::{program, skip};

/// A capture under way; it does not outlive this value.
pub(crate) struct Capture(testbed::capture::Capture);

impl Capture {
    /// On the loopback of this host; none where the system forbids it.
    pub(crate) fn on_loopback(filter: &str) -> Option<Self> {
        Self::start(Command::new("tcpdump"), "lo", filter)
    }

    /// On the interface of one host of a link.
    pub(crate) fn on(host: &Host, filter: &str) -> Option<Self> {
        Self::start(host.command("tcpdump"), host.interface(), filter)
    }

    fn start(command: Command, interface: &str, filter: &str) -> Option<Self> {
        let mut command = program(command);
        // -Z: a user namespace has no other user to become.
        command.args(["-Z", "root", "-B", "8192", "-s", "256", "--immediate-mode", "-U"]);
        match testbed::capture::Capture::begin(command, interface, filter) {
            Ok(capture) => Some(Self(capture)),
            Err(error) => skip(&format!("no capture: {error:#}")),
        }
    }

    /// What was captured, to the end.
    pub(crate) fn packets(self) -> Vec<Packet> {
        // The last packets are still on their way through the kernel's ring.
        std::thread::sleep(Duration::from_millis(300));
        packets(&self.0.end().expect("tcpdump ends"))
    }
}

/// One packet of IP, with the beginning of its payload.
#[derive(Debug)]
pub(crate) struct Packet {
    pub(crate) at: Duration,
    pub(crate) from: (IpAddr, u16),
    /// TCP's number or UDP's.
    pub(crate) protocol: u8,
    /// Type of service or traffic class.
    pub(crate) service: u8,
    /// Time to live or hop limit.
    pub(crate) hops: u8,
    /// Don't fragment, of IPv4.
    pub(crate) whole: bool,
    /// More fragments follow, or some went before.
    pub(crate) fragment: bool,
    /// Of IPv6.
    pub(crate) flow_label: u32,
    /// The maximum segment size that a SYN announces.
    pub(crate) segment: Option<u16>,
    /// An option of Multipath TCP is in it (RFC 8684).
    pub(crate) multipath: bool,
    /// Bytes of payload, captured or not.
    pub(crate) length: usize,
    /// The first bytes of the payload.
    pub(crate) payload: Vec<u8>,
}

/// The packets of Ethernet; what is none of IP is left out.
fn packets(recording: &Recording) -> Vec<Packet> {
    let frames = recording.frames().expect("a file of tcpdump");
    frames.filter_map(|frame| packet(frame.at, frame.bytes)).collect()
}

fn packet(at: Duration, frame: &[u8]) -> Option<Packet> {
    let ip = frame.get(ETHERNET_HEADER..)?;
    let network = match ip.first()? >> 4 {
        4 => network_v4(ip)?,
        6 => network_v6(ip)?,
        _ => return None,
    };
    let (header, options) = match network.protocol {
        _ if network.offset > 0 => (0, &[][..]),
        TCP => {
            let header = usize::from(*network.data.get(12)? >> 4) * 4;
            (header, network.data.get(20..header)?)
        }
        UDP => (8, &[][..]),
        _ => return None,
    };
    let port = if network.offset > 0 { 0 } else { half(network.data, 0)? };
    Some(Packet {
        at,
        from: (network.from, port),
        protocol: network.protocol,
        service: network.service,
        hops: network.hops,
        whole: network.whole,
        fragment: network.more || network.offset > 0,
        flow_label: network.flow_label,
        segment: option(options, MAXIMUM_SEGMENT_SIZE).and_then(|data| half(data, 0)),
        multipath: option(options, MULTIPATH).is_some(),
        length: network.length.checked_sub(header)?,
        payload: network.data.get(header..)?.to_vec(),
    })
}

/// What stands in a header of IP.
struct Network<'a> {
    from: IpAddr,
    protocol: u8,
    service: u8,
    hops: u8,
    whole: bool,
    more: bool,
    offset: u16,
    flow_label: u32,
    /// Bytes after the header, captured or not.
    length: usize,
    data: &'a [u8],
}

fn network_v4(ip: &[u8]) -> Option<Network<'_>> {
    let header = usize::from(ip[0] & 15) * 4;
    let address = |at| ip.get(at..at + 4).and_then(|bytes| <[u8; 4]>::try_from(bytes).ok());
    let flags = half(ip, 6)?;
    Some(Network {
        from: address(12)?.into(),
        protocol: *ip.get(9)?,
        service: *ip.get(1)?,
        hops: *ip.get(8)?,
        whole: flags & 0x4000 != 0,
        more: flags & 0x2000 != 0,
        offset: flags & 0x1fff,
        flow_label: 0,
        length: usize::from(half(ip, 2)?).checked_sub(header)?,
        data: ip.get(header..)?,
    })
}

fn network_v6(ip: &[u8]) -> Option<Network<'_>> {
    let address = |at| ip.get(at..at + 16).and_then(|bytes| <[u8; 16]>::try_from(bytes).ok());
    let first = u32::from_be_bytes(ip.get(..4)?.try_into().ok()?);
    Some(Network {
        from: address(8)?.into(),
        protocol: *ip.get(6)?,
        service: u8::try_from(first >> 20 & 0xff).ok()?,
        hops: *ip.get(7)?,
        whole: false,
        more: false,
        offset: 0,
        flow_label: first & 0xf_ffff,
        length: usize::from(half(ip, 4)?),
        data: ip.get(40..)?,
    })
}

fn half(bytes: &[u8], at: usize) -> Option<u16> {
    bytes.get(at..at + 2).and_then(|bytes| bytes.try_into().ok()).map(u16::from_be_bytes)
}

/// The data of one option of TCP (RFC 9293, 3.1).
fn option(mut options: &[u8], kind: u8) -> Option<&[u8]> {
    loop {
        match *options {
            [1, ref rest @ ..] => options = rest,
            [0, ..] | [] | [_] => return None,
            [found, length, ..] => {
                let length = usize::from(length);
                let data = options.get(2..length)?;
                if found == kind {
                    return Some(data);
                }
                options = &options[length..];
            }
        }
    }
}

const ETHERNET_HEADER: usize = 14;
pub(crate) const TCP: u8 = 6;
pub(crate) const UDP: u8 = 17;
const MAXIMUM_SEGMENT_SIZE: u8 = 2;
const MULTIPATH: u8 = 30;
