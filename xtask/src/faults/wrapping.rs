//! How a program of one end is started: in a group, on a CPU, with its own view of interfaces.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;

use lab::Host;

use crate::hosts;

/// What stands in front of a program.
#[derive(Debug, Default)]
pub(super) struct Wrapping {
    /// The door of a control group.
    pub(super) group: Option<PathBuf>,
    pub(super) cpu: Option<u32>,
}

impl Wrapping {
    /// A program of this host, which ends with this process, however that ends.
    pub(super) fn command(&self, host: &Host, program: &Path) -> Command {
        let mut words: Vec<OsString> = Vec::new();
        words.extend(["setpriv", "--pdeathsig", "KILL", "--"].map(OsString::from));
        if let Some(door) = &self.group {
            words.extend(["sh", "-c", ENTER].map(OsString::from));
            words.push(door.into());
        }
        if let Some(cpu) = self.cpu {
            words.extend(["taskset", "-c"].map(OsString::from));
            words.push(cpu.to_string().into());
        }
        words.extend(OWN_VIEW.map(OsString::from));
        words.push(program.into());
        let mut command = host.command(&words[0]);
        command.args(&words[1..]);
        hosts::clean(&mut command);
        command
    }
}

/// The first word behind the script is its `$0`.
const ENTER: &str = "echo $$ > \"$0\" && exec \"$@\"";
/// `/sys` tells of the interfaces of whoever mounted it: as on a real host, it is to tell of
/// this one's. Control groups stand below it too.
const OWN_VIEW: [&str; 5] = [
    "unshare",
    "--mount",
    "sh",
    "-c",
    "mount --rbind /sys/fs/cgroup /mnt && mount -t sysfs sysfs /sys && \
     mount --rbind /mnt /sys/fs/cgroup && exec \"$0\" \"$@\"",
];
