//! The header at the start of each datagram, that of the dialect: as a sender writes it and as a
//! receiver reads it.

use std::net::UdpSocket;
use std::sync::Arc;
use std::time::Duration;

use measurement::Timestamp;
use protocol::iperf2::{ClientHeader, Datagram, DatagramSettings, FlowDatagram};
use protocol::iperf3::Header;

use crate::SequenceWidth;
use crate::udp::handshake;
use crate::udp::iperf2_flow::Iperf2Flow;

/// Header of the datagrams of a test.
#[derive(Clone, Copy, Debug)]
pub enum DatagramHeader {
    /// That of iperf3 (docs/protocol/iperf3.md, section 12), with sequence numbers of this width.
    Iperf3(SequenceWidth),
    /// That of iperf2 with wide sequence numbers (docs/protocol/iperf2.md, section 4).
    Iperf2 {
        /// Time of day less the time of the monotonic clock.
        epoch: Duration,
        /// What follows sequence number and time (clause 4.3).
        settings: DatagramSettings,
    },
}

impl DatagramHeader {
    /// The header as a receiver reads it, with sequence numbers of iperf3.
    pub const fn received(&self) -> ReceivedHeader {
        ReceivedHeader::Iperf3(match self {
            Self::Iperf3(width) => *width,
            Self::Iperf2 { .. } => SequenceWidth::Bits64,
        })
    }

    /// Whether the receiver asked for the datagrams, so that it has gone if its host refuses them.
    pub(super) fn is_asked_for(&self) -> bool {
        matches!(self, Self::Iperf2 { settings, .. } if settings.bytes().is_empty())
    }

    /// Writes the headers of datagrams into their `payloads`: the first is number `sequence` and
    /// is sent at `sent`, each other one `gap` nanoseconds after the one before.
    #[inline]
    pub(super) fn write_all<'a>(
        &self,
        sent: Timestamp,
        gap: u64,
        sequence: u64,
        payloads: impl Iterator<Item = &'a mut [u8]>,
    ) {
        let headers = (0..).map(|index| Header {
            sent: Timestamp::from_nanos(sent.nanos() + index * gap),
            sequence: sequence + index,
        });
        let each = headers.zip(payloads);
        match self {
            Self::Iperf3(width) => each.for_each(|(header, payload)| header.write(*width, payload)),
            Self::Iperf2 { .. } => each.for_each(|(Header { sent, sequence }, payload)| {
                self.write(sent, sequence, payload);
            }),
        }
    }

    /// Writes the header of the datagram number `sequence` that is sent at `sent`. A negative number, as a
    /// complement, ends a flow of iperf2 (clause 4.5 of docs/protocol/iperf2.md).
    ///
    /// # Panics
    /// `payload` is shorter than the header.
    pub fn write(&self, sent: Timestamp, sequence: u64, payload: &mut [u8]) {
        match self {
            Self::Iperf3(width) => Header { sent, sequence }.write(*width, payload),
            Self::Iperf2 { epoch, settings } => {
                let sent = *epoch + Duration::from_nanos(sent.nanos());
                Datagram { sequence: sequence.cast_signed(), sent }.write(payload);
                let settings = settings.bytes();
                payload[START..START + settings.len()].copy_from_slice(settings);
            }
        }
    }
}

impl From<SequenceWidth> for DatagramHeader {
    fn from(width: SequenceWidth) -> Self {
        Self::Iperf3(width)
    }
}

/// The header of datagrams as their receiver reads it.
#[derive(Clone, Debug)]
pub enum ReceivedHeader {
    /// The header of iperf3 with sequence numbers of this width.
    Iperf3(SequenceWidth),
    /// The header of a flow of iperf2.
    Iperf2(Arc<Iperf2Flow>),
}

impl ReceivedHeader {
    /// Reads the header of a datagram of payload. `None`: the datagram is too short. Sequence numbers
    /// begin with 1.
    #[inline]
    pub(super) fn read(&self, payload: &[u8]) -> Option<Header> {
        match self {
            Self::Iperf3(width) => Header::read(*width, payload),
            Self::Iperf2(flow) => match flow.start().read(payload) {
                FlowDatagram::Payload { number: sequence, sent }
                | FlowDatagram::End { last: sequence, sent: Some(sent) } => {
                    let nanos = u64::try_from(sent.as_nanos()).unwrap_or(u64::MAX);
                    Some(Header { sent: Timestamp::from_nanos(nanos), sequence })
                }
                FlowDatagram::End { sent: None, .. } | FlowDatagram::Other => None,
            },
        }
    }

    /// Whether this end sends over the same flow, as its peer asked for.
    pub(super) fn is_answered(&self) -> bool {
        matches!(self, Self::Iperf2(flow) if flow.start().is_full_duplex())
    }

    /// Whether a header has no more than the low half of a number.
    pub(super) const fn is_narrow(&self) -> bool {
        matches!(self, Self::Iperf3(SequenceWidth::Bits32))
    }

    /// Whether a datagram is no payload, but part of the handshake, which is answered over `socket`, or
    /// the end of a flow.
    #[inline]
    pub(super) fn consume(&self, datagram: &[u8], socket: &UdpSocket) -> bool {
        match self {
            Self::Iperf3(_) => handshake::consume(datagram, socket),
            Self::Iperf2(flow) => flow.consume(datagram),
        }
    }
}

impl From<SequenceWidth> for ReceivedHeader {
    fn from(width: SequenceWidth) -> Self {
        Self::Iperf3(width)
    }
}

/// Where the settings begin.
const START: usize = ClientHeader::DATAGRAM_LENGTH - ClientHeader::TCP_LENGTH;
