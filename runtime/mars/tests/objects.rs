//! The programs that MARS's users wrote: each object under more workloads than MPUs.

use std::collections::HashSet;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::{Relaxed, SeqCst};
use std::sync::{Arc, Mutex};
use std::thread::ThreadId;
use std::time::Duration;

use linerate_mars::{
    Barrier, Builder, Clearing, Context, Ending, EventFlag, Handle, Masking, Mpu, Next, Priority,
    Queue, Semaphore, Wait, Workload,
};

const LONG: Option<Duration> = Some(Duration::from_secs(60));

fn context() -> Context {
    Builder::new(3).start().expect("starts")
}

fn run_all<W: Workload>(handles: &mut [Handle<W>]) {
    for handle in handles.iter_mut() {
        handle.schedule(Priority::NORMAL);
    }
    for handle in handles {
        assert_eq!(handle.wait_for(Duration::from_secs(60)), Some(Ending::Finished));
    }
}

/// Arrives, works, waits: a hundred times.
struct Marcher {
    barrier: Arc<Barrier>,
    cycle: u64,
    has_arrived: bool,
    sum: u64,
    seen: Arc<[AtomicU64]>,
}

impl Workload for Marcher {
    type Module = ();

    fn run(&mut self, mpu: &mut Mpu<'_, ()>) -> Next {
        while self.cycle < CYCLES {
            if !self.has_arrived {
                if let Err(wait) = self.barrier.notify(mpu) {
                    return Next::Stalled(wait);
                }
                self.has_arrived = true;
                self.sum += self.cycle;
                self.seen[usize::try_from(self.cycle).expect("small")].fetch_add(1, SeqCst);
            }
            if let Err(wait) = self.barrier.wait(mpu) {
                return Next::Stalled(wait);
            }
            self.has_arrived = false;
            self.cycle += 1;
        }
        Next::Finished
    }
}

const CYCLES: u64 = 100;

#[test]
fn four_times_more_workloads_than_mpus_march_through_a_barrier() {
    let context = context();
    let barrier = Arc::new(Barrier::new(&context, 12));
    let seen: Arc<[AtomicU64]> = (0..CYCLES).map(|_| AtomicU64::new(0)).collect();
    let mut marchers: Vec<_> = (0..12)
        .map(|_| {
            let (barrier, seen) = (Arc::clone(&barrier), Arc::clone(&seen));
            context.add(Marcher { barrier, cycle: 0, has_arrived: false, sum: 0, seen })
        })
        .collect();
    run_all(&mut marchers);
    for mut marcher in marchers {
        assert_eq!(marcher.begin().sum, CYCLES * (CYCLES - 1) / 2);
    }
    assert!(seen.iter().all(|count| count.load(SeqCst) == 12));
}

/// Acquires, counts, releases.
struct Counter {
    semaphore: Arc<Semaphore>,
    inside: Arc<AtomicU64>,
    most: Arc<AtomicU64>,
    left: u32,
    holds: bool,
}

impl Workload for Counter {
    type Module = ();

    fn run(&mut self, mpu: &mut Mpu<'_, ()>) -> Next {
        if self.holds {
            self.inside.fetch_sub(1, SeqCst);
            self.semaphore.release();
            self.holds = false;
            self.left -= 1;
        }
        if self.left == 0 {
            return Next::Finished;
        }
        if let Err(wait) = self.semaphore.acquire(mpu) {
            return Next::Stalled(wait);
        }
        self.holds = true;
        let inside = self.inside.fetch_add(1, SeqCst) + 1;
        self.most.fetch_max(inside, SeqCst);
        Next::Yield
    }
}

#[test]
fn no_more_are_inside_than_the_semaphore_has_tokens() {
    for tokens in [1, 3] {
        let context = context();
        let semaphore = Arc::new(Semaphore::new(&context, tokens));
        let (inside, most) = (Arc::new(AtomicU64::new(0)), Arc::new(AtomicU64::new(0)));
        let mut counters: Vec<_> = (0..9)
            .map(|_| {
                context.add(Counter {
                    semaphore: Arc::clone(&semaphore),
                    inside: Arc::clone(&inside),
                    most: Arc::clone(&most),
                    left: 2_000,
                    holds: false,
                })
            })
            .collect();
        run_all(&mut counters);
        assert_eq!((semaphore.tokens(), inside.load(SeqCst)), (tokens, 0));
        assert_eq!(most.load(SeqCst), u64::from(tokens), "all tokens are used");
    }
}

/// Waits for its own bit and sets the next one's.
struct Runner {
    flag: Arc<EventFlag>,
    own: u32,
    next: u32,
    hops: u32,
}

impl Workload for Runner {
    type Module = ();

