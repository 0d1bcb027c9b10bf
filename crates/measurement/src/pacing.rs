//! Pacing: how a sender spaces its blocks to keep a rate ([`Pacing`]), and how well it kept it
//! ([`PacingReport`]).

use std::fmt;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::units::BitRate;

/// Pacing: how blocks are spaced to keep a rate.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Pacing {
    /// Small batches, never faster than 105 % of the rate. The blocks of a stall of more than a
    /// millisecond are not sent later.
    #[default]
    Smooth,
    /// UDP: each datagram at its own time; the sender spins where it cannot sleep.
    Even,
    /// Like [`Self::Smooth`], but the blocks of a stall are sent later, at 105 % of the rate.
    Repay,
    /// As iperf3 does: the blocks of a stall are sent at once when it ends, so that the mean since the
    /// start is the rate.
    Average,
}

impl Pacing {
    /// All kinds of pacing, the default first.
    pub const ALL: [Self; 4] = [Self::Smooth, Self::Even, Self::Repay, Self::Average];

    /// Name of the pacing on the command line, on the wire and in records.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Smooth => "smooth",
            Self::Even => "even",
            Self::Repay => "repay",
            Self::Average => "average",
        }
    }

    /// Finds a kind of pacing by its name. None: no pacing has this name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|pacing| pacing.name() == name)
    }
}

impl fmt::Display for Pacing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// The mechanism that spaced the blocks of a sender to keep the requested rate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum PacingWay {
    /// The kernel spaces the packets (`SO_MAX_PACING_RATE`, socket(7)); the sender writes blocks in
    /// time.
    #[serde(rename = "kernel")]
    Kernel,
    /// The sender sleeps until a block is due.
    #[serde(rename = "timer")]
    Timer,
    /// The sender sleeps until shortly before a block is due, and spins for the rest.
    #[serde(rename = "timer+spin")]
    TimerAndSpin,
}

impl fmt::Display for PacingWay {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Kernel => "kernel",
            Self::Timer => "timer",
            Self::TimerAndSpin => "timer+spin",
        })
    }
}

/// Median, 99th percentile and maximum of a distribution. The percentiles are exact to within an
/// eighth of their value.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Quantiles {
    /// Median: half of the values are not larger.
    pub p50: u64,
    /// 99th percentile: 99 of 100 values are not larger.
    pub p99: u64,
    /// The largest value, which is exact.
    pub max: u64,
}

/// How the sender of one direction kept its rate, over all its streams and from the first block on,
/// including the omitted start (`--omit`).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PacingReport {
    /// Pacing that was requested for the test.
    pub pacing: Pacing,
    /// The mechanism that spaced the blocks.
    pub way: PacingWay,
    /// Requested rate of all streams together, in bit/s of payload.
    #[serde(rename = "asked_bits_per_second")]
    pub asked: BitRate,
    /// Rate at which blocks were written to the sockets, all streams together.
    #[serde(rename = "achieved_bits_per_second")]
    pub achieved: BitRate,
    /// Rate of all streams together outside of stalls.
    #[serde(rename = "achieved_outside_stalls_bits_per_second")]
    pub achieved_outside_stalls: BitRate,
    /// Time from the first to the last batch, in seconds; with several streams their mean.
    #[serde(rename = "sending_seconds", with = "crate::seconds")]
    #[cfg_attr(feature = "schema", schemars(with = "f64"))]
    pub sending: Duration,
    /// Time of stalls in seconds, mean over the streams: a batch was more than a millisecond late
    /// because of the sender, or later than the batch takes at the rate if that is longer.
    #[serde(rename = "stalled_seconds", with = "crate::seconds")]
    #[cfg_attr(feature = "schema", schemars(with = "f64"))]
    pub stalled: Duration,
    /// Number of stalls, on all streams together.
    pub stalls: u64,
    /// Time whose blocks were given up because the sender or its link was too slow all the time, in
    /// seconds, mean over the streams.
    #[serde(rename = "forgone_seconds", with = "crate::seconds")]
    #[cfg_attr(feature = "schema", schemars(with = "f64"))]
    pub forgone: Duration,
    /// Blocks or datagrams per batch.
    pub batches: Quantiles,
    /// Difference between the time from one batch to the next and the time that it takes at the
    /// rate, in nanoseconds.
    pub gap_error_nanos: Quantiles,
    /// How many batches were late by 2^i to 2^(i+1) nanoseconds, for i from 0; the first
    /// includes those that were not late.
    pub lateness: Vec<u64>,
    /// Share of its time that a sending thread spun in wait for the next block, 0 to 1.
    pub spin_share: f64,
}

impl PacingReport {
    /// Whether a peer's report on pacing is plausible: no number is above `most`, and shares are
    /// from 0 to 1.
    pub fn is_plausible(&self, most: u64) -> bool {
        let quantiles = [self.batches, self.gap_error_nanos];
        let numbers = quantiles.into_iter().flat_map(|q| [q.p50, q.p99, q.max]);
        let rates = [self.asked, self.achieved, self.achieved_outside_stalls];
        let spans = [self.sending, self.stalled, self.forgone];
        (0.0..=1.0).contains(&self.spin_share)
            && spans.iter().all(|span| span.as_nanos() <= most.into())
            && self.lateness.len() <= MOST_BUCKETS
            && numbers
                .chain(rates.map(BitRate::bits_per_second))
                .chain(self.lateness.iter().copied())
                .chain([self.stalls])
                .all(|number| number <= most)
    }
}

/// Maximum number of buckets of [`PacingReport::lateness`]: powers of two of a time in nanoseconds.
pub const MOST_BUCKETS: usize = 64;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_found_and_others_are_not() {
        assert!(Pacing::ALL.iter().all(|pacing| Pacing::named(pacing.name()) == Some(*pacing)));
        assert_eq!(Pacing::named("fast"), None);
        let json = serde_json::to_string(&Pacing::ALL).expect("serialises");
        assert_eq!(json, r#"["smooth","even","repay","average"]"#);
    }
}
