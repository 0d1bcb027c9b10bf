//! iperf3's protocol in both roles, and linerate's extensions of it.
//!
//! No RFC describes it; `docs/protocol/iperf3.md` does, and comments here quote
//! its clauses by number.

mod client;
mod cookie;
mod datagram;
mod error;
mod extension;
mod frame;
mod greeting;
mod hello;
mod json;
mod limits;
mod parameters;
mod results;
mod server;
mod state;
mod wire;

pub use client::{Client, ClientEvent, Phase as ClientPhase};
pub use cookie::Cookie;
pub use datagram::{CounterWidth, Header};
pub use error::{ErrorCode, ProtocolError};
pub use extension::{Announcement, Extension, FinalStream, MOST_FURTHER_PORTS, QueuePlace};
pub use greeting::{Greeting, GreetingEvent};
pub use hello::{Hello, HelloToken, is_reply};
pub use limits::TestLimits;
pub use parameters::{OptionalParameters, Parameters, Token};
pub use results::{ClockReading, PeerEvidence, Results, ServerOutput, StreamResult};
pub use server::{Phase as ServerPhase, Server, ServerEvent};
pub use state::State;

/// The port on which iperf3 servers listen by default, for the control connection and the streams
/// (clause 2.1 of docs/protocol/iperf3.md).
pub const DEFAULT_PORT: u16 = 5201;

/// The id on the wire of the stream that was opened as number `index`, counted from 0: iperf3
/// numbers streams 1, 3, 4, 5, … (clause 7.6 of docs/protocol/iperf3.md).
pub const fn stream_id(index: u32) -> u32 {
    if index == 0 { 1 } else { index + 2 }
}
