//! The limit of a device under test: the device, the wire or the tester, as a function of the trials
//! and of the tester's own counters.

use std::time::Duration;

use measurement::dut::{DutLimit, Limiter};
use measurement::{BitRate, GoalEnd, GoalResult, SearchLimit, SearchTrial, Stamp};

use crate::search::{disturbance, inversion, limit};

/// Disturbances of the tester during the trials of a row, by its own counters.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Tester {
    /// Frames that its receiver had no room for, of each trial in order.
    pub dropped: Vec<u64>,
    /// How long the trials took.
    pub span: Duration,
    /// Threads of other programs that ran on the CPUs of the tester meanwhile.
    pub others: Vec<OtherProgram>,
    /// CPU time that the hypervisor took from each CPU of the tester.
    pub stolen: Vec<(usize, Duration)>,
}

/// A thread of another program that ran on a CPU of the tester.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OtherProgram {
    /// Its name.
    pub name: String,
    /// The CPU.
    pub cpu: usize,
    /// CPU time that it took.
    pub time: Duration,
}

/// The limit of a row, by the results of its goals, its trials, the tester, and the load at the speed
/// of the link (none: not known, as of virtual links).
pub fn dut_limit(
    goals: &[GoalResult],
    trials: &[SearchTrial],
    tester: &Tester,
    wire: Option<BitRate>,
) -> DutLimit {
    let causes = [
        silent(trials),
        disturbed(tester),
        kept(goals, trials),
        slow(goals, trials),
        deaf(goals, trials, tester),
    ];
    if let Some((who, why)) = causes.into_iter().flatten().next() {
        return DutLimit { who, why, stamp: Stamp::Invalid };
    }
    let lower = goals.iter().filter_map(|goal| goal.lower).max();
    let (who, why) = match (lower, wire) {
        (Some(lower), Some(wire)) if bits(lower) >= bits(wire) * AT_SPEED => {
            (Limiter::Wire, format!("the link is full: its frames come to {wire}"))
        }
        _ => device(goals, trials),
    };
    let doubts = [
        stolen(tester),
        disturbance(goals, trials),
        inversion(goals, trials).map(|_| INVERTED.to_owned()),
        unfinished(goals),
    ];
    match doubts.into_iter().flatten().next() {
        Some(doubt) => DutLimit { who, why: format!("{why}; {doubt}"), stamp: Stamp::Suspect },
        None => DutLimit { who, why, stamp: Stamp::Valid },
    }
}

/// A cause for which a result says nothing of the device: who, and why.
type Cause = Option<(Limiter, String)>;

/// No frame came through at any load.
fn silent(trials: &[SearchTrial]) -> Cause {
    let is_lost = |trial: &SearchTrial| trial.lost_ratio >= 1.0;
    let why = "no frame came through at any load: does the device forward, and frames of this size? A \
               router needs --gateway, and for the other direction --gateway-b";
    (!trials.is_empty() && trials.iter().all(is_lost)).then(|| (Limiter::None, why.to_owned()))
}

/// The search did not find both bounds, or left them far apart.
fn unfinished(goals: &[GoalResult]) -> Option<String> {
    let goal = goals.first()?;
    let is_near = |(lower, upper)| bits(upper) <= bits(lower) * (1.0 + APART);
    let is_known = goal.lower.zip(goal.upper).is_some_and(is_near);
    (goal.end == GoalEnd::Budget && !is_known)
        .then(|| "the search came to no end: give more time with --budget".to_owned())
}

/// Other programs had the CPUs of the tester.
fn disturbed(tester: &Tester) -> Cause {
    let OtherProgram { name, cpu, .. } = tester.others.iter().max_by_key(|one| one.time)?;
    let all: Duration =
        tester.others.iter().filter(|one| one.cpu == *cpu).map(|one| one.time).sum();
    let share = share_of(all, tester.span);
    (share > TAKEN).then(|| {
        let why = format!(
            "{name} and others took {:.0} % of CPU {cpu}, on which the tester runs: keep it free, \
             or choose others with --cpus",
            share * 100.0
        );
        (Limiter::Tester, why)
    })
}

/// Other work of the CPU kept the tester from the highest load: no load shows what the device does.
fn kept(goals: &[GoalResult], trials: &[SearchTrial]) -> Cause {
    let highest = trials.iter().max_by_key(|trial| (trial.intended, !trial.disturbed))?;
    let is_open = goals.iter().all(|goal| goal.upper.is_none());
    (is_open && highest.disturbed).then(|| {
        let load = highest.intended;
        let why = format!(
            "other work of its CPU kept the tester from sending {load}: keep the CPU free, or \
             choose others with --cpus"
        );
        (Limiter::Tester, why)
    })
}

/// The hypervisor had the CPUs of the tester.
fn stolen(tester: &Tester) -> Option<String> {
    let (cpu, time) = tester.stolen.iter().max_by_key(|(_, time)| *time)?;
    let share = share_of(*time, tester.span);
    (share > STOLEN)
        .then(|| format!("the hypervisor took {:.1} % of the tester's CPU {cpu}", share * 100.0))
}

