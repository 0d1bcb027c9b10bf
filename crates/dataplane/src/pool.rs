//! Runs the streams of one test on worker threads: the MPUs of a `mars` context.
//!
//! ```text
//!   prepare        each stream is placed on an MPU, registers its socket with the epoll
//!                  instance there, and waits at a barrier
//!   start          the host thread is the last to arrive at the barrier: all streams start
//!   sample         the reporter of each MPU, at a higher priority than streams, puts the
//!                  counters into a queue
//!   stop_sending   sets an event flag: the stopper of each MPU, at a higher priority than
//!                  streams, ends the sending
//! ```

mod spread;

use std::io;
use std::sync::atomic::Ordering::{Relaxed, Release};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use linux::event::EventFd;
use mars::{
    Barrier, Builder, Clearing, Context, EventFlag, Handle, Placement, Priority, Queue, Utilisation,
};
use measurement::{StreamCounters, Timestamp};
use portable_atomic::AtomicU64;

use crate::control::{Report, ReportQueue, Reporter, STOP_SENDING, Stopper};
use crate::counters::Counters;
use crate::delay_variation::VariationStatistics;
use crate::pacing::PacingStatistics;
use crate::scratch::BufferPlan;
use crate::stream::Stream;
use crate::worker_state::{WorkerState, WorkerTimes};
use crate::worker_statistics::WorkerStatistics;
use crate::workload::{Phase, StreamWorkload};

pub use spread::Spread;

/// A stream of a test that is connected and ready to start, with its counters.
pub struct OpenStream {
    /// The number of the stream in the control protocol, from 1.
    pub id: u32,
    /// Whether this end sends the payload of the stream.
    pub sender: bool,
    /// The engine that moves the payload.
    pub engine: Box<dyn Stream>,
    /// The counters that the engine publishes.
    pub counters: Arc<Counters>,
}

/// The worker threads (MPUs of the runtime `mars`) of one test, each with its share of the
/// streams. Dropping it ends the threads.
pub struct Pool {
    context: Context,
    streams: Vec<StreamEntry>,
    /// A workload ends when its handle is dropped.
    workloads: Vec<Handle<StreamWorkload>>,
    controls: Vec<WorkerControl>,
    start: Arc<Barrier>,
    orders: Arc<EventFlag>,
    reports: Arc<ReportQueue>,
    late_reports: AtomicU64,
    /// The use of each MPU when the streams started.
    before: OnceLock<Vec<Utilisation>>,
    /// The statistics of the paced streams of each MPU.
    statistics: Vec<Arc<WorkerStatistics>>,
    done: Arc<EventFd>,
}

/// The part of a stream that stays with the pool's owner.
struct StreamEntry {
    id: u32,
    sender: bool,
    mpu: usize,
    /// As in [`StreamWorkload`].
    is_halted_by_signal: bool,
    counters: Arc<Counters>,
}

/// The part of an MPU that stays with the pool's owner.
struct WorkerControl {
    stopper: Handle<Stopper>,
    reporter: Handle<Reporter>,
    spare: Arc<Queue<Report>>,
    times: Arc<WorkerTimes>,
    /// The indices of the streams of the MPU.
    streams: Vec<usize>,
}

impl Pool {
    /// Starts one worker thread (MPU) per CPU of `cpus`, but no more than there are streams, and
    /// distributes the streams by `spread`. They wait for [`Self::start`]. With `pin` MPU `n` is
    /// bound to the `n`th CPU. `is_wanted` is polled until all streams are ready.
    ///
    /// # Errors
    /// - [`io::ErrorKind::Interrupted`]: `is_wanted` returned false.
    /// - [`io::ErrorKind::TimedOut`]: streams were not ready within 20 s.
    /// - `EINVAL`: with `pin`, a CPU on which this process may not run
    ///   (`sched_setaffinity(2)`).
    /// - `EAGAIN`: no more threads (`pthread_create(3)`); `EMFILE`, `ENFILE`: no more
    ///   descriptors; `ENOMEM`: no memory for the buffers of an MPU.
    pub fn prepare(
        streams: Vec<OpenStream>,
        memory: BufferPlan,
        cpus: &[usize],
        pin: bool,
        spread: Spread,
        is_wanted: &mut dyn FnMut() -> bool,
    ) -> io::Result<Self> {
        let mpus = cpus.len().min(streams.len()).max(1);
        let statistics: Vec<Arc<WorkerStatistics>> = (0..mpus).map(|_| Arc::default()).collect();
        let shared = statistics.clone();
        let state = move |mpu: usize| WorkerState::new(memory, mpu, Arc::clone(&shared[mpu]));
        let builder = Builder::new(mpus).name("worker").module(state);
        let builder = if pin { builder.pin(cpus) } else { builder };
        let parties = u32::try_from(streams.len() + 1).unwrap_or(u32::MAX);
        let mut pool = Self::without_streams(builder.start()?, statistics, parties)?;
        pool.add_streams(streams, spread);
        pool.wait_for_arrival(parties - 1, is_wanted)
    }

