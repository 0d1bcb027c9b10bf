//! Models of what wakes sleepers, for every order of events (loom): `cargo xtask models`.

mod objects;

use loom::sync::{Arc, Condvar, Mutex};
use loom::thread;

use crate::atomic::Ordering::{AcqRel, Acquire, Relaxed, SeqCst};
use crate::atomic::{AtomicU32, fence};
use crate::inbox::Inbox;
use crate::ready::NONE;
use crate::sleep_state::{SleepOn, SleepState};
use crate::wait_token::{Ender, WaitToken};

/// As the kernel keeps a futex: whether the word still holds what the sleeper expects is
/// looked at under the same lock as wakers take. Loom reports a deadlock if no thread wakes it.
struct Futex {
    lock: Mutex<()>,
    condition: Condvar,
}

impl Futex {
    fn new() -> Self {
        Self { lock: Mutex::new(()), condition: Condvar::new() }
    }

    fn wait(&self, word: &AtomicU32, expected: u32) {
        let mut guard = self.lock.lock().expect("lock");
        while word.load(Relaxed) == expected {
            guard = self.condition.wait(guard).expect("lock");
        }
    }

    fn wake(&self) {
        let _guard = self.lock.lock().expect("lock");
        self.condition.notify_all();
    }
}

/// An MPU as others see it: its inbox and its sleep, and the shared queue's mark.
struct Unit {
    inbox: Inbox,
    links: [AtomicU32; 2],
    sleep_state: SleepState,
    futex: Futex,
    /// How many are in the shared queue, as its `highest` says.
    shared: AtomicU32,
    idle: AtomicU32,
}

impl Unit {
    fn new() -> Self {
        Self {
            inbox: Inbox::default(),
            links: [AtomicU32::new(NONE), AtomicU32::new(NONE)],
            sleep_state: SleepState::default(),
            futex: Futex::new(),
            shared: AtomicU32::new(0),
            idle: AtomicU32::new(0),
        }
    }

    fn wake_if_asleep(&self) {
        if self.sleep_state.wake_if_asleep().is_some() {
            self.futex.wake();
        }
    }

    /// As `Shared::deliver` does.
    fn deliver(&self, id: u32) {
        self.inbox.put(id, &self.links[id as usize]);
        self.wake_if_asleep();
    }

    /// As `Shared::offer` does.
    fn offer(&self) {
        self.shared.fetch_add(1, SeqCst);
        fence(SeqCst);
        if self.idle.load(SeqCst) > 0 {
            self.wake_if_asleep();
        }
    }

    /// Everything in the inbox, the first one first.
    fn take(&self) -> Vec<u32> {
        let mut id = self.inbox.take(|id| &self.links[id as usize]);
        let mut all = Vec::new();
        while id != NONE {
            all.push(id);
            id = self.links[id as usize].load(Relaxed);
        }
        all
    }

    /// As the kernel of an MPU sleeps.
    fn sleep(&self) {
        self.idle.fetch_add(1, SeqCst);
        self.sleep_state.begin_sleep(SleepOn::Futex);
        if self.inbox.is_empty() && self.shared.load(SeqCst) == 0 {
            let (word, asleep) = self.sleep_state.word();
            self.futex.wait(word, asleep);
        }
        self.sleep_state.end_sleep();
        self.idle.fetch_sub(1, SeqCst);
    }
}

/// Every order with up to three preemptions, which "Finding and reproducing Heisenbugs in
/// concurrent programs" (OSDI 2008) finds to be more than bugs need.
fn model(check: impl Fn() + Sync + Send + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(3);
    builder.check(check);
}

#[test]
fn no_message_is_slept_through() {
    model(|| {
        let unit = Arc::new(Unit::new());
        let senders: Vec<_> = (0..2)
            .map(|id| {
                let unit = Arc::clone(&unit);
                thread::spawn(move || unit.deliver(id))
            })
            .collect();
        let mut seen = Vec::new();
        while seen.len() < 2 {
            let taken = unit.take();
            if taken.is_empty() {
                unit.sleep();
            }
            seen.extend(taken);
        }
        seen.sort_unstable();
        assert_eq!(seen, [0, 1]);
        senders.into_iter().for_each(|sender| sender.join().expect("sent"));
    });
}

#[test]
fn no_offer_is_slept_through() {
    model(|| {
        let unit = Arc::new(Unit::new());
        let host = Arc::clone(&unit);
        let host = thread::spawn(move || {
            host.deliver(0);
            host.offer();
        });
        let (mut pulled, mut taken) = (0, 0);
        while pulled + taken < 2 {
            let (offers, messages) = (unit.shared.swap(0, SeqCst), unit.take().len());
            if offers == 0 && messages == 0 {
                unit.sleep();
            }
            (pulled, taken) = (pulled + offers, taken + u32::try_from(messages).expect("few"));
        }
        assert_eq!((pulled, taken), (1, 1));
        host.join().expect("offered");
    });
}

