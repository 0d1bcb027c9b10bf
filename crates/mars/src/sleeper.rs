//! Whether an MPU sleeps, and who has to wake it.
//!
//! ```text
//!   the MPU                              whoever has work for it
//!     lie down (state = bed)               put the work in
//!     fence                                fence
//!     look for work once more              state is a bed? swap it for AWAKE,
//!     none: sleep while state == bed       and who got the bed out of it wakes
//! ```
//!
//! The two fences order each side's write before its read, so that at least one of them
//! sees what the other wrote: no work is slept through. Only the waker that took the bed
//! pays for a system call, and nobody pays while the MPU is awake.
//!
//! The state is only ever exchanged, never just stored, so that all agree on its order.

use crate::atomic::Ordering::{AcqRel, Relaxed, SeqCst};
use crate::atomic::{AtomicU32, fence};

/// The state of one MPU.
#[derive(Debug)]
pub(crate) struct Sleeper {
    state: AtomicU32,
}

/// On what an MPU sleeps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Bed {
    /// On the word of its state (futex(2)): the cheapest to be woken from.
    Word,
    /// On its descriptors (epoll(7)).
    Descriptors,
}

impl Default for Sleeper {
    fn default() -> Self {
        Self { state: AtomicU32::new(AWAKE) }
    }
}

impl Sleeper {
    /// The MPU is about to sleep. It has to look for work once more before it does.
    pub(crate) fn lie_down(&self, bed: Bed) {
        self.state.swap(bed.word(), AcqRel);
        fence(SeqCst);
    }

    /// The MPU is awake.
    pub(crate) fn rise(&self) {
        self.state.swap(AWAKE, AcqRel);
    }

    /// There is work, which has been put in: who is to be woken from which bed; none:
    /// the MPU is awake, or somebody else wakes it.
    pub(crate) fn rouse(&self) -> Option<Bed> {
        fence(SeqCst);
        if self.state.load(Relaxed) == AWAKE {
            return None;
        }
        match self.state.swap(AWAKE, AcqRel) {
            WORD => Some(Bed::Word),
            DESCRIPTORS => Some(Bed::Descriptors),
            _ => None,
        }
    }

    /// The word that a sleeper on [`Bed::Word`] sleeps on, and what it holds then.
    pub(crate) const fn word(&self) -> (&AtomicU32, u32) {
        (&self.state, WORD)
    }
}

impl Bed {
    const fn word(self) -> u32 {
        match self {
            Self::Word => WORD,
            Self::Descriptors => DESCRIPTORS,
        }
    }
}

const AWAKE: u32 = 0;
const WORD: u32 = 1;
const DESCRIPTORS: u32 = 2;
