//! One trial: frames at a rate, for a time, from one port to another; what was sent and what arrived.

use std::io;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use std::thread;
use std::time::Duration;

use dataplane::{Histogram, Pacer, Reading, now};
use measurement::packets::{DropCount, EngineUse};
use measurement::{BitRate, Pacing, Timestamp};
use portable_atomic::AtomicU64;

use crate::error::PacketError;
use crate::flow_counter::{FlowCounter, FlowCounts};
use crate::frame::{FrameLayout, Label, nanos, units};
use crate::port::Port;
use crate::queue::QueueWatch;
use crate::receiver::{BATCH, ReceiveWith, Receiver};
use crate::sender::{SendWith, Sender};

/// Between which ports frames go, by which engines and CPUs.
#[derive(Clone, Debug)]
pub struct Setup {
    /// The port that frames leave by.
    pub from: Port,
    /// The port where they arrive; none: elsewhere.
    pub to: Option<Port>,
    /// What sends.
    pub send: SendWith,
    /// What receives.
    pub receive: ReceiveWith,
    /// Send queues that are used, from the first on.
    pub queues: u32,
    /// CPUs of the sender and of the receiver; none: any. On the same one they leave it to each
    /// other, and the receiver sleeps while nothing arrives.
    pub cpus: Option<(usize, usize)>,
}

impl Setup {
    /// Looks whether the ports are as they were.
    ///
    /// # Errors
    /// As for [`Port::check`].
    pub fn check_ports(&self) -> Result<(), PacketError> {
        self.to.iter().chain([&self.from]).try_for_each(Port::check)
    }

    /// Whether sender and receiver run on one CPU.
    pub fn shares_a_cpu(&self) -> bool {
        self.cpus.is_some_and(|(sender, receiver)| sender == receiver)
    }
}

/// How much is sent.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TrialPlan {
    /// Frames in a second; none: as many as can be.
    pub rate: Option<f64>,
    /// How long the sender sends; at a rate up to a quarter longer, if other work of its CPU kept it.
    pub duration: Duration,
    /// Frames after which it ends; none: no limit.
    pub frames: Option<u64>,
}

/// Counts of a trial that runs, for a display.
#[derive(Debug, Default)]
pub struct LiveCounts {
    /// Frames that were handed to the kernel.
    pub sent: AtomicU64,
    /// Frames that have arrived.
    pub received: AtomicU64,
}

/// What the sender did.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Sent {
    /// Frames that were handed to the kernel.
    pub frames: u64,
    /// Their bytes, with the frame check sequence.
    pub bytes: u64,
    /// From the first to after the last.
    pub span: Duration,
    /// When the last one was sent.
    pub last: Timestamp,
    /// CPU time of its thread.
    pub cpu: Duration,
    /// How long its thread waited for a CPU.
    pub waited: Duration,
    /// Times that the kernel had no room for a frame; none: the engine does not tell.
    pub refused: Option<u64>,
    /// Time that other work of its CPU kept the sender from what was due, in pieces of a millisecond
    /// at least.
    pub interrupted: Duration,
}

/// What arrived.
#[derive(Debug)]
pub struct Received {
    /// All flows together. A program that counts knows the number alone.
    pub counts: FlowCounts,
    /// Each flow; empty if a program counted.
    pub flows: Vec<FlowCounts>,
    /// When the last frame arrived.
    pub last: Timestamp,
    /// CPU time of its thread.
    pub cpu: Duration,
    /// How long its thread waited for a CPU.
    pub waited: Duration,
    /// One-way times in nanoseconds; none: a program counted.
    pub latency: Option<Reading<8>>,
    /// How long the first frame that arrived was on the way; zero: the frames were not timed.
    pub first_delay: Duration,
    /// The time on the way at the begin, and what a queue that grew all through the trial added; none:
    /// the frames were not timed, or too few.
    pub lasting_delay: Option<Duration>,
    /// Frames that were dropped at the receiver, by the place.
    pub drops: Vec<DropCount>,
}

/// Result of a trial.
#[derive(Debug)]
pub struct TrialOutcome {
    /// What was sent.
    pub sent: Sent,
    /// What arrived; none: nothing receives here.
    pub received: Option<Received>,
    /// Whether it was stopped early.
    pub stopped: bool,
}

