//! What every engine is to its worker.

use std::os::fd::BorrowedFd;

use linux::epoll::Interest;
use measurement::Timestamp;

use crate::pacing::PacingWait;
use crate::scratch::Scratch;

/// What a stream needs before its next step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// Nothing: it can go on, after the other streams had their turn.
    Again,
    /// Data to read.
    Readable,
    /// Data to read, or the time to come.
    ReadableOr(Timestamp),
    /// Nothing, but one more descriptor is to be watched: [`Stream::new_descriptor`].
    Watch,
    /// Room to write.
    Writable,
    /// The time to come, more or less: the worker sleeps until then.
    Until(Timestamp),
    /// The time to come, to the microsecond: the worker sleeps until shortly before it, and
    /// spins for the rest.
    Exactly(Timestamp),
    /// Nothing: it is finished.
    Done,
}

impl From<PacingWait> for Step {
    fn from(wait: PacingWait) -> Self {
        match wait {
            PacingWait::Until(time) => Self::Until(time),
            PacingWait::Exactly(time) => Self::Exactly(time),
        }
    }
}

/// One stream of a test, as a worker drives it.
pub trait Stream: Send {
    /// The socket and what it is to be watched for.
    fn interest(&self) -> (BorrowedFd<'_>, Interest);

    /// No other stream has this worker: calls may wait for a moment, which wakes the thread
    /// sooner than epoll(7) would. Whether they do; nothing is watched then.
    fn use_blocking_calls(&mut self) -> bool {
        false
    }

    /// A descriptor that is to be watched from now on.
    fn new_descriptor(&self) -> Option<BorrowedFd<'_>> {
        None
    }

    /// Moves about one block. Must not block, allocate, lock or format.
    fn step(&mut self, now: Timestamp, scratch: &mut Scratch) -> Step;

    /// Whether the kernel goes on with it while it waits: at the end of the sending it has to
    /// be halted even then, or nobody would count what still goes.
    fn continues_in_kernel(&self) -> bool {
        false
    }

    /// Takes note that there will be no further step.
    fn halt(&mut self);
}