#[test]
fn of_all_who_want_to_end_a_wait_one_does() {
    model(|| {
        let wait_token = Arc::new(WaitToken::default());
        let token = wait_token.arm(Ender::Object);
        let ended = Arc::new(AtomicU32::new(0));
        let enders: Vec<_> = (0..2)
            .map(|_| {
                let (wait_token, ended) = (Arc::clone(&wait_token), Arc::clone(&ended));
                thread::spawn(move || {
                    if wait_token.claim(token) {
                        ended.fetch_add(1, AcqRel);
                    }
                })
            })
            .collect();
        enders.into_iter().for_each(|ender| ender.join().expect("tried"));
        assert_eq!(ended.load(Relaxed), 1);
        assert!(wait_token.waiting().is_none());
    });
}

/// The signal as `Handle::signal` and `Mpu::wait_for_signal` have it.
#[test]
fn a_signal_is_seen_or_ends_the_wait() {
    model(|| {
        let shared = Arc::new((WaitToken::default(), AtomicU32::new(0), AtomicU32::new(0)));
        let sender = Arc::clone(&shared);
        let sender = thread::spawn(move || {
            let (wait_token, signalled, delivered) = &*sender;
            signalled.store(1, SeqCst);
            fence(SeqCst);
            if let Some(token) = wait_token.waiting_for_signal()
                && wait_token.claim(token)
            {
                delivered.store(1, SeqCst);
            }
        });
        let (wait_token, signalled, delivered) = &*shared;
        wait_token.arm(Ender::Signal);
        fence(SeqCst);
        let is_seen = signalled.load(SeqCst) == 1;
        sender.join().expect("sent");
        assert!(is_seen || delivered.load(SeqCst) == 1);
    });
}

/// Unscheduling one that goes to its cell: `Shared::unschedule` and `Kernel::park_stalled`.
#[test]
fn one_that_is_unscheduled_while_it_begins_to_wait_is_found() {
    model(|| {
        let shared = Arc::new((WaitToken::default(), AtomicU32::new(0)));
        let host = Arc::clone(&shared);
        let host = thread::spawn(move || {
            let (wait_token, state) = &*host;
            state.fetch_or(1, AcqRel);
            fence(SeqCst);
            wait_token.waiting().is_some_and(|token| wait_token.claim(token))
        });
        let (wait_token, state) = &*shared;
        wait_token.arm(Ender::Object);
        fence(SeqCst);
        let finds = state.load(Acquire) == 1
            && wait_token.waiting().is_some_and(|token| wait_token.claim(token));
        let is_found = host.join().expect("unscheduled");
        assert!(finds != is_found, "exactly one of them ends it");
    });
}

/// Waiting for an object: `WaitList::open` and `WaitList::is_empty`.
#[test]
fn whoever_begins_to_wait_sees_the_object_change_or_is_woken() {
    model(|| {
        let object = Arc::new((AtomicU32::new(0), AtomicU32::new(0), Mutex::new(false)));
        let waker = Arc::clone(&object);
        let waker = thread::spawn(move || {
            let (word, length, waits) = &*waker;
            word.store(1, Relaxed);
            fence(SeqCst);
            length.load(Relaxed) > 0 && *waits.lock().expect("lock")
        });
        let (word, length, waits) = &*object;
        let mut waits = waits.lock().expect("lock");
        length.fetch_add(1, Relaxed);
        fence(SeqCst);
        let is_seen = word.load(Relaxed) == 1;
        *waits = !is_seen;
        drop(waits);
        let is_woken = waker.join().expect("woke");
        assert!(is_seen || is_woken);
    });
}

/// A host that listens: `FutexEvent::notify` and `FutexEvent::check_until`.
#[test]
fn a_host_that_waits_sees_the_change_or_is_woken() {
    model(|| {
        let event =
            Arc::new((AtomicU32::new(0), AtomicU32::new(0), AtomicU32::new(0), Futex::new()));
        let notifier = Arc::clone(&event);
        let notifier = thread::spawn(move || {
            let (word, waiters, generation, futex) = &*notifier;
            word.store(1, Relaxed);
            fence(SeqCst);
            if waiters.load(SeqCst) > 0 {
                generation.fetch_add(1, SeqCst);
                futex.wake();
            }
        });
        let (word, waiters, generation, futex) = &*event;
        waiters.fetch_add(1, SeqCst);
        loop {
            let seen = generation.load(SeqCst);
            fence(SeqCst);
            if word.load(Relaxed) == 1 {
                break;
            }
            futex.wait(generation, seen);
        }
        waiters.fetch_sub(1, SeqCst);
        notifier.join().expect("notified");
    });
}
