//! Random workloads on all objects at once: no wake-up is lost and no wait is endless.

#![expect(clippy::disallowed_methods, reason = "a test waits by the clock")]

use std::sync::Arc;
use std::sync::atomic::Ordering::SeqCst;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64};
use std::time::{Duration, Instant};

use linerate_mars::{
    Clearing, Ending, EventFlag, Handle, Masking, Mpu, Next, Placement, Priority, Queue, Semaphore,
    Wait, Workload,
};

mod support;

use support::{calls, context, ended, eventually};

/// The same numbers in each run.
struct Chance(fastrand::Rng);

impl Chance {
    const fn from_seed(seed: u64) -> Self {
        Self(fastrand::Rng::with_seed(seed))
    }

    fn below(&mut self, limit: u64) -> u64 {
        self.0.u64(..limit)
    }

    fn index(&mut self, limit: u64) -> usize {
        usize::try_from(self.below(limit)).expect("small")
    }

    fn placement(&mut self) -> Placement {
        if self.below(4) == 0 { Placement::Mpu(0) } else { Placement::Anywhere }
    }

    fn priority(&mut self) -> Priority {
        Priority([0, 128, 255][self.index(3)])
    }
}

/// What all share.
struct World {
    stop: AtomicBool,
    semaphore: Semaphore,
    queue: Queue<u64>,
    flag: EventFlag,
    /// Pushed less popped.
    entries: AtomicI64,
    /// Spawned less finished.
    children: AtomicI64,
    turns: AtomicU64,
}

/// Does anything.
struct Actor {
    world: Arc<World>,
    chance: Chance,
    holds: bool,
}

impl Actor {
    fn act(&mut self, mpu: &mut Mpu<'_, ()>) -> Result<(), Wait> {
        let world = &self.world;
        match self.chance.below(6) {
            0 => {
                world.semaphore.acquire(mpu)?;
                self.holds = true;
            }
            1 => match world.queue.push(mpu, 1) {
                Ok(()) => _ = world.entries.fetch_add(1, SeqCst),
                Err((_, wait)) => return Err(wait),
            },
            2 => {
                world.queue.pop(mpu)?;
                world.entries.fetch_sub(1, SeqCst);
            }
            3 => _ = world.flag.wait(mpu, 1 << self.chance.below(4), Masking::Any)?,
            4 => mpu.wait_for_signal()?,
            _ => {
                world.children.fetch_add(1, SeqCst);
                let (world, mut left) = (Arc::clone(world), self.chance.below(3));
                let child = calls(move |_| {
                    if left > 0 {
                        left -= 1;
                        return Next::Yield;
                    }
                    world.children.fetch_sub(1, SeqCst);
                    Next::Finished
                });
                let (priority, placement) = (self.chance.priority(), self.chance.placement());
                mpu.workloads().spawn(child, priority, placement);
            }
        }
        Ok(())
    }
}

impl Workload for Actor {
    type Module = ();

    fn run(&mut self, mpu: &mut Mpu<'_, ()>) -> Next {
        self.world.turns.fetch_add(1, SeqCst);
        if std::mem::take(&mut self.holds) {
            self.world.semaphore.release();
        }
        if self.world.stop.load(SeqCst) {
            return Next::Finished;
        }
        self.world.flag.set(1 << self.chance.below(4));
        match self.act(mpu) {
            Ok(()) => Next::Yield,
            // A wait that is begun and left, one with a deadline, and one without, which
            // somebody ends sooner or later.
            Err(wait) => match self.chance.below(8) {
                0 => Next::Yield,
                1 => Next::Stalled(Wait::until(mpu.now().after(Duration::from_micros(3)))),
                _ => {
                    let span = Duration::from_nanos(self.chance.below(30_000));
                    Next::Stalled(wait.or_until(mpu.clock().after(span)))
                }
            },
        }
    }
}

/// Yields, sleeps or stalls until it is unscheduled.
fn victim(world: &Arc<World>, seed: u64) -> impl Workload {
    let (world, mut chance) = (Arc::clone(world), Chance::from_seed(seed));
    calls(move |mpu| match chance.below(3) {
        0 => Next::Yield,
        1 => Next::Stalled(Wait::until(mpu.now().after(Duration::from_micros(chance.below(100))))),
        _ => match world.flag.wait(mpu, 1 << 30, Masking::Any) {
            Ok(_) => Next::Yield,
            Err(wait) => Next::Stalled(wait),
        },
    })
}

fn siege<V: Workload>(victims: &mut [Handle<V>], actors: &[Handle<Actor>], end: Instant) {
    let mut chance = Chance::from_seed(99);
    while Instant::now() < end {
        let (one, another) = (chance.index(20), chance.index(20));
        actors[another].signal();
        victims[one].unschedule();
        if chance.below(2) == 0 {
            assert_eq!(ended(&victims[one]), Ending::Unscheduled);
            victims[one].schedule_at(chance.priority(), chance.placement());
        }
    }
    for victim in victims {
        victim.unschedule();
        assert_eq!(ended(victim), Ending::Unscheduled);
    }
}

#[test]
fn nothing_is_lost_in_a_crowd() {
    let context = context(3);
    let world = Arc::new(World {
        stop: AtomicBool::new(false),
        semaphore: Semaphore::new(&context, 2),
        queue: Queue::new(&context, 8),
        flag: EventFlag::new(&context, Clearing::Automatic),
        entries: AtomicI64::new(0),
        children: AtomicI64::new(0),
        turns: AtomicU64::new(0),
    });
    let mut chance = Chance::from_seed(7);
    let mut actors: Vec<_> = (1..=20)
        .map(|seed| {
            context.add(Actor {
                world: Arc::clone(&world),
                chance: Chance::from_seed(seed),
                holds: false,
            })
        })
        .collect();
    let mut victims: Vec<_> = (21..=40).map(|seed| context.add(victim(&world, seed))).collect();
    for one in &mut actors {
        one.schedule_at(chance.priority(), chance.placement());
    }
    for one in &mut victims {
        one.schedule_at(chance.priority(), chance.placement());
    }
    siege(&mut victims, &actors, Instant::now() + Duration::from_millis(1_500));
    assert!(world.turns.load(SeqCst) > 1_000);
    world.stop.store(true, SeqCst);
    // All of them have deadlines.
    assert!(actors.iter().all(|one| ended(one) == Ending::Finished));
    eventually("the children finish", || world.children.load(SeqCst) == 0);
    let left = i64::try_from(world.queue.len()).expect("few");
    assert_eq!(world.entries.load(SeqCst), left);
    // A token whose wait was left goes with it, and no more than these come about.
    assert!(world.semaphore.tokens() <= 2);
}
