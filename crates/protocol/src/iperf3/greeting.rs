//! The first bytes of a connection at a server: the cookie, and on a numbered stream the
//! number that follows. Whose cookie it is, the server's host decides.
//!
//! ```text
//! Cookie --37 bytes--> Named --await_number()--> Number --4 bytes--> Numbered
//!                       |
//!                       +--into_server()--> Server
//! ```
//!
//! What follows on a stream is payload, so that the host reads no more than [`Greeting::room`]
//! bytes at a time.

use std::time::Duration;

use measurement::Timestamp;

use super::cookie::Cookie;
use super::server::Server;

/// State machine of a server for the first bytes of a TCP connection, which show whether it is a
/// control connection or a stream.
#[derive(Debug)]
pub struct Greeting {
    phase: Phase,
    deadline: Timestamp,
}

/// What the first bytes of a TCP connection at a server turned out to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GreetingEvent {
    /// The cookie is complete. Call [`Greeting::await_number`] if it is a numbered stream of a
    /// known test, or [`Greeting::into_server`] if it is a new control connection.
    Named(Cookie),
    /// The cookie and number of a stream are complete; payload follows.
    Numbered {
        /// Cookie of the test.
        cookie: Cookie,
        /// Number of the stream, from 0 (clause 13.12).
        index: u32,
    },
}

#[derive(Debug)]
enum Phase {
    Cookie { bytes: [u8; Cookie::LENGTH], filled: usize },
    Named(Cookie),
    Number { cookie: Cookie, bytes: [u8; Cookie::INDEX_LENGTH], filled: usize },
    Numbered,
}

impl Greeting {
    /// A state machine for a TCP connection that the server accepted at `now`.
    pub fn new(now: Timestamp) -> Self {
        let phase = Phase::Cookie { bytes: [0; Cookie::LENGTH], filled: 0 };
        Self { phase, deadline: now.after(LIMIT) }
    }

    /// How many bytes may be read from the connection now. Zero: none, as the caller has to decide
    /// first what the connection is.
    pub const fn room(&self) -> usize {
        match &self.phase {
            Phase::Cookie { filled, .. } => Cookie::LENGTH - *filled,
            Phase::Number { filled, .. } => Cookie::INDEX_LENGTH - *filled,
            Phase::Named(_) | Phase::Numbered => 0,
        }
    }

    /// Processes received bytes, at most [`Self::room`] of them; further bytes are ignored. None:
    /// the cookie or the stream number is not yet complete.
    pub fn handle_bytes(&mut self, bytes: &[u8]) -> Option<GreetingEvent> {
        match &mut self.phase {
            Phase::Cookie { bytes: cookie, filled } => {
                fill(cookie, filled, bytes).then(|| Cookie::from_wire(*cookie)).map(|cookie| {
                    self.phase = Phase::Named(cookie);
                    GreetingEvent::Named(cookie)
                })
            }
            Phase::Number { cookie, bytes: number, filled } => {
                let cookie = *cookie;
                fill(number, filled, bytes).then(|| u32::from_be_bytes(*number)).map(|index| {
                    self.phase = Phase::Numbered;
                    GreetingEvent::Numbered { cookie, index }
                })
            }
            Phase::Named(_) | Phase::Numbered => None,
        }
    }

    /// Continues after [`GreetingEvent::Named`] with the number of the stream (clause 13.12 of
    /// docs/protocol/iperf3.md); without effect otherwise.
    pub fn await_number(&mut self, now: Timestamp) {
        if let Phase::Named(cookie) = self.phase {
            let bytes = [0; Cookie::INDEX_LENGTH];
            self.phase = Phase::Number { cookie, bytes, filled: 0 };
            self.deadline = now.after(LIMIT);
        }
    }

    /// Continues after [`GreetingEvent::Named`] as the control connection of a new test, whose
    /// parameters are requested. None: there is no complete cookie.
    pub fn into_server(self, now: Timestamp) -> Option<Server> {
        matches!(self.phase, Phase::Named(_)).then(|| Server::new(now))
    }

    /// Time at which the connection is to be closed if the cookie or the stream number is not
    /// complete by then, on the clock of `now`.
    pub const fn deadline(&self) -> Timestamp {
        self.deadline
    }

    /// Whether the cookie or the stream number is incomplete at `now`, and its time limit has
    /// passed.
    pub fn is_overdue(&self, now: Timestamp) -> bool {
        self.room() > 0 && now >= self.deadline
    }
}

/// Appends `bytes` to a field of which `filled` bytes are there; returns whether it is complete.
fn fill(field: &mut [u8], filled: &mut usize, bytes: &[u8]) -> bool {
    let taken = bytes.len().min(field.len() - *filled);
    field[*filled..*filled + taken].copy_from_slice(&bytes[..taken]);
    *filled += taken;
    *filled == field.len()
}

/// Half of what iperf3 itself waits (clause 2.8).
const LIMIT: Duration = Duration::from_secs(5);

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: u64) -> Timestamp {
        Timestamp::from_nanos(1).after(Duration::from_secs(seconds))
    }

    fn cookie() -> Cookie {
        Cookie::from_random([7; Cookie::LENGTH - 1])
    }

    #[test]
    fn a_cookie_may_come_byte_by_byte_and_nothing_beyond_it_is_read() {
        let (cookie, mut greeting) = (cookie(), Greeting::new(at(0)));
        let (last, first) = cookie.as_bytes().split_last().expect("37 bytes");
        for byte in first {
            assert_eq!(greeting.handle_bytes(&[*byte]), None);
        }
        assert_eq!(greeting.room(), 1);
        assert_eq!(greeting.handle_bytes(&[*last]), Some(GreetingEvent::Named(cookie)));
        assert_eq!(greeting.room(), 0, "the host decides first");
        assert_eq!(greeting.handle_bytes(b"payload"), None);
    }

    #[test]
    fn a_numbered_stream_sends_four_bytes_more() {
        let (cookie, mut greeting) = (cookie(), Greeting::new(at(0)));
        let bytes = cookie.numbered(0x0102_0304);
        assert_eq!(greeting.handle_bytes(&bytes), Some(GreetingEvent::Named(cookie)));
        greeting.await_number(at(4));
        assert_eq!((greeting.room(), greeting.deadline()), (4, at(9)), "the time begins anew");
        assert_eq!(greeting.handle_bytes(&bytes[Cookie::LENGTH..39]), None);
        let numbered = GreetingEvent::Numbered { cookie, index: 0x0102_0304 };
        assert_eq!(greeting.handle_bytes(&bytes[39..]), Some(numbered));
        assert_eq!(greeting.room(), 0);
    }

    #[test]
    fn a_silent_connection_is_overdue_and_one_that_is_waited_for_by_nobody_is_not() {
        let mut greeting = Greeting::new(at(0));
        assert!(!greeting.is_overdue(at(4)) && greeting.is_overdue(at(5)));
        greeting.handle_bytes(cookie().as_bytes());
        assert!(!greeting.is_overdue(at(60)), "the host has to decide");
        assert!(greeting.into_server(at(60)).is_some());
        assert!(Greeting::new(at(0)).into_server(at(0)).is_none(), "no cookie came");
    }

    #[test]
    fn a_number_is_awaited_only_after_a_cookie() {
        let mut greeting = Greeting::new(at(0));
        greeting.await_number(at(3));
        assert_eq!((greeting.room(), greeting.deadline()), (Cookie::LENGTH, at(5)));
    }
}
