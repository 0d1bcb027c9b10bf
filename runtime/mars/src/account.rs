//! Accounting of an MPU's time: running, sleeping, spinning.

use std::sync::atomic::Ordering::{Relaxed, Release};
use std::time::Duration;

use portable_atomic::AtomicU64;

use crate::time::Time;

/// The time counters of one MPU, on cache lines of its own. Only the MPU writes them.
#[derive(Debug)]
#[repr(align(128))]
pub(crate) struct Account {
    /// Start of the MPU in nanoseconds; zero: not started.
    began: AtomicU64,
    idle: AtomicU64,
    /// Since when it sleeps, in nanoseconds; zero: it is awake.
    asleep_since: AtomicU64,
    ready_wait: AtomicU64,
    turns: AtomicU64,
    sleeps: AtomicU64,
    long_sleeps: AtomicU64,
    long_idle: AtomicU64,
    spun: AtomicU64,
    kinds: Box<[KindAccount]>,
}

#[derive(Debug)]
struct KindAccount {
    name: &'static str,
    run: AtomicU64,
    turns: AtomicU64,
}

impl Account {
    pub(crate) fn new(kinds: &[&'static str]) -> Self {
        let zero = AtomicU64::default;
        let kinds = kinds.iter().map(|name| KindAccount { name, run: zero(), turns: zero() });
        Self {
            began: zero(),
            idle: zero(),
            asleep_since: zero(),
            ready_wait: zero(),
            turns: zero(),
            sleeps: zero(),
            long_sleeps: zero(),
            long_idle: zero(),
            spun: zero(),
            kinds: kinds.collect(),
        }
    }

    pub(crate) fn begin(&self, now: Time) {
        self.began.store(now.nanos(), Relaxed);
    }

    pub(crate) fn fall_asleep(&self, now: Time) {
        add(&self.sleeps, 1);
        self.asleep_since.store(now.nanos(), Release);
    }

    pub(crate) fn wake_up(&self, now: Time) {
        let since = self.asleep_since.load(Relaxed);
        let slept = now.nanos().saturating_sub(since);
        add(&self.idle, slept);
        if slept >= nanos(Utilisation::LONG_SLEEP) {
            add(&self.long_sleeps, 1);
            add(&self.long_idle, slept);
        }
        self.asleep_since.store(0, Release);
    }

    /// Records that it spun for `span` until a deadline.
    pub(crate) fn spin(&self, span: Duration) {
        add(&self.spun, nanos(span));
    }

    pub(crate) fn spun(&self) -> Duration {
        Duration::from_nanos(self.spun.load(Relaxed))
    }

    /// Records that workloads of `kind` ran for `span` in `turns` turns, while `waiting`
    /// others were ready.
    pub(crate) fn run(&self, kind: usize, span: Duration, turns: u64, waiting: usize) {
        let span = nanos(span);
        add(&self.ready_wait, span.saturating_mul(waiting as u64));
        add(&self.turns, turns);
        add(&self.kinds[kind].run, span);
        add(&self.kinds[kind].turns, turns);
    }

    pub(crate) fn read(&self, now: Time) -> Utilisation {
        let began = self.began.load(Relaxed);
        let asleep_since = self.asleep_since.load(Relaxed);
        let asleep = if asleep_since == 0 { 0 } else { now.nanos().saturating_sub(asleep_since) };
        let lived = if began == 0 { 0 } else { now.nanos().saturating_sub(began) };
        let idle = (self.idle.load(Relaxed) + asleep).min(lived);
        let kinds = self.kinds.iter().map(|kind| KindUse {
            name: kind.name,
            run: Duration::from_nanos(kind.run.load(Relaxed)),
            turns: kind.turns.load(Relaxed),
        });
        Utilisation {
            run: Duration::from_nanos(lived - idle),
            idle: Duration::from_nanos(idle),
            ready_wait: Duration::from_nanos(self.ready_wait.load(Relaxed)),
            spun: Duration::from_nanos(self.spun.load(Relaxed)),
            turns: self.turns.load(Relaxed),
            sleeps: self.sleeps.load(Relaxed),
            long_sleeps: self.long_sleeps.load(Relaxed),
            long_idle: Duration::from_nanos(self.long_idle.load(Relaxed)),
            kinds: kinds.collect(),
        }
    }
}

/// Running time, idle time and turns (calls of [`Workload::run`](crate::Workload::run)) of one MPU
/// (a worker thread of the runtime), since its start or between two readings.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Utilisation {
    /// Time in which the MPU ran workloads or looked for ready ones.
    pub run: Duration,
    /// Time in which the MPU slept because no workload was ready.
    pub idle: Duration,
    /// Sum of the times that ready workloads waited for this MPU.
    pub ready_wait: Duration,
    /// Part of `run` in which the MPU spun until a deadline.
    pub spun: Duration,
    /// Number of turns: how often the MPU ran a workload.
    pub turns: u64,
    /// How often the MPU slept.
    pub sleeps: u64,
    /// How often it slept for [`Self::LONG_SLEEP`] or more, until it woke.
    pub long_sleeps: u64,
    /// Part of `idle` in which it did.
    pub long_idle: Duration,
    /// Time and turns of each kind of workload.
    pub kinds: Vec<KindUse>,
}

