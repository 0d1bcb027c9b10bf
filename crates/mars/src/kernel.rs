//! The resident kernel of an MPU: it fetches workloads and runs them, one after another.
//!
//! ```text
//!            +--> look around: inbox, deadlines, now and then descriptors
//!            |    fetch the best of what is ready here and in the shared queue
//!            |      none: sleep until there is some
//!            +--- run it: Finished | Yield | Stalled
//! ```

use std::any::Any;
use std::cmp::Ordering;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::PoisonError;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release, SeqCst};
use std::sync::atomic::fence;
use std::time::Duration;

use linux::epoll::{Epoll, Events, Interest};

use crate::locals::{Local, Locals, Place};
use crate::mpu::Core;
use crate::punctuality::{Precision, Punctuality};
use crate::ready::{NONE, Ready};
use crate::shared::{Shared, Unit, drop_quietly};
use crate::sleeper::Bed;
use crate::table::state;
use crate::time::Time;
use crate::waiter::Ticket;
use crate::wheel::Wheel;
use crate::workload::{Ending, Next, Wait};

/// One MPU, on its thread.
pub(crate) struct Kernel {
    core: Core,
    modules: Vec<Box<dyn Any>>,
    locals: Locals,
    ready: Ready,
    wheel: Wheel,
    /// Room for what the descriptors report; none: it is in use.
    events: Option<Events>,
    /// How many descriptors are watched, the unit's own not counted.
    watched: usize,
    /// Turns since descriptors were looked at.
    unpolled: u32,
    /// Turns that are not accounted for yet.
    unaccounted: u64,
    /// When the account ends.
    accounted: Time,
    /// The module of the last workload that ran.
    kind: usize,
    /// Of two that are equal, one here and one in the shared queue, whose turn it is.
    prefers_shared: bool,
    /// Revocations that were looked after.
    revocations: u32,
    /// How late it wakes when it sleeps until a time.
    punctuality: Punctuality,
}

impl Kernel {
    pub(crate) fn new(
        index: usize,
        shared: Arc<Shared>,
        modules: Vec<Box<dyn Any>>,
    ) -> io::Result<Self> {
        let epoll = Epoll::new()?;
        epoll.add(&shared.units[index].wake, Interest::Readable, WAKE)?;
        let now = Time::now();
        let core = Core {
            index,
            shared,
            epoll,
            now,
            is_fresh: false,
            id: NONE,
            watch_token: 0,
            watched: 0,
            armed: None,
            newborn: Vec::new(),
            spare: Vec::with_capacity(MOST_SPARE),
        };
        Ok(Self {
            core,
            modules,
            locals: Locals::default(),
            ready: Ready::default(),
            wheel: Wheel::new(now),
            events: Some(Events::with_capacity(MOST_EVENTS)),
            watched: 0,
            unpolled: 0,
            unaccounted: 0,
            accounted: now,
            kind: 0,
            prefers_shared: true,
            revocations: 0,
            punctuality: Punctuality::default(),
        })
    }

    /// Runs workloads until the context stops.
    pub(crate) fn run(&mut self) -> io::Result<()> {
        self.accounted = self.core.read_clock();
        self.unit().account.begin(self.core.now);
        loop {
            match catch_unwind(AssertUnwindSafe(|| self.run_on())) {
                Ok(result) => return result,
                Err(_) => self.bury(),
            }
        }
    }

    fn run_on(&mut self) -> io::Result<()> {
        while !self.core.shared.stopping.load(Acquire) {
            if !self.core.newborn.is_empty() {
                self.take_in();
            }
            self.look_around()?;
            match self.fetch() {
                Some(slot) => self.turn(slot),
                None => self.rest()?,
            }
        }
        Ok(())
    }

    fn unit(&self) -> &Unit {
        &self.core.shared.units[self.core.index]
    }

    /// Finds out who has become ready.
    fn look_around(&mut self) -> io::Result<()> {
        if !self.unit().inbox.is_empty() {
            self.empty_inbox();
        }
        if self.core.shared.revocations.load(Relaxed) != self.revocations {
            self.revoke();
        }
        if !self.wheel.is_empty() {
            if self.unaccounted >= TURNS_BETWEEN_CLOCKS {
                self.core.read_clock();
            }
            self.fire();
        }
        self.unpolled += 1;
        if self.unpolled >= TURNS_BETWEEN_POLLS && self.locals.any_listens() {
            self.poll(Some(Duration::ZERO))?;
        }
        Ok(())
    }

