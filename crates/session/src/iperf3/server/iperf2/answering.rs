//! Answers the requests of an iperf2 client that measures round trips (`--bounceback`; clauses 3.11
//! to 3.13 of docs/protocol/iperf2.md).

use std::io::{ErrorKind, Read, Write};
use std::net::TcpStream;
use std::thread;
use std::time::Duration;

use dataplane::Counters;
use measurement::outcome::Ending;
use measurement::{StreamCounters, Timestamp};
use protocol::iperf2::{Bounce, Opening};

use super::{FIRST, LOOK, failed};
use crate::clock::Clock;

/// A connection with requests.
struct Requests<'a> {
    socket: &'a TcpStream,
    clock: &'a dyn Clock,
    /// How long the client may be silent.
    patience: Duration,
    must_end: &'a dyn Fn(Timestamp) -> Option<Ending>,
    /// When that was asked.
    looked: Timestamp,
}

/// Answers each request until the client closes the connection or `must_end` says that it must end.
/// Counts what is received and what is sent.
pub(super) fn run(
    socket: &TcpStream,
    bounce: &Bounce,
    (received, sent): (&Counters, &Counters),
    (patience, clock): (Duration, &dyn Clock),
    must_end: &dyn Fn(Timestamp) -> Option<Ending>,
) -> Ending {
    if let Err(error) =
        linux::set_call_timeout(socket, LOOK).and_then(|()| socket.set_nodelay(true))
    {
        return Ending::Failed { error: error.to_string() };
    }
    let mut requests = Requests { socket, clock, patience, must_end, looked: clock.now() };
    let mut message = vec![0; bounce.length()];
    message[..Opening::LENGTH].copy_from_slice(bounce.opening());
    let mut counted = StreamCounters { last: clock.now(), ..StreamCounters::default() };
    let mut read = Opening::LENGTH;
    loop {
        if let Err(ending) = requests.receive(&mut message[read..], read > 0) {
            return ending;
        }
        let arrived = linux::clock::realtime();
        counted.bytes += message.len() as u64;
        counted.blocks += 1;
        counted.last = clock.now();
        received.publish(&counted);
        if let Err(ending) = requests.hold(Bounce::hold(&message)) {
            return ending;
        }
        Bounce::answer(&mut message, arrived, linux::clock::realtime());
        if let Err(ending) = requests.send(&message) {
            return ending;
        }
        sent.publish(&counted);
        read = 0;
    }
}

impl Requests<'_> {
    /// Fills `room`; a request `is_begun` if bytes of it were read before.
    fn receive(&mut self, room: &mut [u8], is_begun: bool) -> Result<(), Ending> {
        let (mut filled, began) = (0, self.clock.now());
        let patience = if is_begun { self.patience.min(FIRST) } else { self.patience };
        while filled < room.len() {
            match (&mut &*self.socket).read(&mut room[filled..]) {
                Ok(0) if filled == 0 && !is_begun => return Err(Ending::Completed),
                Ok(0) => return Err(failed("the last request is not whole")),
                Ok(length) => filled += length,
                Err(error) => {
                    self.go_on(&error, (began, patience), "nothing was received for long")?;
                }
            }
        }
        self.look()
    }

    /// Waits before the answer, as the client asked for.
    fn hold(&mut self, time: Duration) -> Result<(), Ending> {
        let until = self.clock.now().after(time.min(LONGEST_HOLD));
        loop {
            let left = until.since(self.clock.now());
            if left.is_zero() {
                return Ok(());
            }
            thread::sleep(left.min(LOOK));
            self.look()?;
        }
    }

    fn send(&mut self, answer: &[u8]) -> Result<(), Ending> {
        let (mut sent, since) = (0, (self.clock.now(), self.patience));
        while sent < answer.len() {
            match (&mut &*self.socket).write(&answer[sent..]) {
                Ok(length) => sent += length,
                Err(error) => self.go_on(&error, since, "the client takes nothing")?,
            }
        }
        Ok(())
    }

    /// Whether a call that failed is to be repeated.
    fn go_on(
        &mut self,
        error: &std::io::Error,
        (began, patience): (Timestamp, Duration),
        complaint: &str,
    ) -> Result<(), Ending> {
        match error.kind() {
            ErrorKind::WouldBlock | ErrorKind::Interrupted => {
                if self.clock.now().since(began) > patience {
                    return Err(failed(complaint));
                }
                self.look()
            }
            ErrorKind::ConnectionReset | ErrorKind::BrokenPipe => Err(Ending::Interrupted),
            _ => Err(failed(&error.to_string())),
        }
    }

    /// Whether it must end.
    fn look(&mut self) -> Result<(), Ending> {
        let now = self.clock.now();
        if now.since(self.looked) < LOOK {
            return Ok(());
        }
        self.looked = now;
        (self.must_end)(now).map_or(Ok(()), Err)
    }
}

/// The longest time for which a client may ask.
const LONGEST_HOLD: Duration = Duration::from_secs(10);
