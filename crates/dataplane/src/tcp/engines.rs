//! TCP engines as entries of a list: the properties of each, and a function that builds a stream
//! of it. The lists are in `tcp.rs`.

use std::io;
use std::net::TcpStream;
use std::sync::Arc;

use measurement::Engine;

use crate::budget::{Budget, Goal};
use crate::bulk::Bulk;
use crate::counters::Counters;
use crate::pacing::Pacer;
use crate::shared_resources::SharedResources;
use crate::stream::Stream;
use crate::tcp::{Receiver, Sender, Sink, Source};

/// A [`Source`] (the way of sending of an engine) that can be made for any TCP socket, from what
/// the engines of a test share alone.
pub trait MakeSource: Source + Sized + 'static {
    /// Makes one for `socket`.
    ///
    /// # Errors
    /// The kernel does not support the engine (`ENOSYS`, `ENOPROTOOPT`, `EOPNOTSUPP`, `ENODEV`),
    /// forbids it (`EPERM`), or has no descriptor or memory for it (`EMFILE`, `ENOMEM`).
    fn make(resources: &SharedResources, socket: &TcpStream) -> io::Result<Self>;
}

/// A [`Sink`] (the way of receiving of an engine) that can be made for any TCP socket, from what
/// the engines of a test share alone.
pub trait MakeSink: Sink + Sized + 'static {
    /// Makes one for `socket`.
    ///
    /// # Errors
    /// The kernel does not support the engine (`ENOSYS`, `ENOPROTOOPT`, `EOPNOTSUPP`, `ENODEV`),
    /// forbids it (`EPERM`), or has no descriptor or memory for it (`EMFILE`, `ENOMEM`).
    fn make(resources: &SharedResources, socket: &TcpStream) -> io::Result<Self>;
}

/// A TCP send engine, i.e. an implementation of sending by certain system calls, e.g. write(2) or
/// sendfile(2): its properties, and how to build a stream that uses it.
#[derive(Clone, Copy, Debug)]
pub struct SendEngine {
    /// The properties of the engine.
    pub engine: &'static Engine,
    build: fn(&SharedResources, Outgoing) -> io::Result<Box<dyn Stream>>,
}

/// Arguments to build a TCP sender of any engine: socket, counters, limit of the bytes to send
/// ([`Budget`]), and the [`Pacer`] that keeps the rate.
pub struct Outgoing {
    /// The connected socket. It must not block.
    pub socket: Arc<TcpStream>,
    /// Counters that the sender publishes.
    pub counters: Arc<Counters>,
    /// Bytes that the sender may send. None: no limit.
    pub budget: Option<Arc<Budget>>,
    /// Pacer of the blocks. None: the sender sends as fast as possible.
    pub pacer: Option<Pacer>,
}

impl Outgoing {
    /// Builds a sender that takes its bytes from `source`, in calls of up to
    /// [`Bulk::call`](crate::Bulk::call) bytes.
    pub fn into_sender<S: Source + 'static>(
        self,
        source: S,
        resources: &SharedResources,
    ) -> Box<dyn Stream> {
        let Bulk { call, shares_cpu, .. } = *resources.bulk();
        let sender = Sender::with_source(source, self.socket, call as u64, self.counters)
            .with_cpu_sharing(shares_cpu);
        Box::new(sender.with_bytes(self.budget).with_pacer(self.pacer))
    }
}

impl SendEngine {
    /// The engine whose bytes come from `S`.
    pub(super) const fn with_source<S: MakeSource>() -> Self {
        Self { engine: S::ENGINE, build: build_sender::<S> }
    }

    /// Builds a stream that sends with this engine.
    ///
    /// # Errors
    /// The kernel does not support the engine (`ENOSYS`, `ENOPROTOOPT`, `EOPNOTSUPP`),
    /// forbids it (`EPERM`), or has no descriptor or memory for it (`EMFILE`, `ENOMEM`).
    pub fn build(
        &self,
        resources: &SharedResources,
        outgoing: Outgoing,
    ) -> io::Result<Box<dyn Stream>> {
        (self.build)(resources, outgoing)
    }
}

fn build_sender<S: MakeSource>(
    resources: &SharedResources,
    outgoing: Outgoing,
) -> io::Result<Box<dyn Stream>> {
    let source = S::make(resources, &outgoing.socket)?;
    Ok(outgoing.into_sender(source, resources))
}

/// A TCP receive engine, i.e. an implementation of receiving by certain system calls, e.g. read(2)
/// or splice(2): its properties, and how to build a stream that uses it.
#[derive(Clone, Copy, Debug)]
pub struct ReceiveEngine {
    /// The properties of the engine.
    pub engine: &'static Engine,
    build: fn(&SharedResources, Incoming) -> io::Result<Box<dyn Stream>>,
}

/// Arguments to build a TCP receiver of any engine: socket, counters, and the number of bytes
/// after which the test ends ([`Goal`]).
pub struct Incoming {
    /// The connected socket. It must not block.
    pub socket: Arc<TcpStream>,
    /// Counters that the receiver publishes.
    pub counters: Arc<Counters>,
    /// Goal to which the receiver adds its bytes. None: there is no goal.
    pub goal: Option<Arc<Goal>>,
    /// Payload bytes that were read from the socket before, and are counted with the first ones.
    pub read_before: u64,
}

impl Incoming {
    /// Builds a receiver that takes its bytes from the kernel by `sink`.
    pub fn into_receiver<S: Sink + 'static>(self, sink: S) -> Box<dyn Stream> {
        Box::new(self.receiver(sink))
    }

    fn receiver<S: Sink>(self, sink: S) -> Receiver<S> {
        let receiver = Receiver::with_sink(sink, self.socket, self.counters);
        receiver.with_goal(self.goal).with_read_before(self.read_before)
    }
}

impl ReceiveEngine {
    /// The engine whose bytes go to `S`.
    pub(super) const fn with_sink<S: MakeSink>() -> Self {
        Self { engine: S::ENGINE, build: build_receiver::<S> }
    }

    /// Builds a stream that receives with this engine.
    ///
    /// # Errors
    /// The kernel does not support the engine (`ENOSYS`, `ENODEV`, `EINVAL`), forbids it
    /// (`EPERM`), or has no descriptor or memory for it (`EMFILE`, `ENOMEM`).
    pub fn build(
        &self,
        resources: &SharedResources,
        incoming: Incoming,
    ) -> io::Result<Box<dyn Stream>> {
        (self.build)(resources, incoming)
    }
}

fn build_receiver<S: MakeSink>(
    resources: &SharedResources,
    incoming: Incoming,
) -> io::Result<Box<dyn Stream>> {
    let sink = S::make(resources, &incoming.socket)?;
    Ok(Box::new(incoming.receiver(sink).with_low_water(resources.bulk().unread)))
}
