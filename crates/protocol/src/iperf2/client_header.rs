//! What a client says of its test, at the start of a TCP connection and in each datagram (clauses
//! 3.3 to 3.6 and 4.3).

use std::time::Duration;

/// Header of a client of 2.1+ (clauses 3.3 to 3.6 of docs/protocol/iperf2.md).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClientHeader {
    /// Connections, or flows of datagrams, of the client in one direction (`-P`).
    pub connections: u32,
    /// Port of the server.
    pub port: u16,
    /// Length of a write or of a datagram, if it was asked for.
    pub length: Option<u32>,
    /// When the test ends.
    pub amount: HeaderAmount,
    /// Who sends.
    pub way: HeaderWay,
    /// Type of service (`-S`).
    pub type_of_service: u8,
    /// Rate of each connection in bit/s, if it was asked for (`-b`).
    pub rate: Option<u64>,
    /// Time of day at the start of the test, since 1970; none: the server is not asked for times on the
    /// way (`--trip-times`).
    pub trip_times_from: Option<Duration>,
}

/// Settings of a test that each datagram of a client carries after sequence number and time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DatagramSettings {
    bytes: [u8; DatagramSettings::MOST],
    length: usize,
}

impl DatagramSettings {
    /// Those of a server, which tells none (clause 4.9).
    pub const NONE: Self = Self { bytes: [0; Self::MOST], length: 0 };
    /// Bytes of the longest.
    const MOST: usize = 108;

    /// The bytes.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes[..self.length]
    }
}

/// What ends a test, as its client tells the server (clause 3.3 of docs/protocol/iperf2.md).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HeaderAmount {
    /// Time in units of 10 ms.
    Centiseconds(u32),
    /// Bytes of each connection.
    Bytes(u64),
}

/// Who sends (clauses 3.4 and 3.6 of docs/protocol/iperf2.md).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HeaderWay {
    /// The client.
    Client,
    /// The server (`-R`).
    Server,
    /// Both over the connection of the client (`--full-duplex`).
    Both,
    /// The client, and the server over connections that it opens to a port of the client.
    ServerConnects {
        /// The port, in place of that of the server.
        port: u16,
        /// Whether at once (`-d`), or after what the client sends (`-r`).
        at_once: bool,
    },
}

impl ClientHeader {
    /// Length at the start of a TCP connection, in bytes.
    pub const TCP_LENGTH: usize = 60;
    /// Length at the start of a TCP connection with times on the way, in bytes.
    pub const TIMED_LENGTH: usize = 80;
    /// Length of the header of a datagram of 2.1+, sequence number and time included, in bytes.
    pub const DATAGRAM_LENGTH: usize = 76;

    /// The first bytes of a TCP connection.
    pub fn tcp(&self) -> [u8; Self::TCP_LENGTH] {
        bytes(&self.words(EXTENDED | self.other_way() | length_flags(Self::TCP_LENGTH)))
    }

    /// The first bytes of a TCP connection, with the start of the test if the server is asked for times on
    /// the way.
    pub fn opening(&self) -> Vec<u8> {
        let Some(start) = self.trip_times_from else { return self.tcp().to_vec() };
        let flags = EXTENDED | self.other_way() | length_flags(Self::TIMED_LENGTH);
        let mut opening = bytes(&self.words(flags)).to_vec();
        opening.resize(Self::TIMED_LENGTH, 0);
        let seconds = u32::try_from(start.as_secs()).unwrap_or(u32::MAX);
        let times = [seconds, start.subsec_micros()].map(u32::to_be_bytes);
        opening[TCP_START..TCP_START + 8].copy_from_slice(times.as_flattened());
        opening
    }

    /// The bytes of each datagram that follow sequence number and time (clause 4.3).
    pub fn datagram(&self) -> DatagramSettings {
        let told = |length| EXTENDED | WIDE_NUMBERS | self.other_way() | length_flags(length);
        let mut settings =
            DatagramSettings { bytes: [0; DatagramSettings::MOST], length: Self::TCP_LENGTH };
        let flags = match self.trip_times_from {
            None => told(Self::DATAGRAM_LENGTH),
            Some(start) => {
                let seconds = u32::try_from(start.as_secs()).unwrap_or(u32::MAX);
                let times = [seconds, start.subsec_micros()].map(u32::to_be_bytes);
                settings.bytes[START..START + 8].copy_from_slice(times.as_flattened());
                settings.length = DatagramSettings::MOST;
                told(DatagramSettings::MOST) | UDP_TESTS
            }
        };
        settings.bytes[..Self::TCP_LENGTH].copy_from_slice(&bytes(&self.words(flags)));
        settings
    }

    /// Bytes of the shortest datagram that has all of it.
    pub const fn least_datagram(&self) -> usize {
        let before = Self::DATAGRAM_LENGTH - Self::TCP_LENGTH;
        before
            + if self.trip_times_from.is_some() { DatagramSettings::MOST } else { Self::TCP_LENGTH }
    }

