//! Every external dependency has its reason in a table of CONTRIBUTING.md.

use std::collections::BTreeSet;

use super::Finding;
use crate::tree::Tree;

/// Dependencies of a workspace without a row.
pub(super) fn find(tree: &Tree) -> Vec<Finding> {
    let reasons = tree.document("CONTRIBUTING.md");
    let manifests = ["Cargo.toml", "runtime/Cargo.toml"].map(|name| tree.document(name));
    let names: BTreeSet<_> = manifests.into_iter().flat_map(external).collect();
    names
        .into_iter()
        .filter(|name| !has_row(reasons, name))
        .map(|name| {
            let what = format!("give `{name}` a row in the table of dependencies, with its reason");
            Finding::of("CONTRIBUTING.md", what)
        })
        .collect()
}

fn has_row(document: &str, name: &str) -> bool {
    let quoted = format!("`{name}`");
    document.lines().any(|line| line.trim_start().starts_with('|') && line.contains(&quoted))
}

/// Names in `[workspace.dependencies]` that are no crates of ours.
fn external(manifest: &str) -> impl Iterator<Item = &str> {
    manifest
        .lines()
        .skip_while(|line| line.trim() != "[workspace.dependencies]")
        .skip(1)
        .take_while(|line| !line.starts_with('['))
        .filter(|line| !line.contains("path =") && !line.trim_start().starts_with('#'))
        .filter_map(|line| line.split_once('='))
        .map(|(name, _)| name.trim())
}

#[cfg(test)]
mod tests {
    use super::*;

    const MANIFEST: &str = "\
[workspace]
resolver = \"3\"

[workspace.dependencies]
lab = { package = \"linerate-lab\", path = \"crates/lab\" }
# Words.
clap = { version = \"4\" }
libc = \"0.2\"

[profile.dev]
opt-level = 1
";

    fn found(contributing: &str) -> Vec<Finding> {
        find(&Tree::of_documents(&[("Cargo.toml", MANIFEST), ("CONTRIBUTING.md", contributing)]))
    }

    #[test]
    fn fires_on_each_without_a_row() {
        assert_eq!(found("").len(), 2);
        assert_eq!(found("`libc` is named here.\n| `clap` | reads argv |\n").len(), 1);
    }

    #[test]
    fn is_silent_with_a_row_for_each() {
        assert!(found("| `clap` | reads argv |\n| `libc` | calls |\n").is_empty());
    }
}
