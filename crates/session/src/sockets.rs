//! A stream's socket, of either transport, and what can be read back from it.

use std::io;
use std::net::{SocketAddr, TcpStream, UdpSocket};
use std::sync::Arc;

use dataplane::{Counters, OpenStream, Pacer, Stream, tcp, udp};
use measurement::record::{ArrivalClock, StreamRecord};
use measurement::{ByteSize, StreamOptions, TcpSample};
use protocol::iperf3::CounterWidth;

use crate::amount::Amount;

/// A connected socket that carries one stream.
#[derive(Clone, Debug)]
pub(crate) enum StreamSocket {
    Tcp {
        socket: Arc<TcpStream>,
        /// `bytes_acked` before the first payload byte.
        acknowledged_before: u64,
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
        // Taken before the first byte goes: it may count the SYN (RFC 4898).
        let counted = linux::tcp::info(&socket).map_or(0, |info| info.bytes_acked);
        let acknowledged_before = counted + preamble;
        Self::Tcp { socket: Arc::new(socket), acknowledged_before }
    }

    pub(crate) fn udp(socket: UdpSocket) -> Self {
        Self::Udp { socket: Arc::new(socket) }
    }

    /// What the kernel says of a TCP connection; none for UDP.
    pub(crate) fn tcp_sample(&self) -> Option<TcpSample> {
        let Self::Tcp { socket, acknowledged_before } = self else { return None };
        let info = linux::tcp::info(&**socket).ok()?;
        Some(TcpSample {
            acknowledged: info.bytes_acked.saturating_sub(*acknowledged_before),
            retransmits: info.total_retrans.into(),
            bytes_retransmitted: info.bytes_retrans,
            congestion_window: u64::from(info.snd_cwnd) * u64::from(info.snd_mss),
            rtt_micros: info.rtt,
            rtt_variation_micros: info.rttvar,
            min_rtt_micros: info.min_rtt,
            path_mtu: info.pmtu,
            segment: info.snd_mss,
            busy_micros: info.busy_time,
            receive_window_limited_micros: info.rwnd_limited,
            send_buffer_limited_micros: info.sndbuf_limited,
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

    fn addresses(&self) -> io::Result<(SocketAddr, SocketAddr)> {
        match self {
            Self::Tcp { socket, .. } => Ok((socket.local_addr()?, socket.peer_addr()?)),
            Self::Udp { socket } => Ok((socket.local_addr()?, socket.peer_addr()?)),
        }
    }
}

impl Opened {
    /// The stream as an engine, ready for a pool.
    pub(crate) fn engine(
        &self,
        options: &StreamOptions,
        block: u64,
        width: CounterWidth,
        amount: &Amount,
    ) -> OpenStream {
        let counters = Arc::new(Counters::default());
        let Amount { budget, goal } = amount.clone();
        let published = Arc::clone(&counters);
        let engine: Box<dyn Stream> = match (&self.socket, self.sender) {
            (StreamSocket::Tcp { socket, .. }, true) => Box::new(
                tcp::Sender::new(Arc::clone(socket), block, published)
                    .with_bytes(budget)
                    .with_pacer(options.rate.map(|rate| Pacer::of_blocks(rate, block))),
            ),
            (StreamSocket::Tcp { socket, .. }, false) => {
                Box::new(tcp::Receiver::new(Arc::clone(socket), published).with_goal(goal))
            }
            (StreamSocket::Udp { socket }, true) => Box::new(
                udp::Sender::new(Arc::clone(socket), width, published)
                    .with_datagrams(budget)
                    .with_pacer(options.rate.map(|rate| Pacer::of_datagrams(rate, block))),
            ),
            (StreamSocket::Udp { socket }, false) => {
                Box::new(udp::Receiver::new(Arc::clone(socket), width, published).with_goal(goal))
            }
        };
        OpenStream { id: self.id, sender: self.sender, engine, counters }
    }

    fn arrival_clock(&self) -> Option<ArrivalClock> {
        match &self.socket {
            StreamSocket::Udp { socket } if !self.sender => {
                let kernel = linux::udp::stamps_arrivals(socket);
                Some(if kernel { ArrivalClock::Kernel } else { ArrivalClock::Reader })
            }
            _ => None,
        }
    }

    /// The stream as it is, every setting read back from the kernel.
    pub(crate) fn record(&self, block: ByteSize) -> io::Result<StreamRecord> {
        let (local, peer) = self.socket.addresses()?;
        let (buffers, mss, congestion, engine) = match &self.socket {
            StreamSocket::Tcp { socket, .. } => (
                linux::buffers(&**socket)?,
                linux::tcp::info(&**socket).ok().map(|info| info.snd_mss),
                linux::tcp::congestion(socket).ok(),
                tcp::ENGINE,
            ),
            StreamSocket::Udp { socket } => (linux::buffers(&**socket)?, None, None, udp::ENGINE),
        };
        Ok(StreamRecord {
            id: self.id,
            sender: self.sender,
            local,
            peer,
            block,
            send_buffer: ByteSize::from_bytes(buffers.send as u64),
            receive_buffer: ByteSize::from_bytes(buffers.receive as u64),
            mss,
            congestion,
            arrivals: self.arrival_clock(),
            engine: engine.to_owned(),
            worker: 0,
            cpu: None,
        })
    }
}