    fn run(&mut self, mpu: &mut Mpu<'_, ()>) -> Next {
        while self.hops > 0 {
            match self.flag.wait(mpu, self.own, Masking::All) {
                Err(wait) => return Next::Stalled(wait),
                Ok(bits) => assert_ne!(bits & self.own, 0),
            }
            self.hops -= 1;
            self.flag.set(self.next);
        }
        Next::Finished
    }
}

#[test]
fn a_token_runs_round_rings_of_event_flags() {
    for members in [2, 3, 8] {
        let context = context();
        let flag = Arc::new(EventFlag::new(&context, Clearing::Automatic));
        let mut runners: Vec<_> = (0..members)
            .map(|place| {
                let (flag, next) = (Arc::clone(&flag), 1 << ((place + 1) % members));
                context.add(Runner { flag, own: 1 << place, next, hops: HOPS / members })
            })
            .collect();
        flag.set(1);
        run_all(&mut runners);
        assert_eq!(flag.bits(), 1, "the token is back at the first");
    }
}

/// A [`Runner`] that notes its thread at each hop.
struct Noting {
    runner: Runner,
    turns: Arc<AtomicU64>,
    threads: Arc<Mutex<HashSet<ThreadId>>>,
}

impl Workload for Noting {
    type Module = ();

    fn run(&mut self, mpu: &mut Mpu<'_, ()>) -> Next {
        let before = self.runner.hops;
        let next = self.runner.run(mpu);
        if self.runner.hops < before {
            self.threads.lock().expect("not poisoned").insert(std::thread::current().id());
        }
        self.turns.fetch_add(1, SeqCst);
        next
    }
}

#[test]
fn what_a_workload_wakes_goes_on_where_that_one_ran() {
    let context = context();
    let flag = Arc::new(EventFlag::new(&context, Clearing::Automatic));
    let (turns, threads) = (Arc::new(AtomicU64::new(0)), Arc::default());
    let mut members: Vec<_> = (0..4)
        .map(|place| {
            let next = 1 << ((place + 1) % 4);
            let runner = Runner { flag: Arc::clone(&flag), own: 1 << place, next, hops: 100 };
            let (turns, threads) = (Arc::clone(&turns), Arc::clone(&threads));
            context.add(Noting { runner, turns, threads })
        })
        .collect();
    for member in &mut members {
        member.schedule(Priority::NORMAL);
    }
    while turns.load(SeqCst) < 4 {
        std::thread::sleep(Duration::from_millis(1));
    }
    // So that the last one has stalled.
    std::thread::sleep(Duration::from_millis(20));
    flag.set(1);
    for member in &members {
        assert_eq!(member.wait_for(Duration::from_secs(60)), Some(Ending::Finished));
    }
    assert_eq!(threads.lock().expect("not poisoned").len(), 1, "and two MPUs slept");
}

/// Enough for the races between a taker that is fast and a setter that is slow.
const HOPS: u32 = 120_000;

/// Passes what it pops on, changed.
struct Stage {
    from: Arc<Queue<u64>>,
    to: Arc<Queue<u64>>,
    left: u32,
    held: Option<u64>,
}

impl Workload for Stage {
    type Module = ();

    fn run(&mut self, mpu: &mut Mpu<'_, ()>) -> Next {
        while self.left > 0 {
            let entry = match self.held.take() {
                Some(entry) => entry,
                None => match self.from.pop(mpu) {
                    Ok(entry) => entry + 1,
                    Err(wait) => return Next::Stalled(wait),
                },
            };
            if let Err((entry, wait)) = self.to.push(mpu, entry) {
                self.held = Some(entry);
                return Next::Stalled(wait);
            }
            self.left -= 1;
        }
        Next::Finished
    }
}

#[test]
fn entries_go_through_a_pipeline_in_order() {
    for depth in [1, 2, 64] {
        let context = context();
        let queue = || Arc::new(Queue::new(&context, depth));
        let (first, second, third) = (queue(), queue(), queue());
        let stage = |from: &Arc<Queue<u64>>, to: &Arc<Queue<u64>>| {
            let (from, to) = (Arc::clone(from), Arc::clone(to));
            context.add(Stage { from, to, left: 3_000, held: None })
        };
        let mut stages = [stage(&first, &second), stage(&second, &third)];
        for stage in &mut stages {
            stage.schedule(Priority::NORMAL);
        }
        std::thread::scope(|scope| {
            scope.spawn(|| {
                (0..3_000).for_each(|entry| first.push_on_host(entry, LONG).expect("room"));
            });
            for entry in 0..3_000 {
                assert_eq!(third.pop_on_host(LONG), Some(entry + 2));
            }
        });
        assert!(stages.iter().all(|stage| stage.wait() == Ending::Finished));
    }
}

