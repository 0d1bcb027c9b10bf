//! Two rows in turn, pair by pair, until what they show is decided.

use analysis::comparison::{Look, Metrics, metrics};
use measurement::outcome::Ending;
use measurement::{AbRule, Metric, RecordSet, Stamp, TestRecord};
use session::client::Watching;

use super::sweep::ends_all;
use super::{Next, PlannedRow, Purpose, Search, Task, Trial, results};

/// A search for the difference of two rows, A and B, in their rates or another [`Metric`]. It runs both in pairs whose order is drawn by
/// lot, after a trial of each that warms up, and ends as `analysis::comparison::Look` says. A pair of
/// which a run failed or is INVALID is measured again.
#[derive(Clone, Debug)]
pub struct Alternate {
    rows: [PlannedRow; 2],
    rule: AbRule,
    seed: u64,
    metric: Metric,
    /// Pairs so far.
    pairs: Pairs,
    /// All metrics of the pairs that count.
    metrics: Vec<(Metrics, Metrics)>,
    /// Sides of the results that have a record.
    sides: Vec<Side>,
}

/// One of the two rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Side {
    A,
    B,
}

/// The runs of the pairs of an [`Alternate`].
#[derive(Clone, Debug, PartialEq)]
pub struct Pairs {
    /// Rates of A and B of the pairs that count, in bit/s; of another metric the values, or their
    /// inverses where less is better.
    pub counting: Vec<(f64, f64)>,
    /// Pairs that do not count.
    pub left_out: u32,
}

impl Alternate {
    /// A search by `rule` for the difference of A and B, whose order is that of `seed`.
    pub const fn new(rows: [PlannedRow; 2], rule: AbRule, seed: u64) -> Self {
        let pairs = Pairs { counting: Vec::new(), left_out: 0 };
        Self {
            rows,
            rule,
            seed,
            metric: Metric::Throughput,
            pairs,
            metrics: Vec::new(),
            sides: Vec::new(),
        }
    }

    /// A copy of the search for the difference in `metric` in place of the rate.
    #[must_use]
    pub fn by(self, metric: Metric) -> Self {
        Self { metric, ..self }
    }

    /// Whether B is the first of a pair.
    const fn begins_with_b(&self, pair: usize) -> bool {
        mixed(self.seed, pair) & 1 == 1
    }

    /// Side of the result at a place.
    const fn side(&self, place: usize) -> Side {
        let is_first = place.is_multiple_of(2);
        if is_first == self.begins_with_b(place / 2) { Side::B } else { Side::A }
    }

    /// Pairs that the search has measured.
    pub const fn pairs(&self) -> &Pairs {
        &self.pairs
    }

    /// All metrics of A and B of the pairs that count.
    pub fn metrics(&self) -> &[(Metrics, Metrics)] {
        &self.metrics
    }

    /// Whether the pairs decide that B is better or worse, or how.
    pub fn look(&self) -> Look {
        Look::at(&self.pairs.counting, &self.rule)
    }

    /// Metrics of a run that counts, and the value by which it is compared: more is better.
    fn counting(&self, record: &TestRecord) -> Option<(f64, Metrics)> {
        let is_invalid = record.judgement.as_ref().is_some_and(|it| it.stamp == Stamp::Invalid);
        let counts = record.outcome.ending == Ending::Completed && !is_invalid;
        let metrics = counts.then(|| metrics(record))?;
        Some((self.metric.gain(*metrics.get(&self.metric)?), metrics))
    }

    /// Takes in what a pair gave, once both of its runs have ended.
    fn take_in(&mut self, done: &[Trial]) {
        let results: Vec<_> = results(done).map(|trial| trial.result.as_ref().ok()).collect();
        let sides = results.iter().enumerate().filter(|(_, record)| record.is_some());
        self.sides = sides.map(|(place, _)| self.side(place)).collect();
        let seen = self.pairs.counting.len() + self.pairs.left_out as usize;
        for (place, two) in results.chunks_exact(2).enumerate().skip(seen) {
            let [first, second] = [two[0], two[1]].map(|it| it.and_then(|it| self.counting(it)));
            match (first, second, self.side(2 * place)) {
                (Some(a), Some(b), Side::A) | (Some(b), Some(a), Side::B) => {
                    self.pairs.counting.push((a.0, b.0));
                    self.metrics.push((a.1, b.1));
                }
                _ => self.pairs.left_out += 1,
            }
        }
    }

    fn is_over(&self, results: usize) -> bool {
        let is_given_up = self.pairs.left_out > most_left_out(&self.rule);
        let is_whole = results.is_multiple_of(2);
        is_whole && (is_given_up || Look::end(&self.pairs.counting, &self.rule).is_some())
    }
}