    const fn other_way(&self) -> u32 {
        match self.way {
            HeaderWay::Client => 0,
            HeaderWay::Server | HeaderWay::Both => REVERSED,
            HeaderWay::ServerConnects { at_once, .. } => SECOND | at_once as u32,
        }
    }

    #[expect(clippy::cast_possible_truncation, reason = "the wire has one word for it")]
    fn words(&self, flags: u32) -> [u32; Self::TCP_LENGTH / 4] {
        let amount = match self.amount {
            // Negative: a time.
            HeaderAmount::Centiseconds(time) => time.min(i32::MAX.unsigned_abs()).wrapping_neg(),
            HeaderAmount::Bytes(bytes) => bytes.min(i32::MAX as u64) as u32,
        };
        let upper = match self.way {
            HeaderWay::Server => REVERSE_UPPER,
            // That flag is one of datagrams alone.
            HeaderWay::Both if flags & WIDE_NUMBERS != 0 => BOTH_UPPER | NO_REPORT_UPPER,
            HeaderWay::Both => BOTH_UPPER,
            HeaderWay::Client | HeaderWay::ServerConnects { .. } => 0,
        };
        let upper = upper | if self.trip_times_from.is_some() { TRIP_TIMES_UPPER } else { 0 };
        let rate = self.rate.unwrap_or(0);
        let port = match self.way {
            HeaderWay::ServerConnects { port, .. } => port,
            HeaderWay::Client | HeaderWay::Server | HeaderWay::Both => self.port,
        };
        let mut words = [0; Self::TCP_LENGTH / 4];
        words[..3].copy_from_slice(&[flags, self.connections, port.into()]);
        words[3] = self.length.unwrap_or(0);
        words[5] = amount;
        words[8] = upper << 16;
        words[9..11].copy_from_slice(&VERSION);
        words[11] = self.type_of_service.into();
        words[12..14].copy_from_slice(&[rate as u32, (rate >> 32) as u32]);
        words
    }
}

/// The flags that tell the length of the header.
#[expect(clippy::cast_possible_truncation, reason = "a header has less than 256 bytes")]
pub(super) const fn length_flags(length: usize) -> u32 {
    LENGTH_TOLD | (length as u32) << 1
}

fn bytes(words: &[u32; ClientHeader::TCP_LENGTH / 4]) -> [u8; ClientHeader::TCP_LENGTH] {
    let mut bytes = [0; ClientHeader::TCP_LENGTH];
    for (place, word) in bytes.chunks_exact_mut(4).zip(words) {
        place.copy_from_slice(&word.to_be_bytes());
    }
    bytes
}

const SECOND: u32 = 0x8000_0000;
pub(super) const EXTENDED: u32 = 0x4000_0000;
const WIDE_NUMBERS: u32 = 0x0800_0000;
const REVERSED: u32 = 0x0400_0000;
const LENGTH_TOLD: u32 = 0x0001_0000;
const REVERSE_UPPER: u32 = 0x0400;
const BOTH_UPPER: u32 = 0x0800;
/// The end of the flow is not answered.
const NO_REPORT_UPPER: u32 = 0x0008;
pub(super) const TRIP_TIMES_UPPER: u32 = 0x0010;
/// Offset of the upper flags in a header of 2.1+.
pub(super) const UPPER_FLAGS: usize = 32;
/// Further words of datagrams follow.
const UDP_TESTS: u32 = 0x2000_0000;
/// Offset of the start among what follows sequence number and time.
const START: usize = 96;
/// Likewise at the start of a connection.
const TCP_START: usize = 64;
/// That of the captures, 2.1.8: a server may look for what a version can.
pub(super) const VERSION: [u32; 2] = [0x0002_0001, 0x0008_0003];

#[cfg(test)]
mod tests {
    use super::*;

    const PLAIN: ClientHeader = ClientHeader {
        connections: 1,
        port: 6111,
        length: None,
        amount: HeaderAmount::Centiseconds(100),
        way: HeaderWay::Client,
        type_of_service: 0,
        rate: Some(2 << 20),
        trip_times_from: None,
    };

    fn hexadecimal(bytes: &[u8]) -> String {
        let number =
            |word: &[u8]| word.iter().fold(0, |number, byte| number << 8 | u32::from(*byte));
        let words = bytes.chunks_exact(4).map(|word| format!("{:08x}", number(word)));
        words.collect::<Vec<_>>().join(" ").replace("00000000", "0")
    }

