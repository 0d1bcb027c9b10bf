//! Promises: a number, its limit, and whether it was kept.

use std::fmt;

use crate::candidate::Part;
use crate::figures::Metric;
use crate::rounds::JobRow;

/// A requirement that the results of a benchmark must meet, e.g. a ratio of rates with its limit.
/// It applies to some rows.
pub struct Promise<J> {
    text: &'static str,
    applies: fn(&J) -> bool,
    value: Value<J>,
}

/// The number of a row that a [`Promise`] checks.
pub enum Value<J> {
    /// The median of the ratios of one program to another.
    Ratio(Part, Part, Metric),
    /// Our median, times the scale.
    Median(Metric, f64),
    /// The largest that any of our rounds has, whichever its sign.
    Most(Metric),
    /// Another one; none: it was not measured.
    Other(fn(&JobRow<J>) -> Option<f64>),
}

/// The range that a checked number must be in.
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

/// A checked [`Promise`]: its number, and whether the number was within the limit.
#[derive(Clone, Debug, PartialEq)]
pub struct Outcome {
    text: String,
    /// None if there was nothing to measure.
    value: Option<f64>,
    kept: bool,
}

impl<J> Promise<J> {
    /// A requirement on the rows whose job `applies` accepts. `text` describes it and contains the
    /// [limit](Limit::of_text) for `value`, e.g. `>= 1.25`.
    pub const fn new(text: &'static str, applies: fn(&J) -> bool, value: Value<J>) -> Self {
        Self { text, applies, value }
    }
}

/// Checks each row against the promises that apply to it. Each outcome has the text of its promise,
/// preceded by the `name` of the job.
pub fn check<J>(
    promises: &[Promise<J>],
    rows: &[JobRow<J>],
    name: fn(&J) -> String,
) -> Vec<Outcome> {
    let of_row = |row| promises.iter().map(move |promise: &Promise<J>| (row, promise));
    let pairs = rows.iter().flat_map(of_row).filter(|(row, promise)| (promise.applies)(&row.job));
    let outcomes = pairs.map(|(row, promise)| {
        Outcome::new(format!("{}{}", name(&row.job), promise.text), promise.value.of(row))
    });
    outcomes.collect()
}

impl<J> Value<J> {
    fn of(&self, row: &JobRow<J>) -> Option<f64> {
        match *self {
            Self::Ratio(one, other, metric) => row.ratio(one, other, metric),
            Self::Median(metric, scale) => Some(row.entry(Part::Ours)?.median(metric)? * scale),
            Self::Most(metric) => row.entry(Part::Ours)?.most(metric),
            Self::Other(value) => value(row),
        }
    }
}

impl Limit {
    /// Whether `value` is within the limit; false for NaN, unless there is no limit.
    pub fn admits(self, value: f64) -> bool {
        match self {
            Self::AtLeast(least) => value >= least,
            Self::AtMost(most) => value <= most,
            Self::Exactly(exact) => (value - exact).abs() < f64::EPSILON,
            Self::None => true,
        }
    }

    /// Parses the limit in `text`: the number after its last `>=`, `<=`, `=` or `within`. `None`:
    /// there is no such number.
    pub fn of_text(text: &str) -> Option<Self> {
        let words: Vec<&str> = text.split_whitespace().collect();
        words.windows(2).rev().find_map(|pair| {
            let number = pair[1].parse().ok()?;
            match pair[0] {
                ">=" => Some(Self::AtLeast(number)),
                "<=" | "within" => Some(Self::AtMost(number)),
                "=" => Some(Self::Exactly(number)),
                _ => None,
            }
        })
    }
}

impl Outcome {
    /// Checks `value` against the [limit](Limit::of_text) in `text`. A value that was not measured
    /// (`None`), or a text without a limit, counts as missed.
    pub fn new(text: impl Into<String>, value: Option<f64>) -> Self {
        let text = text.into();
        let limit = Limit::of_text(&text);
        let kept = value.zip(limit).is_some_and(|(value, limit)| limit.admits(value));
        Self { text, value, kept }
    }

    /// Whether the number was measured and within its limit.
    pub fn kept(&self) -> bool {
        self.kept
    }

