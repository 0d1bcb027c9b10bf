//! The records of all workloads of a context. The table grows without moving records, so
//! that finding one takes no lock.

use std::any::Any;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU16};
use std::sync::{Mutex, OnceLock, PoisonError};

use crate::atomic::{AtomicU32, AtomicU64};
use crate::cache_line::CacheAligned;
use crate::inbox::Inbox;
use crate::mpu::Core;
use crate::ready::NONE;
use crate::wait_token::WaitToken;
use crate::waiter::Waiter;
use crate::workload::Next;

/// The shared state of one workload, wherever the workload is. All but the last field is on
/// one cache line.
#[derive(Debug, Default)]
#[repr(C, align(64))]
pub(crate) struct Record {
    /// The token of its current wait.
    pub(crate) wait_token: WaitToken,
    /// The value that the object which ended its last wait handed over.
    pub(crate) wake_value: AtomicU64,
    /// The next one in an inbox or in the shared queue.
    pub(crate) link: AtomicU32,
    /// The MPU that has it or is to have it; [`NONE`]: any.
    pub(crate) home: AtomicU32,
    /// Its slot at its home; [`NONE`]: it has not arrived.
    pub(crate) slot: AtomicU32,
    /// See [`state`].
    pub(crate) state: AtomicU32,
    pub(crate) priority: AtomicU8,
    /// It runs only on its home MPU.
    pub(crate) pinned: AtomicBool,
    pub(crate) signalled: AtomicBool,
    /// Index of its module.
    pub(crate) kind: AtomicU16,
    /// The workload itself while no MPU has it.
    pub(crate) cell: Mutex<Option<Body>>,
    /// Workloads that wait for its end.
    pub(crate) followers: Mutex<Vec<Waiter>>,
}

/// A workload of any type.
pub(crate) type Body = Box<dyn Runs>;

impl std::fmt::Debug for dyn Runs {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "a workload")
    }
}

/// A workload of any type, as an MPU runs it.
pub(crate) trait Runs: Any + Send {
    fn run(&mut self, module: &mut dyn Any, core: &mut Core) -> Next;
    fn unscheduled(&mut self, module: &mut dyn Any, core: &mut Core);
}

/// The bits of [`Record::state`].
pub(crate) mod state {
    /// It is scheduled and has not finished.
    pub(crate) const BUSY: u32 = 1;
    /// A thread or a workload waits for its end.
    pub(crate) const AWAITED: u32 = 2;
    /// It has no handle: it is dropped when it has finished.
    pub(crate) const ABANDONED: u32 = 4;
    /// It must not run again.
    pub(crate) const UNSCHEDULED: u32 = 8;
    /// It ended because it was unscheduled.
    pub(crate) const CUT_SHORT: u32 = 16;
    /// It ended by a panic.
    pub(crate) const PANICKED: u32 = 32;
}

/// All records, in chunks that double in size.
#[derive(Debug)]
pub(crate) struct Table {
    chunks: [OnceLock<Box<[Record]>>; CHUNKS],
    free: CacheAligned<Mutex<FreeList>>,
    /// Released records until the next allocation: releasing takes no lock.
    returns: CacheAligned<Inbox>,
}

/// The free records, under the table's lock.
#[derive(Debug)]
struct FreeList {
    /// The first released record.
    returned: u32,
    /// The first record that was never used.
    fresh: u32,
}

impl Default for Table {
    fn default() -> Self {
        let free = CacheAligned(Mutex::new(FreeList { returned: NONE, fresh: 0 }));
        Self { chunks: [const { OnceLock::new() }; CHUNKS], free, returns: CacheAligned::default() }
    }
}

impl Table {
    /// Allocates a record.
    pub(crate) fn allocate(&self) -> u32 {
        let mut free = self.free.0.lock().unwrap_or_else(PoisonError::into_inner);
        if free.returned == NONE && !self.returns.0.is_empty() {
            free.returned = self.returns.0.take(|id| &self.record(id).link);
        }
        let mut id = free.returned;
        if id == NONE {
            id = free.fresh;
            free.fresh += 1;
            let (chunk, _) = locate(id);
            let length = FIRST_CHUNK << chunk;
            self.chunks[chunk].get_or_init(|| (0..length).map(|_| Record::default()).collect());
        } else {
            free.returned = self.record(id).link.load(Relaxed);
        }
        self.record(id).slot.store(NONE, Relaxed);
        id
    }

    /// Releases a record.
    pub(crate) fn release(&self, id: u32) {
        self.returns.0.put(id, &self.record(id).link);
    }

    /// The record of `id`, which is allocated.
    pub(crate) fn record(&self, id: u32) -> &Record {
        let (chunk, index) = locate(id);
        &self.chunks[chunk].get().expect("made when the id was given out")[index]
    }

    /// An upper bound of all ids: how many were ever allocated.
    pub(crate) fn len(&self) -> u32 {
        self.free.0.lock().unwrap_or_else(PoisonError::into_inner).fresh
    }
}

/// The chunk of an id and the index there.
const fn locate(id: u32) -> (usize, usize) {
    let shifted = id as usize + FIRST_CHUNK;
    let chunk = (shifted.ilog2() - FIRST_CHUNK.ilog2()) as usize;
    (chunk, shifted - (FIRST_CHUNK << chunk))
}

const FIRST_CHUNK: usize = 64;
/// Room for all ids of 31 bits.
const CHUNKS: usize = 26;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chunks_follow_each_other_without_a_gap() {
        let mut expected = (0, 0);
        for id in 0..10_000 {
            assert_eq!(locate(id), expected, "{id}");
            expected.1 += 1;
            if expected.1 == FIRST_CHUNK << expected.0 {
                expected = (expected.0 + 1, 0);
            }
        }
    }

    #[test]
    fn what_is_often_used_of_a_record_is_on_one_line() {
        assert_eq!(std::mem::offset_of!(Record, followers), 64);
    }

    #[test]
    fn records_stay_where_they_are_and_are_used_again() {
        let table = Table::default();
        let first: *const Record = table.record(table.allocate());
        for _ in 0..1_000 {
            table.allocate();
        }
        assert!(std::ptr::eq(first, table.record(0)));
        table.release(17);
        assert_eq!((table.allocate(), table.allocate()), (17, 1_001));
    }
}
