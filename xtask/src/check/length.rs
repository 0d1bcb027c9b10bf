//! Style: a file can be read in one sitting.

use super::Finding;
use crate::tree::{Source, Tree};

/// Files of crates that are too long.
pub(super) fn find(tree: &Tree) -> Vec<Finding> {
    tree.shipped().filter_map(judge).collect()
}

fn judge(source: &Source) -> Option<Finding> {
    let lines = source.text.lines().count();
    let what = || format!("{lines} lines; split it where a reader would, {MOST_LINES} at most");
    let known = KNOWN.iter().find(|(path, _)| source.path == *path);
    let most = known.map_or(MOST_LINES, |(_, most)| *most);
    (lines > most).then(|| Finding::of(&source.path, what()))
}

const MOST_LINES: usize = 600;
/// What is left of longer ones; none may be added.
const KNOWN: [(&str, usize); 1] = [("crates/measurement/src/host/counter.rs", 656)];

#[cfg(test)]
mod tests {
    use super::*;

    fn count(path: &str, lines: usize) -> usize {
        find(&Tree::of_source(path, &"fn f() {}\n".repeat(lines))).len()
    }

    #[test]
    fn fires_above_the_limit() {
        assert_eq!(count("crates/lab/src/lib.rs", MOST_LINES + 1), 1);
    }

    #[test]
    fn is_silent_at_the_limit_and_on_tests() {
        assert_eq!(count("crates/lab/src/lib.rs", MOST_LINES), 0);
        assert_eq!(count("crates/lab/tests/link.rs", MOST_LINES + 1), 0);
    }
}
