//! Unsafe code is in the crates that have it for a living: `linux`, which calls the kernel, `copy`,
//! whose routines are of pointers and single instructions, `fiber`, which makes stacks, and
//! `libmars`, which C calls (ARCHITECTURE.md, G).

use super::Finding;
use crate::tree::Tree;

/// Files elsewhere that permit themselves unsafe code. Tests may: an allocator that counts is some.
pub(super) fn find(tree: &Tree) -> Vec<Finding> {
    let elsewhere = tree.sources.iter().filter(|source| {
        let is_bound = source.path.contains("/src/") && !source.path.starts_with("xtask/");
        is_bound && !HOMES.iter().any(|home| source.path.starts_with(home))
    });
    elsewhere
        .filter(|source| PERMITS.iter().any(|permit| source.text.contains(permit)))
        .map(|source| Finding::of(&source.path, "move unsafe code to crate linux"))
        .collect()
}

const HOMES: [&str; 4] =
    ["crates/linux/src/", "crates/copy/src/", "runtime/fiber/src/", "runtime/libmars/src/"];
const PERMITS: [&str; 2] = ["expect(unsafe_code", "allow(unsafe_code"];

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "//! A.\n#![expect(unsafe_code, reason = \"b\")]\n";

    #[test]
    fn fires_on_a_crate_that_permits_it_to_itself() {
        for path in ["runtime/mars/src/lib.rs", "testbed/src/host.rs"] {
            assert_eq!(find(&Tree::of_source(path, TEXT)).len(), 1, "{path}");
        }
    }

    #[test]
    fn is_silent_where_it_is_at_home_and_in_tests() {
        for path in ["crates/linux/src/lib.rs", "crates/copy/src/lib.rs", "runtime/mars/tests/a.rs"]
        {
            assert!(find(&Tree::of_source(path, TEXT)).is_empty(), "{path}");
        }
        assert!(find(&Tree::of_source("runtime/mars/src/lib.rs", "//! A.\n")).is_empty());
    }
}
