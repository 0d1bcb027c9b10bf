//! The rates that were found for rows of UDP, and what happened above.

use measurement::record::RateSearch;

use super::{labelled, table};
use crate::columns::Emphasis;
use crate::runs::Run;

pub(super) fn lines(rows: &[Run<'_>], width: usize) -> Vec<String> {
    let found = rows.iter().filter_map(|(record, run)| {
        let search = record.trials.rate.as_ref()?;
        Some(format!("{}: {}", table::row_name(&record.plan) + run, told(search)))
    });
    let lines = found.enumerate().flat_map(|(number, text)| {
        let label = if number == 0 { "RATE" } else { "" };
        labelled(label, Emphasis::Strong, &text, width)
    });
    lines.collect()
}

fn told(search: &RateSearch) -> String {
    let held = search.held;
    match search.next_above() {
        Some(above) if above.loss > LITTLE => {
            let lost = table::share(above.loss);
            format!("{held} with <= 0.1 % loss; at {} {lost} was lost.", above.asked)
        }
        Some(above) => format!("{held} kept; of {} {} arrived.", above.asked, above.arrived),
        None => format!("{held} without loss; no more was tried."),
    }
}

/// Loss that a rate may have.
const LITTLE: f64 = 0.001;
