//! How the targets are built: by cargo alone, with any stable compiler.
//!
//! `cargo fuzz` would do the same, but is one more program to install, and takes longer to
//! build than the targets. Its one addition is AddressSanitizer, which needs an unstable flag:
//! the decoders have no `unsafe` code, and what a promise bounds is asserted in the targets,
//! the memory that an input takes among it. The layout is `cargo fuzz`'s all the same.

use std::env;
use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context, Result, ensure};

use super::folders::Folders;
use crate::{command, packages};

/// Builds every target and says where the programs are.
pub(super) fn build(folders: &Folders) -> Result<PathBuf> {
    ensure!(
        env::var_os("CXX").is_some() || packages::is_there("c++"),
        "libFuzzer needs a C++ compiler: install g++, or name one in CXX"
    );
    let host = host()?;
    // With a target, even the host's own, the flags leave out build scripts and macros, which
    // are programs without libFuzzer.
    let mut build = command::cargo(["build", "--release", "--bins", "--target", &host]);
    build.arg("--manifest-path").arg(folders.manifest());
    build.env("CARGO_TARGET_DIR", folders.build());
    build.env("CARGO_ENCODED_RUSTFLAGS", FLAGS.join("\u{1f}"));
    command::run(&mut build)?;
    Ok(folders.build().join(host).join("release"))
}

/// The name of the target that is this host.
fn host() -> Result<String> {
    let rustc = env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let version = command::output(Command::new(rustc).arg("-vV"))?;
    let host = version.lines().find_map(|line| line.strip_prefix("host: "));
    host.map(str::to_owned).context("rustc does not say what its host is")
}

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
