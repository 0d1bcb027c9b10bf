//! Watches a host: reads everything now and then, and keeps what it read.

mod seat;

use std::sync::Arc;

use measurement::{Gap, HostEvidence, Inventory, Role, Timestamp};

use crate::profile::{Profiler, Vantage};
use crate::{Subject, Tree, collectors, inventory};

use seat::Seat;

/// A host that is watched.
///
/// What belongs to a network namespace is that of the thread that looks first.
pub struct Watch {
    tree: Tree,
    seats: Vec<Seat>,
    evidence: HostEvidence,
    stock: Option<(Inventory, Vec<Gap>)>,
    profiler: Option<Profiler>,
}

impl Watch {
    /// A watch of the host below `tree`. Its inventory is read at the end, unless
    /// [`Self::take_stock`] was called before.
    pub fn new(tree: Tree, subject: Subject) -> Self {
        let seats = collectors::all(&subject).into_iter().map(Seat::new).collect();
        let evidence = HostEvidence { interfaces: subject.interfaces, ..HostEvidence::default() };
        Self { tree, seats, evidence, stock: None, profiler: None }
    }

    /// Gets ready to sample what the CPUs do, from `vantage`; where no more is allowed what
    /// `threads` of this process do (gettid(2)).
    pub fn take_vantage(&mut self, vantage: &Arc<Vantage>, threads: &[i32]) {
        match Profiler::new(Arc::clone(vantage), threads) {
            Ok(profiler) => self.profiler = Some(profiler),
            Err(gap) => self.evidence.gaps.push(gap),
        }
    }

    /// Samples from now on.
    pub fn begin_profile(&mut self) {
        self.with_profiler(Profiler::begin);
    }

    /// Takes in what was sampled; to be called some times a second.
    pub fn gather_profile(&mut self) {
        self.with_profiler(Profiler::gather);
    }

    /// Forgets what was sampled so far.
    pub fn restart_profile(&mut self) {
        self.with_profiler(Profiler::forget);
    }

    fn with_profiler(&mut self, order: impl FnOnce(&mut Profiler)) {
        let started = linux::clock::thread_cpu();
        if let Some(profiler) = &mut self.profiler {
            order(profiler);
            self.evidence.cost_seconds += cost_since(started);
        }
    }

    /// Samples no more, and finds names for what was sampled. That takes a while, but nothing
    /// from the test, which is over: it is no part of the cost.
    pub fn end_profile(&mut self) {
        if let Some(profiler) = &mut self.profiler {
            profiler.end();
        }
    }

    /// Watches these threads too (gettid(2)), of this process.
    pub fn follow_threads(&mut self, threads: &[i32]) {
        for seat in &mut self.seats {
            seat.follow_threads(threads);
        }
    }

    /// Reads everything; it is `now`.
    ///
    /// A source that takes long is left out of some looks, so that it does not become what
    /// is measured: it keeps what it was.
    pub fn look(&mut self, now: Timestamp) {
        self.look_if(now, Seat::is_due);
    }

    /// Reads all sources, also slow ones that are not due: for the instants at which
    /// something begins or ends.
    pub fn look_at_all(&mut self, now: Timestamp) {
        self.look_if(now, |_, _| true);
    }

    fn look_if(&mut self, now: Timestamp, is_read: impl Fn(&Seat, Timestamp) -> bool) {
        let started = linux::clock::thread_cpu();
        let at = &mut self.evidence.series.at;
        let now = at.last().map_or(now, |last| now.max(*last));
        let row = at.len();
        at.push(now);
        for seat in self.seats.iter_mut().filter(|seat| is_read(seat, now)) {
            seat.read(&self.tree, row, now);
        }
        self.evidence.cost_seconds += cost_since(started);
    }

    /// Reads the inventory now, and not at the end, when somebody waits.
    pub fn take_stock(&mut self) {
        let started = linux::clock::thread_cpu();
        self.stock = Some(inventory::of(&self.tree));
        self.evidence.cost_seconds += cost_since(started);
    }

    /// When it looked last.
    pub fn last(&self) -> Option<Timestamp> {
        self.evidence.series.at.last().copied()
    }

    /// How many readings it keeps.
    pub fn readings(&self) -> usize {
        self.evidence.series.at.len()
    }

    /// Leaves out every second reading, but for the first, the last and those nearest to the
    /// instants of `keep`.
    pub fn thin(&mut self, keep: &[Timestamp]) {
        let series = &self.evidence.series;
        let mut kept: Vec<usize> = keep.iter().map(|at| series.index_at(*at)).collect();
        kept.extend((0..series.at.len()).step_by(2));
        kept.extend(series.at.len().checked_sub(1));
        kept.retain(|row| *row < series.at.len());
        kept.sort_unstable();
        kept.dedup();
        self.evidence.series.at = kept.iter().map(|row| series.at[*row]).collect();
        for seat in &mut self.seats {
            seat.thin(&kept);
        }
    }

    /// What it saw, with the inventory of the host in its `role`. Called right after the last
    /// look: what that left out is read now.
    pub fn finish(mut self, role: Role) -> HostEvidence {
        self.end_profile();
        let started = linux::clock::thread_cpu();
        self.read_what_was_left_out();
        let mut evidence = HostEvidence { role, ..self.evidence };
        if let Some(profiler) = self.profiler {
            let (profile, gaps) = profiler.finish();
            evidence.profile = profile;
            evidence.gaps.extend(gaps);
        }
        let rows = evidence.series.at.len();
        for seat in self.seats {
            seat.settle(rows, &mut evidence.series, &mut evidence.gaps);
        }
        let (inventory, gaps) = self.stock.unwrap_or_else(|| inventory::of(&self.tree));
        evidence.inventory = inventory;
        evidence.gaps.extend(gaps);
        evidence.gaps.sort();
        evidence.gaps.dedup();
        evidence.cost_seconds += cost_since(started);
        evidence
    }

    fn read_what_was_left_out(&mut self) {
        let at = &self.evidence.series.at;
        let Some(now) = at.last().copied() else { return };
        let row = at.len() - 1;
        for seat in self.seats.iter_mut().filter(|seat| !seat.has_read(row)) {
            seat.read(&self.tree, row, now);
        }
    }
}

fn cost_since(started: std::time::Duration) -> f64 {
    linux::clock::thread_cpu().saturating_sub(started).as_secs_f64()
}

#[cfg(test)]
mod tests;
