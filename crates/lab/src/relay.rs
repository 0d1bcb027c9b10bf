//! A cable that delays, loses, holds back, repeats and limits: a thread that carries frames.
//!
//! It is there for kernels without netem, and keeps pieces of up to 64 KiB in one, as hosts
//! hand them down. A frame that is lost is then a whole piece: whoever wants single packets
//! to be lost takes segmentation away from the hosts.

use std::io;
use std::os::fd::AsFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use linux::event::{Alarm, Wake};
use linux::packet_socket::{LONGEST_FRAME, PacketSocket};
use linux::poll::{Watch, wait};

use crate::shape::Rate;
use lane::Lane;

mod lane;
mod random;

/// What a relay does to the frames of each direction. The default does nothing to them.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Impairment {
    /// How long a frame is on its way.
    pub delay: Duration,
    /// Share of frames that are lost, from 0 to 1.
    pub loss: f64,
    /// Share of frames that are held back and overtaken, from 0 to 1.
    pub reorder: f64,
    /// How much longer those are on their way.
    pub held: Duration,
    /// Share of frames that come twice, from 0 to 1.
    pub duplicate: f64,
    /// Bits per second that pass; as fast as the machine if `None`.
    pub rate: Option<Rate>,
    /// How long a frame may wait for its turn by that rate before the next ones are dropped.
    pub queue: Duration,
}

/// What became of frames of one direction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Carried to the other side, those that came twice as two.
    pub passed: u64,
    /// Lost at random.
    pub lost: u64,
    /// Dropped since the queue was full.
    pub refused: u64,
}

/// A thread between two interfaces; it ends with this value.
#[derive(Debug)]
pub(crate) struct Relay {
    is_over: Arc<AtomicBool>,
    wake: Arc<Wake>,
    thread: Option<JoinHandle<io::Result<[Tally; 2]>>>,
}

impl Relay {
    /// Carries frames between `ends` in both directions; the same seed makes the same decisions
    /// about the same frames.
    pub(crate) fn start(
        ends: [PacketSocket; 2],
        impairments: [Impairment; 2],
        seed: u64,
    ) -> io::Result<Self> {
        let (is_over, wake) = (Arc::new(AtomicBool::new(false)), Arc::new(Wake::new()?));
        let [there, back] = impairments;
        let carrier = Carrier {
            ends,
            lanes: [Lane::new(there, seed), Lane::new(back, !seed)],
            alarm: Alarm::new()?,
            is_over: Arc::clone(&is_over),
            wake: Arc::clone(&wake),
        };
        let thread = thread::Builder::new().name("relay".to_owned());
        let thread = Some(thread.spawn(move || carrier.run())?);
        Ok(Self { is_over, wake, thread })
    }

    /// Ends it, and tells what became of the frames of each direction.
    pub(crate) fn end(&mut self) -> io::Result<[Tally; 2]> {
        self.is_over.store(true, Ordering::Relaxed);
        self.wake.notify();
        let ended = self.thread.take().map(JoinHandle::join);
        ended.map_or_else(
            || Ok([Tally::default(); 2]),
            |joined| joined.unwrap_or_else(|_| Err(io::Error::other("the relay panicked"))),
        )
    }
}

impl Drop for Relay {
    fn drop(&mut self) {
        // Its interfaces may have gone first; nobody asked how it went.
        _ = self.end();
    }
}

/// The thread's own.
struct Carrier {
    ends: [PacketSocket; 2],
    /// From the first end to the second, and back.
    lanes: [Lane; 2],
    alarm: Alarm,
    is_over: Arc<AtomicBool>,
    wake: Arc<Wake>,
}

impl Carrier {
    fn run(mut self) -> io::Result<[Tally; 2]> {
        let mut buffer = vec![0; LONGEST_FRAME];
        while !self.is_over.load(Ordering::Relaxed) {
            let taken = self.take(&mut buffer)?;
            self.give();
            if taken == 0 {
                self.rest()?;
            }
        }
        Ok(self.lanes.each_ref().map(Lane::tally))
    }

    /// Takes what has arrived at both ends, but not so much that others have to wait long.
    fn take(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let mut taken = 0;
        for (end, lane) in self.ends.iter().zip(&mut self.lanes) {
            for _ in 0..MOST_AT_ONCE {
                let Some(length) = end.receive(buffer)? else { break };
                lane.accept(linux::clock::monotonic(), &buffer[..length]);
                taken += 1;
            }
        }
        Ok(taken)
    }

    /// Hands on what is due. An end that has no room loses it, as a cable would.
    fn give(&mut self) {
        let now = linux::clock::monotonic();
        for (lane, end) in self.lanes.iter_mut().zip(self.ends.iter().rev()) {
            while let Some(frame) = lane.due(now) {
                _ = end.send(&frame);
            }
        }
    }

    /// Until a frame comes, one is due, or it is over.
    fn rest(&self) -> io::Result<()> {
        let next = self.lanes.iter().filter_map(Lane::next).min();
        if let Some(at) = next {
            self.alarm.set(at)?;
        }
        let mut watches = [
            Watch::readable(self.ends[0].as_fd()),
            Watch::readable(self.ends[1].as_fd()),
            Watch::readable(self.wake.as_fd()),
            Watch::readable(self.alarm.as_fd()),
        ];
        let count = if next.is_some() { watches.len() } else { watches.len() - 1 };
        wait(&mut watches[..count], None)
    }
}

/// Frames of one end before the other has its turn.
const MOST_AT_ONCE: u32 = 64;
