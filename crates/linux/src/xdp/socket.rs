//! A socket of AF_XDP with memory of its own for frames, bound to one queue of an interface.

use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};
use std::ptr::NonNull;
use std::thread;
use std::time::Duration;

use socket2::{Domain, Socket, Type};

use super::ring::Ring;
use crate::memory::Region;
use crate::option;

/// How the kernel moves frames between the socket's memory and the device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Binding {
    /// By a copy (`XDP_COPY`), which every device can do.
    Copy,
    /// The device reads and writes the memory (`XDP_ZEROCOPY`), if its driver can.
    ZeroCopy,
}

/// Sizes of a socket of AF_XDP.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SocketShape {
    /// Frames that can wait to be sent: a power of two; 0: it does not send.
    pub send: u32,
    /// Frames that can wait to be read: a power of two; 0: it does not receive.
    pub receive: u32,
    /// The longest frame in bytes, at most [`XdpSocket::LONGEST_FRAME`].
    pub frame_bytes: usize,
}

/// Counters of a socket of AF_XDP (`XDP_STATISTICS`). Before Linux 5.9 the last three are 0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct XdpStatistics {
    /// Received frames that were dropped for other reasons than a full ring.
    pub receive_dropped: u64,
    /// Received descriptors that were invalid.
    pub receive_invalid: u64,
    /// Descriptors to be sent that were invalid.
    pub send_invalid: u64,
    /// Received frames that were dropped since the ring was full.
    pub receive_ring_full: u64,
    /// How often a frame came while no memory for it was in the fill ring.
    pub fill_ring_empty: u64,
    /// How often the kernel found nothing to send.
    pub send_ring_empty: u64,
}

/// A socket of AF_XDP, bound to a queue of an interface.
#[derive(Debug)]
pub struct XdpSocket {
    socket: Socket,
    queue: u32,
    binding: Binding,
    /// The memory of the frames: those to be sent first. The rings refer to it, so that it has to
    /// outlive the socket.
    memory: Region,
    start: NonNull<u8>,
    chunk: usize,
    sent: Option<Sending>,
    received: Option<Receiving>,
}

// SAFETY: the pointer is into the memory that this value owns.
unsafe impl Send for XdpSocket {}

#[derive(Debug)]
struct Sending {
    ring: Ring<libc::xdp_desc>,
    completion: Ring<u64>,
    /// Numbers of the frames that are free.
    free: Vec<u32>,
    count: u32,
}

#[derive(Debug)]
struct Receiving {
    ring: Ring<libc::xdp_desc>,
    fill: Ring<u64>,
}

impl XdpSocket {
    /// The longest frame in bytes: a page, less the room that the kernel keeps before a frame that
    /// it receives (`XDP_PACKET_HEADROOM`).
    pub const LONGEST_FRAME: usize = 4096 - 256;

    /// Opens a socket at a queue of an interface, in the network namespace of the calling thread.
    ///
    /// # Errors
    /// `EPERM` without `CAP_NET_RAW`; `EAFNOSUPPORT` without AF_XDP; `EOPNOTSUPP` if the driver
    /// cannot bind so; `EINVAL` if there is no such queue; `EBUSY` if the queue is taken; `ENOBUFS`
    /// if the limit of locked memory is reached.
    pub fn open(
        interface: u32,
        queue: u32,
        binding: Binding,
        shape: &SocketShape,
    ) -> io::Result<Self> {
        let socket = Socket::new(Domain::from(libc::AF_XDP), Type::RAW.cloexec(), None)?;
        let chunk = if shape.frame_bytes <= 2048 - 256 { 2048 } else { 4096 };
        let frames = (shape.send + shape.receive) as usize;
        let mut memory = Region::new(frames * chunk)?;
        let start = NonNull::from(&mut *memory).cast();
        register(&socket, &mut memory, chunk)?;
        // The kernel wants both rings of the memory, whichever are used.
        let fill = shape.receive.max(1);
        let completion = shape.send.max(1);
        set_ring(&socket, libc::XDP_UMEM_FILL_RING, fill)?;
        set_ring(&socket, libc::XDP_UMEM_COMPLETION_RING, completion)?;
        if shape.receive > 0 {
            set_ring(&socket, libc::XDP_RX_RING, shape.receive)?;
        }
        if shape.send > 0 {
            set_ring(&socket, libc::XDP_TX_RING, shape.send)?;
        }
        let offsets = offsets(&socket)?;
        let fd = socket.as_fd();
        let sent = if shape.send > 0 {
            Some(Sending {
                ring: Ring::map(fd, shape.send, XDP_PGOFF_TX_RING, &offsets.tx)?,
                completion: Ring::map(fd, completion, XDP_UMEM_PGOFF_COMPLETION_RING, &offsets.cr)?,
                free: (0..shape.send).rev().collect(),
                count: shape.send,
            })
        } else {
            None
        };
        let received = if shape.receive > 0 {
            let mut fill = Ring::map(fd, fill, XDP_UMEM_PGOFF_FILL_RING, &offsets.fr)?;
            for number in 0..shape.receive {
                fill.write(number, u64::from(shape.send + number) * chunk as u64);
            }
            fill.produce(shape.receive);
            Some(Receiving {
                ring: Ring::map(fd, shape.receive, XDP_PGOFF_RX_RING, &offsets.rx)?,
                fill,
            })
        } else {
            None
        };
        bind(&socket, interface, queue, binding)?;
        Ok(Self { socket, queue, binding, memory, start, chunk, sent, received })
    }

