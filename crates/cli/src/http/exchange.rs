//! One connection of an HTTP client: a request, an answer, an end. Bounded in
//! time and memory, whatever the other end does.

use std::io::{self, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::os::fd::AsFd;
use std::sync::mpsc::{Receiver, TryRecvError};
use std::time::Duration;

use linux::poll::PollFd;

use super::answer::Answer;
use super::request::{Asked, Request, Wants};
use super::{Pages, Reply};

/// A connection of an HTTP client, on a socket that does not block.
pub(super) struct Exchange {
    socket: TcpStream,
    state: State,
    deadline: Duration,
}

enum State {
    /// The part of the request's head that was received.
    Asking(Vec<u8>),
    /// The request is being worked on.
    Awaiting(Receiver<Answer>),
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
            State::Asking(_) | State::Awaiting(_) | State::Leaving => {
                PollFd::readable(self.socket.as_fd())
            }
        }
    }

    /// Goes on as far as it can without waiting.
    pub(super) fn proceed(&mut self, now: Duration, pages: &dyn Pages) -> Course {
        if now >= self.deadline {
            return Course::Over;
        }
        match self.step(now, pages) {
            Ok(course) => course,
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => Course::UnderWay,
            // A client that closed the connection needs no answer.
            Err(_) => Course::Over,
        }
    }

    /// Never reads or writes more than once in one state, so that no connection keeps the thread.
    fn step(&mut self, now: Duration, pages: &dyn Pages) -> io::Result<Course> {
        if let State::Asking(head) = &mut self.state {
            match listen(&mut self.socket, head, pages)? {
                Heard::Part => return Ok(Course::UnderWay),
                Heard::Answer(answer) => self.state = State::Answering(answer, 0),
                Heard::Work(answer, within) => {
                    self.deadline = now + within;
                    self.state = State::Awaiting(answer);
                }
            }
        }
        if let State::Awaiting(answer) = &self.state {
            let answer = match answer.try_recv() {
                Ok(answer) => answer,
                Err(TryRecvError::Disconnected) => Answer::unavailable("stopping"),
                // A client that has gone needs no answer.
                Err(TryRecvError::Empty) => return self.hear_of_the_end(),
            };
            self.deadline = now + PATIENCE;
            self.state = State::Answering(answer.written(), 0);
        }
        if let State::Answering(answer, sent) = &mut self.state {
            *sent += self.socket.write(&answer[*sent..])?;
            if *sent < answer.len() {
                return Ok(Course::UnderWay);
            }
            self.socket.shutdown(Shutdown::Write)?;
            self.state = State::Leaving;
        }
        self.hear_of_the_end()
    }

    fn hear_of_the_end(&mut self) -> io::Result<Course> {
        let ended = self.socket.read(&mut [0; 1024])? == 0;
        Ok(if ended { Course::Over } else { Course::UnderWay })
    }

    /// Whether a request of this connection is being worked on.
    pub(super) const fn is_awaiting(&self) -> bool {
        matches!(self.state, State::Awaiting(_))
    }
}

/// What came of reading on.
enum Heard {
    /// Not all of the request is there.
    Part,
    /// The answer is known.
    Answer(Vec<u8>),
    /// The answer takes work, for at most this long.
    Work(Receiver<Answer>, Duration),
}

/// Reads on.
fn listen(socket: &mut TcpStream, head: &mut Vec<u8>, pages: &dyn Pages) -> io::Result<Heard> {
    let mut chunk = [0; 1024];
    let count = socket.read(&mut chunk)?;
    if count == 0 {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    head.extend_from_slice(&chunk[..count]);
    if head.len() > MOST_HEAD {
        return Ok(Heard::Answer(Answer::too_long().written()));
    }
    // A head ends with a line; looking at each byte of it anew would cost its square.
    let has_line = chunk[..count].contains(&b'\n');
    Ok(if has_line { answer(Request::read(head), pages) } else { Heard::Part })
}

fn answer(asked: Asked, pages: &dyn Pages) -> Heard {
    let request = match asked {
        Asked::Incomplete => return Heard::Part,
        Asked::Invalid => return Heard::Answer(Answer::bad_request().written()),
        Asked::Request(request) => request,
    };
    if request.wants == Wants::Else {
        return Heard::Answer(Answer::not_allowed().written());
    }
    match pages.reply(&request) {
        Reply::Now(answer) if request.wants == Wants::Head => {
            Heard::Answer(answer.head().into_bytes())
        }
        Reply::Now(answer) => Heard::Answer(answer.written()),
        Reply::Later(answer, within) => Heard::Work(answer, within),
    }
}

/// From the connection to its end.
const PATIENCE: Duration = Duration::from_secs(2);
/// Bytes of a request's head.
const MOST_HEAD: usize = 8 * 1024;