/// Open engines, ready to run.
#[derive(Debug)]
pub struct FrameTrial<'a> {
    setup: &'a Setup,
    layout: &'a FrameLayout,
    sender: Sender,
    receiver: Option<Receiver>,
    /// What sends, and why.
    pub send_engine: EngineUse,
    /// What receives, and why.
    pub receive_engine: Option<EngineUse>,
}

impl<'a> FrameTrial<'a> {
    /// Opens the engines of a trial. They are closed when this is dropped; if the process is killed,
    /// the kernel closes the sockets and detaches the program.
    ///
    /// # Errors
    /// [`PacketError::TooLarge`], or [`PacketError::Open`] if no engine can be opened.
    pub fn open(setup: &'a Setup, layout: &'a FrameLayout) -> Result<Self, PacketError> {
        for port in setup.to.iter().chain([&setup.from]) {
            check_size(layout, port)?;
        }
        let receiver = match &setup.to {
            Some(port) => Some(Receiver::open(port, layout, setup.receive)?),
            None => None,
        };
        let (receiver, receive_engine) = receiver.unzip();
        let (sender, send_engine) = Sender::open(&setup.from, layout, setup.send, setup.queues)?;
        Ok(Self { setup, layout, sender, receiver, send_engine, receive_engine })
    }

    /// Sends and receives until the plan is fulfilled, or `stop` is set; then until all frames have
    /// arrived, or none came for a while.
    ///
    /// # Errors
    /// [`PacketError::Down`] if an interface is down, [`PacketError::Trial`] if it is gone.
    pub fn run(
        &mut self,
        plan: &TrialPlan,
        live: &LiveCounts,
        stop: &AtomicBool,
    ) -> Result<TrialOutcome, PacketError> {
        let (setup, layout) = (self.setup, self.layout);
        let ends = Ends { sent: AtomicU64::new(UNKNOWN), is_ready: AtomicBool::new(false) };
        let before = self.receiver.as_ref().and_then(Receiver::counted).transpose();
        let failed = |port: &Port| {
            let interface = port.name.clone();
            move |source: io::Error| match source.kind() {
                io::ErrorKind::NetworkDown => PacketError::Down(interface),
                _ => PacketError::Trial { interface, source },
            }
        };
        let before = before.map_err(failed(&setup.from))?.unwrap_or(0);
        let (outgoing, incoming) = (&mut self.sender, &mut self.receiver);
        let ends = &ends;
        let (sent, received) = thread::scope(|scope| {
            let receiving = incoming.as_mut().map(|incoming| {
                scope.spawn(move || {
                    pin(setup.cpus.map(|(_, cpu)| cpu));
                    let done = receive(incoming, (setup, layout), plan, before, (live, ends));
                    ends.is_ready.store(true, Release);
                    done
                })
            });
            if receiving.is_none() {
                ends.is_ready.store(true, Release);
            }
            let sending = scope.spawn(move || {
                pin(setup.cpus.map(|(cpu, _)| cpu));
                while !ends.is_ready.load(Acquire) {
                    thread::yield_now();
                }
                let sent = send(outgoing, (setup, layout), plan, live, stop);
                let frames = sent.as_ref().map_or(0, |sent| sent.frames);
                ends.sent.store(frames, Release);
                sent
            });
            let sent = sending.join();
            (sent, receiving.map(thread::ScopedJoinHandle::join))
        });
        let sent = sent.unwrap_or_else(|cause| std::panic::resume_unwind(cause));
        let received =
            received.map(|one| one.unwrap_or_else(|cause| std::panic::resume_unwind(cause)));
        let sent = sent.map_err(failed(&setup.from))?;
        let received = received.transpose().map_err(failed(&setup.from))?;
        Ok(TrialOutcome { sent, received, stopped: stop.load(Relaxed) })
    }
}

/// What the two threads tell each other.
#[derive(Debug)]
struct Ends {
    /// Frames that were sent; [`UNKNOWN`] while the sender sends.
    sent: AtomicU64,
    /// The receiver receives.
    is_ready: AtomicBool,
}

