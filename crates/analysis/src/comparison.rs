//! Compares runs before a change with runs after it, and runs of one row by version. Judges no
//! single record: the stamps that the records have count.
//!
//! All is computed from logarithms: rates vary in proportion, and a ratio is what is asked for.
//! Seconds of one run are no runs: they depend on each other.

mod effect;
mod pairs;
mod sequential;
mod settings;
mod student;
#[cfg(test)]
mod tests;
mod versions;

use std::collections::BTreeSet;

use measurement::comparison::{Comparison, EffectSize, Method, RowComparison, Side};
use measurement::{Figure, Quantity, Stamp, TestRecord};

pub use sequential::{AB_CONFIDENCE, Look, mean_rate, remarks};
pub use versions::{Point, by_version};

/// Compares the runs `before` a change with those `after` it, in rows with the same title. Runs
/// with the stamp INVALID are left out.
///
/// The intervals hold together with 95 %: each has the level 1 - 0.05 / rows (Bonferroni).
pub fn compare(before: &[TestRecord], after: &[TestRecord]) -> Comparison {
    let titles = |records: &[TestRecord]| {
        let mut seen = BTreeSet::new();
        let figures = records.iter().flat_map(TestRecord::figures);
        let titles = figures.map(|figure| (figure.row, figure.quantity));
        titles.filter(|title| seen.insert(title.clone())).collect::<Vec<_>>()
    };
    let (of_before, of_after) = (titles(before), titles(after));
    let (both, alone): (Vec<_>, Vec<_>) =
        of_before.iter().partition(|title| of_after.contains(title));
    let level = 1.0 - (1.0 - CONFIDENCE) / both.len().max(1) as f64;
    let rows = both.iter().map(|title| row(title, before, after, level)).collect();
    let new = of_after.iter().filter(|title| !of_before.contains(title));
    Comparison {
        confidence: CONFIDENCE,
        rows,
        unmatched: alone.into_iter().chain(new).map(|(row, _)| row.clone()).collect(),
        differences: settings::differences(before, after),
        kernels: (settings::kernels(before), settings::kernels(after)),
    }
}

fn row(
    title: &(String, Quantity),
    before: &[TestRecord],
    after: &[TestRecord],
    level: f64,
) -> RowComparison {
    let (before, after) = (runs(title, before), runs(title, after));
    let paired = pairs::of(&before.counting, &after.counting);
    let logarithms = |runs: &Runs| runs.counting.iter().map(|run| run.logarithm).collect();
    let (one, other): (Vec<_>, Vec<_>) = (logarithms(&before), logarithms(&after));
    let (method, estimate) = match paired {
        Some(pairs) => (Method::Paired, effect::paired(&pairs, level)),
        None => (Method::Welch, effect::welch(&one, &other, level)),
    };
    let ratio = || effect::ratio(&one, &other);
    RowComparison {
        row: title.0.clone(),
        quantity: title.1,
        before: before.side(),
        after: after.side(),
        method: if estimate.is_some() { method } else { Method::TooFew },
        effect: estimate.or_else(|| Some(EffectSize { ratio: ratio()?, interval: None })),
    }
}

/// The runs of one row on one side.
#[derive(Default)]
struct Runs {
    counting: Vec<Run>,
    left_out: u32,
    suspect: u32,
}

/// A run that counts.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Run {
    logarithm: f64,
    /// Its start and its place among those of its side, by which runs are ordered; none: not known.
    started: Option<i128>,
}

impl Runs {
    fn side(&self) -> Side {
        let logarithms: Vec<_> = self.counting.iter().map(|run| run.logarithm).collect();
        Side {
            runs: u32::try_from(logarithms.len()).unwrap_or(u32::MAX),
            left_out: self.left_out,
            suspect: self.suspect,
            mean: effect::mean(&logarithms).map_or(0.0, f64::exp),
        }
    }
}

fn runs(title: &(String, Quantity), records: &[TestRecord]) -> Runs {
    let mut runs = Runs::default();
    for record in records {
        let is_row = |one: &Figure| one.row == title.0 && one.quantity == title.1;
        let Some(figure) = record.figures().into_iter().find(is_row) else { continue };
        let stamp = record.judgement.as_ref().map(|judgement| judgement.stamp);
        if stamp == Some(Stamp::Invalid) || figure.value <= 0.0 {
            runs.left_out += 1;
            continue;
        }
        runs.suspect += u32::from(stamp == Some(Stamp::Suspect));
        let started = pairs::started(record);
        runs.counting.push(Run { logarithm: figure.value.ln(), started });
    }
    runs
}

/// With which all intervals of one comparison hold together.
const CONFIDENCE: f64 = 0.95;
