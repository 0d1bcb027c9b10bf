//! One thread that drives its streams: the loop knows no engine.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use std::io;
use std::sync::Arc;
use std::sync::atomic::Ordering::{Acquire, Release};
use std::time::Duration;

use linux::epoll::{Epoll, Events, Interest};
use linux::event::{Alarm, Wake};
use measurement::Timestamp;
use portable_atomic::AtomicBool;

use crate::scratch::Scratch;
use crate::stream::{Step, Stream};

/// What the owner of a pool tells its workers.
#[derive(Debug, Default)]
pub(crate) struct Orders {
    stop_sending: AtomicBool,
    stop: AtomicBool,
}

impl Orders {
    pub(crate) fn stop_sending(&self) {
        self.stop_sending.store(true, Release);
    }

    pub(crate) fn stop(&self) {
        self.stop.store(true, Release);
    }
}

/// Where one stream of a worker stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    /// In the queue of those that can go on.
    Ready,
    /// Waits for its socket.
    Socket,
    /// Waits for the time.
    Time,
    /// Will not go on.
    Done,
}

struct Slot {
    stream: Box<dyn Stream>,
    sends: bool,
    place: Place,
}

/// The streams of one thread and what they wait for. Everything is allocated when
/// it is built.
pub(crate) struct Worker {
    slots: Vec<Slot>,
    ready: VecDeque<usize>,
    times: BinaryHeap<Reverse<(Timestamp, usize)>>,
    scratch: Scratch,
    epoll: Epoll,
    events: Events,
    alarm: Alarm,
    /// When the alarm is set to go off.
    alarm_at: Option<Timestamp>,
    wake: Arc<Wake>,
    orders: Arc<Orders>,
    sending_stopped: bool,
    /// Notified when a stream is done.
    done: Arc<Wake>,
}

impl Worker {
    pub(crate) fn new(
        streams: Vec<Box<dyn Stream>>,
        scratch: Scratch,
        orders: Arc<Orders>,
        wake: Arc<Wake>,
        done: Arc<Wake>,
    ) -> io::Result<Self> {
        let (epoll, alarm) = (Epoll::new()?, Alarm::new()?);
        epoll.watch(&*wake, Interest::Readable, WAKE)?;
        epoll.watch(&alarm, Interest::Readable, ALARM)?;
        let mut slots = Vec::with_capacity(streams.len());
        for (index, stream) in streams.into_iter().enumerate() {
            let (socket, interest) = stream.interest();
            epoll.watch(socket, interest, index as u64)?;
            let sends = interest == Interest::Writable;
            slots.push(Slot { stream, sends, place: Place::Ready });
        }
        let count = slots.len();
        Ok(Self {
            ready: (0..count).collect(),
            times: BinaryHeap::with_capacity(count + 1),
            events: Events::with_capacity((count + 2).min(MOST_EVENTS)),
            alarm_at: None,
            sending_stopped: false,
            slots,
            scratch,
            epoll,
            alarm,
            wake,
            orders,
            done,
        })
    }

    /// Drives the streams until told to stop.
    pub(crate) fn run(&mut self) -> io::Result<()> {
        let mut turns = 0_u32;
        while !self.orders.stop.load(Acquire) {
            if !self.sending_stopped && self.orders.stop_sending.load(Acquire) {
                self.stop_senders();
            }
            let now = crate::now();
            self.collect_due(now);
            match self.ready.pop_front() {
                Some(index) => {
                    self.step(index, now);
                    turns = turns.wrapping_add(1);
                    // The others may have become ready in the meantime; with none ready
                    // the next turn sleeps, which finds out too.
                    if turns.is_multiple_of(TURNS_BETWEEN_POLLS)
                        && (1..self.slots.len()).contains(&self.ready.len())
                    {
                        self.wait(Some(Duration::ZERO))?;
                    }
                }
                None => self.sleep()?,
            }
        }
        Ok(())
    }

    fn step(&mut self, index: usize, now: Timestamp) {
        let slot = &mut self.slots[index];
        if slot.place == Place::Done {
            return;
        }
        slot.place = match slot.stream.step(now, &mut self.scratch) {
            Step::Again => {
                self.ready.push_back(index);
                Place::Ready
            }
            Step::Readable | Step::Writable => Place::Socket,
            Step::Until(time) => {
                self.times.push(Reverse((time, index)));
                Place::Time
            }
            Step::Done => {
                self.done.notify();
                Place::Done
            }
        };
    }

    /// From here on the senders' counters are final.
    fn stop_senders(&mut self) {
        self.sending_stopped = true;
        for slot in self.slots.iter_mut().filter(|slot| slot.sends && slot.place != Place::Done) {
            slot.place = Place::Done;
            slot.stream.halt();
        }
    }

    /// Moves the streams whose time has come to the ready ones.
    fn collect_due(&mut self, now: Timestamp) {
        while let Some(Reverse((time, index))) = self.times.peek().copied() {
            if time > now {
                return;
            }
            self.times.pop();
            if self.slots[index].place == Place::Time {
                self.slots[index].place = Place::Ready;
                self.ready.push_back(index);
            }
        }
    }

    /// Waits for a socket, the next time or an order.
    fn sleep(&mut self) -> io::Result<()> {
        if let Some(Reverse((time, _))) = self.times.peek().copied()
            && self.alarm_at.replace(time) != Some(time)
        {
            self.alarm.set(Duration::from_nanos(time.nanos()))?;
        }
        self.wait(None)
    }

    fn wait(&mut self, timeout: Option<Duration>) -> io::Result<()> {
        let Self { slots, ready, epoll, events, alarm_at, wake, .. } = self;
        epoll.wait(events, timeout, |token| match token {
            WAKE => wake.clear(),
            // The next sleep sets it anew, which also makes it unreadable.
            ALARM => *alarm_at = None,
            index => {
                let index = usize::try_from(index).unwrap_or(usize::MAX);
                if let Some(slot) = slots.get_mut(index)
                    && slot.place == Place::Socket
                {
                    slot.place = Place::Ready;
                    ready.push_back(index);
                }
            }
        })
    }
}

const WAKE: u64 = u64::MAX;
const ALARM: u64 = u64::MAX - 1;
const MOST_EVENTS: usize = 256;
const TURNS_BETWEEN_POLLS: u32 = 16;
