//! Which of an interface's bytes were the test's, and how many cannot have been.
//!
//! Interfaces count frames with headers, and a piece that segmentation offload cuts later
//! with one header or with one for each part, as the driver has it. So there are bounds.

use measurement::host::{EachCounter, counter};
use measurement::{Direction, DirectionOutcome, Role, TestRecord, Transport};

use super::{HostView, is_sent_in_pieces, receiver, sender};

/// Which of an interface's counters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Flowing {
    In,
    Out,
}

impl Flowing {
    /// The interface's counter of bytes.
    pub(crate) const fn bytes(self) -> EachCounter<'static> {
        match self {
            Self::In => counter::INTERFACE_RX_BYTES,
            Self::Out => counter::INTERFACE_TX_BYTES,
        }
    }
}

/// Bytes of an interface that were not the test's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Foreign {
    /// All of the interface's, the test's too.
    pub(crate) total: u64,
    /// At least so many are foreign.
    pub(crate) least: u64,
    /// At most so many.
    pub(crate) most: u64,
}

impl Foreign {
    /// The test had the interface for itself, for certain.
    pub(crate) fn is_none_to_speak_of(&self) -> bool {
        u128::from(self.most) * LEAST_PART <= u128::from(self.total)
    }
}

/// What a test moved, as interfaces see it.
pub(crate) struct Traffic<'a> {
    record: &'a TestRecord,
    /// Datagrams of which a host knows that they passed, though they may not have arrived.
    passed: u64,
}

/// Bytes of the test on one interface.
#[derive(Clone, Copy, Default)]
struct Ours {
    least: u64,
    most: u64,
}

impl<'a> Traffic<'a> {
    pub(crate) const fn from_record(record: &'a TestRecord) -> Self {
        Self { record, passed: 0 }
    }

    /// The same where so many datagrams are known to have passed at least.
    pub(crate) const fn with_passed(record: &'a TestRecord, passed: u64) -> Self {
        Self { record, passed }
    }

    /// What was foreign on an interface of `host`; none: it does not tell, or requests were
    /// answered, of which no bytes are known.
    pub(crate) fn foreign(
        &self,
        host: &HostView<'_>,
        interface: &str,
        flowing: Flowing,
    ) -> Option<Foreign> {
        if self.record.outcome.directions.is_empty() || self.is_sent_unknown() {
            return None;
        }
        let bytes = flowing.bytes().on(interface);
        let total = host.growth(bytes)?;
        let ours = self.ours(host, interface, flowing);
        let least = host.growth_inside(bytes).saturating_sub(ours.most);
        Some(Foreign { total, least, most: total.saturating_sub(ours.least) })
    }

    /// Whether nobody tells how many datagrams were sent: they may be any number.
    fn is_sent_unknown(&self) -> bool {
        let mut directions = self.record.outcome.directions.iter();
        self.record.plan.transport == Transport::Udp
            && directions.any(|outcome| outcome.offered.is_none())
    }

    fn ours(&self, host: &HostView<'_>, interface: &str, flowing: Flowing) -> Ours {
        let known = host.interface(interface);
        let mtu = known.map_or(USUAL_MTU, |known| known.mtu.max(LEAST_MTU).into());
        let kind = known.and_then(|known| known.kind.as_deref());
        let mut ours = Ours::default();
        for outcome in &self.record.outcome.directions {
            let (data, answers) = carries(host.role(), kind, flowing, outcome.direction);
            if data {
                ours = ours.with(self.data(outcome, mtu, kind)).with(self.twice(host, outcome));
            }
            if answers {
                ours = ours.with(self.answers(outcome));
            }
        }
        ours.with(self.beside(host.role()))
    }

    /// The payload of a direction, from what arrived to all that was sent.
    fn data(&self, outcome: &DirectionOutcome, mtu: u64, kind: Option<&str>) -> Ours {
        let sent = outcome.offered.or(outcome.acknowledged).or(outcome.delivered);
        let sent = sent.map_or(0, |sent| sent.bytes);
        let got = outcome.delivered.or(outcome.acknowledged).map_or(0, |got| got.bytes);
        match self.record.plan.transport {
            Transport::Tcp => {
                let again = outcome.retransmits.unwrap_or(0).saturating_mul(self.segment());
                let all = sent.saturating_add(again);
                let segments = (all / self.segment()).saturating_add(1);
                let headers = segments.saturating_mul(LONGEST_TCP_HEADERS);
                Ours { least: got.min(sent), most: all.saturating_add(headers) }
            }
            Transport::Udp => {
                let passed = self.passed.saturating_mul(self.block());
                self.datagrams(outcome, (got.max(passed).min(sent), sent), (mtu, kind))
            }
        }
    }

