//! How a process gives up privileges: another user, fewer capabilities (capabilities(7)),
//! no new ones by exec.
//!
//! It is meant for a process with a single thread; threads that are started later inherit
//! the result.

use std::io;
use std::ops::RangeInclusive;
use std::os::unix::fs::MetadataExt;
use std::os::unix::net::UnixStream;

use caps::{CapSet, Capability, CapsHashSet};
use nix::sys::{prctl, signal};
use nix::unistd::{self, Gid, Uid};

use crate::entropy::random;

/// A user of this system, with its primary group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct User {
    id: Uid,
    group: Gid,
}

impl User {
    /// Looks up a user by name (getpwnam(3)) or number. A number without an entry in the user
    /// database gets the group of the same number. `None` if there is no user of that name.
    ///
    /// # Errors
    /// `EIO`, `EMFILE` or `ENFILE` if the user database cannot be read.
    pub fn find(name: &str) -> io::Result<Option<Self>> {
        if let Some(known) = unistd::User::from_name(name)? {
            return Ok(Some(Self { id: known.uid, group: known.gid }));
        }
        let Ok(number) = name.parse() else { return Ok(None) };
        let known = unistd::User::from_uid(Uid::from_raw(number))?;
        let group = known.map_or(Gid::from_raw(number), |known| known.gid);
        Ok(Some(Self { id: Uid::from_raw(number), group }))
    }

    /// A user that is in no database, and that no process runs as: a number drawn from those that no
    /// distribution gives away (systemd's UIDS-GIDS document, "Dynamic Service Users"). Returns `None` if
    /// no such number is found.
    pub fn unnamed() -> Option<Self> {
        let draw = || Some(UNNAMED.start() + u16::from_ne_bytes(random().ok()?) % COUNT_OF_UNNAMED);
        let is_free = |number: &u32| {
            let known = unistd::User::from_uid(Uid::from_raw(*number));
            known.is_ok_and(|user| user.is_none()) && !runs(*number)
        };
        let number = (0..TRIES).filter_map(|_| draw()).map(u32::from).find(is_free)?;
        Some(Self { id: Uid::from_raw(number), group: Gid::from_raw(number) })
    }

    /// Its number.
    pub fn number(self) -> u32 {
        self.id.as_raw()
    }

    /// Whether the real and the effective user of this process are already this user.
    pub fn is_current(self) -> bool {
        unistd::getuid() == self.id && unistd::geteuid() == self.id
    }

    /// Changes user and group and drops all supplementary groups; the permitted
    /// capabilities stay.
    fn become_it(self) -> io::Result<()> {
        if self.is_current() {
            return Ok(());
        }
        let (parent, ends_with_it) = (unistd::getppid(), prctl::get_pdeathsig()?);
        prctl::set_keepcaps(true)?;
        unistd::setgroups(&[])?;
        unistd::setresgid(self.group, self.group, self.group)?;
        unistd::setresuid(self.id, self.id, self.id)?;
        prctl::set_keepcaps(false)?;
        // The kernel forgets it with the user that was before.
        prctl::set_pdeathsig(ends_with_it)?;
        match ends_with_it.filter(|_| unistd::getppid() != parent) {
            Some(signal) => Ok(signal::raise(signal)?),
            None => Ok(()),
        }
    }
}

/// The capabilities that a process keeps when it drops its privileges (capabilities(7)).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeptCapabilities {
    /// No capabilities.
    None,
    /// `CAP_NET_ADMIN`: the right to change settings of the network.
    AdministrateNetwork,
    /// `CAP_NET_BIND_SERVICE`: the right to bind ports below `ip_unprivileged_port_start`.
    BindService,
}

impl KeptCapabilities {
    /// The capabilities that a process needs to bind `port`: `CAP_NET_BIND_SERVICE` below
    /// `net.ipv4.ip_unprivileged_port_start`, else none.
    pub fn for_port(port: u16) -> Self {
        if port < lowest_port_for_all() { Self::BindService } else { Self::None }
    }

    fn capabilities(self) -> CapsHashSet {
        match self {
            Self::None => CapsHashSet::new(),
            Self::AdministrateNetwork => CapsHashSet::from([Capability::CAP_NET_ADMIN]),
            Self::BindService => CapsHashSet::from([Capability::CAP_NET_BIND_SERVICE]),
        }
    }
}

/// The effective user of this process, by number (geteuid(2)).
pub fn user_id() -> u32 {
    unistd::geteuid().as_raw()
}

