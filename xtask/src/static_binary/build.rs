//! The one way to build a static file.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

use anyhow::{Context, Result, ensure};

use super::elf;
use super::target::Target;
use crate::command;
use crate::workspace::Workspace;

/// What is in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Contents {
    /// Everything.
    Whole,
    /// For a small machine: without the feature `full`.
    Board,
}

impl Contents {
    /// The limit of a file of it that is handed out.
    pub(crate) const fn limit(self) -> &'static str {
        match self {
            Self::Whole => "file <= 7 MB",
            Self::Board => "file of a board <= 4 MB",
        }
    }

    /// What cargo is told.
    fn features(self) -> &'static [&'static str] {
        match self {
            Self::Whole => &["--features", "no-unwinder"],
            Self::Board => &["--no-default-features", "--features", "no-unwinder"],
        }
    }
}

/// Builds it with symbols.
pub(super) fn build(workspace: &Workspace, target: &Target, contents: Contents) -> Result<PathBuf> {
    let mut build = command::cargo(["rustc", "--package", "linerate", "--profile", PROFILE]);
    build.arg("--target-dir").arg(targets(workspace, contents));
    build.args(contents.features());
    if contents == Contents::Board {
        for package in FAST {
            build.args(["--config", &format!("profile.dist.package.{package}.opt-level='z'")]);
        }
    }
    build.args(["--target", target.triple, "--"]);
    build.args(link_arguments(workspace)?);
    build.args(SMALLER);
    build.args(if target.is_outlined_rightly() { OUTLINER } else { NO_OUTLINER });
    build.env("CARGO_ENCODED_RUSTFLAGS", flags(workspace, target)?.join("\x1f"));
    set_compiler(&mut build, target);
    command::run(build.current_dir(&workspace.root))?;
    Ok(folder(workspace, target, contents).join("linerate"))
}

/// Builds it as tests are built, so that it panics where a number overflows, and without what is
/// written in C, which is not made for each of them.
pub(super) fn build_checked(workspace: &Workspace, target: &Target) -> Result<PathBuf> {
    let mut build = command::cargo(["build", "--package", "linerate", "--no-default-features"]);
    build.args(["--target", target.triple]);
    build.env("CARGO_ENCODED_RUSTFLAGS", "-Ctarget-feature=+crt-static");
    set_compiler(&mut build, target);
    command::run(build.current_dir(&workspace.root))?;
    Ok(workspace.target.join(target.triple).join("debug/linerate"))
}

/// The compiler of C, which links as well.
fn set_compiler(build: &mut Command, target: &Target) {
    let compiler = target.compiler();
    let triple = target.triple.replace('-', "_");
    build.env(format!("CC_{triple}"), &compiler);
    if !target.is_native() && !target.is_glibc() {
        build.env(format!("CFLAGS_{triple}"), HEADERS_OF_GLIBC);
    }
    // Here the usual one links, since musl-gcc asks for an interpreter.
    if !target.is_native() {
        build.env(format!("CARGO_TARGET_{}_LINKER", triple.to_uppercase()), &compiler);
    }
}

/// Writes it to `binary` without its symbols; fails if it is not static.
pub(super) fn strip(target: &Target, with_symbols: &Path, binary: &Path) -> Result<()> {
    fs::create_dir_all(binary.parent().context("it has no folder")?)?;
    command::run(Command::new(target.strip()).arg("-o").arg(binary).arg(with_symbols))?;
    let bytes = fs::read(binary).context("cannot read what was built")?;
    let interpreter = elf::asks_for_interpreter(&bytes).context("what was built is no program")?;
    ensure!(!interpreter, "{} is not static", binary.display());
    Ok(())
}

/// Where cargo puts it.
pub(super) fn folder(workspace: &Workspace, target: &Target, contents: Contents) -> PathBuf {
    targets(workspace, contents).join(target.triple).join(PROFILE)
}

/// The target folder of cargo, which it locks: files of the two contents are built at the same time.
fn targets(workspace: &Workspace, contents: Contents) -> PathBuf {
    match contents {
        Contents::Whole => workspace.target.clone(),
        Contents::Board => workspace.target.join("small"),
    }
}

/// Of every crate: names of symbols that tell what a generic function is for, and no path of this
/// machine in the file.
fn flags(workspace: &Workspace, target: &Target) -> Result<Vec<String>> {
    let home = env::var_os("HOME").map(|home| PathBuf::from(home).join(".cargo"));
    let cargo = env::var_os("CARGO_HOME").map(PathBuf::from).or(home);
    let mut flags = vec!["-Csymbol-mangling-version=v0".to_owned()];
    let named = [(Some(workspace.root.clone()), "/linerate"), (cargo, "/cargo")];
    for (folder, name) in named.into_iter().filter_map(|(folder, name)| Some((folder?, name))) {
        let folder = folder.to_str().context("a path that is not UTF-8")?.to_owned();
        flags.push(format!("--remap-path-prefix={folder}={name}"));
    }
    if target.is_glibc() {
        flags.push("-Ctarget-feature=+crt-static".to_owned());
    }
    flags.extend(target.flags.iter().map(|flag| (*flag).to_owned()));
    Ok(flags)
}

/// What moves payload, which is small on a small machine, too: most of its work is the kernel's.
const FAST: [&str; 3] = ["linerate-dataplane", "linerate-linux", "linerate-mars"];

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

/// The profile of the workspace Cargo.toml that static files are built with.
const PROFILE: &str = "dist";
/// Without an index of tables for unwinding, with DT_RELR (the generic ABI of ELF), with each
/// function once.
const LINKER: [&str; 3] = ["-Wl,--no-eh-frame-hdr", "-Wl,-z,pack-relative-relocs", "-Wl,--icf=all"];
/// Flags that make the code of LLVM smaller, in Rust's library as well, which was not compiled to be
/// small: functions that differ in constants alone become one, and blocks are placed so that jumps are
/// short.
const SMALLER: [&str; 2] =
    ["-Cllvm-args=-enable-global-merge-func", "-Cllvm-args=-apply-ext-tsp-for-size"];
/// Likewise sequences of instructions that are alike become functions.
const OUTLINER: &[&str] =
    &["-Cllvm-args=-enable-machine-outliner=always", "-Cllvm-args=-machine-outliner-reruns=4"];
/// Some targets have such functions for small code without being asked.
const NO_OUTLINER: &[&str] = &["-Cllvm-args=-enable-machine-outliner=never"];
/// Debian's cross compilers have the headers of glibc, also for what is linked with musl. With these
/// SQLite asks for open64() and the like (feature_test_macros(7), `_FILE_OFFSET_BITS`), which musl
/// lacks; where a long has 64 bits open() is the same.
const HEADERS_OF_GLIBC: &str = "-DSQLITE_DISABLE_LFS";
