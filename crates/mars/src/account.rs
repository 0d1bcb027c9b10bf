//! Where the time of an MPU goes.

use std::sync::atomic::Ordering::{Relaxed, Release};
use std::time::Duration;

use portable_atomic::AtomicU64;

use crate::time::Time;

/// What one MPU publishes of its time, on cache lines of its own.
#[derive(Debug)]
#[repr(align(128))]
pub(crate) struct Account {
    /// When it began; zero: not yet.
    began: AtomicU64,
    idle: AtomicU64,
    /// Since when it sleeps; zero: it does not.
    asleep_since: AtomicU64,
    ready_wait: AtomicU64,
    turns: AtomicU64,
    sleeps: AtomicU64,
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
        add(&self.idle, now.nanos().saturating_sub(since));
        self.asleep_since.store(0, Release);
    }

    /// It spun for `span` until a deadline.
    pub(crate) fn spin(&self, span: Duration) {
        add(&self.spun, nanos(span));
    }

    pub(crate) fn spun(&self) -> Duration {
        Duration::from_nanos(self.spun.load(Relaxed))
    }

    /// For `span` workloads of `kind` ran, in `turns` turns, while `waiting` others were
    /// ready.
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
            kinds: kinds.collect(),
        }
    }
}

/// Where the time of one MPU went, since it began or between two readings.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Utilisation {
    /// It ran workloads, or looked for them.
    pub run: Duration,
    /// It slept, since no workload was ready.
    pub idle: Duration,
    /// What all workloads together waited for this MPU while they were ready.
    pub ready_wait: Duration,
    /// Part of `run` in which it spun until a deadline.
    pub spun: Duration,
    /// How often it ran a workload.
    pub turns: u64,
    /// How often it slept.
    pub sleeps: u64,
    /// The same for each kind of workload.
    pub kinds: Vec<KindUse>,
}

/// What the workloads of one kind used of an MPU.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct KindUse {
    /// The module's name.
    pub name: &'static str,
    /// They ran. Turns between two readings of the clock count for the last one's kind.
    pub run: Duration,
    /// How often one of them ran.
    pub turns: u64,
}

impl Utilisation {
    /// Share of the time in which it ran, 0 to 1.
    pub fn share(&self) -> f64 {
        let all = (self.run + self.idle).as_secs_f64();
        if all > 0.0 { self.run.as_secs_f64() / all } else { 0.0 }
    }

    /// What lies between an earlier reading and this one.
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
            kinds: kinds.collect(),
        }
    }
}

/// One writer each: no exchange is needed.
fn add(counter: &AtomicU64, more: u64) {
    counter.store(counter.load(Relaxed).wrapping_add(more), Relaxed);
}

fn nanos(span: Duration) -> u64 {
    u64::try_from(span.as_nanos()).unwrap_or(u64::MAX)
}
