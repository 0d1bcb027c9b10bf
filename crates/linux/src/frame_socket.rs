//! Raw frames of an interface in batches (packet(7)): sent past the queueing discipline, received
//! many at a call. It is what remains where AF_XDP is refused; it needs no more than packet(7).

use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};

use socket2::Socket;

use crate::memory::Region;
use crate::{option, packet_family};

/// A socket of AF_PACKET with memory for a batch of frames.
#[derive(Debug)]
pub struct FrameSocket {
    socket: Socket,
    memory: Region,
    chunk: usize,
    headers: Box<[libc::mmsghdr]>,
    vectors: Box<[libc::iovec]>,
    /// Frames that were queued but not sent: from the first of them.
    queued: std::ops::Range<usize>,
    /// Whether the kernel had no room for the next frame.
    refused: u64,
}

// SAFETY: the pointers of headers and vectors are into memory that this value owns.
unsafe impl Send for FrameSocket {}

/// Counters of a socket since they were last read (`PACKET_STATISTICS`, packet(7)).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FrameStatistics {
    /// Frames that arrived at the socket, those that were dropped included.
    pub arrived: u32,
    /// Frames that were dropped since its buffer was full.
    pub dropped: u32,
}

impl FrameSocket {
    /// A socket that sends `batch` frames of at most `longest` bytes at a call
    /// (`PACKET_QDISC_BYPASS`), in the network namespace of the calling thread.
    ///
    /// # Errors
    /// `EPERM` without `CAP_NET_RAW`, `ENODEV` if there is no such interface, `ENOPROTOOPT`
    /// before Linux 3.14.
    pub fn sender(interface: u32, batch: usize, longest: usize) -> io::Result<Self> {
        let socket = packet_family::open()?;
        packet_family::turn_on(&socket, libc::PACKET_QDISC_BYPASS)?;
        packet_family::set_send_buffer(&socket, BUFFER)?;
        packet_family::bind(&socket, interface, 0)?;
        Self::with_memory(socket, batch, longest)
    }

    /// A socket that receives `batch` frames of at most `longest` bytes at a call. Frames that this
    /// host sends are left out.
    ///
    /// # Errors
    /// `EPERM` without `CAP_NET_RAW`, `ENODEV` if there is no such interface, `ENOPROTOOPT`
    /// before Linux 4.20.
    pub fn receiver(interface: u32, batch: usize, longest: usize) -> io::Result<Self> {
        let socket = packet_family::open()?;
        packet_family::turn_on(&socket, packet_family::PACKET_IGNORE_OUTGOING)?;
        packet_family::set_receive_buffer(&socket, BUFFER)?;
        packet_family::bind(&socket, interface, packet_family::ALL_PROTOCOLS)?;
        Self::with_memory(socket, batch, longest)
    }

    fn with_memory(socket: Socket, batch: usize, longest: usize) -> io::Result<Self> {
        let chunk = longest.next_multiple_of(64);
        let mut memory = Region::new(chunk * batch)?;
        let start = memory.as_mut_ptr();
        let vector = |number: usize| libc::iovec {
            iov_base: start.wrapping_add(number * chunk).cast(),
            iov_len: chunk,
        };
        let mut vectors: Box<[_]> = (0..batch).map(vector).collect();
        let header = |vector: &mut libc::iovec| {
            // SAFETY: the structure is made of numbers and pointers, of which zero is one.
            let mut header: libc::mmsghdr = unsafe { MaybeUninit::zeroed().assume_init() };
            header.msg_hdr.msg_iov = vector;
            header.msg_hdr.msg_iovlen = 1;
            header
        };
        let headers = vectors.iter_mut().map(header).collect();
        Ok(Self { socket, memory, chunk, headers, vectors, queued: 0..0, refused: 0 })
    }

    /// The number of frames of a batch.
    pub fn batch(&self) -> usize {
        self.headers.len()
    }

    /// Writes the memory of each frame before the first is sent.
    pub fn prepare(&mut self, mut write: impl FnMut(usize, &mut [u8])) {
        for (number, frame) in self.memory.chunks_exact_mut(self.chunk).enumerate() {
            write(number, frame);
        }
    }

