//! ARCHITECTURE.md is the map: its table of crates names every crate and what each may be
//! built upon.
//!
//! What only a crate's own tests use is free.

use super::Finding;
use crate::tree::Tree;
use crate::workspace::Member;

/// Crates without a row, rows without a crate, and dependencies that a row does not allow.
pub(super) fn find(tree: &Tree) -> Vec<Finding> {
    let rows = rows(tree.document(MAP));
    let is_member = |row: &CrateRow| tree.members.iter().any(|member| member.folder == row.folder);
    let stale = rows.iter().filter(|row| !is_member(row));
    let stale = stale.map(|row| Finding::of(MAP, format!("there is no crate `{}`", row.folder)));
    tree.members.iter().flat_map(|member| judge(member, &rows)).chain(stale).collect()
}

fn judge(member: &Member, rows: &[CrateRow]) -> Vec<Finding> {
    let Some(row) = rows.iter().find(|row| row.folder == member.folder) else {
        let what = format!("give crate `{}` a row in the table of crates", member.folder);
        return vec![Finding::of(MAP, what)];
    };
    let refused = member.uses.iter().filter(|used| !row.allows(used));
    refused.map(|used| Finding::of(&member.folder, format!("must not depend on {used}"))).collect()
}

/// A row of the table: a crate, and what it may depend on.
struct CrateRow<'a> {
    folder: &'a str,
    allowed: &'a str,
}

impl CrateRow<'_> {
    /// Names stand between commas, each perhaps with a remark in parentheses.
    fn allows(&self, folder: &str) -> bool {
        let mut names = self.allowed.split(", ").filter_map(|one| one.split(" (").next());
        self.allowed == "all" || names.any(|name| name == folder)
    }
}

/// The rows of the form "| `crate` | meaning | may depend on |" below the heading of the crates.
fn rows(map: &str) -> Vec<CrateRow<'_>> {
    let section = map.split("\n## ").find(|section| section.starts_with("Crates"));
    section.unwrap_or_default().lines().filter_map(row).collect()
}

fn row(line: &str) -> Option<CrateRow<'_>> {
    let cells: Vec<_> = line.split('|').map(str::trim).collect();
    let [_, name, _, allowed, _] = cells[..] else { return None };
    Some(CrateRow { folder: name.strip_prefix('`')?.strip_suffix('`')?, allowed })
}

const MAP: &str = "ARCHITECTURE.md";

#[cfg(test)]
mod tests {
    use super::*;

    const TABLE: &str = "# X\n\n## Crates (a | b)\n\n| crate | meaning | may depend on |\n|---|---|---|\n\
        | `linux` | calls | - |\n| `report` | renders | linux, protocol (headers) |\n\
        | `cli` | the binary | all |\n\n## Words\n\n| `no` | no | - |\n";

    fn found(members: &[(&str, &[&str])]) -> Vec<String> {
        let tree = Tree::of_documents(&[(MAP, TABLE)]).with_members(members);
        find(&tree).into_iter().map(|finding| finding.what).collect()
    }

    #[test]
    fn fires_on_a_crate_without_a_row_and_a_row_without_a_crate() {
        assert_eq!(
            found(&[("linux", &[]), ("cli", &[]), ("common", &[])]),
            ["give crate `common` a row in the table of crates", "there is no crate `report`"]
        );
    }

    #[test]
    fn fires_on_a_dependency_that_the_row_does_not_have() {
        let members: [(&str, &[&str]); 3] =
            [("linux", &["report"]), ("report", &["protocol", "session"]), ("cli", &[])];
        assert_eq!(found(&members), ["must not depend on report", "must not depend on session"]);
    }

    #[test]
    fn is_silent_on_what_is_there() {
        let members: [(&str, &[&str]); 3] =
            [("linux", &[]), ("report", &["linux", "protocol"]), ("cli", &["report"])];
        assert!(found(&members).is_empty());
    }
}
