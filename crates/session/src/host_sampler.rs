//! Watches this host while a test runs: what it counts, and what the streams move in short
//! steps of time. On a thread of its own, which is hardly ever awake.

mod stall_detector;

use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::Duration;

use dataplane::{Counters, Pool};
use host::{PerfAccess, Subject, Tree, Watch};
use measurement::{ByteSize, HostEvidence, Pulse, Role, Timestamp};

use stall_detector::{StallDetector, Stalled};

/// What a test is watched for.
pub(crate) struct SampledTest {
    pub(crate) interest: Interest,
    /// Threads that run streams.
    pub(crate) threads: Vec<i32>,
    /// Each stream, and whether this end sends on it.
    pub(crate) streams: Vec<(bool, Arc<Counters>)>,
    /// The length of their datagrams or blocks.
    pub(crate) block: ByteSize,
    /// The least time from one look at all streams to the next.
    pub(crate) pause: Duration,
    /// From where the CPUs are sampled, if they are.
    pub(crate) perf: Option<Arc<PerfAccess>>,
}

impl SampledTest {
    /// What `pool` runs, in datagrams or blocks of `block` bytes.
    pub(crate) fn new(interest: Interest, pool: &Pool, block: ByteSize, pause: Duration) -> Self {
        let senders = pool.read().map(|(_, sender, _)| sender);
        let streams = senders.zip(pool.counters()).collect();
        Self { interest, threads: pool.thread_ids().to_vec(), streams, block, pause, perf: None }
    }
}

/// Which interfaces are watched closely.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Interest {
    /// The one by which packets to the test's peer leave.
    Towards(IpAddr),
    /// All interfaces: the test passes through this host and does not end at it.
    All,
}

impl Interest {
    fn interfaces(self) -> Vec<String> {
        match self {
            Self::Towards(peer) => host::interfaces_towards(peer),
            Self::All => host::interfaces_with_links(),
        }
    }
}

/// The thread that samples this host.
pub(crate) struct HostSampler {
    orders: Sender<Order>,
    thread: JoinHandle<HostSamples>,
}

/// What was seen of a test.
#[derive(Debug, Default)]
pub(crate) struct HostSamples {
    pub(crate) host: HostEvidence,
    pub(crate) pulses: Vec<Pulse>,
}

enum Order {
    /// Look now, and answer when that is done.
    Look(Sender<()>),
    /// The streams start to send.
    Start(Timestamp),
    /// All streams have stopped sending.
    Stop(Timestamp),
    End,
}

impl HostSampler {
    /// Takes a first look. None: there can be no thread for it.
    pub(crate) fn start(test: SampledTest) -> Option<Self> {
        let (orders, heard) = channel();
        let thread = std::thread::Builder::new().name("host-sampler".to_owned());
        let thread = thread.stack_size(linux::process::STACK_BYTES);
        // It stays in the network namespace of this thread.
        let thread = thread.spawn(move || SamplerThread::new(test).serve(&heard)).ok()?;
        let sampler = Self { orders, thread };
        sampler.look();
        Some(sampler)
    }

    /// Has it look now; it has looked when this returns.
    pub(crate) fn look(&self) {
        let (tell, done) = channel();
        self.say(Order::Look(tell));
        // A host sampler that is gone looks no more.
        _ = done.recv();
    }

    /// The streams go, from `start` on.
    pub(crate) fn streams_start(&self, start: Timestamp) {
        self.say(Order::Start(start));
    }

    /// No stream sends any more since `stop`.
    pub(crate) fn streams_stop(&self, stop: Timestamp) {
        self.say(Order::Stop(stop));
    }

    /// Takes a last look.
    pub(crate) fn finish(self) -> HostSamples {
        self.say(Order::End);
        drop(self.orders);
        self.thread.join().unwrap_or_default()
    }

    fn say(&self, order: Order) {
        // To one that is gone nothing can be said, and nothing need be.
        _ = self.orders.send(order);
    }
}

