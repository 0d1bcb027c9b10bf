//! Programs drawn at random: tasks of several priorities that use all objects. Each program runs to
//! its end, and what it counts is exact.
//!
//! `MARS_GENERATED_SECONDS=600` runs them for so long; a failure names the seed of its program, and
//! `MARS_GENERATED_SEED` runs that one.

use std::sync::Arc;
use std::sync::atomic::Ordering::SeqCst;
use std::sync::atomic::{AtomicU32, AtomicU64};
use std::time::Duration;

use fastrand::Rng;
use linerate_mars::{
    Args, Barrier, Builder, Clearing, Context, Ending, EntryQueue, EventFlag, Masking, Priority,
    Program, Queue, Semaphore, Task, TaskHandle, TaskStacks, Time,
};

#[test]
fn every_program_ends_and_counts_exactly() {
    let number = |name| std::env::var(name).ok().and_then(|text| text.parse().ok());
    if let Some(seed) = number("MARS_GENERATED_SEED") {
        return run(seed);
    }
    let end = Time::now().after(Duration::from_secs(number("MARS_GENERATED_SECONDS").unwrap_or(1)));
    let mut seed = u64::from(std::process::id()) << 32;
    while Time::now() < end {
        run(seed);
        seed += 1;
    }
}

/// Steps of one task between two meetings at the barrier.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Step {
    Yield,
    /// Counts within the semaphore, and lets others run meanwhile.
    Count,
    /// Spawns a task that counts, and does not wait for it.
    Spawn,
    CallHost,
    Sleep,
    /// To the queue of the phase.
    Push,
    Pop,
}

/// State that all tasks of a program share.
struct World {
    tokens: u32,
    semaphore: Semaphore,
    inside: AtomicU32,
    counted: AtomicU32,
    numbers: Queue<u32>,
    entries: EntryQueue,
    pushed: AtomicU64,
    popped: AtomicU64,
    barrier: Barrier,
    ring: EventFlag,
    /// Phases that tasks have begun, all together.
    begun: AtomicU32,
    parties: u32,
    spawned: Semaphore,
    never: EventFlag,
    drops: AtomicU32,
}

/// Counts its drop.
struct Counted<'a>(&'a World);

impl Drop for Counted<'_> {
    fn drop(&mut self) {
        self.0.drops.fetch_add(1, SeqCst);
    }
}

/// Draws a program and runs it.
fn run(seed: u64) {
    let mut rng = Rng::with_seed(seed);
    let context = Builder::new(rng.usize(1..4)).tasks(TaskStacks::new(32 << 10));
    let context = context.start().expect("threads");
    let scripts = draw(&mut rng);
    let world = Arc::new(World::new(&context, &mut rng, scripts.len()));
    let count = |wanted| scripts.iter().flatten().flatten().filter(|step| **step == wanted).count();
    let (counts, spawns) = (count(Step::Count), count(Step::Spawn));
    let parties: Vec<_> = scripts
        .into_iter()
        .enumerate()
        .map(|(place, phases)| {
            let world = Arc::clone(&world);
            let program = Program::new(move |task| party(task, &world, place, &phases));
            TaskHandle::new(&context, "party", program)
        })
        .collect();
    let victims: Vec<_> = (0..rng.usize(..4))
        .map(|_| {
            let world = Arc::clone(&world);
            let program = Program::new(move |task| {
                let _counted = Counted(&world);
                _ = task.block(|mpu| world.never.wait(mpu, 1, Masking::All));
                0
            });
            TaskHandle::new(&context, "victim", program)
        })
        .collect();
    for task in victims.iter().chain(&parties) {
        assert!(task.schedule(Args::default(), Priority(rng.u8(..))));
    }
    for (victim, code) in victims.iter().zip(1..) {
        assert!(victim.unschedule(code), "seed {seed}");
        assert_eq!((victim.wait().ending, victim.wait().code), (Ending::Unscheduled, code));
    }
    for party in &parties {
        assert_eq!((party.wait().ending, party.wait().code), (Ending::Finished, 0), "seed {seed}");
    }
    for _ in 0..spawns {
        assert!(world.spawned.acquire_on_host(None));
    }
    assert_eq!(world.counted.load(SeqCst) as usize, counts, "seed {seed}");
    assert_eq!(world.pushed.load(SeqCst), world.popped.load(SeqCst), "seed {seed}");
    assert!(world.numbers.is_empty() && world.entries.is_empty(), "seed {seed}");
    context.close().expect("no MPU failed");
    // A victim may have been unscheduled before it began.
    let drops = world.drops.load(SeqCst) as usize;
    let most = parties.len() + victims.len();
    assert!((parties.len()..=most).contains(&drops), "seed {seed}: {drops} of {most}");
}

/// The steps of each task in each phase.
fn draw(rng: &mut Rng) -> Vec<Vec<Vec<Step>>> {
    let (tasks, phases) = (rng.usize(2..24), rng.usize(1..4));
    let mut scripts = vec![Vec::new(); tasks];
    for _ in 0..phases {
        let phase = draw_phase(rng, tasks);
        scripts.iter_mut().zip(phase).for_each(|(script, steps)| script.push(steps));
    }
    scripts
}

