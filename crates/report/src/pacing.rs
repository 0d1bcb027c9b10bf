//! One line on how a rate was kept.

use measurement::units::show_duration;
use measurement::{Pacing, PacingReport, PacingWay};

/// What a reader must know of it: that the rate was kept, or what kept it from that.
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

fn stalls(report: &PacingReport) -> Option<String> {
    let (count, outside) = (report.stalls, report.achieved_outside_stalls);
    let stalls = if count == 1 { "1 stall" } else { &format!("{count} stalls") };
    let span = show_duration(report.stalled);
    (count > 0).then(|| match report.pacing {
        Pacing::Repay => format!("{stalls} of {span} in all, repaid"),
        Pacing::Smooth | Pacing::Even => {
            format!("{stalls} of {span} in all, {outside} outside them")
        }
    })
}

fn forgone(report: &PacingReport) -> Option<String> {
    let span = show_duration(report.forgone);
    (!report.forgone.is_zero()).then(|| format!("too slow by {span}: this end, or its link"))
}

fn spinning(report: &PacingReport) -> Option<String> {
    let percent = report.spin_share * 100.0;
    let told = report.way == PacingWay::TimerAndSpin || percent >= 10.0;
    told.then(|| format!("spun {percent:.0} % of the time"))
}
