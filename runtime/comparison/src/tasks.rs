//! Tasks: what a stack of one's own costs.

use std::fs;
use std::sync::Arc;
use std::sync::atomic::AtomicU32;
use std::sync::atomic::Ordering::{AcqRel, Acquire};

use mars::{
    Args, Barrier, Builder, Clearing, Context, EventFlag, Masking, Placement, Priority, Program,
    Semaphore, Task, TaskHandle, TaskStacks,
};

use crate::{Row, Sink, Target, in_turns, nanos_each};

pub(crate) fn rows(sink: Sink) {
    let [switch, wake, host] = in_turns(7, [&mut switches, &mut wakes, &mut hosts]);
    sink(Row::new("task: switch", switch, "ns").aims(Target::AtMost(40.0)));
    sink(Row::new("task: wake-up on the same MPU", wake, "ns").aims(Target::AtMost(100.0)));
    sink(Row::new("task: call of the host", host, "ns"));
    let context = context(2);
    for (count, most) in [(100, 200.0), (20_000, 400.0)] {
        let [each] = in_turns(7, [&mut || spawns(&context, count)]);
        let row = Row::new(format!("task: spawn and join, {count} at a time"), each, "ns");
        sink(row.aims(Target::AtMost(most)));
    }
    let [cycle] = in_turns(5, [&mut barrier]);
    let row = Row::new("task: barrier, 10,000 on 2 MPUs", cycle, "ms");
    sink(row.aims(Target::AtMost(5.0)));
    let (kib, seconds) = million();
    let row = Row::new("task: memory of each of 1,000,000 that wait", kib, "KiB");
    sink(row.aims(Target::AtMost(8.0)));
    sink(Row::new("task: 1,000,000 begin, wait and end", seconds, "s"));
}

fn context(mpus: usize) -> Context {
    Builder::new(mpus).tasks(TaskStacks::new(16 << 10)).start().expect("starts")
}

/// Runs tasks of these programs at once; nanoseconds of each of `count` things.
fn run(context: &Context, count: u32, programs: Vec<Program>) -> f64 {
    let tasks: Vec<_> =
        programs.into_iter().map(|program| TaskHandle::new(context, "", program)).collect();
    nanos_each(count, || {
        for task in &tasks {
            assert!(task.schedule(Args::default(), Priority::NORMAL));
        }
        for task in &tasks {
            _ = task.wait();
        }
    })
}

fn switches() -> f64 {
    let context = context(1);
    let yields = |task: &mut Task<'_>| {
        (0..SWITCHES / 2).for_each(|_| task.yield_now().expect("a stack"));
        0
    };
    run(&context, SWITCHES, vec![Program::new(yields), Program::new(yields)])
}

/// Two tasks in turn, each of which wakes the other one and waits.
fn wakes() -> f64 {
    let context = context(1);
    let flag = Arc::new(EventFlag::new(&context, Clearing::Automatic));
    flag.set(1);
    let turns = [(1, 2), (2, 1)].map(|(own, other)| {
        let flag = Arc::clone(&flag);
        Program::new(move |task| {
            for _ in 0..WAKES / 2 {
                let wait = task.block(|mpu| flag.wait(mpu, own, Masking::All));
                wait.expect("a stack");
                flag.set(other);
            }
            0
        })
    });
    run(&context, WAKES, turns.into())
}

fn hosts() -> f64 {
    let context = context(1);
    let calls = Program::new(|task| {
        (0..CALLS).for_each(|_| task.call_host(|| ()).expect("a stack"));
        0
    });
    run(&context, CALLS, vec![calls])
}

/// A task spawns `count` others and waits for the last one, again and again.
fn spawns(context: &Context, count: u32) -> f64 {
    let rounds = SPAWNS / count;
    let spawner = Program::new(move |task| {
        let done = Arc::new(Semaphore::new(&task.workloads(), 0));
        let left = Arc::new(AtomicU32::new(0));
        for _ in 0..rounds {
            left.store(count, std::sync::atomic::Ordering::Release);
            for _ in 0..count {
                let (done, left) = (Arc::clone(&done), Arc::clone(&left));
                task.spawn(Priority::NORMAL, move |_| {
                    if left.fetch_sub(1, AcqRel) == 1 {
                        done.release();
                    }
                });
            }
            task.block(|mpu| done.acquire(mpu)).expect("a stack");
        }
        0
    });
    run(context, rounds * count, vec![spawner])
}

/// Milliseconds of a cycle.
fn barrier() -> f64 {
    let context = context(2);
    let barrier = Arc::new(Barrier::new(&context, PARTIES));
    let party = Program::new(move |task| {
        for _ in 0..CYCLES {
            task.block(|mpu| barrier.notify(mpu)).expect("a stack");
            task.block(|mpu| barrier.wait(mpu)).expect("a stack");
        }
        0
    });
    let parties = (0..PARTIES).map(|_| party.clone()).collect();
    run(&context, CYCLES, parties) / 1e6
}

/// KiB of memory of each of a million tasks that wait at once, and the seconds in which they come
/// and go.
fn million() -> (f64, f64) {
    let context = Builder::new(2).tasks(TaskStacks::new(8 << 10)).start().expect("starts");
    let gate = Arc::new(EventFlag::new(&context, Clearing::Manual));
    let begun = Arc::new(AtomicU32::new(0));
    let left = Arc::new(AtomicU32::new(MILLION));
    let before = resident_kib();
    let mut kib = 0.0;
    let nanos = nanos_each(1, || {
        for _ in 0..MILLION {
            let (gate, begun, left) = (Arc::clone(&gate), Arc::clone(&begun), Arc::clone(&left));
            context.spawn_task(Priority::NORMAL, Placement::Anywhere, move |task| {
                begun.fetch_add(1, AcqRel);
                task.block(|mpu| gate.wait(mpu, 1, Masking::All)).expect("a stack");
                left.fetch_sub(1, AcqRel);
            });
        }
        while begun.load(Acquire) < MILLION {
            std::thread::yield_now();
        }
        kib = (resident_kib() - before) / f64::from(MILLION);
        gate.set(1);
        while left.load(Acquire) > 0 {
            std::thread::yield_now();
        }
    });
    (kib, nanos / 1e9)
}

/// Resident memory of this process and of its page tables (proc_pid_status(5)).
fn resident_kib() -> f64 {
    let status = fs::read_to_string("/proc/self/status").expect("procfs");
    let of = |name| status.lines().find_map(|line| line.strip_prefix(name));
    let kib = |text: &str| text.trim().trim_end_matches(" kB").parse::<f64>().expect("a number");
    ["VmRSS:", "VmPTE:"].into_iter().filter_map(of).map(kib).sum()
}

const SWITCHES: u32 = 1_000_000;
const WAKES: u32 = 400_000;
const CALLS: u32 = 2_000;
const SPAWNS: u32 = 200_000;
const PARTIES: u32 = 10_000;
const CYCLES: u32 = 100;
const MILLION: u32 = 1_000_000;