impl Ends {
    /// How long to wait after the last of so many frames that arrived; none: some are still sent.
    fn patience(&self, frames: u64) -> Option<Duration> {
        Some(match self.sent.load(Acquire) {
            UNKNOWN => return None,
            sent if frames >= sent => Duration::ZERO,
            _ if frames == 0 => QUIET_AT_FIRST,
            _ => QUIET,
        })
    }
}

fn check_size(layout: &FrameLayout, port: &Port) -> Result<(), PacketError> {
    let size = layout.sizes().largest();
    let header = HEADER + if layout.addressing().vlan.is_some() { 4 } else { 0 };
    if size > port.mtu as usize + header {
        let (interface, mtu) = (port.name.clone(), port.mtu);
        return Err(PacketError::TooLarge { size, interface, mtu });
    }
    Ok(())
}

fn pin(cpu: Option<usize>) {
    linux::host::minimize_timer_slack();
    if let Some(cpu) = cpu {
        // The thread then runs wherever the kernel lets it.
        _ = linux::host::pin_thread(cpu);
    }
}

fn send(
    sender: &mut Sender,
    (setup, layout): (&Setup, &FrameLayout),
    plan: &TrialPlan,
    live: &LiveCounts,
    stop: &AtomicBool,
) -> io::Result<Sent> {
    let most = plan.frames.unwrap_or(u64::MAX);
    let used = ThreadTime::read();
    let start = now();
    let mut pace = plan.rate.map(|rate| Pace::new(rate, plan, start));
    let mut frames = 0;
    let mut last = start;
    loop {
        let time = now();
        let longer = pace.as_ref().map_or(Duration::ZERO, |pace| pace.longer(frames));
        let end = start.after(plan.duration + longer.min(plan.duration / 4));
        if time >= end || frames >= most || stop.load(Relaxed) {
            break;
        }
        let left =
            usize::try_from(most - frames).unwrap_or(usize::MAX).min(sender.batch(end.since(time)));
        let allowed = match pace.as_mut().map_or(Ok(left), |pace| pace.allowance(time, left)) {
            Ok(allowed) => allowed,
            Err(due) => {
                sender.flush()?;
                wait_until(due.min(end), time, setup.shares_a_cpu());
                continue;
            }
        };
        let queued = sender.send(layout, frames, allowed, time)?;
        if let Some(pace) = &mut pace {
            pace.pacer.sent(queued);
        }
        frames += queued as u64;
        if queued > 0 {
            last = sender.last_sent().unwrap_or(time);
        }
        live.sent.store(frames, Relaxed);
    }
    let ended = now();
    flush(sender, ended)?;
    let used = ThreadTime::read().since(used);
    let ended = sender.last_sent().unwrap_or(ended);
    Ok(Sent {
        frames,
        bytes: layout.sizes().bytes(frames),
        span: ended.since(start).min(plan.duration.max(last.since(start))),
        last,
        cpu: used.ran,
        waited: used.waited,
        refused: sender.refused(),
        interrupted: pace.map_or(Duration::ZERO, |pace| pace.interrupted),
    })
}

/// The pace of a trial: what a late thread could not send is sent later, since a trial needs its
/// load.
struct Pace {
    pacer: Pacer,
    /// Frames of the whole trial.
    due: u64,
    /// When the thread is to be back.
    expected: Timestamp,
    interrupted: Duration,
}

impl Pace {
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "it saturates")]
    fn new(rate: f64, plan: &TrialPlan, start: Timestamp) -> Self {
        let due = (rate * plan.duration.as_secs_f64()).floor() as u64;
        Self { pacer: pacer(rate, plan), due, expected: start, interrupted: Duration::ZERO }
    }

    /// By how much longer the trial may take for frames that interruptions left due: they are made up
    /// for at a twentieth of the rate. One that is too slow has none.
    fn longer(&self, frames: u64) -> Duration {
        if frames < self.due { self.interrupted * 21 } else { Duration::ZERO }
    }

    /// How many frames may leave now, at most `most`; else when the next one may.
    fn allowance(&mut self, time: Timestamp, most: usize) -> Result<usize, Timestamp> {
        let late = time.since(self.expected);
        if late >= INTERRUPTION {
            self.interrupted += late;
        }
        let allowed = self.pacer.allowance(time, most);
        self.expected = allowed.err().unwrap_or(time);
        allowed
    }
}

