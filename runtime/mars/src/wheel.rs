//! Deadlines of one MPU, in a hierarchical timing wheel (Varghese and Lauck, "Hashed and
//! hierarchical timing wheels", SOSP 1987): setting and cancelling take constant time.
//!
//! ```text
//!   level 0   64 slots of 1 us      deadlines of this 64 us
//!   level 1   64 slots of 64 us     deadlines of this 4 ms, but not of this slot
//!   ...                             when time enters a slot, its deadlines go down
//!   level 8                         the end of time
//! ```
//!
//! Slots only sort: a deadline keeps its nanoseconds, and none fires early.

use crate::ready::NONE;
use crate::time::Time;

/// Storage for the nodes of a wheel's members.
pub(crate) trait Nodes {
    /// The node of member `id`.
    fn node(&mut self, id: u32) -> &mut Node;
}

/// The state of one member: its deadline and its neighbours in the slot.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Node {
    at: Time,
    previous: u32,
    next: u32,
    /// Level and slot; `None` without a deadline.
    place: Option<(u8, u8)>,
}

impl Default for Node {
    fn default() -> Self {
        Self { at: Time::default(), previous: NONE, next: NONE, place: None }
    }
}

impl Node {
    /// Whether it has a deadline.
    pub(crate) const fn is_set(&self) -> bool {
        self.place.is_some()
    }
}

/// The deadlines.
#[derive(Debug)]
pub(crate) struct Wheel {
    /// Everything before this tick has fired.
    tick: u64,
    levels: Box<[Level; LEVELS]>,
    len: usize,
}

#[derive(Clone, Copy, Debug)]
struct Level {
    occupied: u64,
    slots: [Slot; SLOTS],
}

#[derive(Clone, Copy, Debug)]
struct Slot {
    first: u32,
    /// The member with the earliest deadline; [`NONE`]: to be looked for.
    earliest: u32,
}

impl Wheel {
    /// An empty wheel that begins at `now`.
    pub(crate) fn new(now: Time) -> Self {
        let slot = Slot { first: NONE, earliest: NONE };
        let level = Level { occupied: 0, slots: [slot; SLOTS] };
        Self { tick: now.nanos() >> TICK_BITS, levels: Box::new([level; LEVELS]), len: 0 }
    }

    /// Whether there are no deadlines.
    pub(crate) const fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Sets the deadline of `id`, which has none.
    pub(crate) fn set(&mut self, id: u32, at: Time, nodes: &mut impl Nodes) {
        let tick = (at.nanos() >> TICK_BITS).max(self.tick);
        let level = match tick ^ self.tick {
            0 => 0,
            apart => apart.ilog2() / SLOT_BITS,
        };
        let slot = (tick >> (level * SLOT_BITS)) as usize % SLOTS;
        self.levels[level as usize].occupied |= 1 << slot;
        let place = &mut self.levels[level as usize].slots[slot];
        let (next, earliest) = (place.first, place.earliest);
        place.first = id;
        if next == NONE {
            place.earliest = id;
        } else {
            nodes.node(next).previous = id;
            if earliest != NONE && at < nodes.node(earliest).at {
                place.earliest = id;
            }
        }
        #[expect(clippy::cast_possible_truncation, reason = "levels and slots are below 64")]
        let place = Some((level as u8, slot as u8));
        *nodes.node(id) = Node { at, previous: NONE, next, place };
        self.len += 1;
    }

    /// Takes the deadline of `id` back, if it has one.
    pub(crate) fn cancel(&mut self, id: u32, nodes: &mut impl Nodes) {
        let node = std::mem::take(nodes.node(id));
        let Some((level, slot)) = node.place else { return };
        let level = &mut self.levels[usize::from(level)];
        let place = &mut level.slots[usize::from(slot)];
        if node.next != NONE {
            nodes.node(node.next).previous = node.previous;
        }
        if node.previous == NONE {
            place.first = node.next;
        } else {
            nodes.node(node.previous).next = node.next;
        }
        if place.earliest == id {
            place.earliest = NONE;
        }
        if place.first == NONE {
            level.occupied &= !(1 << slot);
        }
        self.len -= 1;
    }

    /// The earliest deadline and its member.
    pub(crate) fn next(&mut self, nodes: &mut impl Nodes) -> Option<(Time, u32)> {
        // Every deadline of a level is earlier than all of the next one.
        let level = self.levels.iter_mut().find(|level| level.occupied != 0)?;
        let slot = &mut level.slots[level.occupied.trailing_zeros() as usize];
        if slot.earliest == NONE {
            slot.earliest = earliest(slot.first, nodes);
        }
        Some((nodes.node(slot.earliest).at, slot.earliest))
    }

    /// Removes one member whose deadline is not after `now`.
    pub(crate) fn due(&mut self, now: Time, nodes: &mut impl Nodes) -> Option<u32> {
        let target = now.nanos() >> TICK_BITS;
        loop {
            let Some(level) = self.levels.iter().position(|level| level.occupied != 0) else {
                self.tick = self.tick.max(target);
                return None;
            };
            let slot = self.levels[level].occupied.trailing_zeros();
            let start = self.start(level, slot);
            if start > target {
                self.tick = self.tick.max(target);
                return None;
            }
            self.tick = self.tick.max(start);
            if level == 0 {
                let id = self.levels[0].slots[slot as usize].first_due(now, nodes)?;
                self.cancel(id, nodes);
                return Some(id);
            }
            self.sink(level, slot as usize, nodes);
        }
    }