    /// What was promised, with its limit.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Parses a line that [`Display`](fmt::Display) wrote. `None`: it is another line.
    pub fn parse(line: &str) -> Option<Self> {
        let line = line.strip_prefix("kept: ").or_else(|| line.strip_prefix("MISSED: "))?;
        let (text, value) = line.rsplit_once(": ")?;
        match value {
            "not measured" => Some(Self::new(text, None)),
            _ => Some(Self::new(text, Some(value.parse().ok()?))),
        }
    }

    /// Checks the number against a limit that is `times` as generous: a most multiplied by it, a
    /// least divided by it.
    #[must_use]
    pub fn allowing(self, times: f64) -> Self {
        let limit = match Limit::of_text(&self.text) {
            Some(Limit::AtLeast(least)) => Some(Limit::AtLeast(least / times)),
            Some(Limit::AtMost(most)) => Some(Limit::AtMost(most * times)),
            other => other,
        };
        let kept = self.value.zip(limit).is_some_and(|(value, limit)| limit.admits(value));
        Self { kept, ..self }
    }

    /// How far the number is from the limit, in percent of the limit; negative on the side that
    /// misses it. `None`: there is no such number, or the limit is zero.
    pub fn margin(&self) -> Option<f64> {
        let value = self.value?;
        let (limit, sign) = match Limit::of_text(&self.text)? {
            Limit::AtLeast(least) => (least, 1.0),
            Limit::AtMost(most) => (most, -1.0),
            Limit::Exactly(_) | Limit::None => return None,
        };
        let margin = sign * (value - limit) / limit * 100.0;
        margin.is_finite().then_some(margin)
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn promises_are_kept_or_missed() {
        let shown = |text, value| Outcome::new(text, value).to_string();
        assert_eq!(shown("x >= 1.25 y", Some(1.25)), "kept: x >= 1.25 y: 1.25");
        assert_eq!(shown("x >= 1.25 y", Some(1.24)), "MISSED: x >= 1.25 y: 1.24");
        assert_eq!(shown("x <= 15", Some(15.0)), "kept: x <= 15: 15.00");
        assert_eq!(shown("x = 0", Some(1.0)), "MISSED: x = 0: 1.00");
        assert_eq!(shown("x <= 15", Some(f64::NAN)), "MISSED: x <= 15: NaN");
        assert_eq!(shown("x <= 15", None), "MISSED: x <= 15: not measured");
        assert_eq!(shown("x", Some(0.0)), "MISSED: x: 0.00");
    }

    #[test]
    fn what_was_written_is_read() {
        for line in ["kept: a: x >= 1.25 y: 1.30", "MISSED: x <= 15: not measured"] {
            assert_eq!(Outcome::parse(line).expect("an outcome").to_string(), line);
        }
        assert_eq!(Outcome::parse("bench: 1 of 2 promises kept"), None);
        assert_eq!(Outcome::parse("kept: x <= 15: y"), None);
    }

    #[test]
    fn the_margin_has_the_sign_of_the_side() {
        let margin = |text, value| Outcome::new(text, Some(value)).margin().expect("a number");
        assert!((margin("x >= 2.0 y", 1.5) + 25.0).abs() < 1e-9);
        assert!((margin("x <= 2.0 y", 1.5) - 25.0).abs() < 1e-9);
        assert_eq!(Outcome::new("x = 0", Some(1.0)).margin(), None);
        assert_eq!(Outcome::new("x <= 0", Some(1.0)).margin(), None);
    }

    #[test]
    fn a_generous_limit_is_a_multiple() {
        let kept = |text, value| Outcome::new(text, Some(value)).allowing(2.0).kept();
        assert!(kept("x <= 15", 30.0) && !kept("x <= 15", 31.0));
        assert!(kept("x >= 1.0", 0.5) && !kept("x >= 1.0", 0.4));
        assert!(!Outcome::new("x <= 15", None).allowing(2.0).kept());
    }

    #[test]
    fn the_last_number_behind_a_sign_is_the_limit() {
        assert_eq!(Limit::of_text("within 0.5 %, in %"), Some(Limit::AtMost(0.5)));
        assert_eq!(Limit::of_text("gaps within 10 % >= 97 %"), Some(Limit::AtLeast(97.0)));
        assert_eq!(Limit::of_text("streams = 0"), Some(Limit::Exactly(0.0)));
        assert_eq!(Limit::of_text("16 streams over lo"), None);
    }
}
