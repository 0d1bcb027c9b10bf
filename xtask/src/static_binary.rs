//! `static`: linerate as one file that needs nothing of its host but a kernel.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};
use clap::Args;
use testbed::port;
use testbed::process::Running;

use crate::output::say;
use crate::workspace::Workspace;
use crate::{command, packages};

/// Builds linerate as one static file, runs it, and checks that it is small
///
/// Needs rustup, whose target for musl it adds, and a C compiler for it (musl-gcc), which it
/// installs as root on Debian.
#[derive(Debug, Args)]
pub(crate) struct Static {}

impl Static {
    #[expect(clippy::unused_self, reason = "each task is run by its value")]
    pub(crate) fn run(self) -> Result<String> {
        let workspace = Workspace::find()?;
        let binary = build(&workspace)?;
        let bytes = fs::read(&binary).context("cannot read what was built")?;
        let interpreter = asks_for_interpreter(&bytes).context("what was built is no program")?;
        ensure!(!interpreter, "{} is not static", binary.display());
        let tests = exercise(&binary)?;
        let megabytes = bytes.len() as f64 / 1e6;
        let verdict = format!(
            "static: {} has {megabytes:.2} MB, of {:.0} MB at the most, with authentication; \
             {tests} of {} tests passed",
            binary.display(),
            MOST_BYTES as f64 / 1e6,
            TESTS.len(),
        );
        ensure!(bytes.len() <= MOST_BYTES, "too large: {verdict}");
        Ok(verdict)
    }
}

/// Where [`Static`] puts what it builds.
pub(crate) fn path(workspace: &Workspace) -> PathBuf {
    workspace.target.join(target()).join(PROFILE).join("linerate")
}

fn build(workspace: &Workspace) -> Result<PathBuf> {
    packages::provide(&packages::STATIC)?;
    let target = target();
    command::run(Command::new("rustup").args(["target", "add", &target]))
        .context("static needs rustup and its target for musl")?;
    let mut build = command::cargo(["build", "--package", "linerate", "--profile", PROFILE]);
    command::run(build.args(["--target", &target]).current_dir(&workspace.root))?;
    Ok(path(workspace))
}

/// musl is made to be linked statically, and the C library of most systems is not.
fn target() -> String {
    format!("{}-unknown-linux-musl", std::env::consts::ARCH)
}

/// Whether a 64-bit little-endian ELF file is loaded by another one (`PT_INTERP`, elf(5)).
fn asks_for_interpreter(elf: &[u8]) -> Option<bool> {
    if !elf.starts_with(b"\x7fELF\x02\x01") {
        return None;
    }
    let number = |at: usize, length: usize| {
        let bytes = elf.get(at..at.checked_add(length)?)?;
        bytes.iter().rev().try_fold(0_usize, |sum, byte| Some((sum << 8) | usize::from(*byte)))
    };
    // e_phoff, e_phentsize, e_phnum; p_type is the first of an entry.
    let (start, size, count) = (number(32, 8)?, number(54, 2)?, number(56, 2)?);
    let kinds: Option<Vec<_>> = (0..count).map(|index| number(start + index * size, 4)).collect();
    Some(kinds?.contains(&PT_INTERP))
}

/// Runs it in all roles; how many tests passed.
fn exercise(binary: &Path) -> Result<usize> {
    say(command::output(Command::new(binary).arg("--version"))?.trim());
    let ((_server, port), mut passed) = (serve(binary)?, 0);
    for options in TESTS {
        let mut client = Command::new(binary);
        client.args(["test", "127.0.0.1", "--quiet", "--port", &port]);
        match command::output(client.args(options.split_whitespace())) {
            Ok(_) => {
                passed += 1;
                say(format!("passed: {options}"));
            }
            // What a kernel or a container forbids is not the fault of the binary.
            Err(error) if error.to_string().contains("cannot use engine") => say(error),
            Err(error) => return Err(error.context(format!("failed: {options}"))),
        }
    }
    Ok(passed)
}

/// Starts a server; returns when it listens.
fn serve(binary: &Path) -> Result<(Running, String)> {
    let port = port::free()?;
    let mut serve = Command::new(binary);
    serve.args(["serve", "--bind", "127.0.0.1", "--quiet", "--port", &port.to_string()]);
    let mut server = Running::start(serve)?;
    port::await_listener(None, port, &mut server)?;
    Ok((server, port.to_string()))
}

/// Of Cargo.toml.
const PROFILE: &str = "dist";
/// What SPECIFICATION.md promises.
const MOST_BYTES: usize = 6_000_000;
/// `linux/elf.h`.
const PT_INTERP: usize = 3;

/// Both transports both ways, and each engine once.
const TESTS: [&str; 9] = [
    "--tcp --send -t 500ms",
    "--tcp --receive -t 500ms",
    "--udp -b 100M -t 500ms",
    "--tcp --bidir -n 8M --engine sendfile,msg-trunc",
    "--tcp --bidir -n 8M --engine vmsplice,splice",
    "--tcp --bidir -n 8M --engine zerocopy,zerocopy-receive",
    "--tcp --bidir -n 8M --engine uring,uring-multishot",
    "--tcp --bidir -n 8M --engine uring-zerocopy,read",
    "--udp -b 100M -t 500ms -l 1000 --engine gso,gro",
];

#[cfg(test)]
mod tests {
    use super::*;

    /// A header, and one entry of this kind behind it.
    fn elf(kind: u8) -> Vec<u8> {
        let mut bytes = vec![0; 64 + 56];
        bytes[..6].copy_from_slice(b"\x7fELF\x02\x01");
        (bytes[32], bytes[54], bytes[56], bytes[64]) = (64, 56, 1, kind);
        bytes
    }

    #[test]
    fn a_program_with_an_interpreter_is_told_from_one_without() {
        assert_eq!(asks_for_interpreter(&elf(3)), Some(true));
        assert_eq!(asks_for_interpreter(&elf(1)), Some(false));
    }

    #[test]
    fn what_is_no_program_is_neither() {
        assert_eq!(asks_for_interpreter(b"#!/bin/sh\n"), None);
        assert_eq!(asks_for_interpreter(&elf(3)[..66]), None);
        assert_eq!(asks_for_interpreter(&elf(3)[..60]), None);
    }
}
