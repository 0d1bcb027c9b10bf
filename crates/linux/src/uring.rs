//! Sending and receiving with io_uring(7): the kernel is asked ahead of time, and tells of
//! many results without a system call each.

mod buffers;
mod receive;
mod receive_datagrams;
mod send;
mod send_datagrams;

pub use receive::ReceiveRing;
pub use receive_datagrams::DatagramReceiveRing;
pub use send::{Manner, SendRing, Sent};
pub use send_datagrams::DatagramSendRing;

use std::io;

use io_uring::{IoUring, cqueue, squeue};

/// Makes a ring for `entries` requests. Its results are brought by the kernel when this
/// thread asks for them.
fn ring(entries: u32) -> io::Result<IoUring> {
    // Results are then worked on when the thread waits for them, not in between; a kernel
    // before 5.19 does without.
    let quiet = IoUring::builder().setup_coop_taskrun().build(entries);
    let ring = match quiet {
        Err(error) if error.raw_os_error() == Some(libc::EINVAL) => IoUring::new(entries),
        result => result,
    };
    ring.map_err(|error| match error.kind() {
        io::ErrorKind::PermissionDenied => io::Error::new(error.kind(), FORBIDDEN),
        _ => error,
    })
}

/// Puts `entry` in and tells the kernel.
///
/// # Safety
/// What the entry points to lives until its last result has come.
unsafe fn submit(ring: &mut IoUring, entry: &squeue::Entry) -> io::Result<()> {
    // SAFETY: by the caller's promise.
    let pushed = unsafe { ring.submission().push(entry) };
    pushed.map_err(|_| io::Error::from(io::ErrorKind::StorageFull))?;
    ring.submit().map(drop)
}

fn result(entry: &cqueue::Entry) -> io::Result<usize> {
    let result = entry.result();
    usize::try_from(result).map_err(|_| io::Error::from_raw_os_error(-result))
}

const FORBIDDEN: &str = "io_uring is forbidden (sysctl kernel.io_uring_disabled, or a filter)";
