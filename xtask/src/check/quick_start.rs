//! README.md tells a newcomer the two commands to begin with.

use super::Finding;
use crate::tree::Tree;

/// Commands that it does not have.
pub(super) fn find(tree: &Tree) -> Vec<Finding> {
    let readme = tree.document("README.md");
    COMMANDS
        .iter()
        .filter(|command| !readme.contains(*command))
        .map(|command| Finding::of("README.md", format!("show the command `{command}`")))
        .collect()
}

const COMMANDS: [&str; 2] = ["cargo run --release -- demo", "cargo xtask test"];

#[cfg(test)]
mod tests {
    use super::*;

    fn count(readme: &str) -> usize {
        find(&Tree::of_documents(&[("README.md", readme)])).len()
    }

    #[test]
    fn fires_on_each_that_is_missing() {
        assert_eq!(count("# linerate\n"), 2);
        assert_eq!(count("    cargo xtask test\n"), 1);
    }

    #[test]
    fn is_silent_with_both() {
        assert_eq!(count("    cargo run --release -- demo\n    cargo xtask test\n"), 0);
    }
}
