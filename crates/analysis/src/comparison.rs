//! Compares runs before a change with runs after it, and runs of one row by version. Judges no
//! single record: the stamps that the records have count.
//!
//! All is computed from logarithms: rates vary in proportion, and a ratio is what is asked for.
//! Seconds of one run are no runs: they depend on each other.

mod effect;
mod metrics;
mod pairs;
mod sequential;
mod settings;
pub(crate) mod student;
#[cfg(test)]
mod tests;
mod versions;

use std::collections::{BTreeMap, BTreeSet};

use measurement::comparison::{Comparison, EffectSize, Method, RowComparison, Side};
use measurement::{Figure, Quantity, Stamp, TestRecord};

pub use metrics::{Metrics, compare_metrics, metrics};
pub use sequential::{AB_CONFIDENCE, Look, mean_rate, remarks};
pub use versions::{Point, by_version};

/// Compares the runs `before` a change with those `after` it, in rows with the same title. Runs
/// with the stamp INVALID are left out.
///
/// The intervals hold together with 95 %: each has the level 1 - 0.05 / rows (Bonferroni).
pub fn compare(before: &[TestRecord], after: &[TestRecord]) -> Comparison {
    let varied = &varied(before) | &varied(after);
    let titles = |records: &[TestRecord]| {
        let mut seen = BTreeSet::new();
        let titles = records.iter().flat_map(|record| Title::all_of(record, &varied));
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
        unmatched: alone.iter().copied().chain(new).map(Title::shown).collect(),
        missing: alone.iter().copied().map(Title::shown).collect(),
        differences: settings::differences(before, after),
        kernels: (settings::kernels(before), settings::kernels(after)),
    }
}

/// By what runs of both sides are of one row.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Title {
    row: String,
    quantity: Quantity,
    /// Settings of the plan that its title does not name, where a side has several plans of one title,
    /// as a sweep has: they are no repetitions. None: each side has one plan, and the change may be in it.
    settings: Option<String>,
}

impl Title {
    fn all_of(record: &TestRecord, varied: &BTreeSet<String>) -> Vec<Self> {
        let settings = record.settings();
        let of = |figure: Figure| {
            let settings = varied.contains(&figure.row).then(|| settings.clone());
            Self { row: figure.row, quantity: figure.quantity, settings }
        };
        record.figures().into_iter().map(of).collect()
    }

    fn shown(&self) -> String {
        match self.settings.as_deref() {
            None | Some("") => self.row.clone(),
            Some(settings) => format!("{}, {settings}", self.row),
        }
    }

    fn is_of(&self, record: &TestRecord) -> bool {
        self.settings.as_ref().is_none_or(|settings| *settings == record.settings())
    }
}

/// Titles of which the plans of these records differ.
fn varied(records: &[TestRecord]) -> BTreeSet<String> {
    let mut plans: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for record in records {
        for figure in record.figures() {
            plans.entry(figure.row).or_default().insert(record.settings());
        }
    }
    plans.into_iter().filter(|(_, plans)| plans.len() > 1).map(|(row, _)| row).collect()
}

fn row(title: &Title, before: &[TestRecord], after: &[TestRecord], level: f64) -> RowComparison {
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
        row: title.shown(),
        quantity: title.quantity,
        before: before.side(),
        after: after.side(),
        method: if estimate.is_some() { method } else { Method::TooFew },
        effect: estimate.or_else(|| Some(EffectSize { ratio: ratio()?, interval: None })),
    }
}

/// The runs of one row on one side.
#[derive(Default)]
struct Runs {
    counting: Vec<CountedRun>,
    left_out: u32,
    suspect: u32,
}

/// A run that counts.
#[derive(Clone, Copy, Debug, PartialEq)]
struct CountedRun {
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

fn runs(title: &Title, records: &[TestRecord]) -> Runs {
    let mut runs = Runs::default();
    for record in records.iter().filter(|record| title.is_of(record)) {
        let is_row = |one: &Figure| one.row == title.row && one.quantity == title.quantity;
        let Some(figure) = record.figures().into_iter().find(is_row) else { continue };
        let stamp = record.judgement.as_ref().map(|judgement| judgement.stamp);
        if stamp == Some(Stamp::Invalid) || figure.value <= 0.0 {
            runs.left_out += 1;
            continue;
        }
        runs.suspect += u32::from(stamp == Some(Stamp::Suspect));
        let started = pairs::started(record);
        runs.counting.push(CountedRun { logarithm: figure.value.ln(), started });
    }
    runs
}

/// With which all intervals of one comparison hold together.
const CONFIDENCE: f64 = 0.95;