    /// The number of the queue.
    pub const fn queue(&self) -> u32 {
        self.queue
    }

    /// How it is bound.
    pub const fn binding(&self) -> Binding {
        self.binding
    }

    /// The number of frames that can wait to be sent.
    pub fn send_slots(&self) -> usize {
        self.sent.as_ref().map_or(0, |sent| sent.count as usize)
    }

    /// Writes each frame that can be sent, before any is: `write` gets its number and its memory.
    pub fn prepare(&mut self, mut write: impl FnMut(usize, &mut [u8])) {
        for number in 0..self.send_slots() {
            // SAFETY: nothing was sent, so that the frame is ours; it lies in the memory.
            let frame = unsafe {
                let at = self.start.as_ptr().add(number * self.chunk);
                std::slice::from_raw_parts_mut(at, self.chunk)
            };
            write(number, frame);
        }
    }

    /// Queues up to `most` frames: `write` gets the number of each and its memory, as it was left
    /// when it was sent last, and returns its length. The kernel sends them after [`Self::kick`].
    /// Returns how many were queued.
    pub fn queue_frames(
        &mut self,
        most: usize,
        mut write: impl FnMut(usize, &mut [u8]) -> usize,
    ) -> usize {
        let Some(sent) = &mut self.sent else { return 0 };
        // Where another CPU completes frames, each look takes lines from it that it writes.
        if sent.free.len() < most {
            reclaim(sent, self.chunk);
        }
        let most = u32::try_from(most.min(sent.free.len())).unwrap_or(u32::MAX);
        let room = sent.ring.room(most);
        for ahead in 0..room {
            let Some(number) = sent.free.pop() else { break };
            let address = number as usize * self.chunk;
            // SAFETY: the frame is free, so that neither the kernel nor anyone else uses it; it lies
            // in the memory.
            let frame = unsafe {
                std::slice::from_raw_parts_mut(self.start.as_ptr().add(address), self.chunk)
            };
            let length = write(number as usize, frame).min(self.chunk);
            let entry = libc::xdp_desc {
                addr: address as u64,
                len: u32::try_from(length).unwrap_or(u32::MAX),
                options: 0,
            };
            sent.ring.write(ahead, entry);
        }
        sent.ring.produce(room);
        room as usize
    }

    /// Frames that were queued and that the kernel has not completed.
    pub fn outstanding(&mut self) -> usize {
        let Some(sent) = &mut self.sent else { return 0 };
        reclaim(sent, self.chunk);
        sent.count as usize - sent.free.len()
    }

    /// Has the kernel send what is queued. A call sends 32 frames at most where frames are copied.
    /// Returns whether it may have more to send.
    ///
    /// # Errors
    /// `ENETDOWN` if the interface is down, `ENXIO` if it is gone (sendto(2)).
    pub fn kick(&self) -> io::Result<bool> {
        let is_asleep = self.sent.as_ref().is_some_and(|sent| sent.ring.needs_wakeup());
        if self.binding == Binding::ZeroCopy && !is_asleep {
            return Ok(false);
        }
        // SAFETY: no buffer and no address are given.
        let done = unsafe {
            let nothing = std::ptr::null::<u8>();
            let flags = libc::MSG_DONTWAIT;
            libc::syscall(libc::SYS_sendto, self.socket.as_raw_fd(), nothing, 0, flags, nothing, 0)
        };
        if done >= 0 {
            return Ok(false);
        }
        let error = io::Error::last_os_error();
        match error.raw_os_error() {
            // EAGAIN: 32 frames; EBUSY: the device refused one, which is complete.
            Some(libc::EAGAIN | libc::EBUSY | libc::ENOBUFS | libc::EINTR) => Ok(true),
            _ => Err(error),
        }
    }

    /// Reads up to `most` frames that have arrived, and returns how many.
    pub fn receive(&mut self, most: usize, mut take: impl FnMut(&[u8])) -> usize {
        let Some(received) = &mut self.received else { return 0 };
        let count = received.ring.waiting(u32::try_from(most).unwrap_or(u32::MAX));
        let room = received.fill.room(count);
        for ahead in 0..room {
            let entry = received.ring.read(ahead);
            let address = usize::try_from(entry.addr).unwrap_or(0);
            let length = entry.len as usize;
            if address + length <= self.memory.len() {
                // SAFETY: the range lies in the memory, and the kernel has handed the frame to us
                // until it is in the fill ring again.
                take(unsafe {
                    std::slice::from_raw_parts(self.start.as_ptr().add(address), length)
                });
            }
            let base = address - address % self.chunk;
            received.fill.write(ahead, base as u64);
        }
        received.ring.consume(room);
        received.fill.produce(room);
        room as usize
    }

