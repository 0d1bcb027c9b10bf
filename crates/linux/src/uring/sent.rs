//! How a ring sends, and how a send completes. These types exist with and without io_uring.

use std::io;

/// Whether the bytes of a send are copied.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SendMode {
    /// They are copied into the kernel (`IORING_OP_SEND`).
    Copy,
    /// They are sent from where they are, if possible (`IORING_OP_SEND_ZC`, Linux 6.0).
    ZeroCopy,
}

/// A completion of a send.
#[derive(Debug)]
pub enum SendCompletion {
    /// The number of bytes sent.
    Bytes(usize),
    /// The kernel has released the pages of a zero-copy send.
    Released {
        /// Whether it copied the bytes after all.
        copied: bool,
    },
    /// The send failed.
    Failed(io::Error),
}
