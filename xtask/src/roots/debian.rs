//! A minimal Debian system in a folder, and its network namespace.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};
use linux::namespace::NetworkNamespace;

use crate::command;
use crate::output::say;
use crate::packages::{KEYRING, MIRROR};
use crate::static_binary::Target;
use crate::workspace::Workspace;

/// A system that was copied from a base system; its folder is removed with this value.
pub(super) struct Root {
    folder: PathBuf,
    suite: &'static str,
    namespace: NetworkNamespace,
}

impl Root {
    /// A copy of the base system for a target, which is made if there is none yet.
    pub(super) fn fresh(workspace: &Workspace, target: &Target) -> Result<Self> {
        let home = workspace.target.join("roots");
        let (base, suite) = provide(&home, target)?;
        let namespace = NetworkNamespace::create()
            .context("cannot make a network namespace; run this task as root")?;
        let mut up = Command::new("ip");
        namespace.apply_to(up.args(["link", "set", "lo", "up"]));
        command::run(&mut up)?;
        let folder = home.join(format!("{}-{}", target.debian, std::process::id()));
        let root = Self { folder, suite, namespace };
        command::run(Command::new("cp").arg("-a").arg(&base).arg(&root.folder))?;
        Ok(root)
    }

    pub(super) fn folder(&self) -> &Path {
        &self.folder
    }

    /// The release of Debian.
    pub(super) const fn suite(&self) -> &'static str {
        self.suite
    }

    /// Copies a package to [`PACKAGE`].
    pub(super) fn take(&self, package: &Path) -> Result<()> {
        fs::copy(package, self.folder.join(PACKAGE.trim_start_matches('/')))
            .with_context(|| format!("cannot copy {}", package.display()))?;
        Ok(())
    }

    /// A command of the system, with its own mounts, processes and network.
    pub(super) fn command(&self, words: &[&str]) -> Command {
        let mut command = Command::new("unshare");
        command.args(["--mount", "--pid", "--fork", "--kill-child", "chroot"]).arg(&self.folder);
        command.args(["sh", "-c", MOUNT, "sh"]).args(words);
        command.env_clear().envs(ENVIRONMENT);
        self.namespace.apply_to(&mut command);
        command
    }

    /// What a command of the system prints; fails unless it succeeds.
    pub(super) fn run(&self, words: &[&str]) -> Result<String> {
        command::output(&mut self.command(words))
    }

    /// Runs work in the network namespace of the system.
    pub(super) fn beside<T: Send>(&self, work: impl FnOnce() -> T + Send) -> Result<T> {
        self.namespace.run(work).context("cannot enter the namespace")
    }
}

impl Drop for Root {
    fn drop(&mut self) {
        _ = fs::remove_dir_all(&self.folder);
    }
}

/// The base system for a target, and its release; of the releases that have the architecture, and
/// that the archive has whole, the first.
fn provide(home: &Path, target: &Target) -> Result<(PathBuf, &'static str)> {
    let base = |suite: &str| home.join(format!("{suite}-{}", target.debian));
    if let Some(suite) = suites(target.debian).iter().find(|suite| base(suite).is_dir()) {
        return Ok((base(suite), suite));
    }
    for suite in suites(target.debian) {
        match make(home, &base(suite), suite, target) {
            Ok(()) => return Ok((base(suite), suite)),
            Err(error) => say(format!("{suite}: {error:#}")),
        }
    }
    bail!("the archive {MIRROR} has no whole release for {}", target.debian)
}

/// What an attempt that failed has left is not taken for a base system.
fn make(home: &Path, base: &Path, suite: &str, target: &Target) -> Result<()> {
    let new = home.join(format!("new-{}", target.debian));
    _ = fs::remove_dir_all(&new);
    fs::create_dir_all(home)?;
    let mut debootstrap = Command::new("debootstrap");
    debootstrap.args(["--variant=minbase", &format!("--keyring={KEYRING}")]);
    debootstrap.args([&format!("--arch={}", target.debian), suite]).arg(&new);
    // Of releases that are newer than this debootstrap, too.
    command::run(debootstrap.args([MIRROR, "/usr/share/debootstrap/scripts/sid"]))?;
    fs::rename(&new, base).context("cannot keep the base system")
}

/// Releases with the architecture, the oldest that is supported first.
fn suites(debian: &str) -> &'static [&'static str] {
    match debian {
        "riscv64" => &["trixie", "forky", "sid"],
        _ => &["bookworm", "trixie"],
    }
}

/// Where the package is in the system.
pub(super) const PACKAGE: &str = "/linerate.deb";
/// Mounts are those of the command, and go with it.
const MOUNT: &str = "mount -t proc proc /proc && mount -t sysfs sysfs /sys && exec \"$@\"";
const ENVIRONMENT: [(&str, &str); 4] = [
    ("PATH", "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"),
    ("DEBIAN_FRONTEND", "noninteractive"),
    ("HOME", "/root"),
    ("LC_ALL", "C"),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn risc_v_is_in_debian_since_trixie() {
        assert_eq!(
            ["amd64", "arm64", "riscv64"].map(|one| suites(one)[0]),
            ["bookworm", "bookworm", "trixie"]
        );
    }
}
