//! Whether a worker that sends lets other threads have its CPU between two calls, by
//! sched_yield(2).
//!
//! Over loopback a receiver often runs on the CPU of its sender. A sender that goes on until its time
//! slice ends fills the sockets with more than the caches hold, and the receiver copies from memory;
//! one that lets it run after half a megabyte leaves it the bytes in the caches. Where nobody waits
//! for the CPU the call returns at once.
//!
//! Whether that is faster is tried. A thread that uses the CPU for other work would have nearly all
//! of it, since a call gives up the rest of the time slice: if the CPU is away for long again and
//! again, the worker keeps it for a while.

use std::time::Duration;

use measurement::Timestamp;

use crate::trial::SpeedTrial;

/// How one worker shares its CPU.
#[derive(Debug)]
pub(crate) struct CpuSharing {
    trial: SpeedTrial,
    is_shared: bool,
    /// Bytes that were sent since the last decision.
    sent: u64,
    /// Bytes that the worker had sent and received at the last decision, and when that was.
    decided: Option<(u64, Timestamp)>,
    /// Since when the worker has had the CPU.
    back: Timestamp,
    /// How often in a row the CPU was away for long.
    long_waits: u32,
    /// Until then it keeps the CPU.
    kept_until: Timestamp,
}

impl Default for CpuSharing {
    fn default() -> Self {
        Self {
            trial: SpeedTrial::after(WARM_UP).in_turns(TURNS),
            is_shared: true,
            sent: 0,
            decided: None,
            back: Timestamp::default(),
            long_waits: 0,
            kept_until: Timestamp::default(),
        }
    }
}

impl CpuSharing {
    /// So many bytes were sent, and the worker has sent and received `moved` in all: whether others
    /// are to run now.
    pub(crate) fn sent(&mut self, bytes: u64, moved: u64, now: Timestamp) -> bool {
        self.sent += bytes;
        if self.sent < TURN {
            return false;
        }
        self.sent = 0;
        let Some((before, decided)) = self.decided.replace((moved, now)) else { return true };
        let wants = self.trial.wants(self.is_shared, moved - before, now.since(decided), now);
        self.is_shared = (wants || self.trial.is_to_come(now)) && now >= self.kept_until;
        self.is_shared
    }

    /// Bytes that a call sends at most: what is left for a receiver to find in the caches.
    pub(crate) const fn most_sent(&self) -> usize {
        if self.is_shared { CALL } else { usize::MAX }
    }

    /// Others had the CPU from `gone` to `back`.
    pub(crate) fn was_away(&mut self, gone: Timestamp, back: Timestamp) {
        let worked = gone.since(std::mem::replace(&mut self.back, back));
        let is_long = back.since(gone) > LONG.max(worked * FAIR);
        self.long_waits = if is_long { self.long_waits + 1 } else { 0 };
        if self.long_waits == MOST_LONG_WAITS {
            self.long_waits = 0;
            self.kept_until = back.after(KEPT);
        }
    }
}

/// A quarter of a second-level cache of 2 MiB.
const CALL: usize = 512 << 10;
/// Bytes that are sent before others run: about a call.
const TURN: u64 = 384 << 10;
/// Where threads run changes every few tenths of a second.
const TURNS: u32 = 4;
/// The beginning, in which receivers try something themselves.
const WARM_UP: Duration = Duration::from_millis(100);
/// A receiver reads what was sent within less, unless its CPU is slow.
const LONG: Duration = Duration::from_millis(1);
/// A receiver takes about as long as the sender took for the same bytes; one of several senders
/// some times as long.
const FAIR: u32 = 4;
const MOST_LONG_WAITS: u32 = 3;
const KEPT: Duration = Duration::from_secs(5);

#[cfg(test)]
mod tests {
    use super::*;

    /// A worker that sends for a second, `kept` microseconds for each turn while it keeps the CPU and
    /// `shared` while it shares it, with others running for `away` microseconds: how often it shared
    /// it in the last half of that second.
    fn shares(kept: u64, shared: u64, away: u64) -> u64 {
        let mut sharing = CpuSharing::default();
        let (mut now, mut is_shared, mut count, mut moved) = (Timestamp::default(), true, 0, 0);
        while now.nanos() < 1_000_000_000 {
            now = now.after(Duration::from_micros(if is_shared { shared } else { kept }));
            moved += TURN;
            is_shared = sharing.sent(TURN, moved, now);
            if is_shared {
                let back = now.after(Duration::from_micros(away));
                sharing.was_away(now, back);
                now = back;
                count += u64::from(now.nanos() > 500_000_000);
            }
        }
        count
    }

    #[test]
    fn a_receiver_on_the_same_cpu_runs_after_each_turn() {
        // 80 us of sending and receiving, in place of 120 with cold caches.
        assert!(shares(120, 40, 40) > 6_000);
    }

    #[test]
    fn where_it_does_not_pay_the_worker_goes_on() {
        assert_eq!(shares(80, 45, 45), 0);
    }

    #[test]
    fn a_thread_that_keeps_the_cpu_costs_three_slices() {
        assert!(shares(80, 40, 3_000) <= 3);
        let mut sharing = CpuSharing::default();
        let (mut now, mut moved) = (Timestamp::from_nanos(1_000_000_000), 0);
        let mut share = |sharing: &mut CpuSharing, away| {
            now = now.after(Duration::from_micros(40));
            moved += TURN;
            let is_shared = sharing.sent(TURN, moved, now);
            if is_shared {
                sharing.was_away(now, now.after(Duration::from_micros(away)));
                now = now.after(Duration::from_micros(away));
            }
            is_shared
        };
        assert!((0..1_000).all(|_| share(&mut sharing, 40)), "before the trial");
        let long = (0..1_000).filter(|_| share(&mut sharing, 3_000)).count();
        assert_eq!(long, 3);
    }

    #[test]
    fn on_a_slow_cpu_the_receiver_has_its_time() {
        // Half a megabyte takes 5 ms.
        assert!(shares(12_000, 5_000, 5_000) > 40);
    }
}
