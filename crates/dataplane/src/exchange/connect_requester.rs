//! Asks over TCP with a connection for each request.

use std::io::{self, ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;
use std::time::Duration;

use linux::epoll::Interest;
use linux::tcp::TcpOptions;
use measurement::{Probe, StreamCounters, Timestamp};

use super::{Parameters, RequesterConfig, RoundTripStatistics, Schedule};
use crate::counters::Counters;
use crate::scratch::Scratch;
use crate::stream::{Step, Stream};

/// One stream's calls, one after another.
pub(super) struct ConnectRequester {
    to: SocketAddr,
    options: TcpOptions,
    /// The stream that was opened with the test; it carries nothing.
    idle: Arc<TcpStream>,
    parameters: Parameters,
    schedule: Schedule,
    call: Option<Call>,
    count: StreamCounters,
    published: Arc<Counters>,
    statistics: Arc<RoundTripStatistics>,
}

/// One connection.
struct Call {
    socket: TcpStream,
    began: Timestamp,
    unsent: usize,
    missing: usize,
    /// Its worker watches it.
    is_watched: bool,
}

/// How far a call is.
enum Progress {
    Waits,
    GoesOn,
    Ended,
}

impl ConnectRequester {
    pub(super) fn new(
        (to, options): (SocketAddr, TcpOptions),
        idle: Arc<TcpStream>,
        config: RequesterConfig,
    ) -> Self {
        let parameters = Parameters::new(&config.exchange);
        Self {
            to,
            options,
            idle,
            parameters,
            schedule: Schedule::new(parameters.every),
            call: None,
            count: StreamCounters::default(),
            published: config.counters,
            statistics: config.statistics,
        }
    }

    fn begin(&self) -> io::Result<Call> {
        let began = crate::now();
        let socket = linux::tcp::start_connect(self.to, &self.options)?;
        let (unsent, missing) = (self.parameters.request, self.parameters.response);
        Ok(Call { socket, began, unsent, missing, is_watched: false })
    }

    /// The answer has come.
    fn note(&mut self, began: Timestamp) {
        let now = crate::now();
        let time = now.since(began);
        self.count.blocks += 1;
        self.count.sequence += 1;
        self.count.bytes += (self.parameters.request + self.parameters.response) as u64;
        self.count.last = now;
        self.statistics.came(time);
        if self.parameters.every.is_some() {
            let round_trip = Some(time);
            self.statistics.note(&Probe { sent: began, round_trip, ..Probe::default() });
        }
        self.published.publish(&self.count);
    }

    /// Goes on with the call that is under way.
    fn go_on(&mut self, scratch: &mut Scratch) -> io::Result<Progress> {
        let Some(call) = &mut self.call else { return Ok(Progress::Ended) };
        while call.unsent > 0 {
            match (&call.socket).write(&scratch.payload()[..call.unsent]) {
                Ok(written) => call.unsent -= written,
                // Not connected yet.
                Err(error) if is_early(&error) => return Ok(Progress::Waits),
                Err(error) => return Err(error),
            }
        }
        // The other end closes first, so that the ports here are free at once: a call lasts
        // until its end has come, and is timed until its answer has.
        for _ in 0..MAX_PER_STEP {
            let read = match (&call.socket).read(scratch.buffer()) {
                Ok(0) if call.missing > 0 => return Err(ErrorKind::UnexpectedEof.into()),
                Ok(0) => return Ok(Progress::Ended),
                Ok(read) => read,
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(Progress::Waits),
                Err(error) => return Err(error),
            };
            let is_last = call.missing > 0 && read >= call.missing;
            call.missing = call.missing.saturating_sub(read);
            if is_last {
                let began = call.began;
                self.note(began);
                return self.go_on(scratch);
            }
        }
        Ok(Progress::GoesOn)
    }

    /// What is waited for as long as the call does.
    fn rest(&mut self) -> Step {
        let is_watched = |call: &mut Call| std::mem::replace(&mut call.is_watched, true);
        match &mut self.call {
            _ if self.parameters.busy => Step::Again,
            Some(call) => {
                if is_watched(call) {
                    Step::Readable
                } else {
                    Step::Watch
                }
            }
            None => Step::Readable,
        }
    }

    fn advance(&mut self, now: Timestamp, scratch: &mut Scratch) -> io::Result<Step> {
        if self.call.is_none() {
            if let Some(due) = self.schedule.due(now) {
                return Ok(Step::Until(due));
            }
            self.statistics.skipped(self.schedule.sent(now));
            self.call = Some(self.begin()?);
        }
        match self.go_on(scratch)? {
            Progress::Waits => Ok(self.rest()),
            Progress::GoesOn => Ok(Step::Again),
            Progress::Ended => {
                self.call = None;
                Ok(Step::Again)
            }
        }
    }
}

/// Whether a socket that connects cannot be written to yet.
fn is_early(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::NotConnected)
}

/// Whether this host has no port, or no descriptor, at the moment, or the call was dropped.
fn is_passing(error: &io::Error) -> bool {
    use ErrorKind::{AddrInUse, AddrNotAvailable, ConnectionReset, TimedOut, UnexpectedEof};
    let kinds = [AddrInUse, AddrNotAvailable, ConnectionReset, TimedOut, UnexpectedEof];
    kinds.contains(&error.kind()) || linux::lacks_buffers(error)
}

impl Stream for ConnectRequester {
    fn interest(&self) -> (BorrowedFd<'_>, Interest) {
        (self.idle.as_fd(), Interest::Readable)
    }

    fn new_descriptor(&self) -> Option<BorrowedFd<'_>> {
        self.call.as_ref().map(|call| call.socket.as_fd())
    }

    fn halt(&mut self) {
        self.call = None;
        self.published.finish(None);
    }

    fn step(&mut self, now: Timestamp, scratch: &mut Scratch) -> Step {
        match self.advance(now, scratch) {
            Ok(step) => step,
            Err(error) if error.kind() == ErrorKind::Interrupted => Step::Again,
            Err(error) if is_passing(&error) => {
                self.call = None;
                self.statistics.missed();
                Step::Until(now.after(RETRY))
            }
            Err(error) => {
                self.call = None;
                self.published.finish(error.raw_os_error());
                Step::Done
            }
        }
    }
}

/// Reads of one call before it is another stream's turn.
const MAX_PER_STEP: u32 = 64;
/// After a call that failed for want of something that comes back.
const RETRY: Duration = Duration::from_millis(1);
