//! Barriers, flags and queues.

use std::sync::Arc;

use mars::{Barrier, Builder, Clearing, EventFlag, Masking, Next, Priority, Queue};

use crate::calls::calls;
use crate::{Row, Sink, Target, in_turns, nanos_each};

pub(crate) fn rows(sink: Sink) {
    let [cycle] = in_turns(5, [&mut barrier]);
    let row = Row::new("barrier, 10,000 workloads on 2 MPUs", cycle, "ms");
    sink(row.aims(Target::AtMost(3.0)));

    let mut runtime = tokio::runtime::Builder::new_multi_thread();
    let runtime = runtime.worker_threads(2).build().expect("starts");
    let [mars, tokio] = in_turns(7, [&mut ring, &mut || notify_ring(&runtime)]);
    sink(Row::new("ring of 8, each hop, event flag", mars, "ns"));
    sink(Row::new("ring of 8, each hop, tokio's Notify", tokio, "ns"));
    let row = Row::new("ring of 8, event flag / tokio's Notify", mars / tokio, "x");
    sink(row.aims(Target::AtMost(1.0)));

    let [mars, tokio] = in_turns(7, [&mut queue, &mut || channel(&runtime)]);
    sink(Row::new("queue of 256, each entry", mars, "ns"));
    sink(Row::new("queue of 256, each entry, tokio's mpsc", tokio, "ns"));
}

/// Milliseconds of a cycle.
fn barrier() -> f64 {
    let context = Builder::new(2).start().expect("starts");
    let barrier = Arc::new(Barrier::new(&context, PARTIES));
    let mut handles: Vec<_> = (0..PARTIES)
        .map(|_| {
            let barrier = Arc::clone(&barrier);
            let (mut left, mut has_arrived) = (CYCLES, false);
            context.add(calls(move |mpu| {
                while left > 0 {
                    if !has_arrived && let Err(wait) = barrier.notify(mpu) {
                        return Next::Stalled(wait);
                    }
                    has_arrived = true;
                    if let Err(wait) = barrier.wait(mpu) {
                        return Next::Stalled(wait);
                    }
                    has_arrived = false;
                    left -= 1;
                }
                Next::Finished
            }))
        })
        .collect();
    let cycle = nanos_each(CYCLES, || {
        for one in &mut handles {
            one.schedule(Priority::NORMAL);
        }
        for one in &handles {
            _ = one.wait();
        }
    });
    cycle / 1e6
}

fn ring() -> f64 {
    let context = Builder::new(2).start().expect("starts");
    let flag = Arc::new(EventFlag::new(&context, Clearing::Automatic));
    let mut handles: Vec<_> = (0..RING)
        .map(|place| {
            let (flag, mut left) = (Arc::clone(&flag), HOPS / RING);
            context.add(calls(move |mpu| {
                while left > 0 {
                    if let Err(wait) = flag.wait(mpu, 1 << place, Masking::All) {
                        return Next::Stalled(wait);
                    }
                    left -= 1;
                    flag.set(1 << ((place + 1) % RING));
                }
                Next::Finished
            }))
        })
        .collect();
    for one in &mut handles {
        one.schedule(Priority::NORMAL);
    }
    nanos_each(HOPS, || {
        flag.set(1);
        for one in &handles {
            _ = one.wait();
        }
    })
}

fn notify_ring(runtime: &tokio::runtime::Runtime) -> f64 {
    let places: Arc<[_]> = (0..RING).map(|_| tokio::sync::Notify::new()).collect();
    let tasks: Vec<_> = (0..places.len())
        .map(|place| {
            let places = Arc::clone(&places);
            runtime.spawn(async move {
                for _ in 0..HOPS / RING {
                    places[place].notified().await;
                    places[(place + 1) % places.len()].notify_one();
                }
            })
        })
        .collect();
    nanos_each(HOPS, || {
        places[0].notify_one();
        for one in tasks {
            runtime.block_on(one).expect("ends");
        }
    })
}

fn queue() -> f64 {
    let context = Builder::new(2).start().expect("starts");
    let queue = Arc::new(Queue::new(&context, DEPTH));
    let (from, to) = (Arc::clone(&queue), queue);
    let (mut taken, mut put_in) = (0, 0);
    let mut receiver = context.add(calls(move |mpu| {
        while taken < ENTRIES {
            match from.pop(mpu) {
                Ok(entry) => assert_eq!(entry, taken),
                Err(wait) => return Next::Stalled(wait),
            }
            taken += 1;
        }
        Next::Finished
    }));
    let mut sender = context.add(calls(move |mpu| {
        while put_in < ENTRIES {
            match to.push(mpu, put_in) {
                Ok(()) => put_in += 1,
                Err((_, wait)) => return Next::Stalled(wait),
            }
        }
        Next::Finished
    }));
    nanos_each(ENTRIES, || {
        receiver.schedule(Priority::NORMAL);
        sender.schedule(Priority::NORMAL);
        receiver.wait();
    })
}

fn channel(runtime: &tokio::runtime::Runtime) -> f64 {
    let (sender, mut receiver) = tokio::sync::mpsc::channel(DEPTH);
    nanos_each(ENTRIES, || {
        runtime.spawn(async move {
            for entry in 0..ENTRIES {
                sender.send(entry).await.expect("open");
            }
        });
        let pops = runtime.spawn(async move {
            for expected in 0..ENTRIES {
                assert_eq!(receiver.recv().await, Some(expected));
            }
        });
        runtime.block_on(pops).expect("ends");
    })
}

const PARTIES: u32 = 10_000;
const CYCLES: u32 = 100;
const RING: u32 = 8;
const HOPS: u32 = 80_000;
const ENTRIES: u32 = 200_000;
const DEPTH: usize = 256;
