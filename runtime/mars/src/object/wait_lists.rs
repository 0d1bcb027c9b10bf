//! The workloads that wait for one object, with a list for each MPU.

use std::sync::Arc;

use crate::cache_line::CacheAligned;
use crate::mpu::Mpu;
use crate::object::{WaitList, WaitListGuard};
use crate::shared::Shared;

/// As [`WaitList`], of an object that wakes all workloads at once: those of one MPU (worker thread)
/// join without meeting those of another. The order among MPUs is not kept.
#[derive(Debug)]
pub(super) struct WaitLists {
    /// One for each MPU, all with the same number.
    lists: Box<[CacheAligned<WaitList>]>,
}

impl WaitLists {
    pub(super) fn new(shared: &Arc<Shared>) -> Self {
        let number = WaitList::next_number();
        let list = |_| CacheAligned(WaitList::numbered(shared, number));
        Self { lists: shared.units.iter().map(list).collect() }
    }

    /// As [`WaitList::is_awaited`].
    pub(super) fn is_awaited(&self) -> bool {
        self.lists.iter().any(|list| list.0.is_awaited())
    }

    /// As [`WaitList::take_wake_value`], whichever list the workload had joined.
    pub(super) fn take_wake_value<M>(&self, mpu: &Mpu<'_, M>) -> Option<u32> {
        self.of(mpu).take_wake_value(mpu)
    }

    /// Locks the list of the workload's MPU, as [`WaitList::lock_list_in_order`].
    pub(super) fn lock_list_in_order<M>(&self, mpu: &Mpu<'_, M>) -> WaitListGuard<'_> {
        self.of(mpu).lock_list_in_order()
    }

    /// As [`WaitList::wake_all`].
    pub(super) fn wake_all(&self, wake_value: u32) {
        self.lists.iter().for_each(|list| list.0.wake_all(wake_value));
    }

    fn of<M>(&self, mpu: &Mpu<'_, M>) -> &WaitList {
        &self.lists[mpu.index()].0
    }
}
