//! Proof: no datagram with a forged source makes the server send to that source.

use std::net::{Ipv4Addr, SocketAddr, SocketAddrV4};
use std::sync::atomic::Ordering::Relaxed;
use std::thread;
use std::time::Duration;

use super::Siege;
use super::client::{ALL, SECOND};
use super::fixture::Fixture;
use super::limits::{Limit, LimitTable};
use super::peers::{Counters, hold};
use super::random::Random;
use super::script::{Session, Stage};
use super::server::{Capacity, PORT};
use super::topology::{Host, Spoke, Star};
use crate::Verdict;
use crate::ask::{Direction, Transport};
use anyhow::Context;
use socket2::{Domain, Protocol, SockAddr, Socket, Type};

pub(super) fn run(siege: &Siege) -> anyhow::Result<Verdict> {
    let mut star = Star::new()?;
    let (attacker, victim) = (star.add()?, star.add()?);
    admit_any_source(&star.server, &[&attacker, &victim])?;
    let mut fixture = Fixture::start(siege, "spoofed", &star.server, Capacity::Ample, &ALL[..3])?;
    let limits = &mut fixture.limits;
    // It shows that the counters count, and makes the neighbours known.
    let sent = star.sent_through(&victim.interface)?;
    let address = victim.server_address.to_string();
    let regular = ALL[3].run(&fixture.programs, &victim.client, &address)?;
    let counted = star.sent_through(&victim.interface)? - sent;
    let what = "bytes towards the victim of its own UDP reverse test";
    limits.count(what, counted, Limit::AtLeast(1e6));
    if !regular.is_well() {
        limits.note(&regular.words());
    }
    let count = if siege.short { 3_000 } else { 30_000 };
    let target = Target { star: &star, attacker: &attacker, victim: &victim, count };
    let mut random = Random::from_seed(siege.seed());
    target.attack_during(limits, "without a control connection", &mut random)?;
    for (stage, when) in [
        (Stage::Asked, "while the attacker's own UDP reverse test waits for streams"),
        (Stage::Running, "while the attacker's own UDP reverse test runs"),
    ] {
        let counters = Counters::default();
        let steps = Session::new(Transport::Udp, Direction::Reverse).silent_from(stage);
        hold([(&attacker, &*steps)], &counters, || {
            thread::sleep(SETTLING);
            target.attack_during(limits, when, &mut random)?;
            let held = counters.settled.load(Relaxed);
            limits.note(if held == 1 { "" } else { "the attacker's own test was not held" });
            Ok(())
        })?;
    }
    fixture.try_client(&SECOND, "right after it")?;
    fixture.close(RETURN)
}

/// Without this the kernel would keep forged packets from the server.
fn admit_any_source(server: &Host, spokes: &[&Spoke]) -> anyhow::Result<()> {
    let names = spokes.iter().map(|spoke| spoke.interface.as_str()).chain(["all", "default"]);
    for name in names {
        server.set(&format!("ipv4/conf/{name}/rp_filter"), "0")?;
        server.set(&format!("ipv4/conf/{name}/accept_local"), "1")?;
    }
    Ok(())
}

/// Who attacks whom.
struct Target<'a> {
    star: &'a Star,
    attacker: &'a Spoke,
    victim: &'a Spoke,
    /// Packets of each attack.
    count: usize,
}

impl Target<'_> {
    /// Sends forged datagrams of every kind and counts what leaves the server.
    fn attack_during(
        &self,
        limits: &mut LimitTable,
        when: &str,
        random: &mut Random,
    ) -> anyhow::Result<()> {
        let before = self.counters()?;
        let host = &self.attacker.client;
        let sent = host.run(|| self.attack(random))?.context("cannot send forged packets")?;
        thread::sleep(SETTLING);
        let after = self.counters()?;
        let arrived = after.datagrams - before.datagrams;
        let (least, none) = (Limit::AtLeast(self.count as f64 / 4.0), Limit::Exactly(0.0));
        limits.note(when);
        limits.count("forged packets sent", sent as u64, Limit::None);
        limits.count("of these reached a socket of the server", arrived, least);
        let bytes = after.towards_victim - before.towards_victim;
        limits.count("bytes towards the victim", bytes, none);
        let own = after.towards_itself - before.towards_itself;
        limits.count("bytes of the server to itself", own, none);
        Ok(())
    }

    fn counters(&self) -> anyhow::Result<UdpCounters> {
        Ok(UdpCounters {
            towards_victim: self.star.sent_through(&self.victim.interface)?,
            towards_itself: self.star.sent_through("lo")?,
            datagrams: datagrams_received(&self.star.server.table("snmp")?),
        })
    }

    /// Packets sent; those of sources that no kernel forwards are not.
    fn attack(&self, random: &mut Random) -> std::io::Result<usize> {
        let socket = Socket::new(Domain::IPV4, Type::RAW, Some(Protocol::from(IPPROTO_RAW)))?;
        socket.set_header_included_v4(true)?;
        socket.set_broadcast(true)?;
        let to = SocketAddrV4::new(self.attacker.server_address, PORT);
        let sources = [
            self.victim.client_address,
            self.victim.client_address,
            self.victim.client_address,
            self.attacker.server_address,
            self.victim.server_address,
            broadcast_of(self.victim.client_address),
            Ipv4Addr::BROADCAST,
            Ipv4Addr::LOCALHOST,
        ];
        let mut sent = 0;
        for number in 0..self.count {
            let source = sources[number % sources.len()];
            // From the server's own port too: a server must not talk to itself.
            let port = if random.below(4) == 0 { PORT } else { 1024 + random_port(random) };
            let packet = datagram(SocketAddrV4::new(source, port), to, &payload(random));
            let to = SockAddr::from(SocketAddr::from(to));
            sent += usize::from(socket.send_to(&packet, &to).is_ok());
            if number % BURST == 0 {
                // No faster than the server's socket is read.
                thread::sleep(Duration::from_millis(1));
            }
        }
        Ok(sent)
    }
}