/// Counts its signals.
struct Listener {
    heard: Arc<AtomicU64>,
    last: u64,
}

impl Workload for Listener {
    type Module = ();

    fn run(&mut self, mpu: &mut Mpu<'_, ()>) -> Next {
        loop {
            match mpu.wait_for_signal() {
                Err(wait) => return Next::Stalled(wait),
                Ok(()) if self.heard.fetch_add(1, SeqCst) + 1 == self.last => {
                    return Next::Finished;
                }
                Ok(()) => {}
            }
        }
    }
}

#[test]
fn every_signal_that_is_waited_for_arrives() {
    let context = context();
    let heard = Arc::new(AtomicU64::new(0));
    let mut listener = context.add(Listener { heard: Arc::clone(&heard), last: 2_000 });
    listener.schedule(Priority::NORMAL);
    for sent in 1..=2_000 {
        listener.signal();
        while heard.load(SeqCst) < sent {
            std::hint::spin_loop();
        }
    }
    assert_eq!(listener.wait(), Ending::Finished);
}

/// Waits for one object, and is disturbed by everything else.
struct Patient {
    flag: Arc<EventFlag>,
    woken: Arc<AtomicU64>,
}

impl Workload for Patient {
    type Module = ();

    fn run(&mut self, mpu: &mut Mpu<'_, ()>) -> Next {
        self.woken.fetch_add(1, Relaxed);
        match self.flag.wait(mpu, 1, Masking::All) {
            Err(wait) => Next::Stalled(wait),
            Ok(_) => Next::Finished,
        }
    }
}

#[test]
fn a_stray_signal_does_not_end_the_wait_for_an_object() {
    let context = context();
    let flag = Arc::new(EventFlag::new(&context, Clearing::Manual));
    let woken = Arc::new(AtomicU64::new(0));
    let (known, counted) = (Arc::clone(&flag), Arc::clone(&woken));
    let mut patient = context.add(Patient { flag: known, woken: counted });
    patient.schedule(Priority::NORMAL);
    while woken.load(Relaxed) == 0 {
        std::thread::yield_now();
    }
    for _ in 0..100 {
        patient.signal();
        std::thread::sleep(Duration::from_micros(50));
    }
    assert_eq!(woken.load(Relaxed), 1);
    flag.set(1);
    assert_eq!(patient.wait(), Ending::Finished);
}

/// Waits for an object, but not for ever.
struct Impatient {
    flag: Arc<EventFlag>,
    timeouts: u32,
    deadline: Option<linerate_mars::Time>,
}

impl Workload for Impatient {
    type Module = ();

    fn run(&mut self, mpu: &mut Mpu<'_, ()>) -> Next {
        let now = mpu.now();
        if self.deadline.is_some_and(|deadline| now >= deadline) {
            self.timeouts += 1;
        }
        if self.timeouts == 50 {
            return Next::Finished;
        }
        let deadline = now.after(Duration::from_micros(200));
        self.deadline = Some(deadline);
        match self.flag.wait(mpu, 1, Masking::All) {
            Ok(_) => Next::Finished,
            Err(wait) => Next::Stalled(Wait::or_until(wait, deadline)),
        }
    }
}

#[test]
fn a_deadline_ends_the_wait_for_an_object() {
    let context = context();
    let flag = Arc::new(EventFlag::new(&context, Clearing::Manual));
    let mut impatient: Vec<_> = (0..20)
        .map(|_| {
            let flag = Arc::clone(&flag);
            context.add(Impatient { flag, timeouts: 0, deadline: None })
        })
        .collect();
    run_all(&mut impatient);
    assert!(impatient.iter_mut().all(|one| one.begin().timeouts == 50));
}

/// Waits for the end of another.
struct Follower {
    leader: Handle<Impatient>,
    ending: Option<Ending>,
}

impl Workload for Follower {
    type Module = ();

    fn run(&mut self, mpu: &mut Mpu<'_, ()>) -> Next {
        match self.leader.wait_on(mpu) {
            Err(wait) => Next::Stalled(wait),
            Ok(ending) => {
                self.ending = Some(ending);
                Next::Finished
            }
        }
    }
}

#[test]
fn a_workload_waits_for_the_end_of_another() {
    let context = context();
    let flag = Arc::new(EventFlag::new(&context, Clearing::Manual));
    let known = Arc::clone(&flag);
    let mut leader = context.add(Impatient { flag: known, timeouts: 0, deadline: None });
    leader.schedule(Priority::NORMAL);
    let mut follower = context.add(Follower { leader, ending: None });
    follower.schedule(Priority::HIGHEST);
    assert_eq!(follower.wait(), Ending::Finished);
    assert_eq!(follower.begin().ending, Some(Ending::Finished));
}
