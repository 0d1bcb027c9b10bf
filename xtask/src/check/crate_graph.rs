//! The crate graph: each crate is built upon what ARCHITECTURE.md allows it.
//!
//! What only a crate's own tests use is free.

use super::Finding;
use crate::tree::Tree;
use crate::workspace::Member;

/// Dependencies that the table does not have, and crates that it does not know.
pub(super) fn find(tree: &Tree) -> Vec<Finding> {
    tree.members.iter().flat_map(judge).collect()
}

fn judge(member: &Member) -> Vec<Finding> {
    let Some((_, allowed)) = TABLE.iter().find(|(folder, _)| *folder == member.folder) else {
        let what = format!("add crate {} to ARCHITECTURE.md and to {}", member.folder, file!());
        return vec![Finding::of(&member.folder, what)];
    };
    let refused = member.uses.iter().filter(|used| !allowed.allows(used));
    refused.map(|used| Finding::of(&member.folder, format!("must not depend on {used}"))).collect()
}

/// What a crate may be built upon.
enum Allowed {
    Only(&'static [&'static str]),
    All,
}

impl Allowed {
    fn allows(&self, folder: &str) -> bool {
        match self {
            Self::Only(folders) => folders.contains(&folder),
            Self::All => true,
        }
    }
}

/// The table of ARCHITECTURE.md; a new crate gets its row in both.
const TABLE: [(&str, Allowed); 15] = [
    ("measurement", Allowed::Only(&[])),
    ("protocol", Allowed::Only(&["measurement"])),
    ("linux", Allowed::Only(&[])),
    ("mars", Allowed::Only(&["linux"])),
    ("dataplane", Allowed::Only(&["measurement", "protocol", "linux", "mars"])),
    ("session", Allowed::Only(&["measurement", "protocol", "linux", "dataplane", "host"])),
    ("host", Allowed::Only(&["measurement", "linux"])),
    ("analysis", Allowed::Only(&["measurement"])),
    ("campaign", Allowed::Only(&["measurement", "linux", "session", "analysis"])),
    ("report", Allowed::Only(&["measurement"])),
    ("lab", Allowed::Only(&["linux"])),
    ("authentication", Allowed::Only(&[])),
    ("cli", Allowed::All),
    ("conformance", Allowed::All),
    ("xtask", Allowed::Only(&["measurement", "analysis", "report", "lab", "linux"])),
];

#[cfg(test)]
mod tests {
    use super::*;

    fn found(folder: &str, uses: &[&str]) -> Vec<Finding> {
        find(&Tree::default().with_members(&[(folder, uses)]))
    }

    #[test]
    fn fires_on_an_edge_that_is_not_in_the_table() {
        let expected = Finding::of("report", "must not depend on session");
        assert_eq!(found("report", &["measurement", "session"]), [expected]);
    }

    #[test]
    fn fires_on_a_crate_that_is_not_in_the_table() {
        let found = found("common", &[]);
        assert!(found[0].what.contains("add crate common to ARCHITECTURE.md"), "{found:?}");
    }

    #[test]
    fn is_silent_on_what_is() {
        assert!(found("dataplane", &["linux", "protocol"]).is_empty());
        assert!(found("cli", &["session", "report"]).is_empty());
    }
}
