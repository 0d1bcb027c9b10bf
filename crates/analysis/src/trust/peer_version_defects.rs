//! `peer-version-defects`: the peer is a version with known defects that touch this result.

use measurement::Role;

use super::{Finding, Page, Rule, RuleId, Test};
use crate::words::{counted, share};

pub(crate) const PAGE: Page = Page {
    id: RuleId::PeerVersionDefects,
    title: "Peer version with known defects",
    what: "Before 3.14 an iperf3 does not tell which loss is of the omitted start; the clock of \
           3.5 is wrong at times; 3.1 keeps a rate by bursts of 100 ms. No version tells \
           duplicates: each is subtracted from the loss.",
    why: "The defect shows as a property of the network.",
    evidence: "The version, if it is told, and what is missing in its results.",
    remedy: "A newer one.",
    source: "docs/protocol/iperf3.md",
};

pub(super) const RULE: Rule = Rule { page: &PAGE, check };

fn check(test: &Test<'_>) -> Vec<Finding> {
    if !test.is_udp() {
        return Vec::new();
    }
    let found = [omitted_loss(test), wrong_clock(test), bursts(test), duplicates(test)];
    found.into_iter().flatten().collect()
}

fn omitted_loss(test: &Test<'_>) -> Option<Finding> {
    let record = test.record;
    let mixes = !record.plan.omit.is_zero()
        && record.reported.streams.iter().any(|stream| stream.omitted_datagrams.is_none());
    let lost = record.reported.streams.iter().any(|stream| stream.lost > 0);
    let sentence =
        "before 3.14, iperf3 counts the loss of the omitted start; use a newer one there, or no \
         -O"
        .to_owned();
    let peer = Some(&Role::Peer);
    mixes.then(
        || if lost { Finding::suspect(peer, sentence) } else { Finding::note(peer, sentence) },
    )
}

fn wrong_clock(test: &Test<'_>) -> Option<Finding> {
    let reported = test
        .flows
        .iter()
        .any(|flow| flow.receiver() == Role::Peer && flow.outcome.jitter_seconds.is_some());
    (reported && version(test)? == (3, 5)).then(|| {
        let sentence =
            "jitter of iperf3 3.5 is unreliable, as its clock is wrong at times; use a newer one \
             there"
                .to_owned();
        Finding::note(Some(&Role::Peer), sentence)
    })
}

fn bursts(test: &Test<'_>) -> Option<Finding> {
    let sends =
        test.flows.iter().any(|flow| flow.sender() == Role::Peer && flow.outcome.asked.is_some());
    (sends && version(test)? <= (3, 1)).then(|| {
        let sentence =
            "iperf3 3.1 sends bursts every 100 ms, which overflow queues and buffers; use a newer \
             one there"
                .to_owned();
        Finding::suspect(Some(&Role::Peer), sentence)
    })
}

/// An iperf3 subtracts each duplicate from its loss, as long as there is any (clause 14.1); what is
/// beyond shows in its bytes alone.
fn duplicates(test: &Test<'_>) -> Option<Finding> {
    let flow = test.flows.iter().find(|flow| flow.receiver() == Role::Peer)?;
    let block = test.record.streams.first()?.block;
    let streams = test.record.reported.streams.iter();
    let twice: u64 = streams.map(|stream| stream.duplicates(block)).sum::<Option<u64>>()?;
    let ledger = flow.outcome.datagrams.filter(|ledger| ledger.sent > 0)?;
    if twice == 0 {
        let what = "duplicates at the server";
        let why = "iperf3 subtracts them from the loss";
        return (ledger.lost > 0).then(|| Finding::unchecked(what, why));
    }
    let sentence = format!(
        "the server got at least {}, which iperf3 subtracts from the loss: it is higher; run \
         linerate there",
        counted(twice, "duplicate")
    );
    let is_much = share(twice, ledger.sent) > MUCH;
    let finding = if is_much { Finding::suspect } else { Finding::note };
    Some(finding(Some(&Role::Peer), sentence))
}

/// Of what was sent: with so many duplicates the loss is anybody's guess. To be calibrated.
const MUCH: f64 = 0.01;

/// Of `iperf3 3.12`, or `iperf 3.1.3`; none: it is no iperf3, or did not tell.
fn version(test: &Test<'_>) -> Option<(u32, u32)> {
    let software = test.record.peer.as_ref()?.software.strip_prefix("iperf")?;
    let number = software.rsplit(' ').next()?;
    let mut parts = number.split(|other: char| !other.is_ascii_digit());
    Some((parts.next()?.parse().ok()?, parts.next()?.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::test_record;

    #[test]
    fn loss_that_includes_the_omitted_start_makes_it_suspect() {
        let mut record = test_record::udp();
        record.reported.streams[0].omitted_datagrams = None;
        assert_eq!(test_record::found(&RULE, &record), []);
        record.plan =
            test_record::plan_with(&record.plan, |draft| draft.omit = Duration::from_secs(1));
        assert!(test_record::noted(&RULE, &record).contains("before 3.14"), "nothing was lost");
        record.reported.streams[0].lost = 7;
        let text = test_record::suspected(&RULE, &record);
        assert!(text.starts_with("before 3.14, iperf3 counts the loss"), "{text}");
    }

    #[test]
    fn duplicates_at_an_iperf3_are_told_and_where_they_may_hide() {
        let mut record = test_record::udp();
        record.peer.as_mut().expect("it is known").software = "iperf3 3.16".to_owned();
        let stream = &mut record.reported.streams[0];
        stream.counted = None;
        assert_eq!(test_record::found(&RULE, &record), []);
        record.reported.streams[0].bytes += 500 * 1_250;
        let text = test_record::noted(&RULE, &record);
        assert!(text.starts_with("the server got at least 500 duplicates"), "{text}");
        record.reported.streams[0].bytes += 2_500 * 1_250;
        assert!(test_record::suspected(&RULE, &record).contains("3,000 duplicates"));
        test_record::lose(&mut record, 700);
        let stream = &mut record.reported.streams[0];
        (stream.lost, stream.bytes) = (700, 99_300 * 1_250);
        assert_eq!(test_record::unchecked(&RULE, &record), "duplicates at the server");
    }

    #[test]
    fn a_version_is_told_where_it_touches_the_result() {
        let mut record = test_record::udp();
        record.peer.as_mut().expect("it is known").software = "iperf3 3.5".to_owned();
        assert!(test_record::noted(&RULE, &record).starts_with("jitter of iperf3 3.5"));
        record.peer.as_mut().expect("it is known").software = "iperf 3.1.3".to_owned();
        assert_eq!(test_record::found(&RULE, &record), [], "it receives");
        let mut received = test_record::udp_received();
        received.peer.as_mut().expect("it is known").software = "iperf 3.1.3".to_owned();
        assert!(test_record::suspected(&RULE, &received).contains("bursts every 100 ms"));
        received.peer.as_mut().expect("it is known").software = "iperf3 3.12".to_owned();
        assert_eq!(test_record::found(&RULE, &received), []);
        received.peer.as_mut().expect("it is known").software = "iperf3".to_owned();
        assert_eq!(test_record::found(&RULE, &received), []);
    }
}