/// The tester sends no more.
fn slow(goals: &[GoalResult], trials: &[SearchTrial]) -> Cause {
    if limit(goals, trials) != SearchLimit::Ceiling {
        return None;
    }
    let most = trials.iter().map(|trial| trial.offered).max()?;
    let why = format!("the tester did not send what was to be tried; it offered at most {most}");
    Some((Limiter::Tester, why))
}

/// The receiver of the tester drops most of what is lost at the bound.
fn deaf(goals: &[GoalResult], trials: &[SearchTrial], tester: &Tester) -> Cause {
    let upper = goals.iter().filter_map(|goal| goal.upper).min()?;
    let near =
        |trial: &SearchTrial| trial.intended >= upper && bits(trial.intended) <= bits(upper) * NEAR;
    let all = trials.iter().zip(&tester.dropped).filter(|(trial, _)| near(trial));
    let (lost, dropped) = all.fold((0.0, 0), |(lost, dropped), (trial, here)| {
        (lost + trial.datagrams.unwrap_or(0) as f64 * trial.lost_ratio, dropped + here)
    });
    (dropped > 0 && dropped as f64 >= lost / 2.0).then(|| {
        let why =
            format!("the receiver of the tester dropped {dropped} of {lost:.0} lost frames itself");
        (Limiter::Tester, why)
    })
}

/// The device, if a load failed that the tester sent.
fn device(goals: &[GoalResult], trials: &[SearchTrial]) -> (Limiter, String) {
    let upper = goals.iter().filter_map(|goal| goal.upper).min();
    // Before a search has an upper bound, only what no goal allows is a failure.
    let allowed = goals.iter().map(|goal| goal.goal.loss_ratio).fold(0.0, f64::max);
    let allowed = if upper.is_some() { 0.0 } else { allowed };
    let failed = trials.iter().filter(|trial| trial.lost_ratio > allowed);
    let failed = failed.filter(|trial| upper.is_none_or(|upper| trial.intended >= upper));
    let what = match (failed.min_by_key(|trial| trial.intended), upper) {
        (Some(slightest), _) => {
            let sent = slightest.datagrams.unwrap_or(0);
            let lost = sent as f64 * slightest.lost_ratio;
            format!("at {} {lost:.0} of {sent} frames do not come out of it", slightest.intended)
        }
        (None, Some(_)) => "frames queue up in it".to_owned(),
        (None, None) => return (Limiter::None, "no load failed".to_owned()),
    };
    (Limiter::Device, format!("{what}, and the tester has no part in it"))
}

fn bits(rate: BitRate) -> f64 {
    rate.bits_per_second() as f64
}

fn share_of(part: Duration, whole: Duration) -> f64 {
    part.as_secs_f64() / whole.as_secs_f64().max(1e-3)
}

/// A load that passed above the upper bound: a remark tells which.
const INVERTED: &str = "a higher load passed: other causes than the load made one fail";
/// Share of a CPU that others may take: more changes when frames leave.
const TAKEN: f64 = 0.1;
const STOLEN: f64 = 0.02;
/// Share of the lower bound: a search that ends with bounds farther apart came to no end.
const APART: f64 = 0.1;
/// Share of the speed of a link at which it is full.
const AT_SPEED: f64 = 0.99;
/// Loads up to this many times the upper bound tell what happens at it.
const NEAR: f64 = 1.5;

#[cfg(test)]
mod tests {
    use measurement::{SearchGoal, TrialPurpose};

    use super::*;

    fn rate(kbps: u64) -> BitRate {
        BitRate::from_bits_per_second(kbps * 1_000)
    }

    fn trial(intended: u64, offered: u64, lost_ratio: f64) -> SearchTrial {
        SearchTrial {
            purpose: TrialPurpose::Bound,
            intended: rate(intended),
            offered: rate(offered),
            delivered: rate(offered),
            sustained: None,
            duration: Duration::from_secs(1),
            took: Duration::from_secs(1),
            datagrams: Some(10_000),
            lost_ratio,
            delay: Duration::from_micros(100),
            stamp: Stamp::Valid,
            disturbed: false,
        }
    }

    fn goal(lower: u64, upper: Option<u64>) -> GoalResult {
        GoalResult {
            goal: SearchGoal::of_loss(0.0),
            lower: Some(rate(lower)),
            upper: upper.map(rate),
            throughput: Some(rate(lower)),
            trials: 2,
            took: Duration::from_secs(2),
            end: GoalEnd::Width,
        }
    }

    fn judged(trials: &[SearchTrial], tester: &Tester, wire: Option<u64>) -> (Limiter, Stamp) {
        let upper =
            trials.iter().find(|trial| trial.lost_ratio > 0.0 || trial.offered < trial.intended);
        let upper = upper.map(|trial| trial.intended.bits_per_second() / 1_000);
        let limit = dut_limit(&[goal(1_000, upper)], trials, tester, wire.map(rate));
        assert!(!limit.why.is_empty());
        (limit.who, limit.stamp)
    }

    fn idle() -> Tester {
        Tester { span: Duration::from_secs(10), ..Tester::default() }
    }

