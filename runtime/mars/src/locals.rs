//! The workloads that are local to one MPU.

use std::any::Any;

use crate::mpu::Core;
use crate::ready::{Links, NONE};
use crate::table::Body;
use crate::wait_token::Token;
use crate::wake_latency::Precision;
use crate::wheel::{Node, Nodes};
use crate::workload::{Ending, Next};

/// A workload at its MPU.
pub(crate) struct Local {
    pub(crate) id: u32,
    pub(crate) body: Body,
    /// Index of its module.
    pub(crate) kind: usize,
    pub(crate) priority: u8,
    place: RunState,
    /// How precisely its deadline is kept.
    pub(crate) precision: Precision,
    /// It was unscheduled and must not run again.
    pub(crate) is_revoked: bool,
    /// A wait that was ended after the workload had continued without it. Until the message
    /// arrives the workload neither begins another wait nor leaves.
    pub(crate) pending_wake: Option<Token>,
    /// How it ended, while it waits for that message before it leaves.
    pub(crate) ending: Option<Ending>,
    /// It runs only on this MPU.
    pinned: bool,
    /// It has asked to stay here.
    pub(crate) is_settled: bool,
    /// Number of descriptors that it watches, and how many of them the MPU has counted.
    pub(crate) watched: u32,
    pub(crate) counted: u32,
    pub(crate) node: Node,
    next: u32,
}

/// The state of a local workload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RunState {
    /// It is in the ready queue.
    Ready,
    /// It runs.
    Running,
    /// It waits: for readiness, for an object if there is a token, for its deadline if its
    /// node is set.
    Stalled { readiness: bool, token: Option<Token> },
}

impl RunState {
    /// Whether a descriptor may end the wait.
    const fn listens(self) -> bool {
        matches!(self, Self::Stalled { readiness: true, .. })
    }
}

impl Local {
    pub(crate) fn new(id: u32, body: Body, kind: usize, priority: u8, pinned: bool) -> Self {
        Self {
            id,
            body,
            kind,
            priority,
            place: RunState::Running,
            precision: Precision::About,
            is_revoked: false,
            pending_wake: None,
            ending: None,
            pinned,
            is_settled: false,
            watched: 0,
            counted: 0,
            node: Node::default(),
            next: NONE,
        }
    }

    pub(crate) const fn place(&self) -> RunState {
        self.place
    }

    /// Whether it must stay here: it is pinned, its descriptors are watched here, or a
    /// message will arrive here.
    pub(crate) const fn is_bound(&self) -> bool {
        self.pinned || self.watched > 0 || self.pending_wake.is_some()
    }

    /// Binds it to this MPU, as it has something there.
    pub(crate) const fn settle(&mut self) {
        self.pinned = true;
        self.is_settled = true;
    }

    pub(crate) fn run(&mut self, module: &mut dyn Any, core: &mut Core) -> Next {
        if self.is_revoked {
            return Next::Finished;
        }
        self.body.run(module, core)
    }

    /// The epoll token of its descriptors: the slot, and the id against earlier users of
    /// the slot.
    pub(crate) fn watch_token(&self, slot: u32) -> u64 {
        u64::from(self.id) << 32 | u64::from(slot)
    }

    /// The number of watched descriptors that the MPU has not counted yet.
    pub(crate) fn newly_watched(&mut self) -> usize {
        let new = self.watched - self.counted;
        self.counted = self.watched;
        new as usize
    }
}

/// All workloads of one MPU, in slots. It grows to its maximum and then allocates no more.
#[derive(Default)]
pub(crate) struct Locals {
    slots: Vec<Slot>,
    free: Vec<u32>,
    /// Number of workloads that wait for a descriptor.
    listeners: usize,
}

type Slot = Option<Local>;

impl Locals {
    pub(crate) fn insert(&mut self, local: Local) -> u32 {
        if let Some(slot) = self.free.pop() {
            self.slots[slot as usize] = Some(local);
            return slot;
        }
        self.slots.push(Some(local));
        // So that giving it back allocates nothing.
        self.free.reserve(self.slots.len());
        u32::try_from(self.slots.len() - 1).unwrap_or(NONE)
    }

    pub(crate) fn remove(&mut self, slot: u32) -> Local {
        self.put(slot, RunState::Running);
        self.free.push(slot);
        self.slots[slot as usize].take().expect("a slot in use")
    }

    /// Changes the state of the workload in `slot`.
    pub(crate) fn put(&mut self, slot: u32, place: RunState) {
        let before = std::mem::replace(&mut self.at(slot).place, place);
        self.listeners += usize::from(place.listens());
        self.listeners -= usize::from(before.listens());
    }

    /// Whether a descriptor may end the wait of any of them.
    pub(crate) const fn any_listens(&self) -> bool {
        self.listeners > 0
    }

    /// Removes all.
    pub(crate) fn drain(&mut self) -> impl Iterator<Item = Local> {
        self.slots.drain(..).flatten()
    }

    pub(crate) fn at(&mut self, slot: u32) -> &mut Local {
        self.slots[slot as usize].as_mut().expect("a slot in use")
    }

    /// Number of slots, free ones included.
    pub(crate) fn len(&self) -> u32 {
        u32::try_from(self.slots.len()).unwrap_or(NONE)
    }

    /// Whether the MPU has no workload of its own.
    pub(crate) fn is_empty(&self) -> bool {
        self.slots.len() == self.free.len()
    }

    /// The id of the workload in `slot`.
    pub(crate) fn id(&self, slot: u32) -> Option<u32> {
        self.slots[slot as usize].as_ref().map(|local| local.id)
    }

    /// The slot of the workload whose descriptors report `token`.
    pub(crate) fn watching(&self, token: u64) -> Option<u32> {
        let slot = u32::try_from(token & u64::from(u32::MAX)).ok()?;
        let local = self.slots.get(slot as usize)?.as_ref()?;
        (u64::from(local.id) == token >> 32).then_some(slot)
    }
}

impl Links for Locals {
    fn next(&self, id: u32) -> u32 {
        self.slots[id as usize].as_ref().expect("a slot in use").next
    }

    fn link(&mut self, id: u32, next: u32) {
        self.at(id).next = next;
    }
}

impl Nodes for Locals {
    fn node(&mut self, id: u32) -> &mut Node {
        &mut self.at(id).node
    }
}
