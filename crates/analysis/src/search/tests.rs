//! The search on devices of known properties.

use std::time::Duration;

use measurement::{BitRate, GoalEnd, SearchGoal, SearchLimit, SearchTrial};
use proptest::prelude::*;
use proptest::test_runner::RngSeed;

use super::simulation::{DEVICE, Device, FoundLoads};
use super::*;

const LIMITS: SearchLimits = SearchLimits {
    start: BitRate::from_bits_per_second(10_000_000),
    min: BitRate::from_bits_per_second(100_000),
    max: BitRate::from_bits_per_second(1_000_000_000_000),
    budget: Duration::from_secs(20),
    datagram_bytes: Some(1_472),
};

fn goals() -> [SearchGoal; 3] {
    [0.0, 0.001, 0.01].map(SearchGoal::of_loss)
}

/// How far the truth is outside of the bounds of a goal, as a share of it; none: there is no bound.
fn outside(device: &Device, result: &GoalResult) -> Option<f64> {
    let truth = device.truth(&result.goal)?;
    let lower = result.lower?.bits_per_second() as f64;
    let upper = result.upper?.bits_per_second() as f64;
    Some(f64::max(lower / truth - 1.0, truth / upper - 1.0))
}

/// The bounds of each goal hold the truth, and are as close as was asked.
fn assert_found(device: &Device, found: &FoundLoads) {
    for result in &found.results {
        let outside = outside(device, result);
        assert!(
            outside.is_some_and(|outside| outside <= TOLERANCE),
            "{outside:?} {device:?}\n{}",
            found.told()
        );
        assert_eq!(result.end, GoalEnd::Width, "{device:?}\n{}", found.told());
    }
    assert!(found.took() <= LIMITS.budget, "{:?}\n{}", found.took(), found.told());
}

#[test]
fn the_bounds_of_a_shaper_hold_its_rate() {
    for rate in [3e6, 37e6, 181e6, 600e6, 940e6, 9.7e9] {
        for queue in [0.0, 0.005, 0.05, 0.2] {
            for burst in [0.0, 0.002, 0.005] {
                let device = Device { rate, queue, burst, ..DEVICE };
                let goals = if rate < 10e6 { &goals()[..1] } else { &goals()[..] };
                let found = device.search(goals, LIMITS, 1);
                assert_found(&device, &found);
            }
        }
    }
}

#[test]
fn an_answer_takes_seconds() {
    let one = [SearchGoal::of_loss(0.0)];
    let found = DEVICE.search(&one, LIMITS, 1);
    assert!(found.took() <= Duration::from_secs(9), "{:?}\n{}", found.took(), found.told());
    assert!(found.trials.len() <= 14, "{}", found.told());
}

#[test]
fn what_a_late_cpu_adds_is_no_queue() {
    for seed in 0..20 {
        let device = Device { late: 0.0025, ..DEVICE };
        assert_found(&device, &device.search(&goals(), LIMITS, seed));
    }
}

#[test]
fn a_queue_that_one_late_cpu_seems_to_fill_is_no_bound() {
    for seed in 0..20 {
        let mut hits = 0;
        let found = DEVICE.search_with(&goals(), LIMITS, seed, |mut trial, rng| {
            // Once on the way up, and once at a bound.
            let share = if trial.purpose == TrialPurpose::Ramp { 0.3 } else { 0.1 };
            if hits < 2 && rng.f64() < share {
                hits += 1;
                trial.delay += Duration::from_millis(5);
            }
            trial
        });
        assert_found(&DEVICE, &found);
    }
}

