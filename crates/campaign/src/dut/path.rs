//! Frames through the device, in one direction or both at once, and what a trial saw.

use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::Relaxed;
use std::thread;
use std::time::Duration;

use measurement::packets::{EngineUse, FrameLatency};
use measurement::{BitRate, SearchTrial, Stamp, TrialPurpose};
use packets::{
    Addressing, FrameSizes, FrameTrial, LiveCounts, PacketError, Setup, TrialOutcome, TrialPlan,
    send_some,
};

use super::Lane;

/// Open engines of all lanes.
pub(super) struct Path<'a> {
    lanes: &'a [Lane],
    trials: Vec<FrameTrial<'a>>,
    live: &'a LiveCounts,
    stop: &'a AtomicBool,
    /// Frames of all trials that arrived once more.
    pub(super) duplicates: u64,
    /// Frames of all trials that arrived after one that was sent later.
    pub(super) reordered: u64,
}

/// How much is sent, in all lanes together.
#[derive(Clone, Copy, Debug)]
pub(super) struct Load {
    /// Frames in a second; none: as many as can be.
    pub(super) rate: Option<f64>,
    pub(super) duration: Duration,
    /// Frames after which it ends; none: no limit.
    pub(super) frames: Option<u64>,
}

/// Counts of a trial, in all lanes together.
#[derive(Clone, Copy, Debug)]
pub(super) struct Seen {
    pub(super) sent: u64,
    pub(super) arrived: u64,
    pub(super) sent_bytes: u64,
    pub(super) arrived_bytes: u64,
    pub(super) span: Duration,
    /// From the last frame that was sent to the last that arrived.
    delay: Duration,
    /// By how much more than the first frame that is.
    late: Duration,
    /// The delay without what an interruption left in a queue, if all frames arrived.
    lasting_delay: Duration,
    duplicates: u64,
    reordered: u64,
    /// Frames that the receivers here had no room for.
    pub(super) dropped: u64,
    /// Time that other work kept the sender from sending.
    interrupted: Duration,
    /// Latency of the first lane; none: no frame arrived, or nobody timed them.
    pub(super) latency: Option<FrameLatency>,
    took: Duration,
}

impl<'a> Path<'a> {
    pub(super) fn open(
        lanes: &'a [Lane],
        live: &'a LiveCounts,
        stop: &'a AtomicBool,
    ) -> Result<Self, PacketError> {
        let trials = lanes.iter().map(|lane| FrameTrial::open(&lane.setup, &lane.layout));
        let trials = trials.collect::<Result<_, _>>()?;
        Ok(Self { lanes, trials, live, stop, duplicates: 0, reordered: 0 })
    }

    /// Engines that send and receive in the first lane.
    pub(super) fn engines(&self) -> (EngineUse, EngineUse) {
        let first = &self.trials[0];
        let receive = first.receive_engine.clone();
        (first.send_engine.clone(), receive.unwrap_or_else(|| first.send_engine.clone()))
    }

    /// Has the device learn of the ports: a bridge where the one that receives is (RFC 2544, appendix
    /// C.2.4), by a frame from there, as it floods what it cannot place; NAT what to let back in.
    pub(super) fn teach(&self) -> Result<(), PacketError> {
        for (setup, layout) in self.lanes.iter().filter_map(|lane| lane.opener.as_ref()) {
            send_some(setup, layout, self.stop)?;
        }
        let [Lane { setup, layout, .. }] = self.lanes else { return Ok(()) };
        let Some(port) = &setup.to else { return Ok(()) };
        let back = Setup { from: port.clone(), ..setup.clone() };
        let forth = *layout.addressing();
        let layout = layout.with_addressing(Addressing {
            source_mac: port.mac,
            destination_mac: setup.from.mac,
            source: forth.destination,
            destination: forth.source,
            ..forth
        })?;
        send_some(&back, &layout, self.stop)
    }

    pub(super) fn sizes(&self) -> &FrameSizes {
        self.lanes[0].layout.sizes()
    }

    pub(super) const fn lanes(&self) -> usize {
        self.lanes.len()
    }

    pub(super) fn bits_per_frame(&self) -> f64 {
        mean(self.sizes()) * 8.0
    }

    pub(super) fn is_stopped(&self) -> bool {
        self.stop.load(Relaxed)
    }

    /// Runs a trial in all lanes at once.
    pub(super) fn run(&mut self, load: &Load) -> Result<Seen, PacketError> {
        let start = linux::clock::monotonic();
        let lanes = self.lanes.len();
        let plan = TrialPlan {
            rate: load.rate.map(|rate| rate / lanes as f64),
            duration: load.duration,
            frames: load.frames,
        };
        let (live, stop) = (self.live, self.stop);
        let outcomes: Vec<_> = thread::scope(|scope| {
            let run = |trial: &'_ mut FrameTrial<'a>| trial.run(&plan, live, stop);
            let (first, rest) = self.trials.split_at_mut(1);
            let others: Vec<_> = rest
                .iter_mut()
                .map(|trial| scope.spawn(move || trial.run(&plan, live, stop)))
                .collect();
            let own = first.iter_mut().map(run).collect::<Vec<_>>();
            let others = others
                .into_iter()
                .map(|other| other.join().unwrap_or_else(|cause| std::panic::resume_unwind(cause)));
            own.into_iter().chain(others).collect()
        });
        let outcomes = outcomes.into_iter().collect::<Result<Vec<_>, _>>()?;
        let took = linux::clock::monotonic().saturating_sub(start);
        let seen = outcomes.iter().map(|one| Seen::of(one, self.sizes(), took));
        let seen = seen.reduce(Seen::and).unwrap_or_else(|| Seen::nothing(took));
        if !seen.is_whole() {
            self.check_ports()?;
        }
        self.duplicates += seen.duplicates;
        self.reordered += seen.reordered;
        Ok(seen)
    }
}

