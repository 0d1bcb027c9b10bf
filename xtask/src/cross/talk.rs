//! Tests between builds for hosts of other byte order or width and the programs of this host, in
//! both roles, over TCP and UDP.
//!
//! qemu's user mode runs them on the kernel of this host, so that they differ from its programs in
//! what they write to the network and read from it. It passes on few of the calls by which hosts
//! are watched; `board` is for these. Rates are those of the emulator.

mod role;
mod trial;

use std::path::PathBuf;

use anyhow::{Context, Result, ensure};
use testbed::markdown::{Align, Table};

use crate::output::{complain, say};
use crate::packages::{self, TALK};
use crate::static_binary::{self, BIG_ENDIAN, TARGETS, Target};
use crate::workspace::{Build, Workspace};
use role::{Ends, ROLES};
use trial::TRIALS;

/// Runs every trial in every role of a build for each of `triples`; empty: for the usual targets.
pub(super) fn run(
    workspace: &Workspace,
    triples: &[String],
    linerate: Option<PathBuf>,
) -> Result<String> {
    let targets = chosen(triples)?;
    packages::provide(&TALK)?;
    let here = match linerate {
        Some(linerate) => linerate,
        None => workspace.build(Build::Checked)?,
    };
    let (mut table, mut passed, mut failed) = (table(), 0, 0);
    for target in targets {
        let binary = static_binary::checked(workspace, target)?;
        for row in rows(&Ends { target, binary: &binary, here: &here }) {
            passed += row.passed;
            failed += row.failed;
            table.push(row.cells);
        }
    }
    say(format!("\n{table}"));
    ensure!(failed == 0, "cross: {failed} of {} trials failed", passed + failed);
    Ok(format!("cross: {passed} trials passed"))
}

fn chosen(triples: &[String]) -> Result<Vec<&'static Target>> {
    let all = || BIG_ENDIAN.iter().chain(&TARGETS).filter(|target| !target.is_native());
    if triples.is_empty() {
        return Ok(all().filter(|target| USUAL.contains(&target.name)).collect());
    }
    let known = all().map(|target| target.triple).collect::<Vec<_>>().join(", ");
    let find = |triple: &String| all().find(|target| target.triple == triple);
    let find = |triple| find(triple).with_context(|| format!("no {triple}: name one of {known}"));
    triples.iter().map(find).collect()
}

/// A line of the table, and how many of its trials passed.
struct RoleRow {
    cells: Vec<String>,
    passed: usize,
    failed: usize,
}

fn rows(ends: &Ends<'_>) -> Vec<RoleRow> {
    ROLES.iter().map(|role| row(ends, role)).collect()
}

fn row(ends: &Ends<'_>, role: &role::Role) -> RoleRow {
    let mut row = RoleRow {
        cells: vec![ends.target.name.to_owned(), role.name.to_owned()],
        passed: 0,
        failed: 0,
    };
    for trial in &TRIALS {
        let name = format!("{}, {}, {}", ends.target.name, role.name, trial.name);
        row.cells.push(match role.play(ends, trial) {
            None => "-".to_owned(),
            Some(Ok(told)) => {
                say(format!("passed: {name}: {told}"));
                row.passed += 1;
                told
            }
            Some(Err(error)) => {
                complain(format!("failed: {name}: {error:#}"));
                row.failed += 1;
                "failed".to_owned()
            }
        });
    }
    row
}

fn table() -> Table {
    let names = [("build", Align::Left), ("as", Align::Left)];
    Table::new(names.into_iter().chain(TRIALS.iter().map(|trial| (trial.name, Align::Right))))
}

/// Big-endian of 32 and 64 bits, and little-endian of 32.
const USUAL: [&str; 3] = ["powerpc", "s390x", "armv7"];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn targets_are_named_as_rustc_names_them() {
        let names = |triples: &[&str]| {
            let triples: Vec<_> = triples.iter().map(|triple| (*triple).to_owned()).collect();
            let targets = chosen(&triples);
            targets.map(|targets| targets.iter().map(|one| one.name).collect::<Vec<_>>())
        };
        assert_eq!(names(&["s390x-unknown-linux-gnu"]).expect("known"), ["s390x"]);
        let error = names(&["vax"]).expect_err("unknown").to_string();
        assert!(error.starts_with("no vax: name one of powerpc-unknown-linux-gnu, "), "{error}");
    }
}
