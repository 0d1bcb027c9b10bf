//! What a server may do once it has bound its ports: as little as it needs. Not what it
//! does for its clients.

use std::fmt;
use std::path::Path;

use anyhow::anyhow;
use linux::landlock::{self, Access, Restriction};
use linux::privileges::{self, KeptCapabilities, User};
use linux::seccomp::Work;

use crate::exit::UsageError;

/// The user that a server is to become.
pub(super) struct Confinement<'name> {
    named: Option<(&'name str, User)>,
    /// User that nothing else runs as, for a server that root starts.
    own: Option<User>,
}

impl<'name> Confinement<'name> {
    /// Looks the user up, before anything is bound. Without one a server that root starts gets a user of
    /// its own, unless it has a `ready_file`, whose folder may be root's.
    pub(super) fn plan(
        user: Option<&'name str>,
        ready_file: Option<&Path>,
    ) -> anyhow::Result<Self> {
        let find = |name| match User::find(name) {
            Ok(Some(user)) => Ok((name, user)),
            Ok(None) => Err(unknown(name)),
            Err(error) => {
                let why = session::reason(&error);
                Err(anyhow!("cannot look for user '{name}': {why}; give the number of the user"))
            }
        };
        let is_owned = user.is_none() && ready_file.is_none() && privileges::user_id() == 0;
        let own = is_owned.then(User::unnamed).flatten();
        Ok(Self { named: user.map(find).transpose()?, own })
    }

    /// Gives up everything that a server does not need which has bound `port` and will
    /// bind it again for streams. To be called before there are threads.
    /// Gives the number of the user of its own.
    pub(super) fn give_up(&self, port: u16) -> anyhow::Result<Option<u32>> {
        let keep = KeptCapabilities::for_port(port);
        // A namespace may have no user but root.
        if let Some(own) = self.own
            && privileges::drop_privileges(Some(own), keep).is_ok()
        {
            return Ok(Some(own.number()));
        }
        let reduced = privileges::drop_privileges(self.named.map(|(_, user)| user), keep);
        reduced.map(|()| None).map_err(|error| {
            let why = session::reason(&error);
            match self.named {
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
pub(super) fn seal(user: Option<u32>, ready_file: Option<&Path>, connects: bool) -> Seal {
    let readable = READABLE.map(Path::new);
    let removes = ready_file.map(super::readiness::directory);
    let files = landlock::restrict(&Access { reads: &readable, writes: &[], removes, connects });
    Seal {
        user,
        files,
        calls: linux::seccomp::allow_only(Work::Serve).map_err(|error| session::reason(&error)),
    }
}

/// How far the file system and the system calls are shut, in words for the log.
pub(super) struct Seal {
    /// The number of the user of its own.
    user: Option<u32>,
    files: Restriction,
    /// What the kernel says to the filter of system calls.
    calls: Result<(), String>,
}

impl Seal {
    /// The user of its own, in words for the log.
    pub(super) fn user(&self) -> Option<String> {
        self.user.map(|number| format!("runs as user {number}, which nothing else runs as"))
    }

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
