//! Sends requests over TCP with a connection for each.

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

/// Sends the requests of one stream, each on a TCP connection of its own, one after another.
pub(super) struct ConnectRequester {
    to: SocketAddr,
    options: TcpOptions,
    /// The connection that was opened with the test; it carries nothing.
    idle: Arc<TcpStream>,
    parameters: Parameters,
    schedule: Schedule,
    current: Option<Request>,
    count: StreamCounters,
    published: Arc<Counters>,
    statistics: Arc<RoundTripStatistics>,
}

/// One connection and its request.
struct Request {
    socket: TcpStream,
    began: Timestamp,
    unsent: usize,
    missing: usize,
    /// Its descriptor is registered.
    is_watched: bool,
}

/// The state of a request after its socket was tried.
enum Progress {
    Waiting,
    Unfinished,
    Finished,
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
            current: None,
            count: StreamCounters::default(),
            published: config.counters,
            statistics: config.statistics,
        }
    }

    fn begin(&self) -> io::Result<Request> {
        let began = crate::now();
        let socket = linux::tcp::start_connect(self.to, &self.options)?;
        let (unsent, missing) = (self.parameters.request, self.parameters.response);
        Ok(Request { socket, began, unsent, missing, is_watched: false })
    }

    /// Notes that the response has arrived.
    fn note(&mut self, began: Timestamp) {
        let now = crate::now();
        let time = now.since(began);
        self.count.blocks += 1;
        self.count.sequence += 1;
        self.count.bytes += (self.parameters.request + self.parameters.response) as u64;
        self.count.last = now;
        self.statistics.add(time);
        if self.parameters.every.is_some() {
            let round_trip = Some(time);
            self.statistics.keep(&Probe { sent: began, round_trip, ..Probe::default() });
        }
        self.published.publish(&self.count);
    }

    /// Continues with the current request.
    fn resume(&mut self, scratch: &mut Scratch) -> io::Result<Progress> {
        let Some(request) = &mut self.current else { return Ok(Progress::Finished) };
        while request.unsent > 0 {
            match (&request.socket).write(&scratch.payload()[..request.unsent]) {
                Ok(written) => request.unsent -= written,
                // Not connected yet.
                Err(error) if is_early(&error) => return Ok(Progress::Waiting),
                Err(error) => return Err(error),
            }
        }
        // The responder closes first, so that TIME_WAIT does not hold ports of this end (RFC
        // 9293, section 3.6). The connection lasts until then; the time ends with the response.
        for _ in 0..MAX_PER_STEP {
            let read = match (&request.socket).read(scratch.buffer()) {
                Ok(0) if request.missing > 0 => return Err(ErrorKind::UnexpectedEof.into()),
                Ok(0) => return Ok(Progress::Finished),
                Ok(read) => read,
                Err(error) if error.kind() == ErrorKind::WouldBlock => {
                    return Ok(Progress::Waiting);
                }
                Err(error) => return Err(error),
            };
            let is_last = request.missing > 0 && read >= request.missing;
            request.missing = request.missing.saturating_sub(read);
            if is_last {
                let began = request.began;
                self.note(began);
                return self.resume(scratch);
            }
        }
        Ok(Progress::Unfinished)
    }

    /// The step while the current request waits.
    fn rest(&mut self) -> Step {
        let is_watched = |request: &mut Request| std::mem::replace(&mut request.is_watched, true);
        match &mut self.current {
            _ if self.parameters.busy => Step::Again,
            Some(request) => {
                if is_watched(request) {
                    Step::Readable
                } else {
                    Step::Watch
                }
            }
            None => Step::Readable,
        }
    }

    fn advance(&mut self, now: Timestamp, scratch: &mut Scratch) -> io::Result<Step> {
        if self.current.is_none() {
            if let Some(due) = self.schedule.due(now) {
                return Ok(Step::Until(due));
            }
            self.statistics.add_unsent(self.schedule.sent(now));
            self.current = Some(self.begin()?);
        }
        match self.resume(scratch)? {
            Progress::Waiting => Ok(self.rest()),
            Progress::Unfinished => Ok(Step::Again),
            Progress::Finished => {
                self.current = None;
                Ok(Step::Again)
            }
        }
    }
}

/// Whether a socket that connects cannot be written to yet.
fn is_early(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::NotConnected)
}

/// Whether this host lacks a port or memory at the moment, or the connection was dropped.
fn is_transient(error: &io::Error) -> bool {
    use ErrorKind::{AddrInUse, AddrNotAvailable, ConnectionReset, TimedOut, UnexpectedEof};
    let kinds = [AddrInUse, AddrNotAvailable, ConnectionReset, TimedOut, UnexpectedEof];
    kinds.contains(&error.kind()) || linux::lacks_buffers(error)
}

impl Stream for ConnectRequester {
    fn interest(&self) -> (BorrowedFd<'_>, Interest) {
        (self.idle.as_fd(), Interest::Readable)
    }

    fn new_descriptor(&self) -> Option<BorrowedFd<'_>> {
        self.current.as_ref().map(|request| request.socket.as_fd())
    }

    fn halt(&mut self) {
        self.current = None;
        self.published.finish(None);
    }

    fn step(&mut self, now: Timestamp, scratch: &mut Scratch) -> Step {
        match self.advance(now, scratch) {
            Ok(step) => step,
            Err(error) if error.kind() == ErrorKind::Interrupted => Step::Again,
            Err(error) if is_transient(&error) => {
                self.current = None;
                self.statistics.add_lost();
                Step::Until(now.after(RETRY))
            }
            Err(error) => {
                self.current = None;
                self.published.finish(error.raw_os_error());
                Step::Done
            }
        }
    }
}

/// Reads of one request before it is another stream's turn.
const MAX_PER_STEP: u32 = 64;
/// Pause after a transient error.
const RETRY: Duration = Duration::from_millis(1);
