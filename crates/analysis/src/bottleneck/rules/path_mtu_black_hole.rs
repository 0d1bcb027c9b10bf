//! `path-mtu-black-hole`: large packets vanish on the path, small ones pass.

use measurement::remedy::{Change, Remedy, Setting};
use measurement::{ByteSize, Certainty, Ledger, Role};

use super::{Case, Class, Found, Page, Rule, RuleId, tcp_path_loss};
use crate::accounts::Flow;
use crate::bottleneck::hops;
use crate::bottleneck::transfer::{self, Transfer};
use crate::words::{count, counted};
use measurement::host::counter;

const PAGE: Page = Page {
    id: RuleId::PathMtuBlackHole,
    title: "Path MTU black hole",
    what: "Next to nothing of what was sent in large packets arrived, while the small packets of \
           the handshakes passed: of many datagrams of more than 500 bytes none in a thousand, or \
           of TCP fewer than ten segments, which were sent again after time-outs. No counter of a \
           host has them.",
    why: "A link on the way takes smaller packets only, and the ICMP message that says so is \
          filtered (`fragmentation needed`, or `packet too big` of IPv6), so that the sender goes \
          on with packets that are dropped. The results of a linerate are large too: often the \
          control connection ends without them.",
    evidence: "What the receiver got, or acknowledged (`tcpi_bytes_acked`), against what was sent \
               and sent again; drops of both ends.",
    remedy: "Try smaller packets (`-M 1200`, `-l 1200`). Look for a link with a smaller MTU (a \
             tunnel, PPPoE) and a firewall that drops ICMP; `net.ipv4.tcp_mtu_probing=2` at both \
             ends lets TCP find the size by itself, that of the control connection too.",
    source: "RFC 2923, RFC 4821, RFC 8899, ip-sysctl.rst",
};

pub(super) const RULE: Rule = Rule::new(&PAGE, Class::Oversize, check);

fn check(case: &Case<'_>) -> Vec<Found> {
    if case.is_udp() {
        let found = |flow| datagrams(case, flow).or_else(|| unheard_of(case, flow));
        return case.wanting().filter_map(found).collect();
    }
    let told = transfer::wanting(case);
    let told = told.iter().filter_map(|transfer| segments(case, transfer));
    told.chain(case.wanting().filter_map(|flow| of_silent_sender(case, flow))).collect()
}

/// Nothing comes over a connection that stands, from a sender that tells nothing: its large
/// segments are lost, if its host still accepts connections.
fn of_silent_sender(case: &Case<'_>, flow: &Flow<'_>) -> Option<Found> {
    let segment = case.test?.record.streams.first()?.mss?;
    let is_silent = flow.account.tcp.is_none() && flow.receiver() == Role::Here;
    if !is_silent || flow.arrived()?.bytes > 0 {
        return None;
    }
    let seen = format!("connected, and not a byte arrived{}", still_there(case));
    let size = u64::from(segment) + HEADERS_OF_TCP;
    let remedy = remedy(&Setting::SegmentSize(smaller(segment.into())));
    let is_sent = flow.outcome.offered.is_some_and(|sent| sent.bytes > 0);
    let certainty = if is_sent { Certainty::Limit } else { unreported(case) };
    Some(found(flow, certainty, size, seen).remedy(remedy))
}

/// Segments that are sent again and again, and are never acknowledged.
fn segments(case: &Case<'_>, transfer: &Transfer<'_>) -> Option<Found> {
    let account = transfer.account;
    let again = account.retransmitted_segments;
    let each = account.retransmitted.checked_div(again).filter(|bytes| *bytes > SMALL)?;
    let streams = transfer.senders.len() as u64;
    let arrived = transfer.flow.arrived()?.bytes;
    if arrived >= FEW_SEGMENTS * each * streams || arrived > account.retransmitted {
        return None;
    }
    if tcp_path_loss::dropped(case, transfer).saturating_mul(2) >= again {
        return None;
    }
    let size = transfer.senders.iter().map(|tcp| u64::from(tcp.path_mtu)).max();
    let size = size.filter(|mtu| *mtu > each).unwrap_or(each + HEADERS_OF_TCP);
    let seen = format!(
        "{} acknowledged, {} sent again, no drop at the ends",
        counted(arrived, "byte"),
        counted(again, "segment")
    );
    let remedy = remedy(&Setting::SegmentSize(smaller(each)));
    Some(found(transfer.flow, certainty(arrived), size, seen).remedy(remedy))
}

