//! The engines of datagrams that users choose from by name.

use std::io;
use std::net::UdpSocket;
use std::sync::Arc;

use protocol::iperf3::CounterWidth;

use crate::budget::Budget;
use crate::counters::Counters;
use crate::pacing::Pacer;
use crate::stream::Stream;
use crate::udp::{Outlet, Receiver, Segmented, Sender, Separate, Single};

/// All that send, the usual one first.
pub static SENDERS: &[SendEngine] = &[
    SendEngine::of::<Separate>("many datagrams in a call, each on its own, by sendmmsg(2)"),
    SendEngine::of::<Single>("one datagram in a call, by send(2)"),
    SendEngine::of::<Segmented>("many datagrams in one piece, by UDP_SEGMENT"),
];

/// All that receive, the usual one first.
pub static RECEIVERS: &[ReceiveEngine] = &[
    ReceiveEngine {
        name: Receiver::NAME,
        summary: "many datagrams in a call, each on its own, by recvmmsg(2)",
        prepare: |_| Ok(()),
    },
    ReceiveEngine {
        name: Receiver::NAME_COALESCED,
        summary: "many datagrams in one piece, by UDP_GRO",
        prepare: linux::udp::coalesce_arrivals,
    },
];

/// A way to send datagrams.
#[derive(Clone, Copy, Debug)]
pub struct SendEngine {
    /// As users and records call it.
    pub name: &'static str,
    /// How it sends, in a few words.
    pub summary: &'static str,
    check: fn(&UdpSocket, usize) -> io::Result<()>,
    build: fn(Outgoing) -> Box<dyn Stream>,
}

/// What a sender of datagrams works with.
pub struct Outgoing {
    /// Its connected socket.
    pub socket: Arc<UdpSocket>,
    /// Width of its sequence numbers.
    pub width: CounterWidth,
    /// Where it counts.
    pub counters: Arc<Counters>,
    /// What it may send; none: without end.
    pub budget: Option<Arc<Budget>>,
    /// When it may; none: as fast as it can.
    pub pacer: Option<Pacer>,
}

impl SendEngine {
    const fn of<O: Outlet + 'static>(summary: &'static str) -> Self {
        Self { name: O::NAME, summary, check: O::check, build: build::<O> }
    }

    /// A sender of datagrams of `length` bytes.
    ///
    /// # Errors
    /// Why this kernel, or the path, has none.
    pub fn build(&self, length: usize, outgoing: Outgoing) -> io::Result<Box<dyn Stream>> {
        (self.check)(&outgoing.socket, length)?;
        Ok((self.build)(outgoing))
    }
}

fn build<O: Outlet + 'static>(outgoing: Outgoing) -> Box<dyn Stream> {
    let Outgoing { socket, width, counters, budget, pacer } = outgoing;
    let sender = Sender::<O>::through_outlet(socket, width, counters);
    Box::new(sender.with_datagrams(budget).with_pacer(pacer))
}

/// A way to receive datagrams.
#[derive(Clone, Copy, Debug)]
pub struct ReceiveEngine {
    /// As users and records call it.
    pub name: &'static str,
    /// How it receives, in a few words.
    pub summary: &'static str,
    prepare: fn(&UdpSocket) -> io::Result<()>,
}

impl ReceiveEngine {
    /// A receiver from `socket`, which it sets up.
    ///
    /// # Errors
    /// Why this kernel has none.
    pub fn build(
        &self,
        socket: Arc<UdpSocket>,
        width: CounterWidth,
        counters: Arc<Counters>,
    ) -> io::Result<Receiver> {
        (self.prepare)(&socket)?;
        Ok(Receiver::new(socket, width, counters))
    }
}
