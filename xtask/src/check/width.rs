//! Style: a struct has no more fields than a reader keeps in mind.
//!
//! Data that the kernel defines and flags of the command line have as many as there are.

use syn::{Fields, Item, ItemStruct};

use super::Finding;
use crate::tree::{Source, Tree};

/// Structs of crates that are too wide.
pub(super) fn find(tree: &Tree) -> Vec<Finding> {
    tree.shipped().filter(|source| !is_listed(source)).flat_map(judge).collect()
}

fn is_listed(source: &Source) -> bool {
    EXEMPT.iter().any(|path| source.path.starts_with(path))
}

fn judge(source: &Source) -> impl Iterator<Item = Finding> {
    structs(&source.items).filter_map(|one| {
        let Fields::Named(fields) = &one.fields else { return None };
        let (count, name) = (fields.named.len(), &one.ident);
        let what = || format!("`{name}` has {count} fields; group them, {MOST_FIELDS} at most");
        (count > MOST_FIELDS).then(|| Finding::of(&source.path, what()))
    })
}

fn structs(items: &[Item]) -> Box<dyn Iterator<Item = &ItemStruct> + '_> {
    Box::new(items.iter().flat_map(|item| match item {
        Item::Struct(one) => Box::new(std::iter::once(one)),
        Item::Mod(module) => structs(module.content.as_ref().map_or(&[], |(_, items)| items)),
        _ => Box::new(std::iter::empty()) as Box<dyn Iterator<Item = _>>,
    }))
}

const MOST_FIELDS: usize = 20;
/// Flags, and what the kernel defines.
const EXEMPT: [&str; 4] = [
    "crates/cli/src/flags/",
    "crates/linux/src/",
    "crates/measurement/src/host/inventory.rs",
    "crates/measurement/src/sample.rs",
];

#[cfg(test)]
mod tests {
    use super::*;

    fn count(path: &str, fields: usize) -> usize {
        let fields: Vec<_> = (0..fields).map(|number| format!("f{number}: u8")).collect();
        let fields = fields.join(", ");
        find(&Tree::of_source(path, &format!("mod a {{ struct S {{ {fields} }} }}"))).len()
    }

    #[test]
    fn fires_above_the_limit() {
        assert_eq!(count("crates/lab/src/lib.rs", MOST_FIELDS + 1), 1);
    }

    #[test]
    fn is_silent_at_the_limit_on_flags_and_on_tests() {
        assert_eq!(count("crates/lab/src/lib.rs", MOST_FIELDS), 0);
        assert_eq!(count("crates/cli/src/flags/test.rs", MOST_FIELDS + 1), 0);
        assert_eq!(count("crates/lab/tests/link.rs", MOST_FIELDS + 1), 0);
    }
}
