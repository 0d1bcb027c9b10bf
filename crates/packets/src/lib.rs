//! Frames below the sockets: made once and patched, sent by AF_XDP or AF_PACKET, received and counted
//! by flow. What a trial means is judged elsewhere.
//!
//! Frames go to one Ethernet address: that of another interface of this host, or one that ARP or the
//! user has told. Between start and stop a trial allocates, locks and logs nothing.

#![forbid(unsafe_code)]

mod account;
mod checksum;
mod error;
mod flow_counter;
mod frame;
mod port;
mod queue;
mod receiver;
mod sender;
mod sizes;
mod translation;
mod trial;

pub use account::{latency, record};
pub use error::PacketError;
pub use flow_counter::FlowCounts;
pub use frame::{Addressing, FrameLayout, MacAddress};
pub use port::{Port, resolve};
pub use receiver::ReceiveWith;
pub use sender::SendWith;
pub use sizes::{FrameSizes, IMIX, RFC_2544_SIZES, WIRE_OVERHEAD};
pub use translation::{SeenSource, seen_source, send_some};
pub use trial::{FrameTrial, LiveCounts, Received, Sent, Setup, TrialOutcome, TrialPlan};
