//! What a test needs while its streams come, and not any longer.

use std::os::fd::{AsFd, BorrowedFd};
use std::time::Duration;

use linux::epoll::{Epoll, Events, Interest};
use measurement::Timestamp;
use protocol::iperf3::{Announcement, Parameters, Server};

use crate::server::registry::Numbering;
use crate::server::setup_deadline::{Conditions, SetupDeadline};
use crate::sockets::{Opened, StreamSocket};

/// How the streams of one test come.
pub(super) struct Gathering {
    numbering: Numbering,
    /// Streams that may be on their way.
    under_way: u32,
    deadline: SetupDeadline,
    /// How many of them the client knows to have come.
    reported: u32,
    /// Watches the sockets of UDP streams: a client may say hello again.
    hellos: Option<Epoll>,
}

impl Gathering {
    pub(super) fn new(asked: &Parameters, under_way: u32) -> Self {
        let peer = asked.announcement.as_ref();
        let streams = asked.plan.streams_in_all();
        let is_numbered = peer.is_some_and(Announcement::knows_many_streams);
        Self {
            numbering: if is_numbered { Numbering::Explicit } else { Numbering::ByArrival },
            under_way,
            deadline: if is_numbered {
                SetupDeadline::in_rounds(streams, under_way)
            } else {
                SetupDeadline::one_by_one(streams)
            },
            reported: 0,
            hellos: None,
        }
    }

    pub(super) const fn numbering(&self) -> Numbering {
        self.numbering
    }

    /// A hello without a token has no place for a number either.
    pub(super) fn count_arrivals(&mut self, streams: u32) {
        self.numbering = Numbering::ByArrival;
        self.deadline = SetupDeadline::one_by_one(streams);
    }

    /// The client may open its streams.
    pub(super) const fn begin(&mut self, now: Timestamp) {
        self.deadline.begin(now);
    }

    /// `count` streams have come.
    pub(super) fn came(&mut self, count: u32, now: Timestamp) {
        self.deadline.came(count, now);
    }

    /// When the client has failed that brings no more.
    pub(super) fn limit(&self, way: Conditions) -> Timestamp {
        self.deadline.limit(way)
    }

    /// To be said before the client may open its streams, to these extra ports too.
    pub(super) fn offer(&self, ports: Vec<u16>, machine: &mut Server) {
        if self.numbering == Numbering::Explicit {
            machine.offer(self.under_way, ports);
        }
    }

    /// `count` streams have come: reports it to the client, but not each of them (clause 13.13).
    pub(super) fn report(&mut self, count: usize, machine: &mut Server) {
        let count = u32::try_from(count).unwrap_or(u32::MAX);
        if count >= self.reported + (self.under_way / PARTS).max(1) {
            self.reported = count;
            machine.report_arrived(count);
        }
    }

    /// Watches the last of `opened` for hellos.
    pub(super) fn watch_last(&mut self, opened: &[Opened]) {
        let Some(last) = opened.last() else { return };
        let StreamSocket::Udp { socket } = &last.socket else { return };
        if self.hellos.is_none() {
            self.hellos = Epoll::new().ok();
        }
        // Where none can be watched, the client's patience must do.
        if let Some(epoll) = &self.hellos {
            _ = epoll.add(&**socket, Interest::Readable, opened.len() as u64 - 1);
        }
    }

    /// Becomes readable when a client says hello again.
    pub(super) fn repeated_hellos(&self) -> Option<BorrowedFd<'_>> {
        self.hellos.as_ref().map(AsFd::as_fd)
    }

    /// On which of the streams, counted as they came.
    pub(super) fn heard(&self) -> Vec<usize> {
        let mut heard = Vec::new();
        if let Some(epoll) = &self.hellos {
            let mut events = Events::with_capacity(MOST_EVENTS);
            let note = |token| heard.extend(usize::try_from(token));
            // What is not reported now is next time.
            _ = epoll.wait(&mut events, Some(Duration::ZERO), note);
        }
        heard
    }

    /// All are there.
    pub(super) fn finish(&mut self) {
        self.hellos = None;
    }
}

/// The client hears of arrivals so many times before it has to wait.
const PARTS: u32 = 4;
const MOST_EVENTS: usize = 64;