    /// The slot of the workload that is to run next.
    fn fetch(&mut self) -> Option<u32> {
        while self.pulls() {
            let shared = &self.core.shared;
            let Some(id) = shared.queue.pull(&shared.table) else { break };
            if let Some(slot) = self.admit(id) {
                return Some(slot);
            }
        }
        let slot = self.ready.pop(&mut self.locals)?;
        self.donate();
        Some(slot)
    }

    /// Whether the shared queue has the best workload.
    fn pulls(&mut self) -> bool {
        let (own, others) = (self.ready.highest(), self.core.shared.queue.highest());
        match others.cmp(&own) {
            Ordering::Greater => true,
            Ordering::Less => false,
            Ordering::Equal => {
                self.prefers_shared = !self.prefers_shared;
                others.is_some() && self.prefers_shared
            }
        }
    }

    /// Gives the next workload to an MPU that has nothing to do, if there is one.
    fn donate(&mut self) {
        if self.core.shared.idle.load(Relaxed) > 0
            && let Some(next) = self.ready.first()
            && !self.locals.at(next).is_bound()
        {
            self.ready.pop(&mut self.locals);
            let id = self.park(next);
            self.core.shared.offer(id);
        }
    }

    /// Takes a workload out of its cell; none: it is not to run any more.
    fn admit(&mut self, id: u32) -> Option<u32> {
        let shared = &*self.core.shared;
        let record = shared.table.record(id);
        let is_wanted = record.state.load(Acquire) & state::UNSCHEDULED == 0;
        let mut cell = record.cell.lock().unwrap_or_else(PoisonError::into_inner);
        // Whoever forgot that he had taken it out to look at it does not want it either.
        let body = if is_wanted { cell.take() } else { None };
        drop(cell);
        let Some(body) = body else {
            shared.conclude(id, Ending::Unscheduled);
            return None;
        };
        let (priority, pinned) = (record.priority.load(Relaxed), record.pinned.load(Relaxed));
        let kind = record.kind.load(Relaxed).into();
        let slot = self.locals.insert(Local::new(id, body, kind, priority, pinned));
        record.slot.store(slot, Relaxed);
        #[expect(clippy::cast_possible_truncation, reason = "there are no 2^32 CPUs")]
        record.home.store(self.core.index as u32, Release);
        Some(slot)
    }

    /// Runs one workload once.
    fn turn(&mut self, slot: u32) {
        let local = self.locals.at(slot);
        if local.kind != self.kind {
            let kind = local.kind;
            self.core.read_clock();
            self.settle();
            self.kind = kind;
        }
        self.core.is_fresh = false;
        self.locals.put(slot, Place::Running);
        let local = self.locals.at(slot);
        self.core.id = local.id;
        self.core.watch_token = local.watch_token(slot);
        self.core.armed = local.stray;
        let next = local.run(&mut *self.modules[self.kind], &mut self.core);
        self.unaccounted += 1;
        if self.core.is_fresh {
            self.settle();
        }
        self.locals.at(slot).watched += std::mem::take(&mut self.core.watched);
        match next {
            Next::Yield => {
                self.disarm(slot);
                self.go_on(slot);
            }
            Next::Stalled(wait) => self.stall(slot, &wait),
            Next::Finished => {
                let is_revoked = self.locals.at(slot).is_revoked;
                self.finish(slot, if is_revoked { Ending::Unscheduled } else { Ending::Finished });
            }
        }
    }

    /// A workload can go on: here, unless another MPU has nothing to do.
    fn go_on(&mut self, slot: u32) {
        let is_bound = self.locals.at(slot).is_bound();
        if !is_bound && !self.ready.is_empty() && self.core.shared.idle.load(Relaxed) > 0 {
            let id = self.park(slot);
            self.core.shared.offer(id);
        } else {
            self.enlist(slot);
        }
    }

