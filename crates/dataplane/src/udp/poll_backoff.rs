//! The poll back-off of a receiver. A wake-up costs CPU time where it is triggered: on loopback
//! in the sender, elsewhere in the softirq of the CPU that takes packets from the network card.
//! Where datagrams arrive fast, a receiver that has read all of them sleeps until some tens have
//! come, for up to 1 ms, instead of waiting for readiness.
//!
//! Arrival times are those of the kernel, so that the sleep does not change the jitter.

use std::net::UdpSocket;
use std::time::Duration;

use measurement::Timestamp;

use crate::stream::Step;

/// The state from which a receiver decides how to wait.
#[derive(Debug)]
pub(super) struct PollBackoff {
    /// Bytes that may arrive during a sleep, as the kernel counts them against the socket
    /// buffer; 0: the receiver always waits for readiness.
    room: u64,
    /// Whether packets arrived since the receiver last found the socket empty.
    has_received: bool,
    /// Since when packets are counted.
    since: Timestamp,
    /// Packets and bytes that arrived since.
    packets: u64,
    bytes: u64,
    /// How long to sleep, by what arrived in the time before.
    nap: Option<Duration>,
    /// When the last sleep was to end; none: it was seen how late it ended.
    asleep_until: Option<Timestamp>,
    /// Until when other threads are taken to use the CPU.
    contended_until: Timestamp,
}

impl PollBackoff {
    /// The back-off of a receiver from `socket`; disabled if the kernel does not stamp arrival
    /// times.
    pub(super) fn new(socket: &UdpSocket) -> Self {
        let buffer = linux::socket_buffers(socket).map_or(0, |buffers| buffers.receive as u64);
        let room = if linux::udp::has_timestamps(socket) { buffer / SHARE } else { 0 };
        Self { room, ..Self::disabled() }
    }

    /// A back-off that always waits for readiness.
    pub(super) const fn disabled() -> Self {
        Self {
            room: 0,
            has_received: false,
            since: Timestamp::from_nanos(0),
            packets: 0,
            bytes: 0,
            nap: None,
            asleep_until: None,
            contended_until: Timestamp::from_nanos(0),
        }
    }

    /// Notes that packets arrived, or were there at `now`, when the receiver woke.
    pub(super) fn record(&mut self, now: Timestamp, packets: usize, bytes: u64) {
        if self.asleep_until.take().is_some_and(|until| now.since(until) >= LONGEST) {
            self.contended_until = now.after(CONTENDED);
        }
        self.has_received = true;
        self.packets += packets as u64;
        self.bytes += bytes;
    }

    /// The condition to wait for, now that the socket is empty.
    pub(super) fn wait(&mut self, now: Timestamp) -> Step {
        self.sleep(now).map_or(Step::Readable, Step::SleepUntil)
    }

    /// The next step of a receiver whose last call read fewer packets than it had room for: the
    /// socket is empty unless another has
    /// just come. A sleep may begin at once; readiness may be waited for only after `EAGAIN`.
    pub(super) fn pause(&mut self, now: Timestamp) -> Step {
        self.sleep(now).map_or(Step::Again, Step::SleepUntil)
    }

    /// Until when to sleep; none: it is not worthwhile, or the last sleep was in vain.
    fn sleep(&mut self, now: Timestamp) -> Option<Timestamp> {
        // If the last sleep was in vain, the next packets may be long in coming.
        self.asleep_until = None;
        if now.since(self.since) >= LONGEST {
            self.nap = self.worthwhile(now);
            (self.since, self.packets, self.bytes) = (now, 0, 0);
        }
        let nap = self.nap.filter(|_| std::mem::take(&mut self.has_received))?;
        self.asleep_until = Some(now.after(nap));
        self.asleep_until
    }

    /// How long to sleep if packets arrive as they did until `now`; asked once in [`LONGEST`].
    #[cold]
    fn worthwhile(&self, now: Timestamp) -> Option<Duration> {
        let span = nanos(now.since(self.since));
        let gap = span.checked_div(self.packets).filter(|gap| *gap <= nanos(SPARSE))?;
        let enough = Duration::from_nanos(gap * MANY).clamp(SHORT, LONGEST);
        let is_alone = now >= self.contended_until;
        let hot = if is_alone { time_for(HOT, self.bytes, span) } else { LONGEST };
        // The kernel charges the buffer with pages and metadata (`skb->truesize`): less than
        // twice the length and a kilobyte per packet.
        let holds = time_for(self.room, 2 * self.bytes + 1024 * self.packets, span);
        (holds >= SHORTEST).then(|| holds.min(enough).min(hot))
    }
}

/// How long `wanted` bytes take to come if `bytes` came in `span` nanoseconds.
fn time_for(wanted: u64, bytes: u64, span: u64) -> Duration {
    let time = u128::from(wanted) * u128::from(span) / u128::from(bytes.max(1));
    Duration::from_nanos(u64::try_from(time).unwrap_or(u64::MAX))
}

fn nanos(span: Duration) -> u64 {
    u64::try_from(span.as_nanos()).unwrap_or(u64::MAX)
}

