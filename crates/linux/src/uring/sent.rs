//! How a ring sends, and how a send completes. These types exist with and without io_uring.

use std::io;

/// Whether the kernel copies the bytes of a send on an io_uring(7).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SendMode {
    /// The kernel copies the bytes (`IORING_OP_SEND`).
    Copy,
    /// The kernel sends the bytes without a copy, if possible (`IORING_OP_SEND_ZC`, Linux 6.0).
    ZeroCopy,
}

/// A completion of a send on an io_uring(7).
#[derive(Debug)]
pub enum SendCompletion {
    /// The number of bytes sent.
    Bytes(usize),
    /// The kernel has released the pages of a zero-copy send.
    Released {
        /// Whether the kernel copied the bytes nevertheless.
        copied: bool,
    },
    /// The send failed with this error.
    Failed(io::Error),
}
