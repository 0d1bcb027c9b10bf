//! The engines of byte streams that users choose from by name.

use std::io;
use std::net::TcpStream;
use std::sync::Arc;

use crate::budget::{Budget, Goal};
use crate::counters::Counters;
use crate::pacing::Pacer;
use crate::stream::Stream;
use crate::supplies::Supplies;
use crate::tcp::{
    Copied, Emptied, InPlace, Mapped, Receiver, RingReceived, RingSent, Sender, Sendfile, Sink,
    Source, Spliced, Truncated, Written,
};

/// All that send, the usual one first.
pub static SENDERS: &[SendEngine] = &[
    SendEngine::of::<Written>("every byte copied by write(2)"),
    SendEngine::of::<Sendfile>("pages of a file in memory, by sendfile(2)"),
    SendEngine::of::<Spliced>("pages of memory through a pipe, by vmsplice(2) and splice(2)"),
    SendEngine::of::<InPlace>("pages of memory, by send(2) with MSG_ZEROCOPY"),
    SendEngine::of::<RingSent<false>>("every byte copied by io_uring(7)"),
    SendEngine::of::<RingSent<true>>("pages of memory, by io_uring(7)"),
];

/// All that receive, the usual one first.
pub static RECEIVERS: &[ReceiveEngine] = &[
    ReceiveEngine::of::<Copied>("every byte copied by read(2)"),
    ReceiveEngine::of::<Truncated>("dropped in the kernel, by recv(2) with MSG_TRUNC"),
    ReceiveEngine::of::<Emptied>("pages through a pipe to nowhere, by splice(2)"),
    ReceiveEngine::of::<Mapped>("pages mapped into memory, by TCP_ZEROCOPY_RECEIVE"),
    ReceiveEngine::of::<RingReceived>("every byte copied by one request to io_uring(7)"),
];

/// A source that can be made for any stream.
pub trait MakeSource: Source + Sized + 'static {
    /// Makes it for `socket`.
    ///
    /// # Errors
    /// Why this machine cannot.
    fn make(supplies: &Supplies, socket: &TcpStream) -> io::Result<Self>;
}

/// A sink that can be made for any stream.
pub trait MakeSink: Sink + Sized + 'static {
    /// Makes it for `socket`.
    ///
    /// # Errors
    /// Why this machine cannot.
    fn make(supplies: &Supplies, socket: &TcpStream) -> io::Result<Self>;
}

/// A way to send a byte stream.
#[derive(Clone, Copy, Debug)]
pub struct SendEngine {
    /// As users and records call it.
    pub name: &'static str,
    /// How it sends, in a few words.
    pub summary: &'static str,
    build: fn(&Supplies, Outgoing) -> io::Result<Box<dyn Stream>>,
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
    pub fn from<S: Source + 'static>(self, source: S, supplies: &Supplies) -> Box<dyn Stream> {
        let sender =
            Sender::from_source(source, self.socket, supplies.block() as u64, self.counters);
        Box::new(sender.with_bytes(self.budget).with_pacer(self.pacer))
    }
}

impl SendEngine {
    const fn of<S: MakeSource>(summary: &'static str) -> Self {
        Self { name: S::NAME, summary, build: build_sender::<S> }
    }

    /// A sender of this kind.
    ///
    /// # Errors
    /// Why this machine has none.
    pub fn build(&self, supplies: &Supplies, outgoing: Outgoing) -> io::Result<Box<dyn Stream>> {
        (self.build)(supplies, outgoing)
    }
}

fn build_sender<S: MakeSource>(
    supplies: &Supplies,
    outgoing: Outgoing,
) -> io::Result<Box<dyn Stream>> {
    let source = S::make(supplies, &outgoing.socket)?;
    Ok(outgoing.from(source, supplies))
}

/// A way to receive a byte stream.
#[derive(Clone, Copy, Debug)]
pub struct ReceiveEngine {
    /// As users and records call it.
    pub name: &'static str,
    /// How it receives, in a few words.
    pub summary: &'static str,
    build: fn(&Supplies, Incoming) -> io::Result<Box<dyn Stream>>,
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
    pub fn into<S: Sink + 'static>(self, sink: S) -> Box<dyn Stream> {
        Box::new(Receiver::into_sink(sink, self.socket, self.counters).with_goal(self.goal))
    }
}

impl ReceiveEngine {
    const fn of<S: MakeSink>(summary: &'static str) -> Self {
        Self { name: S::NAME, summary, build: build_receiver::<S> }
    }

    /// A receiver of this kind.
    ///
    /// # Errors
    /// Why this machine has none.
    pub fn build(&self, supplies: &Supplies, incoming: Incoming) -> io::Result<Box<dyn Stream>> {
        (self.build)(supplies, incoming)
    }
}

fn build_receiver<S: MakeSink>(
    supplies: &Supplies,
    incoming: Incoming,
) -> io::Result<Box<dyn Stream>> {
    let sink = S::make(supplies, &incoming.socket)?;
    Ok(incoming.into(sink))
}
