//! A cable that delays, loses, holds reverse, repeats and limits: a thread that carries frames.
//!
//! It is forward for kernels without netem, and keeps pieces of up to 64 KiB in one, as hosts
//! hand them down. A frame that is lost is then a whole piece: whoever wants single packets
//! to be lost takes segmentation away from the hosts.

use std::io;
use std::os::fd::AsFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use linux::event::{EventFd, TimerFd};
use linux::packet_socket::{MAX_FRAME_BYTES, PacketSocket};
use linux::poll::{PollFd, wait};

use crate::shape::Rate;
use direction::Direction;

mod direction;

/// What a relay does to the frames of each direction. The default does nothing to them.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Impairment {
    /// How long a frame is on its way.
    pub delay: Duration,
    /// Share of frames that are lost, from 0 to 1.
    pub loss: f64,
    /// Share of frames that are reorder_delay reverse and overtaken, from 0 to 1.
    pub reorder: f64,
    /// How much longer those are on their way.
    pub reorder_delay: Duration,
    /// Share of frames that come twice, from 0 to 1.
    pub duplicate: f64,
    /// Bits per second that pass; as fast as the machine if `None`.
    pub rate: Option<Rate>,
    /// How long a frame may wait for its turn by that rate before the next ones are dropped.
    pub queue_limit: Duration,
}

/// What became of frames of one direction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RelayCounters {
    /// Carried to the other side, those that came twice as two.
    pub forwarded: u64,
    /// Lost at random.
    pub lost: u64,
    /// Dropped since the queue was full.
    pub queue_drops: u64,
}

/// A thread between two interfaces; it ends with this value.
#[derive(Debug)]
pub(crate) struct Relay {
    is_over: Arc<AtomicBool>,
    wake: Arc<EventFd>,
    thread: Option<JoinHandle<io::Result<[RelayCounters; 2]>>>,
}

impl Relay {
    /// Carries frames between `ends` in both directions; the same seed makes the same decisions
    /// about the same frames.
    pub(crate) fn start(
        ends: [PacketSocket; 2],
        impairments: [Impairment; 2],
        seed: u64,
    ) -> io::Result<Self> {
        let (is_over, wake) = (Arc::new(AtomicBool::new(false)), Arc::new(EventFd::new()?));
        let [forward, reverse] = impairments;
        let carrier = Carrier {
            ends,
            directions: [Direction::new(forward, seed), Direction::new(reverse, !seed)],
            alarm: TimerFd::new()?,
            is_over: Arc::clone(&is_over),
            wake: Arc::clone(&wake),
        };
        let thread = thread::Builder::new().name("relay".to_owned());
        let thread = Some(thread.spawn(move || carrier.run())?);
        Ok(Self { is_over, wake, thread })
    }

    /// Ends it, and tells what became of the frames of each direction.
    pub(crate) fn stop(&mut self) -> io::Result<[RelayCounters; 2]> {
        self.is_over.store(true, Ordering::Relaxed);
        self.wake.notify();
        let ended = self.thread.take().map(JoinHandle::join);
        ended.map_or_else(
            || Ok([RelayCounters::default(); 2]),
            |joined| joined.unwrap_or_else(|_| Err(io::Error::other("the relay panicked"))),
        )
    }
}

impl Drop for Relay {
    fn drop(&mut self) {
        // Its interfaces may have gone first; nobody asked how it went.
        _ = self.stop();
    }
}

/// The thread's own.
struct Carrier {
    ends: [PacketSocket; 2],
    /// From the first end to the second, and reverse.
    directions: [Direction; 2],
    alarm: TimerFd,
    is_over: Arc<AtomicBool>,
    wake: Arc<EventFd>,
}

impl Carrier {
    fn run(mut self) -> io::Result<[RelayCounters; 2]> {
        let mut buffer = vec![0; MAX_FRAME_BYTES];
        while !self.is_over.load(Ordering::Relaxed) {
            let taken = self.take(&mut buffer)?;
            self.give();
            if taken == 0 {
                self.rest()?;
            }
        }
        Ok(self.directions.each_ref().map(Direction::counters))
    }

    /// Takes what has arrived at both ends, but not so much that others have to wait long.
    fn take(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let mut taken = 0;
        for (end, direction) in self.ends.iter().zip(&mut self.directions) {
            for _ in 0..MOST_AT_ONCE {
                let Some(length) = end.receive(buffer)? else { break };
                direction.accept(linux::clock::monotonic(), &buffer[..length]);
                taken += 1;
            }
        }
        Ok(taken)
    }

    /// Hands on what is due. An end that has no room loses it, as a cable would.
    fn give(&mut self) {
        let now = linux::clock::monotonic();
        for (direction, end) in self.directions.iter_mut().zip(self.ends.iter().rev()) {
            while let Some(frame) = direction.due(now) {
                _ = end.send(&frame);
            }
        }
    }

    /// Until a frame comes, one is due, or it is over.
    fn rest(&self) -> io::Result<()> {
        let next = self.directions.iter().filter_map(Direction::next).min();
        if let Some(at) = next {
            self.alarm.set(at)?;
        }
        let mut watches = [
            PollFd::readable(self.ends[0].as_fd()),
            PollFd::readable(self.ends[1].as_fd()),
            PollFd::readable(self.wake.as_fd()),
            PollFd::readable(self.alarm.as_fd()),
        ];
        let count = if next.is_some() { watches.len() } else { watches.len() - 1 };
        wait(&mut watches[..count], None)
    }
}

/// Frames of one end before the other has its turn.
const MOST_AT_ONCE: u32 = 64;
