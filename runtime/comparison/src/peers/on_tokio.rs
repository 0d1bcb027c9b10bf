//! On tasks of tokio.

use std::pin::Pin;
use std::sync::Arc;

use tokio::runtime::{Builder, Runtime};
use tokio::sync::{Mutex, mpsc};

use super::{
    CHILDREN, CONTENDERS, DEPTH, ENTRIES, FORKS, LEAVES, Programs, ROUNDS, STAGES, SUM, TRIPS,
    TURNS, WORKERS,
};

pub(crate) struct Tokio(Runtime);

impl Tokio {
    pub(crate) fn start() -> Self {
        let mut builder = Builder::new_multi_thread();
        Self(builder.worker_threads(WORKERS).build().expect("starts"))
    }

    /// Runs a future on a worker.
    fn run<T: Send + 'static>(&self, future: impl Future<Output = T> + Send + 'static) -> T {
        self.0.block_on(self.0.spawn(future)).expect("ends")
    }
}

fn skynet(first: u64, leaves: u64) -> Pin<Box<dyn Future<Output = u64> + Send>> {
    Box::pin(async move {
        if leaves == 1 {
            return first;
        }
        let leaves = leaves / CHILDREN;
        let children: Vec<_> = (0..CHILDREN)
            .map(|child| tokio::spawn(skynet(first + child * leaves, leaves)))
            .collect();
        let mut sum = 0;
        for child in children {
            sum += child.await.expect("ends");
        }
        sum
    })
}

impl Programs for Tokio {
    fn skynet(&self) {
        assert_eq!(self.run(skynet(0, LEAVES.into())), SUM);
    }

    fn ping_pong(&self) {
        let (there, mut from) = mpsc::channel(1);
        let (to, mut back) = mpsc::channel(1);
        self.0.spawn(async move {
            for _ in 0..TRIPS {
                let ball: u32 = from.recv().await.expect("open");
                to.send(ball + 1).await.expect("open");
            }
        });
        let last = self.run(async move {
            let mut ball = 0;
            for _ in 0..TRIPS {
                there.send(ball).await.expect("open");
                ball = back.recv().await.expect("open");
            }
            ball
        });
        assert_eq!(last, TRIPS);
    }

    fn contention(&self) {
        let lock = Arc::new(Mutex::new(0));
        let known = Arc::clone(&lock);
        self.run(async move {
            let tasks: Vec<_> = (0..CONTENDERS)
                .map(|_| {
                    let lock = Arc::clone(&known);
                    tokio::spawn(async move {
                        for _ in 0..TURNS {
                            *lock.lock().await += 1;
                        }
                    })
                })
                .collect();
            for task in tasks {
                task.await.expect("ends");
            }
        });
        assert_eq!(*lock.blocking_lock(), CONTENDERS * TURNS);
    }

    fn fork_join(&self) {
        self.run(async {
            for _ in 0..ROUNDS {
                let tasks: Vec<_> = (0..FORKS).map(|_| tokio::spawn(async {})).collect();
                for task in tasks {
                    task.await.expect("ends");
                }
            }
        });
    }

    fn pipeline(&self) {
        let (first, mut from) = mpsc::channel(DEPTH);
        for _ in 0..STAGES {
            let (to, next) = mpsc::channel(DEPTH);
            let mut stage = std::mem::replace(&mut from, next);
            self.0.spawn(async move {
                for _ in 0..ENTRIES {
                    let entry: u32 = stage.recv().await.expect("open");
                    to.send(entry + 1).await.expect("open");
                }
            });
        }
        self.0.spawn(async move {
            for entry in 0..ENTRIES {
                first.send(entry).await.expect("open");
            }
        });
        self.run(async move {
            for entry in 0..ENTRIES {
                assert_eq!(from.recv().await, Some(entry + STAGES));
            }
        });
    }
}
