//! What receives frames, or counts them: AF_XDP, a program of XDP that counts and drops, or
//! AF_PACKET where XDP is refused.

use std::io;
use std::os::fd::AsFd;
use std::thread;
use std::time::Duration;

use linux::frame_socket::FrameSocket;
use linux::poll::PollFd;
use linux::xdp::{Binding, SocketShape, XdpMode, XdpProgram, XdpSocket, XdpStatistics};
use measurement::packets::{DropCount, EngineUse, PacketEngine};

use crate::error::PacketError;
use crate::frame::FrameLayout;
use crate::port::Port;

/// Which engine is to receive.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ReceiveWith {
    /// AF_XDP, in the driver and without copies if it can; AF_PACKET where XDP is refused.
    #[default]
    Best,
    /// A program of XDP that counts and drops: without flows, latency and order.
    Count,
    /// AF_PACKET (packet(7)).
    AfPacket,
}

/// An open engine that receives.
#[derive(Debug)]
pub(crate) enum Receiver {
    Xdp {
        /// Dropped first: no frames come to a socket that is gone.
        _program: XdpProgram,
        sockets: Vec<XdpSocket>,
    },
    Count(XdpProgram),
    Packet {
        socket: FrameSocket,
        dropped: u64,
    },
}

impl Receiver {
    pub(crate) fn open(
        port: &Port,
        layout: &FrameLayout,
        with: ReceiveWith,
    ) -> Result<(Self, EngineUse), PacketError> {
        let open = |source| PacketError::Open { interface: port.name.clone(), source };
        match with {
            ReceiveWith::Count => {
                let count = |mode| XdpProgram::count(port.index, mode, layout.tag());
                let (program, mode) = attach(count).map_err(|error| match error {
                    error if is_busy(&error) => PacketError::Busy(port.name.clone()),
                    error => open(error),
                })?;
                let engine = EngineUse { engine: PacketEngine::XdpCount, why: mode };
                Ok((Self::Count(program), engine))
            }
            ReceiveWith::AfPacket => Self::packet(port, layout, "as asked".to_owned()),
            ReceiveWith::Best => match when_free(|| Self::xdp(port, layout)) {
                Ok(opened) => Ok(opened),
                Err(error) if is_busy(&error) => Err(PacketError::Busy(port.name.clone())),
                Err(error) => Self::packet(port, layout, format!("AF_XDP is refused: {error}")),
            },
        }
    }

    fn xdp(port: &Port, layout: &FrameLayout) -> io::Result<(Self, EngineUse)> {
        let longest = layout.sizes().largest();
        if longest > XdpSocket::LONGEST_FRAME {
            return Err(io::Error::other("frames are longer than its memory for one"));
        }
        let receive = (SLOTS / port.queues.max(1).next_power_of_two()).max(LEAST_SLOTS);
        let shape = SocketShape { send: 0, receive, frame_bytes: longest };
        let open = |binding| -> io::Result<Vec<XdpSocket>> {
            let mut sockets = vec![XdpSocket::open(port.index, 0, binding, &shape)?];
            // More may exist than are in use, and those cannot be bound.
            for queue in 1..port.queues {
                match XdpSocket::open(port.index, queue, binding, &shape) {
                    Err(error) if error.kind() == io::ErrorKind::InvalidInput => break,
                    socket => sockets.push(socket?),
                }
            }
            Ok(sockets)
        };
        let sockets = open(Binding::ZeroCopy).or_else(|_| open(Binding::Copy))?;
        let engine = match sockets.first().map(XdpSocket::binding) {
            Some(Binding::ZeroCopy) => PacketEngine::AfXdpZeroCopy,
            _ => PacketEngine::AfXdp,
        };
        let redirect = |mode| XdpProgram::redirect(port.index, mode, layout.tag(), &sockets);
        let (program, why) = attach(redirect)?;
        Ok((Self::Xdp { _program: program, sockets }, EngineUse { engine, why }))
    }

    fn packet(
        port: &Port,
        layout: &FrameLayout,
        why: String,
    ) -> Result<(Self, EngineUse), PacketError> {
        let open = |source| PacketError::Open { interface: port.name.clone(), source };
        let longest = layout.sizes().largest();
        let socket = FrameSocket::receiver(port.index, BATCH, longest).map_err(open)?;
        let used = EngineUse { engine: PacketEngine::AfPacket, why };
        Ok((Self::Packet { socket, dropped: 0 }, used))
    }