    #[test]
    fn a_load_that_other_work_of_the_cpu_kept_from_being_sent_tells_nothing_of_the_device() {
        let kept = SearchTrial { disturbed: true, ..trial(1_000, 500, 0.0) };
        let open = GoalResult { lower: None, throughput: None, ..goal(1_000, None) };
        let of = |trials: &[SearchTrial]| {
            let limit = dut_limit(std::slice::from_ref(&open), trials, &idle(), None);
            (limit.who, limit.stamp)
        };
        assert_eq!(of(&[kept, kept]), (Limiter::Tester, Stamp::Invalid));
        assert_eq!(of(&[kept, trial(1_000, 1_000, 0.0)]), (Limiter::None, Stamp::Valid));
    }

    #[test]
    fn what_is_lost_between_idle_ports_is_the_devices() {
        let trials = [trial(1_000, 1_000, 0.0), trial(1_010, 1_010, 0.02)];
        assert_eq!(judged(&trials, &idle(), None), (Limiter::Device, Stamp::Valid));
        assert_eq!(judged(&trials[..1], &idle(), None), (Limiter::None, Stamp::Valid));
        assert_eq!(judged(&trials[..1], &idle(), Some(1_005)), (Limiter::Wire, Stamp::Valid));
    }

    #[test]
    fn a_tester_that_is_slow_deaf_or_disturbed_makes_the_result_invalid() {
        let invalid = (Limiter::Tester, Stamp::Invalid);
        let slow = [trial(1_000, 1_000, 0.0), trial(1_300, 1_010, 0.0)];
        assert_eq!(judged(&slow, &idle(), None), invalid);
        let lost = [trial(1_000, 1_000, 0.0), trial(1_010, 1_010, 0.02)];
        let deaf = Tester { dropped: vec![0, 150], ..idle() };
        assert_eq!(judged(&lost, &deaf, None), invalid);
        let heard = Tester { dropped: vec![0, 50], ..idle() };
        assert_eq!(judged(&lost, &heard, None), (Limiter::Device, Stamp::Valid));
        let other = |millis| OtherProgram {
            name: "make".to_owned(),
            cpu: 0,
            time: Duration::from_millis(millis),
        };
        let crowded = Tester { others: vec![other(600), other(500)], ..idle() };
        assert_eq!(judged(&lost, &crowded, None), invalid);
        let quiet = Tester { others: vec![other(500)], ..idle() };
        assert_eq!(judged(&lost, &quiet, None), (Limiter::Device, Stamp::Valid));
    }

    #[test]
    fn a_device_that_passes_nothing_is_a_question_of_use() {
        let trials = [trial(10, 10, 1.0), trial(20, 20, 1.0)];
        let limit = dut_limit(&[goal(0, Some(10))], &trials, &idle(), None);
        assert_eq!((limit.who, limit.stamp), (Limiter::None, Stamp::Invalid));
        assert!(limit.why.contains("--gateway"), "{}", limit.why);
    }

    #[test]
    fn a_search_without_an_end_is_suspect() {
        let open = GoalResult { end: GoalEnd::Budget, ..goal(1_000, None) };
        let limit = dut_limit(&[open], &[trial(1_000, 1_000, 0.0)], &idle(), None);
        assert_eq!((limit.who, limit.stamp), (Limiter::None, Stamp::Suspect));
        let lost = [trial(1_000, 1_000, 0.0), trial(1_250, 1_250, 0.2)];
        let limit = dut_limit(&[open], &lost, &idle(), None);
        assert_eq!((limit.who, limit.stamp), (Limiter::Device, Stamp::Suspect));
        let wide = GoalResult { end: GoalEnd::Budget, ..goal(1_000, Some(1_250)) };
        assert_eq!(dut_limit(&[wide], &lost, &idle(), None).stamp, Stamp::Suspect);
        let near = GoalResult { upper: Some(rate(1_050)), ..wide };
        assert_eq!(dut_limit(&[near], &lost, &idle(), None).stamp, Stamp::Valid);
    }

    #[test]
    fn an_upper_bound_that_other_work_may_explain_is_suspect() {
        let kept = SearchTrial { disturbed: true, ..trial(1_010, 1_000, 0.0) };
        let lost = trial(1_030, 1_030, 0.3);
        let trials = [trial(1_000, 1_000, 0.0), kept, lost, trial(1_040, 1_040, 0.3)];
        let limit = dut_limit(&[goal(1_000, Some(1_010))], &trials, &idle(), None);
        assert_eq!((limit.who, limit.stamp), (Limiter::Device, Stamp::Suspect));
        assert!(limit.why.contains("may be too low"), "{}", limit.why);
    }

    #[test]
    fn time_that_a_hypervisor_takes_makes_the_result_suspect() {
        let lost = [trial(1_000, 1_000, 0.0), trial(1_010, 1_010, 0.02)];
        let stolen = Tester { stolen: vec![(0, Duration::from_millis(300))], ..idle() };
        assert_eq!(judged(&lost, &stolen, None), (Limiter::Device, Stamp::Suspect));
    }
}
