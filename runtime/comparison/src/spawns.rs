//! Workloads that come, run once and go.

use std::sync::Arc;
use std::sync::atomic::AtomicU32;
use std::sync::atomic::Ordering::{AcqRel, Acquire, Release};
use std::thread::Thread;

use mars::{Builder, Context, Mpu, Next, Placement, Priority, Workloads};

use crate::calls::calls;
use crate::{Row, Sink, Target, in_turns, nanos_each};

/// Wakes the host when all have finished.
struct Countdown {
    left: AtomicU32,
    host: Thread,
}

impl Countdown {
    fn new() -> Arc<Self> {
        Arc::new(Self { left: AtomicU32::new(0), host: std::thread::current() })
    }

    fn finish(&self) {
        if self.left.fetch_sub(1, AcqRel) == 1 {
            self.host.unpark();
        }
    }

    /// Nanoseconds of each, until the last one has finished.
    fn measure(&self, start: impl FnOnce()) -> f64 {
        nanos_each(SPAWNS, || {
            self.left.store(SPAWNS, Release);
            start();
            while self.left.load(Acquire) > 0 {
                std::thread::park();
            }
        })
    }
}

fn spawn_all(workloads: &Workloads, countdown: &Arc<Countdown>) {
    for _ in 0..SPAWNS {
        let countdown = Arc::clone(countdown);
        let once = calls(move |_| {
            countdown.finish();
            Next::Finished
        });
        workloads.spawn(once, Priority::NORMAL, Placement::Anywhere);
    }
}

fn spawn_here(mpu: &mut Mpu<'_, ()>, countdown: &Arc<Countdown>, count: u32) {
    for _ in 0..count {
        let countdown = Arc::clone(countdown);
        let once = calls(move |_| {
            countdown.finish();
            Next::Finished
        });
        mpu.spawn(once, Priority::NORMAL);
    }
}

fn spawn_all_tasks(countdown: &Arc<Countdown>) {
    for _ in 0..SPAWNS {
        let countdown = Arc::clone(countdown);
        tokio::spawn(async move { countdown.finish() });
    }
}

pub(crate) fn rows(sink: Sink) {
    let countdown = Countdown::new();
    let schedulers = Schedulers::start();
    sink_spawns_by_the_host(sink, &schedulers, &countdown);
    sink_spawns_by_a_workload(sink, &schedulers, &countdown);
    sink_few_at_a_time(sink, &countdown);
    sink_schedulings(sink, &schedulers.context, &countdown);
}

/// Two workers of each scheduler.
struct Schedulers {
    context: Context,
    runtime: tokio::runtime::Runtime,
    pool: rayon::ThreadPool,
}

impl Schedulers {
    fn start() -> Self {
        let mut runtime = tokio::runtime::Builder::new_multi_thread();
        Self {
            context: Builder::new(2).start().expect("starts"),
            runtime: runtime.worker_threads(2).build().expect("starts"),
            pool: rayon::ThreadPoolBuilder::new().num_threads(2).build().expect("starts"),
        }
    }
}

fn sink_spawns_by_the_host(sink: Sink, schedulers: &Schedulers, countdown: &Arc<Countdown>) {
    let Schedulers { context, runtime, pool } = schedulers;
    let [mars, tokio, rayon] = in_turns(
        9,
        [
            &mut || countdown.measure(|| spawn_all(context, countdown)),
            &mut || {
                let _guard = runtime.enter();
                countdown.measure(|| spawn_all_tasks(countdown))
            },
            &mut || {
                countdown.measure(|| {
                    for _ in 0..SPAWNS {
                        let countdown = Arc::clone(countdown);
                        pool.spawn(move || countdown.finish());
                    }
                })
            },
        ],
    );
    sink(Row::new("spawn and finish, by the host", mars, "ns").aims(Target::AtMost(200.0)));
    sink(Row::new("spawn and finish, by the host, tokio", tokio, "ns"));
    sink(Row::new("spawn and finish, by the host, rayon", rayon, "ns"));
}

fn sink_spawns_by_a_workload(sink: Sink, schedulers: &Schedulers, countdown: &Arc<Countdown>) {
    let Schedulers { context, runtime, pool } = schedulers;
    let [mars, tokio, rayon] = in_turns(
        9,
        [
            &mut || {
                countdown.measure(|| {
                    let known = Arc::clone(countdown);
                    let spawner = calls(move |mpu| {
                        spawn_here(mpu, &known, SPAWNS);
                        Next::Finished
                    });
                    context.spawn(spawner, Priority::NORMAL, Placement::Anywhere);
                })
            },
            &mut || {
                countdown.measure(|| {
                    let known = Arc::clone(countdown);
                    runtime.spawn(async move { spawn_all_tasks(&known) });
                })
            },
            &mut || {
                countdown.measure(|| {
                    pool.scope(|scope| {
                        for _ in 0..SPAWNS {
                            scope.spawn(|_| countdown.finish());
                        }
                    });
                })
            },
        ],
    );
    sink(Row::new("spawn and finish, by a workload", mars, "ns").aims(Target::AtMost(200.0)));
    sink(Row::new("spawn and finish, by a task, tokio", tokio, "ns"));
    sink(Row::new("spawn and finish, by a job, rayon", rayon, "ns"));
}

fn sink_schedulings(sink: Sink, context: &Context, countdown: &Arc<Countdown>) {
    let mut handles: Vec<_> = (0..SPAWNS)
        .map(|_| {
            let countdown = Arc::clone(countdown);
            context.add(calls(move |_| {
                countdown.finish();
                Next::Finished
            }))
        })
        .collect();
    let mut again =
        || countdown.measure(|| handles.iter_mut().for_each(|one| one.schedule(Priority::NORMAL)));
    let [again] = in_turns(9, [&mut again]);
    sink(Row::new("schedule a finished one again", again, "ns").aims(Target::AtMost(200.0)));
}

/// On one MPU, and with few at a time: what the runtime itself costs, and not the caches.
fn sink_few_at_a_time(sink: Sink, countdown: &Arc<Countdown>) {
    let context = Builder::new(1).start().expect("starts");
    let mut runtime = tokio::runtime::Builder::new_multi_thread();
    let runtime = runtime.worker_threads(1).build().expect("starts");
    let [mars, tokio] = in_turns(
        9,
        [
            &mut || {
                countdown.measure(|| {
                    let (known, mut left) = (Arc::clone(countdown), SPAWNS);
                    let spawner = calls(move |mpu| {
                        spawn_here(mpu, &known, FEW);
                        left -= FEW;
                        if left == 0 { Next::Finished } else { Next::Yield }
                    });
                    context.spawn(spawner, Priority::NORMAL, Placement::Anywhere);
                })
            },
            &mut || {
                countdown.measure(|| {
                    let known = Arc::clone(countdown);
                    runtime.spawn(async move {
                        for _ in 0..SPAWNS / FEW {
                            for _ in 0..FEW {
                                let known = Arc::clone(&known);
                                tokio::spawn(async move { known.finish() });
                            }
                            tokio::task::yield_now().await;
                        }
                    });
                })
            },
        ],
    );
    let what = "spawn and finish, 100 at a time, 1 MPU";
    sink(Row::new(what, mars, "ns").aims(Target::AtMost(200.0)));
    sink(Row::new("the same, tokio with 1 worker", tokio, "ns"));
}

const FEW: u32 = 100;
const SPAWNS: u32 = 20_000;
