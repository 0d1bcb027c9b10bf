//! ARCHITECTURE.md is the map: it names every crate.

use super::Finding;
use crate::tree::Tree;

/// Crates that are not on it.
pub(super) fn find(tree: &Tree) -> Vec<Finding> {
    let map = tree.document("ARCHITECTURE.md");
    tree.members
        .iter()
        .filter(|member| !names(map, &member.folder))
        .map(|member| Finding::of("ARCHITECTURE.md", format!("name the crate `{}`", member.folder)))
        .collect()
}

/// As a word in backticks, alone or at the end of a path.
fn names(map: &str, folder: &str) -> bool {
    let forms = [format!("`{folder}`"), format!("`{folder}/`"), format!("crates/{folder}")];
    forms.iter().any(|form| map.contains(form))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn count(map: &str) -> usize {
        let members: [(&str, &[&str]); 2] = [("lab", &[]), ("xtask", &[])];
        find(&Tree::of_documents(&[("ARCHITECTURE.md", map)]).with_members(&members)).len()
    }

    #[test]
    fn fires_on_each_that_is_missing() {
        assert_eq!(count(""), 2);
        assert_eq!(count("The lab is `lab`.\n"), 1);
    }

    #[test]
    fn is_silent_with_all_of_them() {
        assert_eq!(count("| `lab` | links |\nAround it: `xtask/`.\n"), 0);
    }
}
