//! The first line of a verdict: what limits, or that nothing does.

use measurement::TestRecord;
use measurement::verdict::Finding;

use super::super::said::Said;
use super::super::seen::Seen;
use super::rate::Near;
use super::{Excuse, Expected, Judged, frame_per_payload};

/// Whether each row says it, and its rate.
pub(super) fn judge(expected: &Expected, rate: Option<&Near>, seen: &Seen) -> Judged {
    let rows: Vec<_> = seen.records.iter().map(|row| (row, Said::from_record(row))).collect();
    let is_right = |(record, said): &(&TestRecord, Said)| {
        said.is_right(expected) && rate.is_none_or(|rate| rate.admits(allowed(record, said)))
    };
    let all_right = !rows.is_empty() && rows.iter().all(is_right);
    let told = |(record, said): &(&TestRecord, Said)| {
        if rate.is_none() {
            return said.to_string();
        }
        let mbps = allowed(record, said);
        format!("\n      {}: {mbps:.1} Mbit/s; {said}", record.plan.title())
    };
    let text = rows.iter().map(told).collect::<Vec<_>>().join("; ");
    let first = rows.first().map(|(_, said)| said);
    Judged {
        alarms: rows.iter().flat_map(|(_, said)| said.alarms()).copied().collect(),
        json: first.map(Said::as_json).unwrap_or_default(),
        // A rate is not what other processes change by so much.
        excuse: if rate.is_none() { Excuse::AnyLoad } else { Excuse::Never },
        ..Judged::new(all_right, first.map_or_else(|| "nothing".to_owned(), Said::word), text)
    }
}

/// Mbit/s of frames that the headline allows; 0: it allows any.
fn allowed(record: &TestRecord, said: &Said) -> f64 {
    let bound = |finding: &Finding| Some(finding.effect.bound()?.to.bits_per_second() as f64);
    let payload = said.headline.as_ref().and_then(bound);
    let frames = payload.zip(frame_per_payload(record)).map(|(payload, share)| payload * share);
    frames.unwrap_or(0.0) / 1e6
}