    /// A workload can go on here.
    fn enlist(&mut self, slot: u32) {
        self.locals.put(slot, Place::Ready);
        let priority = self.locals.at(slot).priority;
        self.ready.push(slot, priority, &mut self.locals);
    }

    fn stall(&mut self, slot: u32, wait: &Wait) {
        let ticket = wait.ticket.as_ref().map(Ticket::token);
        if ticket != self.core.armed {
            self.disarm(slot);
            if ticket.is_some() {
                // It is a wait of another turn, or of another workload: nobody would end it.
                return self.go_on(slot);
            }
        }
        let token = self.core.armed.take();
        self.locals.put(slot, Place::Stalled { readiness: wait.readiness, token });
        let local = self.locals.at(slot);
        local.precision = if wait.exactly { Precision::Exact } else { Precision::About };
        self.watched += local.newly_watched();
        if let Some(at) = wait.until {
            self.wheel.set(slot, at, &mut self.locals);
        } else if token.is_some() && !wait.readiness && !self.locals.at(slot).is_bound() {
            self.park_stalled(slot);
        }
    }

    /// Takes back a wait that was begun but is not waited for.
    fn disarm(&mut self, slot: u32) {
        let Some(token) = self.core.armed.take() else { return };
        let local = self.locals.at(slot);
        if !self.core.shared.table.record(local.id).turnstile.claim(token) {
            local.stray = Some(token);
        }
    }

    /// Whoever lets this workload go on may bring it to any MPU.
    fn park_stalled(&mut self, slot: u32) {
        let id = self.park(slot);
        let shared = &self.core.shared;
        // Who unscheduled it in the meantime may have found it nowhere.
        let record = shared.table.record(id);
        fence(SeqCst);
        if record.state.load(SeqCst) & state::UNSCHEDULED != 0
            && let Some(token) = record.turnstile.waiting()
            && record.turnstile.claim(token)
        {
            shared.deliver(id);
        }
    }

    /// Puts a workload back into its cell; its id.
    fn park(&mut self, slot: u32) -> u32 {
        let local = self.locals.remove(slot);
        let shared = &self.core.shared;
        let record = shared.table.record(local.id);
        record.slot.store(NONE, Relaxed);
        *record.cell.lock().unwrap_or_else(PoisonError::into_inner) = Some(local.body);
        record.home.store(NONE, Release);
        local.id
    }

    /// A workload ended: it leaves, as soon as no message is on its way to it.
    fn finish(&mut self, slot: u32, ending: Ending) {
        self.disarm(slot);
        let local = self.locals.at(slot);
        if local.stray.is_none() {
            return self.leave(slot, ending);
        }
        local.ending = Some(ending);
        let token = local.stray;
        self.locals.put(slot, Place::Stalled { readiness: false, token });
        self.wheel.cancel(slot, &mut self.locals);
    }

    /// A workload goes.
    fn leave(&mut self, slot: u32, ending: Ending) {
        self.wheel.cancel(slot, &mut self.locals);
        let local = self.locals.remove(slot);
        self.watched -= local.counted as usize;
        let record = self.core.shared.table.record(local.id);
        let is_alone = record.state.load(Acquire) == state::BUSY | state::ABANDONED;
        if !is_alone || ending != Ending::Finished || self.core.spare.len() >= MOST_SPARE {
            return self.core.shared.end(local.id, local.body, ending);
        }
        // Nobody knows of it: nobody has to be told.
        drop_quietly(local.body);
        record.slot.store(NONE, Relaxed);
        record.state.store(0, Relaxed);
        self.core.spare.push(local.id);
    }

    /// Lets those go on that were spawned in the last turn.
    fn take_in(&mut self) {
        let mut newborn = std::mem::take(&mut self.core.newborn);
        for (id, body) in newborn.drain(..) {
            let record = self.core.shared.table.record(id);
            let (priority, kind) = (record.priority.load(Relaxed), record.kind.load(Relaxed));
            let slot = self.locals.insert(Local::new(id, body, kind.into(), priority, false));
            record.slot.store(slot, Relaxed);
            #[expect(clippy::cast_possible_truncation, reason = "there are no 2^32 CPUs")]
            record.home.store(self.core.index as u32, Release);
            self.enlist(slot);
        }
        self.core.newborn = newborn;
    }

