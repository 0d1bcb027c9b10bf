//! Samples by the kind of work: all together, and for each CPU.

use measurement::host::{EachCounter, counter};
use std::collections::BTreeMap;

use measurement::verdict::{CpuWork, Work};
use measurement::{IntoMap, Profile, Task};

use super::Parts;
use super::symbols::Symbols;
use crate::evidence::HostView;

/// What busy CPUs did.
pub(super) struct Shares {
    /// Samples that were not idle.
    pub(super) busy: u64,
    work: BTreeMap<Work, u64>,
    cpus: BTreeMap<u32, Counts>,
    idle: u64,
    /// Samples of each CPU that were due; none: what takes them does not tell.
    due: Option<f64>,
}

/// Of one CPU.
#[derive(Default)]
struct Counts {
    work: BTreeMap<Work, u64>,
    /// Found while linerate's threads ran.
    own: u64,
}

impl Shares {
    pub(super) fn from_profile(profile: &Profile, symbols: &Symbols) -> Self {
        let (busy, work, cpus, idle) = (0, BTreeMap::new(), BTreeMap::new(), 0);
        let mut shares = Self { busy, work, cpus, idle, due: due(profile) };
        for row in &profile.rows {
            let work = symbols.work(row);
            if work == Work::Idle {
                add(&mut shares.idle, row.count);
            } else {
                add(shares.work.entry(work).or_default(), row.count);
            }
            let Some(cpu) = row.cpu else { continue };
            let counts = shares.cpus.entry(cpu).or_default();
            add(counts.work.entry(work).or_default(), row.count);
            add(&mut counts.own, if row.task == Task::Own { row.count } else { 0 });
        }
        shares.busy = profile.samples.saturating_sub(shares.idle);
        // What is in no row was busy with nobody knows what: idle CPUs are found in few places.
        let known = total(shares.work.values().copied());
        let unknown = shares.busy.saturating_sub(known);
        if unknown > 0 {
            add(shares.work.entry(Work::Other).or_default(), unknown);
        }
        shares
    }

    /// Share of the busy time of each kind of work; they add up to 1.
    pub(super) fn work(&self) -> Parts {
        parts(&self.work)
    }

    /// What a table knows of it.
    pub(super) fn labelled(&self) -> f64 {
        let parts = self.work();
        if parts.is_empty() { 0.0 } else { 1.0 - parts.get(&Work::Other).copied().unwrap_or(0.0) }
    }

    /// Each CPU.
    pub(super) fn cpus(&self, host: &HostView<'_>) -> Vec<CpuWork> {
        let of = |(cpu, counts): (&u32, &Counts)| {
            let busy = self.busy_share(*cpu, counts, host)?;
            let busy_work = counts.work.iter().filter(|(work, _)| **work != Work::Idle);
            let work = parts(&busy_work.map(|(work, count)| (*work, *count)).into_map());
            Some(CpuWork { cpu: *cpu, busy, work })
        };
        self.cpus.iter().filter_map(of).collect()
    }

    /// How busy a CPU was: the word of its samples where none is missing, the kernel's
    /// (`/proc/stat`) where some are, and without either what is missing was idle. Some kernels
    /// give none of a CPU that sleeps, of others there are some.
    fn busy_share(&self, cpu: u32, counts: &Counts, host: &HostView<'_>) -> Option<f64> {
        let idle = counts.work.get(&Work::Idle).copied().unwrap_or(0);
        let all = total(counts.work.values().copied());
        let busy = (all - idle) as f64;
        if self.due.map_or(self.idle > 0, |due| all as f64 >= WHOLE * due) {
            return Some(busy / (all as f64).max(1.0));
        }
        told_busy(host, cpu).or_else(|| self.due.map(|due| busy / due))
    }

    /// The CPU without room for more that carried most of the test.
    pub(super) fn carrier<'a>(&self, cpus: &'a [CpuWork]) -> Option<&'a CpuWork> {
        let carried = |cpu: &CpuWork| {
            let counts = self.cpus.get(&cpu.cpu)?;
            let all = total(counts.work.values().copied());
            let own = counts.own as f64 / (all as f64).max(1.0);
            let network: f64 = NETWORK.iter().filter_map(|work| cpu.work.get(work)).sum();
            Some(own.max(network))
        };
        let full = cpus.iter().filter(|cpu| cpu.busy >= FULL);
        let carriers = full.filter_map(|cpu| Some((carried(cpu)?, cpu)));
        let carriers = carriers.filter(|(share, _)| *share >= CARRIES);
        carriers.max_by(|(a, _), (b, _)| a.total_cmp(b)).map(|(_, cpu)| cpu)
    }
}

/// A timer looks at each CPU equally often, whether it has something to do or not.
fn due(profile: &Profile) -> Option<f64> {
    let due = f64::from(profile.hertz) * profile.span.as_secs_f64();
    Some(due).filter(|due| *due > 0.0 && profile.event.starts_with("cpu-clock"))
}

fn told_busy(host: &HostView<'_>, cpu: u32) -> Option<f64> {
    let sum = |states: &[EachCounter<'_>]| -> u64 {
        total(states.iter().filter_map(|state| host.growth(state.on(cpu))))
    };
    let (busy, idle) = (sum(&BUSY), sum(&[counter::CPU_IDLE, counter::CPU_IOWAIT]));
    let all = busy as f64 + idle as f64;
    (all > 0.0).then(|| busy as f64 / all)
}

fn add(to: &mut u64, count: u64) {
    *to = to.saturating_add(count);
}

fn total(counts: impl Iterator<Item = u64>) -> u64 {
    counts.fold(0, u64::saturating_add)
}

fn parts(counts: &BTreeMap<Work, u64>) -> Parts {
    let all = total(counts.values().copied());
    counts.iter().map(|(work, count)| (*work, *count as f64 / (all as f64).max(1.0))).into_map()
}

/// Counters of a CPU that does something (`/proc/stat`, proc(5)).
pub(super) const BUSY: [EachCounter<'static>; 5] = [
    counter::CPU_USER,
    counter::CPU_NICE,
    counter::CPU_SYSTEM,
    counter::CPU_IRQ,
    counter::CPU_SOFTIRQ,
];
/// Of the samples that were due.
const WHOLE: f64 = 0.95;
/// Share of its time in which a CPU has no room for more.
const FULL: f64 = 0.9;
/// Share of a CPU's samples that make it one of the test's.
const CARRIES: f64 = 0.25;
const NETWORK: [Work; 3] = [Work::Receive, Work::Transmit, Work::Driver];
