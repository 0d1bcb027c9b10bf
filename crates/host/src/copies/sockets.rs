//! Both ends of a TCP connection over the loopback interface, in one thread: the time of the calls
//! that send, and of those that receive.

use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::time::Duration;

use linux::payload::SealedPayload;
use linux::tcp::{Received, receive_repeatedly};
use measurement::copies::KernelPath;

use super::stopwatch::{Work, timed};

pub(super) struct Connection {
    near: TcpStream,
    far: TcpStream,
    payload: SealedPayload,
}

impl Connection {
    pub(super) fn new() -> io::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        let near = TcpStream::connect(listener.local_addr()?)?;
        let far = listener.accept()?.0;
        near.set_nodelay(true)?;
        near.set_nonblocking(true)?;
        far.set_nonblocking(true)?;
        Ok(Self { near, far, payload: SealedPayload::new(&vec![1; WINDOW])? })
    }

    /// Sends some calls of the buffer's length, receives them, and returns the time of those that
    /// `path` is about.
    pub(super) fn step(&mut self, path: KernelPath, buffer: &mut [u8]) -> io::Result<Work> {
        let (sent, sending) = self.send(path, buffer)?;
        let receiving = self.receive(path, buffer, sent)?;
        let is_sender = matches!(path, KernelPath::Send | KernelPath::Sendfile);
        Ok((sent, if is_sender { sending } else { receiving }))
    }

    fn send(&mut self, path: KernelPath, buffer: &[u8]) -> io::Result<Work> {
        let (mut sent, mut sending) = (0, Duration::ZERO);
        while sent + buffer.len() <= WINDOW {
            let (done, took) = timed(|| match path {
                KernelPath::Sendfile => self.payload.send(&self.near, buffer.len()),
                _ => self.near.write(buffer),
            });
            match done {
                Ok(done) => (sent, sending) = (sent + done, sending + took),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock && sent > 0 => break,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                Err(error) => return Err(error),
            }
        }
        Ok((sent, sending))
    }

    fn receive(&mut self, path: KernelPath, buffer: &mut [u8], all: usize) -> io::Result<Duration> {
        let (mut received, mut receiving) = (0, Duration::ZERO);
        while received < all {
            let room = &mut buffer[..];
            let (done, took) = timed(|| match path {
                KernelPath::ReceiveTruncated => {
                    let length = room.len();
                    receive_repeatedly(&self.far, room, length, Received::Dropped)
                }
                _ => self.far.read(room),
            });
            match done {
                Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
                Ok(done) => (received, receiving) = (received + done, receiving + took),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                Err(error) => return Err(error),
            }
        }
        Ok(receiving)
    }
}

/// Bytes on the way at most: TCP's window at first (RFC 9293).
const WINDOW: usize = 64 << 10;
