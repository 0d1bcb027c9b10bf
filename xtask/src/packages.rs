//! Programs that tests and benches run, and the Debian packages that have them.

use std::path::Path;
use std::process::Command;
use std::{env, fs};

use anyhow::{Context, Result, bail};

use crate::command;
use crate::output::say;

/// Sees to it that every program is there, or says how to get it.
pub(crate) fn provide(needed: &[Needed]) -> Result<()> {
    let missing = missing(needed);
    if missing.is_empty() {
        say("every program that this runs is there");
        return Ok(());
    }
    let install = install(&missing);
    if !(is_root()? && is_there("apt-get")) {
        bail!("missing: {}; install with `sudo {}`", missing.join(", "), install.join(" "));
    }
    let apt = || {
        let mut apt = Command::new(install[0]);
        apt.args(&install[1..]).env("DEBIAN_FRONTEND", "noninteractive");
        apt
    };
    if command::run(&mut apt()).is_err() {
        // A fresh container has no package lists yet.
        command::run(Command::new("apt-get").arg("update"))?;
        command::run(&mut apt())?;
    }
    Ok(())
}

fn missing(needed: &[Needed]) -> Vec<&'static str> {
    needed.iter().filter(|(program, _)| !is_there(program)).map(|(_, package)| *package).collect()
}

fn install(packages: &[&'static str]) -> Vec<&'static str> {
    let options = ["apt-get", "install", "--yes", "--no-install-recommends"];
    options.into_iter().chain(packages.iter().copied()).collect()
}

/// Whether a program is on the search path, or where only root looks.
pub(crate) fn is_there(program: &str) -> bool {
    let path = env::var_os("PATH").unwrap_or_default();
    let listed = env::split_paths(&path).any(|folder| folder.join(program).is_file());
    listed || ["/usr/sbin", "/sbin"].iter().any(|folder| Path::new(folder).join(program).is_file())
}

fn is_root() -> Result<bool> {
    let status =
        fs::read_to_string("/proc/self/status").context("cannot read /proc/self/status")?;
    Ok(effective_user(&status) == Some(0))
}

/// The second number of the line `Uid:` (proc_pid_status(5)).
fn effective_user(status: &str) -> Option<u32> {
    let users = status.lines().find_map(|line| line.strip_prefix("Uid:"))?;
    users.split_whitespace().nth(1)?.parse().ok()
}

/// Program, or path of a file, and package.
pub(crate) type Needed = (&'static str, &'static str);

/// What the tests run.
pub(crate) const TESTS: [Needed; 10] = [
    ("gcc", "gcc"),
    ("iperf3", "iperf3"),
    ("iperf", "iperf"),
    ("nft", "nftables"),
    ("ip", "iproute2"),
    ("ethtool", "ethtool"),
    ("tcpdump", "tcpdump"),
    ("ssh", "openssh-client"),
    ("sshd", "openssh-server"),
    ("iptables-legacy", "iptables"),
];
/// What the programs in C of the runtime are compiled with.
pub(crate) const RUNTIME: [Needed; 2] = [("gcc", "gcc"), ("clang", "clang")];
/// What `bench table` compares with, and what gives it a CPU.
pub(crate) const SENDERS: [Needed; 3] =
    [("iperf3", "iperf3"), ("iperf", "iperf"), ("taskset", "util-linux")];
/// What `bench exchanges` compares with.
pub(crate) const EXCHANGERS: [Needed; 2] = [("sockperf", "sockperf"), ("iperf", "iperf")];

/// What `faults` plants with.
pub(crate) const FAULTS: [Needed; 11] = [
    ("ip", "iproute2"),
    ("ethtool", "ethtool"),
    ("iptables-legacy", "iptables"),
    ("iptables-legacy-restore", "iptables"),
    ("nft", "nftables"),
    ("chrt", "util-linux"),
    ("taskset", "util-linux"),
    ("setpriv", "util-linux"),
    ("unshare", "util-linux"),
    ("strace", "strace"),
    ("iperf3", "iperf3"),
];
/// What proofs plant with, and read counters of the kernel with.
pub(crate) const PLANTED: [Needed; 6] = [
    ("tc", "iproute2"),
    ("nstat", "iproute2"),
    ("iptables-legacy", "iptables"),
    ("iptables-legacy-restore", "iptables"),
    ("setpriv", "util-linux"),
    ("iperf3", "iperf3"),
];
/// What `board` fetches, packs and runs.
pub(crate) const BOARD: [Needed; 8] = [
    ("qemu-system-riscv64", "qemu-system-misc"),
    ("cpio", "cpio"),
    ("xz", "xz-utils"),
    ("apt-get", "apt"),
    ("dpkg-deb", "dpkg"),
    ("ip", "iproute2"),
    ("iperf3", "iperf3"),
    ("base64", "coreutils"),
];
/// What `release` packs with.
pub(crate) const RELEASE: [Needed; 5] = [
    ("dpkg-deb", "dpkg"),
    ("gzip", "gzip"),
    ("tar", "tar"),
    ("git", "git"),
    ("python3", "python3-venv"),
];

/// What `cross --talk` runs beside linerate.
pub(crate) const TALK: [Needed; 1] = [("iperf3", "iperf3")];

/// What `roots` makes Debian systems with, and runs those of other architectures with.
pub(crate) const ROOTS: [Needed; 5] = [
    ("debootstrap", "debootstrap"),
    ("qemu-aarch64-static", "qemu-user-static"),
    ("update-binfmts", "binfmt-support"),
    ("unshare", "util-linux"),
    ("ip", "iproute2"),
];

/// Debian's archive, and the keys that its releases are signed with.
pub(crate) const MIRROR: &str = "http://deb.debian.org/debian";
pub(crate) const KEYRING: &str = "/usr/share/keyrings/debian-archive-keyring.gpg";

/// What `web` builds the page of reports with, and opens reports in.
pub(crate) const WEB: [Needed; 3] = [("node", "nodejs"), ("npm", "npm"), ("chromium", "chromium")];

/// What has environments with packages of PyPI.
pub(crate) const PYTHON: [Needed; 1] = [("python3", "python3-venv")];

/// What `exports` checks the dashboard by.
pub(crate) const NODE: [Needed; 2] = [("node", "nodejs"), ("npm", "npm")];

/// What `exports` publishes to, and reads from.
pub(crate) const MQTT: [Needed; 2] =
    [("mosquitto", "mosquitto"), ("mosquitto_sub", "mosquitto-clients")];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_effective_user_is_the_second_number() {
        let status = "Name:\tx\nUid:\t1000\t0\t1000\t1000\nGid:\t7\t7\t7\t7\n";
        assert_eq!(effective_user(status), Some(0));
        assert_eq!(effective_user("Name:\tx\n"), None);
    }

    #[test]
    fn only_what_is_missing_is_installed() {
        let line = install(&["iperf3", "tcpdump"]).join(" ");
        assert_eq!(line, "apt-get install --yes --no-install-recommends iperf3 tcpdump");
    }

    #[test]
    fn a_shell_is_there_and_nonsense_is_not() {
        assert!(is_there("sh") && !is_there("no-such-program-anywhere"));
    }
}