    /// The first tick of a slot in the current turn of its level.
    fn start(&self, level: usize, slot: u32) -> u64 {
        #[expect(clippy::cast_possible_truncation, reason = "there are nine levels")]
        let shift = level as u32 * SLOT_BITS;
        let whole = self.tick.checked_shr(shift + SLOT_BITS).unwrap_or(0);
        let above = whole.checked_shl(shift + SLOT_BITS).unwrap_or(0);
        above | (u64::from(slot) << shift)
    }

    /// Moves the members of a slot to lower levels: time has entered this slot.
    fn sink(&mut self, level: usize, slot: usize, nodes: &mut impl Nodes) {
        let place = &mut self.levels[level].slots[slot];
        let mut id = std::mem::replace(&mut place.first, NONE);
        place.earliest = NONE;
        self.levels[level].occupied &= !(1 << slot);
        while id != NONE {
            let node = std::mem::take(nodes.node(id));
            self.len -= 1;
            self.set(id, node.at, nodes);
            id = node.next;
        }
    }
}

impl Slot {
    /// A member whose deadline is not after `now`. It is the first one, except in the slot
    /// of the current tick: so the cost does not grow with the number of equal deadlines.
    fn first_due(self, now: Time, nodes: &mut impl Nodes) -> Option<u32> {
        let mut id = self.first;
        while id != NONE && nodes.node(id).at > now {
            id = nodes.node(id).next;
        }
        (id != NONE).then_some(id)
    }
}

fn earliest(first: u32, nodes: &mut impl Nodes) -> u32 {
    let (mut best, mut id) = (first, first);
    while id != NONE {
        let Node { at, next, .. } = *nodes.node(id);
        if at < nodes.node(best).at {
            best = id;
        }
        id = next;
    }
    best
}

/// A tick is 1,024 ns.
const TICK_BITS: u32 = 10;
const SLOT_BITS: u32 = 6;
const SLOTS: usize = 1 << SLOT_BITS;
/// Enough for all of 64 bits.
const LEVELS: usize = 9;

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;

    impl Nodes for Vec<Node> {
        fn node(&mut self, id: u32) -> &mut Node {
            &mut self[id as usize]
        }
    }

    #[derive(Clone, Debug)]
    enum Act {
        Set(u8, u64),
        Cancel(u8),
        Pass(u64),
    }

    fn act() -> impl Strategy<Value = Act> {
        let span = prop_oneof![0..3_000_u64, 0..1_000_000_u64, 0..u64::MAX / 4];
        prop_oneof![
            3 => (any::<u8>(), span.clone()).prop_map(|(id, span)| Act::Set(id, span)),
            1 => any::<u8>().prop_map(Act::Cancel),
            2 => span.prop_map(Act::Pass),
        ]
    }

    proptest! {
        /// The model is a sorted map.
        #[test]
        fn deadlines_fire_in_time_and_not_before(acts in prop::collection::vec(act(), 0..300)) {
            let mut now = 123_456_789_u64;
            let mut wheel = Wheel::new(Time::from_nanos(now));
            let mut nodes = vec![Node::default(); 256];
            let mut model = BTreeMap::new();
            for act in acts {
                match act {
                    Act::Set(id, span) => {
                        let at = now.saturating_add(span);
                        wheel.cancel(id.into(), &mut nodes);
                        wheel.set(id.into(), Time::from_nanos(at), &mut nodes);
                        model.insert(u32::from(id), at);
                    }
                    Act::Cancel(id) => {
                        wheel.cancel(id.into(), &mut nodes);
                        model.remove(&id.into());
                    }
                    Act::Pass(span) => {
                        now = now.saturating_add(span);
                        let at = Time::from_nanos(now);
                        let mut fired: Vec<_> =
                            std::iter::from_fn(|| wheel.due(at, &mut nodes)).collect();
                        fired.sort_unstable();
                        let due: Vec<_> =
                            model.iter().filter(|(_, at)| **at <= now).map(|(id, _)| *id).collect();
                        model.retain(|_, at| *at > now);
                        prop_assert_eq!(fired, due);
                    }
                }
                let next = wheel.next(&mut nodes).map(|(at, _)| at.nanos());
                prop_assert_eq!(next, model.values().min().copied());
                prop_assert_eq!(wheel.is_empty(), model.is_empty());
            }
        }
    }

    /// Counts how often it is asked.
    struct Counted(Vec<Node>, usize);

    impl Nodes for Counted {
        fn node(&mut self, id: u32) -> &mut Node {
            self.1 += 1;
            &mut self.0[id as usize]
        }
    }

    #[test]
    fn however_many_are_due_at_once_each_costs_the_same() {
        let mut nodes = Counted(vec![Node::default(); 10_000], 0);
        let mut wheel = Wheel::new(Time::from_nanos(0));
        let at = Time::from_nanos(7_000_000);
        (0..10_000).for_each(|id| wheel.set(id, at, &mut nodes));
        let fired = std::iter::from_fn(|| wheel.due(at, &mut nodes)).count();
        assert_eq!(fired, 10_000);
        assert!(nodes.1 < 500_000, "{}", nodes.1);
    }

    #[test]
    fn a_deadline_that_has_passed_is_due_at_once() {
        let mut nodes = vec![Node::default(); 2];
        let mut wheel = Wheel::new(Time::from_nanos(1 << 30));
        wheel.set(1, Time::from_nanos(5), &mut nodes);
        assert_eq!(wheel.next(&mut nodes), Some((Time::from_nanos(5), 1)));
        assert_eq!(wheel.due(Time::from_nanos(1 << 30), &mut nodes), Some(1));
        assert!(wheel.is_empty() && !nodes[1].is_set());
    }
}