    /// A pool whose barrier is for so many `parties`: the streams and the host.
    fn without_streams(
        context: Context,
        statistics: Vec<Arc<WorkerStatistics>>,
        parties: u32,
    ) -> io::Result<Self> {
        Ok(Self {
            streams: Vec::new(),
            workloads: Vec::new(),
            controls: Vec::new(),
            start: Arc::new(Barrier::new(&context, parties)),
            orders: Arc::new(EventFlag::new(&context, Clearing::Manual)),
            reports: Arc::new(ReportQueue {
                wanted: AtomicU64::new(0),
                queue: Queue::new(&context, context.mpus() * SPARE_REPORTS),
            }),
            late_reports: AtomicU64::new(0),
            before: OnceLock::new(),
            statistics,
            done: Arc::new(EventFd::new()?),
            context,
        })
    }

    /// Places the streams, and then the control workloads, on the MPUs.
    fn add_streams(&mut self, streams: Vec<OpenStream>, spread: Spread) {
        let mpus = self.context.mpus();
        let times: Vec<Arc<WorkerTimes>> = (0..mpus).map(|_| Arc::default()).collect();
        let senders: Vec<_> = streams.iter().map(|stream| stream.sender).collect();
        for (stream, mpu) in streams.into_iter().zip(spread.places(&senders, mpus)) {
            self.add_stream(stream, mpu, &times[mpu]);
        }
        for (mpu, times) in times.into_iter().enumerate() {
            self.add_control(mpu, times);
        }
    }

    /// Waits until so many `streams` are at the barrier.
    fn wait_for_arrival(
        self,
        streams: u32,
        is_wanted: &mut dyn FnMut() -> bool,
    ) -> io::Result<Self> {
        let deadline = mars::Time::now().after(LONGEST_ARRIVAL);
        while !self.start.watch_on_host(streams, Some(LOOK_EVERY)) {
            if !is_wanted() {
                return Err(io::ErrorKind::Interrupted.into());
            }
            if mars::Time::now() >= deadline {
                // If an MPU ended early, its error is the cause.
                self.context.close()?;
                return Err(io::ErrorKind::TimedOut.into());
            }
        }
        Ok(self)
    }

    /// Places a stream on its MPU.
    fn add_stream(&mut self, stream: OpenStream, mpu: usize, times: &Arc<WorkerTimes>) {
        let OpenStream { id, sender, engine, counters } = stream;
        let is_halted_by_signal = sender && engine.continues_in_kernel();
        let workload = StreamWorkload {
            engine,
            counters: Arc::clone(&counters),
            sends: sender,
            is_halted_by_signal,
            is_silent: sender,
            blocked: None,
            phase: Phase::Arriving,
            shared_at: 0,
            start: Arc::clone(&self.start),
            done: Arc::clone(&self.done),
            times: Arc::clone(times),
        };
        let mut workload = self.context.add(workload);
        workload.schedule_at(BULK, Placement::Mpu(mpu));
        self.workloads.push(workload);
        self.streams.push(StreamEntry { id, sender, mpu, is_halted_by_signal, counters });
    }

