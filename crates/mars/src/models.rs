//! Models of what wakes sleepers, for every order of events (loom). To run them:
//! `RUSTFLAGS="--cfg loom" cargo test -p linerate-mars --lib --release`.

use loom::sync::Arc;
use loom::thread;

use crate::atomic::AtomicU32;
use crate::atomic::Ordering::{AcqRel, Relaxed};
use crate::inbox::Inbox;
use crate::ready::NONE;
use crate::sleeper::{Bed, Sleeper};
use crate::turnstile::{Ender, Turnstile};

/// An MPU as others see it: its inbox, its sleep, and the word of a semaphore in place of
/// the kernel's.
struct Unit {
    inbox: Inbox,
    links: [AtomicU32; 2],
    sleeper: Sleeper,
}

impl Unit {
    fn new() -> Self {
        let links = [AtomicU32::new(NONE), AtomicU32::new(NONE)];
        Self { inbox: Inbox::default(), links, sleeper: Sleeper::default() }
    }

    fn put(&self, id: u32) {
        self.inbox.put(id, &self.links[id as usize]);
        // The futex: what wakes is that the word changes, which `rouse` does.
        _ = self.sleeper.rouse();
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

    /// As the kernel of an MPU rests: loom calls it a deadlock if it sleeps for ever.
    fn rest(&self) {
        self.sleeper.lie_down(Bed::Word);
        if self.inbox.is_empty() {
            let (word, asleep) = self.sleeper.word();
            while word.load(Relaxed) == asleep {
                thread::yield_now();
            }
        }
        self.sleeper.rise();
    }
}

#[test]
fn no_work_is_slept_through() {
    loom::model(|| {
        let unit = Arc::new(Unit::new());
        let putters: Vec<_> = (0..2)
            .map(|id| {
                let unit = Arc::clone(&unit);
                thread::spawn(move || unit.put(id))
            })
            .collect();
        let mut seen = Vec::new();
        while seen.len() < 2 {
            let taken = unit.take();
            if taken.is_empty() {
                unit.rest();
            }
            seen.extend(taken);
        }
        seen.sort_unstable();
        assert_eq!(seen, [0, 1]);
        for putter in putters {
            putter.join().expect("put");
        }
    });
}

#[test]
fn of_all_who_want_to_end_a_wait_one_does() {
    loom::model(|| {
        let turnstile = Arc::new(Turnstile::default());
        let token = turnstile.arm(Ender::Object);
        let ended = Arc::new(AtomicU32::new(0));
        let enders: Vec<_> = (0..2)
            .map(|_| {
                let (turnstile, ended) = (Arc::clone(&turnstile), Arc::clone(&ended));
                thread::spawn(move || {
                    if turnstile.claim(token) {
                        ended.fetch_add(1, AcqRel);
                    }
                })
            })
            .collect();
        for ender in enders {
            ender.join().expect("tried");
        }
        assert_eq!(ended.load(Relaxed), 1);
        assert!(turnstile.waiting().is_none());
    });
}
