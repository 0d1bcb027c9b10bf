//! The streams of one test on the MPUs of one context.
//!
//! ```text
//!   prepare   each stream is placed on an MPU, watches its socket there, and arrives
//!   start     the host arrives as the last one: all streams start
//!   sample    a reporter on each MPU, above all streams, puts a report into a queue
//!   stop      one event flag: a stopper on each MPU, above all streams, ends the sending
//! ```

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
use crate::pacing::PacingStatistics;
use crate::scratch::BufferPlan;
use crate::stream::Stream;
use crate::worker_state::{WorkerState, WorkerTimes};
use crate::workload::{Phase, StreamWorkload};

/// A stream that is connected and ready to start.
pub struct OpenStream {
    /// Its id on the wire.
    pub id: u32,
    /// Whether this end sends.
    pub sender: bool,
    /// Its engine.
    pub engine: Box<dyn Stream>,
    /// What the engine counts.
    pub counters: Arc<Counters>,
}

/// MPUs, each with its share of the streams.
pub struct Pool {
    context: Context,
    streams: Vec<StreamEntry>,
    /// Keep the streams' workloads, which go when their handles go.
    workloads: Vec<Handle<StreamWorkload>>,
    controls: Vec<WorkerControl>,
    start: Arc<Barrier>,
    orders: Arc<EventFlag>,
    reports: Arc<ReportQueue>,
    late_reports: AtomicU64,
    /// Where the MPUs' time had gone when the streams started.
    before: OnceLock<Vec<Utilisation>>,
    /// How the paced streams of each MPU keep their times.
    pacing: Vec<Arc<PacingStatistics>>,
    done: Arc<EventFd>,
}

/// What the pool's owner keeps of a stream.
struct StreamEntry {
    id: u32,
    sender: bool,
    /// As in [`StreamWorkload`].
    is_halted_by_signal: bool,
    counters: Arc<Counters>,
}

/// What the pool's owner keeps of an MPU.
struct WorkerControl {
    stopper: Handle<Stopper>,
    reporter: Handle<Reporter>,
    spare: Arc<Queue<Report>>,
    times: Arc<WorkerTimes>,
}

impl Pool {
    /// Starts one MPU per CPU of `cpus`, but no more than there are streams, and deals the
    /// streams out. They wait for [`Self::start`]. With `pin` MPU `n` stays on the `n`th
    /// CPU. While a stream has not got ready `is_wanted` is asked now and then.
    ///
    /// # Errors
    /// What the kernel reports, e.g. too many open files, or `EINVAL` for a CPU on which
    /// this process may not run. [`io::ErrorKind::Interrupted`]: it is not wanted any more.
    pub fn prepare(
        streams: Vec<OpenStream>,
        memory: BufferPlan,
        cpus: &[usize],
        pin: bool,
        is_wanted: &mut dyn FnMut() -> bool,
    ) -> io::Result<Self> {
        let mpus = cpus.len().min(streams.len()).max(1);
        let pacing: Vec<Arc<PacingStatistics>> = (0..mpus).map(|_| Arc::default()).collect();
        let noted = pacing.clone();
        let state = move |mpu: usize| WorkerState::new(memory, Arc::clone(&noted[mpu]));
        let builder = Builder::new(mpus).name("worker").module(state);
        let builder = if pin { builder.pin(cpus) } else { builder };
        let context = builder.start()?;
        let parties = u32::try_from(streams.len() + 1).unwrap_or(u32::MAX);
        let mut pool = Self {
            streams: Vec::with_capacity(streams.len()),
            workloads: Vec::with_capacity(streams.len()),
            controls: Vec::with_capacity(mpus),
            start: Arc::new(Barrier::new(&context, parties)),
            orders: Arc::new(EventFlag::new(&context, Clearing::Manual)),
            reports: Arc::new(ReportQueue {
                wanted: AtomicU64::new(0),
                reports: Queue::new(&context, mpus * SPARE_REPORTS),
            }),
            late_reports: AtomicU64::new(0),
            before: OnceLock::new(),
            pacing,
            done: Arc::new(EventFd::new()?),
            context,
        };
        let times: Vec<Arc<WorkerTimes>> = (0..mpus).map(|_| Arc::default()).collect();
        for (index, stream) in streams.into_iter().enumerate() {
            pool.admit(stream, index % mpus, &times[index % mpus]);
        }
        for (mpu, times) in times.into_iter().enumerate() {
            pool.employ(mpu, times);
        }
        let deadline = mars::Time::now().after(LONGEST_ARRIVAL);
        while !pool.start.watch_on_host(parties - 1, Some(LOOK_EVERY)) {
            if !is_wanted() {
                return Err(io::ErrorKind::Interrupted.into());
            }
            if mars::Time::now() >= deadline {
                // Only an MPU that stopped early lets its streams down; it tells why.
                pool.context.close()?;
                return Err(io::ErrorKind::TimedOut.into());
            }
        }
        Ok(pool)
    }

