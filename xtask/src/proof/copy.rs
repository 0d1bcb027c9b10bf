//! Copies: by which accesses the routines of crate `copy` copy, how fast the model of an in-order core
//! says they are, and what that predicts for a published change of the kernel's copies.

mod accesses;
mod cycles;
mod published;

use std::process::Command;

use anyhow::{Context, Result, ensure};
use measurement::copies::{CopyRecord, CoreCopies};
use testbed::promise::Outcome;

use crate::command;
use crate::hosts::{self, UnderTest};
use crate::output::say;
use crate::packages::{self, Needed};
use crate::static_binary::{TARGETS, Target};
use crate::workspace::Workspace;

/// Workspace and target of a cross build of crate `copy` for RISC-V.
struct Cross {
    workspace: Workspace,
    target: &'static Target,
}

/// Counts accesses and cycles, predicts, and compares with the C library.
pub(super) fn run(under_test: &UnderTest) -> Result<String> {
    let modelled = without_program()?;
    let libc = beside_libc(under_test)?;
    let mut cross = command::cargo(["test", "--package", "linerate-copy", "--test", TEST]);
    let aarch64 = target("aarch64")?;
    packages::provide(aarch64.needs())?;
    aarch64.provide_library()?;
    let variable = |name: &str| {
        format!("CARGO_TARGET_{}_{name}", aarch64.triple.to_uppercase().replace('-', "_"))
    };
    cross.args(["--target", aarch64.triple]).current_dir(&Workspace::find()?.root);
    cross.env(variable("LINKER"), "rust-lld").env(variable("RUNNER"), "qemu-aarch64");
    command::run(&mut cross)?;
    let miri = if interpret()? { ", and Miri finds nothing" } else { "" };
    Ok(format!(
        "proof copy: {modelled}; {libc}; on 64-bit ARM every alignment is copied (qemu){miri}"
    ))
}

/// The routines without instructions of their own under Miri, which sees accesses outside of both
/// sides; whether it is there.
fn interpret() -> Result<bool> {
    let version = Command::new("cargo").args(["+nightly", "miri", "--version"]).output();
    if !version.is_ok_and(|version| version.status.success()) {
        say("Miri: not run, since `rustup +nightly component add miri` was not");
        return Ok(false);
    }
    let workspace = Workspace::find()?;
    let mut miri = Command::new("cargo");
    miri.args(["+nightly", "miri", "test", "--package", "linerate-copy", "--lib", "routine::"]);
    miri.env("CARGO_TARGET_DIR", workspace.target.join("miri")).env_remove("RUSTUP_TOOLCHAIN");
    miri.env_remove("RUSTC").env_remove("CARGO");
    command::run(miri.current_dir(&workspace.root))?;
    Ok(true)
}

/// The part that takes seconds, for every change: what RISC-V does.
pub(crate) fn short() -> Result<()> {
    say(format!("copies: {}", without_program()?));
    Ok(())
}

fn without_program() -> Result<String> {
    packages::provide(&PROGRAMS)?;
    let cross = Cross { workspace: Workspace::find()?, target: target("riscv64")? };
    cross.target.provide_library()?;
    let aligned = accesses::run(&cross)?;
    let cycles = cycles::run(&cross)?;
    published::show(&cycles);
    Ok(format!("{aligned}; {}", cycles.in_words()))
}

fn target(name: &str) -> Result<&'static Target> {
    TARGETS.iter().find(|target| target.name == name).context("no such target")
}

impl Cross {
    /// cargo for RISC-V.
    fn cargo(&self, words: &[&str]) -> Command {
        let mut cargo = command::cargo(words);
        let triple = self.target.triple.to_uppercase().replace('-', "_");
        cargo.args(["--package", "linerate-copy", "--release", "--target", self.target.triple]);
        cargo.env(format!("CARGO_TARGET_{triple}_LINKER"), self.target.compiler());
        cargo.env(format!("CARGO_TARGET_{triple}_RUSTFLAGS"), "-C target-feature=+crt-static");
        cargo.current_dir(&self.workspace.root);
        cargo
    }
}

/// The chosen routine beside the C library's over all lengths and alignments that `linerate copy`
/// measures.
fn beside_libc(under_test: &UnderTest) -> Result<String> {
    let mut copy = Command::new(&under_test.program);
    hosts::clean(&mut copy);
    let text = command::output(copy.args(["copy", "--fresh", "--json"]))?;
    let record: CopyRecord = measurement::json::read(&text)?;
    let core = record.cores.first().context("no core was measured")?;
    let chosen = &core.choice.as_ref().context("no routine was chosen")?.routine;
    let least = ratios(core, chosen).into_iter().fold(f64::INFINITY, f64::min);
    let outcome = Outcome::new(format!("{chosen} / libc, the least >= 0.97 x"), Some(least));
    say(&outcome);
    ensure!(outcome.kept(), "{chosen} is chosen, and {least:.2} x as fast as the C library's");
    Ok(format!("{chosen} is chosen here, at least {least:.2} x the C library's memcpy"))
}

fn ratios(core: &CoreCopies, chosen: &str) -> Vec<f64> {
    let of = |name: &str| {
        let of_name = core.routines.iter().filter(|one| one.routine == name);
        of_name.map(|one| one.speed.bytes_per_second()).collect::<Vec<_>>()
    };
    of(chosen).into_iter().zip(of("libc")).map(|(chosen, libc)| chosen / libc).collect()
}

const PROGRAMS: [Needed; 5] = [
    ("qemu-riscv64", "qemu-user"),
    ("riscv64-linux-gnu-gcc", "gcc-riscv64-linux-gnu"),
    ("/usr/riscv64-linux-gnu/lib/crt1.o", "libc6-dev-riscv64-cross"),
    ("llvm-mca", "llvm"),
    ("gcc", "gcc"),
];
const TEST: &str = "every_alignment";
