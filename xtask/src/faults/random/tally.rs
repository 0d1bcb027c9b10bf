//! How many cases of each family were judged rightly.

use std::collections::BTreeMap;
use std::fmt::{self, Display, Formatter};

use super::class::Class;

/// Cases by family, two faults as one family of their own.
#[derive(Debug, Default)]
pub(super) struct Tally {
    families: BTreeMap<String, Counts>,
}

/// Cases of one family, or of all.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Counts {
    pub(super) right: usize,
    pub(super) near: usize,
    pub(super) wrong: usize,
    unproven: usize,
}

impl Tally {
    pub(super) fn note(&mut self, family: &str, class: Class) {
        let counts = self.counts(family);
        match class {
            Class::Right => counts.right += 1,
            Class::Near => counts.near += 1,
            Class::Wrong => counts.wrong += 1,
        }
    }

    pub(super) fn note_unproven(&mut self, family: &str) {
        self.counts(family).unproven += 1;
    }

    fn counts(&mut self, family: &str) -> &mut Counts {
        let name = if family.contains('+') { TWO } else { family };
        self.families.entry(name.to_owned()).or_default()
    }

    pub(super) fn total(&self) -> Counts {
        self.families.values().fold(Counts::default(), |sum, one| Counts {
            right: sum.right + one.right,
            near: sum.near + one.near,
            wrong: sum.wrong + one.wrong,
            unproven: sum.unproven + one.unproven,
        })
    }
}

impl Counts {
    pub(super) const fn all(self) -> usize {
        self.right + self.near + self.wrong
    }

    pub(super) fn share_right(self) -> f64 {
        self.right as f64 / self.all().max(1) as f64
    }

    pub(super) fn share_near(self) -> f64 {
        (self.right + self.near) as f64 / self.all().max(1) as f64
    }
}

impl Display for Tally {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let names = ["right", "near", "wrong", "not proven"];
        write!(
            f,
            "{:<24} {:>5} {:>5} {:>5} {:>10}",
            "family", names[0], names[1], names[2], names[3]
        )?;
        let total = ("all".to_owned(), self.total());
        let families = self.families.iter().map(|(name, counts)| (name, *counts));
        for (name, counts) in families.chain([(&total.0, total.1)]) {
            let Counts { right, near, wrong, unproven } = counts;
            write!(f, "\n{name:<24} {right:>5} {near:>5} {wrong:>5} {unproven:>10}")?;
        }
        Ok(())
    }
}

/// The family of two faults at once.
const TWO: &str = "two faults";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_proven_counts_for_nothing() {
        let mut tally = Tally::default();
        assert_eq!(tally.total().all(), 0);
        tally.note("quota", Class::Right);
        tally.note("quota", Class::Near);
        tally.note("quota+loss", Class::Wrong);
        tally.note_unproven("loss");
        let total = tally.total();
        assert_eq!((total.right, total.near, total.wrong, total.all()), (1, 1, 1, 3));
        assert!((total.share_near() - 2.0 / 3.0).abs() < 1e-9);
        let shown = tally.to_string();
        assert!(shown.lines().last().is_some_and(|line| line.starts_with("all ")), "{shown}");
        assert!(shown.contains("two faults"), "{shown}");
    }
}
