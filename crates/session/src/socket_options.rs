//! The options of stream sockets, as a plan has them, at either end.

use std::io;
use std::net::{IpAddr, UdpSocket};

use linux::packets::PacketOptions;
use linux::tcp::TcpOptions;
use measurement::StreamOptions;

/// Options of a TCP stream's socket that are the same at both ends.
pub(crate) fn tcp_options(options: &StreamOptions) -> TcpOptions {
    TcpOptions {
        window: options.window.map(|window| window.bytes().try_into().unwrap_or(usize::MAX)),
        congestion: options.congestion.clone(),
        no_delay: options.no_delay,
        packets: packet_options(options),
        ..TcpOptions::default()
    }
}

/// Options of single packets, of either transport.
pub(crate) fn packet_options(options: &StreamOptions) -> PacketOptions {
    let pacing_rate = options.socket_rate.map(|rate| rate.bits_per_second() / 8);
    PacketOptions {
        type_of_service: options.type_of_service,
        hop_limit: options.hop_limit,
        // Zero would stop the stream for good.
        pacing_rate: pacing_rate.filter(|rate| *rate > 0),
        flow_label: options.flow_label,
    }
}

/// The settings of a UDP stream's socket, at either end.
pub(crate) fn prepare_udp(
    socket: &UdpSocket,
    options: &StreamOptions,
    peer: IpAddr,
) -> io::Result<()> {
    packet_options(options).apply(socket, peer)?;
    if options.dont_fragment && peer.to_canonical().is_ipv4() {
        linux::udp::forbid_fragmentation(socket)?;
    }
    match options.window {
        Some(window) => {
            linux::udp::set_buffers(socket, window.bytes().try_into().unwrap_or(usize::MAX))?;
        }
        // The default holds about a millisecond at 1 Gbit/s: what it drops would look
        // like loss of the network.
        None => linux::udp::request_receive_buffer(socket, UDP_RECEIVE_BUFFER)?,
    }
    // Where the kernel does not stamp, jitter is that of the reading thread; the
    // record says so.
    _ = linux::udp::enable_timestamps(socket);
    Ok(())
}

const UDP_RECEIVE_BUFFER: usize = 4 * 1024 * 1024;
