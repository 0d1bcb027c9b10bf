//! Utilisation of the worker threads that ran the streams at one end of a test: run, idle and wait
//! times of each thread, and start and stop skew. The crate `mars` calls such a thread an MPU.

use serde::{Deserialize, Serialize};

/// Use of the worker threads of one end during a test.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Runtime {
    /// Use of each worker, by its number from 0.
    pub mpus: Vec<MpuUse>,
    /// Numbers of the workers with a utilisation above 0.9: linerate may be what limits the result,
    /// and not the network.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub saturated: Vec<u32>,
    /// Time from the start of the first stream to that of the last one, in seconds.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub start_skew_seconds: Option<f64>,
    /// Time from the start of the first stream to the first byte of the last sending stream, in
    /// seconds.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub first_bytes_seconds: Option<f64>,
    /// Time from the first worker that stopped sending to the last one, in seconds.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub stop_skew_seconds: Option<f64>,
    /// Number of counter reports that workers did not deliver in time.
    pub late_reports: u64,
}

/// Use of one worker, a thread that runs streams, between start and stop of a test.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct MpuUse {
    /// CPU to which the worker was pinned; none: it was not.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub cpu: Option<u32>,
    /// Number of streams of the worker.
    pub streams: u32,
    /// Share of the time in which the worker ran streams, 0 to 1. Time in which it spun for a
    /// datagram to be due does not count, since another ready stream would have been run.
    pub utilisation: f64,
    /// Time in which the worker ran streams or looked for ready ones, in seconds.
    pub run_seconds: f64,
    /// Time in which the worker slept because no stream was ready, in seconds.
    pub idle_seconds: f64,
    /// Time in which streams were ready and waited for the worker, summed over the streams, in
    /// seconds.
    pub ready_wait_seconds: f64,
    /// Part of `run_seconds` in which the worker spun until a datagram was due, in seconds.
    pub spun_seconds: f64,
    /// How often the worker ran a stream.
    pub turns: u64,
    /// How often the worker slept.
    pub sleeps: u64,
    /// How often it slept for 10 ms or more.
    #[serde(skip_serializing_if = "is_none", default)]
    pub pauses: u64,
    /// Part of `idle_seconds` in which it did, in seconds.
    #[serde(skip_serializing_if = "is_no_time", default)]
    pub pause_seconds: f64,
}

impl MpuUse {
    /// A copy with [`Self::utilisation`] computed: run time without spinning, as a share of run
    /// time and idle time.
    #[must_use]
    pub fn rated(mut self) -> Self {
        let all = self.run_seconds + self.idle_seconds;
        let share = if all > 0.0 { (self.run_seconds - self.spun_seconds) / all } else { 0.0 };
        self.utilisation = share.clamp(0.0, 1.0);
        self
    }
}

impl Runtime {
    /// The use of these workers, with the utilisation of each computed, and those above 0.9 listed
    /// as saturated.
    pub fn new(mpus: impl IntoIterator<Item = MpuUse>) -> Self {
        let mpus: Vec<_> = mpus.into_iter().map(MpuUse::rated).collect();
        let busy = (0..).zip(&mpus).filter(|(_, mpu)| mpu.utilisation > SATURATED);
        let saturated = busy.map(|(index, _)| index).collect();
        Self { mpus, saturated, ..Self::default() }
    }
}

impl Runtime {
    /// Whether a peer's report on its workers is plausible: no count is above `most`, shares are
    /// from 0 to 1, times and numbers of workers are possible.
    pub fn is_plausible(&self, most: u64) -> bool {
        let skews = [self.start_skew_seconds, self.first_bytes_seconds, self.stop_skew_seconds];
        self.mpus.len() <= MOST_MPUS
            && self.saturated.iter().all(|index| (*index as usize) < self.mpus.len())
            && self.saturated.len() <= self.mpus.len()
            && skews.into_iter().flatten().all(is_a_span)
            && self.late_reports <= most
            && self.mpus.iter().all(|mpu| mpu.is_plausible(most))
    }
}

impl MpuUse {
    fn is_plausible(&self, most: u64) -> bool {
        let spans = [
            self.run_seconds,
            self.idle_seconds,
            self.ready_wait_seconds,
            self.spun_seconds,
            self.pause_seconds,
        ];
        spans.into_iter().all(is_a_span)
            && (0.0..=1.0).contains(&self.utilisation)
            && self.turns.max(self.sleeps).max(self.pauses) <= most
    }
}

#[cfg_attr(
    target_pointer_width = "64",
    expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands in a reference")
)]
const fn is_none(number: &u64) -> bool {
    *number == 0
}

#[cfg_attr(
    target_pointer_width = "64",
    expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands in a reference")
)]
fn is_no_time(seconds: &f64) -> bool {
    *seconds <= 0.0
}

/// Whether it is a plausible number of seconds.
fn is_a_span(seconds: f64) -> bool {
    (0.0..MOST_SECONDS).contains(&seconds)
}

/// More workers than any host that a test runs on has CPUs.
const MOST_MPUS: usize = 1024;
/// Thousands of streams wait at the same time, each for up to a day.
const MOST_SECONDS: f64 = 1e10;
/// Utilisation above which a worker is saturated.
const SATURATED: f64 = 0.9;

#[cfg(test)]
mod tests {
    use super::*;

    fn mpu(run: f64, idle: f64, spun: f64) -> MpuUse {
        MpuUse { run_seconds: run, idle_seconds: idle, spun_seconds: spun, ..MpuUse::default() }
    }

    #[test]
    fn a_worker_without_idle_time_is_saturated_unless_it_spun() {
        let runtime = Runtime::new([mpu(0.95, 0.05, 0.0), mpu(0.5, 0.5, 0.0), mpu(1.0, 0.0, 0.8)]);
        assert_eq!(runtime.saturated, [0]);
        assert!(MpuUse::default().rated().utilisation.abs() < f64::EPSILON);
    }
}