/// Waits until the device has taken all frames, for a while.
fn flush(sender: &mut Sender, ended: Timestamp) -> io::Result<()> {
    let patience = ended.after(FLUSH_PATIENCE);
    while sender.flush()? > 0 && now() < patience {}
    Ok(())
}

/// A pacer for frames in a second.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a rate of frames")]
fn pacer(rate: f64, plan: &TrialPlan) -> Pacer {
    let bits = (rate * 8.0 * BLOCK as f64).round().max(1.0) as u64;
    let pacer = Pacer::for_frames(BitRate::from_bits_per_second(bits), BLOCK);
    let pacer = pacer.with_pacing(Pacing::Repay);
    if plan.frames.is_some() { pacer } else { pacer.centred() }
}

/// Sleeps while there is time for it, and spins for the rest, or yields to a receiver on the same CPU.
fn wait_until(due: Timestamp, time: Timestamp, yields: bool) {
    let left = due.since(time);
    match left.checked_sub(SPIN) {
        Some(rest) if !rest.is_zero() => thread::sleep(rest),
        _ if yields => thread::yield_now(),
        _ => std::hint::spin_loop(),
    }
}

/// Time of the calling thread.
#[derive(Clone, Copy, Debug)]
struct ThreadTime {
    /// On a CPU.
    ran: Duration,
    /// Waiting for one.
    waited: Duration,
}

impl ThreadTime {
    fn read() -> Self {
        let waited = linux::clock::thread_run_delay().unwrap_or_default();
        Self { ran: linux::clock::thread_cpu(), waited }
    }

    fn since(self, earlier: Self) -> Self {
        Self {
            ran: self.ran.saturating_sub(earlier.ran),
            waited: self.waited.saturating_sub(earlier.waited),
        }
    }
}

fn receive(
    receiver: &mut Receiver,
    (setup, layout): (&Setup, &FrameLayout),
    plan: &TrialPlan,
    before: u64,
    (live, ends): (&LiveCounts, &Ends),
) -> io::Result<Received> {
    let dropped_before = receiver.drops()?;
    let mut flows = vec![FlowCounter::default(); usize::from(layout.flows())];
    let mut times = Times::new(plan.duration, units(now()));
    let counts_only = receiver.counted().is_some();
    let used = ThreadTime::read();
    ends.is_ready.store(true, Release);
    let mut frames = 0;
    let mut last = now();
    loop {
        let time = now();
        let had = frames;
        if let Some(counted) = receiver.counted() {
            frames = counted? - before;
            // Each look takes the line of the counter away from the CPU that counts.
            thread::sleep(LOOK);
        } else {
            frames += read(receiver, layout, &mut flows, &mut times)?;
        }
        if frames != had {
            last = times.last.unwrap_or(time);
            live.received.store(frames, Relaxed);
            if setup.shares_a_cpu() && frames - had < BATCH as u64 {
                receiver.gather();
            }
            continue;
        }
        if ends.patience(frames).is_some_and(|patience| time.since(last) >= patience) {
            break;
        }
        if setup.shares_a_cpu() {
            receiver.wait(LOOK)?;
        } else {
            std::hint::spin_loop();
        }
    }
    let used = ThreadTime::read().since(used);
    let flows: Vec<_> = flows.iter().map(FlowCounter::counts).collect();
    let all = flows.iter().copied().fold(FlowCounts::default(), FlowCounts::plus);
    let counted = FlowCounts { received: frames, ..FlowCounts::default() };
    Ok(Received {
        counts: if counts_only { counted } else { all },
        flows: if counts_only { Vec::new() } else { flows },
        last,
        cpu: used.ran,
        waited: used.waited,
        latency: (!counts_only).then(|| Reading::sum(std::iter::once(&times.all))),
        first_delay: Duration::from_nanos(nanos(times.first.unwrap_or_default())),
        lasting_delay: times.queue.lasting(),
        drops: since(receiver.drops()?, &dropped_before),
    })
}

