//! Families of metrics in the format of OpenMetrics 1.0, for commands that serve metrics.

use std::fmt;

use prometheus_client::collector::Collector;
use prometheus_client::encoding::{
    DescriptorEncoder, EncodeCounterValue, EncodeGaugeValue, EncodeMetric,
};
use prometheus_client::metrics::MetricType;
use prometheus_client::metrics::counter::ConstCounter;
use prometheus_client::metrics::gauge::ConstGauge;
use prometheus_client::registry::{Registry, Unit};

mod process;

use process::Usage;

/// Metrics of a service, written as they stand.
pub(crate) struct Exposition(Registry);

/// What writes the families of a service.
pub(crate) trait Source: Send + Sync + 'static {
    /// Writes the families that are the service's own.
    fn write(&self, families: &mut Families<'_>) -> fmt::Result;
}

impl Exposition {
    /// The metrics of `source`, and those of the process, which started now.
    pub(crate) fn new(source: impl Source) -> Self {
        let started = linux::clock::realtime_millis() as f64 / 1000.0;
        let mut registry = Registry::default();
        registry.register_collector(Box::new(All { source, started }));
        Self(registry)
    }

    /// All families, and the end.
    pub(crate) fn text(&self) -> String {
        let mut text = String::new();
        // A string takes everything, and no count refuses to be written.
        _ = prometheus_client::encoding::text::encode(&mut text, &self.0);
        text
    }
}

struct All<S> {
    source: S,
    started: f64,
}

impl<S> fmt::Debug for All<S> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("All")
    }
}

impl<S: Source> Collector for All<S> {
    fn encode(&self, encoder: DescriptorEncoder<'_>) -> fmt::Result {
        let mut families = Families(encoder);
        build(self.started, &mut families)?;
        self.source.write(&mut families)?;
        process(&Usage::now(), &mut families)
    }
}

fn build(started: f64, families: &mut Families<'_>) -> fmt::Result {
    let help = "Version of linerate.";
    let mut family =
        families.0.encode_descriptor("linerate_build", help, None, MetricType::Info)?;
    family.encode_info(&[("version", env!("CARGO_PKG_VERSION"))])?;
    let help = "When the server started, since the epoch.";
    families.gauge(Name("process_start_time", Some(Unit::Seconds)), help, Some(started))
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
pub(crate) struct Name(pub(crate) &'static str, pub(crate) Option<Unit>);

/// Families of metrics, written one after another.
pub(crate) struct Families<'a>(DescriptorEncoder<'a>);

impl Families<'_> {
    /// A counter without labels.
    pub(crate) fn counter(
        &mut self,
        name: Name,
        help: &str,
        value: impl EncodeCounterValue,
    ) -> fmt::Result {
        let counter = ConstCounter::new(value);
        let Name(name, unit) = name;
        counter.encode(self.0.encode_descriptor(name, help, unit.as_ref(), MetricType::Counter)?)
    }

    /// One counter for each value of `label`.
    pub(crate) fn counters(
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

    /// One gauge for each set of labels; left out if there is none.
    pub(crate) fn gauges<const N: usize>(
        &mut self,
        name: Name,
        help: &str,
        values: &[([(&'static str, String); N], f64)],
    ) -> fmt::Result {
        if values.is_empty() {
            return Ok(());
        }
        let Name(name, unit) = name;
        let mut family = self.0.encode_descriptor(name, help, unit.as_ref(), MetricType::Gauge)?;
        for (labels, value) in values {
            ConstGauge::new(*value).encode(family.encode_family(labels)?)?;
        }
        Ok(())
    }

    /// A gauge, left out if its value is not known.
    pub(crate) fn gauge(
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
