//! An engine of datagrams as an entry of a list: its properties, and how a stream of it is
//! built. The lists are in `udp.rs`.

use std::io;
use std::net::UdpSocket;
use std::sync::Arc;

use measurement::Engine;

use crate::SequenceWidth;
use crate::budget::{Budget, Goal};
use crate::counters::Counters;
use crate::pacing::Pacer;
use crate::stream::Stream;
use crate::udp::{ReceiveMethod, Receiver, SendMethod, Sender};

/// A way to send datagrams.
#[derive(Clone, Copy, Debug)]
pub struct SendEngine {
    /// Its properties.
    pub engine: &'static Engine,
    build: fn(usize, Outgoing) -> io::Result<Box<dyn Stream>>,
}

/// What a sender of datagrams works with.
pub struct Outgoing {
    /// Its connected socket.
    pub socket: Arc<UdpSocket>,
    /// Width of its sequence numbers.
    pub width: SequenceWidth,
    /// Where it counts.
    pub counters: Arc<Counters>,
    /// What it may send; none: without end.
    pub budget: Option<Arc<Budget>>,
    /// When it may; none: as fast as it can.
    pub pacer: Option<Pacer>,
}

impl SendEngine {
    /// The engine that sends through `O`.
    pub(super) const fn with_engine<O: SendMethod + 'static>() -> Self {
        Self { engine: O::ENGINE, build: sender::<O> }
    }

    /// A sender of datagrams of `length` bytes.
    ///
    /// # Errors
    /// Why this kernel, or the path, has none.
    pub fn build(&self, length: usize, outgoing: Outgoing) -> io::Result<Box<dyn Stream>> {
        (self.build)(length, outgoing)
    }
}

fn sender<O: SendMethod + 'static>(
    length: usize,
    outgoing: Outgoing,
) -> io::Result<Box<dyn Stream>> {
    let Outgoing { socket, width, counters, budget, pacer } = outgoing;
    let sender = Sender::with_engine(O::open(&socket, length)?, socket, width, counters);
    Ok(Box::new(sender.with_datagrams(budget).with_pacer(pacer)))
}

/// A way to receive datagrams.
#[derive(Clone, Copy, Debug)]
pub struct ReceiveEngine {
    /// Its properties.
    pub engine: &'static Engine,
    build: fn(usize, Incoming) -> io::Result<Box<dyn Stream>>,
}

/// What a receiver of datagrams works with.
pub struct Incoming {
    /// Its connected socket, which it sets up.
    pub socket: Arc<UdpSocket>,
    /// Width of the sequence numbers.
    pub width: SequenceWidth,
    /// Where it counts.
    pub counters: Arc<Counters>,
    /// What it credits its bytes to.
    pub goal: Option<Arc<Goal>>,
}

impl ReceiveEngine {
    /// The engine that receives through `I`.
    pub(super) const fn with_engine<I: ReceiveMethod + 'static>() -> Self {
        Self { engine: I::ENGINE, build: receiver::<I> }
    }

    /// A receiver of datagrams of up to `length` bytes.
    ///
    /// # Errors
    /// Why this kernel has none.
    pub fn build(&self, length: usize, incoming: Incoming) -> io::Result<Box<dyn Stream>> {
        (self.build)(length, incoming)
    }
}

fn receiver<I: ReceiveMethod + 'static>(
    length: usize,
    incoming: Incoming,
) -> io::Result<Box<dyn Stream>> {
    let Incoming { socket, width, counters, goal } = incoming;
    let receiver = Receiver::with_engine(I::open(&socket, length)?, socket, width, counters);
    Ok(Box::new(receiver.with_goal(goal)))
}
