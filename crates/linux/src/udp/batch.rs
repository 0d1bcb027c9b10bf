//! Batches of datagrams: sendmmsg(2) and recvmmsg(2).

use std::io;
use std::mem::MaybeUninit;
use std::net::UdpSocket;
use std::os::fd::AsRawFd;
use std::time::Duration;

use super::offload::Pieces;
use super::{Control, empty_header, for_each_control};

/// Buffers of equal length, contiguous, with the headers that point to them. The pointers
/// are set once: nothing here grows or moves afterwards.
struct Slots {
    payload: Box<[u8]>,
    length: usize,
    /// The headers point to them.
    _vectors: Box<[libc::iovec]>,
    headers: Box<[libc::mmsghdr]>,
}

// SAFETY: the raw pointers lead only into the boxes that move along with them.
unsafe impl Send for Slots {}

impl Slots {
    fn new(count: usize, length: usize) -> Self {
        let mut payload = vec![0; count * length].into_boxed_slice();
        let mut vectors: Box<[_]> = payload
            .chunks_exact_mut(length)
            .map(|slot| libc::iovec { iov_base: slot.as_mut_ptr().cast(), iov_len: length })
            .collect();
        let headers = vectors
            .iter_mut()
            .map(|vector| {
                let mut header = empty_header();
                header.msg_iov = vector;
                header.msg_iovlen = 1;
                libc::mmsghdr { msg_hdr: header, msg_len: 0 }
            })
            .collect();
        Self { payload, length, _vectors: vectors, headers }
    }

    fn slot(&self, index: usize) -> &[u8] {
        &self.payload[index * self.length..][..self.length]
    }
}

/// Buffers for datagrams of one length that are sent with one call (sendmmsg(2)).
pub struct SendBatch {
    slots: Slots,
    /// What each slot is filled with when it is first used.
    pattern: Box<[u8]>,
    /// Slots that are filled.
    filled: usize,
    /// State for sending them with GSO.
    pub(super) pieces: Pieces,
}

impl SendBatch {
    /// Buffers for `count` datagrams of `length` bytes, both at least 1, each filled with `pattern`
    /// repeatedly, when it is first used.
    pub fn new(count: usize, length: usize, pattern: &[u8]) -> Self {
        let slots = Slots::new(count.max(1), length.max(1));
        let pieces = Pieces::new(slots.payload.len(), slots.length);
        Self { slots, pattern: pattern.into(), filled: 0, pieces }
    }

    /// Capacity of the batch in datagrams.
    pub const fn capacity(&self) -> usize {
        self.slots.headers.len()
    }

    /// Length of each datagram in bytes.
    pub const fn length(&self) -> usize {
        self.slots.length
    }

    /// The payload of each of the first `count` datagrams, to be written before a send.
    ///
    /// # Panics
    /// If `count` is above the capacity.
    #[inline]
    pub fn payloads_mut(&mut self, count: usize) -> impl Iterator<Item = &mut [u8]> {
        if count > self.filled {
            self.fill(count);
        }
        let Slots { payload, length, .. } = &mut self.slots;
        payload[..count * *length].chunks_exact_mut(*length)
    }

    /// The payload of the datagram at `index`, counted from 0, to be written before a send.
    ///
    /// # Panics
    /// If `index` is not below the capacity.
    pub fn payload_mut(&mut self, index: usize) -> &mut [u8] {
        if index >= self.filled {
            self.fill(index + 1);
        }
        &mut self.slots.payload[index * self.slots.length..][..self.slots.length]
    }

    /// Fills the first `count` slots, as far as they are not.
    #[cold]
    fn fill(&mut self, count: usize) {
        let Self { slots, pattern, filled, .. } = self;
        let (length, step) = (slots.length, pattern.len().max(1));
        for slot in slots.payload[*filled * length..count * length].chunks_exact_mut(length) {
            for part in slot.chunks_mut(step) {
                let (from, _) = pattern.split_at(part.len().min(pattern.len()));
                part[..from.len()].copy_from_slice(from);
            }
        }
        *filled = count;
    }

