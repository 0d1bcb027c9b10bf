//! On tasks of mars.

use std::sync::Arc;
use std::sync::atomic::AtomicU32;
use std::sync::atomic::Ordering::{AcqRel, Relaxed, Release};

use mars::{Builder, Context, Mutex, Placement, Priority, Queue, Semaphore, Task, TaskStacks};

use super::{
    CHILDREN, CONTENDERS, DEPTH, ENTRIES, FORKS, LEAVES, Programs, ROUNDS, STAGES, SUM, TRIPS,
    TURNS, WORKERS,
};

pub(crate) struct Mars(Context);

impl Mars {
    pub(crate) fn start() -> Self {
        let stacks = TaskStacks::new(8 << 10);
        Self(Builder::new(WORKERS).tasks(stacks).start().expect("starts"))
    }

    fn spawn(&self, main: impl FnOnce(&mut Task<'_>) + Send + 'static) {
        self.0.spawn_task(Priority::NORMAL, Placement::Anywhere, main);
    }

    /// Runs a task and waits for what it returns.
    fn run<T: Send + 'static>(&self, main: impl FnOnce(&mut Task<'_>) -> T + Send + 'static) -> T {
        let result = Arc::new(Queue::new(&self.0, 1));
        let sender = Arc::clone(&result);
        self.spawn(move |task| {
            let value = main(task);
            assert!(sender.try_push(value).is_ok());
        });
        result.pop_on_host(None).expect("one comes")
    }
}

/// Counts down to its end, at which one task goes on.
struct Countdown {
    left: AtomicU32,
    end: Semaphore,
}

impl Countdown {
    fn new(context: &Context, count: u32) -> Arc<Self> {
        Arc::new(Self { left: AtomicU32::new(count), end: Semaphore::new(context, 0) })
    }

    fn finish(&self) {
        if self.left.fetch_sub(1, AcqRel) == 1 {
            self.end.release();
        }
    }
}

fn skynet(task: &mut Task<'_>, first: u64, leaves: u64) -> u64 {
    if leaves == 1 {
        return first;
    }
    let children = usize::try_from(CHILDREN).expect("a few");
    let sums = Arc::new(Queue::new(&task.workloads(), children));
    let leaves = leaves / CHILDREN;
    for child in 0..CHILDREN {
        let sums = Arc::clone(&sums);
        task.spawn(Priority::NORMAL, move |task| {
            let sum = skynet(task, first + child * leaves, leaves);
            assert!(sums.try_push(sum).is_ok());
        });
    }
    (0..CHILDREN).map(|_| task.block(|mpu| sums.pop(mpu)).expect("a stack")).sum()
}

impl Programs for Mars {
    fn skynet(&self) {
        assert_eq!(self.run(|task| skynet(task, 0, LEAVES.into())), SUM);
    }

    fn ping_pong(&self) {
        let there = Arc::new(Queue::new(&self.0, 1));
        let back = Arc::new(Queue::new(&self.0, 1));
        let (from, to) = (Arc::clone(&there), Arc::clone(&back));
        self.spawn(move |task| {
            for _ in 0..TRIPS {
                let ball: u32 = task.block(|mpu| from.pop(mpu)).expect("a stack");
                task.push(&to, ball + 1).expect("a stack");
            }
        });
        let last = self.run(move |task| {
            let mut ball = 0;
            for _ in 0..TRIPS {
                task.push(&there, ball).expect("a stack");
                ball = task.block(|mpu| back.pop(mpu)).expect("a stack");
            }
            ball
        });
        assert_eq!(last, TRIPS);
    }

    fn contention(&self) {
        let lock = Arc::new((Mutex::new(&self.0), Counter(AtomicU32::new(0))));
        let countdown = Countdown::new(&self.0, CONTENDERS);
        for _ in 0..CONTENDERS {
            let (lock, countdown) = (Arc::clone(&lock), Arc::clone(&countdown));
            self.spawn(move |task| {
                for _ in 0..TURNS {
                    task.block(|mpu| lock.0.lock(mpu)).expect("a stack");
                    lock.1.add();
                    lock.0.unlock();
                }
                countdown.finish();
            });
        }
        self.run(move |task| task.block(|mpu| countdown.end.acquire(mpu)).expect("a stack"));
        assert_eq!(lock.1.read(), CONTENDERS * TURNS);
    }

    fn fork_join(&self) {
        self.run(|task| {
            let end = Arc::new(Semaphore::new(&task.workloads(), 0));
            let left = Arc::new(AtomicU32::new(0));
            for _ in 0..ROUNDS {
                left.store(FORKS, Release);
                for _ in 0..FORKS {
                    let (end, left) = (Arc::clone(&end), Arc::clone(&left));
                    task.spawn(Priority::NORMAL, move |_| {
                        if left.fetch_sub(1, AcqRel) == 1 {
                            end.release();
                        }
                    });
                }
                task.block(|mpu| end.acquire(mpu)).expect("a stack");
            }
            assert_eq!(left.load(Relaxed), 0);
        });
    }

    fn pipeline(&self) {
        let queues: Vec<_> =
            (0..=STAGES).map(|_| Arc::new(Queue::<u32>::new(&self.0, DEPTH))).collect();
        for pair in queues.windows(2) {
            let [from, to] = [0, 1].map(|end| Arc::clone(&pair[end]));
            self.spawn(move |task| {
                for _ in 0..ENTRIES {
                    let entry = task.block(|mpu| from.pop(mpu)).expect("a stack");
                    task.push(&to, entry + 1).expect("a stack");
                }
            });
        }
        let first = Arc::clone(&queues[0]);
        self.spawn(move |task| {
            (0..ENTRIES).for_each(|entry| task.push(&first, entry).expect("a stack"));
        });
        let last = Arc::clone(&queues[STAGES as usize]);
        self.run(move |task| {
            for entry in 0..ENTRIES {
                assert_eq!(task.block(|mpu| last.pop(mpu)).expect("a stack"), entry + STAGES);
            }
        });
    }
}

/// A number that is read and written apart, so that a lock that does not exclude others is noticed.
struct Counter(AtomicU32);

impl Counter {
    fn add(&self) {
        self.0.store(self.read() + 1, Relaxed);
    }

    fn read(&self) -> u32 {
        self.0.load(Relaxed)
    }
}
