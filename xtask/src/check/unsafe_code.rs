//! Invariant G: `unsafe` only in the crates that are there for it; every other
//! crate forbids it at its root.

use super::Finding;
use crate::tree::{Source, Tree};

/// Roots that do not forbid it.
pub(super) fn find(tree: &Tree) -> Vec<Finding> {
    tree.sources.iter().filter(|source| is_bound(source) && !forbids(source)).map(finding).collect()
}

/// Whether `unsafe` may be used in a file's crate.
pub(super) fn may_be_unsafe(source: &Source) -> bool {
    source.folder().is_some_and(|folder| UNSAFE.contains(&folder))
}

fn is_bound(source: &Source) -> bool {
    source.is_crate_root() && !may_be_unsafe(source)
}

fn forbids(source: &Source) -> bool {
    source.lines().any(|(_, line)| line.code.trim() == "#![forbid(unsafe_code)]")
}

fn finding(source: &Source) -> Finding {
    Finding::at(
        &source.path,
        1,
        "add `#![forbid(unsafe_code)]`, or move what needs it to crate linux",
    )
}

const UNSAFE: [&str; 4] = ["linux", "copy", "mars", "mars-c"];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fires_on_a_root_that_does_not_forbid() {
        for path in ["crates/report/src/lib.rs", "xtask/src/main.rs"] {
            let found = find(&Tree::of_source(path, "//! X.\n// #![forbid(unsafe_code)]\n"));
            assert_eq!(found.len(), 1, "{path}");
        }
    }

    #[test]
    fn is_silent_on_one_that_does_and_on_the_crates_for_it() {
        let text = "//! X.\n\n#![forbid(unsafe_code)]\n";
        assert!(find(&Tree::of_source("crates/report/src/lib.rs", text)).is_empty());
        assert!(find(&Tree::of_source("crates/linux/src/lib.rs", "//! X.\n")).is_empty());
        assert!(find(&Tree::of_source("crates/report/src/json.rs", "//! X.\n")).is_empty());
    }
}
