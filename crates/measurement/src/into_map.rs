//! Collecting maps and sets with little code ([`IntoMap`], [`IntoSet`]), where they are small or
//! made once: `collect` sorts what a `BTreeMap` is made of, and so takes 3 KB of the file for each
//! of their types. What is collected while it measures takes `collect`.

use std::collections::{BTreeMap, BTreeSet};

/// Makes maps of pairs.
pub trait IntoMap<K, V> {
    /// A map of these keys and values; of pairs with the same key the last one counts.
    fn into_map(self) -> BTreeMap<K, V>;
}

impl<K: Ord, V, I: Iterator<Item = (K, V)>> IntoMap<K, V> for I {
    fn into_map(self) -> BTreeMap<K, V> {
        let mut map = BTreeMap::new();
        for (key, value) in self {
            insert(&mut map, key, value);
        }
        map
    }
}

/// Makes sets of elements.
pub trait IntoSet<T> {
    /// A set of these elements.
    fn into_set(self) -> BTreeSet<T>;
}

impl<T: Ord, I: Iterator<Item = T>> IntoSet<T> for I {
    fn into_set(self) -> BTreeSet<T> {
        let mut set = BTreeSet::new();
        for element in self {
            set.insert(element);
        }
        set
    }
}

/// Compiled once for each type of map, not for each place where one is made.
#[inline(never)]
fn insert<K: Ord, V>(map: &mut BTreeMap<K, V>, key: K, value: V) {
    map.insert(key, value);
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn they_are_what_the_standard_library_collects(
            pairs in proptest::collection::vec((0_u8..8, any::<u16>()), 0..50),
        ) {
            let all: BTreeMap<_, _> = pairs.iter().copied().collect();
            prop_assert_eq!(pairs.iter().copied().into_map(), all);
            let keys: BTreeSet<_> = pairs.iter().map(|(key, _)| *key).collect();
            prop_assert_eq!(pairs.into_iter().map(|(key, _)| key).into_set(), keys);
        }
    }
}
