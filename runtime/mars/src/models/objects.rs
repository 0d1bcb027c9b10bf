//! Models of the objects: what each keeps in its words and in its list of those that wait, step by step
//! as the object of that name does. Tasks are threads that sleep until they are woken. Loom takes
//! sequentially consistent accesses for acquire and release: where objects rely on their order, there
//! are fences here.

use std::collections::VecDeque;

use loom::sync::{Arc, Condvar, Mutex, MutexGuard};
use loom::thread;

use super::model;
use crate::atomic::Ordering::{Relaxed, SeqCst};
use crate::atomic::{AtomicU32, fence};

/// Those that wait for an object: `WaitList`.
struct List {
    waiters: Mutex<VecDeque<Waiter>>,
    length: AtomicU32,
}

/// A task that waits; the value with which it is woken.
#[derive(Clone)]
struct Waiter {
    note: u32,
    woken: Arc<(Mutex<Option<u32>>, Condvar)>,
}

impl Waiter {
    fn wake(&self, value: u32) {
        *self.woken.0.lock().expect("lock") = Some(value);
        self.woken.1.notify_one();
    }

    fn sleep(self) -> u32 {
        let mut woken = self.woken.0.lock().expect("lock");
        loop {
            match *woken {
                Some(value) => return value,
                None => woken = self.woken.1.wait(woken).expect("lock"),
            }
        }
    }
}

/// The locked list: `WaitListGuard`.
struct Locked<'a> {
    list: &'a List,
    waiters: MutexGuard<'a, VecDeque<Waiter>>,
    has_joined: bool,
}

impl List {
    fn new() -> Self {
        Self { waiters: Mutex::new(VecDeque::new()), length: AtomicU32::new(0) }
    }

    fn is_empty(&self) -> bool {
        fence(SeqCst);
        self.length.load(SeqCst) == 0
    }

    fn lock(&self) -> Locked<'_> {
        let waiters = self.waiters.lock().expect("lock");
        self.length.fetch_add(1, SeqCst);
        fence(SeqCst);
        Locked { list: self, waiters, has_joined: false }
    }

    fn wake_one(&self, value: u32) -> bool {
        if self.is_empty() {
            return false;
        }
        let waiter = self.waiters.lock().expect("lock").pop_front();
        let Some(waiter) = waiter else { return false };
        self.length.fetch_sub(1, SeqCst);
        waiter.wake(value);
        true
    }

    /// `wake_those`: `chosen` says with which value each is woken; `given` is called for these.
    fn wake_those(&self, chosen: impl Fn(u32) -> Option<u32>, given: impl Fn(u32)) {
        let mut waiters = self.waiters.lock().expect("lock");
        let before = waiters.len();
        let mut woken = Vec::new();
        waiters.retain(|waiter| match chosen(waiter.note) {
            Some(value) => {
                given(waiter.note);
                woken.push((waiter.clone(), value));
                false
            }
            None => true,
        });
        woken.iter().for_each(|(waiter, value)| waiter.wake(*value));
        let fewer = u32::try_from(before - waiters.len()).expect("few");
        self.length.fetch_sub(fewer, SeqCst);
    }

    fn wake_all(&self) {
        if !self.is_empty() {
            self.wake_those(|_| Some(0), |_| {});
        }
    }
}

impl Locked<'_> {
    fn join(mut self, note: u32) -> Waiter {
        let woken = Arc::new((Mutex::new(None), Condvar::new()));
        let waiter = Waiter { note, woken };
        self.waiters.push_back(waiter.clone());
        self.has_joined = true;
        waiter
    }

    fn rejoin(mut self) -> Waiter {
        let woken = Arc::new((Mutex::new(None), Condvar::new()));
        let waiter = Waiter { note: 0, woken };
        self.waiters.push_front(waiter.clone());
        self.has_joined = true;
        waiter
    }
}

impl Drop for Locked<'_> {
    fn drop(&mut self) {
        if !self.has_joined {
            self.list.length.fetch_sub(1, SeqCst);
        }
    }
}

/// Runs the function in so many threads, each with its number; this one is the first.
fn together(count: usize, function: impl Fn(usize) + Send + Sync + 'static) {
    let function = Arc::new(function);
    let others: Vec<_> = (1..count)
        .map(|number| {
            let function = Arc::clone(&function);
            thread::spawn(move || function(number))
        })
        .collect();
    function(0);
    others.into_iter().for_each(|other| other.join().expect("it ends"));
}

struct Semaphore {
    tokens: AtomicU32,
    waiters: List,
}

impl Semaphore {
    fn take(&self) -> bool {
        self.tokens.fetch_update(SeqCst, SeqCst, |tokens| tokens.checked_sub(1)).is_ok()
    }

