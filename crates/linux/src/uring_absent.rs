//! Replacement for io_uring(7) on machines without bindings: no ring can be created.

#[path = "uring/sent.rs"]
mod sent;

pub use sent::{SendCompletion, SendMode};

use std::convert::Infallible;
use std::io;
use std::net::{TcpStream, UdpSocket};
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;

use crate::memory::Region;
use crate::udp::{Received, SendBatch};

/// Stub of the ring for sending on TCP, which cannot be created on this architecture.
pub struct SendRing(Infallible);

/// Stub of the ring for receiving on TCP, which cannot be created on this architecture.
pub struct ReceiveRing(Infallible);

/// Stub of the ring for sending datagrams, which cannot be created on this architecture.
pub struct DatagramSendRing(Infallible);

/// Stub of the ring for receiving datagrams, which cannot be created on this architecture.
pub struct DatagramReceiveRing(Infallible);

impl SendRing {
    /// Always fails.
    ///
    /// # Errors
    /// `Unsupported`: io_uring(7) is not available on this architecture.
    pub fn new(_: Arc<Region>, _: SendMode) -> io::Result<Self> {
        Err(io::ErrorKind::Unsupported.into())
    }

    /// Never called: [`Self::new`] fails on this architecture, which has no io_uring(7).
    ///
    /// # Errors
    /// None, since it cannot be called.
    pub fn probe(&mut self, _: &TcpStream) -> io::Result<()> {
        match self.0 {}
    }

    /// Never called: [`Self::new`] fails on this architecture, which has no io_uring(7).
    pub const fn in_flight(&self) -> u32 {
        match self.0 {}
    }

    /// Never called: [`Self::new`] fails on this architecture, which has no io_uring(7).
    ///
    /// # Errors
    /// None, since it cannot be called.
    pub fn send(&mut self, _: &TcpStream, _: usize) -> io::Result<()> {
        match self.0 {}
    }

    /// Never called: [`Self::new`] fails on this architecture, which has no io_uring(7).
    ///
    /// # Errors
    /// None, since it cannot be called.
    pub fn send_copying(&mut self, _: &TcpStream, _: usize) -> io::Result<()> {
        match self.0 {}
    }

    /// Never called: [`Self::new`] fails on this architecture, which has no io_uring(7).
    ///
    /// # Errors
    /// None, since it cannot be called.
    pub fn reap(&mut self) -> io::Result<Option<SendCompletion>> {
        match self.0 {}
    }

    /// Never called: [`Self::new`] fails on this architecture, which has no io_uring(7).
    ///
    /// # Errors
    /// None, since it cannot be called.
    pub fn cancel(&mut self) -> io::Result<()> {
        match self.0 {}
    }
}

impl AsFd for SendRing {
    fn as_fd(&self) -> BorrowedFd<'_> {
        match self.0 {}
    }
}

impl ReceiveRing {
    /// Always fails.
    ///
    /// # Errors
    /// `Unsupported`: io_uring(7) is not available on this architecture.
    pub fn new(_: usize) -> io::Result<Self> {
        Err(io::ErrorKind::Unsupported.into())
    }

    /// Never called: [`Self::new`] fails on this architecture, which has no io_uring(7).
    ///
    /// # Errors
    /// None, since it cannot be called.
    pub fn arm(&mut self, _: &TcpStream) -> io::Result<()> {
        match self.0 {}
    }

    /// Never called: [`Self::new`] fails on this architecture, which has no io_uring(7).
    ///
    /// # Errors
    /// None, since it cannot be called.
    pub fn reap(&mut self) -> io::Result<Option<usize>> {
        match self.0 {}
    }
}

impl AsFd for ReceiveRing {
    fn as_fd(&self) -> BorrowedFd<'_> {
        match self.0 {}
    }
}

impl DatagramSendRing {
    /// Always fails.
    ///
    /// # Errors
    /// `Unsupported`: io_uring(7) is not available on this architecture.
    pub fn new(_: usize) -> io::Result<Self> {
        Err(io::ErrorKind::Unsupported.into())
    }

    /// Never called: [`Self::new`] fails on this architecture, which has no io_uring(7).
    ///
    /// # Errors
    /// None, since it cannot be called.
    pub fn send(&mut self, _: &mut SendBatch, _: &UdpSocket, _: usize) -> io::Result<usize> {
        match self.0 {}
    }
}

impl DatagramReceiveRing {
    /// Always fails.
    ///
    /// # Errors
    /// `Unsupported`: io_uring(7) is not available on this architecture.
    pub fn new(_: usize) -> io::Result<Self> {
        Err(io::ErrorKind::Unsupported.into())
    }

    /// Never called: [`Self::new`] fails on this architecture, which has no io_uring(7).
    ///
    /// # Errors
    /// None, since it cannot be called.
    pub fn receive(&mut self, _: &UdpSocket) -> io::Result<usize> {
        match self.0 {}
    }

    /// Never called: [`Self::new`] fails on this architecture, which has no io_uring(7).
    pub const fn get(&self, _: usize) -> Received<'_> {
        match self.0 {}
    }
}

impl AsFd for DatagramReceiveRing {
    fn as_fd(&self) -> BorrowedFd<'_> {
        match self.0 {}
    }
}
