//! Sending a batch of datagrams with one system call.

use std::io;
use std::net::UdpSocket;
use std::os::fd::AsRawFd;

use io_uring::{IoUring, opcode, squeue, types};

use super::{result, ring};
use crate::udp::SendBatch;

/// An io_uring(7) that sends batches of datagrams. No datagram is in flight between two calls of
/// [`Self::send`].
pub struct DatagramSendRing {
    ring: IoUring,
    most: usize,
}

impl DatagramSendRing {
    /// A ring for batches of up to `most` datagrams.
    ///
    /// # Errors
    /// `EPERM` if io_uring is forbidden (`kernel.io_uring_disabled`, seccomp(2)), `ENOMEM`
    /// if the limit of locked memory is reached.
    pub fn new(most: usize) -> io::Result<Self> {
        let most = most.clamp(1, 4096);
        let requests = u32::try_from(most).unwrap_or(u32::MAX);
        Ok(Self { ring: ring(requests, 2 * requests)?, most })
    }

    /// Sends the first `count` datagrams of the batch over a connected socket, in order and
    /// without waiting for room; returns how many were sent.
    ///
    /// # Errors
    /// The error of the first datagram, e.g. `EAGAIN` or `ECONNREFUSED`.
    pub fn send(
        &mut self,
        batch: &mut SendBatch,
        socket: &UdpSocket,
        count: usize,
    ) -> io::Result<usize> {
        let count = count.min(self.most);
        self.put(batch, socket, count)?;
        let (mut sent, mut left, mut first_error) = (0, count, None);
        while left > 0 {
            match self.ring.submit_and_wait(left) {
                Err(error) if error.kind() != io::ErrorKind::Interrupted => {
                    // What has begun does not wait; it ends before the batch can change.
                    _ = self
                        .ring
                        .submitter()
                        .register_sync_cancel(None, types::CancelBuilder::any());
                    return Err(error);
                }
                _ => {}
            }
            for entry in self.ring.completion() {
                left -= 1;
                match result(&entry) {
                    Ok(_) => sent += 1,
                    // Those behind it were given up (`ECANCELED`), so that none overtakes it.
                    Err(error) => first_error = first_error.or(Some(error)),
                }
            }
        }
        first_error.filter(|_| sent == 0).map_or(Ok(sent), Err)
    }

    /// Submits them as a chain of linked requests: each starts when the one before it is
    /// complete.
    fn put(&mut self, batch: &mut SendBatch, socket: &UdpSocket, count: usize) -> io::Result<()> {
        let fd = types::Fd(socket.as_raw_fd());
        let mut entries = self.ring.submission();
        for index in 0..count {
            let payload = batch.payload_mut(index);
            let length = u32::try_from(payload.len()).unwrap_or(u32::MAX);
            let entry = opcode::Send::new(fd, payload.as_ptr(), length)
                .flags(libc::MSG_DONTWAIT | libc::MSG_NOSIGNAL)
                .build();
            let is_last = index + 1 == count;
            let entry = if is_last { entry } else { entry.flags(squeue::Flags::IO_LINK) };
            // SAFETY: the payload outlives the call of `send`, which returns when the results
            // of all have come.
            unsafe { entries.push(&entry) }
                .map_err(|_| io::Error::from(io::ErrorKind::StorageFull))?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::udp::{ReceiveBatch, bind};

    #[test]
    fn a_batch_goes_in_order() {
        let local = "127.0.0.1:0".parse().expect("an address");
        let [from, to] = [(); 2].map(|()| bind(local, false, false).expect("bound"));
        from.connect(to.local_addr().expect("bound")).expect("connected");
        let mut batch = SendBatch::new(20, 100, b"x");
        (0..20).for_each(|index| batch.payload_mut(index.into())[0] = index);
        let mut ring = DatagramSendRing::new(16).expect("made");
        assert_eq!(ring.send(&mut batch, &from, 20).expect("sent"), 16);
        assert_eq!(ring.send(&mut batch, &from, 3).expect("sent"), 3);
        let mut room = ReceiveBatch::new(32, 200);
        assert_eq!(room.receive(&to).expect("received"), 19);
        let numbers = (0..19).map(|index| room.get(index).payload[0]);
        assert!(numbers.eq((0..16).chain(0..3)));
    }

    #[test]
    fn an_error_of_the_first_one_is_told() {
        let local = "127.0.0.1:0".parse().expect("an address");
        let from = bind(local, false, false).expect("bound");
        let mut ring = DatagramSendRing::new(4).expect("made");
        let error = ring.send(&mut SendBatch::new(2, 10, b"x"), &from, 2).expect_err("no peer");
        assert_eq!(error.raw_os_error(), Some(libc::EDESTADDRREQ));
    }
}
