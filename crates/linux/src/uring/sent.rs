//! How a ring sends, and what becomes of a send; the same where there are no rings.

use std::io;

/// Whether the bytes are copied.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SendMode {
    /// They are (`IORING_OP_SEND`).
    Copy,
    /// They are not, if that can be avoided (`IORING_OP_SEND_ZC`, Linux 6.0).
    ZeroCopy,
}

/// What became of a send.
#[derive(Debug)]
pub enum SendCompletion {
    /// So many bytes went.
    Bytes(usize),
    /// The kernel is done with the pages of a send; whether it copied them all the same.
    Released {
        /// It did.
        copied: bool,
    },
    /// It failed.
    Failed(io::Error),
}
