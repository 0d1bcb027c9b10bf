//! What the client of a UDP flow hears at its end.

use std::net::UdpSocket;
use std::os::fd::AsFd;
use std::time::Duration;

use dataplane::udp::Iperf2Flow;
use linux::poll::{PollFd, wait};
use protocol::iperf2::{FlowDatagram, ServerReport};

use super::places::FlowPlace;
use crate::clock::Clock;

/// What an address, which may be forged, was sent of what it may be sent: no more bytes than came.
pub(super) struct Answers {
    report: ServerReport,
    left: u64,
    count: u32,
}

impl Answers {
    /// None yet, to who has sent so many bytes.
    pub(super) const fn new(report: ServerReport, came: u64) -> Self {
        Self { report, left: came, count: 0 }
    }

    /// What they tell.
    pub(super) const fn report(&self) -> &ServerReport {
        &self.report
    }

    /// Answers the end of a flow, unless nobody waits for that, or it goes to a multicast group, of
    /// which each member would answer.
    pub(super) fn answer(&mut self, flow: &Iperf2Flow, socket: &UdpSocket) {
        let most = usize::try_from(self.left).unwrap_or(usize::MAX);
        let is_group = socket.local_addr().is_ok_and(|local| local.ip().is_multicast());
        if flow.start().is_full_duplex() || is_group || self.count >= MOST_ANSWERS {
            return;
        }
        if let Some(answer) = flow.start().answer(&self.report, most) {
            self.count += 1;
            self.left = self.left.saturating_sub(answer.len() as u64);
            // One that is lost is asked for again.
            _ = socket.send(&answer);
        }
    }

    /// Answers again while the client has not heard, for no longer than `time`.
    pub(super) fn repeat(
        &mut self,
        (flow, socket): (&Iperf2Flow, &UdpSocket),
        place: &FlowPlace,
        (time, clock): (Duration, &dyn Clock),
    ) {
        let until = clock.now().after(time);
        let mut room = vec![0; MOST_REPEATED];
        while self.count < MOST_ANSWERS && !place.is_taken() {
            let left = until.since(clock.now());
            let has_waited = wait(&mut [PollFd::readable(socket.as_fd())], Some(left.min(LOOK)));
            if left.is_zero() || has_waited.is_err() {
                return;
            }
            let Ok(length) = linux::message::receive_datagram(socket, &mut room) else {
                continue;
            };
            let datagram = &room[..length.min(MOST_REPEATED)];
            self.left += datagram.len() as u64;
            if matches!(flow.start().read(datagram), FlowDatagram::End { .. }) {
                self.answer(flow, socket);
            }
        }
    }
}

/// How often it is looked whether the flow has its place.
const LOOK: Duration = Duration::from_millis(100);
/// A client sends the end of its flow up to ten times (clause 4.5 of docs/protocol/iperf2.md).
const MOST_ANSWERS: u32 = 10;
/// Bytes of a datagram that are read then.
const MOST_REPEATED: usize = 2_048;