/// What the thread does.
struct SamplerThread {
    watch: Watch,
    streams: Vec<(bool, Arc<Counters>)>,
    block: ByteSize,
    pulses: [PulseCounter; 2],
    pause: Duration,
    next_look: Timestamp,
    next_beat: Option<Timestamp>,
    /// While the streams go.
    stalls: Option<StallDetector>,
    stalled: Stalled,
    /// Readings that are to be kept when others go.
    marks: Vec<Timestamp>,
}

/// The pulse of one direction, and what was counted when it was last looked at.
struct PulseCounter {
    pulse: Pulse,
    counted: u64,
    read: Timestamp,
    /// What had moved by the end of the last step.
    by_step: u64,
}

impl SamplerThread {
    fn new(test: SampledTest) -> Self {
        SAMPLERS.fetch_add(1, Relaxed);
        let interfaces = test.interest.interfaces();
        let subject = Subject { interfaces, threads: test.threads.clone() };
        let mut watch = Watch::new(Tree::live(), subject);
        if let Some(perf) = &test.perf {
            watch.prepare_profile(perf, &test.threads);
        }
        let every = test.pause.max(STEP);
        let beat = |sender| PulseCounter::new(Pulse { sender, every, bytes: Vec::new() });
        Self {
            watch,
            streams: test.streams,
            block: test.block,
            pulses: [beat(true), beat(false)],
            pause: every,
            next_look: dataplane::now(),
            next_beat: None,
            stalls: None,
            stalled: Stalled::default(),
            marks: Vec::new(),
        }
    }

    fn serve(mut self, heard: &Receiver<Order>) -> HostSamples {
        loop {
            let asleep = dataplane::now();
            let due = self.next_beat.map_or(self.next_look, |beat| beat.min(self.next_look));
            let wake = due.max(asleep).min(asleep.after(self.nap()));
            let heard = heard.recv_timeout(wake.since(asleep));
            if let Some(stalls) = &mut self.stalls {
                stalls.woke(wake, dataplane::now());
            }
            match heard {
                Ok(Order::Look(done)) => {
                    // At the end of the omitted start; before, nothing was sampled.
                    self.watch.restart_profile();
                    self.look(Watch::sample_all);
                    self.marks.extend(self.watch.last());
                    // The sender of the command waits for it.
                    _ = done.send(());
                }
                Ok(Order::Start(start)) => self.begin(start),
                Ok(Order::Stop(stop)) => {
                    self.end_pulses(stop);
                    self.stalled =
                        self.stalls.take().map(StallDetector::stalled).unwrap_or_default();
                    self.look(Watch::sample_all);
                    self.marks.extend(self.watch.last());
                    // While the ends exchange that they have stopped.
                    self.watch.end_profile();
                    self.watch.read_inventory();
                }
                Ok(Order::End) | Err(RecvTimeoutError::Disconnected) => return self.conclude(),
                Err(RecvTimeoutError::Timeout) => self.do_what_is_due(),
            }
        }
    }

    /// How long it sleeps at most.
    fn nap(&self) -> Duration {
        if self.stalls.is_some() { stall_detector::LONGEST } else { LOOK_EVERY }
    }

    fn do_what_is_due(&mut self) {
        let now = dataplane::now();
        if self.next_beat.is_some_and(|beat| now >= beat) {
            self.beat(now);
        }
        if now >= self.next_look {
            self.look(Watch::sample);
        }
    }

    /// Reads what the host counts; the more tests are watched, and the longer it takes, the
    /// less often.
    fn look(&mut self, how: fn(&mut Watch, Timestamp)) {
        let begin = dataplane::now();
        how(&mut self.watch, begin);
        if self.watch.readings() > MOST_READINGS {
            self.watch.thin(&self.marks);
        }
        let now = dataplane::now();
        let fair = LOOK_EVERY * SAMPLERS.load(Relaxed).max(1);
        self.next_look = now.after(fair.max(now.since(begin) * IDLE_PER_LOOK));
    }

    fn begin(&mut self, start: Timestamp) {
        for beat in &mut self.pulses {
            beat.begin(start, counted(&self.streams, self.block, beat.pulse.sender));
        }
        self.next_beat = Some(start.after(self.pause));
        self.watch.begin_profile();
        self.stalls = Some(StallDetector::begin());
    }

