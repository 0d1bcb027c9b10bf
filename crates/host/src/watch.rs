//! Samples a host: reads all collectors from time to time, and keeps the series.

mod scheduled;

use std::sync::Arc;
use std::time::Duration;

use measurement::{Gap, HostEvidence, Inventory, Order, Role, Timestamp};

use crate::profile::{PerfAccess, Profiler};
use crate::{Subject, Tree, collectors, inventory};

use scheduled::ScheduledCollector;

/// Sampler of a host: collectors, profiler and inventory, whose result is [`HostEvidence`].
///
/// It is for a thread that does nothing else, whose CPU time is the cost of the evidence. Counters
/// of a network namespace are those of this thread.
pub struct Watch {
    tree: Tree,
    collectors: Vec<ScheduledCollector>,
    evidence: HostEvidence,
    inventory: Option<(Inventory, Vec<Gap>)>,
    profiler: Option<Profiler>,
    /// CPU time of the thread at the begin.
    begun: Duration,
}

impl Watch {
    /// A sampler of the host whose files `tree` gives access to, for a test with this `subject`.
    /// [`Self::finish`] reads the inventory, unless [`Self::read_inventory`] was called before.
    pub fn new(tree: Tree, subject: Subject) -> Self {
        let begun = linux::clock::thread_cpu();
        let collectors =
            collectors::all(&subject).into_iter().map(ScheduledCollector::new).collect();
        let evidence = HostEvidence { interfaces: subject.interfaces, ..HostEvidence::default() };
        Self { tree, collectors, evidence, inventory: None, profiler: None, begun }
    }

    /// Prepares a CPU profile with `perf_access` (perf_event_open(2)): of all CPUs, or, where that
    /// is not permitted, of the `threads` of this process (gettid(2)). Where neither is permitted
    /// the evidence gets a gap.
    pub fn prepare_profile(&mut self, perf_access: &Arc<PerfAccess>, threads: &[i32]) {
        match Profiler::new(Arc::clone(perf_access), threads) {
            Ok(profiler) => self.profiler = Some(profiler),
            Err(gap) => self.evidence.gaps.push(gap),
        }
    }

    /// Starts the CPU profile. Without effect unless [`Self::prepare_profile`] was called.
    pub fn begin_profile(&mut self) {
        self.with_profiler(Profiler::begin);
    }

    /// Reads the samples of the profile from the ring buffers of the kernel. To be called several
    /// times per second, so that the buffers do not overflow.
    pub fn gather_profile(&mut self) {
        self.with_profiler(Profiler::gather);
    }

    /// Discards the samples that the CPU profile has so far, e.g. at the end of the omitted start.
    pub fn restart_profile(&mut self) {
        self.with_profiler(Profiler::forget);
    }

    fn with_profiler(&mut self, order: impl FnOnce(&mut Profiler)) {
        if let Some(profiler) = &mut self.profiler {
            order(profiler);
        }
    }

    /// Stops the CPU profile and resolves its symbols. This CPU time is told apart from the cost of
    /// the evidence, since the test is over.
    pub fn end_profile(&mut self) {
        let started = linux::clock::thread_cpu();
        self.with_profiler(Profiler::end);
        self.evidence.resolving_seconds += cpu_since(started).as_secs_f64();
    }

    /// Adds threads of this process whose CPU time is sampled (gettid(2)).
    pub fn follow_threads(&mut self, threads: &[i32]) {
        for collector in &mut self.collectors {
            collector.follow_threads(threads);
        }
    }

    /// Reads the collectors of counters that are due, for the sample at the time `now`.
    ///
    /// A collector whose read takes long is left out of some samples, so that it does not load the
    /// host; its counters keep their last values there.
    pub fn sample(&mut self, now: Timestamp) {
        self.sample_if(now, ScheduledCollector::is_due);
    }

    /// Reads all collectors of counters, also slow ones that are not due, for the sample at the
    /// time `now`: for the begin and the end of a test.
    pub fn sample_all(&mut self, now: Timestamp) {
        self.sample_if(now, |_, _| true);
    }

    fn sample_if(
        &mut self,
        now: Timestamp,
        is_read: impl Fn(&ScheduledCollector, Timestamp) -> bool,
    ) {
        let at = &mut self.evidence.series.at;
        let now = at.last().map_or(now, |last| now.max(*last));
        let row = at.len();
        at.push(now);
        for collector in self.collectors.iter_mut().filter(|collector| is_read(collector, now)) {
            collector.read(&self.tree, row, now);
        }
    }

    /// Reads the inventory (hardware, settings, limits) now, so that [`Self::finish`] returns
    /// sooner.
    pub fn read_inventory(&mut self) {
        self.inventory = Some(inventory::read(&self.tree));
    }

    /// Time of the last sample. `None`: there is no sample yet.
    pub fn last(&self) -> Option<Timestamp> {
        self.evidence.series.at.last().copied()
    }

    /// Number of samples that are kept; [`Self::thin`] reduces it.
    pub fn readings(&self) -> usize {
        self.evidence.series.at.len()
    }

    /// Removes every second sample to save memory, except the first, the last and those nearest to
    /// the times in `keep`.
    pub fn thin(&mut self, keep: &[Timestamp]) {
        let series = &self.evidence.series;
        let mut kept: Vec<usize> = keep.iter().map(|at| series.index_at(*at)).collect();
        kept.extend((0..series.at.len()).step_by(2));
        kept.extend(series.at.len().checked_sub(1));
        kept.retain(|row| *row < series.at.len());
        kept.order();
        kept.dedup();
        self.evidence.series.at = kept.iter().map(|row| series.at[*row]).collect();
        for collector in &mut self.collectors {
            collector.thin(&kept);
        }
    }

    /// Ends the sampling and returns the evidence on the host: series, profile, inventory and gaps.
    /// `role` is the host's part in the test. To be called right after the last sample, since
    /// collectors that were not due then are read now.
    pub fn finish(mut self, role: Role) -> HostEvidence {
        self.end_profile();
        self.read_collectors_left_out();
        let mut evidence = HostEvidence { role, ..self.evidence };
        if let Some(profiler) = self.profiler {
            let (profile, gaps) = profiler.finish();
            evidence.profile = profile;
            evidence.gaps.extend(gaps);
        }
        let rows = evidence.series.at.len();
        for collector in self.collectors {
            collector.append_to(rows, &mut evidence.series, &mut evidence.gaps);
        }
        let (inventory, gaps) = self.inventory.unwrap_or_else(|| inventory::read(&self.tree));
        evidence.inventory = inventory;
        evidence.gaps.extend(gaps);
        evidence.gaps.order();
        evidence.gaps.dedup();
        let cost = cpu_since(self.begun).as_secs_f64() - evidence.resolving_seconds;
        evidence.cost_seconds = cost.max(0.0);
        evidence
    }

    fn read_collectors_left_out(&mut self) {
        let at = &self.evidence.series.at;
        let Some(now) = at.last().copied() else { return };
        let row = at.len() - 1;
        for collector in self.collectors.iter_mut().filter(|collector| !collector.has_read(row)) {
            collector.read(&self.tree, row, now);
        }
    }
}

/// CPU time that the thread has used since then.
fn cpu_since(started: Duration) -> Duration {
    linux::clock::thread_cpu().saturating_sub(started)
}

#[cfg(test)]
mod tests;
