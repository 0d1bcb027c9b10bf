//! Sharing of ready workloads among MPUs: an MPU takes some of the shared queue, and gives some to it.

use std::cmp::Ordering;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

use super::Kernel;
use crate::ready::NONE;
use crate::shared::MOST_OFFERED;

impl Kernel {
    /// Whether the best workload is in the shared queue.
    pub(super) fn pulls(&mut self) -> bool {
        let (own, others) = (self.ready.highest(), self.core.shared.queue.highest());
        match others.cmp(&own) {
            Ordering::Greater => true,
            Ordering::Less => false,
            Ordering::Equal => {
                self.prefers_shared = !self.prefers_shared;
                others.is_some() && self.prefers_shared
            }
        }
    }

    /// Whether to leave what is in the shared queue to an MPU that sleeps and has fewer workloads
    /// that stay there: what begins here may have to stay too. That MPU was woken when it came; if
    /// it takes too long, this one pulls after all.
    pub(super) fn leaves_it(&mut self) -> bool {
        let units = &self.core.shared.units;
        let settled = self.unit().settled.load(Relaxed);
        let is_left = settled > 1
            && self.left < MOST_LEFT
            && self.core.shared.idle.load(Relaxed) > 0
            && units.iter().any(|unit| settled >= 2 * (unit.settled.load(Relaxed) + 1));
        self.left = if is_left { self.left + 1 } else { 0 };
        is_left
    }

    /// Moves a part of what is ready to the shared queue if another MPU sleeps. One that was woken
    /// is left to look there before it gets more: a wake-up takes as long as many short turns, in
    /// which this MPU goes on with the rest.
    pub(super) fn donate(&mut self) {
        if self.ready.is_empty() || !self.may_give() {
            return;
        }
        let most = self.ready.len().div_ceil(GIVEN_PART).min(MOST_OFFERED);
        let (mut ids, mut count) = ([NONE; MOST_OFFERED], 0);
        while count < most
            && let Some(next) = self.ready.first()
            && !self.locals.at(next).is_bound()
        {
            self.ready.pop(&mut self.locals);
            ids[count] = self.park(next);
            count += 1;
        }
        self.core.shared.offer_all(&ids[..count]);
    }

    /// Whether to wake an MPU that sleeps for a part of what is ready here. After a wake-up in vain
    /// the next one is held back for a while, in which this MPU may do all of it sooner.
    pub(super) fn may_give(&mut self) -> bool {
        if !self.core.shared.any_asleep() {
            return false;
        }
        if !self.core.shared.woken_in_vain.load(Relaxed) {
            return true;
        }
        self.kept = self.kept.wrapping_add(1);
        if !self.kept.is_multiple_of(TURNS_BETWEEN_LOOKS) {
            return false;
        }
        let now = self.core.read_clock();
        let is_due = now.since(self.gave) >= BETWEEN_WAKE_UPS;
        if is_due {
            self.gave = now;
        }
        is_due
    }

    /// Judges the wake-up of this MPU, before it sleeps again, if it was for the shared queue: it was
    /// in vain if what it found there took less time than a wake-up does.
    pub(super) fn judge_wake_up(&mut self) {
        let Some(since) = self.pulls_since.take() else { return };
        let in_vain = self.core.now.since(since) < WORTH_A_WAKE_UP;
        let known = &self.core.shared.woken_in_vain;
        if known.load(Relaxed) != in_vain {
            known.store(in_vain, Relaxed);
        }
    }
}

/// Which part of what is ready goes to an MPU that sleeps.
const GIVEN_PART: usize = 4;
/// Some tens of microseconds, in which a thread that is woken begins to run.
const MOST_LEFT: u32 = 256;
/// Reading the clock takes as long as a short turn.
const TURNS_BETWEEN_LOOKS: u32 = 4;
/// A wake-up costs 5 us of the MPU that wakes, and as much again to move what is given.
const BETWEEN_WAKE_UPS: Duration = Duration::from_micros(300);
/// A fraction of what a futex wake-up takes.
const WORTH_A_WAKE_UP: Duration = Duration::from_micros(10);
