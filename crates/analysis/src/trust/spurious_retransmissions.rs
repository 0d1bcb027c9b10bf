//! `spurious-retransmissions`: segments were sent again that had arrived.

use super::{Finding, Page, Rule, RuleId, Test};
use crate::words::{count, counted, percent, share};

pub(crate) const PAGE: Page = Page {
    id: RuleId::SpuriousRetransmissions,
    title: "Spurious retransmissions",
    what: "Most of what TCP sent again was not lost.",
    why: "Retransmissions are read as loss, and here the order of segments changed, or \
           acknowledgements came late or not at all.",
    evidence: "Duplicate SACKs (RFC 2883) against retransmitted segments.",
    remedy: "Keep a flow on one queue and one path.",
    source: "",
};

pub(super) const RULE: Rule = Rule { page: &PAGE, check };

fn check(test: &Test<'_>) -> Vec<Finding> {
    let of = |flow: &crate::accounts::Flow<'_>| {
        let tcp = flow.account.tcp.as_ref()?;
        let spurious = tcp.spurious_segments.min(tcp.retransmitted_segments);
        let part = share(spurious, tcp.retransmitted_segments);
        (spurious >= LEAST && part > 0.5).then(|| {
            let sentence = format!(
                "{}{} of {} ({}) were spurious (reordering, late acknowledgements); see RPS, \
                 bonds, multipath",
                test.prefix(flow),
                count(spurious),
                counted(tcp.retransmitted_segments, "retransmitted segment"),
                percent(part)
            );
            Finding::note(Some(&flow.sender()), sentence)
        })
    };
    test.flows.iter().filter_map(of).collect()
}

/// Fewer are chance.
const LEAST: u64 = 10;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_record;

    #[test]
    fn segments_sent_again_for_nothing_are_told() {
        let mut record = test_record::tcp();
        assert_eq!(test_record::found(&RULE, &record), []);
        let tcp = test_record::sent(&mut record);
        (tcp.retransmits, tcp.duplicates) = (100, 40);
        assert_eq!(test_record::found(&RULE, &record), []);
        test_record::sent(&mut record).duplicates = 90;
        let text = test_record::noted(&RULE, &record);
        assert!(
            text.starts_with("90 of 100 retransmitted segments (90 %) were spurious"),
            "{text}"
        );
    }
}