    /// Places the control workloads of an MPU whose streams are placed already.
    fn add_control(&mut self, mpu: usize, times: Arc<WorkerTimes>) {
        let all = self.streams.iter().enumerate();
        let own: Vec<_> = all.filter(|(_, one)| one.mpu == mpu).map(|(index, _)| index).collect();
        let counter = |index: &usize| Arc::clone(&self.streams[*index].counters);
        let counters: Vec<_> = own.iter().map(counter).collect();
        let spare = Arc::new(Queue::new(&self.context, SPARE_REPORTS));
        for _ in 0..SPARE_REPORTS {
            let room = Vec::with_capacity(counters.len());
            // The queue has room for exactly these.
            _ = spare.try_push(Report { number: 0, mpu, counters: room });
        }
        let (orders, reports) = (Arc::clone(&self.orders), Arc::clone(&self.reports));
        let stopper = Stopper { orders, times: Arc::clone(&times) };
        let reporter = Reporter { counters, reports, spare: Arc::clone(&spare) };
        let (mut stopper, mut reporter) = (self.context.add(stopper), self.context.add(reporter));
        stopper.schedule_at(CONTROL, Placement::Mpu(mpu));
        reporter.schedule_at(CONTROL, Placement::Mpu(mpu));
        self.controls.push(WorkerControl { stopper, reporter, spare, times, streams: own });
    }

    /// Starts all streams at once.
    pub fn start(&self) {
        self.before.get_or_init(|| self.context.utilisation());
        self.start.try_notify();
    }

    /// Ends the sending streams; receiving streams continue. When it returns, the counters of
    /// the senders are final, unless an MPU did not leave a system call within 0.5 s.
    pub fn stop_sending(&self) {
        self.orders.set(STOP_SENDING);
        let mut have_stopped = true;
        for control in &self.controls {
            have_stopped &= control.stopper.wait_for(LONGEST_STOP).is_some();
        }
        have_stopped = have_stopped && self.halt_by_signal();
        if have_stopped {
            let senders = self.streams.iter().filter(|stream| stream.sender);
            senders.for_each(|stream| stream.counters.finish_in_order());
        }
    }

    /// Halts the streams whose sends the kernel continues between two steps. False: an MPU
    /// did not halt its stream in time.
    fn halt_by_signal(&self) -> bool {
        let all = self.workloads.iter().zip(&self.streams);
        let halted = || all.clone().filter(|(_, stream)| stream.is_halted_by_signal);
        halted().for_each(|(workload, _)| workload.signal());
        halted().all(|(workload, _)| workload.wait_for(LONGEST_STOP).is_some())
    }

    /// Ends all streams and joins the worker threads.
    ///
    /// # Errors
    /// The error that ended an MPU early: that of epoll_wait(2), or a panic of its thread.
    pub fn close(self) -> io::Result<()> {
        self.context.close()
    }

    /// An eventfd(2) that becomes readable when a stream has ended. [`Self::senders_finished`] and
    /// [`Self::is_stuck`] then say whether the test is over.
    pub fn done(&self) -> &EventFd {
        &self.done
    }

    /// Whether all sending streams have ended.
    pub fn senders_finished(&self) -> bool {
        self.streams.iter().all(|stream| !stream.sender || stream.counters.is_finished())
    }

    /// Whether all receiving streams have ended.
    pub fn receivers_finished(&self) -> bool {
        self.streams.iter().all(|stream| stream.sender || stream.counters.is_finished())
    }

    /// Whether all streams have ended.
    pub fn is_finished(&self) -> bool {
        self.streams.iter().all(|stream| stream.counters.is_finished())
    }

    /// Whether a stream ended with an error, or all receiving streams have ended: no more
    /// payload will move.
    pub fn is_stuck(&self) -> bool {
        let receives = self.streams.iter().any(|stream| !stream.sender);
        receives && self.receivers_finished() || self.stream_error().is_some()
    }

    /// The first stream that ended with an error: its id and the error.
    pub fn stream_error(&self) -> Option<(u32, io::Error)> {
        self.streams.iter().find_map(|stream| {
            let errno = stream.counters.errno()?;
            Some((stream.id, io::Error::from_raw_os_error(errno)))
        })
    }

