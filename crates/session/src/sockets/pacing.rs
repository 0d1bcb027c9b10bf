//! What spaces the blocks of paced streams: the kernel where it can, else the workers.

use std::io;
use std::net::{IpAddr, TcpStream, UdpSocket};

use linux::netlink::RouteSocket;
use measurement::{ByteSize, Pacing, PacingWay, StreamOptions};

use super::{Opened, StreamSocket};

/// Lets the kernel space what this end sends in blocks of `block`, where it can and nothing
/// else was asked of it; what spaces the blocks.
pub(crate) fn arrange(options: &StreamOptions, block: ByteSize, opened: &[Opened]) -> PacingWay {
    let by_worker = match options.pacing {
        Pacing::Even => PacingWay::TimerAndSpin,
        Pacing::Smooth | Pacing::Repay | Pacing::Average => PacingWay::Timer,
    };
    let mut senders = opened.iter().filter(|one| one.sender).peekable();
    // A burst that was asked must not be spread.
    if senders.peek().is_none() || options.burst.is_some() || options.socket_rate.is_some() {
        return by_worker;
    }
    let optional = senders.map(|one| match &one.socket {
        StreamSocket::Tcp { socket, .. } => pace_tcp(socket, options),
        StreamSocket::Udp { socket } => pace_udp(socket, options, block),
    });
    // All of them, not up to the first that it does not.
    let paced = optional.fold(true, |all, one| all & one);
    if paced { PacingWay::Kernel } else { by_worker }
}

/// The kernel spaces segments by itself (since Linux 4.13, whatever the queueing discipline):
/// a little faster than asked, so that what was delayed or lost can be made up for. A fifth
/// is what it takes itself (`tcp_pacing_ca_ratio`, Documentation/networking/ip-sysctl.rst).
fn pace_tcp(socket: &TcpStream, options: &StreamOptions) -> bool {
    let Some(rate) = options.rate else { return false };
    let rate = rate.bits_per_second() / 8;
    linux::packets::set_max_pacing_rate(socket, rate.saturating_add(rate / 5).max(1)).is_ok()
}

/// The kernel spaces datagrams only where they leave through fq (tc-fq(8)): those of one
/// batch, while the worker keeps the rate. Even spacing is the worker's work; who keeps a mean sends
/// faster after a stall.
fn pace_udp(socket: &UdpSocket, options: &StreamOptions, block: ByteSize) -> bool {
    let (Some(rate), Ok(peer)) = (options.rate, socket.peer_addr()) else { return false };
    let is_spaced = matches!(options.pacing, Pacing::Smooth | Pacing::Repay);
    if !is_spaced || !leaves_through_fq(peer.ip()).unwrap_or(false) {
        return false;
    }
    let bytes = on_wire(rate.bits_per_second() / 8, block.bytes(), peer.ip());
    linux::packets::set_max_pacing_rate(socket, bytes.saturating_add(bytes / 20).max(1)).is_ok()
}

fn leaves_through_fq(peer: IpAddr) -> io::Result<bool> {
    let mut route = RouteSocket::open()?;
    let interface = route.output_interface(peer)?;
    Ok(route.root_qdisc(interface)?.as_deref() == Some("fq"))
}

/// What `payload` bytes in datagrams of `block` are with their headers (Ethernet, RFC 791,
/// RFC 8200, RFC 768), which fq counts.
fn on_wire(payload: u64, block: u64, peer: IpAddr) -> u64 {
    let headers = if peer.to_canonical().is_ipv4() { 14 + 20 + 8 } else { 14 + 40 + 8 };
    let (payload, block) = (u128::from(payload), u128::from(block.max(1)));
    u64::try_from(payload * (block + headers) / block).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_count_on_the_wire() {
        let (v4, v6) = ([127, 0, 0, 1].into(), IpAddr::from([0_u16; 8]));
        assert_eq!(on_wire(1_460_000, 1_460, v4), 1_502_000);
        assert_eq!(on_wire(1_460_000, 1_460, v6), 1_522_000);
        assert_eq!(on_wire(u64::MAX, 1, v4), u64::MAX);
    }

    #[test]
    fn loopback_does_not_queue() {
        assert!(!leaves_through_fq([127, 0, 0, 1].into()).expect("the kernel tells"));
    }
}