    /// Counts what moved in the steps that have ended.
    fn beat(&mut self, now: Timestamp) {
        let Some(first) = self.next_beat else { return };
        let mut next = first;
        while next <= now {
            next = next.after(self.pause);
        }
        self.next_beat = Some(next);
        self.watch.gather_profile();
        for beat in &mut self.pulses {
            let counted = counted(&self.streams, self.block, beat.pulse.sender);
            beat.step(first, next, dataplane::now(), counted);
        }
        let length = self.pulses[0].pulse.bytes.len();
        // An odd one has no partner.
        if length > MOST_STEPS && length.is_multiple_of(2) {
            self.halve();
        }
    }

    /// Makes steps twice as long.
    fn halve(&mut self) {
        self.pause *= 2;
        for beat in &mut self.pulses {
            let pairs = beat.pulse.bytes.chunks(2);
            beat.pulse.bytes = pairs.map(|pair| pair.iter().sum()).collect();
            beat.pulse.every = self.pause;
        }
    }

    /// A step that was not whole is left out.
    fn end_pulses(&mut self, stop: Timestamp) {
        if self.next_beat.is_some_and(|beat| stop >= beat) {
            self.beat(stop);
        }
        self.next_beat = None;
    }

    fn conclude(mut self) -> HostSamples {
        self.look(Watch::sample_all);
        let used = |beat: &PulseCounter| {
            self.streams.iter().any(|(sender, _)| *sender == beat.pulse.sender)
        };
        let pulses = self.pulses.iter().filter(|beat| used(beat)).map(|beat| beat.pulse.clone());
        let pulses = pulses.filter(|pulse| !pulse.bytes.is_empty()).collect();
        SAMPLERS.fetch_sub(1, Relaxed);
        let Stalled { still, held } = self.stalled;
        let (still_seconds, held_seconds) = (still.as_secs_f64(), held.as_secs_f64());
        HostSamples {
            host: HostEvidence { still_seconds, held_seconds, ..self.watch.finish(Role::Here) },
            pulses,
        }
    }
}

impl PulseCounter {
    fn new(pulse: Pulse) -> Self {
        Self { pulse, counted: 0, read: Timestamp::default(), by_step: 0 }
    }

    /// The first step begins at `start`.
    fn begin(&mut self, start: Timestamp, counted: u64) {
        (self.counted, self.read, self.by_step) = (counted, start, counted);
    }

    /// Ends the steps from that which ends at `first` to the last before `next`. `counted` was read
    /// at `now`, later than they ended: what moved since the last look is divided by time.
    fn step(&mut self, first: Timestamp, next: Timestamp, now: Timestamp, counted: u64) {
        let (since, moved) = (now.since(self.read), counted.saturating_sub(self.counted));
        let mut end = first;
        while end < next {
            let share = end.since(self.read).as_nanos();
            let by_end = u128::from(moved) * share / since.as_nanos().max(1);
            let by_end = self.counted + u64::try_from(by_end).map_or(moved, |part| part.min(moved));
            self.pulse.bytes.push(by_end.saturating_sub(self.by_step));
            self.by_step = self.by_step.max(by_end);
            end = end.after(self.pulse.every);
        }
        (self.counted, self.read) = (counted, now);
    }
}

/// What moved one way; of datagrams that arrived each counts once.
fn counted(streams: &[(bool, Arc<Counters>)], block: ByteSize, sender: bool) -> u64 {
    let own = streams.iter().filter(|(sends, _)| *sends == sender);
    own.map(|(_, counters)| if sender { counters.bytes() } else { counters.unique_bytes(block) })
        .sum()
}

/// Tests of this process that are watched now.
static SAMPLERS: AtomicU32 = AtomicU32::new(0);
/// Long enough that a test on a busy host does not look like one that stumbles.
const STEP: Duration = Duration::from_millis(100);
/// Time between two looks, for one test alone.
const LOOK_EVERY: Duration = Duration::from_millis(250);
/// Readings take no more than one part of so many of the time.
const IDLE_PER_LOOK: u32 = 200;
/// Beyond, every second one goes.
const MOST_READINGS: usize = 160;
/// Beyond, steps get twice as long.
const MOST_STEPS: usize = 1200;
