//! Runs a stream as a workload of the runtime `mars`.
//!
//! ```text
//!   arriving --register its socket, notify--> waiting --all have arrived--> started --> done
//! ```

use std::sync::Arc;
use std::thread;

use linux::epoll::Interest;
use linux::event::EventFd;
use mars::{Barrier, Mpu, Next, Wait, Workload};
use measurement::Timestamp;

use crate::counters::Counters;
use crate::stream::{Step, Stream};
use crate::worker_state::{WorkerState, WorkerTimes, instant, timestamp};

/// One stream and its phase.
pub(crate) struct StreamWorkload {
    pub(crate) engine: Box<dyn Stream>,
    pub(crate) counters: Arc<Counters>,
    pub(crate) sends: bool,
    /// It sends, and is woken by a signal when the sending is over.
    pub(crate) is_halted_by_signal: bool,
    /// It sends, and has not sent yet.
    pub(crate) is_silent: bool,
    pub(crate) phase: Phase,
    /// Bytes that the stream had sent when it last offered its CPU to other threads.
    pub(crate) shared_at: u64,
    /// The time since which its socket has had no room to send.
    pub(crate) blocked: Option<Timestamp>,
    /// The barrier of all streams and the host before the first byte.
    pub(crate) start: Arc<Barrier>,
    /// Notified when the stream has ended.
    pub(crate) done: Arc<EventFd>,
    pub(crate) times: Arc<WorkerTimes>,
}

/// The phase of a stream; see the drawing above.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Phase {
    Arriving,
    Waiting,
    Started,
}

impl Workload for StreamWorkload {
    type Module = WorkerState;

    fn run(&mut self, mpu: &mut Mpu<'_, WorkerState>) -> Next {
        if self.phase != Phase::Started {
            if let Err(wait) = self.gather(mpu) {
                return Next::Stalled(wait);
            }
            self.settle(mpu);
            // All streams leave the barrier before any of them moves a byte.
            return Next::Yield;
        }
        if self.counters.is_finished() {
            return Next::Finished;
        }
        if self.sends && mpu.module.is_sending_over {
            self.engine.halt();
            return Next::Finished;
        }
        self.step(mpu)
    }
}

impl StreamWorkload {
    /// Registers the socket and waits at the barrier.
    fn gather(&mut self, mpu: &mut Mpu<'_, WorkerState>) -> Result<(), Wait> {
        if self.phase == Phase::Arriving {
            let (socket, interest) = self.engine.interest();
            if let Err(error) = mpu.watch(socket, interest) {
                self.counters.finish(error.raw_os_error());
                self.done.notify();
            }
            mpu.module.streams += 1;
            self.start.notify(mpu)?;
            self.phase = Phase::Waiting;
        }
        self.start.wait(mpu)?;
        self.phase = Phase::Started;
        let now = timestamp(mpu.clock());
        mpu.module.start_one(now, &self.times);
        Ok(())
    }

    /// Lets a stream that is alone on its MPU wait in its system calls.
    fn settle(&mut self, mpu: &Mpu<'_, WorkerState>) {
        if mpu.module.streams == 1 && self.engine.use_blocking_calls() {
            // If that fails, the thread is woken needlessly at times.
            _ = mpu.unwatch(self.engine.interest().0);
        }
    }

    fn step(&mut self, mpu: &mut Mpu<'_, WorkerState>) -> Next {
        let now = timestamp(mpu.now());
        let spun = mpu.spun();
        mpu.module.note_spinning(spun);
        if let Some(since) = self.blocked.take() {
            self.counters.add_blocked(now.since(since));
        }
        mpu.module.scratch.wake_cost = mpu.wake_cost();
        let before = self.counters.bytes();
        let step = self.engine.step(now, &mut mpu.module.scratch);
        mpu.module.moved += self.counters.bytes().saturating_sub(before);
        self.blocked = (step == Step::Writable).then_some(now);
        if self.is_silent && self.counters.has_moved() {
            self.is_silent = false;
            self.times.note_first_byte(now);
        }
        match step {
            Step::Again => Next::Yield,
            Step::AgainAfterOthers => {
                self.let_others_run(mpu);
                Next::Yield
            }
            Step::Readable | Step::Writable if self.is_halted_by_signal => {
                match mpu.wait_for_signal() {
                    Ok(()) => Next::Yield,
                    Err(wait) => Next::Stalled(wait.or_readiness()),
                }
            }
            Step::Readable | Step::Writable => Next::Stalled(Wait::for_readiness()),
            Step::ReadableOr(time) => Next::Stalled(Wait::for_readiness().or_until(instant(time))),
            Step::Watch => self.watch_newest(mpu),
            Step::Until(time) => Next::Stalled(Wait::until(instant(time))),
            Step::SleepUntil(time) => Next::Stalled(Wait::sleep_until(instant(time))),
            Step::Exactly(time) => Next::Stalled(Wait::exactly_until(instant(time))),
            Step::Done => {
                self.done.notify();
                Next::Finished
            }
        }
    }

    /// Lets the other threads of the CPU run, if that pays.
    fn let_others_run(&mut self, mpu: &mut Mpu<'_, WorkerState>) {
        let bytes = self.counters.bytes();
        let sent = bytes - std::mem::replace(&mut self.shared_at, bytes);
        let gone = timestamp(mpu.clock());
        let worker = &mut *mpu.module;
        let is_due = worker.cpu_sharing.sent(sent, worker.moved, gone);
        worker.scratch.most_sent = worker.cpu_sharing.most_sent();
        if is_due {
            thread::yield_now();
            let back = timestamp(mpu.clock());
            mpu.module.cpu_sharing.was_away(gone, back);
        }
    }

    fn watch_newest(&self, mpu: &mut Mpu<'_, WorkerState>) -> Next {
        let new_descriptor = self.engine.new_descriptor();
        match new_descriptor
            .map_or(Ok(()), |new_descriptor| mpu.watch_extra(new_descriptor, Interest::Both))
        {
            Ok(()) => Next::Yield,
            Err(error) => {
                self.counters.finish(error.raw_os_error());
                self.done.notify();
                Next::Finished
            }
        }
    }
}
