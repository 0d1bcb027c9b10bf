//! Dumps: requests for all objects of a kind (`NLM_F_DUMP`).

use std::io::{self, Read};

use super::message::{Message, Reply, replies};
use super::{RouteSocket, extended_ack, kernel};

impl RouteSocket {
    /// Requests all objects of a kind, and returns what `entry` makes of each description.
    /// If something changed during the dump, it is requested again, up to [`ATTEMPTS`]
    /// times.
    pub(super) fn dump<T>(
        &mut self,
        kind: u16,
        body: &[u8],
        entry: impl Fn(&[u8]) -> Option<T>,
    ) -> io::Result<Vec<T>> {
        let mut entries = Vec::new();
        for _ in 0..ATTEMPTS {
            entries.clear();
            let message = Message::new(kind, kernel::NLM_F_DUMP, body);
            if self.go_through(message, |description| entries.extend(entry(description)))?
                == Found::Whole
            {
                break;
            }
        }
        Ok(entries)
    }

    /// Sends `message` and calls the callback with each object up to the end of the dump.
    fn go_through(
        &mut self,
        message: Message,
        mut describe: impl FnMut(&[u8]),
    ) -> io::Result<Found> {
        self.sequence = self.sequence.wrapping_add(1);
        self.socket.send(&message.finish(self.sequence))?;
        let mut found = Found::Whole;
        loop {
            let received = (&self.socket).read(&mut self.buffer)?;
            for reply in replies(&self.buffer[..received]) {
                if reply.sequence != self.sequence {
                    continue;
                }
                if reply.flags & kernel::NLM_F_DUMP_INTR != 0 {
                    found = Found::Changed;
                }
                match reply.kind {
                    // Both begin with the negative errno or zero; one that refuses is the end.
                    kernel::NLMSG_ERROR => extended_ack::parse(&reply)?,
                    kernel::NLMSG_DONE => return done(&reply).map(|()| found),
                    _ => describe(reply.payload),
                }
            }
        }
    }
}

/// Reads the errno in `NLMSG_DONE`; an older kernel sends none.
fn done(reply: &Reply) -> io::Result<()> {
    if reply.payload.is_empty() { Ok(()) } else { extended_ack::parse(reply) }
}

/// Whether a dump is consistent (`NLM_F_DUMP_INTR`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Found {
    /// Nothing changed during the dump.
    Whole,
    /// Something changed during the dump: an object may be missing, or listed twice.
    Changed,
}

/// On a host whose links change all the time the last answer is used as it is.
const ATTEMPTS: usize = 3;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_dump_that_the_kernel_does_not_know_is_refused() {
        let mut route = RouteSocket::open().expect("netlink is there");
        // A number beyond all kinds of message (RTM_MAX).
        let error = route.dump(4094, &[0; 16], |_| Some(())).expect_err("refused");
        assert_eq!(super::super::errno(&error), Some(libc::EOPNOTSUPP));
        assert!(!route.links().expect("answered after a extended_ack").is_empty());
    }

    #[test]
    fn an_end_may_carry_an_error() {
        let reply = |payload| Reply { kind: kernel::NLMSG_DONE, flags: 0, sequence: 1, payload };
        assert!(done(&reply(&[])).is_ok());
        assert!(done(&reply(&[0; 4])).is_ok());
        assert!(done(&reply(&(-libc::ENOMEM).to_ne_bytes())).is_err());
    }
}
