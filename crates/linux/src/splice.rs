//! Bytes that move between memory, sockets and files without being copied (splice(2),
//! vmsplice(2)): a pipe holds the pages on their way.

use std::fs::File;
use std::io;
use std::os::fd::{AsFd, AsRawFd, FromRawFd, OwnedFd};
use std::sync::OnceLock;

/// A pipe that does not block.
#[derive(Debug)]
pub struct Pipe {
    read: OwnedFd,
    write: OwnedFd,
    capacity: usize,
}

impl Pipe {
    /// A pipe with room for about `wanted` bytes, as far as `fs.pipe-max-size` and the pages
    /// that the user may have in pipes allow it (pipe(7)).
    ///
    /// # Errors
    /// What pipe2(2) or fcntl(2) report.
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

    /// How many bytes it holds at the most, if they fill their pages.
    pub const fn capacity(&self) -> usize {
        self.capacity
    }

    /// Puts the pages of `bytes` in; how many bytes went. They must stay as they are for as
    /// long as they are on their way, which outlasts the call: what is changed meanwhile
    /// arrives changed.
    ///
    /// # Errors
    /// What vmsplice(2) reports, e.g. `EAGAIN` if the pipe is full.
    pub fn put(&self, bytes: &[u8]) -> io::Result<usize> {
        let vector =
            libc::iovec { iov_base: bytes.as_ptr().cast_mut().cast(), iov_len: bytes.len() };
        // SAFETY: the vector describes `bytes`, which the kernel only reads.
        let put = unsafe {
            libc::vmsplice(self.write.as_raw_fd(), &raw const vector, 1, libc::SPLICE_F_NONBLOCK)
        };
        usize::try_from(put).map_err(|_| io::Error::last_os_error())
    }

    /// Moves up to `most` bytes out of it to `target`; how many went.
    ///
    /// # Errors
    /// What splice(2) reports, e.g. `EAGAIN` if the target takes nothing now.
    pub fn splice_to(&self, target: &impl AsFd, most: usize) -> io::Result<usize> {
        splice(&self.read, target, most)
    }

    /// Moves up to `most` bytes from `source` into it; how many came, 0: the source has
    /// ended.
    ///
    /// # Errors
    /// What splice(2) reports, e.g. `EAGAIN` if the source has nothing now.
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

/// Where bytes go that nobody wants (null(4)): opened once, since a process that has given
/// up its rights to files cannot do that later.
///
/// # Errors
/// What open(2) reports.
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
