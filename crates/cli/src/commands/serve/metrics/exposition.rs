//! The server's counters as families of metrics.

use std::fmt;
use std::net::IpAddr;
use std::sync::Arc;

use prometheus_client::registry::Unit;
use session::server::{LastResult, ServerMetrics, Snapshot};

use crate::metrics::{Families, Name, Source};

/// The counts as they stand.
#[derive(Debug)]
pub(super) struct Counts(pub(super) Arc<ServerMetrics>);

impl Source for Counts {
    fn write(&self, families: &mut Families<'_>) -> fmt::Result {
        let counts = self.0.snapshot();
        connections(&counts, families)?;
        sessions(&counts, families)?;
        payload(&counts, families)?;
        last_results(&self.0.last_results(), families)?;
        results_by_client(&self.0.results_by_client(), families)
    }
}

fn connections(counts: &Snapshot, families: &mut Families<'_>) -> fmt::Result {
    let help = "TCP connections accepted.";
    families.counter(Name("linerate_connections", None), help, counts.connections)?;
    let help = "Open connections that have not sent their parameters yet.";
    families.gauge(Name("linerate_pending_connections", None), help, Some(counts.pending))?;
    let help = "Clients that were not served, by reason.";
    let refused = counts.refused.map(|(why, count)| (why.name(), count));
    families.counters(Name("linerate_refusals", None), help, "reason", &refused)?;
    let help = "Datagrams that belong to no test.";
    families.counter(Name("linerate_stray_datagrams", None), help, counts.stray_datagrams)?;
    let help = "Datagrams of streams that had ended.";
    families.counter(Name("linerate_late_datagrams", None), help, counts.late_datagrams)
}

fn sessions(counts: &Snapshot, families: &mut Families<'_>) -> fmt::Result {
    let help = "Tests that were let in and have not ended.";
    families.gauge(Name("linerate_sessions_running", None), help, Some(counts.running))?;
    let help = "Tests that wait for their turn.";
    families.gauge(Name("linerate_sessions_waiting", None), help, Some(counts.waiting))?;
    let help = "Tests that have ended, by how they did.";
    let ended = [
        ("completed", counts.completed),
        ("interrupted", counts.interrupted),
        ("failed", counts.failed),
    ];
    families.counters(Name("linerate_sessions", None), help, "ended", &ended)
}

fn payload(counts: &Snapshot, families: &mut Families<'_>) -> fmt::Result {
    let help = "Payload of tests that have ended, by direction as the server sees it.";
    let moved = [("received", counts.received), ("sent", counts.sent)];
    families.counters(Name("linerate_payload", Some(Unit::Bytes)), help, "direction", &moved)
}

/// Families of results: name, unit, help and value of each.
type Quantity = (&'static str, &'static str, &'static str, fn(&LastResult) -> Option<f64>);

const RATE: fn(&LastResult) -> Option<f64> = |result| Some(result.rate.bits_per_second() as f64);
const LOST: fn(&LastResult) -> Option<f64> = |result| result.lost_ratio;
const AGAIN: fn(&LastResult) -> Option<f64> =
    |result| result.retransmits.map(|segments| segments as f64);
const ENDED: fn(&LastResult) -> Option<f64> = |result| Some(result.ended_millis as f64 / 1000.0);

/// The last test of each transport and direction that ran to its end.
fn last_results(results: &[LastResult], families: &mut Families<'_>) -> fmt::Result {
    const QUANTITIES: [Quantity; 4] = [
        ("linerate_last_test_rate", "bits_per_second", "Rate of the last test.", RATE),
        (
            "linerate_last_test_lost",
            "ratio",
            "Lost datagrams of the last test, as a share of those sent.",
            LOST,
        ),
        (
            "linerate_last_test_retransmitted",
            "segments",
            "Segments that the sender of the last test retransmitted.",
            AGAIN,
        ),
        (
            "linerate_last_test_end_timestamp",
            "seconds",
            "When the last test ended, since the epoch.",
            ENDED,
        ),
    ];
    for (name, unit, help, value) in QUANTITIES {
        let known = results.iter().filter_map(|result| Some((labels(result), value(result)?)));
        let name = Name(name, Some(Unit::Other(unit.to_owned())));
        families.gauges(name, help, &known.collect::<Vec<_>>())?;
    }
    Ok(())
}

/// The same of each of the clients that tested last.
fn results_by_client(results: &[(IpAddr, LastResult)], families: &mut Families<'_>) -> fmt::Result {
    const QUANTITIES: [Quantity; 4] = [
        (
            "linerate_client_last_test_rate",
            "bits_per_second",
            "Rate of a client's last test.",
            RATE,
        ),
        (
            "linerate_client_last_test_lost",
            "ratio",
            "Lost datagrams of a client's last test, as a share of those sent.",
            LOST,
        ),
        (
            "linerate_client_last_test_retransmitted",
            "segments",
            "Segments that the sender of a client's last test retransmitted.",
            AGAIN,
        ),
        (
            "linerate_client_last_test_end_timestamp",
            "seconds",
            "When a client's last test ended, since the epoch.",
            ENDED,
        ),
    ];
    for (name, unit, help, value) in QUANTITIES {
        let known = results.iter().filter_map(|(client, result)| {
            let [direction, transport] = labels(result);
            Some(([("client", client.to_string()), direction, transport], value(result)?))
        });
        let name = Name(name, Some(Unit::Other(unit.to_owned())));
        families.gauges(name, help, &known.collect::<Vec<_>>())?;
    }
    Ok(())
}

fn labels(result: &LastResult) -> [(&'static str, String); 2] {
    let transport = result.transport.to_string().to_lowercase();
    [("direction", result.direction.to_string()), ("transport", transport)]
}
