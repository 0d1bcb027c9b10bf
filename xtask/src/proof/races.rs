//! ThreadSanitizer over the tests of the runtime: it is told of each switch to another stack.

use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result, ensure};

use crate::command;
use crate::output::say;
use crate::workspace::Workspace;

/// Runs the tests, random programs for so long; whether there is what it needs.
pub(super) fn run(workspace: &Workspace, span: Duration) -> Result<bool> {
    let sysroot = Command::new("rustc").args(["+nightly", "--print", "sysroot"]).output();
    let sysroot = sysroot.ok().filter(|output| output.status.success());
    let Some(sysroot) = sysroot.map(|output| String::from_utf8_lossy(&output.stdout).into_owned())
    else {
        say("ThreadSanitizer: not run, since there is no nightly toolchain");
        return Ok(false);
    };
    let source = workspace.root.join(sysroot.trim()).join("lib/rustlib/src/rust/library");
    if !source.is_dir() {
        say("ThreadSanitizer: not run, since `rustup +nightly component add rust-src` was not");
        return Ok(false);
    }
    let race = ["--package", "linerate-fiber", "--test", "race", "--", "--nocapture"];
    let found = tests(workspace, &race, span).output().context("cargo")?;
    let said = String::from_utf8_lossy(&found.stderr);
    ensure!(said.contains("ThreadSanitizer: data race"), "a race is not found: {said}");
    let mut words = vec!["--package", "linerate-mars", "--features", "tasks"];
    words.extend(TESTS.iter().flat_map(|name| ["--test", name]));
    let programs = ["--package", "linerate-libmars", "--test", "c_programs"];
    for words in [&words[..], &programs] {
        command::run(&mut tests(workspace, words, span)).context("ThreadSanitizer")?;
    }
    Ok(true)
}

/// Builds all of it, the standard library too, with the sanitizer, and runs tests.
fn tests(workspace: &Workspace, words: &[&str], span: Duration) -> Command {
    let mut cargo = Command::new("cargo");
    cargo.args(["+nightly", "test", "-Zbuild-std", "--target", "x86_64-unknown-linux-gnu"]);
    cargo.args(words).env("RUSTFLAGS", FLAGS);
    cargo.env("MARS_GENERATED_SECONDS", span.as_secs().to_string());
    cargo.env("CARGO_TARGET_DIR", workspace.target.join("races")).env_remove("RUSTUP_TOOLCHAIN");
    cargo.env_remove("RUSTC").env_remove("CARGO").current_dir(&workspace.root);
    cargo
}

/// A function that another stack suspends does not end where it began: its begin and end are not
/// noted, so that a finding tells no callers.
const FLAGS: &str = "-Zsanitizer=thread --cfg tsan -Cllvm-args=-tsan-instrument-func-entry-exit=0";
/// Tests of the runtime that judge no time.
const TESTS: [&str; 7] =
    ["tasks", "objects", "waits", "endings", "programs", "local_store", "generated"];
