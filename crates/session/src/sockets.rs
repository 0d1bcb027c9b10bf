//! A stream's socket, of either transport, and what can be read back from it.

use std::io;
use std::net::{SocketAddr, TcpStream, UdpSocket};
use std::os::fd::AsRawFd;
use std::sync::Arc;

use measurement::record::{ArrivalClock, StreamRecord};
use measurement::{ByteSize, EngineName, TcpSample, UdpSample};

mod engine_factory;
mod exchange;
mod pacing;

pub(crate) use engine_factory::EngineFactory;
pub(crate) use pacing::arrange as arrange_pacing;

/// A connected socket that carries one stream.
#[derive(Clone, Debug)]
pub(crate) enum StreamSocket {
    Tcp {
        socket: Arc<TcpStream>,
        /// `bytes_acked` before the first payload byte.
        acknowledged_before: u64,
        /// Payload bytes that were read before the test.
        read_before: u64,
        /// It may use several paths (RFC 8684).
        multipath: bool,
    },
    Udp {
        socket: Arc<UdpSocket>,
    },
}

/// A stream that is connected, with its place in the test.
#[derive(Clone, Debug)]
pub(crate) struct Opened {
    pub(crate) id: u32,
    /// Whether this end sends.
    pub(crate) sender: bool,
    pub(crate) socket: StreamSocket,
}

impl StreamSocket {
    /// A TCP stream; `preamble` bytes were or will be sent before the payload.
    pub(crate) fn tcp(socket: TcpStream, preamble: u64) -> Self {
        let multipath = linux::tcp::is_multipath(&socket);
        // Taken before the first byte goes: it may count the SYN (RFC 4898).
        let counted = linux::tcp::info(&socket)
            .map_or(0, |info| acknowledged(&socket, multipath, info.bytes_acked));
        let acknowledged_before = counted + preamble;
        Self::Tcp { socket: Arc::new(socket), acknowledged_before, read_before: 0, multipath }
    }

    /// The stream, of whose payload so many `bytes` were read before the test.
    pub(crate) fn with_read_before(mut self, bytes: u64) -> Self {
        if let Self::Tcp { read_before, .. } = &mut self {
            *read_before = bytes;
        }
        self
    }

    pub(crate) fn udp(socket: UdpSocket) -> Self {
        Self::Udp { socket: Arc::new(socket) }
    }

    /// What the kernel says of a TCP connection; none for UDP.
    pub(crate) fn tcp_sample(&self) -> Option<TcpSample> {
        let Self::Tcp { socket, acknowledged_before, multipath, .. } = self else { return None };
        let info = linux::tcp::info(&**socket).ok()?;
        let acknowledged = acknowledged(socket, *multipath, info.bytes_acked);
        Some(TcpSample {
            acknowledged: acknowledged.saturating_sub(*acknowledged_before),
            retransmits: info.total_retrans.into(),
            bytes_retransmitted: info.bytes_retrans,
            congestion_window: u64::from(info.snd_cwnd) * u64::from(info.snd_mss),
            rtt_micros: info.rtt,
            rtt_variation_micros: info.rttvar,
            min_rtt_micros: info.min_rtt,
            path_mtu: info.pmtu,
            segment: info.snd_mss,
            send_window: info.snd_wnd.into(),
            reordering: info.reordering,
            busy_micros: info.busy_time,
            receive_window_limited_micros: info.rwnd_limited,
            send_buffer_limited_micros: info.sndbuf_limited,
            delivery_rate: info.delivery_rate,
            delivery_rate_is_of_application: info.is_application_limited(),
            bytes_sent: info.bytes_sent,
            duplicates: info.dsack_dups,
            reorderings: info.reord_seen,
            congestion_marks: info.delivered_ce,
            not_sent: info.notsent_bytes,
            unacknowledged: info.unacked,
            receive_window: info.rcv_ssthresh,
            receiver_rtt_micros: info.rcv_rtt,
            segments_in: info.segs_in,
            segments_out: info.segs_out,
            options: info.options,
        })
    }