    /// The id of every stream, whether this end sends on it (true) or receives, and its counters
    /// now. Streams are read one after another while they run; see [`Self::sample`].
    pub fn read(&self) -> impl Iterator<Item = (u32, bool, StreamCounters)> + '_ {
        self.streams.iter().map(|stream| (stream.id, stream.sender, stream.counters.read()))
    }

    /// Payload bytes that all streams have moved since the start, sent and received.
    pub fn moved(&self) -> u64 {
        self.streams.iter().map(|stream| stream.counters.bytes()).sum()
    }

    /// The id and the counters of every stream. Each worker thread (MPU) reads its streams itself
    /// at one instant, between two steps. If it does not report within 20 ms and 5 µs per stream,
    /// the caller reads them, and the report counts as late.
    pub fn sample(&self) -> Vec<(u32, StreamCounters)> {
        let number = self.reports.wanted.fetch_add(1, Release) + 1;
        self.controls.iter().for_each(|control| control.reporter.signal());
        let mut sample: Vec<_> =
            self.streams.iter().map(|stream| (stream.id, StreamCounters::default())).collect();
        let mut missing: Vec<bool> = vec![true; self.controls.len()];
        let patience = longest_report(self.streams.len(), self.controls.len());
        let deadline = mars::Time::now().after(patience);
        while missing.contains(&true) {
            let left = deadline.since(mars::Time::now());
            let Some(report) = self.reports.queue.pop_on_host(Some(left)) else { break };
            if report.number == number {
                let own = &self.controls[report.mpu].streams;
                own.iter().zip(&report.counters).for_each(|(index, now)| sample[*index].1 = *now);
                missing[report.mpu] = false;
            }
            // The queue of spare reports has room for all reports of its MPU.
            let spare = &self.controls[report.mpu].spare;
            _ = spare.try_push(report);
        }
        for (mpu, _) in missing.iter().enumerate().filter(|(_, missing)| **missing) {
            self.late_reports.fetch_add(1, Release);
            for index in &self.controls[mpu].streams {
                sample[*index].1 = self.streams[*index].counters.read();
            }
        }
        sample
    }

    /// The counters of every stream, shared, for readers that outlive the pool.
    pub fn counters(&self) -> impl Iterator<Item = Arc<Counters>> + '_ {
        self.streams.iter().map(|stream| Arc::clone(&stream.counters))
    }

    /// The thread ID of each MPU (worker thread), as gettid(2) reports it.
    pub fn thread_ids(&self) -> &[i32] {
        self.context.thread_ids()
    }

    /// The pacing statistics of each MPU (worker thread).
    pub fn pacing(&self) -> impl Iterator<Item = &PacingStatistics> {
        self.statistics.iter().map(|worker| &worker.pacing)
    }

    /// The delay variation that the UDP receivers of each MPU (worker thread) saw.
    pub fn variation(&self) -> impl Iterator<Item = &VariationStatistics> {
        self.statistics.iter().map(|worker| &worker.variation)
    }

    /// The number, from 0, of the MPU (worker thread) that runs the stream at `index` of the list
    /// given to [`Self::prepare`].
    pub fn mpu_of(&self, index: usize) -> usize {
        self.streams[index].mpu
    }

    /// How busy the worker threads were since the streams started, and how close together they
    /// began.
    pub fn runtime_statistics(&self) -> RuntimeStatistics {
        let now = self.context.utilisation();
        let none = Vec::new();
        let before = self.before.get().unwrap_or(&none);
        let mpus = now.iter().enumerate().map(|(index, now)| {
            before.get(index).map_or_else(|| now.clone(), |before| now.since(before))
        });
        let times = |of: fn(&WorkerTimes) -> &AtomicU64| {
            self.controls.iter().filter_map(move |control| WorkerTimes::read(of(&control.times)))
        };
        RuntimeStatistics {
            mpus: mpus.collect(),
            start_skew: skew(
                times(|times| &times.first_start).min(),
                times(|times| &times.last_start).max(),
            ),
            first_bytes: skew(
                times(|times| &times.first_start).min(),
                times(|times| &times.last_first_byte).max(),
            ),
            stop_skew: skew(
                times(|times| &times.stopped).min(),
                times(|times| &times.stopped).max(),
            ),
            late_reports: self.late_reports.load(Relaxed),
        }
    }
}

/// How busy the worker threads of one test were, from the start of the streams, and how close
/// together the streams started and stopped.
#[derive(Clone, Debug, Default)]
pub struct RuntimeStatistics {
    /// Time that each MPU ran, slept and spun.
    pub mpus: Vec<Utilisation>,
    /// Time from the start of the first stream to the start of the last one. None: no stream
    /// has started.
    pub start_skew: Option<Duration>,
    /// Time from the start of the first stream until every sender has sent a byte. None: no
    /// sender has sent.
    pub first_bytes: Option<Duration>,
    /// Time from the first MPU that stopped sending to the last one. None: none has stopped.
    pub stop_skew: Option<Duration>,
    /// Reports of counters that an MPU did not deliver in time; see [`Pool::sample`].
    pub late_reports: u64,
}

fn skew(first: Option<Timestamp>, last: Option<Timestamp>) -> Option<Duration> {
    Some(last?.since(first?))
}

