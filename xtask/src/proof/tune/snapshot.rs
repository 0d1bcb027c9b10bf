//! The settings of a host ([`Snapshot`]), as `linerate capture` and the programs of others have them.

use std::path::Path;

use anyhow::{Context, Result, ensure};

use crate::command;
use crate::faults::setting::Setting;
use testbed::process::Running;

/// Settings of the client's host, one a line.
pub(super) struct Snapshot(Vec<String>);

impl Snapshot {
    /// Reads them; `folder` is there for a while.
    pub(super) fn take(setting: &Setting<'_>, folder: &Path) -> Result<Self> {
        let folder = folder.with_extension("capture");
        std::fs::create_dir_all(&folder).context("no folder for a capture")?;
        let archive = folder.join("host.tar");
        let mut capture = setting.linerate();
        capture.args(["capture", "--output"]).arg(&archive);
        let ended = Running::captured(capture)?.finish(super::LONGEST)?;
        ensure!(ended.code() == Some(0), "nothing is captured: {}", ended.complaint());
        let folder_name = folder.to_string_lossy().into_owned();
        let text = shell(setting, SETTINGS, &[setting.near().interface(), &folder_name]);
        // A folder of temporary files is no place where a leftover does harm.
        _ = std::fs::remove_dir_all(&folder);
        let lines: Vec<_> = text?.lines().map(str::to_owned).collect();
        ensure!(lines.len() > 50, "only {} settings can be read", lines.len());
        Ok(Self(lines))
    }

    /// Lines that were not there before, and lines that are gone.
    pub(super) fn changed_since(&self, before: &Self) -> Vec<String> {
        let new = self.0.iter().filter(|line| !before.0.contains(line));
        let gone = before.0.iter().filter(|line| !self.0.contains(line));
        new.chain(gone).cloned().collect()
    }
}

/// Output of a shell of the client's host, whose `/sys` has the interfaces of that host.
pub(super) fn shell(setting: &Setting<'_>, script: &str, words: &[&str]) -> Result<String> {
    let script = format!("mount -t sysfs sysfs /sys && {script}");
    let mut shell = setting.near().command("unshare");
    shell.args(["--mount", "sh", "-c", &script]).args(words);
    command::output(&mut shell)
}

/// Settings of a capture in `$1`, and of the interface `$0`.
const SETTINGS: &str = "cd \"$1\" && tar -xf host.tar && \
    grep -r . proc/sys sys/devices/virtual/net | \
    grep -v -e /statistics/ -e carrier -e uevent | sort; \
    ethtool -k \"$0\"; ip -d link show \"$0\"; tc qdisc show dev \"$0\"; \
    sysctl net.ipv4 net.core 2>/dev/null; true";