    /// The payload of the first `count` datagrams, which is contiguous, and the state for
    /// GSO.
    pub(super) fn in_pieces(&mut self, count: usize) -> (&mut [u8], &mut Pieces) {
        (&mut self.slots.payload[..count * self.slots.length], &mut self.pieces)
    }

    /// Sends the first `count` datagrams over a connected socket with sendmmsg(2); returns
    /// how many were sent.
    ///
    /// # Errors
    /// The error of the first datagram: `EAGAIN` or `ENOBUFS` if there is no room,
    /// `EMSGSIZE` if it is longer than the path takes, `ECONNREFUSED` if the peer's port is
    /// closed.
    ///
    /// # Panics
    /// If `count` is above the capacity.
    pub fn send(&mut self, socket: &UdpSocket, count: usize) -> io::Result<usize> {
        let headers = &mut self.slots.headers[..count];
        let wanted = u32::try_from(count).unwrap_or(u32::MAX);
        // SAFETY: pointer and count describe the headers, whose vectors describe
        // slots that live as long as they do.
        let sent = unsafe { libc::sendmmsg(socket.as_raw_fd(), headers.as_mut_ptr(), wanted, 0) };
        usize::try_from(sent).map_err(|_| io::Error::last_os_error())
    }

    /// Sends the first `count` datagrams over a connected socket with one sendmmsg(2), in
    /// as few GSO packets as possible; the kernel or the network card segments them.
    /// Returns how many datagrams were sent.
    ///
    /// # Errors
    /// The error of the first GSO packet: `EAGAIN` or `ENOBUFS` if there is no room,
    /// `EINVAL` if the datagrams are longer than the path takes.
    ///
    /// # Panics
    /// If `count` is above the capacity.
    pub fn send_gso(&mut self, socket: &UdpSocket, count: usize) -> io::Result<usize> {
        let length = self.length();
        let (bytes, pieces) = self.in_pieces(count);
        pieces.send(socket, bytes, length)
    }
}

/// Buffers for datagrams that are received with one call (recvmmsg(2)).
pub struct ReceiveBatch {
    slots: Slots,
    /// The headers point to it.
    control: Box<[ControlSpace]>,
}

// SAFETY: the raw pointers lead only into the boxes that move along with them.
unsafe impl Send for ReceiveBatch {}

/// Room for a time stamp and a GRO length, aligned as cmsg(3) requires.
#[repr(C, align(8))]
#[derive(Clone, Copy)]
struct ControlSpace([u8; CONTROL_LENGTH]);

const CONTROL_LENGTH: usize = 128;

/// A received datagram, or several that the kernel coalesced (GRO).
#[derive(Clone, Copy, Debug)]
pub struct Received<'batch> {
    /// The received bytes: at most the length of the buffer.
    pub payload: &'batch [u8],
    /// Length of each coalesced datagram except the last, which may be shorter; `None` for
    /// a single datagram.
    pub segment: Option<usize>,
    /// When the kernel received it, since the Unix epoch; `None` if the socket has no time
    /// stamps.
    pub arrival: Option<Duration>,
}

impl<'batch> Received<'batch> {
    /// Adds the control messages of `header` to `payload`.
    ///
    /// # Safety
    /// `header` was filled by the kernel, and its control buffer is alive.
    pub(crate) unsafe fn described(payload: &'batch [u8], header: &libc::msghdr) -> Self {
        let (mut arrival, mut segment) = (None, None);
        // SAFETY: by the caller's promise.
        unsafe {
            for_each_control(header, |control| match control {
                Control::Arrival(time) => arrival = Some(time),
                Control::Segment(length) => segment = usize::try_from(length).ok(),
                _ => {}
            });
        }
        Received { payload, segment, arrival }
    }

    /// The datagrams of a received message: several if the kernel coalesced them (GRO), else one,
    /// which may be empty.
    #[inline]
    pub fn datagrams(&self) -> impl Iterator<Item = &'batch [u8]> + use<'batch> {
        let length = self.segment.filter(|length| *length > 0).unwrap_or(usize::MAX);
        let mut rest = Some(self.payload);
        std::iter::from_fn(move || match rest?.split_at_checked(length) {
            Some((datagram, others)) if !others.is_empty() => {
                rest = Some(others);
                Some(datagram)
            }
            _ => rest.take(),
        })
    }
}

