//! A host thread on one CPU wakes a workload on an MPU of another one that has slept,
//! beside a bare thread that sleeps there on a futex.

use std::sync::Arc;
use std::sync::atomic::Ordering::SeqCst;
use std::sync::atomic::{AtomicU32, AtomicU64};
use std::time::Duration;

use mars::{Builder, Next, Placement, Priority, Time};

use crate::calls::calls;
use crate::{Row, Sink, Target, in_turns};

pub(crate) fn rows(sink: Sink) {
    let cpus = std::thread::available_parallelism().map_or(1, usize::from);
    if cpus < 2 || linux::host::pin_thread(0).is_err() {
        return;
    }
    for gap in [20, 100, 300] {
        one_way(gap, sink);
    }
    for gap in [20, 100, 300] {
        round_trip(gap, sink);
    }
}

/// The time at which one side ran, read by the other side on another CPU.
#[derive(Default)]
struct Stamp(AtomicU64);

impl Stamp {
    fn set(&self) {
        self.0.store(Time::now().nanos(), SeqCst);
    }

    /// Nanoseconds from `wake` to the stamp.
    fn measure(&self, gap: u64, wake: impl FnOnce()) -> f64 {
        pause(gap);
        self.0.store(0, SeqCst);
        let before = Time::now();
        wake();
        loop {
            let at = self.0.load(SeqCst);
            if at != 0 {
                return Time::from_nanos(at).since(before).as_secs_f64() * 1e9;
            }
            std::hint::spin_loop();
        }
    }
}

/// Without a sleep, so that this CPU's clock stays up.
fn pause(micros: u64) {
    let end = Time::now().after(Duration::from_micros(micros));
    while Time::now() < end {
        std::hint::spin_loop();
    }
}

/// A thread on CPU 1 that does `act` whenever its word is set, until that is [`STOP`].
fn bare(word: &Arc<AtomicU32>, act: impl Fn() + Send + 'static) -> std::thread::JoinHandle<()> {
    let word = Arc::clone(word);
    std::thread::spawn(move || {
        linux::host::pin_thread(1).expect("pins");
        loop {
            match word.swap(0, SeqCst) {
                STOP => return,
                0 => linux::futex::wait(&word, 0, None),
                _ => act(),
            }
        }
    })
}

fn call(word: &AtomicU32, value: u32) {
    word.store(value, SeqCst);
    linux::futex::wake(word, 1);
}

fn one_way(gap: u64, sink: Sink) {
    let stamp = Arc::new(Stamp::default());
    let (word, known) = (Arc::new(AtomicU32::new(0)), Arc::clone(&stamp));
    let thread = bare(&word, move || known.set());

    let context = Builder::new(1).pin(&[1]).start().expect("starts");
    let known = Arc::clone(&stamp);
    let mut listener = context.add(calls(move |mpu| {
        loop {
            match mpu.wait_for_signal() {
                Ok(()) => known.set(),
                Err(wait) => return Next::Stalled(wait),
            }
        }
    }));
    listener.schedule_at(Priority::NORMAL, Placement::Mpu(0));

    let mut runtime = tokio::runtime::Builder::new_multi_thread();
    runtime.worker_threads(1).on_thread_start(|| linux::host::pin_thread(1).expect("pins"));
    let runtime = runtime.build().expect("starts");
    let (notify, known) = (Arc::new(tokio::sync::Notify::new()), Arc::clone(&stamp));
    let notified = Arc::clone(&notify);
    let task = runtime.spawn(async move {
        loop {
            notified.notified().await;
            known.set();
        }
    });

    let [futex, mars, tokio] = in_turns(
        ROUNDS,
        [
            &mut || stamp.measure(gap, || call(&word, 1)),
            &mut || stamp.measure(gap, || listener.signal()),
            &mut || stamp.measure(gap, || notify.notify_one()),
        ],
    );
    sink(Row::new(format!("wake after {gap} us, bare thread"), futex / 1e3, "us"));
    sink(Row::new(format!("wake after {gap} us"), mars / 1e3, "us"));
    sink(Row::new(format!("wake after {gap} us, tokio"), tokio / 1e3, "us"));
    let row = Row::new(format!("wake after {gap} us / bare thread"), mars / futex, "x");
    sink(row.aims(Target::AtMost(1.3)));
    task.abort();
    call(&word, STOP);
    thread.join().expect("ends");
}

fn round_trip(gap: u64, sink: Sink) {
    let (word, back) = (Arc::new(AtomicU32::new(0)), Arc::new(AtomicU32::new(0)));
    let known = Arc::clone(&back);
    let thread = bare(&word, move || call(&known, 1));

    let context = Builder::new(1).pin(&[1]).start().expect("starts");
    let reply = Arc::new(mars::EventFlag::new(&context, mars::Clearing::Automatic));
    let known = Arc::clone(&reply);
    let mut listener = context.add(calls(move |mpu| {
        loop {
            match mpu.wait_for_signal() {
                Ok(()) => known.set(1),
                Err(wait) => return Next::Stalled(wait),
            }
        }
    }));
    listener.schedule_at(Priority::NORMAL, Placement::Mpu(0));

    let elapsed = |gap, trip: &dyn Fn()| {
        pause(gap);
        let before = Time::now();
        trip();
        Time::now().since(before).as_secs_f64() * 1e9
    };
    let [futex, mars] = in_turns(
        ROUNDS,
        [
            &mut || {
                elapsed(gap, &|| {
                    call(&word, 1);
                    while back.swap(0, SeqCst) == 0 {
                        linux::futex::wait(&back, 0, None);
                    }
                })
            },
            &mut || {
                elapsed(gap, &|| {
                    listener.signal();
                    reply.wait_on_host(1, mars::Masking::All, None);
                })
            },
        ],
    );
    sink(Row::new(format!("wake and answer after {gap} us, bare thread"), futex / 1e3, "us"));
    sink(Row::new(format!("wake and answer after {gap} us"), mars / 1e3, "us"));
    let row = Row::new(format!("wake and answer after {gap} us / bare thread"), mars / futex, "x");
    sink(row.aims(Target::AtMost(1.3)));
    call(&word, STOP);
    thread.join().expect("ends");
}

const ROUNDS: usize = 400;
const STOP: u32 = 2;
