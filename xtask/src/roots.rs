//! `roots`: the Debian packages in fresh minimal systems, from installation to purge.
//!
//! Systems of other architectures run in qemu's user mode, on the kernel of this host.

mod binaries;
mod debian;
mod files;
mod steps;

use std::time::Instant;

use anyhow::{Context, Result, ensure};
use clap::Args;
use testbed::markdown::{Align, Table};

use crate::output::{complain, say};
use crate::packages::{self, ROOTS};
use crate::static_binary::Target;
use crate::workspace::Workspace;
use crate::{dist, release};
use debian::Root;
use steps::STEPS;

/// Installs each Debian package of `release` into a fresh minimal Debian, runs the demo and a test
/// against its own server there, and purges it: nothing may be left
///
/// Needs root, and on Debian installs debootstrap, qemu and binfmt-support, which registers qemu
/// with the kernel. The base systems are kept in `target/roots`.
#[derive(Debug, Args)]
pub(crate) struct Roots {
    /// The machine whose package is installed [default: all of them]
    #[arg(long, value_enum)]
    target: Option<&'static Target>,
}

impl Roots {
    pub(crate) fn run(self) -> Result<String> {
        let workspace = Workspace::find()?;
        packages::provide(&ROOTS)?;
        let targets = dist::chosen(self.target, self.target.is_none())?;
        binaries::register()?;
        let (mut table, mut failed) = (table(), 0);
        for target in &targets {
            match check(&workspace, target) {
                Ok(row) => table.push(row),
                Err(error) => {
                    complain(format!("failed: {}: {error:#}", target.debian));
                    table.push([target.debian.to_owned(), "failed".to_owned()]);
                    failed += 1;
                }
            }
        }
        say(format!("\n{table}"));
        ensure!(failed == 0, "roots: {failed} of {} packages failed", targets.len());
        Ok(format!("roots: {} packages were installed, run and purged", targets.len()))
    }
}

/// A row of the table: what each step told.
fn check(workspace: &Workspace, target: &Target) -> Result<Vec<String>> {
    let package = dist::folder(workspace).join(release::package(target));
    ensure!(package.is_file(), "{} is missing: run `cargo xtask release`", package.display());
    let root = Root::fresh(workspace, target)?;
    root.take(&package)?;
    let before = files::list(root.folder())?;
    let mut row = vec![target.debian.to_owned(), root.suite().to_owned()];
    for step in &STEPS {
        let start = Instant::now();
        let told = (step.run)(&root).with_context(|| step.name)?;
        let seconds = start.elapsed().as_secs_f64();
        say(format!("passed in {seconds:.1} s: {}, {}: {told}", target.debian, step.name));
        row.push(told);
    }
    let left = files::list(root.folder())?.since(&before);
    ensure!(left.is_empty(), "left after the purge: {}", left.join(", "));
    row.push("nothing".to_owned());
    Ok(row)
}

fn table() -> Table {
    let names = ["package", "Debian"].into_iter().chain(STEPS.iter().map(|step| step.name));
    Table::new(names.chain(["left"]).map(|name| (name, Align::Left)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_has_a_column_for_each_step() {
        assert!(table().to_string().starts_with("| package | Debian | install | "));
    }
}
