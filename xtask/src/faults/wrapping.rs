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
    /// A command that runs the program.
    pub(super) behind: Vec<String>,
    pub(super) view: View,
    pub(super) user: User,
}

/// What a program sees of interfaces and control groups in `/sys`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum View {
    /// Both, as on a host of its own.
    #[default]
    Host,
    /// No control groups, as `ip netns exec` shows it (ip-netns(8)).
    IpNetns,
}

/// Who runs a program.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum User {
    #[default]
    Caller,
    /// A user without privileges.
    Nobody,
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
        words.extend(["unshare", "--mount", "sh", "-c", self.view.script()].map(OsString::from));
        if self.user == User::Nobody {
            words.extend(NOBODY.map(OsString::from));
        }
        words.extend(self.behind.iter().map(OsString::from));
        words.push(program.into());
        let mut command = host.command(&words[0]);
        command.args(&words[1..]);
        hosts::clean(&mut command);
        command
    }
}

impl View {
    /// `/sys` tells of the interfaces of whoever mounted it: as on a real host, it is to tell of
    /// this one's. Control groups stand below it too.
    const fn script(self) -> &'static str {
        match self {
            Self::Host => {
                "mount --rbind /sys/fs/cgroup /mnt && mount -t sysfs sysfs /sys && \
                 mount --rbind /mnt /sys/fs/cgroup && exec \"$0\" \"$@\""
            }
            Self::IpNetns => "mount -t sysfs sysfs /sys && exec \"$0\" \"$@\"",
        }
    }
}

/// The first word behind the script is its `$0`.
const ENTER: &str = "echo $$ > \"$0\" && exec \"$@\"";
/// A change of user clears the signal of the parent's death (prctl(2)).
pub(super) const NOBODY: [&str; 9] = [
    "setpriv",
    "--reuid",
    "nobody",
    "--regid",
    "nogroup",
    "--clear-groups",
    "--pdeathsig",
    "KILL",
    "--",
];
