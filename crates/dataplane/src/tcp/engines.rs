//! An engine of byte streams as an entry of a list: its properties, and how a stream of it is
//! built. The lists are in `tcp.rs`.

use std::io;
use std::net::TcpStream;
use std::sync::Arc;

use measurement::Engine;

use crate::budget::{Budget, Goal};
use crate::counters::Counters;
use crate::pacing::Pacer;
use crate::shared_resources::SharedResources;
use crate::stream::Stream;
use crate::tcp::{Receiver, Sender, Sink, Source};

/// A source that can be made for any stream.
pub trait MakeSource: Source + Sized + 'static {
    /// Makes it for `socket`.
    ///
    /// # Errors
    /// Why this machine cannot.
    fn make(resources: &SharedResources, socket: &TcpStream) -> io::Result<Self>;
}

/// A sink that can be made for any stream.
pub trait MakeSink: Sink + Sized + 'static {
    /// Makes it for `socket`.
    ///
    /// # Errors
    /// Why this machine cannot.
    fn make(resources: &SharedResources, socket: &TcpStream) -> io::Result<Self>;
}

/// A way to send a byte stream.
#[derive(Clone, Copy, Debug)]
pub struct SendEngine {
    /// Its properties.
    pub engine: &'static Engine,
    build: fn(&SharedResources, Outgoing) -> io::Result<Box<dyn Stream>>,
}

/// What a sender of a byte stream works with.
pub struct Outgoing {
    /// Its socket.
    pub socket: Arc<TcpStream>,
    /// Where it counts.
    pub counters: Arc<Counters>,
    /// What it may send; none: without end.
    pub budget: Option<Arc<Budget>>,
    /// When it may; none: as fast as it can.
    pub pacer: Option<Pacer>,
}

impl Outgoing {
    /// A sender of what `source` has.
    pub fn into_sender<S: Source + 'static>(
        self,
        source: S,
        resources: &SharedResources,
    ) -> Box<dyn Stream> {
        let sender =
            Sender::with_source(source, self.socket, resources.block() as u64, self.counters);
        Box::new(sender.with_bytes(self.budget).with_pacer(self.pacer))
    }
}

impl SendEngine {
    /// The engine whose bytes come from `S`.
    pub(super) const fn with_source<S: MakeSource>() -> Self {
        Self { engine: S::ENGINE, build: build_sender::<S> }
    }

    /// A sender of this kind.
    ///
    /// # Errors
    /// Why this machine has none.
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

/// A way to receive a byte stream.
#[derive(Clone, Copy, Debug)]
pub struct ReceiveEngine {
    /// Its properties.
    pub engine: &'static Engine,
    build: fn(&SharedResources, Incoming) -> io::Result<Box<dyn Stream>>,
}

/// What a receiver of a byte stream works with.
pub struct Incoming {
    /// Its socket.
    pub socket: Arc<TcpStream>,
    /// Where it counts.
    pub counters: Arc<Counters>,
    /// What it credits to; none: there is no goal.
    pub goal: Option<Arc<Goal>>,
}

impl Incoming {
    /// A receiver that gives to `sink`.
    pub fn into_receiver<S: Sink + 'static>(self, sink: S) -> Box<dyn Stream> {
        Box::new(Receiver::with_sink(sink, self.socket, self.counters).with_goal(self.goal))
    }
}

impl ReceiveEngine {
    /// The engine whose bytes go to `S`.
    pub(super) const fn with_sink<S: MakeSink>() -> Self {
        Self { engine: S::ENGINE, build: build_receiver::<S> }
    }

    /// A receiver of this kind.
    ///
    /// # Errors
    /// Why this machine has none.
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
    Ok(incoming.into_receiver(sink))
}
