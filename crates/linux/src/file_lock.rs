//! Locks of whole files against other programs.

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;

/// A file that is locked until this is dropped. A child process that has inherited the file keeps no
/// lock, unlike where a file is only closed.
#[derive(Debug)]
pub struct Lock(File);

impl Lock {
    /// Locks a file (flock(2), `LOCK_EX`), without waiting. Returns `None` if another open file
    /// holds the lock, of this process or of another.
    ///
    /// # Errors
    /// `ENOLCK` if the kernel has no memory for it, `EMFILE`, or the error of a file system that has no
    /// locks.
    pub fn take(file: &File) -> io::Result<Option<Self>> {
        match flock(file, libc::LOCK_EX | libc::LOCK_NB) {
            Ok(()) => Ok(Some(Self(file.try_clone()?))),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(None),
            Err(error) => Err(error),
        }
    }
}

impl Drop for Lock {
    fn drop(&mut self) {
        // One that cannot be given up ends with the last process that has the file.
        _ = flock(&self.0, libc::LOCK_UN);
    }
}

fn flock(file: &File, operation: i32) -> io::Result<()> {
    // SAFETY: the call takes no pointer.
    let failed = unsafe { libc::flock(file.as_raw_fd(), operation) } != 0;
    if failed { Err(io::Error::last_os_error()) } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use std::{env, fs, process};

    use super::*;

    #[test]
    fn a_lock_ends_though_another_has_inherited_the_file() {
        let path = env::temp_dir().join(format!("linerate-lock-{}", process::id()));
        let file = File::create(&path).expect("a file");
        let other = File::open(&path).expect("it is there");
        // As a child has it from fork(2) on, until it runs its program.
        let inherited = file.try_clone().expect("a descriptor");
        let lock = Lock::take(&file).expect("flock").expect("it is free");
        assert!(Lock::take(&other).expect("flock").is_none());
        drop((lock, file));
        assert!(Lock::take(&other).expect("flock").is_some());
        drop(inherited);
        fs::remove_file(&path).expect("removed");
    }
}
