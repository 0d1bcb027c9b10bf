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

use crate::punctuality::{Precision, Punctuality};
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
    Time(Precision),
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
    /// When it was to go off that just did.
    rang: Option<Timestamp>,
    /// When it began to spin.
    spinning: Option<Timestamp>,
    punctuality: Punctuality,
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
            rang: None,
            spinning: None,
            punctuality: Punctuality::default(),
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
            if let Some(time) = self.rang.take() {
                self.punctuality.woke(now.since(time));
            }
            self.collect_due(now);
            match self.ready.pop_front() {
                Some(index) => {
                    self.stop_spinning(now);
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
                None => self.rest(now)?,
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
                Place::Time(Precision::About)
            }
            Step::Exactly(time) => {
                self.times.push(Reverse((time, index)));
                Place::Time(Precision::Exact)
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
            if matches!(self.slots[index].place, Place::Time(_)) {
                self.slots[index].place = Place::Ready;
                self.ready.push_back(index);
            }
        }
    }

    /// Waits for a socket, the next time or an order: sleeps if there is time for that.
    fn rest(&mut self, now: Timestamp) -> io::Result<()> {
        let Some(wake_at) = self.wake_at() else { return self.wait(None) };
        if wake_at <= now {
            return self.spin(now);
        }
        self.stop_spinning(now);
        if self.alarm_at.replace(wake_at) != Some(wake_at) {
            self.alarm.set(Duration::from_nanos(wake_at.nanos()))?;
        }
        self.wait(None)
    }

    /// A thread that sleeps until a time wakes after it, so that it has to ask for less.
    fn wake_at(&self) -> Option<Timestamp> {
        let Reverse((time, index)) = self.times.peek().copied()?;
        let Place::Time(precision) = self.slots[index].place else { return Some(time) };
        let lead = self.punctuality.lead(precision).as_nanos();
        Some(Timestamp::from_nanos(
            time.nanos().saturating_sub(u64::try_from(lead).unwrap_or(u64::MAX)),
        ))
    }

    /// Passes a moment; the next turn looks at the clock again.
    fn spin(&mut self, now: Timestamp) -> io::Result<()> {
        self.spinning.get_or_insert(now);
        if self.slots.len() > 1 {
            return self.wait(Some(Duration::ZERO));
        }
        std::hint::spin_loop();
        Ok(())
    }

    fn stop_spinning(&mut self, now: Timestamp) {
        if let Some(since) = self.spinning.take() {
            self.scratch.pacing.spun(now.since(since));
        }
    }

    fn wait(&mut self, timeout: Option<Duration>) -> io::Result<()> {
        let Self { slots, ready, epoll, events, alarm_at, rang, wake, .. } = self;
        epoll.wait(events, timeout, |token| match token {
            WAKE => wake.clear(),
            // The next sleep sets it anew, which also makes it unreadable.
            ALARM => *rang = alarm_at.take(),
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
