//! Sorting with little code ([`Order`]), for lists that are short or are sorted once: each list type
//! that is given to the sorting of the standard library takes 2 KB of the file. What sorts while it
//! measures, or sorts many numbers, takes the standard library.

use std::cmp::Ordering;

/// Stable sorting of slices. Takes a word of memory for each element, and a call for each
/// comparison that the compiler cannot inline.
pub trait Order<T> {
    /// Sorts by the order of the elements.
    fn order(&mut self)
    where
        T: Ord,
    {
        self.order_by(T::cmp);
    }

    /// Sorts by the order of keys, which are computed for each comparison.
    fn order_by_key<K: Ord>(&mut self, mut key: impl FnMut(&T) -> K) {
        self.order_by(|one, other| key(one).cmp(&key(other)));
    }

    /// Sorts by a total order.
    fn order_by(&mut self, compare: impl FnMut(&T, &T) -> Ordering);
}

impl<T> Order<T> for [T] {
    fn order_by(&mut self, mut compare: impl FnMut(&T, &T) -> Ordering) {
        let places = sorted(self.len(), &mut |one, other| compare(&self[one], &self[other]));
        permute(places, &mut |one, other| self.swap(one, other));
    }
}

/// The indices of a list in the order of its elements: compiled once for all lists.
fn sorted(length: usize, compare: &mut dyn FnMut(usize, usize) -> Ordering) -> Vec<usize> {
    let mut places: Vec<_> = (0..length).collect();
    places.sort_by(|one, other| compare(*one, *other));
    places
}

/// Brings each element to its place, cycle by cycle.
fn permute(mut places: Vec<usize>, swap: &mut dyn FnMut(usize, usize)) {
    for start in 0..places.len() {
        let mut place = start;
        loop {
            let from = std::mem::replace(&mut places[place], place);
            if from == start {
                break;
            }
            swap(place, from);
            place = from;
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn lists_are_sorted_as_the_standard_library_sorts_them(
            list in proptest::collection::vec((0_u8..8, any::<u16>()), 0..200),
        ) {
            let (mut ours, mut theirs) = (list.clone(), list);
            ours.order_by_key(|(key, _)| *key);
            theirs.sort_by_key(|(key, _)| *key);
            prop_assert_eq!(&ours, &theirs, "elements that are equal keep their order");
            ours.order();
            theirs.sort_unstable();
            prop_assert_eq!(ours, theirs);
        }
    }
}
