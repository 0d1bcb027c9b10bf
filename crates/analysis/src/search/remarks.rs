//! What the trials of a search tell beyond its bounds: a knee or a ceiling, what an overload does,
//! and whether the device recovers from it.

use measurement::{BitRate, GoalResult, SearchGoal, SearchLimit, SearchTrial, TrialPurpose};

use super::bounds::Bounds;
use super::rate;
use super::trials::{Point, Trials};

/// What keeps the load from being higher, by the trials at the upper bounds.
pub fn limit(results: &[GoalResult], all: &[SearchTrial]) -> SearchLimit {
    let Some(upper) = results.iter().filter_map(|result| result.upper).min() else {
        return SearchLimit::None;
    };
    let trials = Trials::new(all);
    let goal = results.iter().map(|result| result.goal).find(|goal| goal.loss_ratio <= 0.0);
    let goal = goal.unwrap_or(SearchGoal::of_loss(0.0));
    let failed = |point: &&Point| point.load >= upper.bits_per_second() && point.fails(&goal);
    let failed: Vec<_> = trials.iter().filter(failed).collect();
    let short = failed.iter().filter(|point| point.is_short_of_its_load()).count();
    if short * 2 > failed.len() { SearchLimit::Ceiling } else { SearchLimit::Knee }
}

/// What overloads do to the rate, and to the load that passed before, a sentence each.
pub fn remarks(results: &[GoalResult], all: &[SearchTrial]) -> Vec<String> {
    let remarks = [
        inversion(results, all),
        disturbance(results, all),
        collapse(results, all),
        hysteresis(results, all),
    ];
    remarks.into_iter().flatten().collect()
}

/// An upper bound that failed in disturbed trials only, which lost no more than that may explain.
pub(crate) fn disturbance(results: &[GoalResult], all: &[SearchTrial]) -> Option<String> {
    let (goal, upper) = results.iter().find_map(|result| Some((result.goal, result.upper?)))?;
    let trials = Trials::new(all);
    trials.is_doubtful(upper.bits_per_second(), &goal).then(|| {
        format!(
            "other load disturbed each trial that failed at {upper}: that upper bound may be too low"
        )
    })
}

/// A load that passed above the upper bound of a goal, by more than the width to which that is known.
pub(crate) fn inversion(results: &[GoalResult], all: &[SearchTrial]) -> Option<String> {
    let trials = Trials::new(all);
    let estimate = trials.estimate();
    let trials = trials.about(estimate);
    results.iter().find_map(|result| {
        let upper = result.upper?;
        let bounds = Bounds::new(&result.goal, &trials, estimate);
        let above = rate(bounds.passes_above(upper.bits_per_second())?);
        if bits(above) <= bits(upper) * (1.0 + result.goal.width_ratio) {
            return None;
        }
        let loss = result.goal.loss_ratio * 100.0;
        Some(format!(
            "{above} passed with at most {loss} % of loss, above the upper bound of {upper}: other \
             causes than the load made that fail"
        ))
    })
}

/// The overload of which least arrived, if that is clearly less than at the lower bound.
fn collapse(results: &[GoalResult], all: &[SearchTrial]) -> Option<String> {
    let best = results.iter().filter_map(|result| result.throughput).max()?;
    let upper = results.iter().filter_map(|result| result.upper).max()?;
    let overloads = all.iter().filter(|trial| trial.intended > upper);
    // A sender that offered no more than that tells nothing of the device.
    let is_overload = |trial: &&SearchTrial| bits(trial.offered) > bits(upper) || is_tcp(trial);
    let overloads = overloads.filter(|trial| trial.purpose == TrialPurpose::Beyond);
    let overloads = overloads.filter(is_overload);
    let worst = overloads.min_by_key(|trial| trial.delivered)?;
    let share = bits(worst.delivered) / bits(best).max(1.0);
    (share < COLLAPSED).then(|| {
        format!(
            "an overload collapses: at {} only {} arrive, {:.0} % of the throughput",
            worst.intended,
            worst.delivered,
            share * 100.0
        )
    })
}

/// The lower bound that fails once an overload has passed.
fn hysteresis(results: &[GoalResult], all: &[SearchTrial]) -> Option<String> {
    let goal = results.first()?.goal;
    let trial = all.iter().rfind(|trial| trial.purpose == TrialPurpose::Return)?;
    let load = if is_tcp(trial) { trial.intended } else { trial.intended.min(trial.offered) };
    let lost = 1.0 - bits(trial.delivered) / bits(load).max(1.0);
    (lost > goal.loss_ratio.max(NOTICED)).then(|| {
        format!(
            "after the overload {} no longer pass: {:.1} % of them do not arrive in time",
            trial.intended,
            lost * 100.0
        )
    })
}

/// Whether a path keeps the sender from offering its load.
const fn is_tcp(trial: &SearchTrial) -> bool {
    trial.datagrams.is_none()
}

fn bits(rate: BitRate) -> f64 {
    rate.bits_per_second() as f64
}

/// Share of the throughput.
const COLLAPSED: f64 = 0.9;
/// Of a load: less may be a CPU that was late once.
const NOTICED: f64 = 0.03;
