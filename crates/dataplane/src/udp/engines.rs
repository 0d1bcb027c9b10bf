//! The engines of datagrams that users choose from by name.

use std::io;
use std::net::UdpSocket;
use std::sync::Arc;

use protocol::iperf3::CounterWidth;

use crate::budget::{Budget, Goal};
use crate::counters::Counters;
use crate::pacing::Pacer;
use crate::stream::Stream;
use crate::udp::{
    Called, Coalesced, Inlet, Outlet, Receiver, RingReceived, RingSent, Segmented, Sender,
    Separate, Single,
};

/// All that send, the usual one first.
pub static SENDERS: &[SendEngine] = &[
    SendEngine::of::<Separate>("many datagrams in a call, each on its own, by sendmmsg(2)"),
    SendEngine::of::<Single>("one datagram in a call, by send(2)"),
    SendEngine::of::<Segmented>("many datagrams in one piece, by UDP_SEGMENT"),
    SendEngine::of::<RingSent>("many datagrams in a call, each on its own, by io_uring(7)"),
];

/// All that receive, the usual one first.
pub static RECEIVERS: &[ReceiveEngine] = &[
    ReceiveEngine::of::<Called>("many datagrams in a call, each on its own, by recvmmsg(2)"),
    ReceiveEngine::of::<Coalesced>("many datagrams in one piece, by UDP_GRO"),
    ReceiveEngine::of::<RingReceived>("each datagram on its own, by io_uring(7) multishot"),
];

/// A way to send datagrams.
#[derive(Clone, Copy, Debug)]
pub struct SendEngine {
    /// As users and records call it.
    pub name: &'static str,
    /// How it sends, in a few words.
    pub summary: &'static str,
    build: fn(usize, Outgoing) -> io::Result<Box<dyn Stream>>,
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
        Self { name: O::NAME, summary, build: sender::<O> }
    }

    /// A sender of datagrams of `length` bytes.
    ///
    /// # Errors
    /// Why this kernel, or the path, has none.
    pub fn build(&self, length: usize, outgoing: Outgoing) -> io::Result<Box<dyn Stream>> {
        (self.build)(length, outgoing)
    }
}

fn sender<O: Outlet + 'static>(length: usize, outgoing: Outgoing) -> io::Result<Box<dyn Stream>> {
    let Outgoing { socket, width, counters, budget, pacer } = outgoing;
    let sender = Sender::through_outlet(O::open(&socket, length)?, socket, width, counters);
    Ok(Box::new(sender.with_datagrams(budget).with_pacer(pacer)))
}

/// A way to receive datagrams.
#[derive(Clone, Copy, Debug)]
pub struct ReceiveEngine {
    /// As users and records call it.
    pub name: &'static str,
    /// How it receives, in a few words.
    pub summary: &'static str,
    build: fn(usize, Incoming) -> io::Result<Box<dyn Stream>>,
}

/// What a receiver of datagrams works with.
pub struct Incoming {
    /// Its connected socket, which it sets up.
    pub socket: Arc<UdpSocket>,
    /// Width of the sequence numbers.
    pub width: CounterWidth,
    /// Where it counts.
    pub counters: Arc<Counters>,
    /// What it credits its bytes to.
    pub goal: Option<Arc<Goal>>,
}

impl ReceiveEngine {
    const fn of<I: Inlet + 'static>(summary: &'static str) -> Self {
        Self { name: I::NAME, summary, build: receiver::<I> }
    }

    /// A receiver of datagrams of up to `length` bytes.
    ///
    /// # Errors
    /// Why this kernel has none.
    pub fn build(&self, length: usize, incoming: Incoming) -> io::Result<Box<dyn Stream>> {
        (self.build)(length, incoming)
    }
}

fn receiver<I: Inlet + 'static>(length: usize, incoming: Incoming) -> io::Result<Box<dyn Stream>> {
    let Incoming { socket, width, counters, goal } = incoming;
    let receiver = Receiver::through_inlet(I::open(&socket, length)?, socket, width, counters);
    Ok(Box::new(receiver.with_goal(goal)))
}