    /// Places a stream on its MPU.
    fn admit(&mut self, stream: OpenStream, mpu: usize, times: &Arc<WorkerTimes>) {
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
            start: Arc::clone(&self.start),
            done: Arc::clone(&self.done),
            times: Arc::clone(times),
        };
        let mut workload = self.context.add(workload);
        workload.schedule_at(BULK, Placement::Mpu(mpu));
        self.workloads.push(workload);
        self.streams.push(StreamEntry { id, sender, is_halted_by_signal, counters });
    }

    /// Gives an MPU, which has its streams, its controls.
    fn employ(&mut self, mpu: usize, times: Arc<WorkerTimes>) {
        let own = self.streams.iter().skip(mpu).step_by(self.context.mpus());
        let counters: Vec<_> = own.map(|stream| Arc::clone(&stream.counters)).collect();
        let spare = Arc::new(Queue::new(&self.context, SPARE_REPORTS));
        for _ in 0..SPARE_REPORTS {
            let room = Vec::with_capacity(counters.len());
            // As many as it has room for.
            _ = spare.try_push(Report { number: 0, mpu, counters: room });
        }
        let (orders, reports) = (Arc::clone(&self.orders), Arc::clone(&self.reports));
        let stopper = Stopper { orders, times: Arc::clone(&times) };
        let reporter = Reporter { counters, reports, spare: Arc::clone(&spare) };
        let (mut stopper, mut reporter) = (self.context.add(stopper), self.context.add(reporter));
        stopper.schedule_at(CONTROL, Placement::Mpu(mpu));
        reporter.schedule_at(CONTROL, Placement::Mpu(mpu));
        self.controls.push(WorkerControl { stopper, reporter, spare, times });
    }

    /// Lets all streams go at once.
    pub fn start(&self) {
        self.before.get_or_init(|| self.context.utilisation());
        self.start.try_notify();
    }

    /// Ends the sending streams; receiving ones go on. When it returns the senders'
    /// counters are final, unless an MPU hangs in the kernel.
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

    /// Halts those with which the kernel goes on; false: an MPU hangs.
    fn halt_by_signal(&self) -> bool {
        let all = self.workloads.iter().zip(&self.streams);
        let told = || all.clone().filter(|(_, stream)| stream.is_halted_by_signal);
        told().for_each(|(workload, _)| workload.signal());
        told().all(|(workload, _)| workload.wait_for(LONGEST_STOP).is_some())
    }

    /// Ends all streams and waits for the threads.
    ///
    /// # Errors
    /// What stopped an MPU early.
    pub fn close(self) -> io::Result<()> {
        self.context.close()
    }

    /// Becomes readable when a stream is done; see [`Self::senders_finished`].
    pub fn done(&self) -> &EventFd {
        &self.done
    }

    /// Whether no sending stream will send more.
    pub fn senders_finished(&self) -> bool {
        self.streams.iter().all(|stream| !stream.sender || stream.counters.is_finished())
    }

    /// Whether a stream ended with an error, or no stream is left to receive: then
    /// what has not moved will not move any more.
    pub fn is_stuck(&self) -> bool {
        let mut receivers = self.streams.iter().filter(|stream| !stream.sender).peekable();
        let deaf = receivers.peek().is_some() && receivers.all(|s| s.counters.is_finished());
        deaf || self.stream_error().is_some()
    }

    /// The first error that ended a stream.
    pub fn stream_error(&self) -> Option<(u32, io::Error)> {
        self.streams.iter().find_map(|stream| {
            let errno = stream.counters.errno()?;
            Some((stream.id, io::Error::from_raw_os_error(errno)))
        })
    }

    /// Every stream's id, whether it sends, and its counters now.
    pub fn read(&self) -> impl Iterator<Item = (u32, bool, StreamCounters)> + '_ {
        self.streams.iter().map(|stream| (stream.id, stream.sender, stream.counters.read()))
    }

    /// Payload bytes that all streams have moved.
    pub fn moved(&self) -> u64 {
        self.streams.iter().map(|stream| stream.counters.bytes()).sum()
    }

    /// Every stream's id and its counters, those of one MPU at one instant between two
    /// steps. An MPU that does not answer in time is not waited for: its streams' counters
    /// are read as they are, and its report is late.
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
            let Some(report) = self.reports.reports.pop_on_host(Some(left)) else { break };
            if report.number == number {
                let share = sample.iter_mut().skip(report.mpu).step_by(self.controls.len());
                share.zip(&report.counters).for_each(|(one, counters)| one.1 = *counters);
                missing[report.mpu] = false;
            }
            // Its MPU has room for all of its reports.
            let spare = &self.controls[report.mpu].spare;
            _ = spare.try_push(report);
        }
        for (mpu, _) in missing.iter().enumerate().filter(|(_, missing)| **missing) {
            self.late_reports.fetch_add(1, Release);
            let share = sample.iter_mut().zip(&self.streams).skip(mpu).step_by(missing.len());
            share.for_each(|(one, stream)| one.1 = stream.counters.read());
        }
        sample
    }

    /// What every stream counts, for those who watch it from afar.
    pub fn counters(&self) -> impl Iterator<Item = Arc<Counters>> + '_ {
        self.streams.iter().map(|stream| Arc::clone(&stream.counters))
    }

    /// The kernel's number of each MPU's thread (gettid(2)).
    pub fn thread_ids(&self) -> &[i32] {
        self.context.thread_ids()
    }

    /// What the pacers of each MPU count.
    pub fn pacing(&self) -> impl Iterator<Item = &PacingStatistics> {
        self.pacing.iter().map(|tally| &**tally)
    }

    /// MPU of the stream that was given as number `index`.
    pub fn mpu_of(&self, index: usize) -> usize {
        index % self.context.mpus()
    }

    /// How the runtime served the streams since they started.
    pub fn service(&self) -> Service {
        let now = self.context.utilisation();
        let none = Vec::new();
        let before = self.before.get().unwrap_or(&none);
        let mpus = now.iter().enumerate().map(|(index, now)| {
            before.get(index).map_or_else(|| now.clone(), |before| now.since(before))
        });
        let times = |of: fn(&WorkerTimes) -> &AtomicU64| {
            self.controls.iter().filter_map(move |control| WorkerTimes::read(of(&control.times)))
        };
        Service {
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

/// How the runtime served the streams of a test.
#[derive(Clone, Debug, Default)]
pub struct Service {
    /// Where the time of each MPU went since the start.
    pub mpus: Vec<Utilisation>,
    /// From the moment when the first stream was let go to that of the last one.
    pub start_skew: Option<Duration>,
    /// From there to the first byte of the sender that came last.
    pub first_bytes: Option<Duration>,
    /// From the MPU that stopped sending first to the one that did last.
    pub stop_skew: Option<Duration>,
    /// Reports that an MPU did not give in time.
    pub late_reports: u64,
}

fn skew(first: Option<Timestamp>, last: Option<Timestamp>) -> Option<Duration> {
    Some(last?.since(first?))
}

/// Streams that move as much as they can.
const BULK: Priority = Priority(64);
/// What must not wait for them.
const CONTROL: Priority = Priority(192);
/// One that is read, and one that is written.
const SPARE_REPORTS: usize = 2;
/// Tens of thousands of streams take a fraction of a second.
const LONGEST_ARRIVAL: Duration = Duration::from_secs(20);
/// How often somebody may say meanwhile that they are not wanted.
const LOOK_EVERY: Duration = Duration::from_millis(50);
/// An MPU looks up between two system calls.
const LONGEST_STOP: Duration = Duration::from_millis(500);
/// The same; an MPU may have lost its CPU to somebody else.
const LONGEST_REPORT: Duration = Duration::from_millis(20);
/// What each stream of an MPU adds to that: its counters are copied, on a slow CPU too.
const EACH_STREAM: Duration = Duration::from_micros(5);

/// How long the report of an MPU may take that has its share of so many `streams`.
fn longest_report(streams: usize, mpus: usize) -> Duration {
    let share = u32::try_from(streams.div_ceil(mpus.max(1))).unwrap_or(u32::MAX);
    LONGEST_REPORT + share * EACH_STREAM
}

#[cfg(test)]
mod tests {
    use std::os::fd::{AsFd, BorrowedFd};

    use linux::epoll::Interest;

    use super::*;
    use crate::scratch::{BufferKind, PayloadPattern, Scratch};
    use crate::stream::Step;

    #[test]
    fn who_has_more_to_report_gets_more_time() {
        let one = longest_report(1, 1);
        assert!(one >= LONGEST_REPORT && one < 2 * LONGEST_REPORT);
        assert_eq!(longest_report(10_000, 1), LONGEST_REPORT + Duration::from_millis(50));
        assert_eq!(longest_report(10_000, 4), LONGEST_REPORT + Duration::from_micros(12_500));
        assert!(longest_report(131_070, 1) < Duration::from_secs(1), "a sample is due each second");
    }

    #[test]
    fn an_mpu_that_cannot_stay_on_its_cpu_is_refused_before_the_start() {
        let memory =
            BufferPlan { kind: BufferKind::Blocks, block: 1, pattern: PayloadPattern::Digits };
        let refusal = Pool::prepare(Vec::new(), memory, &[1 << 20], true, &mut || true).err();
        assert_eq!(refusal.expect("no such CPU").kind(), io::ErrorKind::InvalidInput);
        let own = linux::host::allowed_cpus().expect("an affinity");
        assert!(Pool::prepare(Vec::new(), memory, &own, true, &mut || true).is_ok());
    }

    /// A stream that takes long to get ready.
    struct Late(EventFd);

    impl Stream for Late {
        fn interest(&self) -> (BorrowedFd<'_>, Interest) {
            std::thread::sleep(Duration::from_secs(2));
            (self.0.as_fd(), Interest::Readable)
        }

        fn step(&mut self, _now: Timestamp, _scratch: &mut Scratch) -> Step {
            Step::Done
        }

        fn halt(&mut self) {}
    }

    #[test]
    fn streams_that_are_not_wanted_any_more_are_not_waited_for() {
        let late = || OpenStream {
            id: 1,
            sender: false,
            engine: Box::new(Late(EventFd::new().expect("an eventfd"))),
            counters: Arc::default(),
        };
        let memory =
            BufferPlan { kind: BufferKind::Blocks, block: 1, pattern: PayloadPattern::Digits };
        let mut asked = 0;
        let mut is_wanted = || {
            asked += 1;
            asked < 3
        };
        let refusal = Pool::prepare(vec![late()], memory, &[0], false, &mut is_wanted).err();
        assert_eq!(refusal.expect("not wanted").kind(), io::ErrorKind::Interrupted);
        assert_eq!(asked, 3);
        assert!(Pool::prepare(vec![late()], memory, &[0], false, &mut || true).is_ok());
    }
}
