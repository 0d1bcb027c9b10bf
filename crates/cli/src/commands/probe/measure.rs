//! One test, and its result as metrics.

use campaign::search::Repeat;
use campaign::{PlannedRow, Runner};
use linux::event::StopSignals;
use measurement::RecordSet;
use report::Width;
use report::export::{Export, OpenMetrics};
use session::Family;
use session::client::{ClientOptions, Request};

use super::ask::Asked;
use crate::exit;

/// What came of a test.
pub(super) struct Measured {
    /// Its metrics, OpenMetrics 1.0.
    pub(super) text: String,
    /// Why there is no result; none: the test ran to its end.
    pub(super) failure: Option<String>,
}

/// Runs a test, which `stop` ends.
pub(super) fn run(asked: Asked, stop: &StopSignals) -> Measured {
    let request = Request {
        host: asked.target.host,
        port: asked.target.port,
        family: Family::Any,
        bind: None,
        further_binds: Vec::new(),
        connect_timeout: CONNECT_TIMEOUT,
        cpus: Vec::new(),
        tags: std::collections::BTreeMap::new(),
        plan: asked.plan.clone(),
        options: ClientOptions::default(),
    };
    let begun = linux::clock::monotonic();
    let mut monitor = ();
    let mut runner = Runner::new(request, Some(stop), &mut monitor);
    let results = runner.search(&mut Repeat::once(vec![PlannedRow::of_plan(asked.plan)]));
    let took = linux::clock::monotonic().saturating_sub(begun);
    let mut records = results.records;
    records.error = match &results.error {
        Some(error) => Some(exit::of_session(error)),
        None => exit::of_last(&records.records),
    };
    let failure = records.error.as_ref().map(|error| error.message.clone());
    Measured { text: text(&records, took.as_secs_f64()), failure }
}

/// The metrics of the records, after those of the probe itself.
fn text(records: &RecordSet, seconds: f64) -> String {
    let mut text = format!(
        "# TYPE linerate_probe_duration_seconds gauge\n\
         # UNIT linerate_probe_duration_seconds seconds\n\
         # HELP linerate_probe_duration_seconds Time that the probe took.\n\
         linerate_probe_duration_seconds {seconds}\n"
    )
    .into_bytes();
    // A vector takes everything.
    _ = OpenMetrics.write(records, Width::UNKNOWN, &mut text);
    String::from_utf8_lossy(&text).into_owned()
}

const CONNECT_TIMEOUT: std::time::Duration = std::time::Duration::from_secs(3);
