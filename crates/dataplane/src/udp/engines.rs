//! UDP engines as entries of a list: the properties of each, and a function that builds a stream
//! of it. The lists are in `udp.rs`.

use std::io;
use std::net::UdpSocket;
use std::sync::Arc;

use measurement::Engine;

use crate::budget::{Budget, Goal};
use crate::counters::Counters;
use crate::pacing::Pacer;
use crate::stream::Stream;
use crate::udp::{DatagramHeader, ReceiveMethod, ReceivedHeader, Receiver, SendMethod, Sender};

/// A UDP send engine, i.e. an implementation of sending by certain system calls, e.g. sendmmsg(2):
/// its properties, and how to build a stream that uses it.
#[derive(Clone, Copy, Debug)]
pub struct SendEngine {
    /// The properties of the engine.
    pub engine: &'static Engine,
    build: fn(usize, Outgoing) -> io::Result<Box<dyn Stream>>,
}

/// Arguments to build a UDP sender of any engine: socket, header of the datagrams, counters, limit
/// of the datagrams to send ([`Budget`]), and the [`Pacer`] that keeps the rate.
pub struct Outgoing {
    /// The connected socket. It must not block.
    pub socket: Arc<UdpSocket>,
    /// Header of the datagrams.
    pub header: DatagramHeader,
    /// Counters that the sender publishes.
    pub counters: Arc<Counters>,
    /// Datagrams that the sender may send. None: no limit.
    pub budget: Option<Arc<Budget>>,
    /// Pacer of the datagrams. None: the sender sends as fast as possible.
    pub pacer: Option<Pacer>,
}

impl SendEngine {
    /// The engine that sends by `O`.
    pub(super) const fn with_engine<O: SendMethod + 'static>() -> Self {
        Self { engine: O::ENGINE, build: sender::<O> }
    }

    /// Builds a stream that sends datagrams of `length` bytes with this engine.
    ///
    /// # Errors
    /// The kernel does not support the engine (`ENOSYS`, `ENOPROTOOPT`), forbids it (`EPERM`),
    /// or has no descriptor or memory for it (`EMFILE`, `ENOMEM`); or GSO does not take
    /// datagrams of this length on this path (`EINVAL`, `EIO`, `EMSGSIZE`).
    pub fn build(&self, length: usize, outgoing: Outgoing) -> io::Result<Box<dyn Stream>> {
        (self.build)(length, outgoing)
    }
}

fn sender<O: SendMethod + 'static>(
    length: usize,
    outgoing: Outgoing,
) -> io::Result<Box<dyn Stream>> {
    let Outgoing { socket, header, counters, budget, pacer } = outgoing;
    let sender = Sender::with_engine(O::open(&socket, length)?, socket, header, counters);
    Ok(Box::new(sender.with_datagrams(budget).with_pacer(pacer)))
}

/// A UDP receive engine, i.e. an implementation of receiving by certain system calls, e.g.
/// recvmmsg(2): its properties, and how to build a stream that uses it.
#[derive(Clone, Copy, Debug)]
pub struct ReceiveEngine {
    /// The properties of the engine.
    pub engine: &'static Engine,
    build: fn(usize, Incoming) -> io::Result<Box<dyn Stream>>,
}

/// Arguments to build a UDP receiver of any engine: socket, header of the datagrams,
/// counters, and the number of bytes after which the test ends ([`Goal`]).
pub struct Incoming {
    /// The connected socket, on which the engine sets its options. It must not block.
    pub socket: Arc<UdpSocket>,
    /// Header of the datagrams.
    pub header: ReceivedHeader,
    /// Counters that the receiver publishes.
    pub counters: Arc<Counters>,
    /// Goal to which the receiver adds its bytes. None: there is no goal.
    pub goal: Option<Arc<Goal>>,
}

impl ReceiveEngine {
    /// The engine that receives by `I`.
    pub(super) const fn with_engine<I: ReceiveMethod + 'static>() -> Self {
        Self { engine: I::ENGINE, build: receiver::<I> }
    }

    /// Builds a stream that receives datagrams of up to `length` bytes with this engine.
    ///
    /// # Errors
    /// The kernel does not support the engine (`ENOSYS`, `ENOPROTOOPT`, `EINVAL`), forbids it
    /// (`EPERM`), or has no descriptor or memory for it (`EMFILE`, `ENOMEM`).
    pub fn build(&self, length: usize, incoming: Incoming) -> io::Result<Box<dyn Stream>> {
        (self.build)(length, incoming)
    }
}

fn receiver<I: ReceiveMethod + 'static>(
    length: usize,
    incoming: Incoming,
) -> io::Result<Box<dyn Stream>> {
    let Incoming { socket, header, counters, goal } = incoming;
    let receiver = Receiver::with_engine(I::open(&socket, length)?, socket, header, counters);
    Ok(Box::new(receiver.with_goal(goal)))
}