/// The time within which the MPU with the most of so many `streams` reports its counters.
fn longest_report(streams: usize, mpus: usize) -> Duration {
    let share = u32::try_from(streams.div_ceil(mpus.max(1))).unwrap_or(u32::MAX);
    LONGEST_REPORT + share * EACH_STREAM
}

/// The priority of streams, which move as much as they can.
const BULK: Priority = Priority(64);
/// The priority of control workloads, which must not wait for streams.
const CONTROL: Priority = Priority(192);
/// Reports of an MPU: one is read while the other is written.
const SPARE_REPORTS: usize = 2;
/// Tens of thousands of streams take a fraction of a second to get ready.
const LONGEST_ARRIVAL: Duration = Duration::from_secs(20);
/// Time between two polls of `is_wanted`.
const LOOK_EVERY: Duration = Duration::from_millis(50);
/// An MPU looks at the event flag between two system calls, which do not block for long.
const LONGEST_STOP: Duration = Duration::from_millis(500);
/// An MPU may have lost its CPU to another process.
const LONGEST_REPORT: Duration = Duration::from_millis(20);
/// Time to copy the counters of one stream, with a margin for slow CPUs.
const EACH_STREAM: Duration = Duration::from_micros(5);

#[cfg(test)]
mod tests {
    use std::os::fd::{AsFd, BorrowedFd};
    use std::sync::mpsc;

    use linux::epoll::Interest;

    use super::*;
    use crate::payload::PayloadPattern;
    use crate::scratch::{BufferKind, Scratch};
    use crate::stream::Step;

    #[test]
    fn more_streams_get_more_time_to_report() {
        let one = longest_report(1, 1);
        assert!(one >= LONGEST_REPORT && one < 2 * LONGEST_REPORT);
        assert_eq!(longest_report(10_000, 1), LONGEST_REPORT + Duration::from_millis(50));
        assert_eq!(longest_report(10_000, 4), LONGEST_REPORT + Duration::from_micros(12_500));
        assert!(longest_report(131_070, 1) < Duration::from_secs(1), "a sample is due each second");
    }

    #[test]
    fn an_mpu_that_cannot_stay_on_its_cpu_is_refused_before_the_start() {
        let memory = BufferPlan {
            kind: BufferKind::Blocks,
            block: 1,
            pattern: PayloadPattern::Digits,
            pages: None,
        };
        let refusal =
            Pool::prepare(Vec::new(), memory, &[1 << 20], true, Spread::InTurn, &mut || true).err();
        assert_eq!(refusal.expect("no such CPU").kind(), io::ErrorKind::InvalidInput);
        let own = linux::host::allowed_cpus().expect("an affinity");
        assert!(
            Pool::prepare(Vec::new(), memory, &own, true, Spread::InTurn, &mut || true).is_ok()
        );
    }

    /// A stream that is not ready until it is let.
    struct Late(EventFd, mpsc::Receiver<()>);

    impl Stream for Late {
        fn interest(&self) -> (BorrowedFd<'_>, Interest) {
            _ = self.1.recv();
            (self.0.as_fd(), Interest::Readable)
        }

        fn step(&mut self, _now: Timestamp, _scratch: &mut Scratch) -> Step {
            Step::Done
        }

        fn halt(&mut self) {}
    }

    #[test]
    fn streams_that_are_not_wanted_any_more_are_not_waited_for() {
        let late = |ready| OpenStream {
            id: 1,
            sender: false,
            engine: Box::new(Late(EventFd::new().expect("an eventfd"), ready)),
            counters: Arc::default(),
        };
        let memory = BufferPlan {
            kind: BufferKind::Blocks,
            block: 1,
            pattern: PayloadPattern::Digits,
            pages: None,
        };
        for wanted in [2, usize::MAX] {
            let (let_it, ready) = mpsc::channel();
            let mut asked = 0;
            let mut is_wanted = || {
                asked += 1;
                if asked == 3 {
                    let_it.send(()).expect("it waits");
                }
                asked <= wanted
            };
            let streams = vec![late(ready)];
            let pool = Pool::prepare(streams, memory, &[0], false, Spread::InTurn, &mut is_wanted);
            let refusal = pool.err().map(|error| error.kind());
            assert_eq!(refusal, (wanted == 2).then_some(io::ErrorKind::Interrupted));
            assert!(asked >= 3, "asked {asked} times");
        }
    }
}
