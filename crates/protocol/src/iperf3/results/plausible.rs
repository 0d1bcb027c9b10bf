//! Reports of a peer that are taken if their numbers can be.

use measurement::{DelayVariation, PacingReport, Runtime};

use super::json::{self, Members};

/// The peer's worker threads, if the numbers are plausible. Another form, as of a newer linerate,
/// is ignored.
pub(super) fn runtime(truth: &Members<'_>) -> Option<Box<Runtime>> {
    let text = truth.text("runtime").filter(|text| json::most_values(text) <= MOST_OF_RUNTIME)?;
    let runtime: Box<Runtime> = measurement::json::read(text).ok()?;
    runtime.is_plausible(json::MOST).then_some(runtime)
}

/// The peer's report on pacing, if the numbers are plausible. Another form, as of a newer linerate,
/// is ignored.
pub(super) fn pacing(truth: &Members<'_>) -> Option<Box<PacingReport>> {
    let text = truth.text("pacing").filter(|text| json::most_values(text) <= MOST_OF_PACING)?;
    let report: Box<PacingReport> = measurement::json::read(text).ok()?;
    report.is_plausible(json::MOST).then_some(report)
}

/// The delay variation that the peer saw, if the numbers are plausible.
pub(super) fn ipdv(truth: &Members<'_>) -> Option<Box<DelayVariation>> {
    let text = truth.text("ipdv").filter(|text| json::most_values(text) <= MOST_OF_PACING)?;
    let report: Box<DelayVariation> = measurement::json::read(text).ok()?;
    report.is_plausible(json::MOST).then_some(report)
}

/// A thousand units with their numbers, and room for more.
const MOST_OF_RUNTIME: usize = 16 * 1024;
/// More than a report of numbers with names has.
const MOST_OF_PACING: usize = 256;