impl Path<'_> {
    /// Looks whether the ports of this host are there and up, before a device is blamed.
    fn check_ports(&self) -> Result<(), PacketError> {
        self.lanes.iter().try_for_each(|lane| lane.setup.check_ports())
    }
}

impl Seen {
    const fn nothing(took: Duration) -> Self {
        Self {
            sent: 0,
            arrived: 0,
            sent_bytes: 0,
            arrived_bytes: 0,
            span: Duration::ZERO,
            delay: Duration::ZERO,
            late: Duration::ZERO,
            lasting_delay: Duration::ZERO,
            duplicates: 0,
            reordered: 0,
            dropped: 0,
            interrupted: Duration::ZERO,
            latency: None,
            took,
        }
    }

    fn of(outcome: &TrialOutcome, sizes: &FrameSizes, took: Duration) -> Self {
        let sent = &outcome.sent;
        let mut seen = Self {
            sent: sent.frames,
            sent_bytes: sent.bytes,
            span: sent.span,
            interrupted: sent.interrupted,
            ..Self::nothing(took)
        };
        let Some(received) = &outcome.received else { return seen };
        seen.arrived = received.counts.unique().min(sent.frames);
        seen.arrived_bytes = sizes.bytes(seen.arrived);
        (seen.duplicates, seen.reordered) = (received.counts.duplicates, received.counts.reordered);
        seen.dropped = received.drops.iter().map(|one| one.frames).sum();
        if seen.arrived > 0 {
            seen.delay = received.last.since(sent.last);
            seen.late = seen.delay.saturating_sub(received.first_delay);
            let lasting = received.lasting_delay.filter(|_| seen.is_whole());
            seen.lasting_delay = lasting_delay(seen.delay, lasting, seen.span);
            seen.latency = received.latency.as_ref().map(packets::latency);
        }
        seen
    }

    /// Both together.
    fn and(self, other: Self) -> Self {
        Self {
            sent: self.sent + other.sent,
            arrived: self.arrived + other.arrived,
            sent_bytes: self.sent_bytes + other.sent_bytes,
            arrived_bytes: self.arrived_bytes + other.arrived_bytes,
            span: self.span.max(other.span),
            delay: self.delay.max(other.delay),
            late: self.late.max(other.late),
            lasting_delay: self.lasting_delay.max(other.lasting_delay),
            duplicates: self.duplicates + other.duplicates,
            reordered: self.reordered + other.reordered,
            dropped: self.dropped + other.dropped,
            interrupted: self.interrupted.max(other.interrupted),
            latency: self.latency,
            took: self.took,
        }
    }

    pub(super) const fn is_whole(&self) -> bool {
        self.arrived >= self.sent
    }

    pub(super) fn offered(&self) -> BitRate {
        BitRate::average(self.sent_bytes, self.span)
    }

    /// The trial of a search.
    pub(super) fn trial(&self, purpose: TrialPurpose, intended: BitRate) -> SearchTrial {
        let lost = self.sent.saturating_sub(self.arrived);
        let lost_ratio = lost as f64 / self.sent.max(1) as f64;
        SearchTrial {
            purpose,
            intended,
            offered: self.offered(),
            delivered: BitRate::average(self.arrived_bytes, self.span + self.late),
            sustained: None,
            duration: self.span,
            took: self.took,
            datagrams: Some(self.sent),
            lost_ratio,
            delay: self.lasting_delay,
            stamp: if self.dropped > 0 { Stamp::Suspect } else { Stamp::Valid },
            disturbed: self.was_kept_from(intended),
        }
    }

    /// Whether less than the load was sent, and other work of the CPU is why.
    fn was_kept_from(&self, intended: BitRate) -> bool {
        let bits = |rate: BitRate| rate.bits_per_second() as f64;
        let missing = 1.0 - bits(self.offered()) / bits(intended).max(1.0);
        let kept = self.interrupted.as_secs_f64() / self.span.as_secs_f64().max(f64::MIN_POSITIVE);
        missing > NOTICED && kept * 2.0 >= missing
    }
}

/// The delay at the end of a trial without what interruptions left in a queue. Of a device that is
/// interrupted again and again that is part of its throughput, so no more than a small share of the
/// trial is left out.
fn lasting_delay(delay: Duration, lasting: Option<Duration>, span: Duration) -> Duration {
    let least = delay.saturating_sub(span.mul_f64(LEFT_OUT));
    lasting.map_or(delay, |lasting| lasting.clamp(least, delay))
}

/// Share of a trial: the width to which a throughput is known by default.
const LEFT_OUT: f64 = 0.01;
/// Share of the load whose lack matters.
const NOTICED: f64 = 0.001;

/// Mean size of a frame, with the frame check sequence, in bytes.
pub(super) fn mean(sizes: &FrameSizes) -> f64 {
    sizes.all().iter().sum::<usize>() as f64 / sizes.all().len().max(1) as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_more_than_a_hundredth_of_a_trial_is_taken_for_interruptions() {
        let (short, second) = (Duration::from_micros(300), Duration::from_secs(1));
        let left = |millis| lasting_delay(Duration::from_millis(millis), Some(short), second);
        assert_eq!(left(8), short);
        // Twice 20 ms in each second: 4 % less throughput.
        assert_eq!(left(36), Duration::from_millis(26));
        assert_eq!(lasting_delay(Duration::from_millis(8), None, second).as_millis(), 8);
    }
}