/// The steps of each task in one phase. There is a pop for each push, and a task has one or the
/// other: so none waits for what it holds up itself.
fn draw_phase(rng: &mut Rng, tasks: usize) -> Vec<Vec<Step>> {
    let mut phase = vec![Vec::new(); tasks];
    for _ in 0..rng.usize(..100) {
        let (one, other) = (rng.usize(..tasks), rng.usize(..tasks));
        match rng.u8(..32) {
            0..6 => phase[one].push(Step::Yield),
            6..14 => phase[one].push(Step::Count),
            14..17 => phase[one].push(Step::Spawn),
            17 => phase[one].push(Step::CallHost),
            18 => phase[one].push(Step::Sleep),
            _ if one.is_multiple_of(2) && !other.is_multiple_of(2) => {
                phase[one].push(Step::Push);
                phase[other].push(Step::Pop);
            }
            _ => {}
        }
    }
    phase
}

impl World {
    fn new(context: &Context, rng: &mut Rng, parties: usize) -> Self {
        let (tokens, depth) = (rng.u32(1..4), rng.usize(1..5));
        let parties = u32::try_from(parties).expect("few");
        Self {
            tokens,
            semaphore: Semaphore::new(context, tokens),
            inside: AtomicU32::new(0),
            counted: AtomicU32::new(0),
            numbers: Queue::new(context, depth),
            entries: EntryQueue::new(context, 8, depth),
            pushed: AtomicU64::new(0),
            popped: AtomicU64::new(0),
            barrier: Barrier::new(context, parties),
            ring: EventFlag::new(context, Clearing::Automatic),
            begun: AtomicU32::new(0),
            parties,
            spawned: Semaphore::new(context, 0),
            never: EventFlag::new(context, Clearing::Manual),
            drops: AtomicU32::new(0),
        }
    }
}

/// The function of a task.
fn party(task: &mut Task<'_>, world: &Arc<World>, place: usize, phases: &[Vec<Step>]) -> i32 {
    let _counted = Counted(world);
    for (phase, steps) in (0..).zip(phases) {
        world.begun.fetch_add(1, SeqCst);
        for step in steps {
            take(task, world, *step, phase % 2 == 0);
        }
        // Each wakes the next one of the ring, which waits for that.
        world.ring.set(1 << ((place + 1) % world.parties as usize));
        block(task, |mpu| world.ring.wait(mpu, 1 << place, Masking::All));
        block(task, |mpu| world.barrier.notify(mpu));
        block(task, |mpu| world.barrier.wait(mpu));
        // All have begun this phase, and perhaps the next one.
        assert!(world.begun.load(SeqCst) >= world.parties * (phase + 1));
    }
    0
}

/// Waits; a task here always can.
fn block<T>(
    task: &mut Task<'_>,
    attempt: impl FnMut(&mut linerate_mars::Mpu<'_, ()>) -> Result<T, linerate_mars::Wait>,
) -> T {
    task.block(attempt).expect("a task with a stack that was not unscheduled")
}

fn take(task: &mut Task<'_>, world: &Arc<World>, step: Step, by_numbers: bool) {
    match step {
        Step::Yield => task.yield_now().expect("a stack"),
        Step::Count => {
            block(task, |mpu| world.semaphore.acquire(mpu));
            assert!(world.inside.fetch_add(1, SeqCst) < world.tokens);
            task.yield_now().expect("a stack");
            world.counted.fetch_add(1, SeqCst);
            world.inside.fetch_sub(1, SeqCst);
            world.semaphore.release();
        }
        Step::Spawn => {
            let world = Arc::clone(world);
            task.spawn(Priority::NORMAL, move |task| {
                task.yield_now().expect("a stack");
                world.spawned.release();
            });
        }
        Step::CallHost => assert_eq!(task.call_host(|| 7), Ok(7)),
        Step::Sleep => {
            let until = task.clock().after(Duration::from_micros(50));
            task.sleep_until(until).expect("a stack");
        }
        Step::Push => {
            let number = world.pushed.fetch_add(1, SeqCst);
            if by_numbers {
                return task.push(&world.numbers, 1).expect("a stack");
            }
            let mut entry = block(task, |mpu| world.entries.begin_push(mpu));
            if number.is_multiple_of(3) {
                task.yield_now().expect("a stack");
            }
            entry.bytes.copy_from_slice(&number.to_le_bytes());
            world.entries.end_push(entry);
        }
        Step::Pop => {
            if by_numbers {
                world.popped.fetch_add(block(task, |mpu| world.numbers.pop(mpu)).into(), SeqCst);
                return;
            }
            let entry = block(task, |mpu| world.entries.begin_pop(mpu));
            world.popped.fetch_add(1, SeqCst);
            world.entries.end_pop(entry);
        }
    }
}
