//! One connection of a metrics client: a request, an answer, an end. Bounded in
//! time and memory, whatever the other end does.

use std::io::{self, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::os::fd::AsFd;
use std::time::Duration;

use linux::poll::PollFd;

use super::http::{Answer, Request};
use super::pages::Pages;

/// A connection of an HTTP client, on a socket that does not block.
pub(super) struct Exchange {
    socket: TcpStream,
    state: State,
    deadline: Duration,
}

enum State {
    /// The part of the request's head that was received.
    Asking(Vec<u8>),
    /// The answer, and how much of it is on its way.
    Answering(Vec<u8>, usize),
    /// All is said. To close now, with bytes unread, could take the answer from the other
    /// end (RFC 9112, section 9.6).
    Leaving,
}

/// Whether there is more to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Course {
    UnderWay,
    Over,
}

impl Course {
    pub(super) fn is_under_way(self) -> bool {
        self == Self::UnderWay
    }
}

impl Exchange {
    pub(super) fn new(socket: TcpStream, now: Duration) -> Self {
        Self { socket, state: State::Asking(Vec::new()), deadline: now + PATIENCE }
    }

    pub(super) const fn deadline(&self) -> Duration {
        self.deadline
    }

    /// The readiness that it waits for.
    pub(super) fn watch(&self) -> PollFd<'_> {
        match self.state {
            State::Answering(..) => PollFd::writable(self.socket.as_fd()),
            State::Asking(_) | State::Leaving => PollFd::readable(self.socket.as_fd()),
        }
    }

    /// Goes on as far as it can without waiting.
    pub(super) fn proceed(&mut self, now: Duration, pages: &Pages) -> Course {
        if now >= self.deadline {
            return Course::Over;
        }
        match self.step(pages) {
            Ok(course) => course,
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => Course::UnderWay,
            // A client that closed the connection needs no answer.
            Err(_) => Course::Over,
        }
    }

    /// Never reads or writes more than once in one state, so that no connection keeps the thread.
    fn step(&mut self, pages: &Pages) -> io::Result<Course> {
        if let State::Asking(head) = &mut self.state {
            let Some(answer) = listen(&mut self.socket, head, pages)? else {
                return Ok(Course::UnderWay);
            };
            self.state = State::Answering(answer, 0);
        }
        if let State::Answering(answer, sent) = &mut self.state {
            *sent += self.socket.write(&answer[*sent..])?;
            if *sent < answer.len() {
                return Ok(Course::UnderWay);
            }
            self.socket.shutdown(Shutdown::Write)?;
            self.state = State::Leaving;
        }
        let ended = self.socket.read(&mut [0; 1024])? == 0;
        Ok(if ended { Course::Over } else { Course::UnderWay })
    }
}

/// Reads on; an answer, if there is something to be answered.
fn listen(
    socket: &mut TcpStream,
    head: &mut Vec<u8>,
    pages: &Pages,
) -> io::Result<Option<Vec<u8>>> {
    let mut chunk = [0; 1024];
    let count = socket.read(&mut chunk)?;
    if count == 0 {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    head.extend_from_slice(&chunk[..count]);
    if head.len() > MOST_HEAD {
        return Ok(Some(Answer::too_long().written()));
    }
    // A head ends with a line; looking at each byte of it anew would cost its square.
    let has_line = chunk[..count].contains(&b'\n');
    Ok(if has_line { pages.answer(Request::read(head)) } else { None })
}

/// From the connection to its end.
const PATIENCE: Duration = Duration::from_secs(2);
/// Bytes of a request's head.
const MOST_HEAD: usize = 8 * 1024;
