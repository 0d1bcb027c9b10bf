//! A ready queue: by priority, then first in, first out.

/// Storage for the links of a queue's members.
pub(crate) trait Links {
    /// The member after `id`, or [`NONE`].
    fn next(&self, id: u32) -> u32;
    /// Sets the member after `id`.
    fn link(&mut self, id: u32, next: u32);
}

/// One first-in-first-out list for each priority. It allocates once: the links are stored
/// in the members.
///
/// ```text
///   occupied   .. 0 1 0 .. 1 ..         one bit for each priority
///                   |      |
///   lists         first -> . -> last    oldest first
/// ```
#[derive(Debug)]
pub(crate) struct Ready {
    occupied: [u64; 4],
    lists: Box<[List; 256]>,
    len: usize,
}

#[derive(Clone, Copy, Debug)]
struct List {
    first: u32,
    last: u32,
}

impl Default for Ready {
    fn default() -> Self {
        let empty = List { first: NONE, last: NONE };
        Self { occupied: [0; 4], lists: Box::new([empty; 256]), len: 0 }
    }
}

impl Ready {
    /// Number of members.
    pub(crate) const fn len(&self) -> usize {
        self.len
    }

    /// Whether the queue is empty.
    pub(crate) const fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The highest priority of all members.
    pub(crate) fn highest(&self) -> Option<u8> {
        (0..4_u8).rev().find(|word| self.occupied[usize::from(*word)] != 0).map(|word| {
            let zeros = self.occupied[usize::from(word)].leading_zeros();
            // At most 63, as the word is not zero.
            word * 64 + 63 - u8::try_from(zeros).unwrap_or(63)
        })
    }

    /// The oldest member of the highest priority.
    pub(crate) fn first(&self) -> Option<u32> {
        self.highest().map(|priority| self.lists[usize::from(priority)].first)
    }

    /// Appends `id`, which is in no list, to the list of its priority.
    pub(crate) fn push(&mut self, id: u32, priority: u8, links: &mut impl Links) {
        links.link(id, NONE);
        let list = &mut self.lists[usize::from(priority)];
        if list.first == NONE {
            list.first = id;
            self.occupied[usize::from(priority / 64)] |= 1 << (priority % 64);
        } else {
            links.link(list.last, id);
        }
        list.last = id;
        self.len += 1;
    }

    /// Removes the oldest member of the highest priority.
    pub(crate) fn pop(&mut self, links: &mut impl Links) -> Option<u32> {
        let priority = self.highest()?;
        let list = &mut self.lists[usize::from(priority)];
        let id = list.first;
        list.first = links.next(id);
        if list.first == NONE {
            list.last = NONE;
            self.occupied[usize::from(priority / 64)] &= !(1 << (priority % 64));
        }
        self.len -= 1;
        Some(id)
    }
}

/// No member.
pub(crate) const NONE: u32 = u32::MAX;

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    impl Links for Vec<u32> {
        fn next(&self, id: u32) -> u32 {
            self[id as usize]
        }

        fn link(&mut self, id: u32, next: u32) {
            self[id as usize] = next;
        }
    }

    #[test]
    fn the_highest_goes_first_and_among_equals_the_oldest() {
        let (mut ready, mut links) = (Ready::default(), vec![NONE; 8]);
        for (id, priority) in [(0, 7), (1, 255), (2, 7), (3, 0), (4, 255), (5, 64)] {
            ready.push(id, priority, &mut links);
        }
        let order: Vec<_> = std::iter::from_fn(|| ready.pop(&mut links)).collect();
        assert_eq!(order, [1, 4, 5, 0, 2, 3]);
        assert!(ready.is_empty() && ready.highest().is_none());
    }

    proptest! {
        #[test]
        fn it_behaves_as_a_stable_sort(
            turns in prop::collection::vec((any::<u8>(), any::<bool>()), 0..200),
        ) {
            let (mut ready, mut links) = (Ready::default(), vec![NONE; turns.len()]);
            let mut model: Vec<(u8, u32)> = Vec::new();
            for (id, (priority, takes)) in (0..).zip(turns) {
                ready.push(id, priority, &mut links);
                model.push((priority, id));
                if takes {
                    let highest = model.iter().map(|(priority, _)| *priority).max();
                    let oldest = model.iter().position(|(p, _)| Some(*p) == highest);
                    let expected = oldest.map(|at| model.remove(at).1);
                    prop_assert_eq!(ready.pop(&mut links), expected);
                }
                prop_assert_eq!(ready.len(), model.len());
                prop_assert_eq!(ready.highest(), model.iter().map(|(p, _)| *p).max());
            }
        }
    }
}
