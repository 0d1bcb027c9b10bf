//! `receiver-result-missing`: nobody confirmed what arrived.

use super::{Finding, Page, Rule, RuleId, Test};

pub(crate) const PAGE: Page = Page {
    id: RuleId::ReceiverResultMissing,
    title: "No result from the receiver",
    what: "The receiver's word is missing.",
    why: "What the sender handed to its kernel is no throughput: of datagrams none need have \
           arrived.",
    evidence: "No delivered amount.",
    remedy: "See why the server did not answer at the end.",
    source: "",
};

pub(super) const RULE: Rule = Rule { page: &PAGE, check };

fn check(test: &Test<'_>) -> Vec<Finding> {
    let silent = test.flows.iter().filter(|flow| flow.outcome.delivered.is_none());
    silent
        .map(|flow| {
            let sentence = format!(
                "{}no result from the receiver: the rate is what was sent, not what arrived; test \
                 again",
                test.prefix(flow)
            );
            Finding::invalid(Some(&flow.receiver()), sentence)
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_record;

    #[test]
    fn a_receiver_that_says_nothing_confirms_nothing() {
        let mut record = test_record::udp();
        assert_eq!(test_record::found(&RULE, &record), []);
        record.outcome.directions[0].delivered = None;
        assert!(test_record::refuted(&RULE, &record).starts_with("no result from the receiver"));
    }
}
