//! Packets as they were on an interface, by tcpdump(8).

use std::io::{BufRead, BufReader, Read};
use std::net::IpAddr;
use std::process::{Child, Command, Stdio};
use std::thread::JoinHandle;
use std::time::Duration;

use lab::Host;

use crate::support::{program, signal, skip};

/// A capture under way; it does not outlive this value.
pub(crate) struct Capture {
    child: Child,
    file: Option<JoinHandle<Vec<u8>>>,
}

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
        command.args([
            "-Z",
            "root",
            "-i",
            interface,
            "-B",
            "8192",
            "-s",
            "256",
            "--immediate-mode",
            "-Uw",
            "-",
            filter,
        ]);
        let mut child = match command.stderr(Stdio::piped()).spawn() {
            Ok(child) => child,
            Err(error) => return skip(&format!("no tcpdump: {error}")),
        };
        let mut file = child.stdout.take().expect("a pipe");
        let file = std::thread::spawn(move || {
            let mut bytes = Vec::new();
            file.read_to_end(&mut bytes).expect("a pipe");
            bytes
        });
        let said = BufReader::new(child.stderr.take().expect("a pipe"));
        let capture = Self { child, file: Some(file) };
        let mut lines = said.lines().map_while(Result::ok);
        if lines.any(|line| line.contains("listening on")) {
            // It writes some more when it ends; nobody may close the pipe before.
            std::thread::spawn(move || lines.count());
            Some(capture)
        } else {
            skip("tcpdump may not capture")
        }
    }

    /// What was captured, to the end.
    pub(crate) fn packets(mut self) -> Vec<Packet> {
        // The last packets are still on their way through the kernel's ring.
        std::thread::sleep(Duration::from_millis(300));
        signal(self.child.id(), "INT");
        let file = self.file.take().expect("it is taken once").join().expect("a reader");
        parse(&file).unwrap_or_default()
    }
}

impl Drop for Capture {
    fn drop(&mut self) {
        // It may have ended already.
        _ = self.child.kill();
        _ = self.child.wait();
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

/// The format of pcap-savefile(5), with microseconds, of Ethernet.
fn parse(file: &[u8]) -> Option<Vec<Packet>> {
    let mut rest = file.get(FILE_HEADER..)?;
    let mut packets = Vec::new();
    while let Some(header) = rest.get(..RECORD_HEADER) {
        let word = |at: usize| u32::from_ne_bytes(header[at..at + 4].try_into().expect("4 bytes"));
        let captured = usize::try_from(word(8)).ok()?;
        let Some(frame) = rest.get(RECORD_HEADER..RECORD_HEADER + captured) else { break };
        let at = Duration::from_secs(word(0).into()) + Duration::from_micros(word(4).into());
        packets.extend(packet(at, frame));
        rest = &rest[RECORD_HEADER + captured..];
    }
    Some(packets)
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

const FILE_HEADER: usize = 24;
const RECORD_HEADER: usize = 16;
const ETHERNET_HEADER: usize = 14;
pub(crate) const TCP: u8 = 6;
pub(crate) const UDP: u8 = 17;
const MAXIMUM_SEGMENT_SIZE: u8 = 2;
const MULTIPATH: u8 = 30;
