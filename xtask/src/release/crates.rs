//! The crates that linerate is made of, as cargo-tree(1) lists them: with the features that linerate
//! uses. `cargo metadata` unites these with those of the tasks and tests.

use std::path::Path;

use anyhow::{Context, Result};

use crate::command;
use crate::static_binary::Target;

/// A crate, at most once for each version.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Crate {
    pub(super) name: String,
    pub(super) version: String,
    /// An expression of SPDX.
    pub(super) licence: String,
    /// Whether it comes from the registry, and not from the workspace.
    pub(super) is_published: bool,
}

/// The tree for a target of the workspace in the folder `root`: each crate with its depth, behind the
/// one that uses it. What a crate uses is told where it is first.
pub(super) fn tree(target: &Target, root: &Path, edges: &str) -> Result<Vec<(usize, Crate)>> {
    let mut cargo = command::cargo(["tree", "--package", "linerate", "--locked"]);
    cargo.args(["--target", target.triple, "--edges", edges]);
    cargo.args(["--prefix", "depth", "--format", " {p}|{l}|"]);
    let tree = command::output(cargo.current_dir(root))?;
    tree.lines().map(|line| parse(line).with_context(|| format!("cargo tree: {line}"))).collect()
}

/// A line such as `2 libc v0.2.191|MIT OR Apache-2.0| (*)`; a folder is behind a crate's version.
fn parse(line: &str) -> Option<(usize, Crate)> {
    let (depth, rest) = line.split_once(' ')?;
    let (package, rest) = rest.split_once('|')?;
    // Older manifests write a slash for OR.
    let licence = rest.split_once('|')?.0.replace('/', " OR ");
    let mut words = package.split(' ');
    let name = words.next()?.to_owned();
    let version = words.next()?.strip_prefix('v')?.to_owned();
    let is_published = !package.contains(" (/");
    Some((depth.parse().ok()?, Crate { name, version, licence, is_published }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_a_tree_have_depth_name_version_and_licence() {
        let (depth, one) =
            parse("12 a-b v1.0.104 (proc-macro)|MIT/Apache-2.0| (*)").expect("a line");
        assert_eq!((depth, one.name.as_str(), one.version.as_str()), (12, "a-b", "1.0.104"));
        assert_eq!(one.licence, "MIT OR Apache-2.0");
        assert!(one.is_published);
        let (_, root) = parse("0 linerate v0.1.0 (/folder)|MIT|").expect("a line");
        assert!(!root.is_published);
        assert_eq!(parse(""), None);
    }
}
