//! UDP engines: one machine that sends and one that receives, batch by batch, and the ways
//! in which a batch is handed to the kernel.

mod engines;
mod naps;
mod receive;
mod segmented;
mod send;
mod separate;
mod sequence;
mod single;

pub use engines::{Outgoing, RECEIVERS, ReceiveEngine, SENDERS, SendEngine};
pub use receive::Receiver;
pub use segmented::Segmented;
pub use send::{Outlet, Sender};
pub use separate::Separate;
pub use sequence::Sequence;
pub use single::Single;
