//! Answers the UDP handshake of iperf3 while a stream runs (docs/protocol/iperf3.md,
//! clause 13.5). `session` opens streams; what arrives here is a repetition of a datagram
//! whose answer may have been lost.

use std::net::UdpSocket;

use protocol::iperf3::{Hello, is_reply};

/// Whether a datagram belongs to the handshake, and not to the payload. A hello is answered
/// over `socket`, which is connected to the peer that sent it.
pub(crate) fn consume(datagram: &[u8], socket: &UdpSocket) -> bool {
    // A reply is shorter than a hello, and nearly all payload is longer.
    datagram.len() <= Hello::LONGEST && (answer_hello(datagram, socket) || is_reply(datagram))
}

/// Answers a hello over `socket`. False: the datagram is no hello.
pub(crate) fn answer_hello(datagram: &[u8], socket: &UdpSocket) -> bool {
    let Some(hello) = Hello::recognise(datagram) else { return false };
    // If this answer is lost too, the peer repeats its hello.
    _ = socket.send(&hello.reply());
    true
}
