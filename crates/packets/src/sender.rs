//! Engines that send frames: AF_XDP, AF_PACKET past the queueing discipline where that is refused, and
//! a program of XDP that makes them in the kernel.

use std::io;
use std::time::Duration;

use linux::frame_socket::FrameSocket;
use linux::netlink::takes_redirected_frames;
use linux::xdp::{Binding, LiveFrames, SocketShape, XdpSocket};
use measurement::Timestamp;
use measurement::packets::{EngineUse, PacketEngine};

use crate::error::PacketError;
use crate::frame::FrameLayout;
use crate::port::Port;
use crate::receiver::{is_busy, when_free};

/// Which engine is to send.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SendWith {
    /// AF_XDP, without copies if the driver can; AF_PACKET where it is refused.
    #[default]
    Best,
    /// A program of XDP that makes frames where it can; else as [`Self::Best`].
    Fastest,
    /// A program of XDP that makes frames (`BPF_PROG_RUN`, Linux 5.18), to a driver that takes what
    /// programs redirect.
    XdpLive,
    /// AF_XDP with copies.
    AfXdp,
    /// AF_PACKET with `PACKET_QDISC_BYPASS` (packet(7)).
    AfPacket,
}

/// An open engine that sends.
#[derive(Debug)]
pub(crate) enum Sender {
    Xdp {
        sockets: Vec<XdpSocket>,
        /// The one whose turn it is.
        turn: usize,
    },
    Packet(FrameSocket),
    Live {
        program: LiveFrames,
        /// The number of its next frame.
        next: u64,
        /// Frames in a nanosecond at the last call; none: there was none.
        speed: Option<f64>,
        /// When the last frame was made.
        last: Timestamp,
    },
}

impl Sender {
    /// Opens an engine on `queues` queues of a port, and writes the frames.
    pub(crate) fn open(
        port: &Port,
        layout: &FrameLayout,
        with: SendWith,
        queues: u32,
    ) -> Result<(Self, EngineUse), PacketError> {
        let longest = layout.sizes().largest();
        let (mut sender, used) = match with {
            SendWith::AfPacket => {
                (Self::packet(port, longest)?, used(PacketEngine::AfPacket, "as asked"))
            }
            SendWith::XdpLive => {
                let sender = Self::live(port, layout)
                    .map_err(|source| PacketError::Live { interface: port.name.clone(), source })?;
                (sender, used(PacketEngine::XdpLive, "as asked"))
            }
            SendWith::Fastest => match Self::live(port, layout) {
                Ok(sender) => (sender, used(PacketEngine::XdpLive, "no socket is needed")),
                Err(error) => {
                    let (sender, mut used) = Self::open(port, layout, SendWith::Best, queues)?;
                    used.why = format!("{}; XDP does not make them: {error}", used.why);
                    (sender, used)
                }
            },
            _ if longest > XdpSocket::LONGEST_FRAME => {
                let why = "frames are longer than the memory of AF_XDP for one";
                (Self::packet(port, longest)?, used(PacketEngine::AfPacket, why))
            }
            SendWith::AfXdp => {
                let sender = Self::xdp(port, longest, queues, Binding::Copy);
                let refused = |source| PacketError::Open { interface: port.name.clone(), source };
                (sender.map_err(refused)?, used(PacketEngine::AfXdp, "as asked"))
            }
            SendWith::Best => Self::best(port, longest, queues)?,
        };
        sender.prepare(layout);
        Ok((sender, used))
    }

    fn best(port: &Port, longest: usize, queues: u32) -> Result<(Self, EngineUse), PacketError> {
        if let Ok(sender) = Self::xdp(port, longest, queues, Binding::ZeroCopy) {
            return Ok((
                sender,
                used(PacketEngine::AfXdpZeroCopy, "the driver has no need to copy"),
            ));
        }
        match when_free(|| Self::xdp(port, longest, queues, Binding::Copy)) {
            Err(error) if is_busy(&error) => Err(PacketError::Busy(port.name.clone())),
            Ok(sender) => {
                Ok((sender, used(PacketEngine::AfXdp, "the driver has no sending without copies")))
            }
            Err(error) => {
                let why = format!("AF_XDP is refused: {error}");
                Ok((Self::packet(port, longest)?, used(PacketEngine::AfPacket, &why)))
            }
        }
    }

    fn xdp(port: &Port, longest: usize, queues: u32, binding: Binding) -> io::Result<Self> {
        let shape = SocketShape { send: SLOTS, receive: 0, frame_bytes: longest };
        let open = |queue| XdpSocket::open(port.index, queue, binding, &shape);
        let sockets = (0..queues.max(1)).map(open).collect::<io::Result<Vec<_>>>()?;
        Ok(Self::Xdp { sockets, turn: 0 })
    }

