//! `packet-reordering`: segments changed their order, and TCP took them for lost.

use super::{Case, Class, Found, Page, Rule, RuleId};
use crate::bottleneck::response::Control;
use crate::bottleneck::silent::Arrivals;
use crate::bottleneck::transfer::{self, Transfer};
use crate::words::{counted, percent};
use measurement::host::counter;

const PAGE: Page = Page {
    id: RuleId::PacketReordering,
    title: "Packet reordering on the path",
    what: "At least half of the segments that were sent again had arrived, or the order changed \
           more often than segments were lost.",
    why: "A gap looks like loss until the segment comes: the window shrinks, and bytes travel \
          twice. A bond, several queues, or a packet that changes its CPU do that.",
    evidence: "Duplicate SACKs (`tcpi_dsack_dups`), `tcpi_reord_seen`, at the sender's host \
               `TCPSACKReorder`, `TCPTSReorder`, `TCPSpuriousRTOs`; at the receiver's \
               `PAWSEstab`, segments older than what had arrived, and of a sender that tells \
               nothing the duplicate SACKs sent (`TCPDSACKOldSent`) where segments come out of \
               order (`TCPOFOQueue`).",
    remedy: "Keep a flow on one link and one queue: the hash of the bond, RPS and XPS of one CPU, \
             no `balance-rr`.",
    source: "RFC 2883, Documentation/networking/snmp_counter.rst",
};

pub(super) const RULE: Rule = Rule::new(&PAGE, Class::Loss, check);

fn check(case: &Case<'_>) -> Vec<Found> {
    super::in_all_transfers(case, finding, of_silent_sender)
}

/// A sender that says no more than how many segments it sent again: time stamps tell how many of
/// them arrived late.
fn of_silent_sender(case: &Case<'_>, arrivals: &Arrivals<'_>) -> Option<Found> {
    let (again, lost) = (arrivals.sent_again()?, arrivals.lost()?);
    if lost < MUCH || !arrivals.are_late(case) {
        return None;
    }
    let is_borne = arrivals.control() == Control::Bbr && lost < LITTLE;
    let found = if is_borne { Found::candidate(TEXT) } else { Found::limit(TEXT) };
    let seen = format!(
        "{} retransmitted, as the sender reports; segments that arrived late were {} of that",
        counted(again, "segment"),
        percent(arrivals.late(case)?)
    );
    Some(found.going(arrivals.flow.outcome.direction).seen(seen).remedy(REMEDY))
}

fn finding(case: &Case<'_>, transfer: &Transfer<'_>) -> Option<Found> {
    let account = transfer.account;
    let is_spurious = transfer.sent_again() >= MUCH && transfer.spurious() >= 0.5;
    let is_seen = transfer.changes_order() || transfer.changes_order_later(case);
    if !is_spurious && !is_seen {
        return None;
    }
    // BBR goes on as if it had not seen the loss, as long as it is little.
    let is_borne = transfer.bears_its_loss(case) && transfer.sent_again() < LITTLE;
    let is_shown = !is_borne && (is_spurious || transfer.are_late(case));
    let found = if is_shown && transfer.account.shares.is_some() && transfer.may_wait_for_the_path()
    {
        Found::limit(TEXT)
    } else {
        Found::candidate(TEXT)
    };
    let names = [
        counter::TCP_SACK_REORDER,
        counter::TCP_TS_REORDER,
        counter::TCP_SPURIOUS_RTOS,
        counter::TCP_DSACK_RECV,
    ];
    let counters = transfer::grown(case.host(&transfer.sender()), &names);
    let found = found
        .going(transfer.flow.outcome.direction)
        .explaining(transfer.shares().congestion_window)
        .seen(format!(
            "{} retransmitted, {} of them spuriously; reordering seen {}",
            counted(account.retransmitted_segments, "segment"),
            percent(transfer.spurious()),
            counted(account.reorderings, "time")
        ))
        .remedy(REMEDY);
    let reported = !counters.is_empty();
    Some(if reported { found.seen(transfer::in_words(&counters)) } else { found })
}

