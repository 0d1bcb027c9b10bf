//! A relay: a thread that forwards frames between two interfaces with delay, loss,
//! reordering, duplication and a rate limit.
//!
//! It replaces netem on kernels without it. GSO packets of up to 64 KiB stay whole, so that
//! a lost frame may be a whole GSO packet; to lose single packets, switch off GSO on the
//! hosts.

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

mod delivery;
mod direction;

pub use delivery::{Delivery, DeliveryCurve};

/// What a relay does to the frames of one direction: delay, loss, reordering, duplication, rate
/// limit, and what a device delivers of each rate. The default is none.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Impairment {
    /// One-way delay of each frame.
    pub delay: Duration,
    /// Share of frames that are lost at random, from 0 to 1.
    pub loss: f64,
    /// Share of frames that are delayed further and overtaken, from 0 to 1.
    pub reorder: f64,
    /// Further delay of reordered frames.
    pub reorder_delay: Duration,
    /// Share of frames that are duplicated, from 0 to 1.
    pub duplicate: f64,
    /// Rate limit; `None`: as fast as the machine.
    pub rate: Option<Rate>,
    /// Longest time that a frame may wait for the rate limit, and a datagram for a device; those
    /// that would wait longer are dropped.
    pub queue_limit: Duration,
    /// A device that serves datagrams (UDP over IPv4) at the rate that it delivers of the rate in the
    /// last 100 ms, after a queue; `None`: all pass. Other frames pass.
    pub delivery: Option<DeliveryCurve>,
}

/// Counters of the frames that a relay handled in one direction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RelayCounters {
    /// Frames forwarded, a duplicated one as two.
    pub forwarded: u64,
    /// Frames lost at random.
    pub lost: u64,
    /// Frames dropped since the queue was full.
    pub queue_drops: u64,
    /// Datagrams dropped since the queue of the device was full.
    pub undelivered: u64,
}

/// A relay thread, which ends when this is dropped.
#[derive(Debug)]
pub(crate) struct Relay {
    is_over: Arc<AtomicBool>,
    wake: Arc<EventFd>,
    thread: Option<JoinHandle<io::Result<[RelayCounters; 2]>>>,
}

impl Relay {
    /// Starts to forward frames between `ends` in both directions. The same seed makes the
    /// same random decisions.
    pub(crate) fn start(
        ends: [PacketSocket; 2],
        impairments: &[Impairment; 2],
        seed: u64,
    ) -> io::Result<Self> {
        let (is_over, wake) = (Arc::new(AtomicBool::new(false)), Arc::new(EventFd::new()?));
        let [forward, reverse] = *impairments;
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

    /// Stops the thread; returns the counters of each direction.
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
        // Its interfaces may have been removed first; a caller that needs the error calls `stop`.
        _ = self.stop();
    }
}

/// The state of the thread.
struct Carrier {
    ends: [PacketSocket; 2],
    /// From the first end to the second, and back.
    directions: [Direction; 2],
    alarm: TimerFd,
    is_over: Arc<AtomicBool>,
    wake: Arc<EventFd>,
}

impl Carrier {
    fn run(mut self) -> io::Result<[RelayCounters; 2]> {
        // A busy machine would delay and drop frames that the path between two hosts does not. Without
        // the right to it the relay is as fast as others let it be.
        _ = linux::host::run_before_others(linux::host::Rank::Path);
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

    /// Receives frames that have arrived at both ends, in turns of bounded length.
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

    /// Sends the frames that are due. If an end has no room, the frame is lost.
    fn give(&mut self) {
        let now = linux::clock::monotonic();
        for (direction, end) in self.directions.iter_mut().zip(self.ends.iter().rev()) {
            while let Some(frame) = direction.due(now) {
                _ = end.send(&frame);
            }
        }
    }

    /// Sleeps until a frame arrives, one is due, or the relay is stopped.
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

/// Frames received at one end before it is the other's turn.
const MOST_AT_ONCE: u32 = 64;
