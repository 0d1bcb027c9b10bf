//! Sending and receiving with io_uring(7): the kernel is asked ahead of time, and tells of
//! many results without a system call each.

mod buffers;
mod receive;
mod receive_datagrams;
mod send;
mod send_datagrams;
mod sent;

pub use receive::ReceiveRing;
pub use receive_datagrams::DatagramReceiveRing;
pub use send::SendRing;
pub use send_datagrams::DatagramSendRing;
pub use sent::{SendCompletion, SendMode};

use std::io;

use io_uring::{IoUring, cqueue, squeue};

/// Makes a ring that takes so many `requests` at a time and has room for `results`. The kernel brings
/// them when this thread asks for them.
fn ring(requests: u32, results: u32) -> io::Result<IoUring> {
    // Results are then worked on when the thread waits for them, not in between; a kernel
    // before 5.19 does without.
    let quiet = IoUring::builder().setup_cqsize(results).setup_coop_taskrun().build(requests);
    let ring = match quiet {
        Err(error) if error.raw_os_error() == Some(libc::EINVAL) => {
            IoUring::builder().setup_cqsize(results).build(requests)
        }
        result => result,
    };
    ring.map_err(|error| match error.kind() {
        io::ErrorKind::PermissionDenied => io::Error::new(error.kind(), FORBIDDEN),
        io::ErrorKind::OutOfMemory => io::Error::new(error.kind(), SHORT_OF_MEMORY),
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

/// The next result, if one has come.
///
/// The kernel keeps those for which the ring has no room until it is asked for them, and
/// tells of nothing more before: who only waited for a ring to become readable would wait for
/// ever.
fn next(ring: &mut IoUring) -> io::Result<Option<cqueue::Entry>> {
    let next = ring.completion().next();
    if next.is_some() || !ring.submission().cq_overflow() {
        return Ok(next);
    }
    // Brings them, as there are some (`IORING_ENTER_GETEVENTS`).
    ring.submit()?;
    Ok(ring.completion().next())
}

fn result(entry: &cqueue::Entry) -> io::Result<usize> {
    let result = entry.result();
    usize::try_from(result).map_err(|_| io::Error::from_raw_os_error(-result))
}

const FORBIDDEN: &str = "io_uring is forbidden (sysctl kernel.io_uring_disabled, or a filter)";
const SHORT_OF_MEMORY: &str =
    "io_uring gets no memory (see the limit of locked memory, ulimit -l, and that of the group)";
