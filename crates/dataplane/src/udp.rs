//! UDP engines: one machine that sends and one that receives, batch by batch, and the ways
//! in which a batch is handed to the kernel and taken from it.

mod books;
mod called;
mod coalesced;
mod engines;
mod jitter;
mod naps;
mod receive;
mod ring_received;
mod ring_sent;
mod segmented;
mod send;
mod separate;
mod sequence;
mod single;

pub use called::Called;
pub use coalesced::Coalesced;
pub use engines::{Incoming, Outgoing, RECEIVERS, ReceiveEngine, SENDERS, SendEngine};
pub use receive::{Inlet, Receiver};
pub use ring_received::RingReceived;
pub use ring_sent::RingSent;
pub use segmented::Segmented;
pub use send::{Outlet, Sender};
pub use separate::Separate;
pub use sequence::Sequence;
pub use single::Single;
