//! `zerocopy-copied`: sends that were not to be copied were copied.

use super::{Finding, Page, Rule, RuleId, Test};
use crate::accounts::Flow;
use crate::words::count;

pub(crate) const PAGE: Page = Page {
    id: RuleId::ZerocopyCopied,
    title: "Zero-copy sends were copied",
    what: "The kernel copied a part of them all the same.",
    why: "Then the engine's name promises what did not happen: over a loopback, or a device \
           without scatter-gather, sending without a copy gains nothing.",
    evidence: "`SO_EE_CODE_ZEROCOPY_COPIED` (msg_zerocopy.rst).",
    remedy: "Measure over a real device.",
    source: "",
};

pub(super) const RULE: Rule = Rule { page: &PAGE, check };

fn check(test: &Test<'_>) -> Vec<Finding> {
    test.flows.iter().filter_map(|flow| finding(test, flow)).collect()
}

fn finding(test: &Test<'_>, flow: &Flow<'_>) -> Option<Finding> {
    let sends = flow.outcome.engines.send.as_ref()?.in_place?;
    let copied = sends.copied_share();
    if copied.is_some_and(|share| share <= NOTICED) && sends.written == 0 {
        return None;
    }
    let role = flow.sender();
    let share = copied.map_or_else(
        || "the kernel reported none".to_owned(),
        |share| format!("the kernel copied {:.0} %", 100.0 * share),
    );
    let written = match sends.written {
        0 => String::new(),
        some => format!(", and {} fell back to write(2), {REFUSED}", count(some)),
    };
    let sentence = format!(
        "{}of {} zero-copy sends {share}{written}; measure over a device with scatter-gather",
        test.prefix(flow),
        count(sends.sends)
    );
    Some(Finding::note(Some(&role), sentence))
}

/// What the kernel runs short of when it answers `ENOBUFS` (msg_zerocopy.rst).
const REFUSED: &str = "out of memory (net.core.optmem_max, ulimit -l)";
/// Now and then the kernel copies a send anywhere.
const NOTICED: f64 = 0.01;

#[cfg(test)]
mod tests {
    use measurement::{EngineUse, InPlace};

    use super::*;
    use crate::test_record;

    #[test]
    fn copies_that_were_not_to_be_are_told() {
        let mut record = test_record::tcp();
        assert_eq!(test_record::found(&RULE, &record), []);
        let with = |record: &mut measurement::TestRecord, copied| {
            let in_place = Some(InPlace { sends: 1_000, completed: 1_000, copied, written: 0 });
            let name = (&measurement::engine::ZEROCOPY).into();
            let engine = EngineUse { name, in_place, ..EngineUse::default() };
            record.outcome.directions[0].engines.send = Some(engine);
        };
        with(&mut record, 1_000);
        assert!(test_record::noted(&RULE, &record).contains("the kernel copied 100 %"));
        with(&mut record, 3);
        assert_eq!(test_record::found(&RULE, &record), []);
    }
}
