//! Locks of whole files against other programs.

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;

/// Locks a file until it is closed (flock(2), `LOCK_EX`), without waiting: `false` says that it is
/// locked through another open file, of this process or of another.
///
/// # Errors
/// `ENOLCK` if the kernel has no memory for it, or the error of a file system that has no locks.
pub fn try_lock(file: &File) -> io::Result<bool> {
    // SAFETY: the call takes no pointer.
    if unsafe { libc::flock(file.as_raw_fd(), libc::LOCK_EX | libc::LOCK_NB) } == 0 {
        return Ok(true);
    }
    let error = io::Error::last_os_error();
    if error.kind() == io::ErrorKind::WouldBlock { Ok(false) } else { Err(error) }
}
