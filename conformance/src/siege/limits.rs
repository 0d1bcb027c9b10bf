//! The table of one proof: what was measured, the figure, its limit, and whether it was kept.

use testbed::spread;

use crate::Verdict;
use crate::table;

pub(super) use testbed::promise::Limit;

/// The rows of one proof, printed as they come.
pub(super) struct LimitTable {
    proof: &'static str,
    /// By how much limits are widened that depend on how busy the machine is.
    generosity: f64,
    rows: usize,
    missed: Vec<String>,
}

/// What a figure counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Unit {
    Count,
    Seconds,
    Micros,
    Mebibytes,
    Percent,
    Times,
    Megabits,
}

impl LimitTable {
    /// Opens the table of a proof.
    pub(super) fn open(proof: &'static str, generosity: f64) -> Self {
        table::say(format!("\n{proof}"));
        table::say(format!("  {:<62} {:>14} {:>14}  verdict", "what", "figure", "limit"));
        Self { proof, generosity, rows: 0, missed: Vec::new() }
    }

    /// Adds a row; whether its limit was kept.
    pub(super) fn add(&mut self, what: &str, figure: f64, unit: Unit, limit: Limit) -> bool {
        let limit = if unit.is_about_time() { widened(limit, self.generosity) } else { limit };
        let kept = limit.admits(figure);
        let verdict = match (limit, kept) {
            (Limit::None, _) => "",
            (_, true) => "kept",
            (_, false) => "MISSED",
        };
        let (figure, limit) = (unit.show(figure), unit.show_limit(limit));
        table::say(format!("  {what:<62} {figure:>14} {limit:>14}  {verdict}"));
        self.rows += 1;
        if !kept {
            self.missed.push(what.to_owned());
        }
        kept
    }

    /// Adds a row of a number of things.
    pub(super) fn count(&mut self, what: &str, figure: u64, limit: Limit) {
        self.add(what, figure as f64, Unit::Count, limit);
    }

    /// Adds a row of something that could not be measured, which is missed.
    pub(super) fn fail(&mut self, what: &str, why: &str) {
        table::say(format!("  {what:<62} {:>14} {:>14}  MISSED", "none", ""));
        self.note(why);
        self.rows += 1;
        self.missed.push(what.to_owned());
    }

    /// Adds a remark to the row above.
    #[expect(clippy::unused_self, reason = "a remark belongs to a table")]
    pub(super) fn note(&self, text: &str) {
        for line in text.lines().filter(|line| !line.trim().is_empty()) {
            table::say(format!("      {line}"));
        }
    }

    /// Sums the proof up.
    pub(super) fn close(self) -> Verdict {
        let kept = self.rows - self.missed.len();
        table::say(format!("  {}: {kept} of {} kept", self.proof, self.rows));
        if self.missed.is_empty() { Verdict::Passed } else { Verdict::Failed }
    }
}

/// A limit that forgives a busy machine by so much.
fn widened(limit: Limit, generosity: f64) -> Limit {
    match limit {
        Limit::AtMost(most) => Limit::AtMost(most * generosity),
        Limit::AtLeast(least) => Limit::AtLeast(least / generosity),
        exact @ (Limit::Exactly(_) | Limit::None) => exact,
    }
}

impl Unit {
    /// Whether other work on the machine changes such figures.
    const fn is_about_time(self) -> bool {
        match self {
            Self::Seconds | Self::Micros | Self::Percent | Self::Times | Self::Megabits => true,
            Self::Count | Self::Mebibytes => false,
        }
    }

    fn show_limit(self, limit: Limit) -> String {
        match limit {
            Limit::AtMost(most) => format!("<= {}", self.show(most)),
            Limit::AtLeast(least) => format!(">= {}", self.show(least)),
            Limit::Exactly(exact) => format!("= {}", self.show(exact)),
            Limit::None => String::new(),
        }
    }

    fn show(self, figure: f64) -> String {
        match self {
            Self::Count => format!("{figure:.0}"),
            Self::Seconds => format!("{figure:.3} s"),
            Self::Micros => format!("{figure:.2} us"),
            Self::Mebibytes => format!("{figure:.1} MiB"),
            Self::Percent => format!("{figure:.2} %"),
            Self::Times => format!("{figure:.2} x"),
            Self::Megabits => format!("{figure:.1} Mbit/s"),
        }
    }
}

/// The figure in the middle; 0 of nothing.
pub(super) fn median(figures: &[f64]) -> f64 {
    spread::median(figures.iter().copied()).unwrap_or_default()
}

/// The largest figure; 0 of nothing.
pub(super) fn worst(figures: &[f64]) -> f64 {
    figures.iter().copied().fold(0.0, f64::max)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missed_limit_fails_the_proof() {
        let mut limits = LimitTable::open("a proof", 1.0);
        assert!(limits.add("small", 1.0, Unit::Count, Limit::AtMost(2.0)));
        assert!(!limits.add("large", 3.0, Unit::Count, Limit::AtMost(2.0)));
        assert_eq!(limits.close(), Verdict::Failed);
    }

    #[test]
    fn a_generous_ledger_forgives_slowness_only() {
        let mut limits = LimitTable::open("a proof", 3.0);
        assert!(limits.add("slow", 2.9, Unit::Seconds, Limit::AtMost(1.0)));
        assert!(limits.add("low", 4.0, Unit::Megabits, Limit::AtLeast(10.0)));
        assert!(!limits.add("lost", 2.0, Unit::Count, Limit::AtMost(1.0)));
    }

    #[test]
    fn the_median_is_in_the_middle() {
        assert!((median(&[9.0, 1.0, 5.0]) - 5.0).abs() < 1e-9);
        assert!(median(&[]).abs() < 1e-9);
        assert!((worst(&[9.0, 1.0]) - 9.0).abs() < 1e-9);
    }
}
