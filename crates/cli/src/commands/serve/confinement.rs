//! What a server may do once it has bound its ports: as little as it needs. Not what it
//! does for its clients.

use std::fmt;
use std::path::Path;

use anyhow::anyhow;
use linux::landlock::Restriction;
use linux::privileges::{KeptCapabilities, User};
use linux::seccomp::Work;

use crate::exit::UsageError;

/// The user that a server is to become.
pub(super) struct Confinement<'name> {
    user: Option<(&'name str, User)>,
}

impl<'name> Confinement<'name> {
    /// Looks the user up, before anything is bound.
    pub(super) fn plan(user: Option<&'name str>) -> anyhow::Result<Self> {
        let find = |name| match User::find(name) {
            Ok(Some(user)) => Ok((name, user)),
            Ok(None) => Err(unknown(name)),
            Err(error) => {
                let why = session::reason(&error);
                Err(anyhow!("cannot look for user '{name}': {why}; give the number of the user"))
            }
        };
        Ok(Self { user: user.map(find).transpose()? })
    }

    /// Gives up everything that a server does not need which has bound `port` and will
    /// bind it again for streams. To be called before there are threads.
    pub(super) fn give_up(&self, port: u16) -> anyhow::Result<()> {
        let keep = KeptCapabilities::for_port(port);
        let reduced = linux::privileges::drop_privileges(self.user.map(|(_, user)| user), keep);
        reduced.map_err(|error| {
            let why = session::reason(&error);
            match self.user {
                Some((name, user)) if !user.is_current() => {
                    anyhow!("cannot become user '{name}': {why}; start as root or omit --user")
                }
                _ => anyhow!("cannot give up capabilities: {why}; does a filter forbid capset(2)?"),
            }
        })
    }
}

fn unknown(name: &str) -> anyhow::Error {
    UsageError(format!("no user is called '{name}'; see \"getent passwd\"")).into()
}

/// Shuts the file system, but for the removal of `ready_file` and for what the kernel tells of the
/// host, gives up system calls, and TCP connections unless it `connects`. To be called before there are threads.
pub(super) fn seal(ready_file: Option<&Path>, connects: bool) -> Seal {
    let readable = READABLE.map(Path::new);
    let files =
        linux::landlock::restrict(ready_file.map(super::readiness::directory), &readable, connects);
    Seal {
        files,
        calls: linux::seccomp::allow_only(Work::Serve).map_err(|error| session::reason(&error)),
    }
}

/// How far the file system and the system calls are shut, in words for the log.
pub(super) struct Seal {
    files: Restriction,
    /// What the kernel says to the filter of system calls.
    calls: Result<(), String>,
}

impl Seal {
    /// The system calls, in words for the log.
    pub(super) fn calls(&self) -> String {
        match &self.calls {
            Ok(()) => "makes only the system calls that a server needs (seccomp)".to_owned(),
            Err(why) => format!("may make any system call: {why}"),
        }
    }
}

/// What the evidence on this host is read from.
const READABLE: [&str; 4] = ["/proc", "/sys", "/boot", "/run/irqbalance"];

impl fmt::Display for Seal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.files {
            Restriction::Full => f.write_str(
                "writes no files from now on, and reads /proc, /sys, /boot and /run/irqbalance alone (Landlock)",
            ),
            Restriction::Partial => f.write_str(
                "writes no files from now on, and reads /proc, /sys, /boot and /run/irqbalance alone, as far as this \
                 kernel's Landlock can tell",
            ),
            Restriction::Absent { reason } => {
                write!(f, "may go on reading and writing files: {reason}")
            }
        }
    }
}