/// Datagrams of which none comes.
fn datagrams(case: &Case<'_>, flow: &Flow<'_>) -> Option<Found> {
    let size = case.test?.record.streams.first()?.block.bytes();
    let sent = flow.outcome.offered?.bytes / size.max(1);
    if size <= SMALL || sent < MANY || is_explained(case, flow) {
        return None;
    }
    let arrived = flow.outcome.delivered.map(|got| got.bytes / size);
    if arrived.is_some_and(|arrived| arrived > sent / NONE_IN) {
        return None;
    }
    let certainty = arrived.map_or(unreported(case), certainty);
    let arrived = arrived.map_or_else(
        || format!("no report of what arrived{}", still_there(case)),
        |arrived| format!("{} arrived, no drop at the ends", count(arrived)),
    );
    let seen = format!("{} sent, {arrived}", counted(sent, "datagram"));
    let length = ByteSize::from_bytes(smaller(size).into());
    let found = found(flow, certainty, size.saturating_add(HEADERS_OF_UDP), seen);
    Some(found.remedy(remedy(&Setting::Length(length))))
}

/// A sender at the other end of which neither a datagram nor the results came: what it sent is not
/// known.
fn unheard_of(case: &Case<'_>, flow: &Flow<'_>) -> Option<Found> {
    let size = case.test?.record.streams.first()?.block.bytes();
    let is_silent = flow.receiver() == Role::Here && flow.outcome.offered.is_none();
    let arrived = flow.outcome.delivered.map_or(0, |got| got.bytes);
    if !is_silent || size <= SMALL || arrived > 0 || is_explained_here(case) {
        return None;
    }
    let seen =
        format!("neither a datagram nor the results of the server came{}", still_there(case));
    let length = ByteSize::from_bytes(smaller(size).into());
    let found = found(flow, unreported(case), size.saturating_add(HEADERS_OF_UDP), seen);
    Some(found.remedy(remedy(&Setting::Length(length))))
}

/// Whether this host counts drops of what it received.
fn is_explained_here(case: &Case<'_>) -> bool {
    unheard(case, &Role::Here) > 0 || hops::drops(case).iter().any(|hop| hop.dropped > 0)
}

fn found(flow: &Flow<'_>, certainty: Certainty, size: u64, seen: String) -> Found {
    let text =
        format!("path MTU black hole: packets of {} bytes are lost, small ones pass", count(size));
    Found::new(certainty, text).going(flow.outcome.direction).explaining(1.0).seen(seen)
}

fn remedy(smaller: &Setting) -> Remedy {
    let sentence = format!(
        "use smaller packets ({smaller}), let ICMP \"fragmentation needed\" pass, or let TCP \
         probe the MTU"
    );
    let remedy = Remedy::from(sentence).with(Change::new(&Role::Here, smaller.clone()));
    let probing = super::sysctl("net.ipv4.tcp_mtu_probing", PROBE_FROM_THE_START);
    let ends = [Role::Here, Role::Peer];
    ends.iter().fold(remedy, |remedy, end| remedy.with(Change::new(end, probing.clone())))
}

/// TCP begins with segments of `net.ipv4.tcp_base_mss`; with 1 it does so after some time-outs,
/// for which the exchange of results does not wait (ip-sysctl.rst).
const PROBE_FROM_THE_START: u32 = 2;

/// The results, which are large, did not come either; a host that still accepts connections was
/// not gone.
fn unreported(case: &Case<'_>) -> Certainty {
    if accepts(case) { Certainty::Limit } else { Certainty::Candidate }
}