#[test]
fn a_sender_at_its_limit_that_is_late_once_is_no_bound() {
    let goals = [SearchGoal::of_loss(0.01)];
    let device = Device { rate: 1e12, sender: 900e6, ..DEVICE };
    for seed in 0..20 {
        let mut hits = 0;
        let found = device.search_with(&goals, LIMITS, seed, |mut trial, rng| {
            if trial.purpose == TrialPurpose::Bound && hits < 1 && rng.f64() < 0.5 {
                hits += 1;
                let share = 1.0 - 0.005 / trial.duration.as_secs_f64();
                let less = |rate: BitRate| {
                    BitRate::from_bits_per_second(whole(rate.bits_per_second() as f64 * share))
                };
                (trial.offered, trial.delivered) = (less(trial.offered), less(trial.delivered));
            }
            trial
        });
        let result = &found.results[0];
        let truth = device.sender / 0.99;
        let lower = result.lower.expect("one").bits_per_second() as f64;
        let upper = result.upper.expect("one").bits_per_second() as f64;
        let most = 1.0 + TOLERANCE;
        assert!(lower <= truth * most && truth <= upper * most, "{truth}\n{}", found.told());
    }
}

#[test]
fn an_upper_bound_that_a_higher_load_refutes_is_tried_again_and_told() {
    let goals = [SearchGoal::of_loss(0.0)];
    let mut rng = fastrand::Rng::with_seed(1);
    let mut trial = |purpose, mbps: u64, seconds, lost_ratio| {
        let load = BitRate::from_bits_per_second(mbps * 1_000_000);
        let next = NextTrial { purpose, load, duration: Duration::from_secs(seconds) };
        SearchTrial { lost_ratio, ..DEVICE.trial(&next, &mut rng) }
    };
    let mut trials = vec![
        trial(TrialPurpose::Ramp, 150, 1, 0.33),
        trial(TrialPurpose::Estimate, 110, 1, 0.1),
        trial(TrialPurpose::Bound, 96, 2, 0.0),
        trial(TrialPurpose::Bound, 60, 1, 0.01),
        trial(TrialPurpose::Bound, 60, 1, 0.01),
    ];
    let search = ThroughputSearch::new(&goals, LIMITS, &trials);
    let refuted = BitRate::from_bits_per_second(60_000_000);
    assert_eq!(search.next().map(|next| next.load), Some(refuted));
    let results = search.results();
    assert_eq!(results[0].upper, Some(refuted));
    let told = remarks(&results, &trials).join("; ");
    let words =
        "96.00 Mbit/s passed with at most 0 % of loss, above the upper bound of 60.00 Mbit/s";
    assert!(told.starts_with(words), "{told}");
    // Two that pass are as long as those that failed.
    trials.extend((0..2).map(|_| trial(TrialPurpose::Bound, 60, 1, 0.0)));
    let search = ThroughputSearch::new(&goals, LIMITS, &trials);
    assert_ne!(search.next().map(|next| next.load), Some(refuted));
    assert_ne!(search.results()[0].upper, Some(refuted));
    assert_eq!(remarks(&search.results(), &trials), Vec::<String>::new());
}

#[test]
fn a_device_that_limits_late_is_told_by_full_length_trials() {
    for reaction in [0.1, 0.3, 0.45] {
        for overloaded in [1.0, 0.3] {
            let device = Device { reaction, overloaded, queue: 0.0, ..DEVICE };
            let found = device.search(&goals()[..1], LIMITS, 1);
            let outside = outside(&device, &found.results[0]);
            let told = found.told();
            assert!(outside.is_some_and(|out| out <= TOLERANCE), "{outside:?} {device:?}\n{told}");
            // The way back from what a collapse lets through takes time.
            let end = if overloaded < 1.0 { found.results[0].end } else { GoalEnd::Width };
            assert_eq!(found.results[0].end, end, "{told}");
            assert!(found.took() <= LIMITS.budget, "{told}");
        }
    }
}

#[test]
fn loss_at_any_load_keeps_a_strict_goal_far_below_and_the_others_where_they_are() {
    let device = Device { loss: 0.003, ..DEVICE };
    for seed in 0..20 {
        let found = device.search(&goals(), LIMITS, seed);
        let strict = found.results[0].lower.map_or(0.0, |rate| rate.bits_per_second() as f64);
        assert!(strict < 0.5 * device.rate, "{}", found.told());
        let last = &found.results[2];
        assert_eq!(last.end, GoalEnd::Width, "{}", found.told());
        assert!(outside(&device, last).is_some_and(|out| out <= TOLERANCE), "{}", found.told());
    }
}