    /// The workload that ran has panicked.
    fn bury(&mut self) {
        let slot = self.core.shared.table.record(self.core.id).slot.load(Relaxed);
        self.core.watched = 0;
        self.finish(slot, Ending::Panicked);
    }

    /// Takes what others have put in.
    fn empty_inbox(&mut self) {
        let table = &self.core.shared.table;
        let mut id = self.unit().inbox.take(|id| &table.record(id).link);
        while id != NONE {
            let record = self.core.shared.table.record(id);
            let (next, slot) = (record.link.load(Relaxed), record.slot.load(Relaxed));
            self.receive(id, slot);
            id = next;
        }
    }

    fn receive(&mut self, id: u32, slot: u32) {
        if slot != NONE {
            return self.awaken(slot);
        }
        let record = self.core.shared.table.record(id);
        // Somebody let it go on just before it was parked.
        if !record.pinned.load(Relaxed) {
            record.home.store(NONE, Release);
            return self.core.shared.offer(id);
        }
        if let Some(slot) = self.admit(id) {
            self.enlist(slot);
        }
    }

    /// An object has let a workload go on.
    fn awaken(&mut self, slot: u32) {
        let local = self.locals.at(slot);
        local.stray = None;
        if let Some(ending) = local.ending {
            return self.leave(slot, ending);
        }
        // Else it has gone on without.
        let Place::Stalled { token: Some(_), .. } = local.place() else { return };
        let id = local.id;
        self.wheel.cancel(slot, &mut self.locals);
        if self.core.shared.table.record(id).state.load(Relaxed) & state::UNSCHEDULED != 0 {
            return self.leave(slot, Ending::Unscheduled);
        }
        self.go_on(slot);
    }

    /// A descriptor or a deadline lets a workload go on, unless its object was faster:
    /// then the message is on its way.
    fn release(&mut self, slot: u32) {
        let local = self.locals.at(slot);
        let Place::Stalled { token, .. } = local.place() else { return };
        let (id, is_timed) = (local.id, local.node.is_set());
        if let Some(token) = token
            && !self.core.shared.table.record(id).turnstile.claim(token)
        {
            return;
        }
        if is_timed {
            self.wheel.cancel(slot, &mut self.locals);
        }
        self.go_on(slot);
    }

    /// Lets those go on whose time has come.
    fn fire(&mut self) {
        while let Some(slot) = self.wheel.due(self.core.now, &mut self.locals) {
            self.release(slot);
        }
    }

    /// Ends the workloads that were unscheduled.
    fn revoke(&mut self) {
        self.revocations = self.core.shared.revocations.load(SeqCst);
        for slot in 0..self.locals.len() {
            let Some(id) = self.locals.id(slot) else { continue };
            let record = self.core.shared.table.record(id);
            if record.state.load(Relaxed) & state::UNSCHEDULED == 0 {
                continue;
            }
            match self.locals.at(slot).place() {
                // It ends when it is fetched.
                Place::Ready | Place::Running => self.locals.at(slot).is_revoked = true,
                Place::Stalled { token: Some(token), .. } => {
                    if record.turnstile.claim(token) {
                        self.leave(slot, Ending::Unscheduled);
                    }
                }
                Place::Stalled { token: None, .. } => self.finish(slot, Ending::Unscheduled),
            }
        }
    }

    /// Sleeps until there is something to do. A thread that sleeps until a time wakes after
    /// it, so that it asks for less and spins the rest.
    fn rest(&mut self) -> io::Result<()> {
        let now = self.core.read_clock();
        self.settle();
        let Some((at, slot)) = self.wheel.next(&mut self.locals) else { return self.sleep(None) };
        if at <= now {
            return Ok(());
        }
        let lead = self.punctuality.lead(self.locals.at(slot).precision);
        let early = at.before(lead);
        if early <= now {
            return self.spin_until(at);
        }
        self.sleep(Some(early.since(now)))?;
        if self.core.now >= early {
            self.punctuality.woke(self.core.now.since(early));
        }
        Ok(())
    }

