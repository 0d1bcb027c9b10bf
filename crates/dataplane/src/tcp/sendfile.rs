//! Sends with sendfile(2) from a sealed memory file, whose pages the network card reads.

use std::io;
use std::net::TcpStream;
use std::sync::Arc;

use linux::payload::SealedPayload;
use measurement::engine::{self, Engine};

use crate::scratch::Scratch;
use crate::shared_resources::SharedResources;
use crate::tcp::{MakeSource, Source};

/// A [`Source`] that sends a memory file by sendfile(2). Its pages never
/// change, since the kernel may hold them after the call. All streams of a test can share it.
#[derive(Clone, Debug)]
pub struct SendfileSource(Arc<SealedPayload>);

impl SendfileSource {
    /// A source that sends `payload` over and over.
    pub const fn new(payload: Arc<SealedPayload>) -> Self {
        Self(payload)
    }
}

impl MakeSource for SendfileSource {
    fn make(resources: &SharedResources, _: &TcpStream) -> io::Result<Self> {
        resources.sealed().map(Self::new)
    }
}

impl Source for SendfileSource {
    const ENGINE: &'static Engine = &engine::SENDFILE;

    fn offer(&mut self, most: usize, _: &Scratch) -> io::Result<usize> {
        Ok(most.min(self.0.length()))
    }

    fn send(&mut self, to: &TcpStream, count: usize, _: &Scratch) -> io::Result<usize> {
        self.0.send(to, count)
    }
}