    fn acquire(&self) {
        if self.waiters.is_empty() && self.take() {
            return;
        }
        let waiters = self.waiters.lock();
        if waiters.waiters.is_empty() && self.take() {
            return;
        }
        waiters.join(0).sleep();
    }

    fn release(&self) {
        loop {
            if self.waiters.wake_one(0) {
                return;
            }
            self.tokens.fetch_add(1, SeqCst);
            if self.waiters.is_empty() || !self.take() {
                return;
            }
        }
    }
}

#[test]
fn a_semaphore_lets_one_in_and_loses_no_token() {
    model(|| {
        let semaphore = Semaphore { tokens: AtomicU32::new(1), waiters: List::new() };
        let shared = Arc::new((semaphore, AtomicU32::new(0)));
        let seen = Arc::clone(&shared);
        together(3, move |_| {
            let (semaphore, inside) = &*shared;
            semaphore.acquire();
            assert_eq!(inside.fetch_add(1, Relaxed), 0, "another one is inside");
            inside.fetch_sub(1, Relaxed);
            semaphore.release();
        });
        assert_eq!(seen.0.tokens.load(SeqCst), 1);
    });
}

struct Lock {
    state: AtomicU32,
    misses: AtomicU32,
    waiters: List,
}

impl Lock {
    fn take(&self) -> bool {
        self.state.load(SeqCst) & LOCKED == 0 && self.state.fetch_or(LOCKED, SeqCst) & LOCKED == 0
    }

    fn lock(&self) {
        let mut woken = None;
        loop {
            match woken {
                Some(HANDED_OVER) => return,
                Some(_) => _ = self.state.fetch_and(!WOKEN, SeqCst),
                None => {}
            }
            if self.take() {
                if woken.is_some() {
                    self.misses.store(0, Relaxed);
                }
                return;
            }
            let waiters = self.waiters.lock();
            if self.take() {
                return;
            }
            let waiter = if woken.is_none() {
                waiters.join(0)
            } else {
                self.misses.fetch_add(1, Relaxed);
                waiters.rejoin()
            };
            woken = Some(waiter.sleep());
        }
    }

    fn unlock(&self) {
        if self.misses.load(Relaxed) >= MOST_MISSES {
            self.misses.store(0, Relaxed);
            if self.waiters.wake_one(HANDED_OVER) {
                return;
            }
        }
        let before = self.state.fetch_and(!LOCKED, SeqCst);
        if before & WOKEN == 0 && self.is_awaited() {
            self.wake();
        }
    }

    fn is_awaited(&self) -> bool {
        !self.waiters.is_empty()
    }

    fn wake(&self) {
        while self.state.fetch_or(WOKEN, SeqCst) & WOKEN == 0 && !self.waiters.wake_one(WOKEN) {
            let before = self.state.fetch_and(!WOKEN, SeqCst);
            if before & LOCKED != 0 || !self.is_awaited() {
                return;
            }
        }
    }
}

/// As in `object::mutex`, but handed over sooner.
const LOCKED: u32 = 1;
const WOKEN: u32 = 2;
const HANDED_OVER: u32 = 0;
const MOST_MISSES: u32 = 1;

#[test]
fn a_mutex_lets_one_in_and_forgets_nobody() {
    model(|| {
        let (state, misses) = (AtomicU32::new(0), AtomicU32::new(0));
        let shared = Arc::new((Lock { state, misses, waiters: List::new() }, AtomicU32::new(0)));
        let seen = Arc::clone(&shared);
        together(3, move |_| {
            let (mutex, inside) = &*shared;
            mutex.lock();
            assert_eq!(inside.fetch_add(1, Relaxed), 0, "another one is inside");
            inside.fetch_sub(1, Relaxed);
            mutex.unlock();
        });
        assert_eq!(seen.0.state.load(SeqCst) & LOCKED, 0);
    });
}

struct Barrier {
    total: u32,
    arrived: AtomicU32,
    left: AtomicU32,
    /// One for each MPU, which is a thread here.
    waiting: [List; 2],
    early: [List; 2],
}

impl Barrier {
    fn arrive(&self) -> Option<u32> {
        let one_more = |arrived: u32| (arrived < self.total).then_some(arrived + 1);
        self.arrived.fetch_update(SeqCst, SeqCst, one_more).ok().map(|before| before + 1)
    }

    fn tell(&self, place: u32) {
        if place == self.total {
            self.waiting.iter().for_each(List::wake_all);
        }
    }

    fn notify(&self, mpu: usize) {
        loop {
            if let Some(place) = self.arrive() {
                return self.tell(place);
            }
            let waiters = self.early[mpu].lock();
            if let Some(place) = self.arrive() {
                drop(waiters);
                return self.tell(place);
            }
            waiters.join(0).sleep();
        }
    }

    fn leave(&self) {
        if self.left.fetch_add(1, SeqCst) + 1 == self.total {
            self.left.store(0, SeqCst);
            self.arrived.store(0, SeqCst);
            self.early.iter().for_each(List::wake_all);
        }
    }