    /// Queues up to `most` frames, if those of the last batch are sent: `write` gets the number of
    /// each and its memory, and returns its length. Returns how many were queued.
    pub fn queue_frames(
        &mut self,
        most: usize,
        mut write: impl FnMut(usize, &mut [u8]) -> usize,
    ) -> usize {
        if !self.queued.is_empty() {
            return 0;
        }
        let count = most.min(self.batch());
        let frames = self.memory.chunks_exact_mut(self.chunk).enumerate().take(count);
        for ((number, frame), vector) in frames.zip(&mut self.vectors) {
            vector.iov_len = write(number, frame).min(self.chunk);
        }
        self.queued = 0..count;
        count
    }

    /// Sends what is queued, or the first of it. Returns whether more is left.
    ///
    /// # Errors
    /// `ENETDOWN` if the interface is down, `EMSGSIZE` if a frame is longer than its MTU allows
    /// (sendmmsg(2)).
    pub fn kick(&mut self) -> io::Result<bool> {
        if self.queued.is_empty() {
            return Ok(false);
        }
        let left = &mut self.headers[self.queued.clone()];
        let length = libc::c_uint::try_from(left.len()).unwrap_or(libc::c_uint::MAX);
        // SAFETY: the headers point to vectors, and these to memory, that this value owns.
        let done = unsafe {
            let (fd, flags) = (self.socket.as_raw_fd(), libc::MSG_DONTWAIT);
            libc::syscall(libc::SYS_sendmmsg, fd, left.as_mut_ptr(), length, flags)
        };
        if let Ok(done) = usize::try_from(done) {
            self.queued.start += done;
            return Ok(!self.queued.is_empty());
        }
        let error = io::Error::last_os_error();
        match error.raw_os_error() {
            Some(libc::EAGAIN | libc::ENOBUFS | libc::EINTR) => {
                self.refused += 1;
                Ok(true)
            }
            _ => Err(error),
        }
    }

    /// Frames that were queued and not sent.
    pub fn outstanding(&self) -> usize {
        self.queued.len()
    }

    /// How often the kernel had no room for a frame; it was sent later.
    pub const fn refused(&self) -> u64 {
        self.refused
    }

    /// Receives the frames that are waiting, a batch at most, and returns how many they were. A
    /// frame that is longer than the memory is cut off.
    ///
    /// # Errors
    /// `ENETDOWN` if the interface is down (recvmmsg(2)).
    pub fn receive(&mut self, mut take: impl FnMut(&[u8])) -> io::Result<usize> {
        let length = libc::c_uint::try_from(self.batch()).unwrap_or(libc::c_uint::MAX);
        // SAFETY: as in `kick`.
        let done = unsafe {
            let (fd, flags) = (self.socket.as_raw_fd(), libc::MSG_DONTWAIT);
            let nothing = std::ptr::null_mut::<libc::timespec>();
            libc::syscall(libc::SYS_recvmmsg, fd, self.headers.as_mut_ptr(), length, flags, nothing)
        };
        let Ok(done) = usize::try_from(done) else {
            let error = io::Error::last_os_error();
            return match error.raw_os_error() {
                Some(libc::EAGAIN | libc::EINTR) => Ok(0),
                _ => Err(error),
            };
        };
        for (frame, header) in self.memory.chunks_exact(self.chunk).zip(&self.headers).take(done) {
            take(&frame[..(header.msg_len as usize).min(frame.len())]);
        }
        Ok(done)
    }

    /// Reads the counters and resets them.
    ///
    /// # Errors
    /// Those of getsockopt(2); none is expected.
    pub fn take_statistics(&self) -> io::Result<FrameStatistics> {
        // SAFETY: they are numbers.
        let read =
            unsafe { option::get::<[u32; 2]>(self, libc::SOL_PACKET, libc::PACKET_STATISTICS) };
        read.map(|([arrived, dropped], _)| FrameStatistics { arrived, dropped })
    }
}

impl AsFd for FrameSocket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

const BUFFER: libc::c_int = 16 << 20;
