//! A wheel of the Python package with the static file as the command `linerate`. hatchling packs it;
//! `python/hatch_build.py` tells it of the command.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Result, ensure};

use super::tree::Tree;
use super::{Linerate, VERSION};
use crate::static_binary::Target;
use crate::{command, python};

/// Packs the package with the program.
pub(super) fn pack(linerate: &Linerate<'_>, folder: &Path) -> Result<PathBuf> {
    let (root, sources) = (&linerate.workspace.root, folder.join("python"));
    command::output(Command::new("cp").arg("--recursive").arg(root.join("python")).arg(&sources))?;
    let mut tree = Tree::default();
    tree.program("linerate", linerate.binary.clone());
    // The version of the package.
    tree.text("Cargo.toml", linerate.text("Cargo.toml")?);
    for (name, text) in linerate.licences()? {
        tree.text(format!("python/{name}"), text);
    }
    tree.write(folder)?;
    let environment = python::environment(&linerate.workspace.target.join("wheel"))?;
    let platforms = platforms(linerate.target)?;
    let mut pip = python::pip(&environment, "wheel");
    pip.args(["--no-deps", "--wheel-dir"]).arg(folder).arg(&sources);
    pip.env("LINERATE_COMMAND", folder.join("linerate")).env("LINERATE_PLATFORMS", &platforms);
    command::output(pip.env("SOURCE_DATE_EPOCH", linerate.seconds.to_string()))?;
    Ok(folder.join(format!("linerate-{VERSION}-py3-none-{platforms}.whl")))
}

/// Where the static file runs. It needs no C library, so that it runs with each of them.
fn platforms(target: &Target) -> Result<String> {
    let platforms: &[&str] = match target.name {
        "x86_64" => &["manylinux_2_17_x86_64", "manylinux2014_x86_64", "musllinux_1_1_x86_64"],
        "aarch64" => &["manylinux_2_17_aarch64", "manylinux2014_aarch64", "musllinux_1_1_aarch64"],
        "armv7" => &["manylinux_2_17_armv7l", "manylinux2014_armv7l", "musllinux_1_1_armv7l"],
        "riscv64" => &["manylinux_2_31_riscv64", "musllinux_1_2_riscv64"],
        _ => &[],
    };
    ensure!(!platforms.is_empty(), "no tag of Python for {}", target.name);
    Ok(platforms.join("."))
}