    /// What the kernel says of a UDP socket; none for TCP, or if it does not report it.
    pub(crate) fn udp_sample(&self) -> Option<UdpSample> {
        let Self::Udp { socket } = self else { return None };
        let memory = linux::socket_memory(&**socket).ok()?;
        Some(UdpSample {
            drops: memory.drops.into(),
            receive_queue: memory.receive_allocated.into(),
            send_queue: memory.send_allocated.into(),
        })
    }

    /// Drops what is unsent when the socket closes, so that it does not disturb
    /// the next test.
    pub(crate) fn abort_on_close(&self) {
        if let Self::Tcp { socket, .. } = self {
            // A connection that is gone has nothing to drop.
            _ = linux::tcp::abort_on_close(socket);
        }
    }

    /// Ends a TCP stream in order: an iperf3 that receives reads whole blocks, and
    /// waits for the rest of the last one until the stream ends (clause 10.2).
    pub(crate) fn end_sending(&self) {
        if let Self::Tcp { socket, .. } = self {
            // A connection that is gone has ended already.
            _ = socket.shutdown(std::net::Shutdown::Write);
        }
    }

    /// Number of its file descriptor.
    fn descriptor(&self) -> u32 {
        let number = match self {
            Self::Tcp { socket, .. } => socket.as_raw_fd(),
            Self::Udp { socket } => socket.as_raw_fd(),
        };
        u32::try_from(number).unwrap_or(u32::MAX)
    }

    /// The addresses of this end and of the peer.
    ///
    /// # Errors
    /// Those of getsockname(2) and getpeername(2).
    pub(crate) fn addresses(&self) -> io::Result<(SocketAddr, SocketAddr)> {
        match self {
            Self::Tcp { socket, .. } => Ok((socket.local_addr()?, socket.peer_addr()?)),
            Self::Udp { socket } => Ok((socket.local_addr()?, socket.peer_addr()?)),
        }
    }
}

impl Opened {
    fn arrival_clock(&self, engine: &EngineName) -> Option<ArrivalClock> {
        match &self.socket {
            StreamSocket::Udp { socket } if !self.sender => {
                let by_engine = engine.properties().and_then(|engine| engine.arrivals);
                by_engine.or_else(|| {
                    let kernel = linux::udp::has_timestamps(socket);
                    Some(if kernel { ArrivalClock::Kernel } else { ArrivalClock::Reader })
                })
            }
            _ => None,
        }
    }

    /// The stream as it is, every setting read back from the kernel.
    pub(crate) fn record(&self, block: ByteSize, engine: &EngineName) -> io::Result<StreamRecord> {
        let (local, peer) = self.socket.addresses()?;
        let (buffers, mss, congestion) = match &self.socket {
            StreamSocket::Tcp { socket, .. } => (
                linux::socket_buffers(&**socket)?,
                linux::tcp::info(&**socket).ok().map(|info| info.snd_mss),
                linux::tcp::congestion(socket).ok().filter(|name| !name.is_empty()),
            ),
            StreamSocket::Udp { socket } => (linux::socket_buffers(&**socket)?, None, None),
        };
        Ok(StreamRecord {
            id: self.id,
            sender: self.sender,
            socket: Some(self.socket.descriptor()),
            local: Some(local),
            peer: Some(peer),
            block,
            send_buffer: Some(ByteSize::from_bytes(buffers.send as u64)),
            receive_buffer: Some(ByteSize::from_bytes(buffers.receive as u64)),
            mss,
            congestion,
            arrivals: self.arrival_clock(engine),
            engine: Some(engine.clone()),
            worker: None,
            cpu: None,
        })
    }
}

/// What the peer acknowledged; `counted` by the one connection, or by the first of several.
fn acknowledged(socket: &TcpStream, multipath: bool, counted: u64) -> u64 {
    // An old kernel, or a peer that declined, has but the one number.
    let all_paths = multipath.then(|| linux::tcp::mptcp_bytes_acked(socket).ok());
    all_paths.flatten().unwrap_or(counted)
}
