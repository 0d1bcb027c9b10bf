//! `board`: linerate on an emulated RISC-V board, with a kernel of its own.
//!
//! qemu boots Debian's kernel with an initramfs that holds the static file, on a tap in a network
//! namespace. What linerate asks of a kernel is answered there by one of another architecture;
//! emulators of single programs answer little of it. Speeds are those of the emulator.

mod archive;
mod attack;
mod checks;
mod image;
mod machine;

use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use clap::Args;
use testbed::markdown::{Align, Table};

use crate::generated::{self, File};
use crate::output::say;
use crate::packages::{self, BOARD};
use crate::static_binary::{self, Contents, TARGETS, Target};
use crate::workspace::{Build, Workspace};
use crate::{dist, hosts};
use checks::{CHECKS, Told};
use machine::Board;

/// Boots an emulated RISC-V board and runs linerate on it, as client and as server
///
/// Needs root. Debian's kernel is fetched once, into `target/board`.
#[derive(Debug, Args)]
pub(crate) struct OnBoard {
    /// Only checks with this in their names
    #[arg(long, value_name = "NAME")]
    only: Option<String>,
    /// Write what came of it to docs/board.md
    #[arg(long, conflicts_with = "only")]
    write: bool,
}

impl OnBoard {
    pub(crate) fn run(self) -> Result<String> {
        let workspace = Workspace::find()?;
        packages::provide(&BOARD)?;
        let folder = workspace.target.join("board");
        let parts = archive::provide(&folder)?;
        let binary = build(&workspace)?;
        let image = image::make(&folder, &parts, &binary)?;
        let peer = workspace.build(Build::Checked)?;
        let start = Instant::now();
        let mut board = Board::boot(&parts.kernel, &image, peer)?;
        say(format!("booted in {:.1} s", start.elapsed().as_secs_f64()));
        let told = self.check(&mut board);
        let log = folder.join("console.log");
        fs::write(&log, board.console()).context("cannot write the console's log")?;
        let told = told.with_context(|| format!("on the board, whose log is {}", log.display()))?;
        let took = start.elapsed();
        if self.write {
            write(&workspace, &board, &told, took)?;
        }
        ensure!(took <= MOST, "board: {} s are too long", took.as_secs());
        Ok(format!("board: {} checks passed in {} s", told.len(), took.as_secs()))
    }

    fn check(&self, board: &mut Board) -> Result<Vec<Told>> {
        let is_asked = |name: &str| self.only.as_deref().is_none_or(|only| name.contains(only));
        let chosen = CHECKS.iter().filter(|check| is_asked(check.name));
        let mut told = Vec::new();
        for check in chosen {
            let start = Instant::now();
            let text = (check.run)(board).with_context(|| format!("failed: {}", check.name))?;
            let took = start.elapsed();
            say(format!("passed in {:.1} s: {}: {text}", took.as_secs_f64(), check.name));
            told.push(Told { name: check.name, text, took });
        }
        ensure!(!told.is_empty(), "no check has such a name");
        Ok(told)
    }
}

/// The stage of `test`.
pub(crate) fn short(_workspace: &Workspace) -> Result<()> {
    if let Some(reason) = hosts::prepare() {
        say(format!("board: not run, since no hosts can be made here: {reason}"));
        return Ok(());
    }
    say(OnBoard { only: None, write: false }.run()?);
    Ok(())
}

/// The file for small machines.
fn build(workspace: &Workspace) -> Result<std::path::PathBuf> {
    let target = riscv()?;
    let binary = dist::file(workspace, target, Contents::Board);
    static_binary::make(workspace, target, Contents::Board, &binary)?;
    Ok(binary)
}

/// The machine whose file for small ones runs here.
pub(crate) fn riscv() -> Result<&'static Target> {
    TARGETS.iter().find(|target| target.name == "riscv64").context("a target for RISC-V")
}

fn write(workspace: &Workspace, board: &Board, told: &[Told], took: Duration) -> Result<()> {
    let mut table =
        Table::new([("check", Align::Left), ("s", Align::Right), ("told", Align::Left)]);
    for one in told {
        let seconds = format!("{:.1}", one.took.as_secs_f64());
        table.push([one.name.to_owned(), seconds, one.text.clone()]);
    }
    let (rows, seconds) = (board.rows()?, took.as_secs());
    let size = fs::metadata(dist::file(workspace, riscv()?, Contents::Board))?.len();
    let (release, megabytes) = (board.release(), size as f64 / 1e6);
    let text = format!(
        "# On an emulated board\n\n`cargo xtask board --write` writes this file. qemu boots \
         Debian's kernel for RISC-V\n({release}, two CPUs, 512 MB) with the file of \
         `cargo xtask dist --board --target riscv64` ({megabytes:.2} MB).\nBoot and checks took \
         {seconds} s. Rates are those of the emulator.\n\n## Checks\n\n{table}\n## The four rows, \
         from the board\n\n{rows}"
    );
    generated::write(&workspace.root, &[File { path: FILE.to_owned(), text }])
}

/// Boot and checks, without what is built and fetched before.
const MOST: Duration = Duration::from_secs(120);
const FILE: &str = "docs/board.md";

/// What of Debian the board runs.
struct Parts {
    kernel: std::path::PathBuf,
    modules: std::path::PathBuf,
    busybox: std::path::PathBuf,
}

impl Parts {
    fn are_there(&self) -> bool {
        [&self.kernel, &self.modules, &self.busybox].iter().all(|path| Path::exists(path))
    }
}
