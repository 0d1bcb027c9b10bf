//! What linerate promises of its speed.

use std::fmt;

use anyhow::{Result, ensure};

use super::contest::START_UP;
use super::row::TCP_ONE_STREAM;
use super::series::{Metric, Runs, Series};
use super::spread::Spread;
use crate::output::say;

/// A promise and what came of it.
#[derive(Debug)]
pub(super) struct Judged {
    text: String,
    /// None if there is nothing to judge by.
    value: Option<f64>,
    kept: bool,
}

#[derive(Debug)]
struct Promise {
    text: &'static str,
    row: &'static str,
    /// The number, from our runs and those of the installed iperf3.
    value: fn(ours: &Runs, iperf3: &Runs) -> Option<Spread>,
    kept: fn(f64) -> bool,
}

/// Judges every promise; the first program is ours, the second the installed iperf3.
pub(super) fn judge(series: &[Series]) -> Vec<Judged> {
    PROMISES
        .iter()
        .map(|promise| {
            let row = series.iter().find(|series| series.row == promise.row);
            let value = row.and_then(|series| match series.runs.as_slice() {
                [ours, iperf3, ..] => (promise.value)(ours, iperf3),
                _ => None,
            });
            Judged::new(promise.text, value.map(|spread| spread.median), promise.kept)
        })
        .collect()
}

/// One line, which is an error if a promise was missed and that matters.
pub(super) fn verdict(judged: &[Judged], strictness: Strictness) -> Result<String> {
    judged.iter().for_each(say);
    let kept = judged.iter().filter(|one| one.kept()).count();
    let verdict = format!("bench: {kept} of {} promises kept", judged.len());
    ensure!(kept == judged.len() || strictness == Strictness::Tell, "{verdict}");
    Ok(verdict)
}

/// What a missed promise means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Strictness {
    /// It is told.
    Tell,
    /// It is an error.
    Fail,
}

impl Strictness {
    /// As asked for with `--strict`.
    pub(super) fn of(strict: bool) -> Self {
        if strict { Self::Fail } else { Self::Tell }
    }
}

impl Judged {
    /// By a number, if there is one: what was not measured was not kept.
    pub(super) fn new(
        text: impl Into<String>,
        value: Option<f64>,
        kept: impl FnOnce(f64) -> bool,
    ) -> Self {
        Self { text: text.into(), value, kept: value.is_some_and(kept) }
    }

    /// Whether it was kept.
    pub(super) fn kept(&self) -> bool {
        self.kept
    }
}

impl fmt::Display for Judged {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        let word = if self.kept() { "kept" } else { "MISSED" };
        match self.value {
            Some(value) => write!(f, "{word}: {}: {value:.2}", self.text),
            None => write!(f, "{word}: {}: not measured", self.text),
        }
    }
}

const PROMISES: [Promise; 2] = [
    Promise {
        text: "TCP one stream >= 1.00 x iperf3",
        row: TCP_ONE_STREAM,
        value: |ours, iperf3| Spread::of_ratios(ours.of(Metric::Rate), iperf3.of(Metric::Rate)),
        kept: |ratio| ratio >= 1.0,
    },
    Promise {
        text: "1 MiB test <= 15 ms wall (median)",
        row: START_UP,
        value: |ours, _| Spread::of(ours.of(Metric::Wall).iter().copied()),
        kept: |milliseconds| milliseconds <= 15.0,
    },
];

#[cfg(test)]
mod tests {
    use super::*;

    fn series(row: &'static str, metric: Metric, ours: f64, theirs: f64) -> Series {
        let runs = |value| Runs { program: String::new(), values: vec![(metric, vec![value])] };
        Series { row, runs: vec![runs(ours), runs(theirs)] }
    }

    #[test]
    fn promises_are_kept_or_missed() {
        let lines = |rate, wall| -> Vec<String> {
            let series = [
                series(TCP_ONE_STREAM, Metric::Rate, rate, 40.0),
                series(START_UP, Metric::Wall, wall, 9.0),
            ];
            judge(&series).iter().map(ToString::to_string).collect()
        };
        let kept = [
            "kept: TCP one stream >= 1.00 x iperf3: 1.25",
            "kept: 1 MiB test <= 15 ms wall (median): 5.00",
        ];
        assert_eq!(lines(50.0, 5.0), kept);
        assert!(lines(30.0, 16.0).iter().all(|line| line.starts_with("MISSED")));
    }

    #[test]
    fn what_was_not_measured_is_missed() {
        assert!(judge(&[]).iter().all(|judged| !judged.kept()));
    }
}
