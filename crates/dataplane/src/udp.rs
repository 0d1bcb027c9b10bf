//! UDP engines: batches by sendmmsg(2) and recvmmsg(2).

mod receive;
mod send;
mod sequence;

pub use receive::Receiver;
pub use send::Sender;
pub use sequence::Sequence;

/// Name of this engine pair in records.
pub const ENGINE: &str = "sendmmsg/recvmmsg";
