//! The server's counters in the format of OpenMetrics 1.0.

use std::fmt;
use std::sync::Arc;

use prometheus_client::collector::Collector;
use prometheus_client::encoding::{
    DescriptorEncoder, EncodeCounterValue, EncodeGaugeValue, EncodeMetric,
};
use prometheus_client::metrics::MetricType;
use prometheus_client::metrics::counter::ConstCounter;
use prometheus_client::metrics::gauge::ConstGauge;
use prometheus_client::registry::{Registry, Unit};
use session::server::{LastResult, ServerMetrics, Snapshot};

use super::process::Usage;

/// Writes out the counts as they stand.
pub(super) struct Exposition(Registry);

impl Exposition {
    /// From now on: this is the time at which the server started.
    pub(super) fn new(counts: Arc<ServerMetrics>) -> Self {
        let started = linux::clock::realtime_millis() as f64 / 1000.0;
        let mut registry = Registry::default();
        registry.register_collector(Box::new(Counts { counts, started }));
        Self(registry)
    }

    /// All families, and the end.
    pub(super) fn text(&self) -> String {
        let mut text = String::new();
        // A string takes everything, and no count refuses to be written.
        _ = prometheus_client::encoding::text::encode(&mut text, &self.0);
        text
    }
}

#[derive(Debug)]
struct Counts {
    counts: Arc<ServerMetrics>,
    started: f64,
}

impl Collector for Counts {
    fn encode(&self, encoder: DescriptorEncoder<'_>) -> fmt::Result {
        let mut families = Families(encoder);
        self.build(&mut families)?;
        let counts = self.counts.snapshot();
        connections(&counts, &mut families)?;
        sessions(&counts, &mut families)?;
        payload(&counts, &mut families)?;
        results(&self.counts.last_results(), &mut families)?;
        process(&Usage::now(), &mut families)
    }
}

impl Counts {
    fn build(&self, families: &mut Families<'_>) -> fmt::Result {
        let help = "Version of linerate.";
        let mut family =
            families.0.encode_descriptor("linerate_build", help, None, MetricType::Info)?;
        family.encode_info(&[("version", env!("CARGO_PKG_VERSION"))])?;
        let help = "When the server started, since the epoch.";
        families.gauge(Name("process_start_time", Some(Unit::Seconds)), help, Some(self.started))
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

/// The last test of each transport and direction that ran to its end.
fn results(results: &[LastResult], families: &mut Families<'_>) -> fmt::Result {
    let unit = |name: &str| Some(Unit::Other(name.to_owned()));
    let of = |value: fn(&LastResult) -> Option<f64>| {
        let known = results.iter().filter_map(move |result| Some((result, value(result)?)));
        known.collect::<Vec<_>>()
    };
    let help = "Rate of the last test.";
    let rates = of(|result| Some(result.rate.bits_per_second() as f64));
    families.results(Name("linerate_last_test_rate", unit("bits_per_second")), help, &rates)?;
    let help = "Lost datagrams of the last test, as a share of those sent.";
    let lost = of(|result| result.lost_ratio);
    families.results(Name("linerate_last_test_lost", unit("ratio")), help, &lost)?;
    let help = "Segments that the sender of the last test retransmitted.";
    let again = of(|result| result.retransmits.map(|segments| segments as f64));
    families.results(Name("linerate_last_test_retransmitted", unit("segments")), help, &again)?;
    let help = "When the last test ended, since the epoch.";
    let ended = of(|result| Some(result.ended_millis as f64 / 1000.0));
    families.results(Name("linerate_last_test_end_timestamp", Some(Unit::Seconds)), help, &ended)
}

/// The process, under the names of Prometheus' client libraries.
fn process(usage: &Usage, families: &mut Families<'_>) -> fmt::Result {
    let help = "CPU time in user space and in the kernel.";
    families.counter(Name("process_cpu", Some(Unit::Seconds)), help, usage.cpu.as_secs_f64())?;
    let help = "Memory in RAM.";
    families.gauge(Name("process_resident_memory", Some(Unit::Bytes)), help, usage.resident)?;
    let help = "Threads.";
    families.gauge(Name("process_threads", None), help, usage.threads)?;
    let help = "Open files and sockets.";
    families.gauge(Name("process_open_fds", None), help, usage.open_files)?;
    let help = "Most files and sockets that may be open.";
    families.gauge(Name("process_max_fds", None), help, usage.most_files)
}

/// A family's name without its unit and suffix.
struct Name(&'static str, Option<Unit>);

/// Families of metrics, written one after another.
struct Families<'a>(DescriptorEncoder<'a>);

impl Families<'_> {
    fn counter(&mut self, name: Name, help: &str, value: impl EncodeCounterValue) -> fmt::Result {
        let counter = ConstCounter::new(value);
        let Name(name, unit) = name;
        counter.encode(self.0.encode_descriptor(name, help, unit.as_ref(), MetricType::Counter)?)
    }

    /// One counter for each value of `label`.
    fn counters(
        &mut self,
        name: Name,
        help: &str,
        label: &str,
        values: &[(&str, u64)],
    ) -> fmt::Result {
        let Name(name, unit) = name;
        let unit = unit.as_ref();
        let mut family = self.0.encode_descriptor(name, help, unit, MetricType::Counter)?;
        for (value, count) in values {
            ConstCounter::new(*count).encode(family.encode_family(&[(label, *value)])?)?;
        }
        Ok(())
    }

    /// One gauge for each transport and direction; left out if there is none.
    fn results(&mut self, name: Name, help: &str, values: &[(&LastResult, f64)]) -> fmt::Result {
        if values.is_empty() {
            return Ok(());
        }
        let Name(name, unit) = name;
        let mut family = self.0.encode_descriptor(name, help, unit.as_ref(), MetricType::Gauge)?;
        for (result, value) in values {
            let transport = result.transport.to_string().to_lowercase();
            let labels = [("direction", result.direction.to_string()), ("transport", transport)];
            ConstGauge::new(*value).encode(family.encode_family(&labels)?)?;
        }
        Ok(())
    }

    /// A gauge, left out if its value is not known.
    fn gauge(
        &mut self,
        name: Name,
        help: &str,
        value: Option<impl EncodeGaugeValue>,
    ) -> fmt::Result {
        let Some(value) = value else { return Ok(()) };
        let Name(name, unit) = name;
        let gauge = ConstGauge::new(value);
        gauge.encode(self.0.encode_descriptor(name, help, unit.as_ref(), MetricType::Gauge)?)
    }
}
