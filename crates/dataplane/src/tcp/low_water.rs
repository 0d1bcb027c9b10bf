//! How much has to come before a receiver is woken (`SO_RCVLOWAT`): as much as comes in a
//! fraction of a millisecond, so that it is woken a few thousand times a second and not
//! for each segment.

use std::net::TcpStream;
use std::time::Duration;

use measurement::Timestamp;

/// The low-water mark of one stream. It follows the stream's rate: a slow stream is read
/// as it comes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LowWater {
    /// In bytes, as set.
    mark: u32,
    /// Bytes since `since`.
    bytes: u64,
    since: Timestamp,
    /// The kernel takes it.
    is_settable: bool,
}

impl LowWater {
    pub(crate) const fn new() -> Self {
        Self { mark: 1, bytes: 0, since: Timestamp::from_nanos(0), is_settable: true }
    }

    /// So much has come.
    pub(crate) const fn note(&mut self, bytes: usize) {
        self.bytes += bytes as u64;
    }

    /// There is no more for now: sets the mark for what comes next. Until when the receiver
    /// waits for that much; none: any byte wakes it.
    pub(crate) fn wait(&mut self, socket: &TcpStream, now: Timestamp) -> Option<Timestamp> {
        let span = now.since(self.since);
        if span >= WINDOW {
            let mark = mark_for(self.bytes, span);
            (self.bytes, self.since) = (0, now);
            if self.is_settable && (mark >= self.mark.saturating_mul(2) || mark < self.mark) {
                self.is_settable = linux::tcp::set_low_water(socket, mark).is_ok();
                self.mark = if self.is_settable { mark } else { 1 };
            }
        }
        (self.mark > 1).then(|| now.after(LONGEST))
    }
}

/// The mark for a rate of `bytes` in `span`: a power of two.
fn mark_for(bytes: u64, span: Duration) -> u32 {
    let share = u128::from(bytes) * WORTH.as_nanos() / span.as_nanos().max(1);
    let share = u32::try_from(share).unwrap_or(MOST).min(MOST);
    if share < LEAST { 1 } else { 1 << share.ilog2() }
}

/// What is worth waking for: what comes in this time.
const WORTH: Duration = Duration::from_micros(500);
/// Rates are taken over this time at least.
const WINDOW: Duration = Duration::from_millis(5);
/// A sender that pauses leaves less than the mark behind: nobody waits longer for the rest.
const LONGEST: Duration = Duration::from_millis(10);
/// Below, segments are read as they come.
const LEAST: u32 = 16 * 1024;
/// More does not fit beside what the reader works on.
const MOST: u32 = 1024 * 1024;

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::net::{Ipv4Addr, TcpListener};

    use super::*;

    #[test]
    fn the_mark_is_what_comes_in_half_a_millisecond() {
        let second = Duration::from_secs(1);
        // 1 Mbit/s, 1 Gbit/s, 100 Gbit/s.
        let marks = [125_000, 125_000_000, 12_500_000_000].map(|rate| mark_for(rate, second));
        assert_eq!(marks, [1, 32_768, MOST]);
        assert_eq!(mark_for(0, Duration::ZERO), 1);
    }

    #[test]
    fn a_fast_stream_raises_it_and_a_slow_one_lowers_it() {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("listens");
        let mut near = TcpStream::connect(listener.local_addr().expect("bound")).expect("connects");
        let (mut far, _) = listener.accept().expect("accepts");
        far.set_nonblocking(true).expect("set");
        let mut low_water = LowWater::new();
        let mut now = Timestamp::from_nanos(1_000_000_000);
        assert_eq!(low_water.wait(&far, now), None);
        low_water.note(10_000_000);
        now = now.after(Duration::from_millis(10));
        assert_eq!(low_water.wait(&far, now), Some(now.after(LONGEST)));
        // Less than the mark: not readable for those who poll, but there for those who read.
        near.write_all(&[7; 100]).expect("written");
        std::thread::sleep(Duration::from_millis(1));
        assert_eq!(far.read(&mut [0; 200]).expect("read"), 100);
        now = now.after(Duration::from_millis(10));
        assert_eq!(low_water.wait(&far, now), None);
    }
}
