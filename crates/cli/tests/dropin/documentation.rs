//! `docs/iperf3.md` has every flag with its role, and names tests that exist.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use crate::support::{iperf3, run};

#[test]
fn every_flag_has_a_row() {
    let documented: BTreeSet<_> = rows().into_iter().flat_map(|row| row.flags).collect();
    let existing = flags_of_help();
    assert!(existing.len() > 50, "{existing:?}");
    let missing: Vec<_> = existing.difference(&documented).collect();
    assert!(missing.is_empty(), "no row in docs/iperf3.md: {missing:?}");
    let invented: Vec<_> = documented.difference(&existing).collect();
    assert!(invented.is_empty(), "no such flag: {invented:?}");
}

#[test]
fn every_row_has_the_role_under_whose_heading_help_lists_the_flag() {
    let roles = roles_of_help();
    for row in rows() {
        for flag in &row.flags {
            assert_eq!(roles.get(flag), Some(&row.role), "{}", row.line);
        }
    }
}

#[test]
fn every_row_names_tests_that_exist() {
    let sources = sources();
    for row in rows() {
        assert!(!row.tests.is_empty(), "no test: {}", row.line);
        for test in &row.tests {
            assert!(sources.contains(&format!("fn {test}()")), "no test {test}: {}", row.line);
        }
    }
}

/// One flag in the table.
struct FlagRow {
    flags: Vec<String>,
    role: String,
    tests: Vec<String>,
    line: String,
}

/// Rows `| flag | role | effect | tested by |`.
fn rows() -> Vec<FlagRow> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/iperf3.md");
    let text = fs::read_to_string(path).expect("the document");
    let (_, text) = text.split_once("\n## Flags\n").expect("the table");
    let cells = |line: &str| line.split('|').map(str::to_owned).collect::<Vec<_>>();
    let tabled = text.lines().map(|line| (line, cells(line)));
    let flagged = tabled.filter(|(_, cells)| cells.len() == 6 && cells[1].contains("`-"));
    flagged.map(|(line, cells)| row(line, &cells)).collect()
}

fn row(line: &str, cells: &[String]) -> FlagRow {
    let flags = code(&cells[1]).filter_map(long_flag).collect();
    let role = cells[2].trim().to_owned();
    FlagRow {
        flags,
        role,
        tests: code(&cells[4]).map(str::to_owned).collect(),
        line: line.to_owned(),
    }
}

/// What stands between backticks.
fn code(cell: &str) -> impl Iterator<Item = &str> {
    cell.split('`').skip(1).step_by(2)
}

/// The name in `--name VALUE`, `--name=VALUE` and the like.
fn long_flag(text: &str) -> Option<String> {
    let name = text.strip_prefix("--")?;
    let is_part = |c: char| c.is_ascii_alphanumeric() || c == '-';
    let end = name.find(|c| !is_part(c)).unwrap_or(name.len());
    Some(name[..end].to_owned())
}

fn flags_of_help() -> BTreeSet<String> {
    roles_of_help().into_keys().collect()
}

/// The long name of every flag that help lists, with the role of the heading above it.
fn roles_of_help() -> BTreeMap<String, String> {
    let help = run(iperf3("--help")).stdout;
    let mut role = "";
    let mut roles = BTreeMap::new();
    for line in help.lines() {
        role = match line.trim() {
            "Server or client:" => "both",
            "Server only:" => "server",
            "Client only:" => "client",
            _ => role,
        };
        if line.trim().starts_with('-')
            && let Some(name) = line.split_whitespace().find_map(long_flag)
        {
            roles.insert(name, role.to_owned());
        }
    }
    roles
}

/// All of these tests' source.
fn sources() -> String {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/dropin");
    let files = fs::read_dir(folder).expect("the folder").flatten();
    files.map(|file| fs::read_to_string(file.path()).expect("source")).collect()
}
