//! Rows, and then the short measurements that decide what these leave open.

use measurement::TestRecord;

use super::{Next, PlannedRow, Purpose, Repeat, Search, Task, Trial, results};

/// A search that runs each of its [`PlannedRow`]s once. Then, while a verdict is undecided or has two
/// explanations, it runs the measurement of at most two seconds that decides, up to three of them.
#[derive(Clone, Debug)]
pub struct Decide {
    rows: Repeat,
    /// Number of tasks of the rows.
    first: usize,
}

impl Decide {
    /// A search that runs each of `rows` once, and up to three further measurements.
    pub const fn new(rows: Vec<PlannedRow>) -> Self {
        let first = rows.len();
        Self { rows: Repeat::once(rows), first }
    }

    /// The further measurement that is due after `done`.
    fn further(&self, done: &[Trial]) -> Option<Task> {
        if results(done).count() >= self.first + MOST {
            return None;
        }
        let decides = analysis::deciding_plan(&judged_together(done))?;
        let purpose = Purpose::Further { question: decides.question };
        Some(Task { row: PlannedRow::of_plan(decides.plan), purpose })
    }
}

impl Search for Decide {
    fn next(&mut self, done: &[Trial]) -> Next {
        if results(done).count() < self.first {
            return self.rows.next(done);
        }
        if done.last().is_some_and(|trial| !trial.is_complete()) {
            return Next::Stop;
        }
        self.further(done).map_or(Next::Done, Next::Run)
    }

    fn remaining(&self, done: &[Trial]) -> Vec<Task> {
        self.rows.remaining(done)
    }
}

/// Copies of the records with the verdicts that they have together: more records may still come, of
/// which each is judged with all others from its own verdict on.
fn judged_together(done: &[Trial]) -> Vec<TestRecord> {
    let records = results(done).filter_map(|trial| trial.result.as_ref().ok());
    let mut records: Vec<_> = records.cloned().collect();
    analysis::judge_together(&mut records);
    records
}

/// Further measurements of one run.
const MOST: usize = 3;

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use measurement::outcome::Ending;

    use super::*;
    use crate::search::tests::{ended, failed, plan_at, run, udp};

    /// A path that loses what is above 50 Mbit/s.
    fn limited(task: &Task) -> TestRecord {
        udp(task, |rate| rate.saturating_sub(50_000_000))
    }

    /// A path that loses one datagram in twenty.
    fn random(task: &Task) -> TestRecord {
        udp(task, |rate| rate / 20)
    }

    fn headline(record: &TestRecord) -> String {
        let verdict = record.judgement.as_ref().and_then(|judged| judged.verdict.as_ref());
        verdict.expect("judged").findings[0].rule.to_string()
    }

    #[test]
    fn a_slower_run_follows_loss_and_tells_what_kind_it_is() {
        type Path = fn(&Task) -> TestRecord;
        let paths: [(Path, &str); 2] = [(limited, "path-rate-limit"), (random, "udp-path-loss")];
        for (path, rule) in paths {
            let mut search = Decide::new(vec![PlannedRow::of_plan(plan_at(70_000_000))]);
            let (done, end) = run(&mut search, |task| Ok(path(task)));
            assert_eq!(end, Next::Done);
            let titles: Vec<_> = done.iter().map(|trial| trial.task.title()).collect();
            assert_eq!(titles, ["UDP send", "UDP send: does a slower run lose as well?"]);
            assert_eq!(headline(&judged_together(&done)[0]), rule);
        }
    }

    #[test]
    fn what_leaves_nothing_open_is_followed_by_nothing() {
        let mut search = Decide::new(vec![PlannedRow::of_plan(plan_at(30_000_000))]);
        let (done, end) = run(&mut search, |task| Ok(limited(task)));
        assert_eq!((done.len(), end), (1, Next::Done));
    }

    #[test]
    fn an_early_end_is_followed_by_nothing() {
        for result in [Ok(ended(Ending::Interrupted)), failed()] {
            let mut search = Decide::new(vec![PlannedRow::of_plan(plan_at(70_000_000)); 2]);
            let mut result = Some(result);
            let (done, end) = run(&mut search, |_| result.take().expect("one test"));
            assert_eq!((done.len(), end), (1, Next::Stop));
            assert_eq!(search.remaining(&done).len(), 1);
        }
    }

    #[test]
    fn there_are_three_at_most() {
        let mut search = Decide::new(vec![PlannedRow::of_plan(plan_at(70_000_000))]);
        let task = |purpose| Task { row: PlannedRow::of_plan(plan_at(70_000_000)), purpose };
        let lossy = task(Purpose::Result { run: 0, of: 1 });
        let trial = |task: Task| Trial { result: Ok(random(&task)), task, took: Duration::ZERO };
        let done: Vec<_> = std::iter::repeat_with(|| trial(lossy.clone())).take(4).collect();
        assert_eq!(search.next(&done), Next::Done);
    }
}
