//! Random programs of tasks: each runs to its end, and what it counts is exact; on this machine, and on
//! others that qemu runs. Miri interprets what the runtime wakes its workers with, where it is there.

use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result};

use super::races;
use crate::command;
use crate::output::say;
use crate::packages;
use crate::static_binary::{TARGETS, Target};
use crate::workspace::Workspace;

/// Runs programs for so long on each machine, and with ThreadSanitizer.
pub(super) fn run(span: Duration) -> Result<String> {
    let told = short(span)?;
    let races = races::run(&Workspace::runtime()?, span)?;
    Ok(told + if races { ", and ThreadSanitizer no race" } else { "" })
}

/// As [`run`], without ThreadSanitizer, for which all is built again.
pub(super) fn short(span: Duration) -> Result<String> {
    let workspace = Workspace::runtime()?;
    let mut machines = Vec::new();
    for target in TARGETS.iter().filter(|target| MACHINES.contains(&target.name)) {
        say(format!("mars: random programs on {} for {} s", target.name, span.as_secs()));
        command::run(generated(&workspace, target, span)?.current_dir(&workspace.root))?;
        machines.push(target.name);
    }
    let miri = if interpret(&workspace)? { ", and Miri finds nothing" } else { "" };
    let machines = machines.join(", ");
    Ok(format!("proof mars: random programs counted exactly on {machines}{miri}"))
}

/// The test that draws and runs them.
fn generated(workspace: &Workspace, target: &Target, span: Duration) -> Result<Command> {
    let words =
        ["test", "--package", "linerate-mars", "--features", "tasks", "--test", "generated"];
    let mut test = command::cargo(words);
    test.env("MARS_GENERATED_SECONDS", span.as_secs().to_string());
    let Some(runner) = target.runner() else { return Ok(test) };
    packages::provide(target.needs())?;
    target.provide_library()?;
    let variable = |name: &str| {
        format!("CARGO_TARGET_{}_{name}", target.triple.to_uppercase().replace('-', "_"))
    };
    // Rust's own linker suffices for musl, which comes with Rust.
    let linker = if target.is_glibc() { target.compiler() } else { "rust-lld".to_owned() };
    test.env(variable("LINKER"), linker).env(variable("RUNNER"), runner);
    test.env(variable("RUSTFLAGS"), "-C target-feature=+crt-static");
    test.env("CARGO_TARGET_DIR", &workspace.target).args(["--target", target.triple]);
    Ok(test)
}

/// Parts without system calls, and without other stacks, which Miri does not know; whether it is there.
fn interpret(workspace: &Workspace) -> Result<bool> {
    let version = Command::new("cargo").args(["+nightly", "miri", "--version"]).output();
    if !version.is_ok_and(|version| version.status.success()) {
        say("Miri: not run, since `rustup +nightly component add miri` was not");
        return Ok(false);
    }
    let mut miri = Command::new("cargo");
    miri.args(["+nightly", "miri", "test", "--package", "linerate-mars", "--lib"]);
    miri.args(["--", "ready::", "wait_token::"]);
    // Proptest looks for its files, and an interpreter takes long for each case.
    miri.env("MIRIFLAGS", "-Zmiri-disable-isolation").env("PROPTEST_CASES", "16");
    miri.env("CARGO_TARGET_DIR", workspace.target.join("miri")).env_remove("RUSTUP_TOOLCHAIN");
    miri.env_remove("RUSTC").env_remove("CARGO");
    command::run(miri.current_dir(&workspace.root)).context("Miri")?;
    Ok(true)
}

/// Those on which tasks were tried.
const MACHINES: [&str; 3] = ["x86_64", "aarch64", "riscv64"];
