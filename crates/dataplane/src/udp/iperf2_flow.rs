//! State of one UDP flow of iperf2 (sections 4 and 5 of docs/protocol/iperf2.md) that the engine and
//! the owner of the flow share.

use std::sync::mpsc::Receiver;
use std::sync::{Mutex, OnceLock, PoisonError};
use std::time::Duration;

use protocol::iperf2::{FlowDatagram, FlowStart, Transit};

/// A datagram that came to another socket than its flow's.
#[derive(Debug)]
pub struct EarlyDatagram {
    /// Header and payload.
    pub payload: Vec<u8>,
    /// When it was read, since the Unix epoch.
    pub arrival: Duration,
}

/// One UDP flow of an iperf2 client at its receiver.
#[derive(Debug)]
pub struct Iperf2Flow {
    start: FlowStart,
    /// Datagrams that came to another socket, which the receiver takes first.
    early: Mutex<Option<Receiver<EarlyDatagram>>>,
    /// Time in which a datagram may arrive at both sockets and is counted once. `None`: datagrams
    /// arrive at one socket.
    repeats_for: Option<Duration>,
    end: OnceLock<Box<[u8]>>,
    transit: OnceLock<Transit>,
}

impl Iperf2Flow {
    /// A flow that begins with `start`. `early` yields the datagrams that arrived at another socket than
    /// the receiver's. `repeats_for` is the time in which a datagram may arrive at both.
    pub const fn new(
        start: FlowStart,
        early: Receiver<EarlyDatagram>,
        repeats_for: Option<Duration>,
    ) -> Self {
        let early = Mutex::new(Some(early));
        Self { start, early, repeats_for, end: OnceLock::new(), transit: OnceLock::new() }
    }

    /// Format of the datagrams of the flow.
    pub const fn start(&self) -> &FlowStart {
        &self.start
    }

    /// The datagram by which the client ended the flow. `None`: the flow has not ended.
    pub fn end(&self) -> Option<&[u8]> {
        self.end.get().map(|end| &**end)
    }

    /// One-way delays of an ended flow. `None`: the client did not ask for them.
    pub fn transit(&self) -> Option<Transit> {
        self.transit.get().copied()
    }

    /// Datagrams that came to another socket, for the one receiver.
    pub(super) fn take_early(&self) -> Option<Receiver<EarlyDatagram>> {
        self.early.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    pub(super) const fn repeats_for(&self) -> Option<Duration> {
        self.repeats_for
    }

    /// Whether a datagram does not count as one of the flow; the first end of the flow is kept, and may
    /// count.
    pub(super) fn consume(&self, datagram: &[u8]) -> bool {
        match self.start.read(datagram) {
            FlowDatagram::Payload { .. } => false,
            FlowDatagram::End { sent, .. } => {
                let is_first = self.end.set(datagram.into()).is_ok();
                !is_first || sent.is_none()
            }
            FlowDatagram::Other => true,
        }
    }

    pub(super) fn conclude(&self, transit: Option<Transit>) {
        if let Some(transit) = transit {
            self.transit.get_or_init(|| transit);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::channel;

    use super::*;

    #[test]
    fn the_first_end_is_kept_and_nothing_of_it_is_payload() {
        let datagram = |sequence: i32| {
            let mut bytes = [b'7'; 40];
            bytes[..4].copy_from_slice(&sequence.to_be_bytes());
            bytes[4..12].fill(0);
            bytes[11] = 1;
            bytes
        };
        let start = FlowStart::recognise(&datagram(1)).expect("a flow");
        let flow = Iperf2Flow::new(start, channel().1, None);
        assert!(!flow.consume(&datagram(2)) && flow.end().is_none());
        assert!(flow.consume(&[0; 40]) && flow.end().is_none(), "a report");
        assert!(flow.consume(&datagram(-3)) && flow.consume(&datagram(-4)));
        assert_eq!(flow.end(), Some(&datagram(-3)[..]));
        assert!(flow.take_early().is_some() && flow.take_early().is_none());
    }
}
