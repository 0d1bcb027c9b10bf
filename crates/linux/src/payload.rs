//! A payload in a memory file, sent without a copy by sendfile(2).

use std::fs::File;
use std::io::{self, Write};
use std::os::fd::{AsFd, AsRawFd, FromRawFd, OwnedFd};

/// Payload for sendfile(2), in a memory file sealed against changes (memfd_create(2),
/// `F_SEAL_WRITE`, `F_SEAL_SHRINK`, `F_SEAL_GROW`). sendfile(2) does not copy: packets in flight
/// refer to the pages of the file, which therefore must not change.
#[derive(Debug)]
pub struct SealedPayload {
    file: File,
    length: usize,
}

impl SealedPayload {
    /// Copies `bytes` into a sealed memory file.
    ///
    /// # Errors
    /// `EMFILE` or `ENFILE` if too many files are open, `ENOMEM`, `ENOSYS` without
    /// memfd_create(2).
    pub fn new(bytes: &[u8]) -> io::Result<Self> {
        let mut file = memory_file()?;
        file.write_all(bytes)?;
        let seals = libc::F_SEAL_WRITE | libc::F_SEAL_SHRINK | libc::F_SEAL_GROW;
        // SAFETY: the call takes no pointer.
        let sealed = unsafe { libc::fcntl(file.as_raw_fd(), libc::F_ADD_SEALS, seals) };
        if sealed < 0 {
            return Err(io::Error::last_os_error());
        }
        Ok(Self { file, length: bytes.len() })
    }

    /// Length of the payload in bytes.
    pub const fn length(&self) -> usize {
        self.length
    }

    /// Sends the first `count` bytes of the payload with sendfile(2); returns how many bytes the
    /// socket took.
    ///
    /// # Errors
    /// `EAGAIN` if the send buffer is full; `EPIPE` or `ECONNRESET` if the connection is
    /// gone (sendfile(2)).
    pub fn send(&self, socket: &impl AsFd, count: usize) -> io::Result<usize> {
        let mut offset: libc::off_t = 0;
        let (to, from) = (socket.as_fd().as_raw_fd(), self.file.as_raw_fd());
        // SAFETY: the pointer is valid for the call, and both descriptors are open.
        let sent = unsafe { libc::sendfile(to, from, &raw mut offset, count) };
        usize::try_from(sent).map_err(|_| io::Error::last_os_error())
    }
}

/// A file in memory, without a name and empty (memfd_create(2)).
///
/// # Errors
/// `EMFILE` or `ENFILE` if too many files are open, `ENOMEM`, `ENOSYS` before Linux 3.17.
pub fn memory_file() -> io::Result<File> {
    anonymous_file().map(File::from)
}

fn anonymous_file() -> io::Result<OwnedFd> {
    let flags = libc::MFD_CLOEXEC | libc::MFD_ALLOW_SEALING;
    // SAFETY: the name ends with a zero byte; a non-negative result is a descriptor that
    // nobody else owns.
    unsafe {
        let fd = libc::memfd_create(c"payload".as_ptr(), flags);
        if fd < 0 { Err(io::Error::last_os_error()) } else { Ok(OwnedFd::from_raw_fd(fd)) }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read;
    use std::os::unix::net::UnixStream;

    use super::*;

    #[test]
    fn what_is_sent_is_what_was_kept() {
        let payload = SealedPayload::new(b"0123456789").expect("kept");
        let (near, mut far) = UnixStream::pair().expect("connected");
        assert_eq!(payload.send(&near, 4).expect("sent"), 4);
        assert_eq!(payload.send(&near, 99).expect("sent"), payload.length());
        drop(near);
        let mut text = String::new();
        far.read_to_string(&mut text).expect("read");
        assert_eq!(text, "01230123456789");
    }

    #[test]
    fn nobody_can_change_it() {
        let mut payload = SealedPayload::new(b"0123").expect("kept");
        let error = payload.file.write(b"4").expect_err("sealed");
        assert_eq!(error.kind(), io::ErrorKind::PermissionDenied);
    }
}
