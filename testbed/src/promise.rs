//! Promises: a number, its limit, and whether it was kept.

use std::fmt;

use anyhow::{Result, ensure};

use crate::output::say;
use crate::rounds::Row;

/// A promise about the rows of a benchmark.
pub struct Promise<J> {
    /// What is promised, with its limit.
    pub text: &'static str,
    /// The jobs that it is about.
    pub applies: fn(&J) -> bool,
    /// The number; none: it was not measured.
    pub value: fn(&Row<J>) -> Option<f64>,
    /// What the number is allowed to be.
    pub limit: Limit,
}

/// Checks each row against the promises that are about it; `name` stands before each text.
pub fn check<J>(promises: &[Promise<J>], rows: &[Row<J>], name: fn(&J) -> String) -> Vec<Outcome> {
    let of_row = |row| promises.iter().map(move |promise: &Promise<J>| (row, promise));
    let pairs = rows.iter().flat_map(of_row).filter(|(row, promise)| (promise.applies)(&row.job));
    let outcomes = pairs.map(|(row, promise)| {
        let text = format!("{}{}", name(&row.job), promise.text);
        Outcome::new(text, (promise.value)(row), promise.limit)
    });
    outcomes.collect()
}

/// What a number is allowed to be.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Limit {
    /// This or more.
    AtLeast(f64),
    /// This or less.
    AtMost(f64),
    /// This and nothing else.
    Exactly(f64),
    /// Anything: the number is reported.
    None,
}

/// A promise and what came of it.
#[derive(Clone, Debug, PartialEq)]
pub struct Outcome {
    text: String,
    /// None if there was nothing to measure.
    value: Option<f64>,
    kept: bool,
}

/// What a missed promise means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Strictness {
    /// It is shown.
    Show,
    /// It is an error.
    Fail,
}

impl Limit {
    /// Whether a number is within the limit.
    pub fn admits(self, value: f64) -> bool {
        match self {
            Self::AtLeast(least) => value >= least,
            Self::AtMost(most) => value <= most,
            Self::Exactly(exact) => (value - exact).abs() < f64::EPSILON,
            Self::None => true,
        }
    }
}

impl Outcome {
    /// Checks a number, if there is one: what was not measured was not kept.
    pub fn new(text: impl Into<String>, value: Option<f64>, limit: Limit) -> Self {
        let kept = value.is_some_and(|value| limit.admits(value));
        Self { text: text.into(), value, kept }
    }

    /// Whether the promise was kept.
    pub fn kept(&self) -> bool {
        self.kept
    }
}

impl Strictness {
    /// As asked for with a flag `--strict`.
    pub fn from_flag(strict: bool) -> Self {
        if strict { Self::Fail } else { Self::Show }
    }
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let word = if self.kept { "kept" } else { "MISSED" };
        match self.value {
            Some(value) => write!(f, "{word}: {}: {value:.2}", self.text),
            None => write!(f, "{word}: {}: not measured", self.text),
        }
    }
}

/// Shows each promise; the last line of a bench.
///
/// # Errors
/// A promise was missed, and that is to be an error.
pub fn verdict(outcomes: &[Outcome], strictness: Strictness) -> Result<String> {
    outcomes.iter().for_each(say);
    let kept = outcomes.iter().filter(|one| one.kept()).count();
    let verdict = format!("bench: {kept} of {} promises kept", outcomes.len());
    ensure!(kept == outcomes.len() || strictness == Strictness::Show, "{verdict}");
    Ok(verdict)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn promises_are_kept_or_missed() {
        let shown = |value, limit| Outcome::new("x", value, limit).to_string();
        assert_eq!(shown(Some(1.25), Limit::AtLeast(1.25)), "kept: x: 1.25");
        assert_eq!(shown(Some(1.24), Limit::AtLeast(1.25)), "MISSED: x: 1.24");
        assert_eq!(shown(Some(15.0), Limit::AtMost(15.0)), "kept: x: 15.00");
        assert_eq!(shown(Some(15.1), Limit::AtMost(15.0)), "MISSED: x: 15.10");
        assert_eq!(shown(Some(f64::NAN), Limit::AtMost(15.0)), "MISSED: x: NaN");
    }

    #[test]
    fn a_limit_admits_what_it_says() {
        assert!(Limit::AtMost(1.0).admits(1.0) && !Limit::AtMost(1.0).admits(1.1));
        assert!(Limit::AtLeast(1.0).admits(1.0) && !Limit::AtLeast(1.0).admits(0.9));
        assert!(Limit::Exactly(3.0).admits(3.0) && !Limit::Exactly(3.0).admits(4.0));
        assert!(Limit::None.admits(f64::MAX));
    }

    #[test]
    fn what_was_not_measured_is_missed() {
        let outcomes = [Outcome::new("x", None, Limit::AtMost(1.0))];
        assert_eq!(outcomes[0].to_string(), "MISSED: x: not measured");
        assert!(verdict(&outcomes, Strictness::from_flag(false)).is_ok());
        let error = verdict(&outcomes, Strictness::from_flag(true)).expect_err("missed");
        assert_eq!(error.to_string(), "bench: 0 of 1 promises kept");
    }
}
