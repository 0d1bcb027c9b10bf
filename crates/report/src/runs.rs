//! Which of several runs of the same plan a record is.

use std::collections::BTreeMap;

use measurement::TestRecord;

/// A record, and its number among runs of the same plan: ` 2/3`; empty if it is the only run. A
/// further measurement is ` further` and is counted by itself.
pub(crate) type Run<'a> = (&'a TestRecord, String);

/// Records, each with its number among the runs of the same plan.
pub(crate) fn numbered<'a>(records: &'a [TestRecord]) -> Vec<Run<'a>> {
    let name = |record: &TestRecord| (record.plan.row(), record.origin.question.is_some());
    let mut counts: BTreeMap<(String, bool), usize> = BTreeMap::new();
    let mut number = |record: &TestRecord| {
        let count = counts.entry(name(record)).or_default();
        *count += 1;
        *count
    };
    let numbers: Vec<_> = records.iter().map(|record| (record, number(record))).collect();
    let run = |(record, number): (&'a TestRecord, usize)| {
        let all = counts.get(&name(record)).copied().unwrap_or_default();
        let further = if record.origin.question.is_some() { " further" } else { "" };
        let number = if all > 1 { format!(" {number}/{all}") } else { String::new() };
        (record, further.to_owned() + &number)
    };
    numbers.into_iter().map(run).collect()
}
