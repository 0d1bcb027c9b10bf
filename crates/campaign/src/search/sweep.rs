//! Points of a sweep, one after another, within a budget of time. What the points are is not
//! decided here.

use std::time::Duration;

use measurement::outcome::Ending;
use measurement::{End, TestPlan};
use session::SessionError;

use super::repeat::at_its_rate;
use super::{Next, PlannedRow, Purpose, RowRate, Search, Task, Trial, results};

/// A search that runs each of its points once. A point that fails is passed over; the search ends
/// early if the run is interrupted, the server is gone or busy, or the budget has no time left for
/// the next point.
#[derive(Clone, Debug)]
pub struct Sweep {
    points: Vec<PlannedRow>,
    budget: Option<Duration>,
}

impl Sweep {
    /// What opening a test, exchanging its results and judging it take beside its planned time: an
    /// estimate.
    pub const AROUND: Duration = Duration::from_millis(250);

    /// A sweep over `points` in their order, which takes no longer than `budget`; none: as long as
    /// it takes.
    pub const fn new(points: Vec<PlannedRow>, budget: Option<Duration>) -> Self {
        Self { points, budget }
    }

    /// The time that the points of these plans take, with the opening and the end of each test: an
    /// estimate.
    pub fn planned_time<'a>(plans: impl Iterator<Item = &'a TestPlan>) -> Duration {
        plans.map(|plan| planned(plan) + Self::AROUND).sum()
    }

    fn tasks_from(&self, position: usize) -> impl Iterator<Item = Task> {
        let purpose = Purpose::Result { run: 0, of: 1 };
        self.points.iter().skip(position).map(move |row| Task { row: row.clone(), purpose })
    }

    /// Whether the next point would end after the budget.
    fn is_spent(&self, next: &PlannedRow, done: &[Trial]) -> bool {
        let Some(budget) = self.budget else { return false };
        let spent: Duration = done.iter().map(|trial| trial.took).sum();
        let each = u32::try_from(results(done).count()).ok().filter(|count| *count > 0);
        let usual = each.map(|count| spent / count).unwrap_or_default();
        spent + usual.max(planned(&next.plan)) > budget
    }
}

impl Search for Sweep {
    fn next(&mut self, done: &[Trial]) -> Next {
        if is_over(done) {
            return Next::Stop;
        }
        let Some(task) = self.tasks_from(results(done).count()).next() else { return Next::Done };
        let begins = done.last().is_none_or(|trial| trial.task.purpose.is_result());
        if begins && self.is_spent(&task.row, done) {
            return Next::Stop;
        }
        if task.row.rate == RowRate::ToFind { at_its_rate(&task, done) } else { Next::Run(task) }
    }

    /// The points that have no complete result, and were not refused.
    fn remaining(&self, done: &[Trial]) -> Vec<Task> {
        let ran = results(done).count();
        let was_cut = results(done).last().is_some_and(ends_all);
        self.tasks_from(ran - usize::from(was_cut)).collect()
    }
}

/// Whether no further point is to be tried.
fn is_over(done: &[Trial]) -> bool {
    let failed = done.iter().rev().take_while(|trial| !trial.is_complete());
    done.last().is_some_and(ends_all) || failed.count() >= MOST_FAILED
}

/// Whether what ended a test would end the next one too.
pub(super) fn ends_all(trial: &Trial) -> bool {
    match &trial.result {
        Ok(record) => record.outcome.ending == Ending::Interrupted,
        Err(error) => {
            error.is_busy()
                || matches!(
                    error,
                    SessionError::Interrupted
                        | SessionError::Setting(_)
                        | SessionError::Program { .. }
                        | SessionError::Resolve { .. }
                        | SessionError::BindFamily { .. }
                        | SessionError::Connect { .. }
                        | SessionError::NoReply { .. }
                )
        }
    }
}

/// How long a plan runs; of one that ends by an amount that is not known.
fn planned(plan: &TestPlan) -> Duration {
    match plan.end {
        End::Time(time) => plan.omit + time,
        End::Bytes(_) | End::Blocks(_) | End::Open => Duration::ZERO,
    }
}

/// So many failures in a row are no longer those of their points.
const MOST_FAILED: usize = 3;

#[cfg(test)]
mod tests {
    use measurement::{TestRecord, Transport};

    use super::*;
    use crate::search::tests::{ended, failed, plan_at, rate, run, titles};

    fn rows() -> Vec<PlannedRow> {
        [10, 20, 30, 40, 50].map(|rate| PlannedRow::of_plan(plan_at(rate))).to_vec()
    }

    fn refused() -> Result<TestRecord, SessionError> {
        let to = std::net::SocketAddr::from(([127, 0, 0, 1], 1));
        Err(SessionError::NoPort { to })
    }

    #[test]
    fn every_point_runs_once_and_one_that_fails_is_passed_over() {
        let mut sweep = Sweep::new(rows(), None);
        let mut calls = 0;
        let (done, end) = run(&mut sweep, |_| {
            calls += 1;
            if calls == 2 { refused() } else { Ok(rate(1)) }
        });
        assert_eq!((done.len(), end), (5, Next::Done));
        assert!(sweep.remaining(&done).is_empty());
    }

    #[test]
    fn three_failures_in_a_row_end_it() {
        let (done, end) = run(&mut Sweep::new(rows(), None), |_| refused());
        assert_eq!((done.len(), end), (3, Next::Stop));
    }

    #[test]
    fn an_interrupted_point_is_among_those_that_remain() {
        for result in [|| Ok(ended(Ending::Interrupted)), failed] {
            let mut sweep = Sweep::new(rows(), None);
            let mut calls = 0;
            let (done, end) = run(&mut sweep, |_| {
                calls += 1;
                if calls == 3 { result() } else { Ok(rate(1)) }
            });
            assert_eq!((done.len(), &end), (3, &Next::Stop));
            let left = sweep.remaining(&done);
            let rates: Vec<_> = left.iter().filter_map(|task| task.row.plan.asked()).collect();
            assert_eq!(
                rates.iter().map(|rate| rate.bits_per_second()).collect::<Vec<_>>(),
                [30, 40, 50]
            );
        }
    }

    #[test]
    fn a_budget_ends_it_before_a_point_that_would_be_late() {
        // Each takes the ten seconds of its plan.
        for (seconds, points) in [(9, 0), (10, 1), (35, 3), (50, 5)] {
            let mut sweep = Sweep::new(rows(), Some(Duration::from_secs(seconds)));
            assert_eq!(titles(&mut sweep, |_| Ok(rate(1))).len(), points, "{seconds} s");
        }
    }

    #[test]
    fn a_plan_is_told_with_what_is_around_its_tests() {
        let plans = rows().into_iter().map(|row| row.plan).collect::<Vec<_>>();
        assert_eq!(Sweep::planned_time(plans.iter()), Duration::from_millis(5 * 10_250));
        assert_eq!(plans[0].transport, Transport::Udp);
    }
}