fn random_port(random: &mut Random) -> u16 {
    u16::try_from(random.below(60_000)).unwrap_or_default()
}

struct UdpCounters {
    towards_victim: u64,
    towards_itself: u64,
    datagrams: u64,
}

/// `InDatagrams` and `NoPorts` of `/proc/net/snmp`.
fn datagrams_received(table: &str) -> u64 {
    let mut lines = table.lines().filter_map(|line| line.strip_prefix("Udp: "));
    let (Some(names), Some(values)) = (lines.next(), lines.next()) else { return 0 };
    let fields = names.split_whitespace().zip(values.split_whitespace());
    let wanted = fields.filter(|(name, _)| *name == "InDatagrams");
    wanted.filter_map(|(_, value)| value.parse::<u64>().ok()).sum()
}

/// Every hello (clause 8.2), with something behind it too, replies, and junk.
fn payload(random: &mut Random) -> Vec<u8> {
    let words: [[u8; 4]; 6] = [
        *b"9876",
        [0x15, 0xcd, 0x5b, 0x07],
        [0x07, 0x5b, 0xcd, 0x15],
        *b"6789",
        [0xb1, 0x68, 0xde, 0x3a],
        [0x3a, 0xde, 0x68, 0xb1],
    ];
    match random.below(10) {
        kind @ 0..=5 => words[kind].to_vec(),
        6 => [&words[0][..], &random.bytes(16)].concat(),
        7 => Vec::new(),
        8 => random.bytes(20),
        _ => {
            let count = random.below(1400);
            random.bytes(count)
        }
    }
}

/// An IPv4 packet with a UDP datagram (RFC 791, RFC 768). The kernel fills in length
/// and checksum of the header (raw(7)); UDP may go without (RFC 768).
fn datagram(from: SocketAddrV4, to: SocketAddrV4, payload: &[u8]) -> Vec<u8> {
    let length = |bytes: usize| u16::try_from(bytes).unwrap_or(u16::MAX).to_be_bytes();
    let udp = payload.len() + UDP_HEADER;
    let mut packet = Vec::with_capacity(IPV4_HEADER + udp);
    packet.extend([0x45, 0]);
    packet.extend(length(IPV4_HEADER + udp));
    packet.extend([0, 0, 0, 0, TIME_TO_LIVE, PROTOCOL_UDP, 0, 0]);
    packet.extend(from.ip().octets());
    packet.extend(to.ip().octets());
    packet.extend(from.port().to_be_bytes());
    packet.extend(to.port().to_be_bytes());
    packet.extend(length(udp));
    packet.extend([0, 0]);
    packet.extend(payload);
    packet
}

fn broadcast_of(address: Ipv4Addr) -> Ipv4Addr {
    let [a, b, c, _] = address.octets();
    Ipv4Addr::new(a, b, c, 255)
}

/// `netinet/in.h`.
const IPPROTO_RAW: i32 = 255;
const PROTOCOL_UDP: u8 = 17;
const TIME_TO_LIVE: u8 = 64;
const IPV4_HEADER: usize = 20;
const UDP_HEADER: usize = 8;
const BURST: usize = 64;
const SETTLING: Duration = Duration::from_millis(500);
const RETURN: Duration = Duration::from_secs(15);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_datagram_has_its_ends_and_lengths() {
        let end = |text: &str| text.parse::<SocketAddrV4>().expect("an address");
        let packet = datagram(end("10.0.0.1:258"), end("10.0.0.2:5201"), b"9876");
        assert_eq!(packet.len(), 32);
        assert_eq!(packet[2..4], [0, 32]);
        assert_eq!(packet[12..20], [10, 0, 0, 1, 10, 0, 0, 2]);
        assert_eq!(packet[20..28], [1, 2, 0x14, 0x51, 0, 12, 0, 0]);
        assert_eq!(&packet[28..], b"9876");
    }

    #[test]
    fn received_datagrams_are_found_by_their_name() {
        let table = "Tcp: A\nTcp: 1\nUdp: InDatagrams NoPorts InErrors\nUdp: 7 5 1\n";
        assert_eq!(datagrams_received(table), 7);
        assert_eq!(datagrams_received(""), 0);
    }
}
