//! The first bytes of a TCP connection (section 3).

use super::bounce::BOUNCEBACK;
use super::client_header::UPPER_FLAGS;
use super::{Back, BackWay, Bounce, word};

/// First bytes of an iperf2 client's TCP connection (section 3 of docs/protocol/iperf2.md).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Opening {
    /// Payload without a header that tells anything: 2.0.x.
    Payload,
    /// A header with the settings of the test.
    Header(Settings),
}

/// Settings that a client tells the server (clauses 3.3 to 3.6 of docs/protocol/iperf2.md).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settings {
    /// Connections of the client in one direction (`-P`).
    pub connections: u32,
    /// What it asks for beside what it sends.
    pub asks: Asks,
}

/// What a client asks of a server beside to receive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Asks {
    /// Nothing.
    Nothing,
    /// To send.
    Back(Back),
    /// To answer each write (`--bounceback`).
    Answers(Bounce),
    /// To answer writes of a length that cannot be answered.
    Refused,
}

impl Opening {
    /// Shortest opening that [`Self::recognise`] tells from iperf3's cookie, in bytes.
    pub const LENGTH: usize = 37;

    /// Recognises an iperf2 client by the first [`Self::LENGTH`] bytes; none: it is none, or there
    /// are too few.
    pub fn recognise(bytes: &[u8]) -> Option<Self> {
        let bytes = bytes.get(..Self::LENGTH)?;
        let flags = word(bytes, 0)?;
        if flags == 0 {
            let is_repeated =
                bytes[TESTED_AFTER_FLAGS..] == bytes[..Self::LENGTH - TESTED_AFTER_FLAGS];
            let has_connections = word(bytes, 4).is_some_and(|count| count > 0);
            if is_repeated && has_connections {
                return Some(Self::Header(Settings::read(flags, bytes)));
            }
            return is_pattern(bytes, TESTED_AFTER_FLAGS).then_some(Self::Payload);
        }
        if is_pattern(bytes, 0) {
            return Some(Self::Payload);
        }
        // A cookie is text, and a word of text has none of these bits alone.
        let is_header = flags & KNOWN != 0 && flags & !(KNOWN | LOW) == 0;
        (is_header && !bytes[0].is_ascii_graphic() || is_extended(flags))
            .then(|| Self::Header(Settings::read(flags, bytes)))
    }
}

impl Asks {
    /// What the header of a datagram of 2.1+ asks for to be sent (clause 4.3), and the rate in bit/s at
    /// which; all other datagrams ask for nothing.
    pub(super) fn in_datagram(payload: &[u8]) -> (Self, Option<u64>) {
        let words = payload.get(DATAGRAM_WORDS..).unwrap_or_default();
        let flags = word(words, 0).filter(|flags| is_extended(*flags));
        match flags.map(|flags| Settings::read(flags, words).asks) {
            Some(Self::Back(back)) => {
                (Self::Back(back), words.get(Opening::LENGTH..).and_then(Back::rate))
            }
            _ => (Self::Nothing, None),
        }
    }
}

impl Settings {
    fn read(flags: u32, bytes: &[u8]) -> Self {
        let upper = word(bytes, UPPER_FLAGS).map_or(0, |word| word >> 16);
        let is_extended = flags & EXTENDED != 0;
        let port = word(bytes, 8).and_then(|port| u16::try_from(port).ok());
        let way = if flags & VERSION1 != 0 {
            let at_once = flags & RUN_NOW != 0;
            port.filter(|port| *port > 0).map(|port| BackWay::Connect { port, at_once })
        } else if is_extended && upper & FULL_DUPLEX != 0 {
            Some(BackWay::FullDuplex)
        } else {
            (is_extended && upper & REVERSE != 0).then_some(BackWay::Reverse)
        };
        let connections = word(bytes, 4).unwrap_or(1).clamp(1, MOST_CONNECTIONS);
        if flags & BOUNCEBACK != 0 {
            // Each connection is a test of its own.
            let asks = Bounce::read(bytes).map_or(Asks::Refused, Asks::Answers);
            return Self { connections: 1, asks };
        }
        let asks = match way {
            Some(way) => Asks::Back(Back::read(way, bytes, is_extended)),
            None => Asks::Nothing,
        };
        Self { connections, asks }
    }
}

/// Whether it is the header of 2.1+, which tells its length.
const fn is_extended(flags: u32) -> bool {
    flags & EXTENDED != 0 && flags & LENGTH_TOLD != 0 && flags & !(KNOWN | LOW) == 0
}

/// Whether the bytes from `from` on are the digits that 2.0.x sends (clause 3.2).
fn is_pattern(bytes: &[u8], from: usize) -> bool {
    let mut counted = bytes.iter().enumerate().skip(from);
    counted.all(|(at, byte)| usize::from(*byte) == usize::from(b'0') + at % 10)
}