    #[test]
    fn headers_are_those_of_captures() {
        let tcp = "40010078 00000001 000017df 0 0 ffffff9c 0 0 0 00020001 00080003 0 00200000 0 0";
        assert_eq!(hexadecimal(&PLAIN.tcp()), tcp, "-b 2M -t 1");
        let reverse = ClientHeader { way: HeaderWay::Server, ..PLAIN };
        let tcp =
            "44010078 00000001 000017df 0 0 ffffff9c 0 0 04000000 00020001 00080003 0 00200000 0 0";
        assert_eq!(hexadecimal(&reverse.tcp()), tcp, "-R -b 2M -t 1");
        let both = ClientHeader { way: HeaderWay::Both, ..PLAIN };
        let tcp =
            "44010078 00000001 000017df 0 0 ffffff9c 0 0 08000000 00020001 00080003 0 00200000 0 0";
        assert_eq!(hexadecimal(&both.tcp()), tcp, "--full-duplex -b 2M -t 1");
        let amount = ClientHeader {
            length: Some(10 << 10),
            amount: HeaderAmount::Bytes(300 << 10),
            type_of_service: 0x10,
            rate: None,
            ..PLAIN
        };
        let tcp =
            "40010078 00000001 000017df 00002800 0 0004b000 0 0 0 00020001 00080003 00000010 0 0 0";
        assert_eq!(hexadecimal(&amount.tcp()), tcp, "-n 300K -l 10K -S 0x10");
        let way = HeaderWay::ServerConnects { port: 6000, at_once: true };
        let back = ClientHeader { way, rate: Some(5 << 20), ..amount };
        let tcp = "c0010079 00000001 00001770 00002800 0 0004b000 0 0 0 00020001 00080003 00000010 \
                   00500000 0 0";
        assert_eq!(hexadecimal(&back.tcp()), tcp, "-n 300K -d -l 10K -b 5M -L 6000 -S 0x10");
        let udp = ClientHeader { port: 6112, rate: Some(1 << 20), ..PLAIN };
        let datagram =
            "48010098 00000001 000017e0 0 0 ffffff9c 0 0 0 00020001 00080003 0 00100000 0 0";
        assert_eq!(hexadecimal(udp.datagram().bytes()), datagram, "-u -t 1");
        let both = ClientHeader { way: HeaderWay::Both, ..udp };
        let datagram =
            "4c010098 00000001 000017e0 0 0 ffffff9c 0 0 08080000 00020001 00080003 0 00100000 0 0";
        assert_eq!(hexadecimal(both.datagram().bytes()), datagram, "-u --full-duplex -t 1");
        let start = Duration::new(0x6b09_7e78, 0x0001_dcfd * 1_000);
        let timed = ClientHeader { trip_times_from: Some(start), ..udp };
        let datagram = "680100d8 00000001 000017e0 0 0 ffffff9c 0 0 00100000 00020001 00080003 0 \
                        00100000 0 0 0 0 0 0 0 0 0 0 0 6b097e78 0001dcfd 0";
        assert_eq!(hexadecimal(timed.datagram().bytes()), datagram, "-u --trip-times -t 1");
        let opening = "400100a0 00000001 000017e0 0 0 ffffff9c 0 0 00100000 00020001 00080003 0 \
                       00100000 0 0 0 6b097e78 0001dcfd 0 0";
        assert_eq!(hexadecimal(&timed.opening()), opening, "--trip-times -t 1");
        assert_eq!(udp.opening(), udp.tcp());
        assert_eq!((udp.least_datagram(), timed.least_datagram()), (76, 124));
    }

    #[test]
    fn our_server_reads_what_our_client_says() {
        use crate::iperf2::{Asks, Back, BackWay, Opening, SequenceWidth, Settings};
        let many = ClientHeader { connections: 3, ..PLAIN };
        let settings = Settings { connections: 3, asks: Asks::Nothing };
        assert_eq!(Opening::recognise(&many.tcp()), Some(Opening::Header(settings)));
        let reverse = ClientHeader { way: HeaderWay::Server, ..PLAIN };
        let amount = HeaderAmount::Centiseconds(100);
        let back = Back { way: BackWay::Reverse, length: None, amount, is_timed: false, rest: 23 };
        let settings = Settings { connections: 1, asks: Asks::Back(back) };
        assert_eq!(Opening::recognise(&reverse.tcp()), Some(Opening::Header(settings)));
        assert_eq!(Back::rate(&reverse.tcp()[Opening::LENGTH..]), Some(2 << 20));
        for (way, back) in [
            (HeaderWay::Client, None),
            (HeaderWay::Server, Some(BackWay::Reverse)),
            (HeaderWay::Both, Some(BackWay::FullDuplex)),
            (
                HeaderWay::ServerConnects { port: 7, at_once: true },
                Some(BackWay::Connect { port: 7, at_once: true }),
            ),
        ] {
            let mut datagram = vec![0; 16];
            datagram.extend(ClientHeader { way, ..PLAIN }.datagram().bytes());
            assert_eq!(SequenceWidth::told(&datagram), SequenceWidth::Bits64);
            let read = match Asks::in_datagram(&datagram) {
                (Asks::Back(back), Some(rate)) if rate == 2 << 20 => Some(back.way),
                _ => None,
            };
            assert_eq!(read, back, "{way:?}");
        }
    }
}
