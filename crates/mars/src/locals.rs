//! The workloads that one MPU has.

use std::any::Any;

use crate::mpu::Core;
use crate::punctuality::Precision;
use crate::ready::{Links, NONE};
use crate::table::Body;
use crate::turnstile::Token;
use crate::wheel::{Node, Nodes};
use crate::workload::{Ending, Next};

/// One workload at its MPU.
pub(crate) struct Local {
    pub(crate) id: u32,
    pub(crate) body: Body,
    /// Which of the context's modules runs it.
    pub(crate) kind: usize,
    pub(crate) priority: u8,
    place: Place,
    /// How well its deadline is to be kept.
    pub(crate) precision: Precision,
    /// It shall not run any more.
    pub(crate) is_revoked: bool,
    /// A wait that somebody ended after the workload had gone on without it: until the
    /// message has come the workload neither begins another one nor leaves.
    pub(crate) stray: Option<Token>,
    /// It has ended so, and leaves when the message has come.
    pub(crate) ending: Option<Ending>,
    /// It runs here and nowhere else.
    pinned: bool,
    /// How many descriptors it watches, and how many of them the MPU has counted.
    pub(crate) watched: u32,
    pub(crate) counted: u32,
    pub(crate) node: Node,
    next: u32,
}

/// Where a workload stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    /// In the list of those that can go on.
    Ready,
    /// It runs.
    Running,
    /// It waits: for readiness, for an object if there is a token, for its deadline if
    /// its node is set.
    Stalled { readiness: bool, token: Option<Token> },
}

impl Place {
    /// Whether a descriptor may let it go on.
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
            place: Place::Running,
            precision: Precision::About,
            is_revoked: false,
            stray: None,
            ending: None,
            pinned,
            watched: 0,
            counted: 0,
            node: Node::default(),
            next: NONE,
        }
    }

    pub(crate) const fn place(&self) -> Place {
        self.place
    }

    /// Whether it stays here: its descriptors are watched here, or a message comes here.
    pub(crate) const fn is_bound(&self) -> bool {
        self.pinned || self.watched > 0 || self.stray.is_some()
    }

    pub(crate) fn run(&mut self, module: &mut dyn Any, core: &mut Core) -> Next {
        if self.is_revoked {
            return Next::Finished;
        }
        self.body.run(module, core)
    }

    /// Under what its descriptors are watched: the slot, and the id against those that
    /// had the slot before.
    pub(crate) fn watch_token(&self, slot: u32) -> u64 {
        u64::from(self.id) << 32 | u64::from(slot)
    }

    /// How many descriptors it watches that the MPU has not counted.
    pub(crate) fn newly_watched(&mut self) -> usize {
        let new = self.watched - self.counted;
        self.counted = self.watched;
        new as usize
    }
}

/// All of them. It grows to the most that were ever here, and then allocates no more.
#[derive(Default)]
pub(crate) struct Locals {
    slots: Vec<Slot>,
    free: Vec<u32>,
    /// How many wait for a descriptor.
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
        self.put(slot, Place::Running);
        self.free.push(slot);
        self.slots[slot as usize].take().expect("a slot in use")
    }

    /// From now on the workload in `slot` stands there.
    pub(crate) fn put(&mut self, slot: u32, place: Place) {
        let before = std::mem::replace(&mut self.at(slot).place, place);
        self.listeners += usize::from(place.listens());
        self.listeners -= usize::from(before.listens());
    }

    /// Whether a descriptor may let one of them go on.
    pub(crate) const fn any_listens(&self) -> bool {
        self.listeners > 0
    }

    /// Takes those that are left.
    pub(crate) fn drain(&mut self) -> impl Iterator<Item = Local> {
        self.slots.drain(..).flatten()
    }

    pub(crate) fn at(&mut self, slot: u32) -> &mut Local {
        self.slots[slot as usize].as_mut().expect("a slot in use")
    }

    /// How many slots there are, free ones too.
    pub(crate) fn len(&self) -> u32 {
        u32::try_from(self.slots.len()).unwrap_or(NONE)
    }

    /// Who is in `slot`.
    pub(crate) fn id(&self, slot: u32) -> Option<u32> {
        self.slots[slot as usize].as_ref().map(|local| local.id)
    }

    /// Whose descriptors are watched under `token`.
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