/// The effective user, by number, of the process at the other end of a Unix socket, when it
/// connected (`SO_PEERCRED`, unix(7)).
///
/// # Errors
/// The errors of getsockopt(2).
pub fn peer_user_id(socket: &UnixStream) -> io::Result<u32> {
    crate::option::peer_user(socket)
}

/// Changes to `user`, if one is given, and drops all capabilities except `keep` for good:
/// no program that this process executes regains them (`PR_SET_NO_NEW_PRIVS`, prctl(2)).
///
/// # Errors
/// `EPERM` if this process may not change its user; `EAGAIN` if the user has too many
/// processes (setuid(2)).
pub fn drop_privileges(user: Option<User>, keep: KeptCapabilities) -> io::Result<()> {
    prctl::set_no_new_privs()?;
    let permitted = caps::read(None, CapSet::Permitted).map_err(io::Error::other)?;
    let kept = &permitted & &keep.capabilities();
    bound(&kept);
    if let Some(user) = user {
        user.become_it()?;
    }
    // Under a filter of system calls a process without any may not be allowed to ask.
    for set in [CapSet::Effective, CapSet::Permitted, CapSet::Inheritable] {
        let wanted = if matches!(set, CapSet::Inheritable) { &CapsHashSet::new() } else { &kept };
        let has = caps::read(None, set).map_err(io::Error::other)?;
        if has != *wanted {
            caps::set(None, set, wanted).map_err(io::Error::other)?;
        }
    }
    Ok(())
}

/// Drops all but `kept` from the ambient and the bounding set. Neither gives rights to a
/// process that may gain no privileges, so that failing is harmless: an old kernel has no
/// ambient set, and the bounding set needs `CAP_SETPCAP`.
fn bound(kept: &CapsHashSet) {
    _ = caps::clear(None, CapSet::Ambient);
    for capability in caps::all().difference(kept) {
        if caps::has_cap(None, CapSet::Bounding, *capability).unwrap_or(false) {
            _ = caps::drop(None, CapSet::Bounding, *capability);
        }
    }
}

/// Whether a process of that user runs (proc(5)).
fn runs(user: u32) -> bool {
    let processes = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    processes.filter_map(|entry| entry.metadata().ok()).any(|of_one| of_one.uid() == user)
}

/// The lowest port that every process may bind (`ip_unprivileged_port_start`, ip(7)).
fn lowest_port_for_all() -> u16 {
    let setting = std::fs::read_to_string("/proc/sys/net/ipv4/ip_unprivileged_port_start");
    setting.ok().and_then(|text| text.trim().parse().ok()).unwrap_or(FIRST_UNPRIVILEGED_PORT)
}

/// Numbers of users that nobody has.
const UNNAMED: RangeInclusive<u16> = 61_184..=65_519;
const COUNT_OF_UNNAMED: u16 = 65_519 - 61_184 + 1;
const TRIES: u32 = 10;
/// `PROT_SOCK` of the kernel's `include/net/sock.h`.
const FIRST_UNPRIVILEGED_PORT: u16 = 1024;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_user_is_found_by_name_and_by_number() {
        let root = User::find("root").expect("a list of users");
        assert_eq!(root, Some(User { id: Uid::from_raw(0), group: Gid::from_raw(0) }));
        assert_eq!(User::find("0").expect("a list of users"), root);
        assert_eq!(User::find("no such user").expect("a list of users"), None);
        let nameless = User::find("4000000000").expect("a list of users").expect("a number");
        assert_eq!((nameless.id.as_raw(), nameless.group.as_raw()), (4_000_000_000, 4_000_000_000));
    }

    #[test]
    fn only_low_ports_need_a_capability() {
        assert_eq!(KeptCapabilities::for_port(u16::MAX), KeptCapabilities::None);
        let lowest = lowest_port_for_all();
        assert_eq!(KeptCapabilities::for_port(lowest), KeptCapabilities::None);
        if let Some(below) = lowest.checked_sub(1) {
            assert_eq!(KeptCapabilities::for_port(below), KeptCapabilities::BindService);
        }
    }

    #[test]
    fn a_thread_that_gave_up_its_capabilities_has_none() {
        // Capabilities belong to a thread, so that the others of this test keep theirs.
        std::thread::spawn(|| {
            drop_privileges(None, KeptCapabilities::None).expect("reduced");
            for set in [CapSet::Effective, CapSet::Permitted, CapSet::Inheritable] {
                assert!(caps::read(None, set).expect("read").is_empty());
            }
            assert!(prctl::get_no_new_privs().expect("read"));
        })
        .join()
        .expect("no panic");
    }
}