impl ReceiveBatch {
    /// Buffers for `count` datagrams of up to `length` bytes, both at least 1.
    pub fn new(count: usize, length: usize) -> Self {
        let mut slots = Slots::new(count.max(1), length.max(1));
        let mut control =
            vec![ControlSpace([0; CONTROL_LENGTH]); slots.headers.len()].into_boxed_slice();
        for (header, space) in slots.headers.iter_mut().zip(&mut control) {
            header.msg_hdr.msg_control = space.0.as_mut_ptr().cast();
        }
        Self { slots, control }
    }

    /// Capacity of the batch in messages.
    pub const fn capacity(&self) -> usize {
        self.slots.headers.len()
    }

    /// Receives as many datagrams as are waiting and fit, with recvmmsg(2), without
    /// blocking; returns how many.
    ///
    /// # Errors
    /// `EAGAIN` if none is waiting, `ECONNREFUSED` if the peer's port is closed.
    pub fn receive(&mut self, socket: &UdpSocket) -> io::Result<usize> {
        debug_assert_eq!(self.control.len(), self.slots.headers.len());
        for header in &mut self.slots.headers {
            header.msg_hdr.msg_controllen = CONTROL_LENGTH as _;
        }
        let room = u32::try_from(self.slots.headers.len()).unwrap_or(u32::MAX);
        // SAFETY: pointer and count describe the headers; their vectors and control
        // pointers describe memory that lives as long as they do.
        let count = unsafe {
            libc::recvmmsg(
                socket.as_raw_fd(),
                self.slots.headers.as_mut_ptr(),
                room,
                libc::MSG_DONTWAIT as _,
                std::ptr::null_mut(),
            )
        };
        usize::try_from(count).map_err(|_| io::Error::last_os_error())
    }

    /// The message at `index`, counted from 0, that the last call of [`Self::receive`] received.
    ///
    /// # Panics
    /// If `index` is not below the capacity.
    pub fn get(&self, index: usize) -> Received<'_> {
        let header = &self.slots.headers[index];
        let length = (header.msg_len as usize).min(self.slots.length);
        // SAFETY: recvmmsg(2) filled this header, or it still has the empty control
        // list that it was made with; the control space lives in `self`.
        unsafe { Received::described(&self.slots.slot(index)[..length], &header.msg_hdr) }
    }
}

// `MaybeUninit` zeroes in `empty_header` must mean "no control messages".
const _: () = assert!(size_of::<MaybeUninit<libc::msghdr>>() == size_of::<libc::msghdr>());

#[cfg(test)]
mod tests {
    use super::*;
    use crate::udp::{bind, enable_timestamps};

    #[test]
    fn a_batch_arrives_in_order_and_stamped() {
        let local = "127.0.0.1:0".parse().expect("an address");
        let (from, to) =
            (bind(local, false, false).expect("bound"), bind(local, false, false).expect("bound"));
        enable_timestamps(&to).expect("stamps");
        from.connect(to.local_addr().expect("bound")).expect("connected");
        let mut out = SendBatch::new(4, 6, b"abc");
        for index in 0..3 {
            out.payload_mut(index)[0] = b'0' + u8::try_from(index).expect("small");
        }
        assert_eq!(out.send(&from, 3).expect("sent"), 3);
        let mut batch = ReceiveBatch::new(8, 32);
        assert_eq!(batch.receive(&to).expect("received"), 3);
        assert_eq!(batch.get(2).payload, b"2bcabc");
        assert!(batch.get(0).arrival.is_some());
        let error = batch.receive(&to).expect_err("nothing is left");
        assert_eq!(error.kind(), io::ErrorKind::WouldBlock);
    }

    #[test]
    fn a_datagram_longer_than_the_slot_is_cut() {
        let local = "127.0.0.1:0".parse().expect("an address");
        let (from, to) =
            (bind(local, false, false).expect("bound"), bind(local, false, false).expect("bound"));
        from.send_to(&[1; 100], to.local_addr().expect("bound")).expect("sent");
        let mut batch = ReceiveBatch::new(1, 10);
        assert_eq!(batch.receive(&to).expect("received"), 1);
        assert_eq!(batch.get(0).payload, [1; 10]);
    }
}
