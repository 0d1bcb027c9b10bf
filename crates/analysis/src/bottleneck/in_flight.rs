//! What a TCP stream had in flight, against the windows that bound it.
//!
//! By Little's law a stream that delivers at a rate with a round trip has the product of both in
//! flight. Of congestion window, receive window and send buffer the one that this fills is what
//! the stream waits for; the kernel's own times (`tcpi_sndbuf_limited`) miss a send buffer that is
//! small, since a socket without room has nothing more to send.

use super::Case;
use super::transfer::Transfer;

/// Windows of the streams of one direction, in bytes of one stream.
#[derive(Clone, Copy, Debug)]
pub(super) struct Windows {
    /// Mean payload in flight.
    pub(super) in_flight: f64,
    /// The typical congestion window.
    congestion: Option<f64>,
    /// The window that the receiver advertised.
    receive: Option<f64>,
    /// The greatest send buffer, the kernel's overhead included.
    pub(super) send_buffer: Option<f64>,
    /// Whether segments were sent again.
    has_resent: bool,
}

impl Windows {
    /// Those of a direction; none: rate or round trip is not known.
    pub(super) fn of_transfer(case: &Case<'_>, transfer: &Transfer<'_>) -> Option<Self> {
        let streams = transfer.senders.len().max(1) as f64;
        let trip = transfer.typical_round_trip()?.as_secs_f64();
        Some(Self {
            in_flight: transfer.rate / streams * trip,
            congestion: transfer.typical_congestion_window(case),
            receive: transfer
                .senders
                .iter()
                .map(|tcp| tcp.send_window)
                .max()
                .filter(|w| *w > 0)
                .map(|w| w as f64),
            send_buffer: send_buffer(case, transfer),
            has_resent: transfer.account.retransmitted_segments > 0,
        })
    }

    /// Whether the send buffer is what bounds: it is about full, and neither window is.
    pub(super) fn fills_send_buffer(&self) -> bool {
        let is_free = |window: Option<f64>| window.is_none_or(|most| self.in_flight < FREE * most);
        let is_full = self.send_buffer.is_some_and(|buffer| {
            let (least, most) = self.payload();
            (least * buffer..=most * buffer + BEYOND).contains(&self.in_flight)
        });
        is_full && is_free(self.receive) && is_free(self.congestion)
    }

    /// How much of the send buffer may be payload, as shares of it: at least and at most.
    pub(super) const fn payload(&self) -> (f64, f64) {
        let most = if self.has_resent { PAYLOAD_AFTER_LOSS } else { PAYLOAD_MOST };
        (PAYLOAD_LEAST, most)
    }
}

/// What a socket of the sender may hold: what was asked, else the kernel's maximum.
fn send_buffer(case: &Case<'_>, transfer: &Transfer<'_>) -> Option<f64> {
    let record = case.test?.record;
    if record.plan.options.window.is_some() {
        let stream = record.streams.iter().find(|stream| stream.sender)?;
        return Some(stream.send_buffer?.bytes() as f64);
    }
    let largest = case.host(&transfer.sender())?.largest_buffer("net.ipv4.tcp_wmem")?;
    Some(largest as f64)
}

/// A window of which so little is used does not bound.
const FREE: f64 = 0.8;
/// Of a send buffer so much is payload at least: the rest is what the kernel counts for each
/// packet (`skb->truesize`).
const PAYLOAD_LEAST: f64 = 0.25;
/// At most.
const PAYLOAD_MOST: f64 = 1.1;
/// At most once segments were sent again, for which the kernel splits packets: from then on the
/// same buffer took in more. By planted buffers: with 64 KiB up to 5.8 times as much.
const PAYLOAD_AFTER_LOSS: f64 = 8.0;
/// Bytes by which a buffer is overrun: whoever finds room in it may add a packet of 64 KiB.
const BEYOND: f64 = 65_536.0;
