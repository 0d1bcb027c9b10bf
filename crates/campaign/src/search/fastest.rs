//! All rows by the engines that short trials find to be the fastest.

use measurement::RecordSet;

use super::engines::EngineChoice;
use super::{Next, PlannedRow, Repeat, Search, Task, Trial};

/// A search that first finds the fastest engines (implementations of sending and receiving) for
/// each [`PlannedRow`] by short trials, then runs the rows as [`Repeat`] does.
#[derive(Clone, Debug)]
pub struct Fastest {
    choices: Vec<EngineChoice>,
    /// Choices that are made.
    made: usize,
    /// Trials of these.
    tried: usize,
    rows: Vec<PlannedRow>,
    times: u32,
    /// The rows by their engines, when all choices are made.
    then: Option<Repeat>,
}

impl Fastest {
    /// A search that finds the fastest engines for each of `rows`, then runs each row `times` times
    /// with them.
    pub fn new(rows: Vec<PlannedRow>, times: u32) -> Self {
        let choices = rows.iter().map(|row| EngineChoice::for_plan(&row.plan)).collect();
        Self { choices, made: 0, tried: 0, rows, times, then: None }
    }

    fn chosen_rows(&self) -> Vec<PlannedRow> {
        let rows = self.rows.iter().zip(&self.choices);
        rows.map(|(row, choice)| PlannedRow { plan: choice.applied_to(&row.plan), ..row.clone() })
            .collect()
    }
}

impl Search for Fastest {
    fn next(&mut self, done: &[Trial]) -> Next {
        while let Some(choice) = self.choices.get_mut(self.made) {
            match choice.next(&done[self.tried..]) {
                Next::Done => (self.made, self.tried) = (self.made + 1, done.len()),
                undecided => return undecided,
            }
        }
        let mut rows =
            self.then.take().unwrap_or_else(|| Repeat::new(self.chosen_rows(), self.times));
        let next = rows.next(&done[self.tried..]);
        self.then = Some(rows);
        next
    }

    fn remaining(&self, done: &[Trial]) -> Vec<Task> {
        self.then.as_ref().map(|rows| rows.remaining(&done[self.tried..])).unwrap_or_default()
    }

    fn conclude(&self, records: &mut RecordSet) {
        for (row, choice) in self.chosen_rows().iter().zip(&self.choices) {
            let of_row = records.records.iter_mut().filter(|record| row.is_of(record));
            of_row.for_each(|record| record.trials.engines = choice.trials().to_vec());
        }
        if let Some(rows) = &self.then {
            rows.conclude(records);
        }
    }
}

#[cfg(test)]
mod tests {
    use measurement::Transport;

    use super::*;
    use crate::search::Purpose;
    use crate::search::tests::{failed, plan, rate, run};

    #[test]
    fn rows_follow_the_trials_of_all_and_use_their_engines() {
        let rows =
            [Transport::Tcp, Transport::Udp].map(|transport| PlannedRow::of_plan(plan(transport)));
        let mut search = Fastest::new(rows.to_vec(), 2);
        let (done, end) = run(&mut search, |_| Ok(rate(1)));
        assert_eq!(end, Next::Done);
        let results: Vec<_> = done
            .iter()
            .skip_while(|trial| matches!(trial.task.purpose, Purpose::Trial { .. }))
            .map(|trial| trial.task.title())
            .collect();
        assert_eq!(results, ["TCP send 1/2", "UDP send 1/2", "TCP send 2/2", "UDP send 2/2"]);
        let last = &done.last().expect("trials").task.row.plan;
        assert_eq!(last.options.engines.len(), 2, "{last:?}");
    }

    #[test]
    fn a_trial_that_fails_ends_all() {
        let mut search = Fastest::new(vec![PlannedRow::of_plan(plan(Transport::Tcp))], 1);
        let (done, end) = run(&mut search, |_| failed());
        assert_eq!((done.len(), end), (1, Next::Stop));
        assert_eq!(search.remaining(&done), []);
    }
}
