//! TCP engines: plain write(2) and read(2), every byte copied.

mod receive;
mod send;

pub use receive::Receiver;
pub use send::Sender;

/// Name of this engine pair in records.
pub const ENGINE: &str = "write/read";