    /// Reads what has arrived. Returns how many frames, of any kind, that were.
    pub(crate) fn receive(&mut self, mut take: impl FnMut(&[u8])) -> io::Result<usize> {
        match self {
            Self::Xdp { sockets, .. } => {
                let mut count = 0;
                for socket in sockets {
                    count += socket.receive(BATCH, &mut take);
                    socket.wake_receiver();
                }
                Ok(count)
            }
            Self::Count(_) => Ok(0),
            Self::Packet { socket, .. } => socket.receive(take),
        }
    }

    /// Whether frames tell when they arrived, so that they need not be read at once.
    pub(crate) const fn notes_arrival(&self) -> bool {
        matches!(self, Self::Xdp { .. })
    }

    /// Lets some frames arrive, if they need not be read at once: to be woken for each takes several
    /// times what the frame does.
    pub(crate) fn gather(&self) {
        if self.notes_arrival() {
            thread::sleep(GATHER);
        }
    }

    /// Waits until frames arrive, at most for a while.
    pub(crate) fn wait(&self, timeout: Duration) -> io::Result<()> {
        match self {
            Self::Xdp { sockets, .. } => {
                let last = sockets.len() - 1;
                let watch = |number: usize| PollFd::readable(sockets[number.min(last)].as_fd());
                let mut watches: [_; WATCHED] = std::array::from_fn(watch);
                linux::poll::wait(&mut watches, Some(timeout))
            }
            Self::Packet { socket, .. } => {
                linux::poll::wait(&mut [PollFd::readable(socket.as_fd())], Some(timeout))
            }
            Self::Count(_) => linux::poll::wait(&mut [], Some(timeout)),
        }
    }

    /// The frames that a program has counted; none: they are received.
    pub(crate) fn counted(&self) -> Option<io::Result<u64>> {
        match self {
            Self::Count(program) => Some(program.counted()),
            _ => None,
        }
    }

    /// Frames that were dropped here, by the reason.
    pub(crate) fn drops(&mut self) -> io::Result<Vec<DropCount>> {
        let of = |place: &str, frames| DropCount { place: place.to_owned(), frames };
        match self {
            Self::Xdp { sockets, .. } => {
                let mut all = XdpStatistics::default();
                for socket in sockets {
                    let one = socket.statistics()?;
                    all.receive_dropped += one.receive_dropped;
                    all.receive_ring_full += one.receive_ring_full;
                    all.receive_invalid += one.receive_invalid;
                }
                Ok(vec![
                    of("receive ring of AF_XDP", all.receive_ring_full),
                    of("AF_XDP, no memory for a frame", all.receive_dropped),
                    of("AF_XDP, invalid", all.receive_invalid),
                ])
            }
            Self::Count(_) => Ok(Vec::new()),
            Self::Packet { socket, dropped } => {
                *dropped += u64::from(socket.take_statistics()?.dropped);
                Ok(vec![of("buffer of AF_PACKET", *dropped)])
            }
        }
    }
}

/// Attaches a program in the driver, or else in the network stack; and why there.
fn attach(program: impl Fn(XdpMode) -> io::Result<XdpProgram>) -> io::Result<(XdpProgram, String)> {
    match program(XdpMode::Native) {
        Ok(program) => Ok((program, "program in the driver".to_owned())),
        Err(error) if is_busy(&error) => Err(error),
        Err(error) => {
            let why = format!("program in the network stack, not in the driver: {error}");
            Ok((program(XdpMode::Generic)?, why))
        }
    }
}

/// Opens what another socket may still have: the kernel frees it a while after the end.
pub(crate) fn when_free<T>(open: impl Fn() -> io::Result<T>) -> io::Result<T> {
    let mut tries = 1;
    loop {
        match open() {
            Err(error) if is_busy(&error) && tries < TRIES => {
                tries += 1;
                thread::sleep(PAUSE);
            }
            opened => return opened,
        }
    }
}

/// Whether another program has a queue, or its program is attached.
pub(crate) fn is_busy(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::ResourceBusy
}

/// Time between two readings of a receiver that shares its CPU.
const GATHER: Duration = Duration::from_micros(100);
const TRIES: u32 = 10;
const PAUSE: Duration = Duration::from_millis(30);
/// Frames that can wait to be read on all queues: those of 30 ms at half a million in a second, since a
/// hypervisor keeps a CPU for as long.
const SLOTS: u32 = 16_384;
/// Frames that can wait on each queue.
const LEAST_SLOTS: u32 = 4096;
/// Frames that are read of a queue at once.
pub(crate) const BATCH: usize = 64;
/// Queues whose frames wake a receiver; those of further ones are read with them, or a while later.
const WATCHED: usize = 8;
