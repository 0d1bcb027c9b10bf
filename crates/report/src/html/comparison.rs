//! A comparison of runs as data of the page.

use measurement::Comparison;
use measurement::comparison::{Change, Difference, RatioInterval, RowComparison, Side};
use serde::Serialize;

use crate::comparison::{remarks, result};

/// A comparison, a row each.
#[derive(Debug, Serialize)]
pub(super) struct Compared {
    rows: Vec<ComparedRow>,
    remarks: Vec<String>,
    differences: Vec<Difference>,
}

#[derive(Debug, Serialize)]
struct ComparedRow {
    title: String,
    before: String,
    after: String,
    runs: [u32; 2],
    #[serde(skip_serializing_if = "Option::is_none")]
    ratio: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    interval: Option<RatioInterval>,
    result: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    change: Option<Change>,
}

impl Compared {
    pub(super) fn new(comparison: &Comparison) -> Self {
        Self {
            rows: comparison.rows.iter().map(row).collect(),
            remarks: remarks(comparison),
            differences: comparison.differences.clone(),
        }
    }
}

fn row(row: &RowComparison) -> ComparedRow {
    let mean = |side: &Side| {
        if side.runs == 0 { "no run".to_owned() } else { row.quantity.show(side.mean) }
    };
    ComparedRow {
        title: row.row.clone(),
        before: mean(&row.before),
        after: mean(&row.after),
        runs: [row.before.runs, row.after.runs],
        ratio: row.effect.as_ref().map(|effect| effect.ratio),
        interval: row.effect.as_ref().and_then(|effect| effect.interval),
        result: result(row),
        change: row.shown(),
    }
}
