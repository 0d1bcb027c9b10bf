//! Debian's kernel and busybox for RISC-V, fetched by an apt of its own, which checks signatures
//! and leaves the lists of this machine alone.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};

use super::Parts;
use crate::command;
use crate::output::say;
use crate::packages::{KEYRING, MIRROR};

/// Fetches and unpacks them, unless they are there.
pub(super) fn provide(folder: &Path) -> Result<Parts> {
    let root = folder.join("root");
    if let Some(parts) = find(&root) {
        return Ok(parts);
    }
    let mut failures = Vec::new();
    for suite in SUITES {
        match fetch(folder, suite) {
            Ok(()) => match find(&root) {
                Some(parts) => return Ok(parts),
                None => failures.push(format!("{suite}: its packages have no kernel")),
            },
            Err(error) => failures.push(format!("{suite}: {error:#}")),
        }
        say(failures.last().map_or("", String::as_str));
    }
    bail!("the archive {MIRROR} has no kernel for riscv64; tried {}", SUITES.join(", "))
}

/// Kernels before 7 are in /boot.
fn find(root: &Path) -> Option<Parts> {
    let modules = only_entry(&root.join("usr/lib/modules"))?;
    let release = modules.file_name()?.to_str()?.to_owned();
    let kernels = [modules.join("vmlinuz"), root.join(format!("boot/vmlinux-{release}"))];
    let kernel = kernels.into_iter().find(|kernel| kernel.is_file())?;
    let parts = Parts { kernel, modules, busybox: root.join("usr/bin/busybox") };
    parts.are_there().then_some(parts)
}

fn only_entry(folder: &Path) -> Option<PathBuf> {
    fs::read_dir(folder).ok()?.next()?.ok().map(|entry| entry.path())
}

fn fetch(folder: &Path, suite: &str) -> Result<()> {
    let home = folder.join("apt");
    for name in ["lists/partial", "cache/archives/partial", "packages"] {
        fs::create_dir_all(home.join(name)).context("cannot make folders for apt")?;
    }
    let source = format!("deb [signed-by={KEYRING}] {MIRROR} {suite} main\n");
    fs::write(home.join("sources.list"), source)?;
    fs::write(home.join("status"), "")?;
    let apt = Apt { home };
    command::run(apt.command("apt-get").arg("update"))?;
    let mut packages = vec!["busybox-static".to_owned()];
    // The package of this name stands for the newest one; those of newer kernels have parts.
    for image in apt.kernels_of("linux-image-riscv64")? {
        packages.extend(apt.kernels_of(&image)?);
        packages.push(image);
    }
    let files = apt.home.join("packages");
    command::run(apt.command("apt-get").arg("download").args(&packages).current_dir(&files))?;
    for entry in fs::read_dir(&files)? {
        let mut unpack = Command::new("dpkg-deb");
        command::run(unpack.arg("-x").arg(entry?.path()).arg(folder.join("root")))?;
    }
    fs::remove_dir_all(&files).context("cannot remove the packages")
}

/// An apt whose files are all below a folder.
struct Apt {
    home: PathBuf,
}

impl Apt {
    fn command(&self, program: &str) -> Command {
        let mut command = Command::new(program);
        let at = |name: &str| self.home.join(name).display().to_string();
        let options = [
            format!("Dir::State={}", at("")),
            format!("Dir::State::lists={}", at("lists")),
            format!("Dir::State::status={}", at("status")),
            format!("Dir::Cache={}", at("cache")),
            format!("Dir::Etc::sourcelist={}", at("sources.list")),
            "Dir::Etc::sourceparts=-".to_owned(),
            "APT::Architecture=riscv64".to_owned(),
            "APT::Architectures::=riscv64".to_owned(),
            "APT::Sandbox::User=root".to_owned(),
            "Acquire::Languages=none".to_owned(),
        ];
        command.args(options.iter().flat_map(|option| ["-o", option]));
        command
    }

    /// Packages of a kernel on which a package depends.
    fn kernels_of(&self, package: &str) -> Result<Vec<String>> {
        let text = command::output(self.command("apt-cache").args(["depends", package]))?;
        Ok(kernels(&text))
    }
}

/// Of what `apt-cache depends` prints.
fn kernels(text: &str) -> Vec<String> {
    let needed = text.lines().filter_map(|line| line.trim().strip_prefix("Depends: "));
    let is_part = |name: &&str| PARTS.iter().any(|part| name.starts_with(part));
    needed.filter(is_part).map(str::to_owned).collect()
}

/// Releases with RISC-V, the first first.
const SUITES: [&str; 2] = ["trixie", "forky"];
const PARTS: [&str; 3] = ["linux-image-", "linux-binary-", "linux-modules-"];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kernel_has_parts() {
        let text = "linux-image-7\n |Depends: dracut\n  Depends: linux-base-7\n  Depends: \
                    linux-binary-7\n  Depends: linux-modules-7\n";
        assert_eq!(kernels(text), ["linux-binary-7", "linux-modules-7"]);
    }
}
