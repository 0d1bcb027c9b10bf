//! Receiving datagrams with one multishot request, each with its time of arrival.

use std::io;
use std::net::UdpSocket;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};

use io_uring::{IoUring, cqueue, opcode, types};

use super::buffers::{BufferRing, GROUP, withdraw};
use super::{next, result, ring, submit};
use crate::udp::Received;

/// An io_uring(7) that receives datagrams into provided buffers (`IORING_RECV_MULTISHOT` of
/// recvmsg(2), Linux 6.0).
pub struct DatagramReceiveRing {
    ring: IoUring,
    buffers: BufferRing,
    /// The message header of the request; the kernel reads it while the request is active.
    header: Box<libc::msghdr>,
    /// Buffers with received datagrams and their lengths, until the next call.
    came: Vec<(u16, usize)>,
    /// The error that ended the request, if datagrams came before it.
    failure: Option<io::Error>,
    /// The request is active.
    is_armed: bool,
}

// SAFETY: the header points to nothing.
unsafe impl Send for DatagramReceiveRing {}

impl DatagramReceiveRing {
    /// A ring for datagrams of up to `length` bytes.
    ///
    /// # Errors
    /// `EPERM` if io_uring is forbidden (`kernel.io_uring_disabled`, seccomp(2)), `EINVAL`
    /// before Linux 5.19, `ENOMEM` if the limit of locked memory is reached.
    pub fn new(length: usize) -> io::Result<Self> {
        let each = (BEFORE_CONTROL + CONTROL + length.max(1)).next_multiple_of(CACHE_LINE);
        let count = (ROOM / each).clamp(FEWEST, MOST);
        let count = 1_u16 << count.ilog2();
        let ring = ring(1, 2 * u32::from(count))?;
        let buffers = BufferRing::register(&ring, count, each)?;
        let mut header = Box::new(crate::udp::empty_header());
        header.msg_controllen = CONTROL as _;
        let came = Vec::with_capacity(count.into());
        Ok(Self { ring, buffers, header, came, failure: None, is_armed: false })
    }

    /// Reads the completions of received datagrams; returns their number, at least one. The
    /// datagrams stay in their buffers until the next call.
    ///
    /// # Errors
    /// `WouldBlock` if there is none; the errors of the socket, e.g. `ECONNREFUSED`.
    pub fn receive(&mut self, socket: &UdpSocket) -> io::Result<usize> {
        self.came.drain(..).for_each(|(number, _)| self.buffers.give(number));
        loop {
            self.reap();
            if !self.came.is_empty() {
                return Ok(self.came.len());
            }
            if let Some(error) = self.failure.take() {
                return Err(error);
            }
            if self.is_armed {
                return Err(io::ErrorKind::WouldBlock.into());
            }
            self.arm(socket)?;
        }
    }

    fn reap(&mut self) {
        while self.came.len() < self.came.capacity() {
            let entry = match next(&mut self.ring) {
                Ok(Some(entry)) => entry,
                Ok(None) => return,
                Err(error) => return self.failure = Some(error),
            };
            self.is_armed = cqueue::more(entry.flags());
            match (cqueue::buffer_select(entry.flags()), result(&entry)) {
                (Some(number), Ok(count)) => self.came.push((number, count)),
                (Some(number), Err(_)) => self.buffers.give(number),
                // All buffers were full: it has to be asked anew.
                (None, Err(error)) if crate::lacks_buffers(&error) => {}
                (None, Err(error)) => self.failure = Some(error),
                (None, Ok(_)) => {}
            }
        }
    }

    /// Submits the receive request for `socket`.
    fn arm(&mut self, socket: &UdpSocket) -> io::Result<()> {
        let fd = types::Fd(socket.as_raw_fd());
        let entry = opcode::RecvMsgMulti::new(fd, &raw const *self.header, GROUP).build();
        // SAFETY: header and buffers live as long as the ring.
        unsafe { submit(&mut self.ring, &entry)? };
        self.is_armed = true;
        Ok(())
    }

    /// The message at `index`, counted from 0, that the last call of [`Self::receive`] received.
    ///
    /// # Panics
    /// If fewer came.
    pub fn get(&self, index: usize) -> Received<'_> {
        let (number, count) = self.came[index];
        let bytes = self.buffers.bytes(number, count);
        let Ok(message) = types::RecvMsgOut::parse(bytes, &self.header) else {
            return Received { payload: &[], segment: None, arrival: None };
        };
        // The payload comes last.
        let (_, payload) = bytes.split_at(bytes.len() - message.payload_data().len());
        let control = message.control_data();
        let mut header = crate::udp::empty_header();
        // Nothing is written there.
        header.msg_control = control.as_ptr().cast_mut().cast();
        header.msg_controllen = control.len() as _;
        // SAFETY: the kernel wrote these control messages, and the buffers are borrowed; it put
        // them behind 16 bytes, so that they are aligned.
        unsafe { Received::described(payload, &header) }
    }
}

impl AsFd for DatagramReceiveRing {
    /// Readable when a completion is there.
    fn as_fd(&self) -> BorrowedFd<'_> {
        // SAFETY: the ring lives as long as the borrow.
        unsafe { BorrowedFd::borrow_raw(self.ring.as_raw_fd()) }
    }
}

impl Drop for DatagramReceiveRing {
    fn drop(&mut self) {
        // What is received meanwhile goes to the buffers, which are still there.
        if self.is_armed {
            _ = self.ring.submitter().register_sync_cancel(None, types::CancelBuilder::any());
        }
        withdraw(&self.ring);
    }
}

/// Size of `struct io_uring_recvmsg_out` (linux/io_uring.h), which precedes control
/// messages and payload.
const BEFORE_CONTROL: usize = 16;
/// Room for a time stamp and a GRO length.
const CONTROL: usize = 128;
const CACHE_LINE: usize = 64;
/// Bytes of all buffers: about the share of a second-level cache that one stream may fill.
const ROOM: usize = 256 * 1024;
const FEWEST: usize = 8;
const MOST: usize = 256;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::udp::{bind, enable_timestamps};

    #[test]
    fn datagrams_come_with_their_times_and_in_order() {
        let local = "127.0.0.1:0".parse().expect("an address");
        let [from, to] = [(); 2].map(|()| bind(local, false, false).expect("bound"));
        from.connect(to.local_addr().expect("bound")).expect("connected");
        enable_timestamps(&to).expect("stamps");
        let mut ring = DatagramReceiveRing::new(100).expect("made");
        let nothing = ring.receive(&to).expect_err("nothing came");
        assert_eq!(nothing.kind(), io::ErrorKind::WouldBlock);
        let mut next = 0;
        // More than there are buffers.
        while next < 1_000_u32 {
            from.send(&next.to_be_bytes()).expect("sent");
            let count = loop {
                match ring.receive(&to) {
                    Ok(count) => break count,
                    Err(error) => assert_eq!(error.kind(), io::ErrorKind::WouldBlock),
                }
                ring.ring.submit_and_wait(1).expect("waits");
            };
            for index in 0..count {
                let received = ring.get(index);
                assert_eq!(received.payload, next.to_be_bytes());
                assert!(received.arrival.is_some() && received.segment.is_none());
                next += 1;
            }
        }
    }
}
