//! Tasks as a host and other tasks use them.

use std::sync::atomic::AtomicU32;
use std::sync::atomic::Ordering::SeqCst;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use linerate_mars::{
    Args, Barrier, Builder, Clearing, Context, Ending, EntryQueue, EventFlag, Exit, Masking,
    Priority, Program, Queue, Semaphore, Task, TaskError, TaskHandle, TaskStacks, Time,
};

fn context(mpus: usize) -> Context {
    Builder::new(mpus).tasks(TaskStacks::default()).start().expect("threads")
}

fn task(
    context: &Context,
    main: impl Fn(&mut Task<'_>) -> i32 + Send + Sync + 'static,
) -> TaskHandle {
    TaskHandle::new(context, "a task", Program::new(main))
}

fn begin(task: &TaskHandle) {
    assert!(task.schedule(Args::default(), Priority::NORMAL), "it has not finished");
}

const fn finished(code: i32) -> Exit {
    Exit { ending: Ending::Finished, code }
}

#[test]
fn a_task_has_arguments_a_name_and_an_exit_code_and_can_be_scheduled_again() {
    let context = context(2);
    let task = task(&context, |task| {
        assert_eq!(task.name(), "a task");
        i32::try_from(task.args().0.iter().sum::<u64>()).expect("small")
    });
    assert_eq!(task.wait(), finished(0), "it was never scheduled");
    for round in 0..1000 {
        assert!(task.schedule(Args([round, 1, 2, 3]), Priority::NORMAL));
        assert_eq!(task.wait(), finished(i32::try_from(round).expect("small") + 6));
    }
}

#[test]
fn a_task_that_waits_lets_others_run() {
    let context = context(1);
    let flag = Arc::new(EventFlag::new(&context, Clearing::Automatic));
    let waits = Arc::clone(&flag);
    let waiter = task(&context, move |task| {
        let mut sum = 0;
        for bit in 0..8 {
            let wait = task.block(|mpu| waits.wait(mpu, 1 << bit, Masking::All));
            sum += wait.expect("it has a stack");
        }
        i32::try_from(sum).expect("8 bits")
    });
    let setter = task(&context, move |task| {
        for bit in 0..8 {
            flag.set(1 << bit);
            task.yield_now().expect("it has a stack");
        }
        0
    });
    begin(&waiter);
    assert_eq!(waiter.try_wait(), None);
    assert!(!waiter.schedule(Args::default(), Priority::NORMAL), "it waits");
    begin(&setter);
    assert_eq!(waiter.wait(), finished(255));
    assert_eq!(setter.wait(), finished(0));
}

#[test]
fn more_tasks_than_mpus_meet_at_a_barrier() {
    let context = context(2);
    let (total, cycles) = (200, 50);
    let barrier = Arc::new(Barrier::new(&context, total));
    let tasks: Vec<_> = (0..total)
        .map(|_| {
            let barrier = Arc::clone(&barrier);
            task(&context, move |task| {
                let mut sum = 0;
                for cycle in 0..cycles {
                    task.block(|mpu| barrier.notify(mpu)).expect("a stack");
                    sum += cycle;
                    task.block(|mpu| barrier.wait(mpu)).expect("a stack");
                }
                sum
            })
        })
        .collect();
    tasks.iter().for_each(begin);
    assert!(tasks.iter().all(|task| task.wait() == finished(cycles * (cycles - 1) / 2)));
}

/// Tasks that hold it over a yield, tasks that take it often, and a thread of the host.
#[test]
fn a_mutex_excludes_and_everybody_gets_it() {
    let context = context(2);
    let mutex = Arc::new(linerate_mars::Mutex::new(&context));
    let total = Arc::new(AtomicU32::new(0));
    let add = |total: &AtomicU32| total.store(total.load(SeqCst) + 1, SeqCst);
    let tasks: Vec<_> = (0..20)
        .map(|number| {
            let (mutex, total) = (Arc::clone(&mutex), Arc::clone(&total));
            task(&context, move |task| {
                for _ in 0..500 {
                    task.block(|mpu| mutex.lock(mpu)).expect("a stack");
                    let before = total.load(SeqCst);
                    if number % 2 == 0 {
                        task.yield_now().expect("a stack");
                    }
                    total.store(before + 1, SeqCst);
                    mutex.unlock();
                }
                0
            })
        })
        .collect();
    tasks.iter().for_each(begin);
    for _ in 0..500 {
        assert!(mutex.lock_on_host(None));
        add(&total);
        mutex.unlock();
    }
    assert!(tasks.iter().all(|task| task.wait() == finished(0)));
    assert_eq!(total.load(SeqCst), 21 * 500);
    assert!(!mutex.is_locked() && !mutex.is_awaited());
}

#[test]
fn a_semaphore_excludes_and_a_queue_keeps_the_order() {
    let context = context(2);
    let semaphore = Arc::new(Semaphore::new(&context, 1));
    let total = Arc::new(AtomicU32::new(0));
    let tasks: Vec<_> = (0..20)
        .map(|_| {
            let (semaphore, total) = (Arc::clone(&semaphore), Arc::clone(&total));
            task(&context, move |task| {
                for _ in 0..500 {
                    task.block(|mpu| semaphore.acquire(mpu)).expect("a stack");
                    let before = total.load(SeqCst);
                    task.yield_now().expect("a stack");
                    total.store(before + 1, SeqCst);
                    semaphore.release();
                }
                0
            })
        })
        .collect();
    tasks.iter().for_each(begin);
    assert!(tasks.iter().all(|task| task.wait() == finished(0)));
    assert_eq!(total.load(SeqCst), 20 * 500);

    let queue = Arc::new(Queue::new(&context, 4));
    let pushes = Arc::clone(&queue);
    let producer = task(&context, move |task| {
        (0..10_000).for_each(|entry| task.push(&pushes, entry).expect("a stack"));
        0
    });
    let consumer = task(&context, move |task| {
        (0..10_000).all(|entry| task.block(|mpu| queue.pop(mpu)) == Ok(entry)).into()
    });
    begin(&producer);
    begin(&consumer);
    assert_eq!(consumer.wait(), finished(1));
}

#[test]
fn tasks_schedule_and_join_others_and_spawn_more() {
    let context = context(2);
    let inner = Arc::new(task(&context, |task| {
        task.wait_for_signal().expect("a stack");
        7
    }));
    let known = Arc::clone(&inner);
    let outer = task(&context, move |task| {
        let count = Arc::new(AtomicU32::new(0));
        let done = Arc::new(Barrier::new(&task.workloads(), 101));
        for _ in 0..100 {
            let (count, done) = (Arc::clone(&count), Arc::clone(&done));
            task.spawn(Priority::NORMAL, move |task| {
                task.yield_now().expect("a stack");
                count.fetch_add(1, SeqCst);
                assert!(done.try_notify());
                task.block(|mpu| done.wait(mpu)).expect("a stack");
            });
        }
        assert!(done.try_notify());
        task.block(|mpu| done.wait(mpu)).expect("a stack");
        assert!(known.schedule(Args::default(), Priority::NORMAL));
        known.signal();
        let inner = task.join(&known).expect("a stack");
        i32::try_from(count.load(SeqCst)).expect("small") + inner.code
    });
    begin(&outer);
    assert_eq!(outer.wait(), finished(107));
}

#[test]
fn three_signals_before_a_wait_wake_once() {
    // One MPU: the waiter does not run before the sender's turn has ended.
    let context = context(1);
    let turns = Arc::new(AtomicU32::new(0));
    let counted = Arc::clone(&turns);
    let waiter = Arc::new(task(&context, move |task| {
        for _ in 0..2 {
            task.wait_for_signal().expect("a stack");
            counted.fetch_add(1, SeqCst);
        }
        i32::from(task.try_signal())
    }));
    let signalled = Arc::clone(&waiter);
    let sender = task(&context, move |task| {
        signalled.signal();
        assert!(signalled.schedule(Args::default(), Priority::NORMAL));
        task.yield_now().expect("a stack");
        let lost = turns.load(SeqCst);
        (0..3).for_each(|_| signalled.signal());
        for _ in 0..10 {
            task.yield_now().expect("a stack");
        }
        let once = turns.load(SeqCst);
        signalled.signal();
        i32::try_from(lost * 10 + once).expect("small")
    });
    begin(&sender);
    assert_eq!(sender.wait(), finished(1), "one before it was scheduled is lost");
    assert_eq!(waiter.wait(), finished(0));
}

#[test]
fn a_run_complete_task_cannot_wait() {
    let context = context(1);
    let semaphore = Arc::new(Semaphore::new(&context, 1));
    let task = TaskHandle::new(
        &context,
        "",
        Program::new(move |task| {
            // Not even for what is free.
            let acquired = task.block(|mpu| semaphore.acquire(mpu));
            assert_eq!(acquired, Err(TaskError::RunComplete));
            assert_eq!(task.yield_now(), Err(TaskError::RunComplete));
            assert_eq!(task.call_host(|| ()), Err(TaskError::RunComplete));
            i32::from(semaphore.try_acquire())
        })
        .run_complete(),
    );
    begin(&task);
    assert_eq!(task.wait(), finished(1));
}

/// Tells when it is dropped.
struct Guard(Arc<Mutex<Vec<&'static str>>>, &'static str);

impl Drop for Guard {
    fn drop(&mut self) {
        self.0.lock().expect("no panic").push(self.1);
    }
}

#[test]
fn an_unscheduled_task_does_not_go_on_and_drops_what_it_had() {
    let context = context(1);
    let dropped = Arc::new(Mutex::new(Vec::new()));
    let flag = Arc::new(EventFlag::new(&context, Clearing::Manual));
    let (seen, never) = (Arc::clone(&dropped), Arc::clone(&flag));
    let waiting = task(&context, move |task| {
        let _outer = Guard(Arc::clone(&seen), "outer");
        let _inner = Guard(Arc::clone(&seen), "inner");
        _ = task.block(|mpu| never.wait(mpu, 2, Masking::All));
        unreachable!("it was unscheduled");
    });
    let follower = Arc::new(EventFlag::new(&context, Clearing::Manual));
    let begun = Arc::clone(&follower);
    let probe = task(&context, move |_| {
        begun.set(1);
        0
    });
    for round in 1..=100 {
        begin(&waiting);
        begin(&probe);
        _ = follower.wait_on_host(1, Masking::All, None);
        follower.clear(1);
        assert!(waiting.unschedule(-round));
        assert_eq!(waiting.wait(), Exit { ending: Ending::Unscheduled, code: -round });
        assert_eq!(*dropped.lock().expect("no panic"), ["inner", "outer"], "{round}");
        dropped.lock().expect("no panic").clear();
        probe.wait();
    }
    assert!(!waiting.unschedule(0), "it has finished");
}

#[test]
fn a_running_task_that_is_unscheduled_stops_where_it_waits_next() {
    let context = context(2);
    let (runs, stop) = (Arc::new(AtomicU32::new(0)), Arc::new(AtomicU32::new(0)));
    let (running, stopped) = (Arc::clone(&runs), Arc::clone(&stop));
    let task = task(&context, move |task| {
        running.store(1, SeqCst);
        while stopped.load(SeqCst) == 0 {
            std::hint::spin_loop();
        }
        _ = task.yield_now();
        running.store(2, SeqCst);
        0
    });
    begin(&task);
    while runs.load(SeqCst) == 0 {
        std::thread::yield_now();
    }
    assert!(task.unschedule(9));
    stop.store(1, SeqCst);
    assert_eq!(task.wait(), Exit { ending: Ending::Unscheduled, code: 9 });
    assert_eq!(runs.load(SeqCst), 1);
}

#[test]
fn a_panic_ends_its_task_and_exit_ends_it_from_below() {
    let context = context(1);
    let dropped = Arc::new(Mutex::new(Vec::new()));
    let seen = Arc::clone(&dropped);
    let exits = task(&context, move |task| {
        let _guard = Guard(Arc::clone(&seen), "it");
        leave(task, 3)
    });
    begin(&exits);
    assert_eq!(exits.wait(), finished(3));
    assert_eq!(*dropped.lock().expect("no panic"), ["it"]);
    let panics = task(&context, |_| std::panic::resume_unwind(Box::new("its own")));
    begin(&panics);
    assert_eq!(panics.wait(), Exit { ending: Ending::Panicked, code: 0 });
    begin(&exits);
    assert_eq!(exits.wait(), finished(3));
}

fn leave(task: &mut Task<'_>, depth: i32) -> i32 {
    if depth == 0 { task.exit(3) } else { leave(task, depth - 1) + 1 }
}

#[test]
fn a_call_of_the_host_does_not_hold_up_others() {
    let context = context(1);
    let turns = Arc::new(AtomicU32::new(0));
    let (counted, stop) = (Arc::clone(&turns), Arc::new(AtomicU32::new(0)));
    let stopped = Arc::clone(&stop);
    let other = task(&context, move |task| {
        while stopped.load(SeqCst) == 0 {
            counted.fetch_add(1, SeqCst);
            task.yield_now().expect("a stack");
        }
        0
    });
    let caller = task(&context, move |task| {
        let before = turns.load(SeqCst);
        let answer = task.call_host(|| {
            std::thread::sleep(Duration::from_millis(50));
            42
        });
        stop.store(1, SeqCst);
        // A turn takes far less than a tenth of a millisecond.
        assert!(turns.load(SeqCst) - before > 500);
        answer.expect("a stack")
    });
    begin(&other);
    begin(&caller);
    assert_eq!(caller.wait(), finished(42));
    other.wait();
}

#[test]
fn a_higher_priority_goes_first_and_a_task_sleeps_until_its_time() {
    let context = context(1);
    let order = Arc::new(Mutex::new(Vec::new()));
    let gate = Arc::new(EventFlag::new(&context, Clearing::Manual));
    let opener = Arc::clone(&gate);
    let tasks: Vec<_> = [3_u8, 200, 7]
        .map(|priority| {
            let (order, gate) = (Arc::clone(&order), Arc::clone(&gate));
            let task = task(&context, move |task| {
                task.block(|mpu| gate.wait(mpu, 1, Masking::All)).expect("a stack");
                order.lock().expect("no panic").push(priority);
                0
            });
            assert!(task.schedule(Args::default(), Priority(priority)));
            task
        })
        .into();
    let sleeper = task(&context, move |task| {
        let at = task.clock().after(Duration::from_millis(30));
        task.sleep_until(at).expect("a stack");
        opener.set(1);
        i32::from(Time::now() >= at)
    });
    begin(&sleeper);
    assert_eq!(sleeper.wait(), finished(1));
    assert!(tasks.iter().all(|task| task.wait() == finished(0)));
    assert_eq!(*order.lock().expect("no panic"), [200, 7, 3]);
}

#[test]
fn stacks_are_used_again_and_their_use_is_known() {
    let stacks = TaskStacks::new(32 << 10);
    let context = Builder::new(2).tasks(stacks.clone()).start().expect("threads");
    let task = task(&context, |_| {
        let block = std::hint::black_box([7_u8; 16 << 10]);
        i32::from(block[100])
    });
    for _ in 0..100 {
        begin(&task);
        assert_eq!(task.wait(), finished(7));
    }
    context.close().expect("no MPU failed");
    let used = stacks.used();
    assert_eq!(used.size, 32 << 10);
    assert!((16 << 10..30 << 10).contains(&used.high_water), "{used:?}");
}

#[test]
fn a_context_that_stops_drops_what_its_tasks_had() {
    let context = context(2);
    let flag = Arc::new(EventFlag::new(&context, Clearing::Manual));
    let dropped = Arc::new(Mutex::new(Vec::new()));
    let begun = Arc::new(AtomicU32::new(0));
    for _ in 0..50 {
        let (flag, dropped, begun) = (Arc::clone(&flag), Arc::clone(&dropped), Arc::clone(&begun));
        context.spawn_task(Priority::NORMAL, linerate_mars::Placement::Anywhere, move |task| {
            let _guard = Guard(dropped, "one");
            begun.fetch_add(1, SeqCst);
            _ = task.block(|mpu| flag.wait(mpu, 1, Masking::All));
        });
    }
    while begun.load(SeqCst) < 50 {
        std::thread::yield_now();
    }
    context.close().expect("no MPU failed");
    assert_eq!(dropped.lock().expect("no panic").len(), 50);
}

#[test]
fn entries_are_filled_and_read_where_they_lie_in_order() {
    let context = context(2);
    let queue = Arc::new(EntryQueue::new(&context, 64, 3));
    let pushes = Arc::clone(&queue);
    let producers: Vec<_> = (0..4)
        .map(|_| {
            let queue = Arc::clone(&pushes);
            task(&context, move |task| {
                for number in 0..2_000_u32 {
                    let mut entry = task.block(|mpu| queue.begin_push(mpu)).expect("a stack");
                    if number.is_multiple_of(64) {
                        task.yield_now().expect("a stack");
                    }
                    entry.bytes.fill(number.to_le_bytes()[0]);
                    queue.end_push(entry);
                }
                0
            })
        })
        .collect();
    let consumers: Vec<_> = (0..3)
        .map(|_| {
            let queue = Arc::clone(&queue);
            task(&context, move |task| {
                let mut sum = 0;
                for number in 0..2_000 {
                    let entry = task.block(|mpu| queue.begin_pop(mpu)).expect("a stack");
                    assert!(entry.bytes.iter().all(|byte| *byte == entry.bytes[0]));
                    sum += i32::from(entry.bytes[0]);
                    if number % 64 == 0 {
                        task.yield_now().expect("a stack");
                    }
                    queue.end_pop(entry);
                }
                sum
            })
        })
        .collect();
    producers.iter().chain(&consumers).for_each(begin);
    // The host takes what the three consumers leave.
    let mut sum = 0;
    for _ in 0..2_000 {
        let entry = queue.on_host(None, EntryQueue::try_begin_pop).expect("without limit");
        sum += i32::from(entry.bytes[0]);
        queue.end_pop(entry);
    }
    sum += consumers.iter().map(|task| task.wait().code).sum::<i32>();
    assert_eq!(sum, 4 * (0..2_000).map(|number| number % 256).sum::<i32>());
    assert!(queue.is_empty() && producers.iter().all(|task| task.wait() == finished(0)));
}

#[test]
fn a_peek_leaves_the_entry_and_wakes_who_waits_after_it() {
    let context = context(2);
    let queue = Arc::new(EntryQueue::new(&context, 4, 2));
    let seen = Arc::clone(&queue);
    let peeks = task(&context, move |task| {
        let mut bytes = [0; 4];
        task.block(|mpu| seen.peek(mpu, &mut bytes)).expect("a stack");
        i32::from_le_bytes(bytes)
    });
    let popped = Arc::clone(&queue);
    let pops = task(&context, move |task| {
        let entry = task.block(|mpu| popped.begin_pop(mpu)).expect("a stack");
        let value = i32::from(entry.bytes[0]);
        popped.end_pop(entry);
        value
    });
    for value in 1..100_u8 {
        begin(&peeks);
        // Both orders of waiting come about.
        if value.is_multiple_of(2) {
            std::thread::sleep(Duration::from_micros(200));
        }
        let mut entry = queue.on_host(None, EntryQueue::try_begin_push).expect("without limit");
        entry.bytes.copy_from_slice(&i32::from(value).to_le_bytes());
        queue.end_push(entry);
        assert_eq!(peeks.wait(), finished(i32::from(value)));
        begin(&pops);
        assert_eq!(pops.wait(), finished(i32::from(value)));
    }
}

#[test]
fn tasks_that_wait_are_spread_over_the_mpus() {
    let context = context(2);
    let barrier = Arc::new(Barrier::new(&context, 40));
    let tasks: Vec<_> = (0..40)
        .map(|_| {
            let barrier = Arc::clone(&barrier);
            task(&context, move |task| {
                task.block(|mpu| barrier.notify(mpu)).expect("a stack");
                task.block(|mpu| barrier.wait(mpu)).expect("a stack");
                i32::try_from(task.mpu_index()).expect("small")
            })
        })
        .collect();
    let mut on_second = 0;
    for _ in 0..20 {
        tasks.iter().for_each(begin);
        on_second += tasks.iter().map(|task| task.wait().code).sum::<i32>();
    }
    // On busy CPUs a thread may wake too late for its share.
    assert!((1..40 * 20).contains(&on_second), "{on_second} of 800 on the second MPU");
}
