//! TCP engines: one machine that sends and one that receives, and the ways in which each
//! moves its bytes.

mod copied;
mod from_file;
mod receive;
mod send;
mod sendfile;
mod to_file;
mod truncated;
mod written;

pub use copied::Copied;
pub use from_file::FromFile;
pub use receive::{Receiver, Sink};
pub use send::{Sender, Source};
pub use sendfile::Sendfile;
pub use to_file::ToFile;
pub use truncated::Truncated;
pub use written::Written;