#[test]
fn a_sender_at_its_limit_is_a_ceiling() {
    let device = Device { rate: 1e12, sender: 2e9, ..DEVICE };
    let found = device.search(&goals(), LIMITS, 1);
    assert_eq!(limit(&found.results, &found.trials), SearchLimit::Ceiling, "{}", found.told());
    let upper = found.results[0].upper.expect("one").bits_per_second() as f64;
    assert!((2e9..2.05e9).contains(&upper), "{}", found.told());
    let found = DEVICE.search(&goals(), LIMITS, 1);
    assert_eq!(limit(&found.results, &found.trials), SearchLimit::Knee, "{}", found.told());
}

#[test]
fn a_path_without_a_limit_ends_at_the_highest_load() {
    let device = Device { rate: 1e15, sender: 1e15, ..DEVICE };
    let limits = SearchLimits { max: BitRate::from_bits_per_second(5_000_000_000), ..LIMITS };
    let found = device.search(&goals(), limits, 1);
    for result in &found.results {
        assert_eq!((result.end, result.lower), (GoalEnd::MaxLoad, Some(limits.max)));
        assert_eq!(result.upper, None);
    }
    assert_eq!(limit(&found.results, &found.trials), SearchLimit::None);
}

#[test]
fn nothing_that_arrives_ends_at_the_lowest_load() {
    let device = Device { rate: 0.001, queue: 0.0, ..DEVICE };
    let found = device.search(&goals(), LIMITS, 1);
    assert!(found.results.iter().all(|result| result.lower.is_none()), "{}", found.told());
    assert!(found.took() <= LIMITS.budget);
}

#[test]
fn a_collapse_shows_beyond_the_knee() {
    let device = Device { overloaded: 0.3, ..DEVICE };
    let found = device.search(&goals(), LIMITS, 1);
    assert_found(&device, &found);
    let remarks = remarks(&found.results, &found.trials);
    assert!(remarks.iter().any(|one| one.starts_with("an overload collapses")), "{remarks:?}");
    assert_eq!(found.trials.last().map(|one| one.purpose), Some(TrialPurpose::Return));
    let found = DEVICE.search(&goals(), LIMITS, 1);
    assert_eq!(super::remarks(&found.results, &found.trials), Vec::<String>::new());
}

/// A tenth more than what arrives of an overload is hardly an overload: the next one follows as soon as
/// the bounds of the strictest goal are near each other.
#[test]
fn an_estimate_that_is_hardly_an_overload_is_soon_made_again() {
    for seed in 0..20 {
        let device =
            Device { rate: 25.74e9, queue: 0.2159, burst: 0.003_357, overloaded: 0.915, ..DEVICE };
        let device = Device { late: 0.002_5, ..device };
        let found = device.search(&goals(), LIMITS, seed);
        let strictest = &found.results[0];
        assert_eq!(strictest.end, GoalEnd::Width, "{}", found.told());
        let outside = outside(&device, strictest);
        assert!(outside.is_some_and(|out| out <= TOLERANCE), "{outside:?}\n{}", found.told());
        assert!(found.took() <= LIMITS.budget, "{}", found.told());
    }
}

#[test]
fn few_datagrams_do_not_decide_a_small_loss_ratio() {
    let goal = [SearchGoal::of_loss(0.000_01)];
    let found = Device { rate: 3e6, ..DEVICE }.search(&goal, LIMITS, 1);
    assert_eq!(found.results[0].lower, None, "{}", found.told());
    assert_eq!(found.results[0].end, GoalEnd::FewDatagrams, "{}", found.told());
}

