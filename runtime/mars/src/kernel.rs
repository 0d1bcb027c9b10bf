//! The resident kernel of an MPU: it fetches workloads and runs them, one after another.
//!
//! ```text
//!            +--> collect what is ready: inbox, deadlines, now and then descriptors
//!            |    fetch the best of what is ready here and in the shared queue
//!            |      none: sleep until there is some
//!            +--- run it: Finished | Yield | Stalled
//! ```

mod endings;
mod sharing;

use std::any::Any;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::PoisonError;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release, SeqCst};
use std::sync::atomic::fence;
use std::time::Duration;

use linux::epoll::{Epoll, Events, Interest};

use crate::locals::{Local, Locals, RunState};
use crate::mpu::Core;
use crate::ready::{NONE, Ready};
use crate::shared::{Shared, Unit};
use crate::sleep_state::SleepOn;
use crate::table::state;
use crate::time::Time;
use crate::waiter::Ticket;
use crate::wake_cost::WakeCost;
use crate::wake_latency::WakeLatency;
use crate::wheel::Wheel;
use crate::workload::{Ending, Next, Wait};

/// One MPU, on its own thread.
pub(crate) struct Kernel {
    core: Core,
    modules: Vec<Box<dyn Any>>,
    locals: Locals,
    ready: Ready,
    wheel: Wheel,
    /// Room for the results of epoll_wait(2); `None` while it is in use.
    events: Option<Events>,
    /// Number of watched descriptors, without the MPU's own.
    watched: usize,
    /// Turns since the last poll of the descriptors.
    unpolled: u32,
    /// How often it has left the shared queue to another MPU, in succession.
    left: u32,
    /// Turns since the last accounting.
    unaccounted: u64,
    /// Time of the last accounting.
    accounted: Time,
    /// Module of the last workload that ran.
    kind: usize,
    /// Whether the shared queue goes first among equal priorities; it alternates.
    prefers_shared: bool,
    /// Value of the shared counter at the last look for unscheduled workloads.
    revocations: u32,
    /// Turns in which it kept what another MPU, which sleeps, might have had.
    kept: u32,
    /// When it last woke another MPU although the wake-up before was in vain.
    gave: Time,
    /// Since when it is awake, if it was woken for what is in the shared queue.
    pulls_since: Option<Time>,
    /// How late the thread wakes when it sleeps until a time.
    wake_latency: WakeLatency,
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
            wake_cost: WakeCost::default(),
            watch_token: 0,
            watched: 0,
            stays: false,
            armed: None,
            #[cfg(feature = "tasks")]
            wait: Wait::NOTHING,
            spawned: Vec::new(),
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
            left: 0,
            unaccounted: 0,
            accounted: now,
            kind: 0,
            prefers_shared: true,
            revocations: 0,
            kept: 0,
            gave: now,
            pulls_since: None,
            wake_latency: WakeLatency::default(),
        })
    }

    /// Runs workloads until the context stops.
    pub(crate) fn run(&mut self) -> io::Result<()> {
        self.accounted = self.core.read_clock();
        self.unit().account.begin(self.core.now);
        self.core.shared.enter_unit(self.core.index);
        let result = loop {
            match catch_unwind(AssertUnwindSafe(|| self.run_on())) {
                Ok(result) => break result,
                Err(_) => self.end_panicked(),
            }
        };
        Shared::leave_unit();
        result
    }

    fn run_on(&mut self) -> io::Result<()> {
        while !self.core.shared.stopping.load(Acquire) {
            if !self.core.spawned.is_empty() {
                self.admit_spawned();
            }
            self.collect_ready()?;
            match self.fetch() {
                Some(slot) => self.turn(slot),
                None => self.sleep_or_spin()?,
            }
        }
        Ok(())
    }

    fn unit(&self) -> &Unit {
        &self.core.shared.units[self.core.index]
    }

    /// Looks for workloads that have become ready.
    fn collect_ready(&mut self) -> io::Result<()> {
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
            self.fire_timers();
        }
        self.unpolled += 1;
        if self.unpolled >= TURNS_BETWEEN_POLLS && self.locals.any_listens() {
            self.poll(Some(Duration::ZERO))?;
        }
        Ok(())
    }

    /// The slot of the workload to run next.
    fn fetch(&mut self) -> Option<u32> {
        while self.pulls() && !self.leaves_it() {
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

    /// Takes a workload out of its cell; `None` if it must not run any more.
    fn admit(&mut self, id: u32) -> Option<u32> {
        let shared = &*self.core.shared;
        let record = shared.table.record(id);
        let is_wanted = record.state.load(Acquire) & state::UNSCHEDULED == 0;
        let mut cell = record.cell.lock().unwrap_or_else(PoisonError::into_inner);
        let body = cell.take();
        drop(cell);
        // An owner that leaked a `Scheduling` has the body: the workload cannot run.
        let Some(body) = body else {
            shared.conclude(id, Ending::Unscheduled);
            return None;
        };
        if !is_wanted {
            self.refuse(id, body);
            return None;
        }
        let (priority, pinned) = (record.priority.load(Relaxed), record.pinned.load(Relaxed));
        let kind = record.kind.load(Relaxed).into();
        let slot = self.locals.insert(Local::new(id, body, kind, priority, pinned));
        record.slot.store(slot, Relaxed);
        #[expect(clippy::cast_possible_truncation, reason = "there are no 2^32 CPUs")]
        record.home.store(self.core.index as u32, Release);
        Some(slot)
    }

    /// Runs one turn of a workload.
    fn turn(&mut self, slot: u32) {
        let local = self.locals.at(slot);
        if local.kind != self.kind {
            let kind = local.kind;
            self.core.read_clock();
            self.account_time();
            self.kind = kind;
        }
        self.core.is_fresh = false;
        self.locals.put(slot, RunState::Running);
        let local = self.locals.at(slot);
        self.core.id = local.id;
        self.core.watch_token = local.watch_token(slot);
        self.core.armed = local.pending_wake;
        let next = local.run(&mut *self.modules[self.kind], &mut self.core);
        self.unaccounted += 1;
        if self.core.is_fresh {
            self.account_time();
        }
        let local = self.locals.at(slot);
        local.watched += std::mem::take(&mut self.core.watched);
        if std::mem::take(&mut self.core.stays) {
            local.settle();
            self.unit().settled.fetch_add(1, Relaxed);
        }
        match next {
            Next::Yield => {
                self.disarm(slot);
                self.make_ready(slot);
            }
            Next::Stalled(wait) => self.stall(slot, &wait),
            Next::Finished => {
                let is_revoked = self.locals.at(slot).is_revoked;
                self.finish(slot, if is_revoked { Ending::Unscheduled } else { Ending::Finished });
            }
        }
    }

    /// Makes a workload ready: here, or in the shared queue if another MPU sleeps.
    fn make_ready(&mut self, slot: u32) {
        let is_bound = self.locals.at(slot).is_bound();
        if !is_bound && !self.ready.is_empty() && self.may_give() {
            let id = self.park(slot);
            self.core.shared.offer(id);
        } else {
            self.push_ready(slot);
        }
    }

    /// Makes a workload ready on this MPU.
    fn push_ready(&mut self, slot: u32) {
        self.locals.put(slot, RunState::Ready);
        let priority = self.locals.at(slot).priority;
        self.ready.push(slot, priority, &mut self.locals);
    }

    fn stall(&mut self, slot: u32, wait: &Wait) {
        let ticket = wait.ticket.as_ref().map(Ticket::token);
        if ticket != self.core.armed {
            self.disarm(slot);
            if ticket.is_some() {
                // The wait belongs to another turn or another workload: nothing would end it.
                return self.make_ready(slot);
            }
        }
        let token = self.core.armed.take();
        self.locals.put(slot, RunState::Stalled { readiness: wait.readiness, token });
        let local = self.locals.at(slot);
        local.precision = wait.precision;
        self.watched += local.newly_watched();
        if let Some(at) = wait.until {
            self.wheel.set(slot, at, &mut self.locals);
        } else if token.is_some() && !wait.readiness && !self.locals.at(slot).is_bound() {
            self.park_stalled(slot);
        }
    }

    /// Cancels a wait that was begun but is not waited for.
    fn disarm(&mut self, slot: u32) {
        let Some(token) = self.core.armed.take() else { return };
        let local = self.locals.at(slot);
        if !self.core.shared.table.record(local.id).wait_token.claim(token) {
            local.pending_wake = Some(token);
        }
    }

    /// Moves a stalled workload into its cell: whoever ends its wait may bring it to any
    /// MPU.
    fn park_stalled(&mut self, slot: u32) {
        let id = self.park(slot);
        let shared = &self.core.shared;
        // A thread that unscheduled it meanwhile may have found it neither here nor there.
        let record = shared.table.record(id);
        fence(SeqCst);
        if record.state.load(SeqCst) & state::UNSCHEDULED != 0
            && let Some(token) = record.wait_token.waiting()
            && record.wait_token.claim(token)
        {
            shared.deliver(id);
        }
    }

    /// Moves a workload back into its cell; returns its id.
    fn park(&mut self, slot: u32) -> u32 {
        let local = self.locals.remove(slot);
        let shared = &self.core.shared;
        let record = shared.table.record(local.id);
        record.slot.store(NONE, Relaxed);
        *record.cell.lock().unwrap_or_else(PoisonError::into_inner) = Some(local.body);
        record.home.store(NONE, Release);
        local.id
    }

    /// Makes the workloads ready that were spawned in the last turn.
    fn admit_spawned(&mut self) {
        let mut spawned = std::mem::take(&mut self.core.spawned);
        for (id, body) in spawned.drain(..) {
            let record = self.core.shared.table.record(id);
            let (priority, kind) = (record.priority.load(Relaxed), record.kind.load(Relaxed));
            let slot = self.locals.insert(Local::new(id, body, kind.into(), priority, false));
            record.slot.store(slot, Relaxed);
            #[expect(clippy::cast_possible_truncation, reason = "there are no 2^32 CPUs")]
            record.home.store(self.core.index as u32, Release);
            self.push_ready(slot);
        }
        self.core.spawned = spawned;
    }

    /// Takes all workloads out of the inbox.
    fn empty_inbox(&mut self) {
        let table = &self.core.shared.table;
        let own = self.unit().inbox.take_own(|id| &table.record(id).link);
        self.receive_all(own);
        let table = &self.core.shared.table;
        let others = self.unit().inbox.take(|id| &table.record(id).link);
        self.receive_all(others);
    }

    /// Continues `id` and those that follow it through their links.
    fn receive_all(&mut self, mut id: u32) {
        while id != NONE {
            let record = self.core.shared.table.record(id);
            let (next, slot) = (record.link.load(Relaxed), record.slot.load(Relaxed));
            self.receive(id, slot);
            id = next;
        }
    }

    fn receive(&mut self, id: u32, slot: u32) {
        if slot != NONE {
            return self.wake_local(slot);
        }
        if let Some(slot) = self.admit(id) {
            self.make_ready(slot);
        }
    }

    /// Continues a workload whose wait was ended by an object.
    fn wake_local(&mut self, slot: u32) {
        let local = self.locals.at(slot);
        local.pending_wake = None;
        if let Some(ending) = local.ending {
            return self.leave(slot, ending);
        }
        // Else it has gone on without.
        let RunState::Stalled { token: Some(_), .. } = local.place() else { return };
        let id = local.id;
        self.wheel.cancel(slot, &mut self.locals);
        if self.core.shared.table.record(id).state.load(Relaxed) & state::UNSCHEDULED != 0 {
            return self.leave(slot, Ending::Unscheduled);
        }
        self.make_ready(slot);
    }

    /// Continues a workload whose wait was ended by a descriptor or a deadline, unless an
    /// object was faster: then its message is on its way.
    fn release(&mut self, slot: u32) {
        let local = self.locals.at(slot);
        let RunState::Stalled { token, .. } = local.place() else { return };
        let (id, is_timed) = (local.id, local.node.is_set());
        if let Some(token) = token
            && !self.core.shared.table.record(id).wait_token.claim(token)
        {
            return;
        }
        if is_timed {
            self.wheel.cancel(slot, &mut self.locals);
        }
        self.make_ready(slot);
    }

    /// Continues the workloads whose deadlines have passed.
    fn fire_timers(&mut self) {
        while let Some(slot) = self.wheel.due(self.core.now, &mut self.locals) {
            self.release(slot);
        }
    }

    /// Sleeps until there is something to do. A thread that sleeps until a time wakes late,
    /// so that it asks for an earlier time and spins for the rest.
    fn sleep_or_spin(&mut self) -> io::Result<()> {
        let now = self.core.read_clock();
        self.account_time();
        let Some((at, slot)) = self.wheel.next(&mut self.locals) else { return self.sleep(None) };
        if at <= now {
            return Ok(());
        }
        let lead = self.wake_latency.lead(self.locals.at(slot).precision);
        let early = at.before(lead);
        if early <= now {
            return self.spin_until(at);
        }
        let began = self.core.wake_cost.begin();
        self.sleep(Some(early.since(now)))?;
        self.core.wake_cost.end(began);
        if self.core.now >= early {
            self.wake_latency.woke(self.core.now.since(early));
        }
        Ok(())
    }

    fn spin_until(&mut self, at: Time) -> io::Result<()> {
        let began = self.core.now;
        let has_others = self.locals.any_listens();
        let mut looks = 0_u32;
        while self.core.now < at && self.ready.is_empty() && !self.has_work() {
            looks += 1;
            if has_others && looks.is_multiple_of(LOOKS_BETWEEN_POLLS) {
                self.poll(Some(Duration::ZERO))?;
            }
            std::hint::spin_loop();
            self.core.read_clock();
        }
        self.unit().account.spin(self.core.now.since(began));
        self.account_time();
        Ok(())
    }

    /// Whether other threads have published something for this MPU.
    fn has_work(&self) -> bool {
        let shared = &self.core.shared;
        !self.unit().inbox.is_empty()
            || shared.queue.highest().is_some()
            || shared.revocations.load(Relaxed) != self.revocations
            || shared.stopping.load(Relaxed)
    }

    fn sleep(&mut self, longest: Option<Duration>) -> io::Result<()> {
        self.judge_wake_up();
        // If no workload waits for a descriptor, none has to wake this thread: events are found
        // when the deadline has come.
        let on = if self.locals.any_listens() { SleepOn::Epoll } else { SleepOn::Futex };
        if on == SleepOn::Futex && longest.is_none() && self.looks_longer() {
            return Ok(());
        }
        self.core.shared.idle.fetch_add(1, SeqCst);
        self.unit().sleep_state.begin_sleep(on);
        let result = if self.has_work() { Ok(()) } else { self.block(on, longest) };
        self.unit().sleep_state.end_sleep();
        self.core.shared.idle.fetch_sub(1, SeqCst);
        result
    }

    /// Looks for work a little longer where workloads wait for objects alone: whoever wakes them from
    /// another MPU would need a system call, and they many times as long. Whether there is some.
    fn looks_longer(&mut self) -> bool {
        let began = self.core.now;
        let until = began.after(LOOKS_ON);
        while !self.locals.is_empty() && self.core.now < until && !self.has_work() {
            std::hint::spin_loop();
            self.core.read_clock();
        }
        self.unit().account.spin(self.core.now.since(began));
        self.account_time();
        self.has_work()
    }

    /// Sleeps until a waker ends it, at most for `longest`.
    fn block(&mut self, on: SleepOn, longest: Option<Duration>) -> io::Result<()> {
        self.unit().account.fall_asleep(self.core.now);
        let result = match on {
            SleepOn::Epoll => self.poll(longest),
            SleepOn::Futex => {
                let (word, asleep) = self.unit().sleep_state.word();
                linux::futex::wait(word, asleep, longest);
                Ok(())
            }
        };
        self.accounted = self.core.read_clock();
        self.unit().account.wake_up(self.core.now);
        if on == SleepOn::Futex && longest.is_none() && self.unit().inbox.is_empty() {
            self.pulls_since = Some(self.core.now);
        }
        result
    }

    /// Polls the descriptors; waits up to `longest` if none is ready (`None`: without
    /// limit).
    fn poll(&mut self, longest: Option<Duration>) -> io::Result<()> {
        self.unpolled = 0;
        let Some(mut events) = self.events.take() else { return Ok(()) };
        let result = self.core.epoll.poll(&mut events, longest);
        events.tokens().for_each(|token| self.report(token));
        self.events = Some(events);
        result
    }

    /// Handles a descriptor that became ready.
    fn report(&mut self, token: u64) {
        if token == WAKE {
            self.unit().wake.clear();
        } else if let Some(slot) = self.locals.watching(token)
            && let RunState::Stalled { readiness: true, .. } = self.locals.at(slot).place()
        {
            self.release(slot);
        }
    }

    /// Accounts for the time up to the last reading of the clock.
    fn account_time(&mut self) {
        let span = self.core.now.since(self.accounted);
        self.accounted = self.core.now;
        let turns = std::mem::take(&mut self.unaccounted);
        self.unit().account.run(self.kind, span, turns, self.ready.len());
    }
}

/// Token of the descriptor by which other threads wake the MPU.
const WAKE: u64 = u64::MAX;
const MOST_EVENTS: usize = 256;
/// A fraction of what a futex wake-up takes.
const LOOKS_ON: Duration = Duration::from_micros(10);
/// Number of ids that an MPU keeps for what it spawns.
const MOST_SPARE: usize = 1024;
/// Other workloads may have become ready meanwhile.
const TURNS_BETWEEN_POLLS: u32 = 16;
/// A spinning MPU reads the clock about 30 million times per second.
const LOOKS_BETWEEN_POLLS: u32 = 64;
/// Deadlines may be late by that many turns of workloads that do not read the clock.
const TURNS_BETWEEN_CLOCKS: u64 = 8;
