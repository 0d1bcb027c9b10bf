//! On coroutines of may.

use std::sync::Arc;

use may::sync::{Mutex, mpsc};
use may::{coroutine, go};

use super::{
    CHILDREN, CONTENDERS, ENTRIES, FORKS, LEAVES, Programs, ROUNDS, STAGES, SUM, TRIPS, TURNS,
    WORKERS,
};

pub(crate) struct May;

impl May {
    pub(crate) fn start() -> Self {
        // In words of eight bytes.
        may::config().set_workers(WORKERS).set_stack_size(0x1000);
        Self
    }
}

fn skynet(first: u64, leaves: u64) -> u64 {
    if leaves == 1 {
        return first;
    }
    let leaves = leaves / CHILDREN;
    let (sender, sums) = mpsc::channel();
    for child in 0..CHILDREN {
        let sender = sender.clone();
        go!(move || sender.send(skynet(first + child * leaves, leaves)).expect("open"));
    }
    (0..CHILDREN).map(|_| sums.recv().expect("open")).sum()
}

/// Runs a function in a coroutine.
fn run<T: Send + 'static>(main: impl FnOnce() -> T + Send + 'static) -> T {
    go!(main).join().expect("ends")
}

/// Its channels have no bound.
impl Programs for May {
    fn skynet(&self) {
        assert_eq!(run(|| skynet(0, LEAVES.into())), SUM);
    }

    fn ping_pong(&self) {
        let (there, from) = mpsc::channel();
        let (to, back) = mpsc::channel();
        go!(move || {
            for _ in 0..TRIPS {
                let ball: u32 = from.recv().expect("open");
                to.send(ball + 1).expect("open");
            }
        });
        let last = run(move || {
            let mut ball = 0;
            for _ in 0..TRIPS {
                there.send(ball).expect("open");
                ball = back.recv().expect("open");
            }
            ball
        });
        assert_eq!(last, TRIPS);
    }

    fn contention(&self) {
        let lock = Arc::new(Mutex::new(0));
        let known = Arc::clone(&lock);
        run(move || {
            coroutine::scope(|scope| {
                for _ in 0..CONTENDERS {
                    let lock = &known;
                    go!(scope, move || {
                        for _ in 0..TURNS {
                            *lock.lock().expect("whole") += 1;
                        }
                    });
                }
            });
        });
        assert_eq!(*lock.lock().expect("whole"), CONTENDERS * TURNS);
    }

    fn fork_join(&self) {
        run(|| {
            for _ in 0..ROUNDS {
                let tasks: Vec<_> = (0..FORKS).map(|_| go!(|| {})).collect();
                for task in tasks {
                    task.join().expect("ends");
                }
            }
        });
    }

    fn pipeline(&self) {
        let (first, mut from) = mpsc::channel();
        for _ in 0..STAGES {
            let (to, next) = mpsc::channel();
            let stage = std::mem::replace(&mut from, next);
            go!(move || {
                for _ in 0..ENTRIES {
                    let entry: u32 = stage.recv().expect("open");
                    to.send(entry + 1).expect("open");
                }
            });
        }
        go!(move || {
            for entry in 0..ENTRIES {
                first.send(entry).expect("open");
            }
        });
        run(move || {
            for entry in 0..ENTRIES {
                assert_eq!(from.recv(), Ok(entry + STAGES));
            }
        });
    }
}
