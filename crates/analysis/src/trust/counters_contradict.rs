//! `counters-contradict`: the two ends contradict each other.

use super::{Finding, Page, Rule, RuleId, Test};
use crate::accounts::Flow;
use crate::evidence::streams;

pub(crate) const PAGE: Page = Page {
    id: RuleId::CountersContradict,
    title: "Counters of the two ends contradict each other",
    what: "Far more was delivered than sent, or a peer lost more datagrams than there were. In the \
           text of another program: printed numbers cannot be of one run.",
    why: "One of them is wrong, and nobody can say which.",
    evidence: "The numbers of both ends.",
    remedy: "Another version at the peer.",
    source: "iperf3: clause 14 of docs/protocol/iperf3.md",
};

pub(super) const RULE: Rule = Rule { page: &PAGE, check };

fn check(test: &Test<'_>) -> Vec<Finding> {
    let peer = test.record.peer.as_ref();
    let software = peer.map_or("whose software is not known", |peer| peer.software.as_str());
    let more = test.flows.iter().filter(|flow| is_more_than_sent(flow)).map(|flow| {
        format!(
            "{}: the peer reports more delivered than was sent; try another version there \
             ({software})",
            flow.outcome.direction
        )
    });
    let receives = streams(test.record, true);
    let reported = test.record.reported.streams.iter();
    let mut reported = reported.filter(|stream| receives.contains(&stream.id));
    let lost = test.is_udp() && reported.any(|stream| stream.lost > stream.datagrams);
    let lost = lost.then(|| {
        format!(
            "the peer reports more datagrams lost than were sent; try another version there \
             ({software})"
        )
    });
    let printed = test.record.outcome.contradictions.iter().cloned();
    more.chain(lost).chain(printed).map(|sentence| Finding::invalid(None, sentence)).collect()
}

/// Duplicates and the cut of an omitted start explain a little.
fn is_more_than_sent(flow: &Flow<'_>) -> bool {
    let both = flow.outcome.offered.zip(flow.outcome.delivered);
    both.is_some_and(|(offered, delivered)| delivered.bytes / 2 > offered.bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_record;

    #[test]
    fn nobody_receives_what_was_not_sent() {
        let mut record = test_record::udp();
        assert_eq!(test_record::found(&RULE, &record), []);
        let delivered = record.outcome.directions[0].delivered.as_mut().expect("reported");
        delivered.bytes *= 3;
        let text = test_record::refuted(&RULE, &record);
        assert!(text.starts_with("send: the peer reports more delivered"), "{text}");
    }

    #[test]
    fn printed_numbers_that_contradict_each_other_are_told() {
        let mut record = test_record::udp();
        record.outcome.contradictions.push("line 7: 3 of 2 datagrams lost".to_owned());
        assert_eq!(test_record::refuted(&RULE, &record), "line 7: 3 of 2 datagrams lost");
    }

    #[test]
    fn nobody_loses_more_than_there_is() {
        let mut record = test_record::udp();
        record.reported.streams[0].lost = record.reported.streams[0].datagrams + 1;
        assert!(
            test_record::refuted(&RULE, &record).contains("the peer reports more datagrams lost")
        );
    }
}
