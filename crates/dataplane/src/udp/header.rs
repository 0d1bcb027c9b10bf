//! The header that a sender writes at the start of each datagram: that of the dialect.

use std::time::Duration;

use measurement::Timestamp;
use protocol::iperf2::{ClientHeader, Datagram, DatagramSettings};
use protocol::iperf3::Header;

use crate::SequenceWidth;

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
    /// Width of the sequence numbers that a receiver of iperf3's datagrams reads.
    pub const fn width(&self) -> SequenceWidth {
        match self {
            Self::Iperf3(width) => *width,
            Self::Iperf2 { .. } => SequenceWidth::Bits64,
        }
    }

    /// Writes the header of a datagram that ends a flow of iperf2, in place of the one number
    /// `sequence` (clause 4.5 of docs/protocol/iperf2.md).
    pub fn write_end(&self, sent: Timestamp, sequence: u64, payload: &mut [u8]) {
        self.write(sent, sequence.wrapping_neg(), payload);
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

    /// Writes the header of the datagram number `sequence` that is sent at `sent`.
    fn write(&self, sent: Timestamp, sequence: u64, payload: &mut [u8]) {
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

/// Where the settings begin.
const START: usize = ClientHeader::DATAGRAM_LENGTH - ClientHeader::TCP_LENGTH;
