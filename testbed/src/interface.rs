//! What an interface counted, and the payload in it: the check on what a program reports.

use std::ops::Add;

/// Receive counters of a network interface: bytes and packets (`/proc/net/dev`, proc_pid_net(5)).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Counters {
    /// Bytes with their headers.
    pub bytes: u64,
    /// Packets; one that is segmented only by a network card (GSO) counts once, and so
    /// do its headers.
    pub packets: u64,
}

impl Counters {
    /// Parses the receive counters of `interface` from the text of `/proc/net/dev`. `None`: the
    /// interface is not in it.
    pub fn read(text: &str, interface: &str) -> Option<Self> {
        let mut lines = text.lines().filter_map(|line| line.trim().split_once(':'));
        let (_, counters) = lines.find(|(name, _)| *name == interface)?;
        let mut counters = counters.split_whitespace().map(str::parse);
        Some(Self { bytes: counters.next()?.ok()?, packets: counters.next()?.ok()? })
    }

    /// Payload bytes received since an `earlier` reading, if each packet has `headers` bytes of
    /// headers.
    ///
    /// It is `bytes - packets * headers`: an acknowledgement is a packet without payload, so that
    /// it takes away what it added. Handshakes, ARP, SACK blocks and the control connection do not
    /// matter beside seconds of traffic at full speed. Retransmissions would, and are prevented
    /// (see [`topology`](crate::topology)).
    pub fn payload_since(self, earlier: Self, headers: u64) -> u64 {
        let (bytes, packets) = (self.bytes - earlier.bytes, self.packets - earlier.packets);
        bytes.saturating_sub(packets * headers)
    }
}

impl Add for Counters {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self { bytes: self.bytes + other.bytes, packets: self.packets + other.packets }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "\
Inter-|   Receive                                                |  Transmit
 face |bytes    packets errs drop fifo frame compressed multicast|bytes    packets errs
    lo: 5200000     100    0    0    0     0          0         0  5200000     100    0
 near0:     700       9    0    0    0     0          0         0      800      10    0
";

    #[test]
    fn the_line_of_an_interface_is_found() {
        assert_eq!(Counters::read(TEXT, "lo"), Some(Counters { bytes: 5_200_000, packets: 100 }));
        assert_eq!(Counters::read(TEXT, "near0"), Some(Counters { bytes: 700, packets: 9 }));
        assert_eq!(Counters::read(TEXT, "face "), None);
    }

    #[test]
    fn headers_and_acknowledgements_are_no_payload() {
        let earlier = Counters { bytes: 1_000, packets: 10 };
        let full = Counters { bytes: 1_000 + 2 * (66 + 1_448) + 66, packets: 13 };
        assert_eq!(full.payload_since(earlier, 66), 2_896);
        let local = Counters { bytes: 1_000 + 52 + 65_483 + 52, packets: 12 };
        assert_eq!(local.payload_since(earlier, 52), 65_483);
    }
}