    /// Bytes that arrived at a receiver twice, by the duplicate SACKs that it sent (RFC 2883): the path may
    /// have duplicated it.
    fn twice(&self, host: &HostView<'_>, outcome: &DirectionOutcome) -> Ours {
        if self.record.plan.transport == Transport::Udp
            || *host.role() != receiver(outcome.direction)
        {
            return Ours::default();
        }
        let told = [counter::TCP_DSACK_OLD_SENT, counter::TCP_DSACK_OFO_SENT];
        let grown = told.into_iter().filter_map(|each| host.growth(each));
        let segments = grown.fold(0, u64::saturating_add);
        Ours { least: 0, most: segments.saturating_mul(self.segment() + LONGEST_TCP_HEADERS) }
    }

    fn datagrams(
        &self,
        outcome: &DirectionOutcome,
        (got, sent): (u64, u64),
        (mtu, kind): (u64, Option<&str>),
    ) -> Ours {
        let length = self.block();
        let duplicate = outcome.datagrams.and_then(|all| all.duplicate).unwrap_or(0);
        let network = if self.is_version_6() { 40 } else { 20 };
        let whole = length.saturating_add(UDP_HEADER);
        let pieces = whole.div_ceil(mtu.saturating_sub(network).max(1));
        let headers = pieces.saturating_mul(network + LONGEST_LINK_HEADERS);
        let frame = whole.saturating_add(headers).max(SHORTEST_FRAME);
        let count = (sent / length).saturating_add(1).saturating_add(duplicate);
        let most = count.saturating_mul(frame);
        // Many in one piece may be counted with one header.
        let headers = if is_sent_in_pieces(self.record, outcome) {
            0
        } else {
            let link = if kind == Some("tun") { 0 } else { ETHERNET_HEADER };
            (got / length).saturating_mul(UDP_HEADER + network + link)
        };
        Ours { least: got.saturating_add(headers), most }
    }

    /// Acknowledgements: one for each segment at most.
    fn answers(&self, outcome: &DirectionOutcome) -> Ours {
        if self.record.plan.transport == Transport::Udp {
            return Ours::default();
        }
        let sent = outcome.offered.map_or(0, |sent| sent.bytes);
        let segments = (sent / self.segment()).saturating_add(1);
        let most = segments.saturating_mul(LONGEST_TCP_HEADERS);
        Ours { least: 0, most }
    }

    /// The control connection, probes, and at the server what others tested there.
    fn beside(&self, role: &Role) -> Ours {
        let probes = self.record.probes.len() as u64 * LONGEST_PROBE;
        let others = self.record.reported.shared.iter().map(|other| other.bytes);
        let others = others.fold(0, u64::saturating_add);
        let others = if *role == Role::Peer { others.saturating_add(others / 4) } else { 0 };
        Ours { least: 0, most: CONTROL.saturating_add(probes).saturating_add(others) }
    }

    fn block(&self) -> u64 {
        self.record.streams.first().map_or(1, |stream| stream.block.bytes().max(1))
    }

    /// Payload bytes that a TCP segment has at least where many go.
    fn segment(&self) -> u64 {
        let reported = self.record.streams.iter().filter_map(|stream| stream.mss).min();
        let segment = reported.map_or(LEAST_SEGMENT, u64::from).max(1);
        segment.min(self.block())
    }

    fn is_version_6(&self) -> bool {
        let first = self.record.streams.first();
        let peer = first.and_then(|stream| stream.peer);
        peer.is_some_and(|peer| peer.ip().to_canonical().is_ipv6())
    }
}

/// Whether a direction's payload, and what answers it, pass an interface of that kind.
fn carries(
    role: &Role,
    kind: Option<&str>,
    flowing: Flowing,
    direction: Direction,
) -> (bool, bool) {
    let (from, to) = (sender(direction), receiver(direction));
    match (role, flowing) {
        // What a loopback sends it receives.
        _ if kind == Some("loopback") => (true, true),
        (Role::Observed(_), _) => (true, true),
        (role, Flowing::Out) => (*role == from, *role == to),
        (role, Flowing::In) => (*role == to, *role == from),
    }
}