/// Times that frames were on the way.
#[derive(Debug)]
struct Times {
    all: Histogram<8>,
    queue: QueueWatch,
    /// Time that the first frame was on the way, in the units of a payload.
    first: Option<u32>,
    /// When the last frame arrived.
    last: Option<Timestamp>,
    /// When the trial began, in the units of a payload.
    begun: u32,
}

impl Times {
    fn new(duration: Duration, begun: u32) -> Self {
        let (all, queue) = (Histogram::default(), QueueWatch::new(duration));
        Self { all, queue, first: None, last: None, begun }
    }

    /// Whether a frame was sent in this trial: one that was kept on the way may be of another.
    const fn is_of_trial(&self, label: &Label) -> bool {
        label.time.wrapping_sub(self.begun) < u32::MAX / 2
    }

    /// Adds a frame: when it was sent, and how long it was on the way, in the units of a payload.
    fn add(&mut self, sent: u32, took: u32) {
        self.first.get_or_insert(took);
        self.all.add(nanos(took));
        self.queue.arrived(sent, took);
    }
}

/// Reads and counts what has arrived. Returns how many frames of the trial that were.
fn read(
    receiver: &mut Receiver,
    layout: &FrameLayout,
    flows: &mut [FlowCounter],
    times: &mut Times,
) -> io::Result<u64> {
    let mut frames = 0;
    // Not before the first of a batch is there.
    let mut read = None;
    let mut arrival = 0;
    let is_noted = receiver.notes_arrival();
    receiver.receive(|frame| {
        let read = *read.get_or_insert_with(|| units(now()));
        let Some(label) = layout.label(frame).filter(|label| times.is_of_trial(label)) else {
            return;
        };
        let Some(flow) = flows.get_mut(usize::from(label.flow)) else { return };
        flow.arrived(label.sequence);
        arrival = if is_noted { label.arrival } else { read };
        times.add(label.time, arrival.wrapping_sub(label.time));
        frames += 1;
    })?;
    if frames > 0 {
        // Of several queues the last has frames that arrived after the first was read.
        let time = now();
        let ago = nanos(units(time).wrapping_sub(arrival));
        times.last = Some(Timestamp::from_nanos(time.nanos().saturating_sub(ago)));
    }
    Ok(frames)
}

/// Counts of drops since earlier ones.
fn since(mut drops: Vec<DropCount>, earlier: &[DropCount]) -> Vec<DropCount> {
    for (one, before) in drops.iter_mut().zip(earlier) {
        one.frames = one.frames.saturating_sub(before.frames);
    }
    drops
}

const UNKNOWN: u64 = u64::MAX;
/// Bytes of a block of the pacer: any will do.
const BLOCK: u64 = 1_000;
/// Ethernet header and frame check sequence, in bytes.
const HEADER: usize = 18;
/// The kernel wakes a thread late by up to this.
const SPIN: Duration = Duration::from_micros(80);
/// A sender that is back later than this was interrupted: no call takes as long.
const INTERRUPTION: Duration = Duration::from_millis(1);
const FLUSH_PATIENCE: Duration = Duration::from_millis(500);
/// Frames that are still on their way arrive within this after the last.
const QUIET: Duration = Duration::from_millis(200);
/// The first frame arrives within this after the last was sent, over a satellite too.
const QUIET_AT_FIRST: Duration = Duration::from_secs(1);
const LOOK: Duration = Duration::from_millis(1);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_frame_of_an_earlier_trial_is_known_by_its_time() {
        // The units wrap around.
        let times = Times::new(Duration::from_secs(1), 5);
        let label = |time| Label { flow: 0, sequence: 0, time, arrival: 0 };
        assert!(times.is_of_trial(&label(5)) && times.is_of_trial(&label(1_000_000)));
        assert!(!times.is_of_trial(&label(4)) && !times.is_of_trial(&label(u32::MAX - 1_000)));
    }

    #[test]
    fn the_first_frame_may_be_late_and_the_others_soon_after_each_other() {
        let after = |sent| {
            let ends = Ends { sent: AtomicU64::new(sent), is_ready: AtomicBool::new(true) };
            [0, 7, 10].map(|frames| ends.patience(frames))
        };
        assert_eq!(after(UNKNOWN), [None; 3]);
        assert_eq!(after(10), [QUIET_AT_FIRST, QUIET, Duration::ZERO].map(Some));
    }
}
