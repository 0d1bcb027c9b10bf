//! The interface between an engine and the worker thread that runs it.

use std::os::fd::BorrowedFd;

use linux::epoll::Interest;
use measurement::Timestamp;

use crate::pacing::PacingWait;
use crate::scratch::Scratch;

/// The result of a step of a [`Stream`]: what it waits for before it can make the next one, or that
/// it has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// None: it can go on after the other streams of the worker have had their turn.
    Again,
    /// None, but other threads of its CPU may run first: what it has sent is in the caches.
    AgainAfterOthers,
    /// The descriptor of the stream becomes readable.
    Readable,
    /// The descriptor of the stream becomes readable, or the time is reached.
    ReadableOr(Timestamp),
    /// None, but one more descriptor is to be registered: [`Stream::new_descriptor`].
    Watch,
    /// The socket of the stream becomes writable.
    Writable,
    /// The time comes; the worker sleeps until about then.
    Until(Timestamp),
    /// The time comes; the worker sleeps until then, however late it wakes.
    SleepUntil(Timestamp),
    /// The time comes, to the microsecond: the worker sleeps until shortly before it, and
    /// spins for the rest.
    Exactly(Timestamp),
    /// No condition: the stream has ended.
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

/// One stream of a test, i.e. one connection or socket with its engine: a state machine that a
/// worker thread runs step by step.
pub trait Stream: Send {
    /// The descriptor to register with epoll(7), and the events of interest.
    fn interest(&self) -> (BorrowedFd<'_>, Interest);

    /// Offers the stream, which has the worker to itself, to wait in its system calls, which
    /// wakes the thread sooner than epoll(7). Returns whether it does; its descriptor is not
    /// registered then.
    fn use_blocking_calls(&mut self) -> bool {
        false
    }

    /// The descriptor to register in addition after [`Step::Watch`].
    fn new_descriptor(&self) -> Option<BorrowedFd<'_>> {
        None
    }

    /// Moves about one block of payload and returns the condition of the next step. It must
    /// not block, allocate, lock or format.
    fn step(&mut self, now: Timestamp, scratch: &mut Scratch) -> Step;

    /// Whether the kernel moves payload while the stream waits, as an io_uring does. Such a
    /// stream is halted at the end of the sending even while it waits, so that this payload
    /// is counted.
    fn continues_in_kernel(&self) -> bool {
        false
    }

    /// Ends the stream: there is no further step.
    fn halt(&mut self);
}
