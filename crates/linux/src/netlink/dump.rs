//! Dumps: questions for all objects of a kind.

use std::io::{self, Read};

use super::message::{Message, Reply, replies};
use super::{RouteSocket, extended_ack, kernel};

impl RouteSocket {
    /// Asks for all objects of a kind, and returns what `entry` makes of the description of
    /// each. What changed while the kernel went through them is asked for again.
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

    /// Sends `message` and hands over what comes up to the end of the dump.
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

/// A kernel that has nothing to say at the end says nothing.
fn done(reply: &Reply) -> io::Result<()> {
    if reply.payload.is_empty() { Ok(()) } else { extended_ack::parse(reply) }
}

/// What the kernel says of a dump (`NLM_F_DUMP_INTR`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Found {
    /// As it was at one time.
    Whole,
    /// Something changed meanwhile: an object may be missing, or be there twice.
    Changed,
}

/// On a host whose links come and go all the time the last answer has to do.
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