fn still_there(case: &Case<'_>) -> &'static str {
    if accepts(case) { ", and new connections to the server still succeed" } else { "" }
}

fn accepts(case: &Case<'_>) -> bool {
    case.test.is_some_and(|test| test.record.outcome.peer_accepts == Some(true))
}

/// If a little arrived, packets are not lost for their size alone.
const fn certainty(arrived: u64) -> Certainty {
    if arrived == 0 { Certainty::Limit } else { Certainty::Candidate }
}

/// Whether a counter of a host has the datagrams that did not arrive.
fn is_explained(case: &Case<'_>, flow: &Flow<'_>) -> bool {
    let Some(ledger) = flow.account.ledger.as_ref() else { return false };
    let counted = dropped(ledger).max(unheard(case, &flow.receiver()));
    counted.saturating_mul(2) >= ledger.lost().max(1)
}

fn dropped(ledger: &Ledger) -> u64 {
    ledger.drops.iter().map(|drop| drop.datagrams).fold(0, u64::saturating_add)
}

/// Datagrams that came to no port.
fn unheard(case: &Case<'_>, role: &Role) -> u64 {
    let ports = counter::UDP_NO_PORTS.each();
    let host = case.host(role);
    let grown = ports.iter().filter_map(|counter| host?.growth(*counter));
    grown.fold(0, u64::saturating_add)
}

/// A payload that most tunnels take, and one that every path takes: IPv4 hosts take datagrams of
/// 576 bytes (RFC 1122, 3.3.2).
const fn smaller(size: u64) -> u32 {
    if size > 1_300 { 1_200 } else { 500 }
}

/// Payload of a packet that every path takes.
const SMALL: u64 = 500;
/// With fewer datagrams chance may have lost all.
const MANY: u64 = 100;
/// Next to nothing: one of so many.
const NONE_IN: u64 = 1_000;
/// Small segments may be among the first.
const FEW_SEGMENTS: u64 = 10;
/// Of IPv4 (RFC 791) and UDP (RFC 768), in bytes.
const HEADERS_OF_UDP: u64 = 20 + 8;
/// Of IPv4 and TCP (RFC 9293) with time stamps (RFC 7323), in bytes.
const HEADERS_OF_TCP: u64 = 20 + 20 + 12;

#[cfg(test)]
pub(super) const FIXTURE: super::Fixture = super::Fixture::on(&RULE, crate::test_record::udp)
    .fires(|record| crate::test_record::lose(record, 100_000))
    .silent(|record| {
        crate::test_record::lose(record, 100_000);
        crate::test_record::drop_in_sockets(record, 100_000);
    });

#[cfg(test)]
mod tests {
    use measurement::TestRecord;

    use super::*;
    use crate::accounts::Test;
    use crate::test_record;

    #[test]
    fn neither_datagrams_nor_results_of_a_server_that_still_accepts_are_lost_for_their_size() {
        let mut record = test_record::udp_received();
        record.reported = measurement::record::PeerReport::default();
        record.hosts.truncate(1);
        let outcome = &mut record.outcome.directions[0];
        outcome.offered = None;
        outcome.delivered.as_mut().expect("measured").bytes = 0;
        let certainty = |record: &TestRecord| found(record)[0].certainty;
        assert_eq!(certainty(&record), Certainty::Candidate);
        record.outcome.peer_accepts = Some(true);
        assert_eq!(certainty(&record), Certainty::Limit);
    }

    fn found(record: &TestRecord) -> Vec<Found> {
        let test = Test::from_record(record);
        check(&Case::of_test(&test, &[]))
    }

    fn stalled() -> TestRecord {
        let mut record = test_record::tcp();
        test_record::offer(&mut record, 2_000_000, 0);
        record.outcome.directions[0].delivered = None;
        test_record::sent(&mut record).acknowledged = 0;
        test_record::send_again(&mut record, 3, 0);
        record
    }

    #[test]
    fn a_connection_that_opens_and_stands_still_is_told() {
        let found = found(&stalled());
        let [one] = found.as_slice() else { panic!("one finding is due: {found:?}") };
        assert_eq!(one.certainty, Certainty::Limit);
        assert!(one.text.contains("packets of 1,500 bytes are lost"), "{}", one.text);
        let commands: Vec<_> = one.remedy.changes.iter().map(Change::command).collect();
        let probing = "sysctl -w net.ipv4.tcp_mtu_probing=2";
        assert_eq!(commands, ["-M 1200", probing, probing]);
    }

    #[test]
    fn drops_at_the_receiver_are_no_black_hole() {
        let mut record = stalled();
        let host = test_record::host(&mut record, &Role::Peer);
        test_record::grow(host, counter::TCP_BACKLOG_DROP, 3);
        assert_eq!(found(&record), []);
    }

    #[test]
    fn a_receiver_that_reports_nothing_leaves_it_open() {
        let mut record = test_record::udp();
        let outcome = &mut record.outcome.directions[0];
        (outcome.delivered, outcome.datagrams) = (None, None);
        assert_eq!(found(&record)[0].certainty, Certainty::Candidate);
    }

    #[test]
    fn a_firewall_of_the_receiver_is_no_black_hole() {
        let mut record = test_record::udp();
        test_record::lose(&mut record, 100_000);
        let host = test_record::host(&mut record, &Role::Peer);
        test_record::grow(host, counter::IP_IN_RECEIVES.v4, 100_000);
        test_record::grow(host, counter::IP_IN_DELIVERS.v4, 100);
        assert_eq!(found(&record), []);
    }
}
