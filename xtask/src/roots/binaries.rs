//! Registration of qemu with the kernel, which starts it for programs of other architectures
//! (binfmt_misc, Documentation/admin-guide/binfmt-misc.rst of the kernel).

use std::path::Path;
use std::process::Command;

use anyhow::Result;

use crate::command;

/// Registers qemu with the kernel, as a host does when it boots; in a container nobody has.
pub(super) fn register() -> Result<()> {
    if !Path::new(FOLDER).join("register").exists() {
        command::run(Command::new("mount").args(["-t", "binfmt_misc", "binfmt_misc", FOLDER]))?;
    }
    command::run(Command::new("update-binfmts").arg("--enable"))
}

const FOLDER: &str = "/proc/sys/fs/binfmt_misc";