/// Where the words of a datagram begin: after sequence number and time.
const DATAGRAM_WORDS: usize = 16;
const VERSION1: u32 = 0x8000_0000;
const RUN_NOW: u32 = 1;
const EXTENDED: u32 = 0x4000_0000;
const LENGTH_TOLD: u32 = 0x0001_0000;
/// Flags that say what the header has (clause 3.4).
const KNOWN: u32 = 0xee83_0000;
/// Length of the header, and whether the other direction starts at once.
const LOW: u32 = 0x0000_ffff;
const REVERSE: u32 = 0x0400;
const FULL_DUPLEX: u32 = 0x0800;
/// 2.0.x leaves what it does not say as it was: the digits go on after this offset (clause 3.2).
const TESTED_AFTER_FLAGS: usize = 24;
/// More are not grouped, however many a client claims.
const MOST_CONNECTIONS: u32 = 1024;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::iperf2::HeaderAmount;
    use crate::iperf3::Cookie;

    /// What 2.1.8 sent in a capture, up to the length of a cookie.
    fn captured(flags: u32, connections: u32, upper: u32) -> [u8; Opening::LENGTH] {
        let mut bytes = [0; Opening::LENGTH];
        for (at, word) in [(0, flags), (4, connections), (8, 5001), (20, 0xffff_ffce), (32, upper)]
        {
            bytes[at..at + 4].copy_from_slice(&word.to_be_bytes());
        }
        bytes
    }

    fn digits() -> [u8; Opening::LENGTH] {
        std::array::from_fn(|at| b'0' + u8::try_from(at % 10).expect("a digit"))
    }

    /// Connections, and how the server is to send.
    fn settings(bytes: &[u8]) -> Option<(u32, Option<BackWay>)> {
        match Opening::recognise(bytes)? {
            Opening::Header(Settings { connections, asks: Asks::Back(back) }) => {
                assert_eq!(back.amount, HeaderAmount::Centiseconds(50));
                Some((connections, Some(back.way)))
            }
            Opening::Header(settings) => Some((settings.connections, None)),
            Opening::Payload => None,
        }
    }

    #[test]
    fn headers_of_captures_are_read() {
        let at_once = BackWay::Connect { port: 5001, at_once: true };
        let later = BackWay::Connect { port: 5001, at_once: false };
        let (reverse, duplex) = (BackWay::Reverse, BackWay::FullDuplex);
        for (name, flags, connections, upper, way) in [
            ("plain", 0x4001_0078, 2, 0, None),
            ("--trip-times", 0x4001_00a0, 1, 0x0010_0000, None),
            ("-d", 0xc001_0079, 1, 0, Some(at_once)),
            ("-r", 0xc001_0078, 1, 0, Some(later)),
            ("-R", 0x4401_0078, 1, 0x0400_0000, Some(reverse)),
            ("--full-duplex", 0x4401_0078, 1, 0x0800_0000, Some(duplex)),
            ("-d of 2.0.5", 0x8000_0001, 1, 0, Some(at_once)),
        ] {
            let read = settings(&captured(flags, connections, upper));
            assert_eq!(read, Some((connections, way)), "{name}");
        }
        assert_eq!(settings(&captured(0x4001_0078, u32::MAX, 0)), Some((1024, None)));
    }

    #[test]
    fn datagrams_of_captures_ask_for_what_their_client_wants() {
        let at_once = BackWay::Connect { port: 5001, at_once: true };
        let later = BackWay::Connect { port: 5001, at_once: false };
        let datagram = |flags, upper: u32| {
            let mut bytes = [&[0; DATAGRAM_WORDS][..], &captured(flags, 1, upper)].concat();
            bytes.resize(76, 0);
            bytes[64..68].copy_from_slice(&100_000_u32.to_be_bytes());
            bytes
        };
        for (name, flags, upper, way) in [
            ("-u -R", 0x6c01_0098, 0x0400_0000, BackWay::Reverse),
            ("-u --full-duplex", 0x6c01_0098, 0x0808_0000, BackWay::FullDuplex),
            ("-u -d", 0xc801_0099, 0, at_once),
            ("-u -r", 0xc801_0098, 0, later),
        ] {
            let bytes = datagram(flags, upper);
            let (asks, rate) = Asks::in_datagram(&bytes);
            let Asks::Back(back) = asks else { panic!("{name}: {asks:?}") };
            assert_eq!((back.way, rate), (way, Some(100_000)), "{name}");
            assert_eq!(back.amount, HeaderAmount::Centiseconds(50), "{name}");
            assert_eq!(Asks::in_datagram(&bytes[..60]).1, None, "{name}, cut");
        }
        let plain = [datagram(0x4801_0098, 0), b"0123456789".repeat(50), vec![0xff; 200]];
        for bytes in plain {
            assert_eq!(Asks::in_datagram(&bytes), (Asks::Nothing, None));
        }
    }

    #[test]
    fn the_header_of_2_0_5_comes_twice() {
        let mut bytes = captured(0, 2, 0);
        bytes[32..].fill(0);
        assert_eq!(Opening::recognise(&bytes), None);
        bytes.copy_within(..13, TESTED_AFTER_FLAGS);
        assert_eq!(settings(&bytes), Some((2, None)));
        assert_eq!(Opening::recognise(&[0; Opening::LENGTH]), None);
    }

    #[test]
    fn payload_of_old_clients_is_recognised() {
        let mut bytes = digits();
        assert_eq!(Opening::recognise(&bytes), Some(Opening::Payload));
        bytes[..4].fill(0);
        assert_eq!(Opening::recognise(&bytes), Some(Opening::Payload));
        bytes[30] = b'x';
        assert_eq!(Opening::recognise(&bytes), None);
    }

    #[test]
    fn cookies_and_noise_are_no_iperf2() {
        for seed in 0..=255 {
            let cookie = Cookie::from_random([seed; 36]);
            assert_eq!(Opening::recognise(cookie.as_bytes()), None);
        }
        for text in
            [&b"GET / HTTP/1.1\r\nHost: example.org\r\nAccept: */*"[..], &[0; 40], &[0xff; 40]]
        {
            assert_eq!(Opening::recognise(text), None, "{text:?}");
        }
        assert_eq!(Opening::recognise(&digits()[..36]), None, "too few");
    }
}
