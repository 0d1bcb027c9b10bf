//! One line on how a rate was kept.

use std::time::Duration;

use measurement::units::group_thousands;
use measurement::{Pacing, PacingReport, PacingWay};

/// One line on the pacing of a direction: that the rate was kept, or why it was not.
pub(crate) fn line(report: &PacingReport) -> String {
    let mut parts = vec![format!(
        "{} of {} ({}, {})",
        report.achieved, report.asked, report.pacing, report.way
    )];
    parts.extend(batches(report));
    parts.extend(stalls(report));
    parts.extend(forgone(report));
    parts.extend(spinning(report));
    parts.join("; ")
}

fn batches(report: &PacingReport) -> Option<String> {
    let batches = report.batches;
    (batches.max > 1).then(|| format!("up to {} at once", batches.p99))
}

/// The time of stalls as a share: a sum over thousands of streams would not be understood.
fn stalls(report: &PacingReport) -> Option<String> {
    let (count, outside) = (report.stalls, report.achieved_outside_stalls);
    let stalls = if count == 1 { "1 stall" } else { &format!("{} stalls", group_thousands(count)) };
    let share = share(report.stalled, report.sending);
    (count > 0).then(|| match report.pacing {
        Pacing::Repay | Pacing::Average => {
            format!("{stalls}, {share} of the time, made up for later")
        }
        Pacing::Smooth | Pacing::Even => {
            format!("{stalls}, {share} of the time, {outside} outside them")
        }
    })
}

fn forgone(report: &PacingReport) -> Option<String> {
    let share = share(report.forgone, report.sending);
    (!report.forgone.is_zero())
        .then(|| format!("{share} of the rate not sent: the sender or its link is too slow"))
}

fn share(part: Duration, whole: Duration) -> String {
    let percent = 100.0 * part.as_secs_f64() / whole.as_secs_f64().max(f64::MIN_POSITIVE);
    match percent {
        ..0.1 => "less than 0.1 %".to_owned(),
        ..10.0 => format!("{percent:.1} %"),
        _ => format!("{:.0} %", percent.min(100.0)),
    }
}

fn spinning(report: &PacingReport) -> Option<String> {
    let percent = report.spin_share * 100.0;
    let is_shown = report.way == PacingWay::TimerAndSpin || percent >= 10.0;
    is_shown.then(|| format!("busy-waited {percent:.0} % of the time"))
}
