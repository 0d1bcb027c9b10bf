//! TCP engines: one machine that sends and one that receives, and the ways in which each
//! moves its bytes.

mod copied;
mod emptied;
mod engines;
mod from_file;
mod in_place;
mod mapped;
mod receive;
mod ring_received;
mod ring_sent;
mod send;
mod sendfile;
mod spliced;
mod to_file;
mod truncated;
mod written;

pub use copied::Copied;
pub use emptied::Emptied;
pub use engines::{
    Incoming, MakeSink, MakeSource, Outgoing, RECEIVERS, ReceiveEngine, SENDERS, SendEngine,
};
pub use from_file::FromFile;
pub use in_place::{InPlace, InPlaceTally};
pub use mapped::Mapped;
pub use receive::{Receiver, Sink};
pub use ring_received::RingReceived;
pub use ring_sent::RingSent;
pub use send::{Sender, Source};
pub use sendfile::Sendfile;
pub use spliced::Spliced;
pub use to_file::ToFile;
pub use truncated::Truncated;
pub use written::Written;
