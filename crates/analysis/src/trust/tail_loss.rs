//! `tail-loss`: the last datagrams never arrived.

use super::{Finding, Page, Rule, RuleId, Test};
use crate::words::counted;

pub(crate) const PAGE: Page = Page {
    id: RuleId::TailLoss,
    title: "Tail loss",
    what: "A part of the loss was sent after the last datagram that arrived.",
    why: "Gaps show only when something comes behind them; tools that count gaps do not count \
           these.",
    evidence: "The sender's last sequence number against the receiver's.",
    remedy: "A queue that was still full at the end loses them: a lower rate shows it.",
    source: "",
};

pub(super) const RULE: Rule = Rule { page: &PAGE, check };

fn check(test: &Test<'_>) -> Vec<Finding> {
    let tails = test.flows.iter().filter_map(|flow| {
        let ledger = flow.account.ledger.as_ref()?;
        let tail = ledger.tail.filter(|tail| tail.saturating_mul(NOTICED) > ledger.sent)?;
        let sentence = format!(
            "{}tail loss: {} sent after the last one that arrived; does a lower rate (-b) lose \
             them too?",
            test.prefix(flow),
            counted(tail, "datagram")
        );
        let share = tail as f64 / ledger.sent.max(1) as f64;
        Some(if share > BROKEN {
            Finding::suspect(None, sentence)
        } else {
            Finding::note(None, sentence)
        })
    });
    tails.collect()
}

/// Of so many datagrams one may be lost at the end without a word: the ledger has it.
const NOTICED: u64 = 10_000;

/// Above this share of all no queue was full at the end: something broke on the way.
const BROKEN: f64 = 0.05;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_record;

    #[test]
    fn a_tail_is_told() {
        let mut record = test_record::udp();
        assert_eq!(test_record::found(&RULE, &record), []);
        test_record::lose(&mut record, 900);
        record.outcome.directions[0].datagrams.as_mut().expect("reported").tail = Some(400);
        assert!(
            test_record::noted(&RULE, &record).starts_with("tail loss: 400 datagrams sent after")
        );
    }

    #[test]
    fn an_end_in_which_nothing_arrives_makes_it_suspect() {
        let mut record = test_record::udp();
        let sent = record.outcome.directions[0].datagrams.expect("reported").sent;
        test_record::lose(&mut record, sent / 4);
        record.outcome.directions[0].datagrams.as_mut().expect("reported").tail = Some(sent / 4);
        assert!(test_record::suspected(&RULE, &record).contains("after the last one that arrived"));
    }
}