impl Search for Alternate {
    fn next(&mut self, done: &[Trial]) -> Next {
        self.take_in(done);
        if done.last().is_some_and(ends_all) {
            return Next::Stop;
        }
        if let Some(row) = self.rows.get(done.len()) {
            let purpose = Purpose::Trial { what: "warming up", watching: Watching::Nothing };
            return Next::Run(Task { row: row.clone(), purpose });
        }
        let place = results(done).count();
        if self.is_over(place) {
            return Next::Done;
        }
        let pair = u32::try_from(place / 2).unwrap_or(u32::MAX);
        let purpose = Purpose::Result { run: pair, of: self.rule.most_pairs.max(pair + 1) };
        let [a, b] = &self.rows;
        let row = if self.side(place) == Side::A { a } else { b };
        Next::Run(Task { row: row.clone(), purpose })
    }

    /// Labels each record with its side.
    fn conclude(&self, records: &mut RecordSet) {
        for (record, side) in records.records.iter_mut().zip(&self.sides) {
            record.tags.insert(AB.to_owned(), format!("{side:?}"));
        }
    }
}

/// The label of a record for its side, A or B.
const AB: &str = "ab";

/// So many pairs are measured again.
const fn most_left_out(rule: &AbRule) -> u32 {
    rule.most_pairs.div_ceil(2)
}

/// Bits of a seed and a number, well mixed: the finalizer of `SplitMix64` (G. L. Steele, D. Lea and
/// C. H. Flood: OOPSLA 2014).
const fn mixed(seed: u64, number: usize) -> u64 {
    let golden = 0x9E37_79B9_7F4A_7C15_u64;
    let state = seed.wrapping_add(golden.wrapping_mul(number as u64 + 1));
    let state = (state ^ (state >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let state = (state ^ (state >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    state ^ (state >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::search::tests::{ended, failed, plan_at, rate, run};

    const RULE: AbRule = AbRule { most_pairs: 8, margin_ratio: 0.02, confidence: 0.95 };

    fn search(seed: u64) -> Alternate {
        Alternate::new([10, 20].map(|rate| PlannedRow::of_plan(plan_at(rate))), RULE, seed)
    }

    fn is_b(task: &Task) -> bool {
        task.row.plan.asked().is_some_and(|rate| rate.bits_per_second() == 20)
    }

    #[test]
    fn both_warm_up_and_each_pair_has_both_in_an_order_by_lot() {
        let mut alternate = search(1);
        let (done, end) =
            run(&mut alternate, |task| Ok(rate(if is_b(task) { 1_100 } else { 1_000 })));
        assert_eq!((done.len(), end), (2 + 2 * 4, Next::Done), "decided at the first look");
        let order: Vec<_> = done.iter().map(|trial| is_b(&trial.task)).collect();
        assert_eq!(order[..2], [false, true]);
        assert!(order.chunks(2).all(|pair| pair[0] != pair[1]), "{order:?}");
        let first = |seed| (0..64).filter(|pair| search(seed).begins_with_b(*pair)).count();
        let mut set = RecordSet::new(vec![rate(1); 8]);
        alternate.conclude(&mut set);
        let labels: Vec<_> = set.records.iter().map(|record| record.tags["ab"] == "B").collect();
        assert_eq!(labels, order[2..]);
        assert!((1..100).all(|seed| (12..=52).contains(&first(seed))));
        assert_eq!(
            *alternate.pairs(),
            Pairs { counting: vec![(1_000.0, 1_100.0); 4], left_out: 0 }
        );
    }

    #[test]
    fn invalid_runs_are_repeated_a_bounded_number_of_times() {
        let mut calls = 0;
        let (done, end) = run(&mut search(2), |_| {
            calls += 1;
            // The third run that counts, and so the second pair.
            Ok(if calls == 5 {
                ended(Ending::Failed { error: "cut".to_owned() })
            } else {
                rate(1_000)
            })
        });
        assert_eq!((done.len(), end), (2 + 2 * 5, Next::Done));
        let (done, _) = run(&mut search(2), |_| Ok(rate(0)));
        assert_eq!(done.len(), 2 + 2 * 5, "{} are too many", RULE.most_pairs);
    }

    #[test]
    fn what_would_end_the_next_test_too_ends_it() {
        let (done, end) = run(&mut search(3), |_| failed());
        assert_eq!((done.len(), end), (1, Next::Stop));
        let mut calls = 0;
        let (done, end) = run(&mut search(3), |_| {
            calls += 1;
            Ok(if calls == 6 { ended(Ending::Interrupted) } else { rate(1_000) })
        });
        assert_eq!((done.len(), end), (6, Next::Stop));
    }
}
