//! Network namespaces: separate interfaces, addresses, routes and sockets.
//!
//! A [`NetworkNamespace`] is a file descriptor and has no name: the kernel
//! removes the namespace, and the virtual interfaces in it, once the last
//! descriptor, thread and socket that refers to it is gone. Nothing is mounted
//! below `/run/netns`, so nothing is left behind after a crash.
//!
//! A process in another network namespace still sees the `/sys/class/net` of the namespace that
//! mounted `/sys`, unless it mounts its own ([`NetworkNamespace::run_with_sysfs`]); `/proc/net`
//! always shows its own.

use std::fs::File;
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::os::unix::fs::MetadataExt;
use std::os::unix::process::CommandExt;
use std::panic;
use std::process::Command;
use std::sync::Arc;
use std::thread;

use nix::mount::{MsFlags, mount};

mod user;

pub use user::{
    enter_user_namespace, may_administrate_network, may_configure_network, try_in_fork,
};

/// A network namespace, kept alive by this handle; see `network_namespaces(7)`.
///
/// A clone refers to the same namespace.
#[derive(Debug, Clone)]
pub struct NetworkNamespace {
    descriptor: Arc<OwnedFd>,
}

impl NetworkNamespace {
    /// The network namespace of the calling thread (`/proc/thread-self/ns/net`).
    ///
    /// # Errors
    /// The errors of open(2); none is expected where `/proc` is mounted.
    pub fn current() -> io::Result<Self> {
        let descriptor = Arc::new(File::open("/proc/thread-self/ns/net")?.into());
        Ok(Self { descriptor })
    }

    /// Creates a network namespace, which has only a loopback interface that is down. The
    /// calling thread does not enter it.
    ///
    /// # Errors
    /// `EPERM` without `CAP_SYS_ADMIN`, `EINVAL` without `CONFIG_NET_NS`, `ENOSPC` if
    /// `user.max_net_namespaces` is reached (unshare(2)).
    pub fn create() -> io::Result<Self> {
        on_fresh_thread(|| {
            unshare(libc::CLONE_NEWNET)?;
            Self::current()
        })?
    }

    /// Moves the calling thread into this namespace (`setns(2)`).
    ///
    /// The thread stays there, and threads and processes that it starts inherit the
    /// namespace. A socket belongs to the namespace in which it was opened. Prefer
    /// [`run`](Self::run), which does not change the calling thread.
    ///
    /// # Errors
    /// `EPERM` without `CAP_SYS_ADMIN`.
    pub fn enter(&self) -> io::Result<()> {
        set_network_namespace(self.as_fd())
    }

    /// Runs `work` on a new thread inside this namespace and waits for it. A panic of
    /// `work` continues in the caller.
    ///
    /// # Errors
    /// `EAGAIN` if no thread can be started, `EPERM` if the namespace cannot be entered.
    pub fn run<T: Send>(&self, work: impl FnOnce() -> T + Send) -> io::Result<T> {
        on_fresh_thread(|| self.enter().map(|()| work()))?
    }

    /// As [`run`](Self::run), with a `/sys` that shows the interfaces of this namespace: the thread
    /// is in a mount namespace of its own, which ends with it (mount_namespaces(7)).
    ///
    /// # Errors
    /// Those of [`run`](Self::run), and of mount(2), such as `EPERM` without `CAP_SYS_ADMIN`.
    pub fn run_with_sysfs<T: Send>(&self, work: impl FnOnce() -> T + Send) -> io::Result<T> {
        on_fresh_thread(|| {
            self.enter()?;
            unshare(libc::CLONE_NEWNS)?;
            // What is mounted below is not to be seen outside.
            let private = MsFlags::MS_REC | MsFlags::MS_PRIVATE;
            mount(None::<&str>, "/", None::<&str>, private, None::<&str>)?;
            mount(Some("sysfs"), "/sys", Some("sysfs"), MsFlags::empty(), None::<&str>)?;
            Ok(work())
        })?
    }

    /// Makes the child process that `command` will start run in this namespace.
    ///
    /// The namespace lives at least as long as `command`. Entering it needs
    /// `CAP_SYS_ADMIN`, so that `command` must not also change its user with
    /// [`CommandExt::uid`], which takes effect earlier.
    pub fn apply_to(&self, command: &mut Command) {
        let descriptor = Arc::clone(&self.descriptor);
        let enter = move || set_network_namespace(descriptor.as_fd());
        // SAFETY: between fork and exec, `enter` makes one system call and
        // reads errno; it neither allocates nor locks. The descriptor is open
        // in the child because the closure shares its ownership, and closes on
        // exec because `File::open` set O_CLOEXEC.
        unsafe { command.pre_exec(enter) };
    }

    /// The inode number that identifies the namespace, as in `readlink /proc/self/ns/net`
    /// (`namespaces(7)`).
    ///
    /// # Errors
    /// The errors of fstat(2); none is expected.
    pub fn inode(&self) -> io::Result<u64> {
        let file = File::from(self.descriptor.try_clone()?);
        Ok(file.metadata()?.ino())
    }
}

impl AsFd for NetworkNamespace {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.descriptor.as_fd()
    }
}

/// Runs `work` on a new thread, whose namespaces it may change.
fn on_fresh_thread<T: Send>(work: impl FnOnce() -> T + Send) -> io::Result<T> {
    thread::scope(|scope| {
        let handle = thread::Builder::new().spawn_scoped(scope, work)?;
        Ok(handle.join().unwrap_or_else(|cause| panic::resume_unwind(cause)))
    })
}

fn set_network_namespace(descriptor: BorrowedFd<'_>) -> io::Result<()> {
    // SAFETY: setns takes no pointers and the borrow keeps the descriptor open.
    let result = unsafe { libc::setns(descriptor.as_raw_fd(), libc::CLONE_NEWNET) };
    zero_or_errno(result)
}

fn unshare(flags: libc::c_int) -> io::Result<()> {
    // SAFETY: unshare takes no pointers; the flags used in this module move the
    // calling thread to new namespaces and share or free no memory.
    let result = unsafe { libc::unshare(flags) };
    zero_or_errno(result)
}

fn zero_or_errno(result: libc::c_int) -> io::Result<()> {
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_current_namespace_has_the_inode_that_proc_shows() {
        let link = std::fs::read_link("/proc/thread-self/ns/net").expect("proc is mounted");
        let inode = NetworkNamespace::current().expect("permitted").inode().expect("permitted");
        assert_eq!(link.to_str().expect("ASCII"), format!("net:[{inode}]"));
    }

    #[test]
    fn a_created_namespace_differs_and_leaves_the_caller_where_it_is() {
        if !may_administrate_network() {
            eprintln!("skipped: needs CAP_SYS_ADMIN and CAP_NET_ADMIN");
            return;
        }
        let here = NetworkNamespace::current().expect("permitted").inode().expect("permitted");
        let created = NetworkNamespace::create().expect("permitted");
        let inside = created.run(NetworkNamespace::current).expect("permitted").expect("permitted");
        assert_eq!(created.inode().expect("permitted"), inside.inode().expect("permitted"));
        assert_ne!(created.inode().expect("permitted"), here);
        let still_here = NetworkNamespace::current().expect("permitted");
        assert_eq!(still_here.inode().expect("permitted"), here);
    }
}
