//! When a receiver is woken: not for each packet, but when a good part of its buffer has arrived,
//! or after a little while.
//!
//! A socket wakes its reader for nearly each packet. One that reads fast spends more time on waking
//! and sleeping than on some of the copies: `SO_RCVLOWAT` (socket(7)) lets it sleep until so many
//! bytes wait. What is below the mark is read after [`PATIENCE`] all the same, so that a slow or
//! ending stream is counted in its own time; one that has become slow has no mark.

use std::net::TcpStream;
use std::time::Duration;

use measurement::Timestamp;

/// The mark of one socket.
#[derive(Debug, Default)]
pub(super) struct LowWater {
    is_set: bool,
    /// The kernel refuses it.
    is_refused: bool,
    /// Since when bytes are counted.
    since: Timestamp,
    bytes: u64,
}

impl LowWater {
    /// So many bytes were read.
    pub(super) const fn note(&mut self, bytes: usize) {
        self.bytes += bytes as u64;
    }

    /// Nothing is there to be read. The time at which to look again though the socket is not
    /// readable; none: it wakes for whatever comes.
    pub(super) fn wait(&mut self, socket: &TcpStream, now: Timestamp) -> Option<Timestamp> {
        let moved = std::mem::take(&mut self.bytes);
        let span = now.since(std::mem::replace(&mut self.since, now));
        if self.is_set && moved == 0 {
            self.set(socket, 1);
            self.is_set = false;
        } else if !self.is_set && !self.is_refused && is_fast(moved, span) {
            let mark = linux::tcp::receive_buffer(socket).map_or(0, |bytes| bytes / PART);
            self.is_set = self.set(socket, mark.clamp(LEAST, MOST));
        }
        self.is_set.then(|| now.after(PATIENCE))
    }

    fn set(&mut self, socket: &TcpStream, bytes: u32) -> bool {
        let is_set = linux::tcp::set_receive_low_water(socket, bytes).is_ok();
        self.is_refused |= !is_set;
        is_set
    }
}

/// Whether so much came that the mark is reached well before the patience ends.
fn is_fast(moved: u64, span: Duration) -> bool {
    let bytes_per_patience = moved as f64 * PATIENCE.as_secs_f64() / span.as_secs_f64().max(1e-9);
    moved > 0 && bytes_per_patience >= f64::from(LEAST)
}

/// How long bytes below the mark may wait.
const PATIENCE: Duration = Duration::from_millis(2);
/// A mark may hold so small a part of the buffer: the rest is the window that is offered meanwhile.
const PART: u32 = 8;
/// Less is not worth a wait, and more does not fit the caches.
const LEAST: u32 = 128 << 10;
const MOST: u32 = 1 << 20;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stream_is_fast_that_reaches_the_mark_within_the_patience() {
        assert!(is_fast(256 << 10, Duration::from_millis(1)));
        assert!(!is_fast(256 << 10, Duration::from_millis(20)));
        assert!(!is_fast(0, Duration::ZERO));
    }
}