    /// Wakes the kernel if it waits for memory to receive into (`XDP_USE_NEED_WAKEUP`).
    pub fn wake_receiver(&self) {
        if self.received.as_ref().is_some_and(|received| received.fill.needs_wakeup()) {
            let mut watch = [crate::poll::PollFd::readable(self.socket.as_fd())];
            // It is asked again soon.
            _ = crate::poll::wait(&mut watch, Some(Duration::ZERO));
        }
    }

    /// Reads the counters.
    ///
    /// # Errors
    /// Those of getsockopt(2); none is expected.
    pub fn statistics(&self) -> io::Result<XdpStatistics> {
        // SAFETY: they are numbers.
        let read = unsafe { option::get::<[u64; 6]>(self, libc::SOL_XDP, libc::XDP_STATISTICS) };
        let ([receive_dropped, receive_invalid, send_invalid, full, empty, send_empty], _) = read?;
        Ok(XdpStatistics {
            receive_dropped,
            receive_invalid,
            send_invalid,
            receive_ring_full: full,
            fill_ring_empty: empty,
            send_ring_empty: send_empty,
        })
    }
}

impl AsFd for XdpSocket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

/// Takes the frames back that the kernel has sent.
fn reclaim(sent: &mut Sending, chunk: usize) {
    let done = sent.completion.waiting(sent.count);
    // A power of two; a division would take as long as the rest.
    let bits = chunk.trailing_zeros();
    for ahead in 0..done {
        let number = sent.completion.read(ahead) >> bits;
        let number = u32::try_from(number).unwrap_or(u32::MAX);
        // The room is there since each frame is in one place only.
        if number < sent.count && sent.free.len() < sent.count as usize {
            sent.free.push(number);
        }
    }
    sent.completion.consume(done);
}

fn register(socket: &Socket, memory: &mut Region, chunk: usize) -> io::Result<()> {
    let reg = Registered {
        start: memory.as_mut_ptr() as u64,
        length: memory.len() as u64,
        chunk: u32::try_from(chunk).map_err(io::Error::other)?,
        headroom: 0,
    };
    option::set(socket, libc::SOL_XDP, libc::XDP_UMEM_REG, &reg)
}

fn set_ring(socket: &Socket, which: libc::c_int, size: u32) -> io::Result<()> {
    option::set(socket, libc::SOL_XDP, which, &size)
}

fn offsets(socket: &Socket) -> io::Result<libc::xdp_mmap_offsets> {
    // SAFETY: the structure is made of numbers.
    let read = unsafe {
        option::get::<libc::xdp_mmap_offsets>(socket, libc::SOL_XDP, libc::XDP_MMAP_OFFSETS)
    };
    let (offsets, length) = read?;
    if length < size_of::<libc::xdp_mmap_offsets>() {
        let text = "the rings of AF_XDP are those of a kernel before Linux 5.4";
        return Err(io::Error::new(io::ErrorKind::Unsupported, text));
    }
    Ok(offsets)
}

/// Binds the socket. A queue whose last socket has just been closed is busy for a moment.
fn bind(socket: &Socket, interface: u32, queue: u32, binding: Binding) -> io::Result<()> {
    let flags = match binding {
        Binding::Copy => libc::XDP_COPY,
        Binding::ZeroCopy => libc::XDP_ZEROCOPY,
    };
    let address = libc::sockaddr_xdp {
        sxdp_family: AF_XDP,
        sxdp_flags: flags | libc::XDP_USE_NEED_WAKEUP,
        sxdp_ifindex: interface,
        sxdp_queue_id: queue,
        sxdp_shared_umem_fd: 0,
    };
    let mut tries = 0;
    loop {
        let Err(error) = option::bind(socket, &address) else { return Ok(()) };
        tries += 1;
        if error.raw_os_error() != Some(libc::EBUSY) || tries > BUSY_TRIES {
            return Err(error);
        }
        thread::sleep(BUSY_PAUSE);
    }
}

/// The first version of `struct xdp_umem_reg`, linux/if_xdp.h, which every kernel takes.
#[derive(Clone, Copy)]
#[repr(C)]
struct Registered {
    start: u64,
    length: u64,
    chunk: u32,
    headroom: u32,
}

const BUSY_TRIES: u32 = 50;
const BUSY_PAUSE: Duration = Duration::from_millis(10);
#[expect(clippy::cast_possible_truncation, reason = "AF_XDP is 44")]
const AF_XDP: u16 = libc::AF_XDP as u16;
// linux/if_xdp.h
const XDP_PGOFF_RX_RING: i64 = 0;
const XDP_PGOFF_TX_RING: i64 = 0x8000_0000;
const XDP_UMEM_PGOFF_FILL_RING: i64 = 0x1_0000_0000;
const XDP_UMEM_PGOFF_COMPLETION_RING: i64 = 0x1_8000_0000;
