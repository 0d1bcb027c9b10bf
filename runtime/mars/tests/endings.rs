//! How workloads end: by themselves, unscheduled, by a panic, and with their context.

use std::os::unix::net::UnixStream;
use std::sync::atomic::Ordering::SeqCst;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use linerate_mars::{
    Clearing, Ending, EventFlag, Masking, Mpu, Next, Placement, Priority, Semaphore, Wait,
};
use linux::epoll::Interest;

mod support;

use support::{calls, context, ended, eventually};

/// Says when it is gone.
struct Guest(Arc<AtomicUsize>);

impl Guest {
    fn new(guests: &Arc<AtomicUsize>) -> Self {
        guests.fetch_add(1, SeqCst);
        Self(Arc::clone(guests))
    }
}

impl Drop for Guest {
    fn drop(&mut self) {
        self.0.fetch_sub(1, SeqCst);
    }
}

/// Every way to go on for ever.
#[derive(Clone, Copy, Debug)]
enum Life {
    Yields,
    Sleeps,
    SleepsExactly,
    AwaitsObject,
    AwaitsObjectWithDeadline,
    AwaitsReadiness,
    AwaitsSignal,
}

const LIVES: [Life; 7] = [
    Life::Yields,
    Life::Sleeps,
    Life::SleepsExactly,
    Life::AwaitsObject,
    Life::AwaitsObjectWithDeadline,
    Life::AwaitsReadiness,
    Life::AwaitsSignal,
];

impl Life {
    fn go_on(self, mpu: &mut Mpu<'_, ()>, flag: &EventFlag, socket: &UnixStream) -> Next {
        let later = mpu.now().after(Duration::from_secs(1_000));
        let object = |mpu: &mut Mpu<'_, ()>| flag.wait(mpu, 1, Masking::All).expect_err("not set");
        Next::Stalled(match self {
            Self::Yields => return Next::Yield,
            Self::Sleeps => Wait::until(later),
            Self::SleepsExactly => Wait::exactly_until(later),
            Self::AwaitsObject => object(mpu),
            Self::AwaitsObjectWithDeadline => object(mpu).or_until(later),
            Self::AwaitsReadiness => {
                mpu.watch(socket, Interest::Readable).expect("watches");
                Wait::for_readiness()
            }
            Self::AwaitsSignal => mpu.wait_for_signal().expect_err("no signal"),
        })
    }
}

#[test]
fn whatever_it_does_it_can_be_unscheduled_and_scheduled_again() {
    for placement in [Placement::Anywhere, Placement::Mpu(1)] {
        for life in LIVES {
            let context = context(2);
            let flag = Arc::new(EventFlag::new(&context, Clearing::Manual));
            let runs = Arc::new(AtomicU64::new(0));
            let (known, counted) = (Arc::clone(&flag), Arc::clone(&runs));
            let (socket, _other) = UnixStream::pair().expect("pair");
            let mut handle = context.add(calls(move |mpu| {
                counted.fetch_add(1, SeqCst);
                life.go_on(mpu, &known, &socket)
            }));
            for round in 0..20_u64 {
                let before = runs.load(SeqCst);
                handle.schedule_at(Priority::NORMAL, placement);
                if round % 2 == 0 {
                    eventually("it runs", || runs.load(SeqCst) > before);
                }
                handle.unschedule();
                handle.unschedule();
                assert_eq!(ended(&handle), Ending::Unscheduled, "{life:?}");
                let then = runs.load(SeqCst);
                flag.set(2);
                handle.signal();
                assert_eq!(runs.load(SeqCst), then, "{life:?} ran again");
            }
        }
    }
}

#[test]
fn one_that_was_unscheduled_in_the_queue_does_not_keep_the_others() {
    let context = context(1);
    let (stop, turns) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicU64::new(0)));
    let (known, counted) = (Arc::clone(&stop), Arc::clone(&turns));
    let yields = calls(move |_| {
        counted.fetch_add(1, SeqCst);
        if known.load(SeqCst) { Next::Finished } else { Next::Yield }
    });
    context.spawn(yields, Priority::NORMAL, Placement::Mpu(0));
    let mut handle = context.add(calls(|_| Next::Yield));
    for _ in 0..2_000 {
        handle.schedule(Priority::HIGHEST);
        handle.unschedule();
        ended(&handle);
        let before = turns.load(SeqCst);
        eventually("the other one goes on", || turns.load(SeqCst) > before);
    }
    stop.store(true, SeqCst);
}

