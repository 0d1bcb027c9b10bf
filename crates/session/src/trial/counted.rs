//! What this end counted of a test that is over, before a dialect puts it into its results.

use std::time::Duration;

use measurement::outcome::CpuUse;
use measurement::{DelayVariation, Engines, PacingReport, Runtime, StreamSample, Transport};

use super::Trial;
use crate::host_sampler::HostSamples;

/// This end's counters and settings.
pub(crate) struct Counted<'a> {
    pub(crate) transport: Transport,
    /// CPU time of this process while the streams ran.
    pub(crate) cpu: CpuUse,
    /// Congestion control of the first stream, for TCP.
    pub(crate) congestion: Option<&'a str>,
    pub(crate) streams: Vec<CountedStream<'a>>,
    /// How this end's senders kept their rate.
    pub(crate) pacing: Option<PacingReport>,
    /// Delay variation that this end's receivers saw.
    pub(crate) ipdv: Option<DelayVariation>,
    pub(crate) runtime: Option<&'a Runtime>,
    pub(crate) engines: Engines,
    /// What this host counted meanwhile, if it was sampled.
    pub(crate) host: Option<&'a HostSamples>,
}

/// One stream's counters.
pub(crate) struct CountedStream<'a> {
    /// Whether this end sends on it.
    pub(crate) sender: bool,
    /// At the end of the omitted start.
    pub(crate) base: &'a StreamSample,
    /// At the end.
    pub(crate) last: &'a StreamSample,
    /// Time between the two.
    pub(crate) span: Duration,
}

impl Trial {
    /// Whether no more payload will move: a stream broke, or all that this end receives have ended.
    pub(crate) fn is_stuck(&self) -> bool {
        self.pool.is_stuck()
    }

    /// What was counted so far; none: the test has not begun.
    pub(crate) fn counted(&self) -> Option<Counted<'_>> {
        let (base, last) = (self.samples.get(self.base)?, self.samples.last()?);
        let pairs = self.opened.iter().zip(base.streams.iter().zip(&last.streams));
        let streams = pairs.map(|(one, (from, to))| {
            // A sender's measurement ends when it stops, a receiver's with the last arrival.
            let end = if one.sender { self.stopped.unwrap_or(last.at) } else { last.at };
            CountedStream { sender: one.sender, base: from, last: to, span: end.since(base.at) }
        });
        Some(Counted {
            transport: self.spec.plan.transport,
            cpu: self.cpu.usage(),
            congestion: self.records.first().and_then(|record| record.congestion.as_deref()),
            streams: streams.collect(),
            pacing: self.pacing(),
            ipdv: self.ipdv(),
            runtime: self.runtime.as_ref(),
            engines: self.factory.engines(),
            host: self.seen.as_ref(),
        })
    }
}