    fn live(port: &Port, layout: &FrameLayout) -> io::Result<Self> {
        let unsupported = |text: &str| Err(io::Error::new(io::ErrorKind::Unsupported, text));
        let Some((frame, fields)) = layout.live() else {
            return unsupported("frames differ in more than flow, number and time");
        };
        if frame.len() > LiveFrames::LONGEST_FRAME {
            return unsupported("frames are longer than its memory for one");
        }
        // A kernel before Linux 6.3 does not tell.
        if !takes_redirected_frames(port.index).unwrap_or(true) {
            return unsupported(
                "its driver takes no frames from XDP; a veth needs XDP at its other end",
            );
        }
        let program = LiveFrames::new(port.index, &frame, &fields)?;
        Ok(Self::Live { program, next: 0, speed: None, last: dataplane::now() })
    }

    fn packet(port: &Port, longest: usize) -> Result<Self, PacketError> {
        let open = |source| PacketError::Open { interface: port.name.clone(), source };
        FrameSocket::sender(port.index, BATCH, longest).map(Self::Packet).map_err(open)
    }

    fn prepare(&mut self, layout: &FrameLayout) {
        match self {
            Self::Xdp { sockets, .. } => {
                for socket in sockets {
                    socket.prepare(|_, frame| layout.write(frame));
                }
            }
            Self::Packet(socket) => socket.prepare(|_, frame| layout.write(frame)),
            Self::Live { .. } => {}
        }
    }

    /// The number of frames that are given to the kernel at once, if the sender has so much time left.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a number of frames"
    )]
    pub(crate) fn batch(&self, left: Duration) -> usize {
        let Self::Live { speed, .. } = self else { return BATCH };
        let span = left.min(LONGEST_CALL).as_nanos() as f64;
        speed.map_or(FIRST_LIVE_BATCH, |speed| ((speed * span) as usize).max(FIRST_LIVE_BATCH))
    }

    /// Queues up to `most` frames from `number` on, and has the kernel send. Returns how many were
    /// queued.
    pub(crate) fn send(
        &mut self,
        layout: &FrameLayout,
        number: u64,
        most: usize,
        now: Timestamp,
    ) -> io::Result<usize> {
        let mut next = number;
        let mut write = |_: usize, frame: &mut [u8]| {
            let length = layout.patch(frame, next, now);
            next += 1;
            length
        };
        match self {
            Self::Xdp { sockets, turn } => {
                let count = sockets.len();
                *turn = (*turn + 1) % count;
                let socket = &mut sockets[*turn];
                let queued = socket.queue_frames(most.min(BATCH), &mut write);
                socket.kick()?;
                Ok(queued)
            }
            Self::Packet(socket) => {
                let queued = socket.queue_frames(most, &mut write);
                socket.kick()?;
                Ok(queued)
            }
            Self::Live { program, next, speed, last } => {
                if *next != number {
                    program.begin_at(number)?;
                }
                let begun = dataplane::now();
                let (made, at) = program.send(u32::try_from(most).unwrap_or(u32::MAX))?;
                *last = Timestamp::from_nanos(at);
                let took = dataplane::now().since(begun).as_nanos() as f64;
                *speed = Some(made as f64 / took.max(1.0));
                *next = number + made;
                Ok(usize::try_from(made).unwrap_or(usize::MAX))
            }
        }
    }

    /// When the last frame was sent, if the engine knows better than that it was after the call began.
    pub(crate) const fn last_sent(&self) -> Option<Timestamp> {
        match self {
            Self::Live { last, .. } => Some(*last),
            _ => None,
        }
    }

    /// Has the kernel send what is left. Returns how many frames are.
    pub(crate) fn flush(&mut self) -> io::Result<usize> {
        match self {
            Self::Xdp { sockets, .. } => sockets.iter_mut().try_fold(0, |left, socket| {
                if socket.outstanding() > 0 {
                    socket.kick()?;
                }
                Ok(left + socket.outstanding())
            }),
            Self::Packet(socket) => {
                socket.kick()?;
                Ok(socket.outstanding())
            }
            Self::Live { .. } => Ok(0),
        }
    }

    /// How often the kernel had no room for a frame; none: the engine does not tell.
    pub(crate) fn refused(&self) -> Option<u64> {
        match self {
            Self::Xdp { .. } | Self::Live { .. } => None,
            Self::Packet(socket) => Some(socket.refused()),
        }
    }
}

fn used(engine: PacketEngine, why: &str) -> EngineUse {
    EngineUse { engine, why: why.to_owned() }
}

/// Frames that can wait to be sent on each queue.
const SLOTS: u32 = 512;
/// Frames of a call: in copy mode the kernel sends 32 at most.
const BATCH: usize = 32;
/// Frames of the first call that makes them. Such a call waits at its end until no CPU uses its memory
/// (RCU), 20 ms where packets of 6 million frames a second were seen.
const FIRST_LIVE_BATCH: usize = 1 << 16;
/// So long a call cannot be stopped.
const LONGEST_CALL: Duration = Duration::from_millis(500);