    fn spin_until(&mut self, at: Time) -> io::Result<()> {
        let began = self.core.now;
        let has_others = self.locals.any_listens();
        let mut looks = 0_u32;
        while self.core.now < at && self.ready.is_empty() && !self.has_news() {
            looks += 1;
            if has_others && looks.is_multiple_of(LOOKS_BETWEEN_POLLS) {
                self.poll(Some(Duration::ZERO))?;
            }
            std::hint::spin_loop();
            self.core.read_clock();
        }
        self.unit().account.spin(self.core.now.since(began));
        self.settle();
        Ok(())
    }

    /// Whether others have something for this MPU.
    fn has_news(&self) -> bool {
        let shared = &self.core.shared;
        !self.unit().inbox.is_empty()
            || shared.queue.highest().is_some()
            || shared.revocations.load(Relaxed) != self.revocations
            || shared.stopping.load(Relaxed)
    }

    fn sleep(&mut self, longest: Option<Duration>) -> io::Result<()> {
        // Where nobody waits for a descriptor, none is to wake this thread: what came is found
        // when the time has come.
        let bed = if self.locals.any_listens() { Bed::Descriptors } else { Bed::Word };
        self.core.shared.idle.fetch_add(1, SeqCst);
        self.unit().sleeper.lie_down(bed);
        let result = if self.has_news() { Ok(()) } else { self.doze(bed, longest) };
        self.unit().sleeper.rise();
        self.core.shared.idle.fetch_sub(1, SeqCst);
        result
    }

    /// Sleeps until somebody rouses it, or for `longest`.
    fn doze(&mut self, bed: Bed, longest: Option<Duration>) -> io::Result<()> {
        self.unit().account.fall_asleep(self.core.now);
        let result = match bed {
            Bed::Descriptors => self.poll(longest),
            Bed::Word => {
                let (word, asleep) = self.unit().sleeper.word();
                linux::futex::wait(word, asleep, longest);
                Ok(())
            }
        };
        self.accounted = self.core.read_clock();
        self.unit().account.wake_up(self.core.now);
        result
    }

    /// Looks at the descriptors, for `longest` at the most if none is ready.
    fn poll(&mut self, longest: Option<Duration>) -> io::Result<()> {
        self.unpolled = 0;
        let Some(mut events) = self.events.take() else { return Ok(()) };
        let result = self.core.epoll.poll(&mut events, longest);
        events.tokens().for_each(|token| self.report(token));
        self.events = Some(events);
        result
    }

    /// A descriptor is ready.
    fn report(&mut self, token: u64) {
        if token == WAKE {
            self.unit().wake.clear();
        } else if let Some(slot) = self.locals.watching(token)
            && let Place::Stalled { readiness: true, .. } = self.locals.at(slot).place()
        {
            self.release(slot);
        }
    }

    /// Accounts for the time until the clock was read last.
    fn settle(&mut self) {
        let span = self.core.now.since(self.accounted);
        self.accounted = self.core.now;
        let turns = std::mem::take(&mut self.unaccounted);
        self.unit().account.run(self.kind, span, turns, self.ready.len());
    }
}

/// What an MPU has is dropped on its own thread.
impl Drop for Kernel {
    fn drop(&mut self) {
        for local in self.locals.drain() {
            let turnstile = &self.core.shared.table.record(local.id).turnstile;
            // No object is to let it go on any more.
            turnstile.waiting().map(|token| turnstile.claim(token));
            self.core.shared.end(local.id, local.body, Ending::Unscheduled);
        }
    }
}

/// Token of the descriptor by which others wake the MPU.
const WAKE: u64 = u64::MAX;
const MOST_EVENTS: usize = 256;
/// Ids that an MPU keeps for what it spawns.
const MOST_SPARE: usize = 1024;
/// The others may have become ready in the meantime.
const TURNS_BETWEEN_POLLS: u32 = 16;
/// While it spins it looks at the clock about 30 million times a second.
const LOOKS_BETWEEN_POLLS: u32 = 64;
/// Deadlines may be late by that many turns of workloads that do not read the clock.
const TURNS_BETWEEN_CLOCKS: u64 = 8;