#[test]
fn a_token_is_not_given_to_one_that_was_unscheduled() {
    let context = context(1);
    let open = Arc::new(AtomicBool::new(false));
    let semaphore = Arc::new(Semaphore::new(&context, 0));
    let waits = |semaphore: &Arc<Semaphore>| {
        let semaphore = Arc::clone(semaphore);
        context.add(calls(move |mpu| match semaphore.acquire(mpu) {
            Ok(()) => Next::Finished,
            Err(wait) => Next::Stalled(wait.or_until(mpu.now().after(Duration::from_secs(1_000)))),
        }))
    };
    let (mut first, mut second) = (waits(&semaphore), waits(&semaphore));
    first.schedule(Priority::NORMAL);
    second.schedule(Priority::NORMAL);
    std::thread::sleep(Duration::from_millis(10));
    // The MPU is busy, so that the first one cannot leave yet.
    let known = Arc::clone(&open);
    let blocks = calls(move |_| {
        while !known.load(SeqCst) {
            std::hint::spin_loop();
        }
        Next::Finished
    });
    context.spawn(blocks, Priority::HIGHEST, Placement::Anywhere);
    std::thread::sleep(Duration::from_millis(10));
    first.unschedule();
    semaphore.release();
    open.store(true, SeqCst);
    assert_eq!((ended(&first), ended(&second)), (Ending::Unscheduled, Ending::Finished));
}

#[test]
fn dropped_handles_let_workloads_finish_and_go() {
    let guests = Arc::new(AtomicUsize::new(0));
    let context = context(2);
    for turns in 0..1_000_u32 {
        let guest = Guest::new(&guests);
        let mut left = turns % 5;
        let workload = calls(move |mpu| {
            let _guest = &guest;
            if left == 0 {
                return Next::Finished;
            }
            left -= 1;
            if left % 2 == 0 {
                return Next::Yield;
            }
            Next::Stalled(Wait::until(mpu.now().after(Duration::from_micros(50))))
        });
        match turns % 3 {
            0 => context.spawn(workload, Priority::NORMAL, Placement::Anywhere),
            1 => context.spawn(workload, Priority::NORMAL, Placement::Mpu(0)),
            // Never scheduled.
            _ => drop(context.add(workload)),
        }
    }
    eventually("all are gone", || guests.load(SeqCst) == 0);
}

#[test]
fn a_context_that_goes_takes_everything_with_it() {
    for round in 0..20 {
        let guests = Arc::new(AtomicUsize::new(0));
        let context = context(2);
        let flag = Arc::new(EventFlag::new(&context, Clearing::Manual));
        let mut handles = Vec::new();
        for number in 0..70_usize {
            let (guest, flag) = (Guest::new(&guests), Arc::clone(&flag));
            let (socket, other) = UnixStream::pair().expect("pair");
            let life = LIVES[number % LIVES.len()];
            let workload = calls(move |mpu| {
                let _guests = (&guest, &other);
                life.go_on(mpu, &flag, &socket)
            });
            if number % 2 == 0 {
                context.spawn(workload, Priority::NORMAL, Placement::Anywhere);
            } else {
                let mut handle = context.add(workload);
                handle.schedule(Priority::NORMAL);
                handles.push(handle);
            }
        }
        std::thread::sleep(Duration::from_micros(100 * round));
        context.close().expect("closes");
        for handle in &mut handles {
            assert_eq!(ended(handle), Ending::Unscheduled);
        }
        flag.set(1);
        drop(handles);
        assert_eq!(guests.load(SeqCst), 0);
    }
}

#[test]
fn what_is_scheduled_after_its_context_has_gone_ends_at_once() {
    let guests = Arc::new(AtomicUsize::new(0));
    let context = context(1);
    let workloads = (*context).clone();
    let guest = Guest::new(&guests);
    let mut handle = context.add(calls(move |_| {
        let _guest = &guest;
        Next::Finished
    }));
    drop(context);
    handle.schedule(Priority::NORMAL);
    assert_eq!(ended(&handle), Ending::Unscheduled);
    let guest = Guest::new(&guests);
    let late = calls(move |_| {
        let _guest = &guest;
        Next::Finished
    });
    workloads.spawn(late, Priority::NORMAL, Placement::Anywhere);
    drop(handle);
    assert_eq!(guests.load(SeqCst), 0);
}

#[test]
fn a_panic_ends_one_workload_and_no_other() {
    let context = context(1);
    let mut others = Vec::new();
    for _ in 0..10 {
        let mut left = 1_000;
        let mut other = context.add(calls(move |_| {
            left -= 1;
            if left == 0 { Next::Finished } else { Next::Yield }
        }));
        other.schedule(Priority::NORMAL);
        others.push(other);
    }
    let mut is_first = true;
    let mut handle = context.add(calls(move |_| {
        assert!(!std::mem::take(&mut is_first), "on purpose");
        Next::Finished
    }));
    handle.schedule(Priority::NORMAL);
    assert_eq!(ended(&handle), Ending::Panicked);
    handle.schedule(Priority::NORMAL);
    assert_eq!(ended(&handle), Ending::Finished);
    assert!(others.iter().all(|other| ended(other) == Ending::Finished));
}

/// Panics when it goes.
struct Bomb;

