//! Tasks in a tour of the objects: `cargo run -p linerate-mars --features tasks --example tasks`.
//! Each program ends with PASS or FAIL; the last lines say how much the MPUs and stacks were used.

#![expect(clippy::print_stdout, reason = "it is an example")]

use std::sync::Arc;
use std::sync::atomic::AtomicU32;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

use linerate_mars::{
    Args, Barrier, Builder, Clearing, Context, Ending, EventFlag, Masking, Priority, Program,
    Queue, Semaphore, Task, TaskHandle, TaskStacks,
};

fn main() -> std::io::Result<()> {
    let stacks = TaskStacks::default();
    let context = Builder::new(2).tasks(stacks.clone()).start()?;
    let programs: [(&str, Check); 7] = [
        ("hello: a task is scheduled 1,000 times", hello),
        ("barrier: 40 tasks meet 100 times on 2 MPUs", barrier),
        ("semaphore: 100 tasks count one by one", semaphore),
        ("ring: a token makes 100,000 hops by event flag", ring),
        ("pipeline: 100,000 entries pass two tasks", pipeline),
        ("host call: another task goes on meanwhile", host_call),
        ("unschedule: a waiting task does not go on", unschedule),
    ];
    for (name, program) in programs {
        println!("{}: {name}", if program(&context) { "PASS" } else { "FAIL" });
    }
    for (index, one) in context.utilisation().iter().enumerate() {
        println!("MPU {index}: used to {:.0} %, {} turns", 100.0 * one.share(), one.turns);
    }
    context.close()?;
    println!("stacks: {} of {} bytes used", stacks.used().high_water, stacks.used().size);
    Ok(())
}

/// A program; whether it did what it should.
type Check = fn(&Context) -> bool;

/// Runs a task of each program at once; whether all returned 0.
fn run(context: &Context, programs: Vec<Program>) -> bool {
    let task = |program| TaskHandle::new(context, "", program);
    let tasks: Vec<_> = programs.into_iter().map(task).collect();
    let begun = tasks.iter().all(|task| task.schedule(Args::default(), Priority::NORMAL));
    begun && tasks.iter().all(|task| task.wait().code == 0)
}

/// `count` tasks of a function that has its number.
fn several<F>(count: u32, function: impl Fn(u32) -> F) -> Vec<Program>
where
    F: Fn(&mut Task<'_>) -> i32 + Send + Sync + 'static,
{
    (0..count).map(|number| Program::new(function(number))).collect()
}

fn hello(context: &Context) -> bool {
    let task = TaskHandle::new(
        context,
        "hello",
        Program::new(|task| i32::try_from(task.args().0[0] + 42).unwrap_or(-1)),
    );
    (0..1_000).all(|round| {
        task.schedule(Args([round, 0, 0, 0]), Priority::NORMAL)
            && u64::try_from(task.wait().code) == Ok(round + 42)
    })
}

fn barrier(context: &Context) -> bool {
    let barrier = Arc::new(Barrier::new(context, 40));
    let counted = Arc::new(AtomicU32::new(0));
    let party = |_| {
        let (barrier, counted) = (Arc::clone(&barrier), Arc::clone(&counted));
        move |task: &mut Task<'_>| {
            let mut is_right = true;
            for cycle in 1..=100 {
                counted.fetch_add(1, Relaxed);
                let arrived = task.block(|mpu| barrier.notify(mpu));
                let passed = task.block(|mpu| barrier.wait(mpu));
                is_right &= arrived.and(passed).is_ok() && counted.load(Relaxed) >= 40 * cycle;
            }
            i32::from(!is_right)
        }
    };
    run(context, several(40, party)) && counted.load(Relaxed) == 4_000
}

fn semaphore(context: &Context) -> bool {
    let semaphore = Arc::new(Semaphore::new(context, 1));
    let total = Arc::new(AtomicU32::new(0));
    let counts = |_| {
        let (semaphore, total) = (Arc::clone(&semaphore), Arc::clone(&total));
        move |task: &mut Task<'_>| {
            for _ in 0..100 {
                if task.block(|mpu| semaphore.acquire(mpu)).is_err() {
                    return 1;
                }
                total.store(total.load(Relaxed) + 1, Relaxed);
                semaphore.release();
            }
            0
        }
    };
    run(context, several(100, counts)) && total.load(Relaxed) == 10_000
}

fn ring(context: &Context) -> bool {
    let flag = Arc::new(EventFlag::new(context, Clearing::Automatic));
    let passes = |place| {
        let flag = Arc::clone(&flag);
        move |task: &mut Task<'_>| {
            for _ in 0..100_000 / 8 {
                if task.block(|mpu| flag.wait(mpu, 1_u32 << place, Masking::All)).is_err() {
                    return 1;
                }
                flag.set(1_u32 << ((place + 1) % 8));
            }
            0
        }
    };
    flag.set(1);
    run(context, several(8, passes))
}

fn pipeline(context: &Context) -> bool {
    let queues = [1, 64, 1_024].map(|depth| Arc::new(Queue::new(context, depth)));
    let stages = several(2, |stage| {
        let [from, to] = [0, 1].map(|next| Arc::clone(&queues[stage as usize + next]));
        move |task: &mut Task<'_>| {
            for _ in 0..100_000 {
                let entry: Result<u32, _> = task.block(|mpu| from.pop(mpu));
                if entry.and_then(|entry| task.push(&to, entry + 1)).is_err() {
                    return 1;
                }
            }
            0
        }
    });
    let [first, _, last] = queues;
    let pusher = std::thread::spawn(move || {
        (0..100_000).all(|entry| first.push_on_host(entry, None).is_ok())
    });
    let popper =
        std::thread::spawn(move || (0..100_000).all(|n| last.pop_on_host(None) == Some(n + 2)));
    run(context, stages) && pusher.join().is_ok_and(|is| is) && popper.join().is_ok_and(|is| is)
}

fn host_call(context: &Context) -> bool {
    let turns = Arc::new(AtomicU32::new(0));
    let done = Arc::new(AtomicU32::new(0));
    let (seen, calls) = (Arc::clone(&turns), Arc::clone(&done));
    let caller = Program::new(move |task| {
        let before = seen.load(Relaxed);
        let answer = task.call_host(|| {
            std::thread::sleep(Duration::from_millis(20));
            7
        });
        calls.store(1, Relaxed);
        i32::from(answer != Ok(7) || seen.load(Relaxed) == before)
    });
    let other = Program::new(move |task| {
        while done.load(Relaxed) == 0 {
            turns.fetch_add(1, Relaxed);
            if task.yield_now().is_err() {
                return 1;
            }
        }
        0
    });
    run(context, vec![other, caller])
}

fn unschedule(context: &Context) -> bool {
    let never = Arc::new(EventFlag::new(context, Clearing::Manual));
    let waits = Program::new(move |task| {
        _ = task.block(|mpu| never.wait(mpu, 1, Masking::All));
        0
    });
    let task = TaskHandle::new(context, "waits", waits);
    (1..=100).all(|code| {
        task.schedule(Args::default(), Priority::NORMAL)
            && task.unschedule(code)
            && task.wait().ending == Ending::Unscheduled
            && task.wait().code == code
    })
}
