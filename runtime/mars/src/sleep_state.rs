//! Whether an MPU sleeps, and which waker has to wake it.
//!
//! ```text
//!   the MPU                              a waker, which has work for it
//!     begin sleep (state = ON_...)         publish the work
//!     fence                                fence
//!     look for work once more              state is ON_...? swap it for AWAKE;
//!     none: sleep while state is ON_...    the waker that got ON_... wakes it
//! ```
//!
//! The two fences order each side's write before its read, so that at least one side sees
//! what the other wrote: no wake-up is lost. Only the waker that swapped the state pays for
//! a system call, and none while the MPU is awake.
//!
//! The state is only ever exchanged, never just stored, so that all threads agree on the
//! order of its values.

use crate::atomic::Ordering::{AcqRel, Relaxed, SeqCst};
use crate::atomic::{AtomicU32, fence};

/// The sleep state of one MPU.
#[derive(Debug)]
pub(crate) struct SleepState {
    state: AtomicU32,
}

/// The kernel object on which an MPU sleeps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SleepOn {
    /// Sleeps on the futex of the state (futex(2)), the cheapest wake-up.
    Futex,
    /// Sleeps on the watched descriptors (epoll(7)).
    Epoll,
}

impl Default for SleepState {
    fn default() -> Self {
        Self { state: AtomicU32::new(AWAKE) }
    }
}

impl SleepState {
    /// Announces that the MPU is about to sleep. It must look for work once more before it
    /// does.
    pub(crate) fn begin_sleep(&self, on: SleepOn) {
        self.state.swap(on.word(), AcqRel);
        fence(SeqCst);
    }

    /// Announces that the MPU is awake.
    pub(crate) fn end_sleep(&self) {
        self.state.swap(AWAKE, AcqRel);
    }

    /// Whether the MPU sleeps and nobody has woken it. Nothing is ordered by this.
    pub(crate) fn is_asleep(&self) -> bool {
        self.state.load(Relaxed) != AWAKE
    }

    /// Called after work was published. Returns what the MPU sleeps on if the caller has to
    /// wake it; `None` if it is awake, or another thread wakes it.
    pub(crate) fn wake_if_asleep(&self) -> Option<SleepOn> {
        fence(SeqCst);
        if self.state.load(Relaxed) == AWAKE {
            return None;
        }
        match self.state.swap(AWAKE, AcqRel) {
            ON_FUTEX => Some(SleepOn::Futex),
            ON_EPOLL => Some(SleepOn::Epoll),
            _ => None,
        }
    }

    /// The futex word for [`SleepOn::Futex`], and its value while the MPU sleeps.
    pub(crate) const fn word(&self) -> (&AtomicU32, u32) {
        (&self.state, ON_FUTEX)
    }
}

impl SleepOn {
    const fn word(self) -> u32 {
        match self {
            Self::Futex => ON_FUTEX,
            Self::Epoll => ON_EPOLL,
        }
    }
}

const AWAKE: u32 = 0;
const ON_FUTEX: u32 = 1;
const ON_EPOLL: u32 = 2;