impl Ours {
    const fn with(self, other: Self) -> Self {
        Self {
            least: self.least.saturating_add(other.least),
            most: self.most.saturating_add(other.most),
        }
    }
}

/// Foreign traffic of a fiftieth, or 2 %, tells in a result.
const LEAST_PART: u128 = 50;
/// Of interfaces that do not tell: that of Ethernet.
const USUAL_MTU: u64 = 1_500;
/// RFC 791: every link takes so many bytes.
const LEAST_MTU: u32 = 68;
const UDP_HEADER: u64 = 8;
/// Loopbacks have it too.
const ETHERNET_HEADER: u64 = 14;
/// Ethernet, two VLAN tags, and the frame check sequence that some drivers count.
const LONGEST_LINK_HEADERS: u64 = ETHERNET_HEADER + 8 + 4;
/// Those, IPv6, and TCP with all its options (RFC 9293, 3.1).
const LONGEST_TCP_HEADERS: u64 = LONGEST_LINK_HEADERS + 40 + 60;
/// Ethernet fills up what is shorter.
const SHORTEST_FRAME: u64 = 64;
/// IPv6's least MTU without the headers, where the segment size is not known.
const LEAST_SEGMENT: u64 = 1_200;
/// Request and answer of 64 bytes, each with its headers, twice over.
const LONGEST_PROBE: u64 = 512;
/// What the control connection may carry meanwhile, both hosts' readings included.
const CONTROL: u64 = 128 << 10;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_record;
    use measurement::host::counter;

    fn foreign(record: &TestRecord, flowing: Flowing) -> Foreign {
        let host = HostView::from_record(record, &record.hosts[0]);
        Traffic::from_record(record).foreign(&host, "eth0", flowing).expect("reported")
    }

    fn is_much(foreign: Foreign) -> bool {
        u128::from(foreign.least) * LEAST_PART > u128::from(foreign.total)
    }

    #[test]
    fn what_the_path_duplicates_is_not_foreign() {
        let received = |duplicate_sacks| {
            let mut record = test_record::tcp();
            let host = test_record::host(&mut record, &Role::Peer);
            test_record::grow(host, counter::INTERFACE_RX_BYTES.on("eth0"), 1_700_000_000);
            test_record::grow(host, counter::TCP_DSACK_OLD_SENT, duplicate_sacks);
            let host = record.hosts.iter().find(|host| host.role == Role::Peer).expect("it tells");
            let host = HostView::from_record(&record, host);
            let traffic = Traffic::from_record(&record);
            traffic.foreign(&host, "eth0", Flowing::In).expect("reported")
        };
        assert!(is_much(received(0)));
        assert_eq!(received(10_000_000).least, 0);
    }

    #[test]
    fn a_test_that_is_alone_meets_nobody() {
        for record in [test_record::udp(), test_record::tcp()] {
            let out = foreign(&record, Flowing::Out);
            assert_eq!((out.least, is_much(out)), (0, false), "{out:?}");
        }
        let out = foreign(&test_record::udp(), Flowing::Out);
        assert!(out.is_none_to_speak_of(), "{out:?}");
    }

    #[test]
    fn what_headers_do_not_explain_is_foreign() {
        let mut record = test_record::udp();
        let host = test_record::host(&mut record, &Role::Here);
        test_record::grow(host, counter::INTERFACE_TX_BYTES.on("eth0"), 150_000_000);
        let out = foreign(&record, Flowing::Out);
        assert!(is_much(out) && !out.is_none_to_speak_of(), "{out:?}");
        assert!((15_000_000..25_000_000).contains(&out.least), "{out:?}");
        assert!(!is_much(foreign(&record, Flowing::In)));
    }

    #[test]
    fn nothing_is_foreign_where_nobody_knows_what_was_sent() {
        let mut record = test_record::udp();
        let host = test_record::host(&mut record, &Role::Here);
        test_record::grow(host, counter::INTERFACE_TX_BYTES.on("eth0"), 150_000_000);
        record.outcome.directions[0].offered = None;
        let host = HostView::from_record(&record, &record.hosts[0]);
        assert!(Traffic::from_record(&record).foreign(&host, "eth0", Flowing::Out).is_none());
    }
}
