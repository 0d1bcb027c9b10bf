//! What the server sends to an iperf2 client that asks for it.

use std::io::{ErrorKind, Write};
use std::net::{Shutdown, TcpStream};
use std::thread;
use std::time::Duration;

use dataplane::Counters;
use measurement::outcome::Ending;
use measurement::{BitRate, StreamCounters, Timestamp};
use protocol::iperf2::{Back, HeaderAmount};

use super::{LOOK, failed};
use crate::clock::Clock;

/// One connection on which the server sends.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sending {
    amount: HeaderAmount,
    rate: Option<BitRate>,
    /// Bytes of a write.
    block: usize,
}

impl Sending {
    /// What a client asked for, with at most the rate `most`.
    pub(super) fn of(back: &Back, rest: &[u8], most: Option<BitRate>) -> Self {
        let asked = Back::rate(rest).map(BitRate::from_bits_per_second);
        let block = back.length.map_or(BLOCK, |length| (length as usize).clamp(1, LONGEST_BLOCK));
        let rate = asked.into_iter().chain(most).min().filter(|rate| rate.bits_per_second() > 0);
        // A client that has gone is noticed by the next write, which is due within a second.
        let second = rate.map_or(block, |rate| {
            usize::try_from(rate.bits_per_second() / 8).unwrap_or(block).max(1)
        });
        Self { amount: back.amount, rate, block: block.min(second) }
    }

    /// Sends to the end of the amount, or until `must_end` says that it must end, and ends this
    /// direction of the connection.
    pub(super) fn run(
        self,
        socket: &TcpStream,
        counters: &Counters,
        clock: &dyn Clock,
        must_end: &dyn Fn(Timestamp) -> Option<Ending>,
    ) -> Ending {
        if let Err(error) = linux::set_call_timeout(socket, LOOK) {
            return Ending::Failed { error: error.to_string() };
        }
        let payload: Vec<u8> = (b'0'..=b'9').cycle().take(self.block).collect();
        let began = clock.now();
        let (mut now, mut looked) = (began, began);
        let mut counted = StreamCounters { last: began, ..StreamCounters::default() };
        loop {
            if now.since(looked) >= LOOK {
                looked = now;
                if let Some(ending) = must_end(now) {
                    return ending;
                }
            }
            let length = self.next(now.since(began), counted.bytes);
            if length == 0 {
                // The client may have closed it.
                _ = socket.shutdown(Shutdown::Write);
                return Ending::Completed;
            }
            let early = self.due(counted.bytes).saturating_sub(now.since(began));
            if !early.is_zero() {
                thread::sleep(early.min(LOOK));
                now = clock.now();
                continue;
            }
            match (&mut &*socket).write(&payload[..length]) {
                Ok(sent) => {
                    now = clock.now();
                    counted.bytes += sent as u64;
                    counted.blocks += 1;
                    counted.last = now;
                    counters.publish(&counted);
                }
                Err(error) => match error.kind() {
                    ErrorKind::WouldBlock | ErrorKind::Interrupted => {
                        now = clock.now();
                        if now.since(counted.last) > STALL {
                            return failed("the client takes nothing");
                        }
                    }
                    ErrorKind::ConnectionReset | ErrorKind::BrokenPipe => {
                        return Ending::Interrupted;
                    }
                    _ => return Ending::Failed { error: error.to_string() },
                },
            }
        }
    }

    /// Bytes of the next write; zero: all is sent.
    fn next(&self, passed: Duration, sent: u64) -> usize {
        match self.amount {
            HeaderAmount::Centiseconds(time) if passed >= UNIT * time => 0,
            HeaderAmount::Centiseconds(_) => self.block,
            HeaderAmount::Bytes(bytes) => {
                usize::try_from(bytes.saturating_sub(sent)).unwrap_or(usize::MAX).min(self.block)
            }
        }
    }

    /// When the next write is due, after so many bytes.
    fn due(&self, sent: u64) -> Duration {
        self.rate.map_or(Duration::ZERO, |rate| {
            Duration::from_secs_f64(sent as f64 * 8.0 / rate.bits_per_second() as f64)
        })
    }
}

/// That of iperf 2.1.8.
const BLOCK: usize = 128 * 1024;
const LONGEST_BLOCK: usize = 1024 * 1024;
/// Unit of a time on the wire (docs/protocol/iperf2.md, clause 3.3).
const UNIT: Duration = Duration::from_millis(10);
/// How long a client may take nothing.
const STALL: Duration = Duration::from_secs(10);

#[cfg(test)]
mod tests {
    use protocol::iperf2::BackWay;

    use super::*;

    fn sending(amount: HeaderAmount, most: Option<u64>) -> Sending {
        let back = Back { way: BackWay::Reverse, length: Some(1_000), amount, rest: 0 };
        Sending::of(&back, &[], most.map(BitRate::from_bits_per_second))
    }

    #[test]
    fn an_amount_ends_and_a_rate_makes_wait() {
        let bytes = sending(HeaderAmount::Bytes(2_500), Some(8_000));
        let next = |sent| bytes.next(Duration::ZERO, sent);
        assert_eq!((next(0), next(2_000), next(2_500)), (1_000, 500, 0));
        assert_eq!(bytes.due(2_000), Duration::from_secs(2));
        let time = sending(HeaderAmount::Centiseconds(50), None);
        assert_eq!(time.next(Duration::from_millis(499), u64::MAX), 1_000);
        assert_eq!(time.next(Duration::from_millis(500), 0), 0);
        assert_eq!(time.due(u64::MAX), Duration::ZERO);
    }
}
