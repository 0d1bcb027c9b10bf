//! Comparisons of runs whose differences are known, and of runs without any.

use std::time::Duration;

use fastrand::Rng;
use measurement::comparison::{Change, Comparison, Method};
use measurement::{BitRate, Quantity, RateSearchEnd, Stamp, TestRecord, Throughput, Timestamp};

use super::{Point, by_version, compare};
use crate::test_record;

/// A run of UDP at a rate, which began at a second of one hour.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "rates are positive")]
fn run(megabits: f64, second: u32) -> TestRecord {
    let mut record = test_record::udp();
    let rate = BitRate::from_bits_per_second((megabits * 1e6).round() as u64);
    let delivered = Throughput { rate, ..Throughput::over(1, Duration::from_secs(1)) };
    record.outcome.directions[0].delivered = Some(delivered);
    let environment = record.environment.as_mut().expect("a test record has one");
    environment.started_at = format!("2026-11-25T02:{:02}:{:02}Z", second / 60, second % 60);
    record.start = Some(Timestamp::from_nanos(u64::from(second) * 1_000_000_000));
    record
}

/// Runs of both sides in turns.
fn alternating(before: &[f64], after: &[f64]) -> Comparison {
    let side = |rates: &[f64], first: u32| {
        let seconds = (first..).step_by(2);
        rates.iter().zip(seconds).map(|(rate, second)| run(*rate, second)).collect::<Vec<_>>()
    };
    compare(&side(before, 0), &side(after, 1))
}

/// All runs of one side, then those of the other.
fn one_after_the_other(before: &[f64], after: &[f64]) -> Comparison {
    let side = |rates: &[f64], first: u32| {
        rates.iter().zip(first..).map(|(rate, second)| run(*rate, second)).collect::<Vec<_>>()
    };
    compare(&side(before, 0), &side(after, 100))
}

/// Nearly normal: the sum of twelve uniform numbers less its mean has the variance 1.
fn noise(random: &mut Rng) -> f64 {
    (0..12).map(|_| random.f64()).sum::<f64>() - 6.0
}

/// Runs of a host that varies by 2 %, and is slower by a quarter for a while now and then; both
/// sides in turns, the order of each pair by lot.
fn in_phases(random: &mut Rng, pairs: usize) -> (Vec<f64>, Vec<f64>) {
    let (mut is_slow, mut sides) = (false, (Vec::new(), Vec::new()));
    for _ in 0..pairs {
        let mut run = || {
            is_slow ^= random.f64() < 0.15;
            let level = if is_slow { 750.0 } else { 1_000.0 };
            level * (0.02 * noise(random)).exp()
        };
        let (first, second) = (run(), run());
        let (before, after) = if random.bool() { (first, second) } else { (second, first) };
        sides.0.push(before);
        sides.1.push(after);
    }
    sides
}

#[test]
fn of_400_comparisons_of_the_same_at_most_5_percent_show_a_difference() {
    let mut random = Rng::with_seed(1);
    let mut alarms = [0, 0];
    for number in 0..400 {
        let pairs = [5, 8, 12, 20][number % 4];
        let (before, after) = in_phases(&mut random, pairs);
        let paired = alternating(&before, &after);
        assert_eq!(paired.rows[0].method, Method::Paired);
        let even = |random: &mut Rng| {
            (0..pairs).map(|_| 900.0 * (0.05 * noise(random)).exp()).collect::<Vec<_>>()
        };
        let welch = one_after_the_other(&even(&mut random), &even(&mut random));
        assert_eq!(welch.rows[0].method, Method::Welch);
        for (count, comparison) in alarms.iter_mut().zip([paired, welch]) {
            *count += u32::from(comparison.rows[0].shown().is_some());
        }
    }
    assert!(alarms.iter().all(|alarms| *alarms <= 20), "{alarms:?} of 400");
}

#[test]
fn a_difference_that_is_there_is_shown_with_its_size() {
    let mut random = Rng::with_seed(2);
    let mut shown = 0;
    for _ in 0..100 {
        let mut side = |mean: f64| {
            (0..5).map(|_| mean * (0.01 * noise(&mut random)).exp()).collect::<Vec<_>>()
        };
        let comparison = one_after_the_other(&side(1_000.0), &side(950.0));
        let row = &comparison.rows[0];
        let interval = row.effect.and_then(|effect| effect.interval).expect("five runs each");
        shown += u32::from(row.shown() == Some(Change::Worse) && interval.low < 0.95);
        assert!(!row.is_worse_by(0.2));
    }
    assert!(shown >= 90, "{shown} of 100");
}

#[test]
fn one_run_each_has_a_ratio_and_no_interval() {
    let comparison = one_after_the_other(&[100.0], &[50.0]);
    let row = &comparison.rows[0];
    let effect = row.effect.expect("a run each");
    assert!((effect.ratio - 0.5).abs() < 1e-9 && effect.interval.is_none());
    assert_eq!((row.method, row.shown()), (Method::TooFew, None));
    assert!(!row.is_worse_by(0.05), "one run shows nothing");
}

#[test]
fn invalid_runs_are_left_out_and_counted() {
    let mut before: Vec<_> = (0..4).map(|second| run(100.0, second)).collect();
    for (place, stamp) in [(1, Stamp::Invalid), (2, Stamp::Suspect)] {
        let judgement = measurement::Judgement { stamp, ..measurement::Judgement::default() };
        before[place].judgement = Some(judgement);
    }
    let comparison = compare(&before, &[run(100.0, 9)]);
    let side = comparison.rows[0].before;
    assert_eq!((side.runs, side.left_out, side.suspect), (3, 1, 1));
}

