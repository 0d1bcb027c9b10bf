//! All rows, each once or several times, in turns, so that a drift hits all rows alike.

use measurement::outcome::Ending;
use measurement::record::RepeatSummary;
use measurement::{BitRate, Order, RecordSet, TestRecord};

use super::rate::RateChoice;
use super::{Next, PlannedRow, Purpose, RowRate, Search, Task, Trial, results};

/// A search that runs all its [`PlannedRow`]s a number of times, round by round (A B A B). It ends when a
/// test ends early.
#[derive(Clone, Debug)]
pub struct Repeat {
    rows: Vec<PlannedRow>,
    times: u32,
}

impl Repeat {
    /// A search that runs each of `rows` `times` times, round by round.
    pub const fn new(rows: Vec<PlannedRow>, times: u32) -> Self {
        Self { rows, times }
    }

    /// A search that runs each of `rows` once.
    pub const fn once(rows: Vec<PlannedRow>) -> Self {
        Self::new(rows, 1)
    }

    /// All tasks from the one at `position` on.
    fn tasks_from(&self, position: usize) -> impl Iterator<Item = Task> {
        let of = self.times;
        let all = (0..of).flat_map(|run| self.rows.iter().map(move |row| (row, run)));
        all.skip(position)
            .map(move |(row, run)| Task { row: row.clone(), purpose: Purpose::Result { run, of } })
    }
}

impl Search for Repeat {
    fn next(&mut self, done: &[Trial]) -> Next {
        let is_early = |trial: &Trial| trial.task.purpose.is_result() && !trial.is_complete();
        if done.last().is_some_and(is_early) {
            return Next::Stop;
        }
        let Some(task) = self.tasks_from(results(done).count()).next() else { return Next::Done };
        if task.row.rate == RowRate::ToFind { at_its_rate(&task, done) } else { Next::Run(task) }
    }

    fn remaining(&self, done: &[Trial]) -> Vec<Task> {
        self.tasks_from(results(done).count()).collect()
    }

    fn conclude(&self, records: &mut RecordSet) {
        if self.times > 1 {
            let rows = self.rows.iter();
            records.summaries = rows.filter_map(|row| summary(row, &records.records)).collect();
        }
    }
}

/// The next trial that finds the rate of a task, or the task at the rate that was found.
pub(super) fn at_its_rate(task: &Task, done: &[Trial]) -> Next {
    let is_result = |trial: &Trial| trial.task.purpose.is_result();
    let (before, trials) = done.split_at(done.iter().rposition(is_result).map_or(0, |at| at + 1));
    let choice = RateChoice::new(&task.row.plan, before, trials);
    match choice.next() {
        Next::Done => Next::Run(Task { row: choice.row(&task.row), purpose: task.purpose }),
        undecided => undecided,
    }
}

/// The spread of the rates of all complete runs of `row`; none: no run gave a rate.
fn summary(row: &PlannedRow, records: &[TestRecord]) -> Option<RepeatSummary> {
    let runs = records
        .iter()
        .filter(|record| row.is_of(record) && record.outcome.ending == Ending::Completed);
    let mut rates: Vec<BitRate> = runs.filter_map(|record| record.outcome.rate()).collect();
    let spread = analysis::spread(&rates);
    rates.order();
    Some(RepeatSummary {
        row: row.plan.row(),
        runs: u32::try_from(rates.len()).unwrap_or(u32::MAX),
        median: BitRate::median(rates.iter().copied())?,
        slowest: *rates.first()?,
        fastest: *rates.last()?,
        spread,
    })
}

#[cfg(test)]
mod tests {
    use measurement::Transport;

    use super::*;
    use crate::search::tests::{ended, failed, plan, rate, titles};

    fn two_rows(times: u32) -> Repeat {
        let rows =
            [Transport::Tcp, Transport::Udp].map(|transport| PlannedRow::of_plan(plan(transport)));
        Repeat::new(rows.to_vec(), times)
    }

    #[test]
    fn rows_take_turns() {
        let done = titles(&mut two_rows(2), |_| Ok(rate(1)));
        assert_eq!(done, ["TCP send 1/2", "UDP send 1/2", "TCP send 2/2", "UDP send 2/2"]);
        assert_eq!(titles(&mut two_rows(1), |_| Ok(rate(1))), ["TCP send", "UDP send"]);
    }

    #[test]
    fn an_early_end_names_what_was_not_run() {
        let early = [Ok(ended(Ending::Interrupted)), failed()];
        for result in early {
            let mut search = two_rows(2);
            let Next::Run(task) = search.next(&[]) else { panic!("a task is due") };
            let done = [Trial { task, result, took: std::time::Duration::ZERO }];
            assert_eq!(search.next(&done), Next::Stop);
            let left: Vec<_> = search.remaining(&done).iter().map(Task::title).collect();
            assert_eq!(left, ["UDP send 1/2", "TCP send 2/2", "UDP send 2/2"]);
        }
    }
}
