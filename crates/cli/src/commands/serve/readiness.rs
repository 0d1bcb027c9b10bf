//! Tells others when the server is ready: by a file, and by a word to systemd, or to
//! another manager of services that speaks as it does.

use std::fs;
use std::io;
use std::net::SocketAddr;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::net::{self, UnixDatagram};
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{anyhow, bail};

use crate::whole_file::{self, Identity, Readers, identity};

/// Readiness of a server, as service managers and scripts see it: sd_notify(3) and the ready file.
/// It ends with this value.
pub(super) struct Readiness {
    address: SocketAddr,
    /// The service manager: the server makes no Unix socket later.
    manager: Option<UnixDatagram>,
    /// Removes the file when it is dropped.
    _file: Option<ReadyFile>,
}

impl Readiness {
    /// Reports that both listeners of `address` are open.
    pub(super) fn announce(file: Option<&Path>, address: SocketAddr) -> anyhow::Result<Self> {
        let file = file.map(|path| ReadyFile::create(path, address)).transpose()?;
        let readiness = Self { address, manager: manager(), _file: file };
        readiness.notify(&format!("READY=1\nSTATUS=listens on {address}\n"));
        Ok(readiness)
    }

    /// Reports that the server accepts no more clients.
    pub(super) fn stopping(&self) {
        self.notify(&format!("STOPPING=1\nSTATUS=takes no more clients on {}\n", self.address));
    }

    /// Sends a message to the service manager (sd_notify(3)).
    fn notify(&self, message: &str) {
        // A manager that cannot be reached does not wait, or finds out by itself.
        self.manager.as_ref().map(|manager| manager.send(message.as_bytes()));
    }
}

/// The service manager that started this process, if it can be reached.
fn manager() -> Option<UnixDatagram> {
    let name = std::env::var_os("NOTIFY_SOCKET")?;
    let socket = UnixDatagram::unbound().ok()?;
    // A queue is full for a moment when many services start, or because it is not read.
    socket.set_write_timeout(Some(PATIENCE)).ok()?;
    socket.connect_addr(&address_of(name.as_bytes()).ok()?).ok()?;
    Some(socket)
}

/// A name that begins with @ is one of the abstract namespace (unix(7)).
fn address_of(name: &[u8]) -> io::Result<net::SocketAddr> {
    match name.strip_prefix(b"@") {
        Some(name) => net::SocketAddr::from_abstract_name(name),
        None => net::SocketAddr::from_pathname(std::ffi::OsStr::from_bytes(name)),
    }
}

/// The directory that a file is in, or will be.
pub(super) fn directory(file: &Path) -> &Path {
    let parent = file.parent().filter(|parent| !parent.as_os_str().is_empty());
    parent.unwrap_or(Path::new("."))
}

/// A file with an address, there as long as this value is.
struct ReadyFile {
    path: PathBuf,
    /// Device and inode: another server may make the name its own.
    identity: Identity,
}

impl ReadyFile {
    /// Makes the file at once with all that it holds (rename(2)).
    fn create(path: &Path, address: SocketAddr) -> anyhow::Result<Self> {
        // A device, for example, is no ready file, and would be removed at the end.
        if fs::symlink_metadata(path).is_ok_and(|known| !known.is_file()) {
            bail!("cannot write ready file {}: it is no ordinary file", path.display());
        }
        let made = whole_file::replace(path, Readers::All, |out| writeln!(out, "{address}"));
        let identity = made.map_err(|error| {
            let why = session::reason(&error);
            anyhow!("cannot write ready file {}: {why}; {}", path.display(), hint(&error))
        })?;
        Ok(Self { path: path.to_owned(), identity })
    }
}

impl Drop for ReadyFile {
    fn drop(&mut self) {
        if fs::symlink_metadata(&self.path).is_ok_and(|found| identity(&found) == self.identity) {
            // A file that is already removed needs no removal.
            _ = fs::remove_file(&self.path);
        }
    }
}

fn hint(error: &io::Error) -> &'static str {
    match error.kind() {
        io::ErrorKind::PermissionDenied => {
            "choose a directory that the user of the server may write to"
        }
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => "make its directory first",
        _ => "choose another one",
    }
}

const PATIENCE: Duration = Duration::from_secs(1);
