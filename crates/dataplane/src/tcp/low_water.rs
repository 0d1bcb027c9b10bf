//! When a receiver is woken: not for each packet, but when a good part of its buffer has arrived,
//! or after a little while.
//!
//! A socket wakes its reader for nearly each packet. One that reads fast spends more time on waking
//! and sleeping than on some of the copies: `SO_RCVLOWAT` (socket(7)) lets it sleep until so many
//! bytes wait. What is below the mark is read a little later all the same, so that a slow or ending
//! stream is counted in its own time; one that has become slow has no mark.
//!
//! Whether that is faster depends on the host: where a wake-up is cheap, a receiver that reads at once
//! finds the bytes in the caches. So the first tenth of a second shows it.
//!
//! Unread bytes take room in the window. On a path with a long round trip the mark is so low that
//! they hold up the sender for a small part of a round trip only.

use std::net::TcpStream;
use std::time::Duration;

use measurement::Timestamp;

use crate::trial::SpeedTrial;

/// The mark of one socket.
#[derive(Debug)]
pub(super) struct LowWater {
    /// The highest mark; none: no mark is to be set.
    most: Option<u32>,
    is_set: bool,
    /// How long bytes below the mark may wait.
    patience: Option<Duration>,
    /// Since when bytes are counted.
    since: Timestamp,
    bytes: u64,
    trial: SpeedTrial,
}

impl LowWater {
    pub(super) fn new(most: Option<u32>) -> Self {
        let since = Timestamp::default();
        let trial = SpeedTrial::after(WARM_UP);
        Self { most, is_set: false, patience: None, since, bytes: 0, trial }
    }

    /// So many bytes were read.
    pub(super) const fn note(&mut self, bytes: usize) {
        self.bytes += bytes as u64;
    }

    /// Nothing is there to be read. The time at which to look again though the socket is not
    /// readable; none: it wakes for whatever comes.
    pub(super) fn wait(&mut self, socket: &TcpStream, now: Timestamp) -> Option<Timestamp> {
        let most = self.most?;
        let moved = std::mem::take(&mut self.bytes);
        let span = now.since(std::mem::replace(&mut self.since, now));
        let is_wanted = self.trial.wants(self.is_set, moved, span, now);
        if self.is_set && (moved == 0 || !is_wanted) {
            self.is_set = false;
            self.set(socket, 1);
        } else if is_wanted && !self.is_set && moved >= LEAST.into() {
            let patience = *self.patience.get_or_insert_with(|| patience(round_trip(socket)));
            if let Some(mark) = mark(moved, span, patience, most) {
                self.is_set = self.set(socket, mark);
            }
        }
        self.patience.filter(|_| self.is_set).map(|patience| now.after(patience))
    }

    fn set(&mut self, socket: &TcpStream, bytes: u32) -> bool {
        let is_set = linux::tcp::set_receive_low_water(socket, bytes).is_ok();
        self.most = self.most.filter(|_| is_set);
        is_set
    }
}

/// The shortest round trip so far; none: the kernel does not tell.
fn round_trip(socket: &TcpStream) -> Option<Duration> {
    let info = linux::tcp::info(socket).ok()?;
    let known = info.min_rtt > 0 && info.min_rtt < u32::MAX;
    known.then(|| Duration::from_micros(info.min_rtt.into()))
}

/// On one host, and in one rack, the window is many times what is on its way.
fn patience(round_trip: Option<Duration>) -> Duration {
    match round_trip {
        Some(round_trip) if round_trip > NEAR => (round_trip / PART).min(PATIENCE),
        _ => PATIENCE,
    }
}

/// The mark for a stream that moved so many bytes in a `span`; none: they come too slowly for a
/// mark that is worth the wait.
fn mark(moved: u64, span: Duration, patience: Duration, most: u32) -> Option<u32> {
    let comes = u128::from(moved) * patience.as_nanos() / span.as_nanos().max(1);
    let comes = u32::try_from(comes).unwrap_or(u32::MAX);
    let mark = if patience == PATIENCE { most } else { most.min(comes) };
    (comes >= LEAST && mark >= LEAST).then_some(mark)
}

/// 1 ms: a stream of 10 Gbit/s moves about a megabyte in it.
const PATIENCE: Duration = Duration::from_millis(1);
/// The longest round trip of paths whose window is ample.
const NEAR: Duration = Duration::from_micros(200);
/// What unread bytes may cost of a round trip.
const PART: u32 = 16;
/// The beginning of a stream, which is slow in any case.
const WARM_UP: Duration = Duration::from_millis(20);
/// Less is not worth a wait.
const LEAST: u32 = 128 << 10;

#[cfg(test)]
mod tests {
    use super::*;

    const MOST: u32 = 1 << 20;

    #[test]
    fn a_fast_stream_on_a_near_path_has_the_highest_mark() {
        let near = patience(Some(Duration::from_micros(40)));
        assert_eq!(mark(256 << 10, Duration::from_micros(100), near, MOST), Some(MOST));
        assert_eq!(mark(256 << 10, Duration::from_millis(20), near, MOST), None);
        assert_eq!(mark(256 << 10, Duration::from_micros(100), near, 64 << 10), None);
    }

    #[test]
    fn on_a_far_path_unread_bytes_cost_a_small_part_of_the_round_trip() {
        let far = patience(Some(Duration::from_millis(10)));
        assert_eq!(far, Duration::from_micros(625));
        // 5 Gbit/s
        assert_eq!(mark(625_000, Duration::from_millis(1), far, MOST), Some(390_625));
        assert_eq!(patience(Some(Duration::from_secs(1))), PATIENCE);
    }
}
