//! Ends UDP flows: a datagram with a negative number is repeated until the server reports (clause
//! 4.5 and section 5 of docs/protocol/iperf2.md).

use std::net::UdpSocket;
use std::os::fd::AsFd;
use std::sync::Arc;
use std::time::Duration;

use dataplane::udp::DatagramHeader;
use linux::poll::{PollFd, wait};
use measurement::record::{OneWayDelay, PeerStream};
use measurement::{ByteSize, Order};
use protocol::iperf2::{ServerReport, end_for_old_server};

use crate::clock::Clock;
use crate::sockets::{Opened, StreamSocket};
use crate::spec::Sent;

/// A flow whose report has not come.
struct Flow {
    id: u32,
    socket: Arc<UdpSocket>,
    /// Number of the datagram that would be sent next.
    next: u64,
    /// The datagram by which the server answered the first one; empty: it did not.
    said: Vec<u8>,
}

/// Whether the receiver of a flow reports when it has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Answer {
    Awaited,
    /// It does not, as that of a flow over which the server sends (clause 4.10): so many datagrams end it.
    None(usize),
}

/// Ends the flows of those `streams` on which `sent` was sent; the reports that came.
pub(super) fn end(
    streams: &[Opened],
    sent: &[Sent],
    (header, block): (DatagramHeader, ByteSize),
    (answer, clock): (Answer, &dyn Clock),
) -> Vec<PeerStream> {
    let senders = streams.iter().filter(|one| one.sender);
    let mut flows: Vec<_> = senders.zip(sent).filter_map(flow).collect();
    // No member of a group answers.
    let is_to_group = |flow: &Flow| flow.socket.peer_addr().is_ok_and(|to| to.ip().is_multicast());
    let (tries, pause) = match answer {
        // What comes is for the receiver of the flow.
        Answer::None(tries) => (tries, Duration::ZERO),
        Answer::Awaited if flows.iter().any(is_to_group) => (TRIES_TO_GROUP, PAUSE_TO_GROUP),
        Answer::Awaited => {
            for flow in &mut flows {
                flow.said = flow.answer().unwrap_or_default();
            }
            (TRIES, PAUSE)
        }
    };
    let mut reports = Vec::new();
    let mut datagram = vec![0; usize::try_from(block.bytes()).unwrap_or(MOST_RECEIVED)];
    for _ in 0..tries {
        let now = clock.now();
        for flow in &mut flows {
            header.write(now, flow.next.wrapping_neg(), &mut datagram);
            end_for_old_server(&flow.said, &mut datagram);
            // One that cannot be sent is not answered.
            _ = flow.socket.send(&datagram);
            flow.next += 1;
        }
        let deadline = now.after(pause);
        while !flows.is_empty() && clock.now() < deadline {
            let left = deadline.since(clock.now());
            let mut watches: Vec<_> =
                flows.iter().map(|flow| PollFd::readable(flow.socket.as_fd())).collect();
            if wait(&mut watches, Some(left)).is_err() {
                break;
            }
            flows.retain(|flow| match flow.report() {
                Some(report) => {
                    reports.push(of_stream(flow.id, &report));
                    false
                }
                None => true,
            });
        }
        if flows.is_empty() {
            break;
        }
    }
    reports.order_by_key(|report| report.id);
    reports
}

fn flow((one, sent): (&Opened, &Sent)) -> Option<Flow> {
    let StreamSocket::Udp { socket } = &one.socket else { return None };
    let socket = Arc::clone(socket);
    Some(Flow { id: one.id, socket, next: sent.datagrams + 1, said: Vec::new() })
}

impl Flow {
    /// The server's report, if it has come.
    fn report(&self) -> Option<ServerReport> {
        ServerReport::read(&self.answer()?)
    }

    /// A datagram of the server.
    fn answer(&self) -> Option<Vec<u8>> {
        let mut answer = vec![0; MOST_RECEIVED];
        // An error is that of an earlier datagram, or there is nothing yet.
        let length = self.socket.recv(&mut answer).ok()?;
        answer.truncate(length);
        Some(answer)
    }
}

fn of_stream(id: u32, report: &ServerReport) -> PeerStream {
    PeerStream {
        id,
        bytes: report.bytes,
        seconds: report.span.as_secs_f64(),
        datagrams: report.datagrams,
        lost: report.lost,
        jitter_seconds: report.jitter.as_secs_f64(),
        one_way: report.transit.map(|transit| OneWayDelay {
            count: transit.count.into(),
            mean_seconds: seconds(transit.mean as f64),
            min_seconds: seconds(transit.least as f64),
            max_seconds: seconds(transit.most as f64),
            deviation_seconds: seconds(transit.deviation()),
        }),
        ..PeerStream::default()
    }
}

fn seconds(micros: f64) -> f64 {
    micros / 1e6
}

/// A report has 128 bytes, and may be padded.
const MOST_RECEIVED: usize = 2_048;
/// As iperf2 does it (clause 4.5).
const TRIES: usize = 10;
const PAUSE: Duration = Duration::from_millis(250);
/// To a multicast group.
const TRIES_TO_GROUP: usize = 1;
const PAUSE_TO_GROUP: Duration = Duration::from_millis(20);