impl Drop for Bomb {
    fn drop(&mut self) {
        assert!(std::thread::panicking(), "on purpose");
    }
}

#[test]
fn a_workload_that_panics_when_it_goes_stops_no_mpu() {
    let context = context(1);
    let bomb = Bomb;
    let workload = calls(move |_| {
        let _bomb = &bomb;
        Next::Finished
    });
    context.spawn(workload, Priority::NORMAL, Placement::Anywhere);
    let mut handle = context.add(calls(|_| Next::Finished));
    handle.schedule(Priority::LOWEST);
    assert_eq!(ended(&handle), Ending::Finished);
    context.close().expect("no MPU panicked");
}

/// Begins a wait that another thread ends, and does something else then.
fn distracted(
    what: usize,
    flag: &Arc<EventFlag>,
    meet: &Arc<AtomicU64>,
) -> impl linerate_mars::Workload {
    let (flag, meet) = (Arc::clone(flag), Arc::clone(meet));
    calls(move |mpu| {
        if flag.wait(mpu, 1, Masking::All).is_ok() {
            return Next::Finished;
        }
        // The other thread sets the flag now, which ends the wait.
        _ = meet.compare_exchange(0, 1, SeqCst, SeqCst);
        while meet.load(SeqCst) == 1 {
            std::hint::spin_loop();
        }
        match what {
            0 => Next::Finished,
            1 => panic!("on purpose"),
            2 => Next::Yield,
            _ => Next::Stalled(Wait::until(mpu.clock().after(Duration::from_micros(10)))),
        }
    })
}

#[test]
fn a_wait_that_ends_while_its_workload_runs_on_disturbs_nobody() {
    let context = context(2);
    for round in 0..400_usize {
        let flag = Arc::new(EventFlag::new(&context, Clearing::Manual));
        let meet = Arc::new(AtomicU64::new(0));
        let mut handle = context.add(distracted(round % 4, &flag, &meet));
        handle.schedule_at(Priority::NORMAL, Placement::Mpu(0));
        eventually("it waits", || meet.load(SeqCst) == 1);
        flag.set(1);
        meet.store(2, SeqCst);
        let ending = ended(&handle);
        let expected = if round % 4 == 1 { Ending::Panicked } else { Ending::Finished };
        assert_eq!(ending, expected);
        // At once again: the message must not be on its way any more.
        flag.clear(1);
        meet.store(0, SeqCst);
        handle.schedule_at(Priority::NORMAL, Placement::Mpu(0));
        eventually("it waits again", || meet.load(SeqCst) == 1);
        meet.store(2, SeqCst);
        if round % 4 >= 2 {
            handle.unschedule();
        }
        ended(&handle);
    }
}

#[test]
fn waits_for_two_objects_at_once_are_ended_once() {
    let context = context(2);
    let flags = [(); 2].map(|()| Arc::new(EventFlag::new(&context, Clearing::Automatic)));
    let heard = Arc::new(AtomicU64::new(0));
    let (known, counted) = (flags.clone(), Arc::clone(&heard));
    let mut handle = context.add(calls(move |mpu| {
        loop {
            // The second wait takes the place of the first.
            let first = known[0].wait(mpu, 1, Masking::All);
            let second = known[1].wait(mpu, 1, Masking::All);
            counted.fetch_add(u64::from(first.is_ok()) + u64::from(second.is_ok()), SeqCst);
            if counted.load(SeqCst) >= 2_000 {
                return Next::Finished;
            }
            if let (Err(_), Err(wait)) = (first, second) {
                let soon = mpu.clock().after(Duration::from_micros(100));
                return Next::Stalled(wait.or_until(soon));
            }
        }
    }));
    handle.schedule(Priority::NORMAL);
    std::thread::scope(|scope| {
        for flag in &flags {
            scope.spawn(|| {
                while handle.try_wait().is_none() {
                    flag.set(1);
                    std::hint::spin_loop();
                }
            });
        }
        assert_eq!(ended(&handle), Ending::Finished);
    });
}

#[test]
fn a_wait_of_another_workload_is_no_wait() {
    let context = context(1);
    let flag = Arc::new(EventFlag::new(&context, Clearing::Manual));
    let stolen = Arc::new(Mutex::new(None));
    let (known, given) = (Arc::clone(&flag), Arc::clone(&stolen));
    let mut owner = context.add(calls(move |mpu| {
        *given.lock().expect("lock") = known.wait(mpu, 1, Masking::All).err();
        Next::Finished
    }));
    owner.schedule(Priority::NORMAL);
    assert_eq!(ended(&owner), Ending::Finished);
    let mut thief = context.add(calls(move |_| {
        let stolen = stolen.lock().expect("lock").take();
        stolen.map_or(Next::Finished, Next::Stalled)
    }));
    thief.schedule(Priority::NORMAL);
    assert_eq!(ended(&thief), Ending::Finished);
}