/// Running time and turns that the workloads of one kind used of an MPU (a worker thread).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct KindUse {
    /// Name of the kind of workload ([`crate::Module::NAME`]).
    pub name: &'static str,
    /// Time in which they ran. Turns between two readings of the clock count for the kind
    /// of the last one.
    pub run: Duration,
    /// Number of turns of these workloads.
    pub turns: u64,
}

impl Utilisation {
    /// Least length of a long sleep.
    pub const LONG_SLEEP: Duration = Duration::from_millis(10);

    /// Share of the time in which the MPU (worker thread) did not sleep, from 0 to 1. It is 0 if no
    /// time has passed.
    pub fn share(&self) -> f64 {
        let all = (self.run + self.idle).as_secs_f64();
        if all > 0.0 { self.run.as_secs_f64() / all } else { 0.0 }
    }

    /// The times and numbers that were added since an `earlier` reading of the same MPU (worker
    /// thread).
    #[must_use]
    pub fn since(&self, earlier: &Self) -> Self {
        let kinds = self.kinds.iter().zip(&earlier.kinds).map(|(now, then)| KindUse {
            name: now.name,
            run: now.run.saturating_sub(then.run),
            turns: now.turns - then.turns,
        });
        Self {
            run: self.run.saturating_sub(earlier.run),
            idle: self.idle.saturating_sub(earlier.idle),
            ready_wait: self.ready_wait.saturating_sub(earlier.ready_wait),
            spun: self.spun.saturating_sub(earlier.spun),
            turns: self.turns - earlier.turns,
            sleeps: self.sleeps - earlier.sleeps,
            long_sleeps: self.long_sleeps - earlier.long_sleeps,
            long_idle: self.long_idle.saturating_sub(earlier.long_idle),
            kinds: kinds.collect(),
        }
    }
}

/// Each counter has one writer, so that no atomic addition is needed.
fn add(counter: &AtomicU64, more: u64) {
    counter.store(counter.load(Relaxed).wrapping_add(more), Relaxed);
}

fn nanos(span: Duration) -> u64 {
    u64::try_from(span.as_nanos()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(millis: u64) -> Time {
        Time::from_nanos(1_000_000_000 + millis * 1_000_000)
    }

    const fn millis(number: u64) -> Duration {
        Duration::from_millis(number)
    }

    #[test]
    fn what_is_not_slept_is_run() {
        let account = Account::new(&["one", "other"]);
        assert!(account.read(at(0)).share() < 1e-9, "no time has passed");
        account.begin(at(0));
        account.run(1, millis(20), 3, 2);
        account.fall_asleep(at(20));
        account.wake_up(at(25));
        let early = account.read(at(50));
        assert_eq!((early.run, early.idle, early.ready_wait), (millis(45), millis(5), millis(40)));
        assert_eq!((early.sleeps, early.long_sleeps), (1, 0));
        account.fall_asleep(at(50));
        account.wake_up(at(80));
        account.spin(millis(1));
        account.fall_asleep(at(95));
        // It sleeps still.
        let span = account.read(at(150)).since(&early);
        assert_eq!((span.run, span.idle, span.spun), (millis(15), millis(85), millis(1)));
        assert_eq!((span.sleeps, span.long_sleeps, span.long_idle), (2, 1, millis(30)));
        assert!((span.share() - 0.15).abs() < 1e-9, "{span:?}");
        assert_eq!((early.turns, early.kinds[1].turns, early.kinds[1].run), (3, 3, millis(20)));
        assert_eq!((early.kinds[0].turns, span.turns), (0, 0));
    }
}
