//! What was expected against what was said.

use std::collections::BTreeMap;
use std::fmt::{self, Display, Formatter};

use super::run::Outcome;

/// How often something was said where something else, or the same, was planted.
#[derive(Debug, Default)]
pub(super) struct Matrix {
    cells: BTreeMap<(String, String), Cell>,
}

#[derive(Debug, Default)]
struct Cell {
    right: usize,
    wrong: usize,
}

impl Matrix {
    pub(super) fn of<'o>(outcomes: impl IntoIterator<Item = &'o Outcome>) -> Self {
        let mut matrix = Self::default();
        for outcome in outcomes {
            for round in &outcome.rounds {
                matrix.note(&outcome.expected, &round.judged.word, round.judged.is_right);
            }
        }
        matrix
    }

    /// Share of runs that were right, from 0 to 1; none: there was no run.
    pub(super) fn share_right(&self) -> Option<f64> {
        let (right, all) = self.counts();
        (all > 0).then(|| right as f64 / all as f64)
    }

    /// How many runs were right, of how many.
    pub(super) fn counts(&self) -> (usize, usize) {
        let right = self.cells.values().map(|cell| cell.right).sum();
        (right, right + self.cells.values().map(|cell| cell.wrong).sum::<usize>())
    }

    fn note(&mut self, expected: &str, said: &str, is_right: bool) {
        let cell = self.cells.entry((expected.to_owned(), said.to_owned())).or_default();
        if is_right {
            cell.right += 1;
        } else {
            cell.wrong += 1;
        }
    }
}

impl Display for Matrix {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "{:<24} {:<26} {:>5} {:>5}", "expected", "said", "right", "wrong")?;
        for ((expected, said), cell) in &self.cells {
            write!(f, "\n{expected:<24} {said:<26} {:>5} {:>5}", cell.right, cell.wrong)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_are_counted_by_what_was_expected_and_said() {
        let mut matrix = Matrix::default();
        assert_eq!(matrix.share_right(), None);
        matrix.note("Q1", "Q1", true);
        matrix.note("Q1", "Q1", false);
        matrix.note("H1", "undecided", false);
        assert_eq!(matrix.counts(), (1, 3));
        let shown = matrix.to_string();
        assert!(shown.lines().nth(1).is_some_and(|line| line.starts_with("H1 ")), "{shown}");
        assert_eq!(shown.lines().count(), 3);
    }
}
