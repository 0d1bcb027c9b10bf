//! How much TCP streams move at once.

/// How much the TCP streams of a test move in a call, and how much they let gather before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bulk {
    /// Bytes that a call sends or receives at most. What the buffer does not hold at once is sent
    /// from it, or received into it, several times.
    pub call: usize,
    /// Bytes that gather in the socket before a fast stream is received (`SO_RCVLOWAT`). None: a
    /// receiver is woken for whatever comes.
    pub unread: Option<u32>,
    /// Bytes that a sender leaves unsent in the socket (`TCP_NOTSENT_LOWAT`). None: as many as the
    /// send buffer holds.
    pub unsent: Option<u32>,
    /// Whether a sender may let other threads have its CPU between calls (sched_yield(2)): a receiver
    /// that waits for it then finds in the caches what was sent.
    pub shares_cpu: bool,
}

impl Bulk {
    /// Calls of one block, and no marks.
    pub const fn of_blocks(block: usize) -> Self {
        Self { call: block, unread: None, unsent: None, shares_cpu: false }
    }
}
