//! Invariant H: clock and entropy are read only in `linux`.
//!
//! `cli` may read the clock for what it shows, and tests may for their patience.

use super::Finding;
use crate::tree::{Source, Tree};

/// Reads of the clock or of entropy elsewhere.
pub(super) fn find(tree: &Tree) -> Vec<Finding> {
    tree.sources.iter().filter(|source| is_bound(source)).flat_map(reads).collect()
}

fn is_bound(source: &Source) -> bool {
    source.is_shipped() && !source.folder().is_some_and(|folder| EXEMPT.contains(&folder))
}

fn reads(source: &Source) -> impl Iterator<Item = Finding> {
    READS.iter().flat_map(move |read| {
        source.production().filter(|(_, line)| line.has(read)).map(move |(number, _)| {
            let what = format!("`{read}`: read clock and entropy through crate linux");
            Finding::at(&source.path, number, what)
        })
    })
}

const EXEMPT: [&str; 2] = ["linux", "cli"];
const READS: [&str; 4] = ["Instant::now", "SystemTime::now", "clock_gettime", "getrandom"];

#[cfg(test)]
mod tests {
    use super::*;

    const READING: &str = "//! X.\nfn f() { std::time::Instant::now(); }\n";

    #[test]
    fn fires_in_other_crates() {
        let found = find(&Tree::of_source("crates/session/src/trial.rs", READING));
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].place, "crates/session/src/trial.rs:2");
    }

    #[test]
    fn is_silent_in_linux_and_in_tests() {
        for path in ["crates/linux/src/clock.rs", "crates/lab/tests/link.rs", "xtask/src/main.rs"] {
            assert!(find(&Tree::of_source(path, READING)).is_empty(), "{path}");
        }
        let tests = format!("#[cfg(test)]\nmod tests {{\n{READING}\n}}\n");
        assert!(find(&Tree::of_source("crates/session/src/trial.rs", &tests)).is_empty());
    }
}
