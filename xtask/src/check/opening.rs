//! Style: a file opens by saying what it is.

use super::Finding;
use crate::tree::{Source, Tree};

/// Files that do not begin with `//!`.
pub(super) fn find(tree: &Tree) -> Vec<Finding> {
    tree.sources
        .iter()
        .filter(|source| is_bound(source) && !source.text.starts_with("//!"))
        .map(|source| Finding::of(&source.path, "begin with `//!`: what this file is"))
        .collect()
}

fn is_bound(source: &Source) -> bool {
    source.place().is_some() || !source.path.starts_with("crates/")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fires_on_a_file_that_begins_with_code() {
        for path in ["crates/lab/src/lib.rs", "conformance/src/main.rs", "xtask/src/main.rs"] {
            assert_eq!(find(&Tree::of_source(path, "use std::fs;\n")).len(), 1, "{path}");
            assert_eq!(find(&Tree::of_source(path, "")).len(), 1, "{path}");
        }
    }

    #[test]
    fn is_silent_on_one_that_says_what_it_is() {
        assert!(find(&Tree::of_source("crates/lab/src/lib.rs", "//! Lab.\n")).is_empty());
        assert!(find(&Tree::of_source("crates/lab/tests/link.rs", "use a;\n")).is_empty());
    }
}
