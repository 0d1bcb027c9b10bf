//! What a client asks the server to send (clauses 3.3 to 3.6).

use super::client_header::{TRIP_TIMES_UPPER, UPPER_FLAGS};
use super::{ClientHeader, HeaderAmount, word};

/// What a client asks the server to send (clauses 3.3 to 3.6 of docs/protocol/iperf2.md).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Back {
    /// Over which connection, and when.
    pub way: BackWay,
    /// Length of a write, if the client asked for it.
    pub length: Option<u32>,
    /// When the server ends what it sends.
    pub amount: HeaderAmount,
    /// Whether each write is to tell when it was sent (`--trip-times`; clause 3.14).
    pub is_timed: bool,
    /// Bytes of the header that follow [`Opening::LENGTH`](super::Opening::LENGTH).
    pub rest: usize,
}

/// The connection over which a server sends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BackWay {
    /// That of the client, which only receives (`-R`).
    Reverse,
    /// That of the client, which sends, too (`--full-duplex`).
    FullDuplex,
    /// One that the server opens to a port of the client, at once (`-d`) or after what it received
    /// (`-r`).
    Connect {
        /// The port.
        port: u16,
        /// Whether at once.
        at_once: bool,
    },
}

impl Back {
    pub(super) fn read(way: BackWay, bytes: &[u8], is_extended: bool) -> Self {
        let number = |offset| word(bytes, offset).unwrap_or(0);
        let amount = number(AMOUNT);
        let amount = if amount > i32::MAX.unsigned_abs() {
            HeaderAmount::Centiseconds(amount.wrapping_neg())
        } else {
            HeaderAmount::Bytes(amount.into())
        };
        let rest = if is_extended { ClientHeader::TCP_LENGTH - super::Opening::LENGTH } else { 0 };
        let length = Some(number(LENGTH)).filter(|length| *length > 0);
        let upper = if is_extended { number(UPPER_FLAGS) >> 16 } else { 0 };
        let is_timed = upper & TRIP_TIMES_UPPER != 0;
        Self { way, length, amount, is_timed, rest }
    }

    /// The rate in bit/s that the `rest` of the header asks for; none: it asks for none.
    pub fn rate(rest: &[u8]) -> Option<u64> {
        let at = RATE - super::Opening::LENGTH;
        let (low, high) = (word(rest, at)?, word(rest, at + 4)?);
        let rate = u64::from(high) << 32 | u64::from(low);
        (rate > 0).then_some(rate)
    }
}

/// Offsets in the header.
const LENGTH: usize = 12;
const AMOUNT: usize = 20;
const RATE: usize = 48;
