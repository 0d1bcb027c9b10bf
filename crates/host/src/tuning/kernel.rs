//! The kernel whose settings are changed: its files, netlink sockets, and the network namespace to
//! which they belong. What is read and written in them is up to the kinds of settings.

use std::fs;
use std::io::{self, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use linux::ethtool_ioctl::EthtoolIoctl;
use linux::namespace::{NetworkNamespace, may_configure_network};
use linux::netlink::RouteSocket;
use linux::netlink::ethtool::Ethtool;

use super::place::TuningPlace;
use super::{Permission, Refusal, TuningError};
use crate::Tree;

/// The running kernel, or a copy of its files.
#[derive(Debug)]
pub(super) struct Kernel {
    tree: Tree,
    /// Where files are written; none: nowhere.
    root: Option<PathBuf>,
    /// Inode number of the network namespace; none: there is only a copy of files.
    namespace: Option<u64>,
}

impl Kernel {
    /// The running kernel, in the network namespace of the calling thread.
    pub(super) fn live() -> Result<Self, TuningError> {
        let namespace = Some(own_namespace().map_err(TuningError::Kernel)?);
        Ok(Self { tree: Tree::live(), root: Some(PathBuf::from("/")), namespace })
    }

    /// A copy of the files of a host below a directory.
    pub(super) fn below(root: &Path) -> Self {
        Self { tree: Tree::captured(root), root: Some(root.to_owned()), namespace: None }
    }

    /// The files of a captured host, which are only read.
    pub(super) fn of_tree(tree: Tree) -> Self {
        Self { tree, root: None, namespace: None }
    }

    /// Where changes are made.
    pub(super) fn place(&self) -> TuningPlace {
        let boot = self.tree.value("proc/sys/kernel/random/boot_id");
        TuningPlace { boot, namespace: self.namespace }
    }

    /// The files of the host.
    pub(super) fn tree(&self) -> &Tree {
        &self.tree
    }

    /// Writes a file of the kernel in one write(2), as it takes values.
    pub(super) fn write(&self, path: &str, value: &str) -> io::Result<()> {
        let root = self.root.as_ref().ok_or(io::ErrorKind::ReadOnlyFilesystem)?;
        let mut file = fs::OpenOptions::new().write(true).open(root.join(path))?;
        if self.namespace.is_none() {
            // A file of the kernel has no length; a copy has.
            file.set_len(0)?;
        }
        file.write_all(format!("{value}\n").as_bytes())
    }

    /// Whether the owner of a file may write it: the kernel says so of files that take values.
    pub(super) fn is_writable(&self, path: &str) -> bool {
        let Some(root) = &self.root else { return true };
        let metadata = fs::metadata(root.join(path));
        metadata.is_ok_and(|metadata| metadata.permissions().mode() & 0o200 != 0)
    }

    /// Whether this is the running kernel, and not a copy of its files.
    pub(super) const fn is_live(&self) -> bool {
        self.namespace.is_some()
    }

    /// A socket to links and queueing disciplines.
    pub(super) fn route(&self) -> io::Result<RouteSocket> {
        self.require_live().and_then(|()| RouteSocket::open())
    }

    /// A socket to the settings of devices.
    pub(super) fn ethtool(&self) -> io::Result<Ethtool> {
        self.require_live().and_then(|()| Ethtool::open())
    }

    /// A socket to those settings of devices that netlink does not have.
    pub(super) fn ethtool_calls(&self) -> io::Result<EthtoolIoctl> {
        self.require_live().and_then(|()| EthtoolIoctl::open())
    }

    /// The index of an interface.
    pub(super) fn interface_index(&self, name: &str) -> io::Result<u32> {
        self.route()?.interface_index(name)
    }

    /// Current name of the interface with this index. Returns `None` if there is no such interface.
    pub(super) fn interface_name(&self, index: u32) -> io::Result<Option<String>> {
        let links = self.route()?.links()?;
        Ok(links.into_iter().find(|link| link.index == index).map(|link| link.name))
    }

    /// Whether the calling thread is in the network namespace of this kernel.
    pub(super) fn require_own_namespace(&self) -> Result<(), Refusal> {
        let is_own = |own| own_namespace().is_ok_and(|inode| inode == own);
        if self.namespace.is_none_or(is_own) {
            return Ok(());
        }
        Err(Refusal::OtherNamespace { what: "the thread is" })
    }

    /// Whether what is mounted at `/sys` is of this network namespace: it shows the interfaces of
    /// the namespace that mounted it.
    pub(super) fn require_own_sysfs(&self) -> Result<(), Refusal> {
        if self.namespace.is_none() {
            return Ok(());
        }
        let read = |source| Refusal::Read { what: "the interfaces".to_owned(), source };
        let links = self.route().and_then(|mut route| route.links()).map_err(read)?;
        let names = self.tree.names(INTERFACES).unwrap_or_default();
        let value = |name: &str, file: &str| {
            self.tree.value(&format!("{INTERFACES}/{name}/{file}")).unwrap_or_default()
        };
        let in_sysfs = names.iter().filter(|name| !value(name, "ifindex").is_empty()).count();
        let agrees = |link: &linux::netlink::LinkEntry| {
            let octets: Vec<_> = link.address.iter().map(|octet| format!("{octet:02x}")).collect();
            let address = value(&link.name, "address");
            value(&link.name, "ifindex") == link.index.to_string()
                && (address == octets.join(":") || address.is_empty())
        };
        if in_sysfs == links.len() && links.iter().all(agrees) {
            return Ok(());
        }
        Err(Refusal::OtherNamespace { what: "/sys shows the interfaces" })
    }

    /// Whether this process may write settings.
    pub(super) fn permission(&self) -> Permission {
        if self.namespace.is_none() || may_configure_network() {
            Permission::Granted
        } else {
            Permission::NeedsRoot
        }
    }

    /// The running programs among those of these names.
    pub(super) fn rewriters(&self, known: &'static [&'static str]) -> Vec<&'static str> {
        if known.is_empty() {
            return Vec::new();
        }
        let processes = self.tree.names("proc").unwrap_or_default();
        let processes = processes.iter().filter(|name| name.bytes().all(|b| b.is_ascii_digit()));
        let running: Vec<_> =
            processes.filter_map(|id| self.tree.value(&format!("proc/{id}/comm"))).collect();
        let is_running = |name: &&&str| running.iter().any(|one| one == comm(name));
        known.iter().filter(is_running).copied().collect()
    }

    fn require_live(&self) -> io::Result<()> {
        if self.is_live() {
            return Ok(());
        }
        Err(io::Error::new(io::ErrorKind::Unsupported, "a captured host does not tell it"))
    }
}

impl Refusal {
    /// What failed to be read, or is not there.
    pub(super) fn reading(what: impl Into<String>, source: io::Error) -> Self {
        let what = what.into();
        let is_absent =
            source.kind() == io::ErrorKind::NotFound || linux::netlink::ethtool::is_absent(&source);
        if is_absent { Self::Absent { what } } else { Self::Read { what, source } }
    }
}

fn own_namespace() -> io::Result<u64> {
    NetworkNamespace::current()?.inode()
}

/// The name of a program as `/proc/PID/comm` has it (`TASK_COMM_LEN`, proc_pid_comm(5)).
fn comm(name: &str) -> &str {
    name.get(..15).unwrap_or(name)
}

const INTERFACES: &str = "sys/class/net";
