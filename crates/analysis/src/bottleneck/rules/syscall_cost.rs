//! `syscall-cost`: entering the kernel costs more than what is done there.

use super::{Case, Class, Found, Page, Rule, RuleId};
use crate::bottleneck::load;
use crate::bottleneck::transfer::{self, Transfer};
use crate::words;

const PAGE: Page = Page {
    id: RuleId::SyscallCost,
    title: "CPU time for system calls",
    what: "A host's CPU was full, and at least a fifth of its busy time went to entering and \
           leaving the kernel. Or blocks of a TCP test were smaller than its segments (`-l`), while \
           a CPU was full or the receiver read too slowly.",
    why: "A call costs the same for 64 bytes as for 64 KiB: small datagrams one at a time cost a \
          call each.",
    evidence: "Samples of the entry code and of the system calls' own functions.",
    remedy: "Many datagrams with one call (`--fastest` finds the engine: sendmmsg(2), \
             segmentation offload), longer blocks (`-l`).",
    source: "sendmmsg(2), udp(7)",
};

pub(super) const RULE: Rule = Rule::new(&PAGE, Class::Work, check);

fn check(case: &Case<'_>) -> Vec<Found> {
    let part = |full: &load::Full<'_>| full.share(|work| work == measurement::Work::SystemCall);
    let heavy = load::heavy(case, part, load::usual(LEAST), WORK).into_iter();
    let mut found: Vec<_> = heavy.map(|(_, found)| found.remedy(REMEDY)).collect();
    found.extend(by_small_blocks(case));
    found
}

/// Blocks smaller than a segment of TCP cost more calls than there are segments.
fn by_small_blocks(case: &Case<'_>) -> Option<Found> {
    let record = case.test?.record;
    let block = record.plan.options.block?.bytes();
    let transfers = transfer::wanting(case);
    let small = |one: &&Transfer<'_>| one.segment().is_some_and(|size| block < size.into());
    let transfer = transfers.iter().find(small)?;
    let reads_late = transfer.shares().receive_window >= MOST;
    let full = load::full(case).into_iter().next();
    let late = || reads_late.then(|| transfer.receiver());
    let role = late().or_else(|| full.as_ref().map(|full| full.role.clone()))?;
    let (name, bytes) = (words::host(&role), words::count(block));
    let text = format!("{name} spends its time on system calls: each moves {bytes} bytes");
    let found = Found::limit(text).at(&role).going(transfer.flow.outcome.direction);
    let found = match full.filter(|full| full.role == role) {
        Some(full) => found.seen(full.in_words()),
        None => found,
    };
    let asked = record.plan.options.block;
    let found = found.explaining(MOST).remedy("use longer blocks (-l)");
    Some(found.change_from(super::usual_blocks(), asked))
}

const REMEDY: &str = "move more bytes per system call: --fastest, or longer blocks or datagrams \
                      (-l)";
/// What the CPU does, as the finding says it.
const WORK: &str = "enters system calls";
/// Share of the busy time. To be calibrated.
const LEAST: f64 = 0.20;
/// Share of the time.
const MOST: f64 = 0.5;

#[cfg(test)]
pub(super) const FIXTURE: super::Fixture = super::Fixture::on(&RULE, crate::test_record::tcp)
    .fires(|record| crate::test_record::full_of(record, measurement::Work::SystemCall, 30))
    .silent(|record| crate::test_record::full_of(record, measurement::Work::SystemCall, 10));

#[cfg(test)]
mod tests {
    use measurement::{ByteSize, Role};

    use super::*;
    use crate::accounts::Test;
    use crate::test_record;

    #[test]
    fn blocks_smaller_than_a_segment_cost_a_call_each() {
        let found = |bytes: u64, busy: f64| {
            let mut record = test_record::tcp();
            record.plan = test_record::plan_with(&record.plan, |draft| {
                draft.options.block = Some(ByteSize::from_bytes(bytes));
            });
            test_record::sent(&mut record).segment = 1_448;
            test_record::fill(test_record::host(&mut record, &Role::Here), busy);
            let test = Test::from_record(&record);
            let found = check(&Case::of_test(&test, &[]));
            found.first().map(|found| (found.certainty, found.text.clone()))
        };
        let text = "this host spends its time on system calls: each moves 1,024 bytes".to_owned();
        assert_eq!(found(1_024, 0.99), Some((measurement::Certainty::Limit, text)));
        assert_eq!(found(131_072, 0.99), None);
        assert_eq!(found(1_024, 0.20), None, "the CPU has time");
    }
}