#[test]
fn a_disturbed_trial_is_repeated_but_not_for_ever() {
    for share in [0.3, 1.0] {
        let found = DEVICE.search_with(&goals(), LIMITS, 3, |mut trial, rng| {
            let is_hit = trial.purpose == TrialPurpose::Bound && rng.f64() < share;
            if is_hit {
                (trial.disturbed, trial.stamp) = (true, measurement::Stamp::Suspect);
                trial.delay += Duration::from_millis(40);
            }
            trial
        });
        assert!(found.took() <= LIMITS.budget);
        let told = remarks(&found.results, &found.trials).join("; ");
        assert_eq!(
            told.contains("other load disturbed each trial that failed at"),
            share >= 1.0,
            "{told}"
        );
        if share < 1.0 {
            let result = &found.results[0];
            assert!(
                outside(&DEVICE, result).is_some_and(|out| out < TOLERANCE),
                "{}",
                found.told()
            );
        }
    }
}

#[test]
fn a_sender_that_is_kept_from_its_load_does_not_lower_the_bounds() {
    for seed in 0..200 {
        let found = DEVICE.search_with(&goals(), LIMITS, seed, |trial, rng| {
            let missing = rng.f64() / 16.0;
            if rng.bool() || missing < 0.001 {
                return trial;
            }
            let SearchTrial { purpose, intended, duration, .. } = trial;
            let sender = intended.bits_per_second() as f64 * (1.0 - missing);
            let next = NextTrial { purpose, load: intended, duration };
            let kept = Device { sender, ..DEVICE }.trial(&next, rng);
            SearchTrial { disturbed: true, ..kept }
        });
        let told = remarks(&found.results, &found.trials).join("; ");
        let out = outside(&DEVICE, &found.results[0]);
        let is_right = out.is_some_and(|out| out < TOLERANCE);
        assert!(is_right || told.contains("may be too low"), "{seed}: {out:?}\n{}", found.told());
    }
}

#[test]
fn a_small_budget_gives_what_is_known() {
    for budget in [0, 1, 3, 5] {
        let limits = SearchLimits { budget: Duration::from_secs(budget), ..LIMITS };
        let found = DEVICE.search(&goals(), limits, 1);
        assert!(found.took() <= limits.budget);
        for result in &found.results {
            let truth = DEVICE.truth(&result.goal).expect("no loss");
            let lower = result.lower.map_or(0.0, |rate| rate.bits_per_second() as f64);
            assert!(lower <= truth * (1.0 + TOLERANCE), "{}", found.told());
        }
    }
}

proptest! {
    // The same devices each time.
    #![proptest_config(ProptestConfig {
        rng_seed: RngSeed::Fixed(1),
        ..ProptestConfig::with_cases(256)
    })]
    #[test]
    fn the_bounds_hold_the_truth_on_any_device(
        log_rate in 7.0_f64..10.5,
        queue in 0.0_f64..0.3,
        burst in 0.0_f64..0.005,
        late in 0.0_f64..0.0025,
        overloaded in 0.2_f64..1.0,
        seed: u64,
    ) {
        let device = Device { rate: 10_f64.powf(log_rate), queue, burst, late, overloaded, ..DEVICE };
        let found = device.search(&goals(), LIMITS, seed);
        for result in found.results.iter().filter(|result| result.end == GoalEnd::Width) {
            let outside = outside(&device, result);
            prop_assert!(outside.is_some_and(|out| out <= TOLERANCE), "{outside:?} {device:?}\n{}", found.told());
        }
        prop_assert_eq!(found.results[0].end, GoalEnd::Width, "{:?}\n{}", device, found.told());
        prop_assert!(found.took() <= LIMITS.budget);
    }

    #[test]
    fn loss_by_chance_never_makes_the_search_claim_more_than_the_device_carries(
        log_rate in 7.5_f64..10.0,
        loss in 0.0_f64..0.02,
        seed: u64,
    ) {
        let device = Device { rate: 10_f64.powf(log_rate), loss, ..DEVICE };
        let found = device.search(&goals(), LIMITS, seed);
        for result in &found.results {
            let lower = result.lower.map_or(0.0, |rate| rate.bits_per_second() as f64);
            prop_assert!(lower <= device.rate * 1.012, "{:?}\n{}", device, found.told());
        }
        prop_assert!(found.took() <= LIMITS.budget);
    }
}

/// Of the truth: 3 ms of a second, by which a queue may grow unseen.
const TOLERANCE: f64 = 0.003;
