//! `static`: linerate as one file that needs nothing of its host but a kernel.

mod parts;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};
use clap::Args;
use testbed::port;
use testbed::process::Running;
use testbed::promise::Outcome;

use crate::output::say;
use crate::workspace::Workspace;
use crate::{command, packages};

/// Builds linerate as one static file, runs it, and checks that it is small
///
/// Needs rustup, whose target for musl it adds, and a C compiler for it (musl-gcc), which it
/// installs as root on Debian.
#[derive(Debug, Args)]
pub(crate) struct Static {
    /// Show what takes the place in the file
    #[arg(long)]
    parts: bool,
}

impl Static {
    pub(crate) fn run(self) -> Result<String> {
        let workspace = Workspace::find()?;
        packages::provide(&packages::STATIC)?;
        if let Err(error) = provide_target() {
            return Ok(format!("static: not run, since Rust's musl cannot be had: {error:#}"));
        }
        let with_symbols = build(&workspace)?;
        let binary = strip(&workspace, &with_symbols)?;
        let bytes = fs::read(&binary).context("cannot read what was built")?;
        let interpreter = asks_for_interpreter(&bytes).context("what was built is no program")?;
        ensure!(!interpreter, "{} is not static", binary.display());
        let tests = exercise(&binary)?;
        if self.parts {
            say(format!("\n{}", parts::table(parts::sizes(&with_symbols)?, bytes.len())));
        }
        let megabytes = bytes.len() as f64 / 1e6;
        let size =
            Outcome::new(format!("one static file, in MB: <= {MOST_MEGABYTES}"), Some(megabytes));
        say(&size);
        let verdict = format!(
            "static: {} has {megabytes:.2} MB, with authentication; {tests} of {} tests passed",
            binary.display(),
            TESTS.len(),
        );
        ensure!(size.kept(), "too large: {verdict}");
        Ok(verdict)
    }
}

/// Where [`Static`] puts what it builds.
pub(crate) fn path(workspace: &Workspace) -> PathBuf {
    folder(workspace).join("static/linerate")
}

fn folder(workspace: &Workspace) -> PathBuf {
    workspace.target.join(target()).join(PROFILE)
}

fn provide_target() -> Result<()> {
    command::run(Command::new("rustup").args(["target", "add", &target()]))
}

/// Writes it without its symbols.
fn strip(workspace: &Workspace, with_symbols: &Path) -> Result<PathBuf> {
    let binary = path(workspace);
    fs::create_dir_all(binary.parent().context("it has no folder")?)?;
    command::run(Command::new("strip").arg("-o").arg(&binary).arg(with_symbols))?;
    Ok(binary)
}

/// Builds it with symbols.
fn build(workspace: &Workspace) -> Result<PathBuf> {
    let mut build = command::cargo(["rustc", "--package", "linerate", "--profile", PROFILE]);
    build.args(["--target", &target(), "--"]).args(link_arguments(workspace)?);
    // Names of symbols tell what a generic function is for.
    build.env("CARGO_ENCODED_RUSTFLAGS", "-Csymbol-mangling-version=v0");
    command::run(build.env("AWS_LC_SYS_CFLAGS", C_FLAGS).current_dir(&workspace.root))?;
    Ok(folder(workspace).join("linerate"))
}

/// What no profile of Cargo.toml can say: without tables for unwinding, relocations in short form,
/// and one of functions that are alike, which the linker of the toolchain can find.
fn link_arguments(workspace: &Workspace) -> Result<Vec<String>> {
    let ask = |what| command::output(Command::new("rustc").args(["--print", what]));
    let (sysroot, host) = (ask("sysroot")?, ask("host-tuple")?);
    let folder = format!("{}/lib/rustlib/{}/bin/gcc-ld", sysroot.trim(), host.trim());
    ensure!(Path::new(&folder).is_dir(), "this Rust has no lld: {folder}");
    let script = workspace.root.join("xtask/src/static_binary/discard.ld");
    let (folder, script) = (format!("-B{folder}"), format!("-Wl,-T,{}", script.display()));
    let arguments = [&folder, "-fuse-ld=lld", &script].into_iter().chain(LINKER);
    Ok(arguments.map(|argument| format!("-Clink-arg={argument}")).collect())
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
            // Exit code 3: it ran, and other processes kept it from the rate.
            Err(error) if error.to_string().contains("ended with exit status: 3:") => {
                passed += 1;
                say(format!("passed, on a busy machine: {options}"));
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
const MOST_MEGABYTES: u32 = 5;
/// Without an index of tables for unwinding, with DT_RELR (the generic ABI of ELF), with each
/// function once.
const LINKER: [&str; 3] = ["-Wl,--no-eh-frame-hdr", "-Wl,-z,pack-relative-relocs", "-Wl,--icf=all"];
/// RSA takes none of the vectorised curves and lattices that come with it.
const C_FLAGS: &str = "-DMY_ASSEMBLER_IS_TOO_OLD_FOR_AVX";
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
