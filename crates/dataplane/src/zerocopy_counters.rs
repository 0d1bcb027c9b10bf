//! Counters of sends that the kernel was asked not to copy (`MSG_ZEROCOPY`,
//! `IORING_OP_SEND_ZC`).

use std::sync::atomic::Ordering::Relaxed;

use portable_atomic::AtomicU64;

/// Counters of zero-copy sends, shared by all streams of a test.
#[derive(Debug, Default)]
pub struct ZerocopyCounters {
    sends: AtomicU64,
    done: AtomicU64,
    copied: AtomicU64,
    refused: AtomicU64,
}

impl ZerocopyCounters {
    pub(crate) fn note_send(&self) {
        self.sends.fetch_add(1, Relaxed);
    }

    /// Counts a send that was copied because the kernel had no memory for its completion.
    pub(crate) fn note_refusal(&self) {
        self.refused.fetch_add(1, Relaxed);
    }

    /// Counts sends that the kernel reported as `done`, and those among them that it `copied`.
    pub(crate) fn note_completions(&self, done: u64, copied: u64) {
        self.done.fetch_add(done, Relaxed);
        self.copied.fetch_add(copied, Relaxed);
    }

    /// Number of sends that requested zero copy.
    pub fn sends(&self) -> u64 {
        self.sends.load(Relaxed)
    }

    /// Number of zero-copy sends whose completion the kernel has reported.
    pub fn done(&self) -> u64 {
        self.done.load(Relaxed)
    }

    /// Number of completed zero-copy sends whose bytes the kernel copied after all, as it does on
    /// loopback (`SO_EE_CODE_ZEROCOPY_COPIED`, `linux/errqueue.h`).
    pub fn copied(&self) -> u64 {
        self.copied.load(Relaxed)
    }

    /// Number of sends that were copied because the kernel had no memory for their completion
    /// (`ENOBUFS`, `net.core.optmem_max`).
    pub fn refused(&self) -> u64 {
        self.refused.load(Relaxed)
    }
}
