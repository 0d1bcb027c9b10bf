//! Ends of workloads at an MPU: finished, panicked, unscheduled, or since the MPU stops.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::Ordering::{Acquire, Relaxed, SeqCst};

use super::{Kernel, MOST_SPARE};
use crate::locals::RunState;
use crate::ready::NONE;
use crate::shared::drop_quietly;
use crate::table::{Body, state};
use crate::workload::Ending;

impl Kernel {
    /// Ends a workload, once no message is on its way to it.
    pub(super) fn finish(&mut self, slot: u32, ending: Ending) {
        self.disarm(slot);
        let local = self.locals.at(slot);
        if local.pending_wake.is_none() {
            return self.leave(slot, ending);
        }
        local.ending = Some(ending);
        let token = local.pending_wake;
        self.locals.put(slot, RunState::Stalled { readiness: false, token });
        self.wheel.cancel(slot, &mut self.locals);
    }

    /// Removes an ended workload.
    pub(super) fn leave(&mut self, slot: u32, ending: Ending) {
        self.wheel.cancel(slot, &mut self.locals);
        let mut local = self.locals.remove(slot);
        if ending == Ending::Unscheduled {
            self.let_go(local.id, local.kind, &mut local.body);
        }
        self.watched -= local.counted as usize;
        if local.is_settled {
            self.unit().settled.fetch_sub(1, Relaxed);
        }
        let record = self.core.shared.table.record(local.id);
        let is_alone = record.state.load(Acquire) == state::BUSY | state::ABANDONED;
        if !is_alone || ending != Ending::Finished || self.core.spare.len() >= MOST_SPARE {
            return self.core.shared.end(local.id, local.body, ending);
        }
        // It has no handle and no followers: nothing has to be notified.
        drop_quietly(local.body);
        record.slot.store(NONE, Relaxed);
        record.state.store(0, Relaxed);
        self.core.spare.push(local.id);
    }

    /// Lets an unscheduled workload give back what it has of this MPU.
    pub(super) fn let_go(&mut self, id: u32, kind: usize, body: &mut Body) {
        let (module, core) = (&mut *self.modules[kind], &mut self.core);
        core.id = id;
        // Whatever it does, it leaves; a panic is of no use to anybody.
        _ = catch_unwind(AssertUnwindSafe(|| body.unscheduled(module, core)));
    }

    /// Ends a workload that was unscheduled while no MPU had it.
    pub(super) fn refuse(&mut self, id: u32, mut body: Body) {
        let kind = usize::from(self.core.shared.table.record(id).kind.load(Relaxed));
        self.let_go(id, kind, &mut body);
        self.core.shared.end(id, body, Ending::Unscheduled);
    }

    /// Ends the running workload, which has panicked.
    pub(super) fn end_panicked(&mut self) {
        let slot = self.core.shared.table.record(self.core.id).slot.load(Relaxed);
        self.core.watched = 0;
        self.core.stays = false;
        self.finish(slot, Ending::Panicked);
    }

    /// Ends the workloads that were unscheduled.
    pub(super) fn revoke(&mut self) {
        self.revocations = self.core.shared.revocations.load(SeqCst);
        for slot in 0..self.locals.len() {
            let Some(id) = self.locals.id(slot) else { continue };
            let record = self.core.shared.table.record(id);
            if record.state.load(Relaxed) & state::UNSCHEDULED == 0 {
                continue;
            }
            match self.locals.at(slot).place() {
                // It ends when it is fetched.
                RunState::Ready | RunState::Running => self.locals.at(slot).is_revoked = true,
                RunState::Stalled { token: Some(token), .. } => {
                    if record.wait_token.claim(token) {
                        self.leave(slot, Ending::Unscheduled);
                    }
                }
                RunState::Stalled { token: None, .. } => self.finish(slot, Ending::Unscheduled),
            }
        }
    }
}

/// Drops what the MPU has on its own thread.
impl Drop for Kernel {
    fn drop(&mut self) {
        let locals: Vec<_> = self.locals.drain().collect();
        for mut local in locals {
            self.let_go(local.id, local.kind, &mut local.body);
            let wait_token = &self.core.shared.table.record(local.id).wait_token;
            // No object is to let it go on any more.
            wait_token.waiting().map(|token| wait_token.claim(token));
            self.core.shared.end(local.id, local.body, Ending::Unscheduled);
        }
    }
}