/// A sleep may fill this part of the buffer: a thread wakes late at times.
const SHARE: u64 = 4;
/// Packets with a longer gap between them wake the receiver one by one.
const SPARSE: Duration = Duration::from_micros(250);
/// After so many packets another wake-up costs little for each of them.
const MANY: u64 = 32;
/// A sleep is so long though more than [`MANY`] packets arrive in it.
const SHORT: Duration = Duration::from_micros(100);
/// Bytes that may come in a sleep: of more, as packets of many datagrams soon are, the first have
/// left the fast caches when they are read, and so have their pages when they are written to again.
const HOT: u64 = 128 * 1024;
/// How long a receiver that woke late by [`LONGEST`] is taken to share its CPU with other threads. The
/// scheduler makes such a receiver wait now and then, more often the more it sleeps, and what comes
/// meanwhile is lost.
const CONTENDED: Duration = Duration::from_millis(100);
/// The longest sleep: several packets arrive in it, and it is short against the steps in which a
/// test is watched.
const LONGEST: Duration = Duration::from_millis(1);
/// The shortest sleep: a timer costs about as much as a wake-up.
const SHORTEST: Duration = Duration::from_micros(20);

#[cfg(test)]
mod tests {
    use super::*;

    /// How a receiver with that `room` waits after `packets` of `length` in a millisecond.
    fn wait(room: u64, packets: usize, length: u64) -> Step {
        let start = Timestamp::from_nanos(1_000_000);
        let mut backoff = PollBackoff { room, since: start, ..PollBackoff::disabled() };
        if packets > 0 {
            backoff.record(start, packets, packets as u64 * length);
        }
        backoff.wait(start.after(Duration::from_millis(1)))
    }

    fn sleep(micros: u64) -> Step {
        Step::SleepUntil(Timestamp::from_nanos(2_000_000 + micros * 1_000))
    }

    #[test]
    fn datagrams_that_arrive_fast_cause_no_wake_ups() {
        assert_eq!(wait(2 << 20, 640, 1_460), sleep(100));
        assert_eq!(wait(2 << 20, 80, 1_460), sleep(400));
        assert_eq!(wait(2 << 20, 8, 1_460), sleep(1_000));
        assert_eq!(wait(2 << 20, 4, 1_460), sleep(1_000));
        assert_eq!(wait(2 << 20, 3, 65_507), Step::Readable);
        assert_eq!(wait(2 << 20, 0, 0), Step::Readable);
    }

    #[test]
    fn a_sleep_does_not_fill_the_buffer() {
        assert_eq!(wait(131_072, 640, 1_536), sleep(50));
        assert_eq!(wait(53_248, 52, 1_536), sleep(250));
        assert_eq!(wait(13_107, 640, 1_536), Step::Readable);
        assert_eq!(wait(0, 640, 64), Step::Readable);
    }

    #[test]
    fn long_packets_are_read_while_they_are_in_a_cache() {
        // 6.4 GB/s: 128 KiB come in 20 microseconds.
        let wanted = Step::SleepUntil(Timestamp::from_nanos(2_000_000 + 20_480));
        assert_eq!(wait(2 << 20, 100, 64_000), wanted);
        assert_eq!(wait(2 << 20, 800, 8_000), wanted);
    }

    #[test]
    fn who_has_to_wait_for_a_cpu_sleeps_seldom() {
        let at = |micros: u64| Timestamp::from_nanos(1_000_000 + micros * 1_000);
        let mut backoff = PollBackoff { room: 2 << 20, since: at(0), ..PollBackoff::disabled() };
        let mut sleep = |from: u64, woke: u64| {
            backoff.record(at(woke), 100, 6_400_000);
            backoff.since = at(from);
            backoff.wait(at(from + 1_000))
        };
        let until = |micros: u64, nanos: u64| {
            Step::SleepUntil(Timestamp::from_nanos(1_000_000 + micros * 1_000 + nanos))
        };
        assert_eq!(sleep(0, 0), until(1_000, 20_480));
        // A little late, then by more than a millisecond.
        assert_eq!(sleep(2_000, 1_100), until(3_000, 20_480));
        assert_eq!(sleep(5_000, 4_100), until(6_000, 162_539));
        assert_eq!(sleep(50_000, 6_110), until(51_000, 162_539));
        assert_eq!(sleep(110_000, 51_150), until(111_000, 20_480), "no longer");
    }

    #[test]
    fn a_burst_is_not_a_rate_and_a_sleep_in_vain_is_the_last() {
        let at = |micros: u64| Timestamp::from_nanos(1_000_000 + micros * 1_000);
        let mut backoff = PollBackoff { room: 53_248, since: at(0), ..PollBackoff::disabled() };
        // Four at once each 467 microseconds, of which the first wakes the receiver.
        for micros in [0, 467, 934] {
            backoff.record(at(micros), 1, 1_460);
            assert_eq!(backoff.pause(at(micros)), Step::Again);
            backoff.record(at(micros), 3, 4_380);
            assert_eq!(backoff.pause(at(micros + 5)), Step::Again);
            assert_eq!(backoff.wait(at(micros + 8)), Step::Readable);
        }
        backoff.record(at(1_401), 4, 5_840);
        assert_eq!(backoff.pause(at(1_401)), Step::SleepUntil(at(2_401)));
        assert_eq!(backoff.wait(at(2_401)), Step::Readable);
        backoff.record(at(2_402), 4, 5_840);
        assert_eq!(backoff.pause(at(2_402)), Step::Again);
    }
}
