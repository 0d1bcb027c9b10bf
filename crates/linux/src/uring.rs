//! Sending and receiving with io_uring(7): requests are submitted ahead of time, and many
//! completions are read without a system call each.

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

/// Creates a ring with room for `requests` submissions and `results` completions. The
/// kernel posts completions when this thread enters it.
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

/// Adds `entry` to the submission queue and submits it.
///
/// # Safety
/// What the entry points to must live until its last completion has been read.
unsafe fn submit(ring: &mut IoUring, entry: &squeue::Entry) -> io::Result<()> {
    // SAFETY: by the caller's promise.
    let pushed = unsafe { ring.submission().push(entry) };
    pushed.map_err(|_| io::Error::from(io::ErrorKind::StorageFull))?;
    ring.submit().map(drop)
}

/// The next completion, if there is one.
///
/// The kernel holds back completions for which the ring has no room until it is entered,
/// and then the ring does not become readable: waiting for readability alone would block
/// for ever.
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