const TEXT: &str = "packet reordering on the path causes spurious retransmissions";
const REMEDY: &str = "keep a flow on one link and one queue (hash of the bond, RPS, XPS)";
/// Of the bytes. To be calibrated.
const MUCH: f64 = 0.001;
/// Share of the bytes retransmitted below which BBR does not slow down.
const LITTLE: f64 = 0.01;

#[cfg(test)]
pub(super) const FIXTURE: super::Fixture = super::Fixture::on(&RULE, crate::test_record::tcp)
    .fires(|record| crate::test_record::send_again(record, 1_000, 900))
    .silent(|record| crate::test_record::send_again(record, 1_000, 100));

#[cfg(test)]
mod tests {
    use measurement::{Certainty, Role};

    use super::*;
    use crate::accounts::Test;
    use crate::bottleneck::fixture;
    use crate::test_record;

    #[test]
    fn segments_of_an_iperf3_that_arrive_late_were_not_lost() {
        let limits = |late| {
            let mut record = fixture::tcp_from_iperf3(1_000);
            let host = test_record::host(&mut record, &Role::Here);
            test_record::grow(host, counter::TCP_PAWS, late);
            let test = Test::from_record(&record);
            check(&Case::of_test(&test, &[]))
                .iter()
                .any(|found| found.certainty == Certainty::Limit)
        };
        assert!(limits(900));
        assert!(!limits(10));
    }

    #[test]
    fn segments_that_arrive_after_newer_ones_are_late_where_the_path_duplicates_too() {
        let mut record = test_record::tcp();
        test_record::send_again(&mut record, 1_000, 0);
        let found = |record: &measurement::TestRecord| {
            let test = Test::from_record(record);
            check(&Case::of_test(&test, &[])).len()
        };
        assert_eq!(found(&record), 0);
        let host = test_record::host(&mut record, &Role::Peer);
        test_record::grow(host, counter::TCP_PAWS, 600);
        assert_eq!(found(&record), 1);
    }

    #[test]
    fn segments_that_arrive_twice_were_sent_again_without_need() {
        let rules = |twice, early| {
            let mut record = fixture::tcp_from_iperf3(4_000);
            test_record::sent(&mut record).segments_in = 90_000;
            let host = test_record::host(&mut record, &Role::Here);
            test_record::grow(host, counter::TCP_DSACK_OLD_SENT, twice);
            test_record::grow(host, counter::TCP_OFO_QUEUE, early);
            let test = Test::from_record(&record);
            let found = crate::bottleneck::findings(&Case::of_test(&test, &[]));
            let is_of_them =
                |rule: &RuleId| matches!(rule, RuleId::PacketReordering | RuleId::TcpPathLoss);
            found.iter().map(|one| one.rule).filter(is_of_them).collect::<Vec<_>>()
        };
        assert_eq!(rules(3_900, 60_000), [RuleId::PacketReordering]);
        assert_eq!(rules(3_900, 2_000), [], "acknowledgements were late, and no segment");
        assert_eq!(rules(100, 60_000), [RuleId::TcpPathLoss]);
        assert_eq!(rules(9_000, 60_000), [RuleId::TcpPathLoss], "the path duplicates");
    }

    #[test]
    fn the_order_changes_after_slow_start_has_filled_a_queue() {
        let found = |later: u32| {
            let mut record = test_record::tcp();
            test_record::send_again(&mut record, 1_400, 5);
            test_record::sent(&mut record).reorderings = 340 + later;
            let end = record.samples.len() - 1;
            for sample in &mut record.samples[1..end] {
                let tcp = sample.streams[0].tcp.as_mut().expect("it is TCP");
                (tcp.retransmits, tcp.reorderings) = (1_320, 340);
            }
            let test = Test::from_record(&record);
            check(&Case::of_test(&test, &[])).len()
        };
        assert_eq!(found(150), 1);
        assert_eq!(found(20), 0);
    }
}