#[test]
fn settings_that_differ_are_told_and_rows_of_one_side_too() {
    let before = run(100.0, 0);
    let mut after = run(100.0, 1);
    after.hosts[0].inventory.settings.insert("net.core.rmem_max".to_owned(), "9".to_owned());
    after.environment.as_mut().expect("it has one").kernel = "6.99".to_owned();
    let mut other = run(100.0, 2);
    other.outcome.directions[0].direction = measurement::Direction::Receive;
    let comparison = compare(&[before], &[after, other]);
    assert_eq!(comparison.unmatched.len(), 1, "{:?}", comparison.unmatched);
    let told = |what: &str| comparison.differences.iter().any(|one| one.what.contains(what));
    assert!(told("net.core.rmem_max") && told("kernel"), "{:?}", comparison.differences);
    assert!(comparison.kernels.1.contains("6.99"));
    assert_eq!(compare(&[run(1.0, 0)], &[run(2.0, 1)]).differences, []);
    let mut found = test_record::searched(RateSearchEnd::Loss, |_| ());
    found.trials.rate.as_mut().expect("it was searched").above = None;
    let plain = found.clone();
    found.plan = test_record::plan_with(&found.plan, |draft| {
        draft.options.rate = Some(BitRate::from_bits_per_second(7));
    });
    assert_eq!(compare(&[found], &[plain]).differences, [], "the rate is a result");
}

/// Records of a sweep: a run at each of these rates in Mbit/s, of which a tenth is lost.
fn sweep(rates: &[u32], since: u32) -> Vec<TestRecord> {
    let run = |(second, rate): (u32, &u32)| {
        let mut record = run(0.9 * f64::from(*rate), second);
        record.plan = test_record::plan_with(&record.plan, |draft| {
            draft.options.rate = Some(BitRate::from_bits_per_second(u64::from(*rate) * 1_000_000));
        });
        record
    };
    (since..).zip(rates).map(run).collect()
}

#[test]
fn runs_of_different_plans_are_no_repetitions_of_one_row() {
    let comparison = compare(&sweep(&[10, 20], 0), &sweep(&[10, 20, 40], 10));
    let rows: Vec<_> = comparison.rows.iter().map(|row| row.row.as_str()).collect();
    let title = |rate: u64| {
        let plan = sweep(&[10], 0).remove(0).settings().replace("10000000", &rate.to_string());
        format!("{}, {plan}", run(1.0, 0).plan.row())
    };
    assert_eq!(rows, [title(10_000_000), title(20_000_000)]);
    assert_eq!(comparison.unmatched, [title(40_000_000)]);
    assert!(comparison.missing.is_empty(), "{:?}", comparison.missing);
    assert!(comparison.rows.iter().all(|row| (row.before.runs, row.after.runs) == (1, 1)));
    let back = compare(&sweep(&[10, 20, 40], 0), &sweep(&[10, 20], 10));
    assert_eq!(back.missing, [title(40_000_000)]);
    // One plan on each side: what differs is the change.
    let change = compare(&sweep(&[10], 0), &sweep(&[20], 10));
    assert_eq!(change.rows[0].row, run(1.0, 0).plan.row());
}

fn points(random: &mut Rng, versions: &[(&str, usize, f64)]) -> Vec<Point> {
    let mut points = Vec::new();
    for (version, runs, mean) in versions {
        points.extend((0..*runs).map(|_| Point {
            version: (*version).to_owned(),
            value: mean * (0.02 * noise(random)).exp(),
            is_suspect: false,
        }));
    }
    points
}

#[test]
fn a_regression_between_versions_is_found_where_it_is() {
    let mut random = Rng::with_seed(3);
    let plan = [("6.1", 4, 940.0), ("6.6", 4, 940.0), ("6.9", 4, 800.0), ("6.12", 4, 800.0)];
    let found = by_version(String::new(), Quantity::Rate, &points(&mut random, &plan));
    let [change] = &found.changes[..] else { panic!("{found:?}") };
    assert_eq!((change.from.as_str(), change.to.as_str()), ("6.6", "6.9"));
    assert_eq!((change.change, found.needs_runs), (Change::Worse, None));
    let interval = change.effect.interval.expect("eight runs each");
    assert!(interval.low < 0.851 && interval.high > 0.851, "{interval:?}");
}

#[test]
fn a_change_that_is_taken_back_is_found_twice() {
    let mut random = Rng::with_seed(4);
    let plan = [("a", 5, 900.0), ("b", 5, 700.0), ("c", 5, 900.0)];
    let found = by_version(String::new(), Quantity::RoundTrip, &points(&mut random, &plan));
    let changes: Vec<_> = found.changes.iter().map(|change| change.change).collect();
    assert_eq!(changes, [Change::Better, Change::Worse], "{found:?}");
}

#[test]
fn few_runs_show_nothing_and_say_how_many_it_takes() {
    let mut random = Rng::with_seed(5);
    let found = points(&mut random, &[("a", 2, 900.0), ("b", 2, 100.0)]);
    let found = by_version(String::new(), Quantity::Rate, &found);
    assert_eq!((found.changes.len(), found.needs_runs), (0, Some(3)));
    let alone = by_version(String::new(), Quantity::Rate, &points(&mut random, &[("a", 9, 1.0)]));
    assert_eq!(alone.needs_runs, Some(3), "there is nothing to compare with");
}

#[test]
fn of_400_series_without_a_change_at_most_5_percent_show_one() {
    let mut random = Rng::with_seed(6);
    let plan = [("a", 4, 900.0), ("b", 4, 900.0), ("c", 4, 900.0), ("d", 4, 900.0)];
    let shows = |random: &mut Rng| {
        !by_version(String::new(), Quantity::Rate, &points(random, &plan)).changes.is_empty()
    };
    let alarms = (0..400).filter(|_| shows(&mut random)).count();
    assert!(alarms <= 20, "{alarms} of 400");
}
