//! What the search for a rate came to, as a footnote to the rows of UDP: that theirs is the highest
//! rate, and what happened above.

use measurement::record::RateSearch;
use measurement::{RateSearchEnd, TestRecord};

use super::{INDENT, table};
use crate::page::wrap;
use crate::rate_search;
use crate::rates::{UnitFormat, show};
use crate::runs::Run;

/// Without its `trials` only what the rate is.
pub(super) fn lines(rows: &[Run<'_>], trials: bool, unit: UnitFormat, width: usize) -> Vec<String> {
    let mut found: Vec<(String, &RateSearch, String)> = Vec::new();
    for (record, _) in rows {
        let Some(search) = record.trials.rate.as_ref() else { continue };
        let name = table::row_name(&record.plan);
        // Of several runs the first tells enough.
        if found.iter().all(|(other, ..)| *other != name) {
            found.push((name, search, title(record, search, unit)));
        }
    }
    let Some((_, _, title)) = found.first() else { return Vec::new() };
    let is_one = found.len() > 1 && found.iter().all(|(_, _, other)| other == title);
    let each = found.iter().map(|(name, search, title)| {
        let above = above(search, unit);
        if !trials {
            format!("{name}: {title}")
        } else if is_one {
            format!("{}: {above}", name.trim_start_matches("UDP "))
        } else {
            format!("{name}: {title}; {above}")
        }
    });
    let each = each.collect::<Vec<_>>().join(if is_one { ", " } else { ". " });
    let text = match is_one {
        true if trials => format!("UDP: {title}; {each}"),
        true => format!("UDP: {title}"),
        false => each,
    };
    let lines = wrap(&format!("{text}."), width - INDENT);
    lines.iter().map(|line| format!("{:INDENT$}{line}", "")).collect()
}

fn title(record: &TestRecord, search: &RateSearch, unit: UnitFormat) -> String {
    if let Some(lost) = rate_search::lost(record, search) {
        let (lost, rate) = (table::share(lost), show(unit, search.held));
        return match rate_search::least_lost(search) {
            Some(0.0) => format!("{lost} of {rate} lost, none in a short trial"),
            Some(least) => {
                format!("{lost} of {rate} lost, {} in a short trial", table::share(least))
            }
            None => format!("{lost} of {rate} lost, and no trial had that rate"),
        };
    }
    let title = match (search.end, search.floor) {
        (_, Some(_)) => "highest rate that loses no more than slow ones",
        (RateSearchEnd::Loss, None) => "highest rate without loss",
        (RateSearchEnd::Sender, None) => "highest rate of the sender",
        (RateSearchEnd::Time, None) => "a rate without loss",
    };
    title.to_owned()
}

/// What more led to.
fn above(search: &RateSearch, unit: UnitFormat) -> String {
    match search.next_above() {
        Some(above) if above.loss > LITTLE => {
            format!("{} of {} lost", table::share(above.loss), show(unit, above.asked))
        }
        Some(above) if search.end == RateSearchEnd::Sender => {
            format!("{} of {}", show(unit, above.sent), show(unit, above.asked))
        }
        Some(above) => {
            format!("{} of {} arrived", show(unit, above.arrived), show(unit, above.asked))
        }
        None => "no more tried".to_owned(),
    }
}

/// Loss that a rate may have.
const LITTLE: f64 = 0.001;
