//! Moving bytes between memory, sockets and files without a copy: splice(2) and vmsplice(2)
//! through a pipe.

use std::fs::File;
use std::io;
use std::os::fd::{AsFd, AsRawFd, FromRawFd, OwnedFd};
use std::sync::OnceLock;

/// A non-blocking pipe(7), through which splice(2) and vmsplice(2) move bytes without a copy.
#[derive(Debug)]
pub struct Pipe {
    read: OwnedFd,
    write: OwnedFd,
    capacity: usize,
}

impl Pipe {
    /// A pipe with room for about `wanted` bytes, as far as `fs.pipe-max-size` and the
    /// user's limit of pages in pipes allow (pipe(7)).
    ///
    /// # Errors
    /// `EMFILE` or `ENFILE` if too many files are open (pipe2(2)).
    pub fn new(wanted: usize) -> io::Result<Self> {
        let mut ends = [-1; 2];
        // SAFETY: there is room for two descriptors, which nobody else owns then.
        let (read, write) = unsafe {
            if libc::pipe2(ends.as_mut_ptr(), libc::O_NONBLOCK | libc::O_CLOEXEC) < 0 {
                return Err(io::Error::last_os_error());
            }
            (OwnedFd::from_raw_fd(ends[0]), OwnedFd::from_raw_fd(ends[1]))
        };
        let mut capacity = capacity_of(&write, libc::F_GETPIPE_SZ, 0)?;
        let mut size = wanted;
        while size > capacity {
            match capacity_of(&write, libc::F_SETPIPE_SZ, size) {
                Ok(granted) => capacity = granted,
                Err(_) => size /= 2,
            }
        }
        Ok(Self { read, write, capacity })
    }

    /// Capacity of the pipe in bytes, if each of its pages is full (`F_GETPIPE_SZ`).
    pub const fn capacity(&self) -> usize {
        self.capacity
    }

    /// Maps the pages of `bytes` into the pipe (vmsplice(2)); returns how many bytes fit.
    /// The bytes must not change until the peer has them, which outlasts the call: else the
    /// changed bytes are sent.
    ///
    /// # Errors
    /// `EAGAIN` if the pipe is full, `ENOMEM`.
    pub fn put(&self, bytes: &[u8]) -> io::Result<usize> {
        let vector =
            libc::iovec { iov_base: bytes.as_ptr().cast_mut().cast(), iov_len: bytes.len() };
        // SAFETY: the vector describes `bytes`, which the kernel only reads.
        let put = unsafe {
            libc::vmsplice(self.write.as_raw_fd(), &raw const vector, 1, libc::SPLICE_F_NONBLOCK)
        };
        usize::try_from(put).map_err(|_| io::Error::last_os_error())
    }

    /// Moves up to `most` bytes from the pipe to `target` (splice(2)); returns how many bytes it
    /// moved.
    ///
    /// # Errors
    /// `EAGAIN` if the target takes nothing now; `EPIPE` or `ECONNRESET` if a connection is
    /// gone.
    pub fn splice_to(&self, target: &impl AsFd, most: usize) -> io::Result<usize> {
        splice(&self.read, target, most)
    }

    /// Moves up to `most` bytes from `source` into the pipe (splice(2)); returns how many bytes it
    /// moved, 0 at the end of the source.
    ///
    /// # Errors
    /// `EAGAIN` if the source has nothing now, or the pipe is full; the error of a socket.
    pub fn splice_from(&self, source: &impl AsFd, most: usize) -> io::Result<usize> {
        splice(source, &self.write, most)
    }
}

fn capacity_of(end: &OwnedFd, command: i32, size: usize) -> io::Result<usize> {
    let size = libc::c_int::try_from(size).unwrap_or(libc::c_int::MAX);
    // SAFETY: the call takes no pointer.
    let capacity = unsafe { libc::fcntl(end.as_raw_fd(), command, size) };
    usize::try_from(capacity).map_err(|_| io::Error::last_os_error())
}

fn splice(from: &impl AsFd, to: &impl AsFd, most: usize) -> io::Result<usize> {
    let (from, to) = (from.as_fd().as_raw_fd(), to.as_fd().as_raw_fd());
    let flags = libc::SPLICE_F_MOVE | libc::SPLICE_F_NONBLOCK;
    let none = std::ptr::null_mut();
    // SAFETY: without offsets the call takes no pointer.
    let moved = unsafe { libc::splice(from, none, to, none, most, flags) };
    usize::try_from(moved).map_err(|_| io::Error::last_os_error())
}

/// `/dev/null`, which discards what is written (null(4)). It is opened once, since a
/// process that has given up its rights to files cannot open it later.
///
/// # Errors
/// `EMFILE` or `ENFILE` if too many files are open, `EACCES` or `ENOENT` (open(2)).
pub fn dev_null() -> io::Result<&'static File> {
    if let Some(file) = NOWHERE.get() {
        return Ok(file);
    }
    let file = File::options().write(true).open("/dev/null")?;
    Ok(NOWHERE.get_or_init(|| file))
}

static NOWHERE: OnceLock<File> = OnceLock::new();

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::net::{Ipv4Addr, TcpListener, TcpStream};

    use super::*;

    fn pair() -> (TcpStream, TcpStream) {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("listens");
        let near = TcpStream::connect(listener.local_addr().expect("bound")).expect("connects");
        (near, listener.accept().expect("accepts").0)
    }

    #[test]
    fn what_goes_through_a_pipe_arrives() {
        let pipe = Pipe::new(1 << 18).expect("made");
        assert!(pipe.capacity() >= 4096);
        let (near, mut far) = pair();
        assert_eq!(pipe.put(b"0123456789").expect("put"), 10);
        assert_eq!(pipe.splice_to(&near, 4).expect("moved"), 4);
        assert_eq!(pipe.splice_to(&near, 99).expect("moved"), 6);
        let empty = pipe.splice_to(&near, 1).expect_err("empty");
        assert_eq!(empty.kind(), io::ErrorKind::WouldBlock);
        let mut text = [0; 10];
        far.read_exact(&mut text).expect("read");
        assert_eq!(&text, b"0123456789");
    }

    #[test]
    fn what_comes_can_be_sent_nowhere_until_the_end() {
        let (pipe, nowhere) = (Pipe::new(0).expect("made"), dev_null().expect("opened"));
        let (mut near, far) = pair();
        near.write_all(b"0123456789").expect("written");
        drop(near);
        let mut moved = 0;
        loop {
            match pipe.splice_from(&far, 7).expect("taken") {
                0 => break,
                taken => moved += taken,
            }
            pipe.splice_to(nowhere, 7).expect("moved");
        }
        assert_eq!(moved, 10);
    }

    #[test]
    fn a_full_pipe_takes_no_more() {
        let pipe = Pipe::new(0).expect("made");
        let bytes = vec![1; pipe.capacity() + 1];
        let mut put = 0;
        let error = loop {
            match pipe.put(&bytes) {
                Ok(more) => put += more,
                Err(error) => break error,
            }
        };
        assert_eq!(error.kind(), io::ErrorKind::WouldBlock);
        assert!(put <= pipe.capacity());
    }
}