    fn wait(&self, mpu: usize) {
        if self.arrived.load(SeqCst) == self.total {
            return self.leave();
        }
        let waiters = self.waiting[mpu].lock();
        if self.arrived.load(SeqCst) == self.total {
            drop(waiters);
        } else {
            waiters.join(0).sleep();
        }
        self.leave();
    }
}

#[test]
fn nobody_passes_a_barrier_before_all_have_arrived_in_two_cycles() {
    model(|| {
        let barrier = Barrier {
            total: 2,
            arrived: AtomicU32::new(0),
            left: AtomicU32::new(0),
            waiting: [List::new(), List::new()],
            early: [List::new(), List::new()],
        };
        let shared = Arc::new((barrier, AtomicU32::new(0)));
        together(2, move |mpu| {
            let (barrier, begun) = &*shared;
            for cycle in 1..=2 {
                begun.fetch_add(1, SeqCst);
                barrier.notify(mpu);
                barrier.wait(mpu);
                assert!(begun.load(SeqCst) >= 2 * cycle, "it passed alone");
            }
        });
    });
}

/// An event flag that is cleared by those that it releases.
struct EventFlag {
    bits: AtomicU32,
    waiters: List,
}

impl EventFlag {
    fn set(&self, bits: u32) {
        self.bits.fetch_or(bits, SeqCst);
        // The order of sequentially consistent operations, of which loom knows only fences.
        fence(SeqCst);
        if self.waiters.length.load(SeqCst) > 0 {
            let release = |mask| {
                let now = self.bits.load(SeqCst);
                (now & mask == mask).then_some(now)
            };
            self.waiters.wake_those(release, |mask| {
                self.bits.fetch_and(!mask, SeqCst);
            });
        }
    }

    fn wait(&self, mask: u32) -> u32 {
        let waiters = self.waiters.lock();
        let now = self.bits.load(SeqCst);
        if now & mask == mask {
            self.bits.fetch_and(!mask, SeqCst);
            return now;
        }
        waiters.join(mask).sleep()
    }
}

#[test]
fn each_set_of_an_event_flag_releases_who_waits_for_it_and_is_gone_then() {
    model(|| {
        let flag = Arc::new(EventFlag { bits: AtomicU32::new(0), waiters: List::new() });
        let seen = Arc::clone(&flag);
        together(3, move |number| match number {
            0 => {
                flag.set(1);
                flag.set(2);
            }
            number => {
                let mask = u32::try_from(number).expect("few");
                assert_eq!(flag.wait(mask) & mask, mask);
            }
        });
        assert_eq!(seen.bits.load(SeqCst), 0);
    });
}

/// A queue of one entry, whose place is a word: 0 is none.
struct Queue {
    entry: AtomicU32,
    poppers: List,
    pushers: List,
}

impl Queue {
    fn try_push(&self, entry: u32) -> bool {
        self.entry.compare_exchange(0, entry, SeqCst, SeqCst).is_ok()
    }

    fn try_pop(&self) -> Option<u32> {
        Some(self.entry.swap(0, SeqCst)).filter(|entry| *entry != 0)
    }

    fn push(&self, entry: u32) {
        let mut has_waited = false;
        loop {
            if self.try_push(entry) {
                break;
            }
            let waiters = self.pushers.lock();
            if self.try_push(entry) {
                drop(waiters);
                break;
            }
            let waiter = if has_waited { waiters.rejoin() } else { waiters.join(0) };
            waiter.sleep();
            has_waited = true;
        }
        self.poppers.wake_one(0);
    }

    fn pop(&self) -> u32 {
        let mut has_waited = false;
        let entry = loop {
            if let Some(entry) = self.try_pop() {
                break entry;
            }
            let waiters = self.poppers.lock();
            if let Some(entry) = self.try_pop() {
                drop(waiters);
                break entry;
            }
            let waiter = if has_waited { waiters.rejoin() } else { waiters.join(0) };
            waiter.sleep();
            has_waited = true;
        };
        self.pushers.wake_one(0);
        entry
    }
}

#[test]
fn what_is_pushed_is_popped_once_and_nobody_is_left() {
    model(|| {
        let queue = Queue { entry: AtomicU32::new(0), poppers: List::new(), pushers: List::new() };
        let shared = Arc::new((queue, AtomicU32::new(0)));
        let seen = Arc::clone(&shared);
        together(3, move |number| {
            let (queue, sum) = &*shared;
            match number {
                0 => {
                    sum.fetch_add(queue.pop(), Relaxed);
                    sum.fetch_add(queue.pop(), Relaxed);
                }
                number => queue.push(u32::try_from(number).expect("few")),
            }
        });
        assert_eq!(seen.1.load(Relaxed), 3);
    });
}
