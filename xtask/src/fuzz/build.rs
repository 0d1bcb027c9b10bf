//! How the targets are built: by cargo alone, with any stable compiler.
//!
//! `cargo fuzz` would do the same, but is one more program to install, and takes longer to
//! build than the targets. Its one addition is AddressSanitizer, which needs an unstable flag:
//! the decoders have no `unsafe` code, and what a promise bounds is asserted in the targets,
//! the memory that an input takes among it.

use std::env;
use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context, Result, ensure};

use super::folders::Folders;
use crate::{command, packages};

/// Builds the program, which has every target, and says where it is.
pub(super) fn build(folders: &Folders) -> Result<PathBuf> {
    ensure!(
        env::var_os("CXX").is_some() || packages::is_there("c++"),
        "libFuzzer needs a C++ compiler: install g++, or name one in CXX"
    );
    let host = host()?;
    let mut build = command::cargo(["build", "--profile", "fuzz", "--package", PROGRAM]);
    // With a target, even the host's own, the flags leave out build scripts and macros, which
    // are programs without libFuzzer.
    build.args(["--features", "libfuzzer", "--target", &host]);
    build.env("CARGO_TARGET_DIR", folders.build());
    build.env("CARGO_ENCODED_RUSTFLAGS", FLAGS.join("\u{1f}"));
    command::run(build.current_dir(folders.root()))?;
    Ok(folders.build().join(host).join("fuzz").join(PROGRAM))
}

/// The name of the target that is this host.
fn host() -> Result<String> {
    let rustc = env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let version = command::output(Command::new(rustc).arg("-vV"))?;
    let host = version.lines().find_map(|line| line.strip_prefix("host: "));
    host.map(str::to_owned).context("rustc does not say what its host is")
}

const PROGRAM: &str = "linerate-fuzz";
/// Counters of edges and compared values for libFuzzer (clang's SanitizerCoverage).
const FLAGS: [&str; 6] = [
    "-Cpasses=sancov-module",
    "-Cllvm-args=-sanitizer-coverage-level=4",
    "-Cllvm-args=-sanitizer-coverage-inline-8bit-counters",
    "-Cllvm-args=-sanitizer-coverage-pc-table",
    "-Cllvm-args=-sanitizer-coverage-trace-compares",
    "--cfg=fuzzing",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_host_has_a_name() {
        assert!(host().expect("rustc answers").contains("linux"));
    }
}
