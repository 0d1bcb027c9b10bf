//! What this end counted of a test: what has moved so far, and what a dialect puts into its results.

use std::sync::Arc;
use std::time::Duration;

use dataplane::Counters;
use measurement::outcome::CpuUse;
use measurement::{
    DelayVariation, Engines, PacingReport, Runtime, StreamSample, Timestamp, Transport,
};

use super::Trial;
use crate::host_sampler::HostSamples;
use crate::observer::Glimpse;

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

    /// What has moved by `now`; none: it has not begun.
    pub(crate) fn glimpse(&self, now: Timestamp) -> Option<Glimpse> {
        let began = self.began()?;
        let (received, sent) = self.moved_each_way();
        let senders = self.opened.iter().filter(|one| one.sender);
        let told = senders.filter_map(|one| Some(one.socket.tcp_sample()?.acknowledged));
        let acknowledged = told.reduce(u64::saturating_add);
        Some(Glimpse { at: now, since_start: now.since(began), sent, acknowledged, received })
    }

    /// Payload bytes that moved on all streams.
    pub(crate) fn moved(&self) -> u64 {
        self.pool.moved()
    }

    /// Payload bytes that moved and those that peers acknowledged: the sum stands still only if
    /// nothing moves.
    pub(crate) fn moved_and_acknowledged(&self) -> u64 {
        let senders = self.opened.iter().filter(|one| one.sender);
        let acknowledged = senders.filter_map(|one| one.socket.tcp_sample());
        self.moved() + acknowledged.map(|tcp| tcp.acknowledged).sum::<u64>()
    }

    /// Payload bytes received and sent.
    pub(crate) fn moved_each_way(&self) -> (u64, u64) {
        let sum = |sends: bool| {
            let streams = self.pool.read().filter(|(_, sender, _)| *sender == sends);
            streams.map(|(_, _, counters)| counters.bytes).sum()
        };
        (sum(false), sum(true))
    }

    /// What each stream counts.
    pub(crate) fn counters(&self) -> Vec<Arc<Counters>> {
        self.pool.counters().collect()
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
